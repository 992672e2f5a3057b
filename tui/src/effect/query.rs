//! Queries to the service.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tidings_access::{Error, Service};
use tidings_core::analysis::{GetBursts, GetPeriod, GetRealtime, LogFilter, LogPage};
use tidings_core::audit;
use tidings_core::error::Code;
use tidings_core::feedback::ListAll;
use tidings_core::newsfeed::{FeedPost, ListPopular, Paging};
use tidings_core::notice::{self, FullNotice};
use tidings_core::search::{Find, PostHit, PostPage};
use tidings_core::{member, post, status};

use super::{
    Answer, FeedbackData, Figures, Health, Member, Notices, Overview, PostRow, PostText, Query, Sources,
    panicked,
};
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
    /// Asks the service.
    fn answer(self, sources: &Sources) -> Answer {
        let service = &sources.service;
        match self {
            Self::Overview => Answer::Overview(overview(service).map(Box::new).map_err(Problem::from)),
            Self::Notices => Answer::Notices(board(sources).map(Box::new)),
            Self::Feedback => Answer::Feedback(feedback(sources)),
            Self::Popular => Answer::Posts(popular(service).map_err(Problem::from)),
            Self::Newest(topic) => Answer::Posts(newest(service, topic.as_deref()).map_err(Problem::from)),
            Self::FindPosts(text) => Answer::Posts(find(service, &text).map_err(Problem::from)),
            Self::Post(id) => Answer::Post(whole_post(service, &id).map_err(Problem::from)),
            Self::Period { first, last } => {
                Answer::Figures(figures(service, &first, &last).map(Box::new).map_err(Problem::from))
            }
            Self::Log { filter, place } => {
                let page = service.call(filter.page(place, LOG_LINES));
                Answer::Log(
                    page.map(LogPage::from).map_err(|error| no_such_member(error, filter.member.as_deref())),
                )
            }
            Self::Members { search, only, after, limit } => {
                let search = Some(search).filter(|search| !search.is_empty());
                let only = only.map(|only| only.as_str().to_owned());
                let list = member::List { search, limit: i64::try_from(limit).ok(), after, only };
                Answer::Members(service.call(list).map_err(Problem::from))
            }
            Self::Member(id) => Answer::Member(member(service, id).map(Box::new).map_err(Problem::from)),
            Self::Audit { before } => {
                let query = audit::List { before, limit: Some(RECORDS), ..audit::List::default() };
                Answer::Audit(service.call(query).map_err(Problem::from))
            }
            Self::VerifyAudit => {
                Answer::Verified(service.call(audit::Verify::default()).map_err(Problem::from))
            }
        }
    }

    /// Returns the answer for a query that panicked.
    pub(crate) fn failed(self, problem: Problem) -> Answer {
        match self {
            Self::Overview => Answer::Overview(Err(problem)),
            Self::Notices => Answer::Notices(Err(problem)),
            Self::Feedback => Answer::Feedback(Err(problem)),
            Self::Popular | Self::Newest(_) | Self::FindPosts(_) => Answer::Posts(Err(problem)),
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
    pub(crate) fn run(self, sources: &Sources) -> Answer {
        let again = self.clone();
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(sources)));
        answer.unwrap_or_else(|panic| again.failed(panicked(&*panic)))
    }
}

fn no_such_member(error: Error, member: Option<&str>) -> Problem {
    match member {
        Some(member) if error.is_not_found() => {
            Problem::new(format!("There is no member {member}. A path begins with /."))
        }
        _ => error.into(),
    }
}

fn overview(service: &Service) -> Result<Overview, Error> {
    let status = service.call(status::Get {})?;
    let changes = status.changes;
    let parts =
        [changes.posts, changes.notices, changes.feedback, changes.members, changes.counts, changes.terms];
    Ok(Overview {
        live: status.live,
        terms: service.as_reader().call(GetRealtime {})?.search_realtime,
        bursts: service.as_reader().call(GetBursts {})?.search_bursts,
        log: service.call(LogFilter::default().page(None, OVERVIEW_LINES))?.into(),
        health: Health {
            database_bytes: status.database_bytes,
            wal_bytes: status.wal_bytes,
            waiting: status.writes_waiting,
            revision: parts.into_iter().max().unwrap_or_default(),
            at: status.now,
        },
    })
}

fn board(sources: &Sources) -> Result<Notices, Problem> {
    let Sources { service, drafts } = sources;
    // First, because these need the right that the notices are shown without.
    let shared = service.call(notice::ListDrafts {})?.drafts;
    Ok(Notices { list: notices(service)?, shared, drafts: drafts.all()? })
}

fn feedback(sources: &Sources) -> Result<FeedbackData, Problem> {
    let Sources { service, drafts } = sources;
    let list = service.call(ListAll {})?.feedback_list;
    Ok(FeedbackData { list, notices: notices(service)?, read: drafts.read_feedback()? })
}

fn notices(service: &Service) -> Result<Vec<FullNotice>, Error> {
    Ok(service.call(notice::ListFull::default())?.notices().to_vec())
}

/// Returns the popular feed as guests see it.
fn popular(service: &Service) -> Result<Vec<PostRow>, Error> {
    let page = Paging { limit: Some(POSTS), why: Some(1), ..Paging::default() };
    let feed = service.as_reader().call(ListPopular { page, format: None })?;
    let row = |(place, FeedPost { post, why, .. }): (usize, FeedPost)| {
        PostRow::of(post, place, why.map(|why| why.text).unwrap_or_default())
    };
    Ok((1..).zip(feed.posts().newsfeed).map(row).collect())
}

/// Returns the newest posts. A name that is not that of a topic or tag stands for the topic with the most posts among those
/// that begin with it.
fn newest(service: &Service, name: Option<&str>) -> Result<Vec<PostRow>, Error> {
    let service = service.as_reader();
    let list = |topic: Option<&str>| {
        let topic = topic.map(str::to_owned);
        let page = service.call(post::List { topic, limit: Some(POSTS), next: None })?;
        Ok((1..).zip(page.posts).map(|(place, post)| PostRow::of(post, place, String::new())).collect())
    };
    let exact: Vec<PostRow> = list(name)?;
    let Some(name) = name.filter(|_| exact.is_empty()) else { return Ok(exact) };
    let folded = name.to_lowercase();
    let topics =
        service.call(post::ListCategories {})?.categories.into_iter().map(|found| found.category_name);
    let topic = topics.into_iter().find(|topic| topic.to_lowercase().starts_with(&folded));
    topic.map_or(Ok(exact), |topic| list(Some(&topic)))
}

fn find(service: &Service, text: &str) -> Result<Vec<PostRow>, Error> {
    let find = Find { num: POSTS, search: text.to_owned(), page: PostPage::default() };
    let found = service.as_reader().call(find)?.search_result;
    let row = |hit: PostHit| {
        // A similarity is between 0 and 1.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the value is from 0 to 100"
        )]
        let percent = (hit.similarity * 100.0).round() as usize;
        PostRow::of(hit.post, percent, String::new())
    };
    Ok(found.into_iter().map(row).collect())
}

impl PostRow {
    fn of(post: post::Post, place: usize, why: String) -> Self {
        Self {
            id: post.id,
            title: post.title,
            url: post.url,
            date: post.date,
            end_date: post.end_date,
            view: post.view,
            fav: post.fav_cnt,
            place,
            why,
        }
    }
}

fn whole_post(service: &Service, id: &str) -> Result<PostText, Error> {
    let post = service.as_reader().call(post::Get { post_obi: id.to_owned() })?.post;
    Ok(PostText {
        id: post.shown.id.clone(),
        title: post.shown.title.clone(),
        url: post.shown.url.clone(),
        date: post.shown.date,
        end_date: post.shown.end_date,
        img: post.shown.img.clone(),
        topic: post.topic.texts(),
        tag: post.tag.texts(),
        post: post.post,
    })
}

fn figures(service: &Service, first: &str, last: &str) -> Result<Figures, Error> {
    Ok(Figures {
        period: service.call(GetPeriod { first: first.to_owned(), last: last.to_owned() })?,
        terms: service.as_reader().call(GetRealtime {})?.search_realtime,
        bursts: service.as_reader().call(GetBursts {})?.search_bursts,
    })
}

fn member(service: &Service, id: String) -> Result<Member, Error> {
    let of_member = LogFilter { member: Some(id.clone()), ..LogFilter::default() };
    Ok(Member {
        auto_login: service.user_info(&id)?.auto_login == 1,
        lists: service.lists(&id, 0)?,
        // A key may see members and not the log, which is only one of the views.
        log: match service.call(of_member.page(None, MEMBER_LINES)) {
            Err(error) if matches!(error.code(), Some(Code::NotAdmin | Code::MissingScope)) => {
                Err(error.into())
            }
            log => Ok(LogPage::from(log?).lines),
        },
        id,
    })
}
