//! Digests of the rows of a table, which show whether two tables are equal, in whatever order their rows are read.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

use crate::base::random::random;
use crate::store::Arg;
use crate::store::bulk::Table;

/// The digest of a table: the number of its rows, and a number for each column.
///
/// The number of a column is the sum, over all rows, of a hash of the values of this column and of all columns before it.
/// The sum does not depend on the order of the rows. The columns before it include the key, so that two values that
/// change places change the digest.
#[derive(Clone, Debug)]
pub(super) struct Digest {
    /// The key of the hashes, random so that nobody can choose values whose hashes are equal.
    key: [u8; 16],
    rows: u64,
    columns: Vec<u64>,
}

/// A difference between two tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// The numbers of rows: of the first table and of the second.
    Rows(u64, u64),
    /// The first column with different values.
    Column(String),
}

impl Digest {
    /// Returns the digest of no rows.
    pub(super) fn new() -> Self {
        Self::with_key(random())
    }

    /// Returns the digest of no rows of a table that is compared with this one.
    pub(super) fn counterpart(&self) -> Self {
        Self::with_key(self.key)
    }

    fn with_key(key: [u8; 16]) -> Self {
        Self { key, rows: 0, columns: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn add(&mut self, cells: &[Arg<'_>]) {
        self.rows += 1;
        self.columns.resize(cells.len(), 0);
        let mut hasher = SipHasher13::new_with_key(&self.key);
        for (cell, sum) in cells.iter().zip(&mut self.columns) {
            add(&mut hasher, *cell);
            *sum = sum.wrapping_add(hasher.finish());
        }
    }

    /// Returns the difference from the digest of another table with the same columns.
    pub(super) fn difference(&self, other: &Self, table: &Table) -> Option<Difference> {
        if self.rows != other.rows {
            return Some(Difference::Rows(self.rows, other.rows));
        }
        let differs = self.columns.iter().zip(&other.columns).position(|(one, other)| one != other);
        differs.map(|place| Difference::Column(table.columns[place].name.clone()))
    }
}

/// Adds a value, with its type and its length, so that different rows are different texts.
fn add(hasher: &mut SipHasher13, cell: Arg<'_>) {
    match cell {
        Arg::Null => hasher.write_u8(0),
        Arg::Integer(value) => {
            hasher.write_u8(1);
            hasher.write(&value.to_le_bytes());
        }
        Arg::Real(value) => {
            hasher.write_u8(2);
            // SQLite stores -0.0 as 0.0; their sum is 0.0.
            hasher.write(&(value + 0.0).to_bits().to_le_bytes());
        }
        Arg::Text(text) => {
            hasher.write_u8(3);
            hasher.write(&text.len().to_le_bytes());
            hasher.write(text.as_bytes());
        }
        Arg::Blob(bytes) => {
            hasher.write_u8(4);
            hasher.write(&bytes.len().to_le_bytes());
            hasher.write(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::bulk::{Column, Kind};

    fn with_rows(mut digest: Digest, rows: &[[Arg<'_>; 2]]) -> Digest {
        for row in rows {
            digest.add(row);
        }
        digest
    }

    fn table() -> Table {
        let column = |name: &str| Column { name: name.into(), kind: Kind::Text };
        Table { name: "t".into(), columns: vec![column("a"), column("b")] }
    }

    fn difference(one: &[[Arg<'_>; 2]], other: &[[Arg<'_>; 2]]) -> Option<Difference> {
        let one = with_rows(Digest::new(), one);
        one.difference(&with_rows(one.counterpart(), other), &table())
    }

    #[test]
    fn a_difference_is_named() {
        let text = Arg::Text;
        let rows = [[Arg::Integer(1), text("x")], [Arg::Integer(2), text("y")]];
        let [first, second] = rows;
        assert_eq!(difference(&rows, &[second, first]), None, "the order does not matter");
        assert_eq!(difference(&rows, &[first]), Some(Difference::Rows(2, 1)));
        let column = |name: &str| Some(Difference::Column(name.into()));
        let swapped = [[Arg::Integer(1), text("y")], [Arg::Integer(2), text("x")]];
        assert_eq!(difference(&rows, &swapped), column("b"));
        assert_eq!(difference(&rows, &[first, [Arg::Integer(3), text("y")]]), column("a"));
        for (one, other) in [
            (Arg::Null, text("")),
            (Arg::Null, Arg::Integer(0)),
            (Arg::Integer(1), Arg::Real(1.0)),
            (text("1"), Arg::Integer(1)),
            (Arg::Real(f64::INFINITY), Arg::Real(f64::MAX)),
        ] {
            assert_eq!(
                difference(&[[one, Arg::Null]], &[[other, Arg::Null]]),
                column("a"),
                "{one:?} {other:?}"
            );
        }
        assert_eq!(difference(&[[text("ab"), text("c")]], &[[text("a"), text("bc")]]), column("a"));
        assert_eq!(difference(&[[Arg::Real(0.0); 2]], &[[Arg::Real(-0.0); 2]]), None);
    }

    proptest! {
        #[test]
        fn one_changed_byte_changes_the_digest(text in ".{1,40}", place: prop::sample::Index, bit in 0..7_u8) {
            let mut bytes = text.clone().into_bytes();
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
            if let Ok(changed) = String::from_utf8(bytes) {
                let (one, other) = ([[Arg::Integer(1), Arg::Text(&text)]], [[Arg::Integer(1), Arg::Text(&changed)]]);
                prop_assert_eq!(difference(&one, &other), Some(Difference::Column("b".into())));
            }
        }
    }
}
