//! Queries to the core.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tidings_core::account::{self, Caller, MemberQuery};
use tidings_core::analysis::{self, LogFilter};
use tidings_core::audit::{self, AuditQuery};
use tidings_core::changes::Changes;
use tidings_core::notice::{self, FullNotice, ListQuery};
use tidings_core::stats::Stats;
use tidings_core::{Tidings, feedback, newsfeed, post, profile, search};

use super::{Answer, Figures, Health, Member, Overview, PostRow, PostText, Query, Service, panicked};
use crate::problem::Problem;

/// The number of lines in a page of the log.
const LOG_LINES: i64 = 200;
/// The maximum number of log lines on the overview.
const OVERVIEW_LINES: i64 = 60;
/// The maximum number of posts listed from the popular feed or a search.
const POSTS: i64 = 300;
/// The number of records in a page of the audit trail.
const RECORDS: i64 = 200;
/// The maximum number of log lines shown for a member.
const MEMBER_LINES: i64 = 300;

impl Query {
    /// Asks the core.
    fn answer(self, service: &Service) -> Answer {
        let (tidings, operator) = (&service.tidings, &Caller::Operator);
        match self {
            Self::Overview => Answer::Overview(overview(tidings).map(Box::new)),
            Self::Notices => {
                Answer::Notices(notices(tidings).and_then(|list| Ok((list, service.drafts.all()?))))
            }
            Self::Feedback => {
                let list = feedback::list(tidings, operator).map_err(Problem::from);
                Answer::Feedback(list.and_then(|list| Ok((list.feedback_list, notices(tidings)?))))
            }
            Self::Popular => Answer::Posts(popular(tidings)),
            Self::FindPosts(text) => Answer::Posts(find(tidings, &text)),
            Self::Post(id) => Answer::Post(whole_post(tidings, &id)),
            Self::Period { first, last } => Answer::Figures(figures(tidings, &first, &last).map(Box::new)),
            Self::Log { filter, place } => {
                let page = analysis::browse(tidings, operator, &filter, place, LOG_LINES);
                Answer::Log(page.map_err(|error| no_such_member(error, filter.member.as_deref())))
            }
            Self::Members { search, after, limit } => {
                let search = Some(search).filter(|search| !search.is_empty());
                let query = MemberQuery { search, limit: i64::try_from(limit).ok(), after };
                Answer::Members(account::list(tidings, operator, &query).map_err(Problem::from))
            }
            Self::Member(id) => Answer::Member(member(tidings, id).map(Box::new).map_err(Problem::from)),
            Self::Audit { before } => {
                let query = AuditQuery { before, limit: Some(RECORDS), ..AuditQuery::default() };
                Answer::Audit(audit::list(tidings, operator, &query).map_err(Problem::from))
            }
            Self::VerifyAudit => {
                Answer::Verified(audit::verify(tidings, operator, None).map_err(Problem::from))
            }
        }
    }

    /// Returns the answer for a query that panicked.
    fn failed(self, problem: Problem) -> Answer {
        match self {
            Self::Overview => Answer::Overview(Err(problem)),
            Self::Notices => Answer::Notices(Err(problem)),
            Self::Feedback => Answer::Feedback(Err(problem)),
            Self::Popular | Self::FindPosts(_) => Answer::Posts(Err(problem)),
            Self::Post(_) => Answer::Post(Err(problem)),
            Self::Period { .. } => Answer::Figures(Err(problem)),
            Self::Log { .. } => Answer::Log(Err(problem)),
            Self::Members { .. } => Answer::Members(Err(problem)),
            Self::Member(_) => Answer::Member(Err(problem)),
            Self::Audit { .. } => Answer::Audit(Err(problem)),
            Self::VerifyAudit => Answer::Verified(Err(problem)),
        }
    }

    /// Runs the query. A panic is returned as a problem.
    pub(crate) fn run(self, service: &Service) -> Answer {
        let again = self.clone();
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(service)));
        answer.unwrap_or_else(|panic| again.failed(panicked(&*panic)))
    }
}

fn no_such_member(error: tidings_core::Error, member: Option<&str>) -> Problem {
    match (&error, member) {
        (tidings_core::Error::NotFound, Some(member)) => {
            Problem::new(format!("There is no member {member}. A path begins with /."))
        }
        _ => error.into(),
    }
}

fn overview(tidings: &Tidings) -> Result<Overview, Problem> {
    let stats = Stats::of(tidings);
    let changes = Changes::of(tidings);
    let parts =
        [changes.posts, changes.notices, changes.feedback, changes.members, changes.counts, changes.terms];
    Ok(Overview {
        live: analysis::live(tidings, &Caller::Operator)?,
        terms: analysis::realtime(tidings)?.search_realtime,
        bursts: analysis::bursts(tidings)?.search_bursts,
        log: analysis::browse(tidings, &Caller::Operator, &LogFilter::default(), None, OVERVIEW_LINES)?,
        health: Health {
            database_bytes: stats.database_bytes,
            wal_bytes: stats.wal_bytes,
            waiting: stats.writes_waiting + stats.records_waiting,
            revision: parts.into_iter().max().unwrap_or_default(),
            at: tidings.clock().now(),
        },
    })
}

fn notices(tidings: &Tidings) -> Result<Vec<FullNotice>, Problem> {
    Ok(notice::list_full(tidings, &Caller::Operator, &ListQuery::default())?.notices().to_vec())
}

/// Returns the popular feed as guests see it.
fn popular(tidings: &Tidings) -> Result<Vec<PostRow>, Problem> {
    let page = newsfeed::Page { limit: Some(POSTS), ..newsfeed::Page::default() };
    let page = newsfeed::popular(tidings, &page)?;
    let why = newsfeed::why(tidings, &Caller::Guest, &page)?;
    let row = |((place, post), why): ((usize, post::Post), newsfeed::Why)| PostRow {
        id: post.id,
        title: post.title,
        url: post.url,
        date: post.date,
        end_date: post.end_date,
        view: post.view,
        fav: post.fav_cnt,
        place,
        why: why.text,
    };
    Ok((1..).zip(page.posts()).zip(why).map(row).collect())
}

fn find(tidings: &Tidings, text: &str) -> Result<Vec<PostRow>, Problem> {
    let found = search::run(tidings, text, POSTS)?.search_result;
    let row = |hit: search::PostHit| PostRow {
        // A similarity is between 0 and 1.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the value is from 0 to 100"
        )]
        place: (hit.similarity * 100.0).round() as usize,
        why: String::new(),
        id: hit.post.id,
        title: hit.post.title,
        url: hit.post.url,
        date: hit.post.date,
        end_date: hit.post.end_date,
        view: hit.post.view,
        fav: hit.post.fav_cnt,
    };
    Ok(found.into_iter().map(row).collect())
}

fn whole_post(tidings: &Tidings, id: &str) -> Result<PostText, Problem> {
    let post = post::get(tidings, id)?.post;
    Ok(PostText {
        id: post.shown.id.clone(),
        img: post.shown.img.clone(),
        topic: post.topic.texts(),
        tag: post.tag.texts(),
        post: post.post,
    })
}

fn figures(tidings: &Tidings, first: &str, last: &str) -> Result<Figures, Problem> {
    Ok(Figures {
        period: analysis::period(tidings, &Caller::Operator, first, last)?,
        terms: analysis::realtime(tidings)?.search_realtime,
        bursts: analysis::bursts(tidings)?.search_bursts,
    })
}

fn member(tidings: &Tidings, id: String) -> tidings_core::Result<Member> {
    let caller = Caller::Operator.on_behalf_of(tidings, &id)?;
    Ok(Member {
        auto_login: profile::user_info(tidings, &caller)?.auto_login == 1,
        lists: profile::lists(tidings, &caller, "0")?,
        log: analysis::log_user(tidings, &Caller::Operator, &id, MEMBER_LINES)?.log,
        id,
    })
}
