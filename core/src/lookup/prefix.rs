//! The beginnings of ids, which is what people type.
//!
//! Ids are indexed texts, so the ids with a prefix are a range of the index, and a look-up reads at most [`FOUND_MAX`] rows.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::record::id::ObjectId;
use crate::store::{Row, StoreError, Tx};

/// The minimum length of a prefix in hex digits, because shorter ones are rarely unique.
pub const PREFIX_MIN: usize = 4;
/// The maximum number of ids of an answer.
pub const FOUND_MAX: usize = 20;
/// The maximum length of a title in an answer, in characters.
const TITLE_MAX: usize = 80;

/// The ids that begin with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdRange {
    pub(crate) first: ObjectId,
    pub(crate) last: ObjectId,
}

impl IdRange {
    /// Returns the range of a prefix of [`PREFIX_MIN`] to 24 hex digits in lower or upper case; `None` for any other text.
    pub(crate) fn parse(prefix: &str) -> Option<Self> {
        if !(PREFIX_MIN..=24).contains(&prefix.len()) {
            return None;
        }
        let padded = |digit: &str| ObjectId::parse(&(prefix.to_owned() + &digit.repeat(24 - prefix.len())));
        Some(Self { first: padded("0")?, last: padded("f")? })
    }

    /// Returns whether the id begins with the prefix.
    pub(crate) fn contains(&self, id: ObjectId) -> bool {
        (self.first..=self.last).contains(&id)
    }
}

/// A record whose id begins with a prefix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundId {
    /// Its id.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// Its title, or the beginning of the text of feedback: one line of at most 80 characters.
    #[schema(max_length = 80, examples("Closed on Friday"))]
    pub title: String,
}

impl FoundId {
    pub(crate) fn new(id: String, text: &str) -> Self {
        let title = text.lines().next().unwrap_or_default().chars().take(TITLE_MAX).collect();
        Self { id, title }
    }
}

/// Runs a statement that selects ids and texts of a range: `$1` and `$2` are its ends, and `$3` is the maximum number of rows.
pub(crate) fn rows(tx: &mut dyn Tx, sql: &str, range: &IdRange) -> Result<Vec<FoundId>, StoreError> {
    let [first, last] = [range.first, range.last].map(|id| id.to_string());
    let limit = i64::try_from(FOUND_MAX).unwrap_or(i64::MAX);
    let rows = tx.rows(sql, &[(&first).into(), (&last).into(), limit.into()])?;
    let found = |mut row: Row| Ok(FoundId::new(row.take(0)?, &row.take::<String>(1)?));
    rows.into_iter().map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_range_of_ids() {
        let id = |text| ObjectId::parse(text).unwrap();
        let range = IdRange::parse("6560C").unwrap();
        assert!(range.contains(id("6560c0000000000000000000")));
        assert!(range.contains(id("6560cfffffffffffffffffff")));
        assert!(
            !range.contains(id("6560bfffffffffffffffffff"))
                && !range.contains(id("6560d00000000000000000ff"))
        );
        let whole = "6560c1a2ffeeddccbbaa0001";
        let range = IdRange::parse(whole).unwrap();
        assert_eq!((range.first, range.last), (id(whole), id(whole)));
        for other in ["", "656", "6560c1a2ffeeddccbbaa00011", "656g", "65%0", "é0é0"] {
            assert_eq!(IdRange::parse(other), None, "{other}");
        }
    }
}
