//! Everything that is stored about a member, as one JSON object.
//!
//! The object is read in pages, so that its size is not bounded by the memory: a heavy user of some years has hundreds of
//! thousands of lines in the access log. Each page has a read transaction of its own, which checks the caller again. An export
//! is therefore no snapshot: what changes meanwhile may or may not be part of it.
//!
//! This is the decision on each table that has rows of members:
//!
//! | table | in the object |
//! |---|---|
//! | `member` | `account`, without the hash of the password and the generation of the tokens, which are secrets |
//! | `second_factor`, `recovery_code` | since when it is enabled, and the number of codes left; not the secrets |
//! | `session` | `sessions` |
//! | `sign_in_place` | the number of places from which the member signed in lately; not the keyed hashes |
//! | `member_email` | `account`: the addresses |
//! | `passkey` | `account`: the names and dates; not the keys of devices |
//! | `oidc_identity` | `account`: the issuer and its identifier of the person |
//! | `mail` | nothing: mail that is sent within seconds, and `mail_limit` has keyed hashes of an hour |
//! | `code` | nothing: the hashes of codes that are used within an hour |
//! | `invitation` | nothing: what an administrator has made for others; `audit` has who made and who used which |
//! | `settled_like`, `recent_like` | `likes` |
//! | `viewed`, `hidden` | `views`, `hidden_posts` |
//! | `searched`, `opened` | `searches`, `newsfeeds` |
//! | `moved_act` | `imported_acts` |
//! | `feedback` | `feedback` |
//! | `visitor` | `visits` |
//! | `term` | `trend_searches`: the searches of the last day, from which trends are counted |
//! | `log` with `request` | `log` |
//! | `audit` | `audit` |
//! | `audit_identity` | nothing: a random salt, which protects the member's id in the audit trail |
//! | `member_acts`, `removed_member` | nothing: a revision, and the keys of members who do not exist any more |
//! | `log.named_member`, `request.named_member` | nothing: it belongs to requests of administrators, and `audit` has what these changed |
//! | `roster` | nothing: the list of the university's members; `account` has the name and subject that it verified |
//! | `feed_order`, `sign_in_failure` (PostgreSQL) | nothing: orders of posts for some minutes, and keyed hashes |
//!
//! Posts, notices, drafts of notices and API keys have no author.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::credential::oidc::LinkedPerson;
use crate::account::credential::passkey::Passkey;
use crate::account::sessions::Session;
use crate::account::{Caller, Identity, Member, find};
use crate::analysis::LogEntry;
use crate::audit::AuditRecord;
use crate::audit::trail::{Action, Entry};
use crate::base::clock::Timestamp;
use crate::feedback::Feedback;
use crate::profile::{NewsfeedAccess, SearchRecord};
use crate::record::error::{Error, Result};
use crate::record::export::{Export, Part, encode};
use crate::record::id::MemberKey;
use crate::record::operation::{Access, Failure, Spec, Stream};
use crate::record::schema::{ActKind, Date, Hour, Switch};
use crate::record::scope::Scope;
use crate::store::{Isolation, StoreError, Tx};

/// Download the member's data
///
/// The object contains everything that is stored about the member. The response is a download of any length, sent as it is read:
/// lists may change meanwhile. At most 16 downloads of members run at the same time, two of one member, each for at most ten
/// minutes; the client reads at least 64 KiB in 20 seconds. The hash of the password and other secrets are left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetMine {}

impl Stream for GetMine {
    type Line = String;
    type Answer = MemberData;
    const SPEC: Spec = Spec::get("account", "/get_my_data", Access::Members).file();
}

/// Download a member's data
///
/// The object contains everything that is stored about the member. The response is a download as that of `/get_my_data`, and
/// recorded in the audit trail. Only administrators read it: no API key and no role allows it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetOf {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Stream for GetOf {
    type Line = String;
    type Answer = MemberData;
    const SPEC: Spec = Spec::get("admin", "/get_member_data/{user_id}", Access::Persons)
        .counts()
        .file()
        .or(&[Failure::Missing]);
}

mod sql;
#[cfg(test)]
mod tests;

/// Everything that is stored about a member. Lists are in the order in which the database has them.
#[derive(Serialize, ToSchema)]
pub struct MemberData {
    /// The account.
    pub account: AccountData,
    /// Where the member is signed in, and sessions that have expired and will be deleted.
    pub sessions: Vec<Session>,
    /// All likes.
    pub likes: Vec<PostAct>,
    /// Viewed posts, each with the date of the last view.
    pub views: Vec<PostAct>,
    /// Posts that the member has hidden from the recommended feed.
    pub hidden_posts: Vec<PostAct>,
    /// Searches with their tokens and similar words.
    pub searches: Vec<SearchRecord>,
    /// Opened newsfeeds.
    pub newsfeeds: Vec<NewsfeedAccess>,
    /// Acts that were imported from another system, each once.
    pub imported_acts: Vec<ImportedAct>,
    /// Feedback.
    pub feedback: Vec<Feedback>,
    /// The days on which the member visited the service.
    pub visits: Vec<VisitDay>,
    /// Searches of the last day, from which trends are counted.
    pub trend_searches: Vec<TrendSearch>,
    /// The member's lines of the access log.
    pub log: Vec<LogEntry>,
    /// The records of the audit trail that are about the member, or about what the member did as an administrator.
    pub audit: Vec<AuditRecord>,
}

/// The account of a member.
#[derive(Serialize, ToSchema)]
pub struct AccountData {
    /// The id as registered.
    #[serde(rename = "_id")]
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub id: String,
    /// The nickname.
    #[schema(max_length = 1_000_000, examples("Ann"))]
    pub nickname: String,
    /// The name that the university verified, or `""`.
    #[schema(max_length = 128, examples("Ann Lee"))]
    pub name: String,
    /// The subject that the university verified, or `""`.
    #[schema(max_length = 128, examples("Physics"))]
    pub major: String,
    /// The confirmed e-mail address; null without one.
    #[schema(max_length = 254, examples("ann@example.org"))]
    pub email: Option<String>,
    /// An e-mail address that waits for its confirmation; null without one.
    #[schema(max_length = 254, examples("ann.lee@example.org"))]
    pub pending_email: Option<String>,
    /// The person of single sign-on who signs in to the account; null if it is not linked.
    pub single_sign_on: Option<LinkedPerson>,
    /// The passkeys.
    #[schema(max_items = 20)]
    pub passkeys: Vec<Passkey>,
    /// The date of the sign-up.
    pub date: Timestamp,
    /// Whether the app signs the member in automatically: 0 or 1.
    #[schema(value_type = Switch)]
    pub auto_login: i64,
    /// Since when the member is an administrator; null for others.
    pub admin: Option<Timestamp>,
    /// The scopes of the member's role; empty without one.
    #[schema(value_type = Vec<Scope>, max_items = 100)]
    pub scopes: Vec<Scope>,
    /// Since when the member is on the blacklist; null for others.
    pub blacklisted: Option<Timestamp>,
    /// The begin of the measurement of interest; null if it was never reset.
    pub measured_since: Option<Timestamp>,
    /// Since when the second factor is enabled; null if it is not.
    pub second_factor: Option<Timestamp>,
    /// The number of unused recovery codes.
    #[schema(minimum = 0, maximum = 10, examples(9))]
    pub recovery_codes: i64,
    /// The number of places from which the member signed in during the last 30 days, stored as keyed hashes.
    #[schema(minimum = 0, maximum = 32, examples(2))]
    pub sign_in_places: i64,
}

/// A like, a view or a hidden post.
#[derive(Serialize, ToSchema)]
pub struct PostAct {
    /// The post's id; `""` for a post that was removed.
    #[serde(rename = "_id")]
    #[schema(pattern = "^([0-9a-f]{24})?$", examples("6560c1a2ffeeddccbbaa0001"))]
    pub id: String,
    /// Its title; `""` for a post that was removed.
    #[schema(max_length = 300, examples("Closed on Friday"))]
    pub title: String,
    /// Its address; `""` for a post that was removed.
    #[schema(max_length = 2_000, examples("https://news.example.org/1"))]
    pub url: String,
    /// The date of the act.
    pub date: Timestamp,
}

/// An act that was imported from another system.
#[derive(Serialize, ToSchema)]
pub struct ImportedAct {
    /// `view`, `like`, or `other` for a search or an opened newsfeed, of which only a hash is stored here.
    #[schema(value_type = ActKind)]
    pub act: &'static str,
    /// The post's id; `""` for a post that was removed and for other acts.
    #[serde(rename = "_id")]
    #[schema(pattern = "^([0-9a-f]{24})?$", examples("6560c1a2ffeeddccbbaa0001"))]
    pub id: String,
    /// The date of the act.
    pub date: Timestamp,
}

/// A day on which a member visited the service.
#[derive(Serialize, ToSchema)]
pub struct VisitDay {
    /// The day in the time zone of the service, such as `2026-11-20`.
    #[schema(value_type = Date)]
    pub day: String,
    /// The number of visits.
    pub visits: i64,
    /// The hours with requests, from 0 to 23.
    #[schema(value_type = Vec<Hour>, max_items = 24)]
    pub hours: Vec<i64>,
    /// The time of the last request of the day.
    pub seen: Timestamp,
}

/// A search from which trends are counted.
#[derive(Serialize, ToSchema)]
pub struct TrendSearch {
    /// The search.
    #[schema(max_length = 200, examples("library"))]
    pub search: String,
    /// The time of the search.
    pub date: Timestamp,
}

/// An export of what is stored about a member, as one JSON object, which [`MemberData`] describes. Its records are the
/// entries of the lists. A part has at most some hundred kilobytes.
pub struct DataReader {
    identity: Identity,
    /// The id that an administrator has named; `None` for the caller's own data.
    of: Option<String>,
    /// The key and the id of the member of the parts before: a new member may have got the id of a removed one.
    member: Option<(MemberKey, String)>,
    /// The place of the next read; `None` for the account.
    place: Option<Place>,
}

/// The number of a list of [`LISTS`], the entry after which it is read, and whether the list has entries already.
type Place = (usize, After, bool);

/// The key of an entry: up to two columns, in the order of the list.
type After = (i64, i64);
const START: After = (i64::MIN, i64::MIN);

/// Reads a page of a list. Returns the key of its last entry, or `None` if no page follows.
type ReadPage = fn(&mut dyn Tx, &mut Page<'_>) -> Result<Option<After>>;

/// The lists in the order of [`MemberData`].
const LISTS: [(&str, ReadPage); 12] = [
    ("sessions", sql::sessions),
    ("likes", sql::likes),
    ("views", |tx, page| sql::acts(tx, page, "viewed")),
    ("hidden_posts", |tx, page| sql::acts(tx, page, "hidden")),
    ("searches", sql::searches),
    ("newsfeeds", sql::newsfeeds),
    ("imported_acts", sql::imported_acts),
    ("feedback", sql::feedback),
    ("visits", sql::visits),
    ("trend_searches", sql::trend_searches),
    ("log", sql::log),
    ("audit", sql::audit),
];

struct Page<'p> {
    member: &'p Member<'p>,
    /// The session of the caller, if they are the member.
    session: Option<&'p str>,
    after: After,
    json: Vec<u8>,
    is_filled: bool,
    entries: u64,
}

impl Page<'_> {
    fn add<T: Serialize>(&mut self, entry: &T) -> Result<()> {
        if self.is_filled {
            self.json.push(b',');
        }
        self.is_filled = true;
        self.entries += 1;
        encode(&mut self.json, entry)
    }
}

impl DataReader {
    /// Returns a reader of what is stored about the caller.
    pub fn new(tidings: &Tidings, caller: &Caller) -> Self {
        Self { identity: caller.identify(tidings), of: None, member: None, place: None }
    }

    /// Returns a reader of what is stored about a member, for administrators. The audit trail has a record of it, also if
    /// nothing is read.
    ///
    /// # Errors
    /// `bad token`, `Not admin`, also for an API key; `Not found` if no member has this id.
    pub fn of(tidings: &Tidings, caller: &Caller, user_id: &str) -> Result<Self> {
        let (identity, id) = (caller.identify(tidings), user_id.to_owned());
        let member = tidings.store().write(Isolation::Alone, move |tx| {
            let admin = identity.administrator(tx)?;
            let member = find(tx, &id)?.ok_or(Error::NotFound)?;
            admin.record(tx, Entry::new(Action::MemberExport).on_member(member.key))?;
            Ok::<_, Error>((member.key, member.id.clone()))
        })?;
        Ok(Self { member: Some(member), of: Some(user_id.to_owned()), ..Self::new(tidings, caller) })
    }

    /// Returns the member's id as registered; `""` before the first part.
    pub fn id(&self) -> &str {
        self.member.as_ref().map_or("", |(_, id)| id)
    }

    /// Also returns the member, and the place after the part.
    fn read(&self, tx: &mut dyn Tx) -> Result<(Part, (MemberKey, String), Place)> {
        let member = self.find(tx)?;
        let found = (member.key, member.id.clone());
        let Some((list, after, is_filled)) = self.place else {
            let mut json = br#"{"account":"#.to_vec();
            encode(&mut json, &sql::account(tx, &member)?)?;
            return Ok(((json, 0), found, (0, START, false)));
        };
        let (name, read) = LISTS[list];
        let json = if after == START { format!(",\"{name}\":[") } else { String::new() }.into_bytes();
        let session = self.identity.session();
        let mut page = Page { member: &member, session, after, json, is_filled, entries: 0 };
        let next = read(tx, &mut page)?;
        let Page { mut json, is_filled, entries, .. } = page;
        if let Some(after) = next {
            return Ok(((json, entries), found, (list, after, is_filled)));
        }
        json.extend_from_slice(if list + 1 < LISTS.len() { b"]" } else { b"]}\n" });
        Ok(((json, entries), found, (list + 1, START, false)))
    }

    fn find<'tx>(&self, tx: &mut (dyn Tx + 'tx)) -> Result<Member<'tx>> {
        let (member, gone) = match &self.of {
            Some(id) => {
                let admin = self.identity.administrator(tx)?;
                (admin.act_for(find(tx, id)?.ok_or(Error::NotFound)?), Error::NotFound)
            }
            None => (self.identity.member(tx)?, Error::BadToken),
        };
        match &self.member {
            Some((before, _)) if *before != member.key => Err(gone),
            _ => Ok(member),
        }
    }
}

impl Export for DataReader {
    fn next(&mut self, tidings: &Tidings) -> Result<Option<Part>> {
        if self.place.is_some_and(|(list, ..)| list == LISTS.len()) {
            return Ok(None);
        }
        let (part, member, place) = tidings.store().read(|tx| self.read(tx))?;
        (self.member, self.place) = (Some(member), Some(place));
        Ok(Some(part))
    }
}
