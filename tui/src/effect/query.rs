use std::collections::HashSet;

use tidings_client::{Error, Service};
use tidings_core::analysis::{GetBursts, GetLog, GetPeriod, GetRealtime, Live, LogLine, LogLines, LogPlace};
use tidings_core::analysis::{Period, SearchBurst};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;
use tidings_core::error::Code;
use tidings_core::feedback::{Feedback, ListAll};
use tidings_core::member::{GetSignIns, SignIns};
use tidings_core::newsfeed::{FeedPost, ListPopular, Paging};
use tidings_core::notice::{self, FullNotice, SavedDraft};
use tidings_core::post::{self, Post, PostDetail};
use tidings_core::profile::Lists;
use tidings_core::search::{Find, PostHit, PostPage};
use tidings_core::status;

use super::Work;
use crate::problem::Problem;

const LOG_LINES: i64 = 200;
const OVERVIEW_LINES: i64 = 60;
const POSTS: i64 = 300;
const MEMBER_LINES: i64 = 300;

pub(crate) struct Overview {
    pub(crate) live: Live,
    pub(crate) searches: Searches,
    pub(crate) log: LogLines,
    pub(crate) health: Health,
}

/// Terms of the last 24 hours: the most frequent, and those searched more than usual.
pub(crate) struct Searches {
    pub(crate) terms: Vec<(String, i64)>,
    pub(crate) bursts: Vec<SearchBurst>,
}

#[derive(Clone, Copy)]
pub(crate) struct Health {
    pub(crate) database_bytes: u64,
    pub(crate) wal_bytes: u64,
    /// Of this process, or of the server.
    pub(crate) waiting: usize,
    /// The last transaction that changed anything that the screens show.
    pub(crate) revision: i64,
    pub(crate) at: Timestamp,
}

pub(crate) struct Notices {
    pub(crate) list: Vec<FullNotice>,
    pub(crate) drafts: Vec<SavedDraft>,
}

pub(crate) struct FeedbackData {
    pub(crate) list: Vec<Feedback>,
    pub(crate) notices: Vec<FullNotice>,
    pub(crate) read: HashSet<String>,
}

#[derive(Clone)]
pub(crate) struct PostRow {
    pub(crate) post: Post,
    /// The rank in the popular feed or among the newest posts, from 1, or the similarity to the search in percent.
    pub(crate) place: usize,
    /// Empty in other lists than the popular feed.
    pub(crate) why: String,
}

pub(crate) struct Figures {
    pub(crate) period: Period,
    pub(crate) searches: Searches,
}

/// The data of a member that the list lacks.
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) auto_login: bool,
    pub(crate) lists: Lists,
    /// None of a server of an earlier version.
    pub(crate) sign_ins: Option<SignIns>,
    /// The member's lines of the log, or why the caller may not see them.
    pub(crate) log: Result<Vec<LogLine>, Problem>,
}

pub(crate) fn overview() -> Work<Overview> {
    Work::new(|sources| {
        let service = &sources.service;
        let status = service.call(status::Get {})?;
        let Changes { posts, notices, feedback, members, counts, terms, .. } = status.changes;
        let parts = [posts, notices, feedback, members, counts, terms];
        Ok(Overview {
            live: status.live,
            searches: searches(service)?,
            log: service.call(GetLog::default().page(None, OVERVIEW_LINES))?,
            health: Health {
                database_bytes: status.database_bytes,
                wal_bytes: status.wal_bytes,
                waiting: status.writes_waiting,
                revision: parts.into_iter().max().unwrap_or_default(),
                at: status.now,
            },
        })
    })
}

fn searches(service: &Service) -> Result<Searches, Error> {
    let service = service.as_reader();
    Ok(Searches {
        terms: service.call(GetRealtime {})?.fields().search_realtime,
        bursts: service.call(GetBursts {})?.fields().search_bursts,
    })
}

pub(crate) fn figures(first: String, last: String) -> Work<Figures> {
    Work::new(|sources| {
        let period = sources.service.call(GetPeriod { first, last })?;
        Ok(Figures { period, searches: searches(&sources.service)? })
    })
}

pub(crate) fn notices() -> Work<Notices> {
    Work::new(|sources| {
        // First, because the drafts need a right that the notices are shown without.
        let drafts = sources.service.call(notice::ListDrafts {})?.drafts;
        Ok(Notices { list: full_notices(&sources.service)?, drafts })
    })
}

fn full_notices(service: &Service) -> Result<Vec<FullNotice>, Error> {
    Ok(service.call(notice::ListFull::default())?.notices().to_vec())
}

pub(crate) fn feedback() -> Work<FeedbackData> {
    Work::new(|sources| {
        let list = sources.service.call(ListAll {})?.feedback_list;
        Ok(FeedbackData { list, notices: full_notices(&sources.service)?, read: sources.read.ids()? })
    })
}

pub(crate) fn popular() -> Work<Vec<PostRow>> {
    Work::new(|sources| {
        let page = Paging { limit: Some(POSTS), why: Some(1), ..Paging::default() };
        let feed = sources.service.as_reader().call(ListPopular { page, format: None })?;
        let row = |(place, FeedPost { post, why, .. }): (usize, FeedPost)| {
            let why = why.map(|why| why.text).unwrap_or_default();
            PostRow { post, place, why }
        };
        Ok((1..).zip(feed.fields().newsfeed).map(row).collect())
    })
}

/// All, or those of a topic or tag. Another name stands for the topic with the most posts among those that begin with it.
pub(crate) fn newest(name: Option<String>) -> Work<Vec<PostRow>> {
    Work::new(move |sources| {
        let service = sources.service.as_reader();
        let list = |topic: Option<String>| -> Result<Vec<PostRow>, Error> {
            let page = service.call(post::List { topic, limit: Some(POSTS), next: None })?;
            let row = |(place, post)| PostRow { post, place, why: String::new() };
            Ok((1..).zip(page.posts).map(row).collect())
        };
        let exact = list(name.clone())?;
        let Some(name) = name.filter(|_| exact.is_empty()) else { return Ok(exact) };
        let folded = name.to_lowercase();
        let topics = service.call(post::ListCategories {})?.categories;
        let mut topics = topics.into_iter().map(|found| found.category_name);
        match topics.find(|topic| topic.to_lowercase().starts_with(&folded)) {
            Some(topic) => Ok(list(Some(topic))?),
            None => Ok(exact),
        }
    })
}

pub(crate) fn find_posts(search: String) -> Work<Vec<PostRow>> {
    Work::new(|sources| {
        let find = Find { num: POSTS, search, page: PostPage::default() };
        let found = sources.service.as_reader().call(find)?.search_result;
        let row = |hit: PostHit| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
            let place = (hit.similarity * 100.0).round() as usize;
            PostRow { post: hit.post, place, why: String::new() }
        };
        Ok(found.into_iter().map(row).collect())
    })
}

pub(crate) fn post(post_obi: String) -> Work<PostDetail> {
    Work::new(|sources| Ok(sources.service.as_reader().call(post::Get { post_obi })?.post))
}

pub(crate) fn log(filter: GetLog, place: Option<LogPlace>) -> Work<LogLines> {
    Work::new(move |sources| {
        let page = sources.service.call(filter.page(place, LOG_LINES));
        page.map_err(|error| match filter.member.filter(|_| error.is_not_found()) {
            Some(member) => Problem::new(format!("There is no member {member}. A path begins with /.")),
            None => error.into(),
        })
    })
}

pub(crate) fn member(id: String) -> Work<Member> {
    Work::new(|sources| {
        let service = &sources.service;
        let of_member = GetLog { member: Some(id.clone()), ..GetLog::default() };
        Ok(Member {
            auto_login: service.user_info(&id)?.auto_login == 1,
            lists: service.lists(&id, 0)?,
            sign_ins: service.call(GetSignIns { user_id: id.clone() }).ok(),
            // A key may see members and not the log, which is only one of the views.
            log: match service.call(of_member.page(None, MEMBER_LINES)) {
                Err(error) if matches!(error.code(), Some(Code::NotAdmin | Code::MissingScope)) => {
                    Err(error.into())
                }
                log => Ok(log?.log),
            },
            id,
        })
    })
}
