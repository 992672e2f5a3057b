//! The requests that lines of the log are of, each kept once, and their keys.
//!
//! Anybody may ask for paths without end that nobody has asked for before. So there is a bound to how many new ones
//! are kept, and to how many are looked for in the table (see [`budget`]); a line beyond it is of the operation's
//! template, `/get_newsfeed_of_topic/{category_name}`, as the router knows it.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use siphasher::sip::SipHasher13;

use crate::account::{self, RESERVED_IDS, fold};
use crate::analysis::visitor::{self, Secret};
use crate::clock::Timestamp;
use crate::id::MemberKey;
use crate::store::{StoreError, Tx};

mod budget;
mod key_cache;

use budget::{AnswerKind, Budget};
use key_cache::{KeyCache, StoredRequest};

/// The most bytes of a path that the log keeps.
const PATH_MAX: usize = 300;

/// What was asked of the service: a method and a path, as far as they are the same for all who ask it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    method: &'static str,
    template: &'static str,
    /// Whether the path has parameters, so that the template is not all of it.
    varies: bool,
    /// Whether the path names a member.
    names: bool,
    /// Whether the path has the id of something that must be there for the request to succeed.
    has_id: bool,
}

impl Operation {
    /// An operation by its method and the template of its path, such as `/get_log_user/{user_id}/{limit}`; the
    /// first parameter is a member's id where it is called `{user_id}`.
    pub fn new(method: &str, template: &'static str) -> Self {
        let names = template.split('/').nth(NAMED_SEGMENT) == Some("{user_id}");
        Self {
            method: method_text(method),
            template,
            varies: template.contains('{'),
            names,
            has_id: names || template.contains("_obi}"),
        }
    }

    /// The same path asked with another method.
    #[must_use]
    pub fn by(self, method: &str) -> Self {
        Self { method: method_text(method), ..self }
    }

    /// The path as it is kept until it is written: nothing where the template is all of it.
    pub(in crate::analysis) fn varying(self, path: &str) -> Option<Box<str>> {
        self.varies.then(|| {
            let mut end = path.len().min(PATH_MAX);
            while !path.is_char_boundary(end) {
                end -= 1;
            }
            path[..end].into()
        })
    }
}

/// The methods that HTTP knows; what anybody may make up is not kept.
fn method_text(method: &str) -> &'static str {
    let known = ["GET", "POST", "HEAD", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    known.into_iter().find(|known| *known == method).unwrap_or("other")
}

/// The keys of requests, so that most lines need not ask for theirs.
///
/// They hold as long as every transaction they were found in was committed: when one is undone, its keys are given
/// again, and these are to be dropped with [`RequestKeys::forget`].
#[derive(Default)]
pub(crate) struct RequestKeys {
    known: KeyCache,
    budget: Budget,
    /// The key of the hash of paths, once it was read.
    secret: Option<Secret>,
}

/// A request of a record.
#[derive(Clone, Copy)]
pub(in crate::analysis) struct LoggedRequest<'p> {
    pub(in crate::analysis) operation: Operation,
    /// The path, where the template is not all of it.
    pub(in crate::analysis) path: Option<&'p str>,
    pub(in crate::analysis) status: u16,
    /// When it was answered.
    pub(in crate::analysis) at: Timestamp,
}

impl RequestKeys {
    /// Keys without a bound to new paths, for requests that no stranger made up.
    #[cfg(feature = "demo")]
    pub(crate) fn unlimited() -> Self {
        Self { budget: Budget::unlimited(), ..Self::default() }
    }

    /// Forgets the keys, but not what has been used up.
    pub(in crate::analysis) fn forget(&mut self) {
        self.known = KeyCache::default();
    }

    /// The key of a request, kept where it is new and there is room for it, else that of its template. A path that
    /// names somebody who is no member says `removed`.
    pub(in crate::analysis) fn key(
        &mut self,
        tx: &mut dyn Tx,
        request: LoggedRequest<'_>,
        today: i64,
    ) -> Result<i64, StoreError> {
        let LoggedRequest { operation, path, status, at } = request;
        let Some(path) = path else { return self.of_template(tx, request, today) };
        // Not remembered where it names a member: whose the id is changes when they are removed, by whomever.
        if !operation.names
            && let Some(key) = self.known.key(tx, operation, status, path, today)?
        {
            return Ok(key);
        }
        let kind = AnswerKind::of(operation, status);
        if !self.budget.may_look_up(operation.template, kind, at) {
            return self.of_template(tx, request, today);
        }
        let (path, names) = if operation.names { named(tx, path)? } else { (path.into(), None) };
        let row =
            RequestRow { method: operation.method, path: &path, hash: self.hash(tx, &path)?, status, names };
        let stored = match sql::find(tx, &row, today)? {
            Some(stored) => stored,
            None if self.budget.may_insert(tx, operation.template, kind, at)? => {
                sql::insert(tx, &row, today)?
            }
            None => return self.of_template(tx, request, today),
        };
        if !operation.names {
            self.known.insert(operation, status, &path, stored);
        }
        Ok(stored.key)
    }

    /// The key of a request without what varies in it: there are as many as operations and statuses.
    fn of_template(
        &mut self,
        tx: &mut dyn Tx,
        request: LoggedRequest<'_>,
        today: i64,
    ) -> Result<i64, StoreError> {
        let LoggedRequest { operation, status, .. } = request;
        let path = operation.template;
        if let Some(key) = self.known.key(tx, operation, status, path, today)? {
            return Ok(key);
        }
        let row =
            RequestRow { method: operation.method, path, hash: self.hash(tx, path)?, status, names: None };
        let stored = match sql::find(tx, &row, today)? {
            Some(stored) => stored,
            None => sql::insert(tx, &row, today)?,
        };
        self.known.insert(operation, status, path, stored);
        Ok(stored.key)
    }

    /// The hash that the table of requests finds a path by, under the key of this database.
    fn hash(&mut self, tx: &mut dyn Tx, path: &str) -> Result<i64, StoreError> {
        let secret = match &self.secret {
            Some(secret) => secret,
            None => self.secret.insert(sql::secret(tx)?),
        };
        // Half of it tells paths well enough apart, and takes half the room.
        Ok((SipHasher13::new_with_key(secret).hash(path.as_bytes()) >> 32).cast_signed())
    }
}

/// A request as the table has it.
struct RequestRow<'p> {
    method: &'static str,
    path: &'p str,
    hash: i64,
    status: u16,
    names: Option<MemberKey>,
}

/// Where paths name members: `/operation/{user_id}…`.
const NAMED_SEGMENT: usize = 2;
/// Stands there in a path that is kept with the key of the member: no path that is percent-encoded has it.
const MEMBER_PLACEHOLDER: &str = " ";

/// A path that names a member as it is kept, and the member's key; where there is none, it says `removed`.
fn named<'p>(tx: &mut dyn Tx, path: &'p str) -> Result<(Cow<'p, str>, Option<MemberKey>), StoreError> {
    let id = path.split('/').nth(NAMED_SEGMENT).unwrap_or_default();
    let folded = fold(&percent_decode_str(id).decode_utf8_lossy());
    if RESERVED_IDS.contains(&folded.as_str()) {
        return Ok((path.into(), None));
    }
    Ok(match account::find(tx, &folded)? {
        Some(member) => (with_name(path, MEMBER_PLACEHOLDER).into(), Some(member.key)),
        None => (with_name(path, account::REMOVED).into(), None),
    })
}

/// The path with another text where it names a member.
fn with_name(path: &str, name: &str) -> String {
    let segments = path.split('/').enumerate();
    let segments = segments.map(|(i, text)| if i == NAMED_SEGMENT { name } else { text });
    segments.collect::<Vec<_>>().join("/")
}

/// Deletes up to `limit` requests that no line has had since before a day; whether there may be more.
pub(in crate::analysis) fn prune(tx: &mut dyn Tx, before: i64, limit: u64) -> Result<bool, StoreError> {
    Ok(sql::prune(tx, before, limit)? == limit)
}

mod sql {
    use super::{RequestRow, Secret, StoreError, StoredRequest, Tx, visitor};
    use crate::store::Arg;

    /// The key of the hash of paths.
    pub(super) fn secret(tx: &mut dyn Tx) -> Result<Secret, StoreError> {
        let text: String = tx.one("SELECT secret FROM path_key", &[])?.take(0)?;
        visitor::decode(&text).ok_or_else(|| StoreError::Damaged("the key of paths is none".into()))
    }

    /// A request that is there, used on this day.
    pub(super) fn find(
        tx: &mut dyn Tx,
        row: &RequestRow<'_>,
        today: i64,
    ) -> Result<Option<StoredRequest>, StoreError> {
        let RequestRow { method, path, hash, status, names } = *row;
        let sql =
            "SELECT key, used FROM request WHERE hash = $1 AND path = $2 AND method = $3 AND status = $4
                   AND coalesce(names, 0) = $5";
        let names = names.map_or(Arg::Integer(0), Arg::from);
        let args = [hash.into(), path.into(), method.into(), i64::from(status).into(), names];
        let Some(mut found) = tx.row(sql, &args)? else { return Ok(None) };
        let (key, used) = (found.take(0)?, found.take(1)?);
        if used < today {
            mark_used(tx, key, today)?;
        }
        Ok(Some(StoredRequest { key, used: today.max(used) }))
    }

    /// Keeps a request that is new.
    pub(super) fn insert(
        tx: &mut dyn Tx,
        row: &RequestRow<'_>,
        today: i64,
    ) -> Result<StoredRequest, StoreError> {
        let RequestRow { method, path, hash, status, names } = *row;
        let sql =
            "INSERT INTO request (method, path, hash, status, names, used) VALUES ($1, $2, $3, $4, $5, $6)
                   RETURNING key";
        let status = i64::from(status).into();
        let args = [method.into(), path.into(), hash.into(), status, names.into(), today.into()];
        Ok(StoredRequest { key: tx.one(sql, &args)?.take(0)?, used: today })
    }

    /// How many requests there are.
    pub(super) fn count(tx: &mut dyn Tx) -> Result<i64, StoreError> {
        tx.one("SELECT count(*) FROM request", &[])?.take(0)
    }

    /// Says that a request was used on a day; false when it is gone.
    pub(super) fn mark_used(tx: &mut dyn Tx, key: i64, day: i64) -> Result<bool, StoreError> {
        Ok(tx.run("UPDATE request SET used = $2 WHERE key = $1", &[key.into(), day.into()])? > 0)
    }

    pub(super) fn prune(tx: &mut dyn Tx, before: i64, limit: u64) -> Result<u64, StoreError> {
        let sql = "DELETE FROM request WHERE key IN
                   (SELECT key FROM request WHERE used < $1 ORDER BY used LIMIT $2)";
        tx.run(sql, &[before.into(), limit.cast_signed().into()])
    }
}
