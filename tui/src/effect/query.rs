//! Queries to the service.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tidings_client::{Error, Service};
use tidings_core::analysis::{GetBursts, GetLog, GetPeriod, GetRealtime};
use tidings_core::audit;
use tidings_core::error::Code;
use tidings_core::feedback::ListAll;
use tidings_core::newsfeed::{FeedPost, ListPopular, Paging};
use tidings_core::notice::{self, FullNotice};
use tidings_core::search::{Find, PostHit, PostPage};
use tidings_core::{member, post, source, status};

use super::{
    Answer, FeedbackData, Figures, Health, Member, Notices, Overview, PostRow, PostText, Query, Sources,
    panicked,
};
use crate::problem::Problem;

const LOG_LINES: i64 = 200;
const OVERVIEW_LINES: i64 = 60;
/// From the popular feed or a search.
const POSTS: i64 = 300;
const RECORDS: i64 = 200;
const MEMBER_LINES: i64 = 300;

impl Query {
    fn answer(self, sources: &Sources) -> Result<Answer, Problem> {
        let service = &sources.service;
        Ok(match self {
            Self::Overview => Answer::Overview(Box::new(overview(service)?)),
            Self::Notices => Answer::Notices(board(service)?),
            Self::Feedback => Answer::Feedback(feedback(sources)?),
            Self::Popular => Answer::Posts(popular(service)?),
            Self::Newest(topic) => Answer::Posts(newest(service, topic.as_deref())?),
            Self::FindPosts(text) => Answer::Posts(find(service, text)?),
            Self::Post(id) => Answer::Post(whole_post(service, id)?),
            Self::Period { first, last } => Answer::Figures(Box::new(figures(service, first, last)?)),
            Self::Log { filter, place } => {
                let page = service.call(filter.page(place, LOG_LINES));
                Answer::Log(page.map_err(|error| no_such_member(error, filter.member.as_deref()))?)
            }
            Self::Members { search, only, after, limit } => {
                let search = Some(search).filter(|search| !search.is_empty());
                let only = only.map(|only| only.as_str().to_owned());
                let limit = i64::try_from(limit).ok();
                Answer::Members(service.call(member::List { search, limit, after, only })?)
            }
            Self::Member(id) => Answer::Member(Box::new(member(service, id)?)),
            Self::Audit { before } => {
                let list = audit::List { before, limit: Some(RECORDS), ..audit::List::default() };
                Answer::Audit(service.call(list)?)
            }
            Self::VerifyAudit => Answer::Verified(service.call(audit::Verify::default())?),
            Self::Sources => Answer::Sources(service.call(source::List {})?.sources),
        })
    }

    /// A panic is returned as a problem.
    pub(crate) fn run(self, sources: &Sources) -> Result<Answer, Problem> {
        catch_unwind(AssertUnwindSafe(|| self.answer(sources))).unwrap_or_else(|panic| Err(panicked(&*panic)))
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
        terms: service.as_reader().call(GetRealtime {})?.fields().search_realtime,
        bursts: service.as_reader().call(GetBursts {})?.fields().search_bursts,
        log: service.call(GetLog::default().page(None, OVERVIEW_LINES))?,
        health: Health {
            database_bytes: status.database_bytes,
            wal_bytes: status.wal_bytes,
            waiting: status.writes_waiting,
            revision: parts.into_iter().max().unwrap_or_default(),
            at: status.now,
        },
    })
}

fn board(service: &Service) -> Result<Notices, Error> {
    // First, because the drafts need a right that the notices are shown without.
    let drafts = service.call(notice::ListDrafts {})?.drafts;
    Ok(Notices { list: notices(service)?, drafts })
}

fn feedback(sources: &Sources) -> Result<FeedbackData, Problem> {
    let Sources { service, read } = sources;
    let list = service.call(ListAll {})?.feedback_list;
    Ok(FeedbackData { list, notices: notices(service)?, read: read.ids()? })
}

fn notices(service: &Service) -> Result<Vec<FullNotice>, Error> {
    Ok(service.call(notice::ListFull::default())?.notices().to_vec())
}

/// As guests see it.
fn popular(service: &Service) -> Result<Vec<PostRow>, Error> {
    let page = Paging { limit: Some(POSTS), why: Some(1), ..Paging::default() };
    let feed = service.as_reader().call(ListPopular { page, format: None })?;
    let row = |(place, FeedPost { post, why, .. }): (usize, FeedPost)| {
        let why = why.map(|why| why.text).unwrap_or_default();
        PostRow { post, place, why }
    };
    Ok((1..).zip(feed.fields().newsfeed).map(row).collect())
}

/// A name that is not that of a topic or tag stands for the topic with the most posts among those that begin with it.
fn newest(service: &Service, name: Option<&str>) -> Result<Vec<PostRow>, Error> {
    let service = service.as_reader();
    let list = |topic: Option<&str>| {
        let topic = topic.map(str::to_owned);
        let page = service.call(post::List { topic, limit: Some(POSTS), next: None })?;
        let row = |(place, post)| PostRow { post, place, why: String::new() };
        Ok((1..).zip(page.posts).map(row).collect())
    };
    let exact: Vec<PostRow> = list(name)?;
    let Some(name) = name.filter(|_| exact.is_empty()) else { return Ok(exact) };
    let folded = name.to_lowercase();
    let topics =
        service.call(post::ListCategories {})?.categories.into_iter().map(|found| found.category_name);
    let topic = topics.into_iter().find(|topic| topic.to_lowercase().starts_with(&folded));
    topic.map_or(Ok(exact), |topic| list(Some(&topic)))
}

fn find(service: &Service, search: String) -> Result<Vec<PostRow>, Error> {
    let find = Find { num: POSTS, search, page: PostPage::default() };
    let found = service.as_reader().call(find)?.search_result;
    let row = |hit: PostHit| {
        // A similarity is between 0 and 1.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the value is from 0 to 100"
        )]
        let place = (hit.similarity * 100.0).round() as usize;
        PostRow { post: hit.post, place, why: String::new() }
    };
    Ok(found.into_iter().map(row).collect())
}

fn whole_post(service: &Service, id: String) -> Result<PostText, Error> {
    let post = service.as_reader().call(post::Get { post_obi: id })?.post;
    Ok(PostText { topic: post.topic.texts(), tag: post.tag.texts(), shown: post.shown, post: post.post })
}

fn figures(service: &Service, first: String, last: String) -> Result<Figures, Error> {
    Ok(Figures {
        period: service.call(GetPeriod { first, last })?,
        terms: service.as_reader().call(GetRealtime {})?.fields().search_realtime,
        bursts: service.as_reader().call(GetBursts {})?.fields().search_bursts,
    })
}

fn member(service: &Service, id: String) -> Result<Member, Error> {
    let of_member = GetLog { member: Some(id.clone()), ..GetLog::default() };
    Ok(Member {
        auto_login: service.user_info(&id)?.auto_login == 1,
        lists: service.lists(&id, 0)?,
        // A key may see members and not the log, which is only one of the views.
        log: match service.call(of_member.page(None, MEMBER_LINES)) {
            Err(error) if matches!(error.code(), Some(Code::NotAdmin | Code::MissingScope)) => {
                Err(error.into())
            }
            log => Ok(log?.log),
        },
        id,
    })
}
