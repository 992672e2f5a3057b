//! The binary format of COPY.
//!
//! Numbers are big-endian. A signature and two numbers of 32 bits come first; then each row with the number of its columns
//! (16 bits) and, for each column, its length (32 bits, -1 for null) and its bytes; at the end -1 instead of a number of
//! columns.
//!
//! Source: section *Binary Format* of the page COPY of the PostgreSQL documentation.

use bytes::{Bytes, BytesMut};

use crate::store::bulk::{Kind, Table};
use crate::store::{Arg, StoreError};

/// The begin: the signature, the flags and the length of the extension.
const HEAD: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const END: [u8; 2] = (-1_i16).to_be_bytes();
const NULL: [u8; 4] = (-1_i32).to_be_bytes();

/// Writes rows.
pub(super) struct Encoder {
    bytes: BytesMut,
    /// The number of bytes from which on they are sent.
    full: usize,
}

impl Encoder {
    pub(super) fn new(full: usize) -> Self {
        Self { bytes: BytesMut::with_capacity(2 * full), full }
    }

    /// Begins a COPY.
    pub(super) fn begin(&mut self) {
        self.bytes.clear();
        self.bytes.extend_from_slice(HEAD);
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When a value does not have the type of its column.
    pub(super) fn row(&mut self, table: &Table, cells: &[Arg<'_>]) -> Result<(), StoreError> {
        let columns = i16::try_from(cells.len()).map_err(StoreError::other)?;
        self.bytes.extend_from_slice(&columns.to_be_bytes());
        for (cell, column) in cells.iter().zip(&table.columns) {
            match (*cell, column.kind) {
                (Arg::Null, _) => self.bytes.extend_from_slice(&NULL),
                (Arg::Integer(value), Kind::Integer) => self.field(&value.to_be_bytes())?,
                (Arg::Real(value), Kind::Real) => self.field(&value.to_be_bytes())?,
                (Arg::Text(value), Kind::Text) => self.field(value.as_bytes())?,
                _ => return Err(mistyped(table, &column.name)),
            }
        }
        Ok(())
    }

    fn field(&mut self, value: &[u8]) -> Result<(), StoreError> {
        let length = i32::try_from(value.len()).map_err(StoreError::other)?;
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    /// Returns the bytes so far if there are enough of them.
    pub(super) fn full(&mut self) -> Option<Bytes> {
        (self.bytes.len() >= self.full).then(|| self.bytes.split().freeze())
    }

    /// Ends the COPY, and returns the bytes that are left.
    pub(super) fn end(&mut self) -> Bytes {
        self.bytes.extend_from_slice(&END);
        self.bytes.split().freeze()
    }
}

/// Reads the row in a message into `cells`. Returns false if the message has none, as the last one.
///
/// # Errors
/// When the row does not have the columns of the table.
pub(super) fn decode<'m>(
    message: &'m [u8],
    table: &Table,
    cells: &mut [Arg<'m>],
) -> Result<bool, StoreError> {
    // The head comes in a message of its own or together with the first row.
    let mut rest = message.strip_prefix(HEAD).unwrap_or(message);
    if rest.is_empty() || rest == END {
        return Ok(false);
    }
    let broken = || StoreError::other(format!("the server sent a malformed row of {}", table.name));
    let columns = i16::from_be_bytes(taken(&mut rest).ok_or_else(broken)?);
    if usize::try_from(columns) != Ok(cells.len()) {
        return Err(broken());
    }
    for (cell, column) in cells.iter_mut().zip(&table.columns) {
        let length = i32::from_be_bytes(taken(&mut rest).ok_or_else(broken)?);
        let Ok(length) = usize::try_from(length) else {
            *cell = Arg::Null;
            continue;
        };
        let (value, after) = rest.split_at_checked(length).ok_or_else(broken)?;
        rest = after;
        *cell = match column.kind {
            Kind::Integer => Arg::Integer(integer(value).ok_or_else(|| mistyped(table, &column.name))?),
            Kind::Real => {
                let value = value.try_into().map_err(|_| mistyped(table, &column.name))?;
                Arg::Real(f64::from_be_bytes(value))
            }
            Kind::Text => Arg::Text(str::from_utf8(value).map_err(StoreError::other)?),
        };
    }
    Ok(true)
}

fn integer(value: &[u8]) -> Option<i64> {
    if let Ok(value) = value.try_into() {
        return Some(i64::from_be_bytes(value));
    }
    value.try_into().ok().map(i32::from_be_bytes).map(i64::from)
}

/// Takes the first bytes.
fn taken<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*first)
}

fn mistyped(table: &Table, column: &str) -> StoreError {
    StoreError::other(format!("a value of {}.{column} does not have the type of the column", table.name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::bulk::Column;

    fn table() -> Table {
        let column = |name: &str, kind| Column { name: name.into(), kind };
        let columns = vec![column("a", Kind::Integer), column("b", Kind::Real), column("c", Kind::Text)];
        Table { name: "t".into(), columns }
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written(
            rows in prop::collection::vec((any::<Option<i64>>(), any::<Option<f64>>(), any::<Option<String>>()), 1..9),
        ) {
            let mut encoder = Encoder::new(usize::MAX >> 1 & 0xffff);
            encoder.begin();
            for (number, (a, b, c)) in rows.iter().enumerate() {
                encoder.row(&table(), &[(*a).into(), (*b).into(), c.as_ref().into()]).unwrap();
                let message = encoder.bytes.split();
                prop_assert_eq!(message.starts_with(HEAD), number == 0);
                let mut cells = [Arg::Null; 3];
                prop_assert!(decode(&message, &table(), &mut cells).unwrap());
                let expected = [Arg::from(*a), Arg::from(*b), Arg::from(c.as_ref())];
                prop_assert_eq!(format!("{cells:?}"), format!("{expected:?}"));
            }
            prop_assert!(!decode(&encoder.end(), &table(), &mut [Arg::Null; 3]).unwrap());
        }
    }

    #[test]
    fn a_malformed_row_is_an_error() {
        let mut cells = [Arg::Null; 3];
        for message in [&[0][..], &[0, 2], &[0, 3, 0, 0, 0, 8, 1], &[0, 3, 0, 0, 0, 1, 1]] {
            assert!(decode(message, &table(), &mut cells).is_err(), "{message:?}");
        }
        let mut encoder = Encoder::new(1);
        assert!(encoder.row(&table(), &[Arg::Text("a"), Arg::Null, Arg::Null]).is_err());
    }
}
