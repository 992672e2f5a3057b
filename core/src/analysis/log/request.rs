//! The table of requests, which holds each distinct request of the log once, and the keys of its rows.
//!
//! A client can request any number of new paths. So the number of new rows is limited, and the number of lookups of
//! paths in the table ([`budget`]). A line beyond these limits refers to the template of its operation, for example
//! `/get_newsfeed_of_topic/{category_name}`, as the router knows it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;
use siphasher::sip::SipHasher13;

use crate::account::{self, RESERVED_IDS, fold};
use crate::analysis::visitor::{self, Secret};
use crate::clock::{SECOND_MS, Timestamp};
use crate::id::MemberKey;
use crate::store::{StoreError, Tx};

mod budget;
mod key_cache;
mod operation;

use budget::{AnswerKind, Budget};
use key_cache::{KeyCache, StoredRequest};
pub use operation::Operation;

/// A cache of the keys of requests, so that most lines need no lookup.
///
/// The keys are valid only if every transaction in which they were found was committed. After a rollback its keys are
/// assigned again, so the caller drops them with [`RequestKeys::roll_back`], or continues with a copy from before it.
///
/// A request has several rows if another process inserted one that was not visible yet. Each line names its own row, so
/// nothing depends on which of them is found.
#[derive(Clone, Default)]
pub(crate) struct RequestKeys {
    known: KeyCache,
    budget: Budget,
    /// The budget at the begin of the transaction.
    budget_before: Budget,
    /// The key of the hash of paths, once read.
    secret: Option<Secret>,
    /// The requests that the last [look-up](RequestKeys::look_up) left to their templates, with the time of the first of each.
    left: HashMap<(Operation, LoggedAnswer, Box<str>), Timestamp>,
}

/// The request of a record.
#[derive(Clone, Copy)]
pub(in crate::analysis) struct LoggedRequest<'p> {
    pub(in crate::analysis) operation: Operation,
    /// The path, if it differs from the template.
    pub(in crate::analysis) path: Option<&'p str>,
    pub(in crate::analysis) answer: LoggedAnswer,
    /// The time of the answer.
    pub(in crate::analysis) at: Timestamp,
}

/// The answer to a request, as far as the log stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::analysis) struct LoggedAnswer {
    /// The HTTP status.
    pub(in crate::analysis) status: u16,
    /// The `result` text.
    pub(in crate::analysis) result: &'static str,
}

impl RequestKeys {
    /// Creates a cache without limits on new paths, for requests that no client made up.
    #[cfg(feature = "demo")]
    pub(crate) fn unlimited() -> Self {
        Self { budget: Budget::unlimited(), ..Self::default() }
    }

    /// Notes that a transaction begins.
    pub(in crate::analysis) fn begin(&mut self) {
        self.known.begin();
        self.budget_before = self.budget.clone();
    }

    /// Returns to the state at [`RequestKeys::begin`], because the transaction was rolled back.
    pub(in crate::analysis) fn roll_back(&mut self) {
        self.known.roll_back();
        self.budget = self.budget_before.clone();
    }

    /// Looks up the keys of requests together, and inserts new requests if the limits allow it, so that [`RequestKeys::key`] knows
    /// them. `today` is the day on which they are used.
    pub(in crate::analysis) fn look_up<'p>(
        &mut self,
        tx: &mut dyn Tx,
        requests: impl Iterator<Item = LoggedRequest<'p>>,
        today: i64,
    ) -> Result<(), StoreError> {
        self.left.clear();
        let mut seen = HashSet::new();
        let mut unknown = Vec::new();
        for request in requests {
            let LoggedRequest { operation, path: Some(path), answer, at } = request else { continue };
            if operation.names
                || self.known.contains(operation, answer, path)
                || !seen.insert((operation, answer, path))
            {
                continue;
            }
            if self.budget.may_look_up(operation.template, AnswerKind::of(operation, answer), at) {
                let hash = self.hash(tx, path)?;
                let row =
                    RequestRow { method: operation.method, path: path.into(), hash, answer, names: None };
                unknown.push((operation, at, row));
            } else {
                self.left.insert((operation, answer, path.into()), at);
            }
        }
        let rows: Vec<_> = unknown.iter().map(|(.., row)| row).collect();
        let mut new = Vec::new();
        for ((operation, at, row), found) in unknown.iter().zip(sql::find_each(tx, &rows, today)?) {
            let kind = AnswerKind::of(*operation, row.answer);
            match found {
                Some(stored) => self.known.insert(*operation, row.answer, &row.path, stored),
                None if self.budget.may_insert(tx, operation.template, kind, *at)? => {
                    new.push((*operation, row));
                }
                None => {
                    self.left.insert((*operation, row.answer, row.path.as_ref().into()), *at);
                }
            }
        }
        let rows: Vec<_> = new.iter().map(|(_, row)| *row).collect();
        for ((operation, row), stored) in new.iter().zip(sql::insert_each(tx, &rows, today)?) {
            self.known.insert(*operation, row.answer, &row.path, stored);
        }
        Ok(())
    }

    /// Returns the key of a request. A new request is inserted if the limits allow it; otherwise the key is that of its
    /// template. A path that names an id of no member is stored with `removed` in its place.
    pub(in crate::analysis) fn key(
        &mut self,
        tx: &mut dyn Tx,
        request: LoggedRequest<'_>,
        today: i64,
    ) -> Result<i64, StoreError> {
        let LoggedRequest { operation, path, answer, at } = request;
        let Some(path) = path else { return self.of_template(tx, request, today) };
        // Paths that name a member are not cached, because an id can pass to a new member after a removal, possibly by
        // another process.
        if !operation.names
            && let Some(key) = self.known.key(tx, operation, answer, path, today)?
        {
            return Ok(key);
        }
        let kind = AnswerKind::of(operation, answer);
        if self.was_left(request, path) || !self.budget.may_look_up(operation.template, kind, at) {
            return self.of_template(tx, request, today);
        }
        let (path, names) = if operation.names { with_member_key(tx, path)? } else { (path.into(), None) };
        let (method, hash) = (operation.method, self.hash(tx, &path)?);
        let row = RequestRow { method, path, hash, answer, names };
        let stored = match sql::find(tx, &row, today)? {
            Some(stored) => stored,
            None if self.budget.may_insert(tx, operation.template, kind, at)? => {
                sql::insert(tx, &row, today)?
            }
            None => return self.of_template(tx, request, today),
        };
        if !operation.names {
            self.known.insert(operation, answer, &row.path, stored);
        }
        Ok(stored.key)
    }

    /// Returns whether a look-up has left this request to its template in the last second.
    fn was_left(&self, LoggedRequest { operation, answer, at, .. }: LoggedRequest<'_>, path: &str) -> bool {
        let left =
            (!self.left.is_empty()).then(|| self.left.get(&(operation, answer, path.into()))).flatten();
        left.is_some_and(|left| at - *left < SECOND_MS)
    }

    /// Returns the key of the request's template. There are at most as many such rows as operations and answers.
    fn of_template(
        &mut self,
        tx: &mut dyn Tx,
        request: LoggedRequest<'_>,
        today: i64,
    ) -> Result<i64, StoreError> {
        let LoggedRequest { operation, answer, .. } = request;
        let path = operation.template;
        if let Some(key) = self.known.key(tx, operation, answer, path, today)? {
            return Ok(key);
        }
        let (method, hash) = (operation.method, self.hash(tx, path)?);
        let row = RequestRow { method, path: path.into(), hash, answer, names: None };
        let stored = match sql::find(tx, &row, today)? {
            Some(stored) => stored,
            None => sql::insert(tx, &row, today)?,
        };
        self.known.insert(operation, answer, path, stored);
        Ok(stored.key)
    }

    /// Returns the hash by which the table of requests finds a path, under the key of this database.
    fn hash(&mut self, tx: &mut dyn Tx, path: &str) -> Result<i64, StoreError> {
        let secret = match &self.secret {
            Some(secret) => secret,
            None => self.secret.insert(sql::secret(tx)?),
        };
        // Half of the hash distinguishes paths well enough, in half the space.
        Ok((SipHasher13::new_with_key(secret).hash(path.as_bytes()) >> 32).cast_signed())
    }
}

/// A request as the table stores it.
struct RequestRow<'p> {
    method: &'static str,
    path: Cow<'p, str>,
    hash: i64,
    answer: LoggedAnswer,
    names: Option<MemberKey>,
}

/// The position of a member's id in paths: `/operation/{user_id}…`.
const NAMED_SEGMENT: usize = 2;
/// The placeholder for the id in a path that is stored with the key of the member. A percent-encoded path cannot
/// contain it.
const MEMBER_PLACEHOLDER: &str = " ";

/// Returns the form in which a path that names a member is stored, and the member's key. If the member does not exist,
/// the path contains `removed`.
fn with_member_key<'p>(
    tx: &mut dyn Tx,
    path: &'p str,
) -> Result<(Cow<'p, str>, Option<MemberKey>), StoreError> {
    let id = path.split('/').nth(NAMED_SEGMENT).unwrap_or_default();
    let folded = fold(&percent_decode_str(id).decode_utf8_lossy());
    if RESERVED_IDS.contains(&folded.as_str()) {
        return Ok((path.into(), None));
    }
    Ok(match account::find(tx, &folded)? {
        Some(member) => (replace_id(path, MEMBER_PLACEHOLDER).into(), Some(member.key)),
        None => (replace_id(path, account::REMOVED).into(), None),
    })
}

/// Returns the path with the member's id replaced by `name`.
fn replace_id(path: &str, name: &str) -> String {
    let segments = path.split('/').enumerate();
    let segments = segments.map(|(i, text)| if i == NAMED_SEGMENT { name } else { text });
    segments.collect::<Vec<_>>().join("/")
}

/// Deletes up to `limit` requests that no line has used since a day. Returns whether there may be more.
pub(crate) fn prune(tx: &mut dyn Tx, before: i64, limit: u64) -> Result<bool, StoreError> {
    Ok(sql::prune(tx, before, limit)? == limit)
}

mod sql {
    use super::{LoggedAnswer, RequestRow, Secret, StoreError, StoredRequest, Tx, visitor};
    use crate::store::{Arg, Row, row_each};

    /// Reads the key of the hash of paths.
    pub(super) fn secret(tx: &mut dyn Tx) -> Result<Secret, StoreError> {
        let text: String = tx.one("SELECT secret FROM path_key", &[])?.take(0)?;
        visitor::decode(&text)
            .ok_or_else(|| StoreError::Damaged("the key of the hash of paths is malformed".into()))
    }

    /// Returns a stored request, and marks it as used on this day.
    pub(super) fn find(
        tx: &mut dyn Tx,
        row: &RequestRow<'_>,
        today: i64,
    ) -> Result<Option<StoredRequest>, StoreError> {
        Ok(find_each(tx, &[row], today)?.pop().flatten())
    }

    /// Does the same as [`find`] for several requests.
    pub(super) fn find_each(
        tx: &mut dyn Tx,
        rows: &[&RequestRow<'_>],
        today: i64,
    ) -> Result<Vec<Option<StoredRequest>>, StoreError> {
        let sql =
            "SELECT key, used FROM request WHERE hash = $1 AND path = $2 AND method = $3 AND status = $4
                   AND coalesce(named_member, 0) = $5 AND result = $6";
        let args = rows.iter().map(|row| {
            let RequestRow { method, path, hash, answer, names } = row;
            let names = names.map_or(Arg::Integer(0), Arg::from);
            let status = i64::from(answer.status).into();
            [(*hash).into(), (&**path).into(), (*method).into(), status, names, answer.result.into()]
        });
        let found = row_each(tx, sql, &args.collect::<Vec<_>>())?;
        let stored = |row: Option<Row>| {
            let Some(mut row) = row else { return Ok(None) };
            let (key, used) = (row.take(0)?, row.take(1)?);
            if used < today {
                mark_used(tx, key, today)?;
            }
            Ok(Some(StoredRequest { key, used: today.max(used) }))
        };
        found.into_iter().map(stored).collect()
    }

    /// Inserts a request.
    pub(super) fn insert(
        tx: &mut dyn Tx,
        row: &RequestRow<'_>,
        today: i64,
    ) -> Result<StoredRequest, StoreError> {
        let mut stored = insert_each(tx, &[row], today)?;
        stored.pop().ok_or_else(|| StoreError::other("an insertion has no row"))
    }

    /// Inserts requests.
    pub(super) fn insert_each(
        tx: &mut dyn Tx,
        rows: &[&RequestRow<'_>],
        today: i64,
    ) -> Result<Vec<StoredRequest>, StoreError> {
        let sql = "INSERT INTO request (method, path, hash, status, result, named_member, used)
                   VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING key";
        let args = rows.iter().map(|row| {
            let RequestRow { method, path, hash, answer: LoggedAnswer { status, result }, names } = row;
            let status = i64::from(*status).into();
            let names = (*names).into();
            [
                (*method).into(),
                (&**path).into(),
                (*hash).into(),
                status,
                (*result).into(),
                names,
                today.into(),
            ]
        });
        let inserted = row_each(tx, sql, &args.collect::<Vec<_>>())?.into_iter();
        let missing = || StoreError::other("an insertion has no row");
        let stored =
            |row: Option<Row>| Ok(StoredRequest { key: row.ok_or_else(missing)?.take(0)?, used: today });
        inserted.map(stored).collect()
    }

    /// Returns the number of requests in the table.
    pub(super) fn count(tx: &mut dyn Tx) -> Result<i64, StoreError> {
        tx.one("SELECT count(*) FROM request", &[])?.take(0)
    }

    /// Marks a request as used on a day. Returns false if it no longer exists.
    pub(super) fn mark_used(tx: &mut dyn Tx, key: i64, day: i64) -> Result<bool, StoreError> {
        // Another transaction that marks it at the same time need not be waited for.
        let sql = match tx.dialect().skip_locked() {
            "" => "UPDATE request SET used = $2 WHERE key = $1".into(),
            skip => format!(
                "UPDATE request SET used = $2 WHERE key = (SELECT key FROM request WHERE key = $1 {skip})"
            ),
        };
        Ok(tx.run(&sql, &[key.into(), day.into()])? > 0)
    }

    pub(super) fn prune(tx: &mut dyn Tx, before: i64, limit: u64) -> Result<u64, StoreError> {
        let sql = "DELETE FROM request WHERE key IN
                   (SELECT key FROM request WHERE used < $1 ORDER BY used LIMIT $2)";
        tx.run(sql, &[before.into(), limit.cast_signed().into()])
    }
}
