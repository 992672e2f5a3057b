//! The audit trail: reading, exporting and verifying what administrators, operators and API keys have done. A program that can
//! write the database can also compute a new chain of hashes; only a copy of an earlier [head](Verification::hash), kept
//! elsewhere, shows that ([`Verify`]). Retention, a record itself, removes the beginning.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{Admin, Caller, Identity, Member, REMOVED, Transaction, find, fold};
use crate::audit::trail::{Action, Entry, Record, Surface};
use crate::base::clock::Timestamp;
use crate::record::answer;
use crate::record::error::{Error, Problem, Result};
use crate::record::export::{self, Export, ExportLines, Part};
use crate::record::operation::{Access, NDJSON, Spec, Stream, Work};
use crate::record::schema::ActorKind;
use crate::record::scope::Scope;
use crate::store::{Isolation, StoreError, Tx};

mod chain;
mod sql;
#[cfg(test)]
mod tests;
pub(crate) mod trail;

pub use chain::{Fault, Head, InvalidHead, Verification};
pub(crate) use chain::{prune, verify as verify_chain};

/// The maximum number of records of a page.
pub const RECORDS_MAX: i64 = 1_000;
const RECORDS: i64 = 100;
/// How many records an export reads at once.
const PAGE: i64 = 1_000;

const HEAD_RULE: Problem =
    Problem::invalid("head", "head is the number of a record, a colon and its hash of 64 hexadecimal digits");
const LIMIT_RULE: Problem = Problem::invalid("limit", "limit is not less than 0");
const BEFORE_RULE: Problem = Problem::invalid("before", "before is the number of a record: not less than 0");
const ACTION_RULE: Problem = Problem::invalid(
    "action",
    "there is no such action: an action is, for example, notice.insert, member.remove or key.add, and notice means all of \
     notices",
);

/// A page of the audit trail.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// The records, latest first.
    pub audit: Vec<AuditRecord>,
    /// The `before` of the next page; null on the last one.
    #[schema(minimum = 1, examples(7))]
    pub next: Option<i64>,
}

/// A record of the audit trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditRecord {
    /// Its number. The numbers have no gaps.
    #[schema(minimum = 1, examples(7))]
    pub seq: i64,
    /// The date when it was done.
    pub date: Timestamp,
    /// Who did it: `member` (an administrator), `operator`, `key` or `service`.
    #[schema(value_type = ActorKind)]
    pub actor_kind: String,
    /// The id of the administrator, `removed` after they were removed; the name of the key; the name of the operator's
    /// account on the machine, `""` if it is not known. For an operator who acts in the name of an administrator, both:
    /// `root as ann`, or `as ann`.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub actor: String,
    /// The way: `http`, `cli`, `tui` or `library`.
    #[schema(value_type = Surface)]
    pub surface: String,
    /// What was done, such as `notice.insert`.
    #[schema(max_length = 50, examples("member.blacklist"))]
    pub action: String,
    /// The id of the member or of the record that was acted on, `removed` for a removed member, `""` for none.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub subject: String,
    /// What was there before, shortened; `""` for nothing.
    #[schema(max_length = 200, examples("everywhere"))]
    pub before: String,
    /// What was there afterwards, shortened; `""` for nothing.
    #[schema(max_length = 200, examples("everywhere"))]
    pub after: String,
    /// The hash in hexadecimal digits.
    #[schema(
        pattern = "^[0-9a-f]{64}$",
        examples("0000000000000000000000000000000000000000000000000000000000000000")
    )]
    pub hash: String,
}

/// The ids of the members are not part of the record.
struct Read {
    record: Record,
    /// The id and the salt of the member who acted, if the member still exists.
    actor: Option<(String, Option<String>)>,
    subject: Option<(String, Option<String>)>,
}

impl From<Read> for AuditRecord {
    fn from(Read { record, actor, subject }: Read) -> Self {
        let id = |key: Option<i64>, member: Option<(String, _)>| {
            key.map(|_| member.map_or_else(|| REMOVED.to_owned(), |(id, _)| id))
        };
        let member = id(record.actor_member.key, actor);
        let actor = match (record.actor_name, member) {
            (Some(name), Some(member)) => format!("{name} as {member}"),
            (None, Some(member)) if record.actor == "operator" => format!("as {member}"),
            (name, member) => member.or(name).unwrap_or_default(),
        };
        Self {
            seq: record.seq,
            date: record.date,
            actor_kind: record.actor,
            actor,
            surface: record.surface,
            action: record.action,
            subject: id(record.subject_member.key, subject).or(record.subject).unwrap_or_default(),
            before: record.before.unwrap_or_default(),
            after: record.after.unwrap_or_default(),
            hash: record.hash,
        }
    }
}

/// List audit records, latest first
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {
    /// Records before the one with this number.
    pub before: Option<i64>,
    /// The maximum number of records, at most 1,000; 100 by default.
    pub limit: Option<i64>,
    /// What was done, such as `notice.insert`, or its first word, such as `notice`.
    #[schema(max_length = 50, examples("notice.insert"))]
    pub action: Option<String>,
    /// Who acted: the id of a member, the name of an API key, `operator` or `service`.
    #[schema(examples("ann"))]
    pub actor: Option<String>,
    /// What was acted on: the id of a member, or of a record.
    #[schema(examples("ann"))]
    pub subject: Option<String>,
}

impl Transaction for List {
    type By = Admin<'static>;
    type Answer = AuditPage;
    const SPEC: Spec = Spec::get("admin", "/get_audit", Access::Admins(Scope::AuditRead)).works(Work::Query);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<AuditPage> {
        let limit = self.limit.unwrap_or(RECORDS);
        if limit < 0 {
            return Err(Error::BadRequest(LIMIT_RULE));
        }
        if self.before.is_some_and(|before| before < 0) {
            return Err(Error::BadRequest(BEFORE_RULE));
        }
        let limit = limit.min(RECORDS_MAX);
        let filter = filter(tx, self)?;
        // One more than the page has, to detect whether another page follows.
        let mut records = sql::latest(tx, admin, &filter, limit + 1)?;
        let next = answer::cut(&mut records, limit).map(|last| last.record.seq);
        Ok(AuditPage { audit: records.into_iter().map(AuditRecord::from).collect(), next })
    }
}

struct Filter {
    before: i64,
    /// An action, or the first word of actions with a dot.
    action: Option<String>,
    actor: Option<Party>,
    subject: Option<Party>,
}

enum Party {
    Member(i64),
    Text(String),
}

fn filter(tx: &mut dyn Tx, query: &List) -> Result<Filter> {
    let action = query.action.as_deref().map(|action| {
        let group = format!("{action}.");
        match trail::Action::NAMES {
            names if names.contains(&action) => Ok(action.to_owned()),
            names if names.iter().any(|name| name.starts_with(&group)) => Ok(group),
            _ => Err(Error::BadRequest(ACTION_RULE)),
        }
    });
    let mut party = |text: &Option<String>| -> Result<Option<Party>> {
        let Some(text) = text else { return Ok(None) };
        Ok(Some(match find(tx, &fold(text))? {
            Some(member) => Party::Member(member.key.as_i64()),
            None => Party::Text(text.clone()),
        }))
    };
    Ok(Filter {
        before: query.before.unwrap_or(i64::MAX),
        actor: party(&query.actor)?,
        subject: party(&query.subject)?,
        action: action.transpose()?,
    })
}

/// Returns records that are about the member or about what they did, after the one with the number `seq`, earliest first.
pub(crate) fn of_member(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    seq: i64,
    limit: i64,
) -> Result<Vec<AuditRecord>, StoreError> {
    Ok(sql::of_member(tx, member, seq, limit)?.into_iter().map(AuditRecord::from).collect())
}

/// Export the audit trail
///
/// The response is a download of any length with one JSON object on each line: what a record of `/get_audit` has, and in
/// `stored` the fields that its hash covers. At most 16 downloads run at the same time, four of one caller, each for at most
/// ten minutes; the client reads at least 64 KiB in 20 seconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ExportTrail {}

impl Stream for ExportTrail {
    type Line = String;
    type Answer = String;
    const SPEC: Spec = Spec::get("admin", "/export_audit", Access::Admins(Scope::AuditRead)).file();
    const GIVES: &'static [&'static str] = &[NDJSON];
}

/// The export is recorded, after the last exported record. A line has what [`AuditRecord`] has, and the stored fields that
/// the hash covers: the operations guide describes how to compute it.
impl ExportLines for ExportTrail {
    type Export = AuditExport;
    const FILE: &'static str = "audit.jsonl";

    fn export(&self, tidings: &Tidings, caller: &Caller) -> AuditExport {
        AuditExport { identity: caller.identify(tidings), after: 0, until: None }
    }
}

/// An export of the whole trail, earliest first.
pub struct AuditExport {
    identity: Identity,
    after: i64,
    /// The number of the last record, once the export is recorded.
    until: Option<i64>,
}

impl Export for AuditExport {
    fn next(&mut self, tidings: &Tidings) -> Result<Option<Part>> {
        let until = if let Some(until) = self.until {
            until
        } else {
            let identity = self.identity.clone();
            *self.until.insert(tidings.store().write(Isolation::Alone, move |tx| {
                let admin = identity.with_scope(tx, Scope::AuditRead)?;
                let (seq, _) = trail::sql::chain(tx)?.head;
                admin.record(tx, Entry::new(Action::AuditExport))?;
                Ok::<_, Error>(seq)
            })?)
        };
        let mut page = tidings.store().read(|tx| {
            let _admin = self.identity.with_scope(tx, Scope::AuditRead)?;
            Ok::<_, Error>(sql::after(tx, self.after, PAGE)?)
        })?;
        page.retain(|read| read.record.seq <= until);
        let Some(last) = page.last() else { return Ok(None) };
        let after = last.record.seq;
        let lines = export::lines(&page.into_iter().map(Line::from).collect::<Vec<_>>())?;
        self.after = after;
        Ok(Some(lines))
    }
}

#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    record: AuditRecord,
    stored: Stored,
}

/// The fields that the hash covers beside `seq`, `date`, `surface` and `action`, in its order, as they are stored.
#[derive(Serialize)]
struct Stored {
    actor: String,
    actor_name: Option<String>,
    actor_member: Option<i64>,
    actor_proof: Option<String>,
    subject: Option<String>,
    subject_member: Option<i64>,
    subject_proof: Option<String>,
    before: Option<String>,
    after: Option<String>,
}

impl From<Read> for Line {
    fn from(read: Read) -> Self {
        let of = read.record.clone();
        let stored = Stored {
            actor: of.actor,
            actor_name: of.actor_name,
            actor_member: of.actor_member.key,
            actor_proof: of.actor_member.proof,
            subject: of.subject,
            subject_member: of.subject_member.key,
            subject_proof: of.subject_member.proof,
            before: of.before,
            after: of.after,
        };
        Self { record: read.into(), stored }
    }
}

/// Verify the audit trail
///
/// Checks that no record was changed, inserted or removed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Verify {
    /// The number of a record and its hash, as an earlier verification returned them: `SEQ:HASH`.
    #[schema(
        pattern = "^[0-9]{1,18}:[0-9a-fA-F]{64}$",
        examples("0:0000000000000000000000000000000000000000000000000000000000000000")
    )]
    pub head: Option<String>,
}

impl Transaction for Verify {
    type By = Admin<'static>;
    type Answer = Verification;
    const SPEC: Spec =
        Spec::get("admin", "/verify_audit", Access::Admins(Scope::AuditRead)).works(Work::Query);

    fn run(&self, tx: &mut dyn Tx, _: &Admin<'_>, _: &Identity) -> Result<Verification> {
        let head = self.head.as_deref().map(str::parse::<Head>).transpose();
        let head = head.map_err(|_| Error::BadRequest(HEAD_RULE))?;
        // A head whose record has expired is a fault, because it proves nothing about the records that are left.
        Ok(chain::verify(tx, head.as_ref())?)
    }
}
