//! The requests that lines of the log are of, each kept once, and their keys.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use rustc_hash::FxHashMap;
use siphasher::sip::SipHasher13;

use crate::account::{self, RESERVED_IDS, fold};
use crate::store::{StoreError, Tx};

/// Requests whose keys are remembered.
const REMEMBERED: usize = 16_384;
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
}

impl Operation {
    /// An operation by its method and the template of its path, such as `/get_log_user/{user_id}/{limit}`; the
    /// first parameter is a member's id where it is called `{user_id}`.
    pub fn new(method: &str, template: &'static str) -> Self {
        Self {
            method: method_text(method),
            template,
            varies: template.contains('{'),
            names: template.split('/').nth(NAMED_SEGMENT) == Some("{user_id}"),
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
/// again, and these are to be dropped.
#[derive(Default)]
pub(in crate::analysis) struct Requests {
    keys: FxHashMap<(Operation, u16), FxHashMap<Box<str>, Kept>>,
    count: usize,
}

#[derive(Clone, Copy)]
struct Kept {
    key: i64,
    /// The day on which the table says it was last used.
    used: i64,
}

impl Requests {
    /// The key of a request, kept where it is new. A path that names somebody who is no member says `removed`.
    pub(in crate::analysis) fn key(
        &mut self,
        tx: &mut dyn Tx,
        operation: Operation,
        path: Option<&str>,
        status: u16,
        today: i64,
    ) -> Result<i64, StoreError> {
        let path = path.unwrap_or(operation.template);
        if operation.names {
            // Not remembered: whose the id is changes when the member is removed, by whomever.
            let (path, names) = named(tx, path)?;
            return Ok(sql::request(tx, operation.method, &path, status, names, today)?.key);
        }
        let paths = self.keys.entry((operation, status)).or_default();
        match paths.get_mut(path) {
            Some(kept) if kept.used >= today || sql::use_again(tx, kept.key, today)? => {
                kept.used = kept.used.max(today);
                return Ok(kept.key);
            }
            _ => {}
        }
        let kept = sql::request(tx, operation.method, path, status, None, today)?;
        if self.count >= REMEMBERED {
            *self = Self::default();
        }
        self.count += 1;
        self.keys.entry((operation, status)).or_default().insert(path.into(), kept);
        Ok(kept.key)
    }
}

/// Where paths name members: `/operation/{user_id}…`.
const NAMED_SEGMENT: usize = 2;
/// Stands there in a path that is kept with the key of the member: no path that is percent-encoded has it.
const SOMEBODY: &str = " ";

/// A path that names a member as it is kept, and the member's key; where there is none, it says `removed`.
fn named<'p>(tx: &mut dyn Tx, path: &'p str) -> Result<(Cow<'p, str>, Option<i64>), StoreError> {
    let id = path.split('/').nth(NAMED_SEGMENT).unwrap_or_default();
    let folded = fold(&percent_decode_str(id).decode_utf8_lossy());
    if RESERVED_IDS.contains(&folded.as_str()) {
        return Ok((path.into(), None));
    }
    Ok(match account::find(tx, &folded)? {
        Some(member) => (with_name(path, SOMEBODY).into(), Some(member.key)),
        None => (with_name(path, account::REMOVED).into(), None),
    })
}

/// The path with another text where it names a member.
fn with_name(path: &str, name: &str) -> String {
    let segments = path.split('/').enumerate();
    let segments = segments.map(|(i, text)| if i == NAMED_SEGMENT { name } else { text });
    segments.collect::<Vec<_>>().join("/")
}

/// The hash that the table of requests finds a path by. It may not change.
fn hash(path: &str) -> i64 {
    // Half of it tells paths well enough apart, and takes half the room.
    (SipHasher13::new().hash(path.as_bytes()) >> 32).cast_signed()
}

/// Deletes up to `limit` requests that no line has had since before a day; whether there may be more.
pub(in crate::analysis) fn prune(tx: &mut dyn Tx, before: i64, limit: u64) -> Result<bool, StoreError> {
    Ok(sql::prune(tx, before, limit)? == limit)
}

mod sql {
    use super::{Kept, StoreError, Tx};

    /// A request, kept where it is new.
    pub(super) fn request(
        tx: &mut dyn Tx,
        method: &str,
        path: &str,
        status: u16,
        names: Option<i64>,
        today: i64,
    ) -> Result<Kept, StoreError> {
        let (status, hash) = (i64::from(status), super::hash(path));
        let sql =
            "SELECT key, used FROM request WHERE hash = $1 AND path = $2 AND method = $3 AND status = $4
                   AND coalesce(names, 0) = $5";
        let args = [hash.into(), path.into(), method.into(), status.into(), names.unwrap_or_default().into()];
        if let Some(mut row) = tx.row(sql, &args)? {
            let (key, used) = (row.take(0)?, row.take(1)?);
            if used < today {
                use_again(tx, key, today)?;
            }
            return Ok(Kept { key, used: today.max(used) });
        }
        let sql =
            "INSERT INTO request (method, path, hash, status, names, used) VALUES ($1, $2, $3, $4, $5, $6)
                   RETURNING key";
        let args = [method.into(), path.into(), hash.into(), status.into(), names.into(), today.into()];
        Ok(Kept { key: tx.one(sql, &args)?.take(0)?, used: today })
    }

    /// Says that a request was used on a day; false when it is gone.
    pub(super) fn use_again(tx: &mut dyn Tx, key: i64, day: i64) -> Result<bool, StoreError> {
        Ok(tx.run("UPDATE request SET used = $2 WHERE key = $1", &[key.into(), day.into()])? > 0)
    }

    pub(super) fn prune(tx: &mut dyn Tx, before: i64, limit: u64) -> Result<u64, StoreError> {
        let sql = "DELETE FROM request WHERE key IN
                   (SELECT key FROM request WHERE used < $1 ORDER BY used LIMIT $2)";
        tx.run(sql, &[before.into(), limit.cast_signed().into()])
    }
}
