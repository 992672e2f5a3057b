//! The table of requests, which contains each operation with each of its answers once, and the paths of lines. A client can
//! request any number of paths, so the path is in the line, and the table stays as small as the interface.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::account::{self, RESERVED_IDS, fold};
use crate::base::keyed::OwnMap;
use crate::record::id::MemberKey;
use crate::store::{StoreError, Tx};

mod operation;

pub use operation::Operation;
pub(crate) use sql::prune;

/// The keys of rows, so that each is looked up once. They are valid only if every transaction in which they were found was
/// committed. After a rollback its keys are assigned again, so the caller drops them. A request has several rows if another
/// process inserted one that was not visible yet. Each line names its own row, so it does not matter which one is found.
#[derive(Default)]
pub(crate) struct RequestKeys(OwnMap<(Operation, LoggedAnswer), i64>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::analysis) struct LoggedAnswer {
    pub(in crate::analysis) status: u16,
    pub(in crate::analysis) result: &'static str,
}

impl RequestKeys {
    /// Inserts the row if there is none.
    pub(in crate::analysis) fn key(
        &mut self,
        tx: &mut dyn Tx,
        operation: Operation,
        answer: LoggedAnswer,
    ) -> Result<i64, StoreError> {
        if let Some(key) = self.0.get(&(operation, answer)) {
            return Ok(*key);
        }
        let key = match sql::find(tx, operation, answer)? {
            Some(key) => key,
            None => sql::insert(tx, operation, answer)?,
        };
        self.0.insert((operation, answer), key);
        Ok(key)
    }
}

#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct LoggedPath<'p> {
    /// The path, with [`MEMBER_PLACEHOLDER`] for the id of a member.
    pub(super) text: Option<Cow<'p, str>>,
    pub(super) member: Option<MemberKey>,
}

/// `/operation/{user_id}…`.
const NAMED_SEGMENT: usize = 2;
/// The placeholder for the id in a path that is stored with the key of the member. A percent-encoded path cannot contain it.
const MEMBER_PLACEHOLDER: &str = " ";

impl<'p> LoggedPath<'p> {
    /// `find` looks up the member whom the path names. An id of no member is replaced with `removed`.
    pub(in crate::analysis) fn of(
        operation: Operation,
        path: Option<&'p str>,
        find: impl FnOnce(&str) -> Option<MemberKey>,
    ) -> Self {
        let Some(path) = path else { return Self::default() };
        let Some(id) = named_id(operation, path) else {
            return Self { text: Some(path.into()), member: None };
        };
        let member = find(&id);
        let name = if member.is_some() { MEMBER_PLACEHOLDER } else { account::REMOVED };
        Self { text: Some(replace_id(path, name).into()), member }
    }
}

/// The folded id of the member; `None` if it cannot be the id of a member.
pub(in crate::analysis) fn named_id(operation: Operation, path: &str) -> Option<String> {
    let id = operation.names.then(|| path.split('/').nth(NAMED_SEGMENT)).flatten()?;
    let folded = fold(&percent_decode_str(id).decode_utf8_lossy());
    (!RESERVED_IDS.contains(&folded.as_str())).then_some(folded)
}

fn replace_id(path: &str, name: &str) -> String {
    let segments = path.split('/').enumerate();
    let segments = segments.map(|(i, text)| if i == NAMED_SEGMENT { name } else { text });
    segments.collect::<Vec<_>>().join("/")
}

mod sql {
    use super::{LoggedAnswer, Operation, StoreError, Tx};

    /// The day of the last use of a row that is never deleted. Earlier versions had a row for each path, and deleted it with
    /// its last line.
    const ALWAYS: i64 = i64::MAX;

    pub(super) fn find(
        tx: &mut dyn Tx,
        operation: Operation,
        answer: LoggedAnswer,
    ) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT key FROM request
                   WHERE used = $1 AND path = $2 AND method = $3 AND status = $4 AND result = $5 LIMIT 1";
        let status = i64::from(answer.status).into();
        let args =
            [ALWAYS.into(), operation.template.into(), operation.method.into(), status, answer.result.into()];
        tx.row(sql, &args)?.map(|mut row| row.take(0)).transpose()
    }

    pub(super) fn insert(
        tx: &mut dyn Tx,
        operation: Operation,
        answer: LoggedAnswer,
    ) -> Result<i64, StoreError> {
        // Earlier versions found paths by their hashes.
        let sql =
            "INSERT INTO request (method, path, hash, status, result, used) VALUES ($1, $2, 0, $3, $4, $5)
                   RETURNING key";
        let status = i64::from(answer.status).into();
        let args =
            [operation.method.into(), operation.template.into(), status, answer.result.into(), ALWAYS.into()];
        tx.one(sql, &args)?.take(0)
    }

    /// Deletes requests of earlier versions that no line has used since a day. Returns whether there may be more.
    pub(crate) fn prune(tx: &mut dyn Tx, before: i64, limit: u64) -> Result<bool, StoreError> {
        let sql = "DELETE FROM request WHERE key IN
                   (SELECT key FROM request WHERE used < $1 ORDER BY used LIMIT $2)";
        Ok(tx.run(sql, &[before.into(), limit.cast_signed().into()])? == limit)
    }
}
