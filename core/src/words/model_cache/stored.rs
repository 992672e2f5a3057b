//! The word model in the database, from which all servers get the same words. On SQLite there is only the file.

use std::io;

use tidings_vectors::{Model, file};

use super::Shared;
use crate::base::random::random;
use crate::record::error::{Error, Result};
use crate::store::{Isolation, StoreError, Tx};

/// The bytes of a part: so few that a part delays other writes by little.
const PART: usize = 48 << 10;

impl Shared {
    /// Stores a model that this server has made or loaded, for all servers.
    ///
    /// # Errors
    /// An error of the store.
    pub(super) fn publish(&self, model: &Model) -> Result<()> {
        if !self.store.is_on_server() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        file::write(model, &mut bytes).map_err(|e| Error::Internal(e.into()))?;
        let (id, made) = (i64::from_be_bytes(random()), model.origin.made);
        for (part, bytes) in (0_i64..).zip(bytes.chunks(PART)) {
            let data = hexadecimal(bytes);
            // Rows that no other transaction knows of.
            let insert = move |tx: &mut dyn Tx| sql::insert_part(tx, id, part, &data);
            self.store.write(Isolation::Concurrent, insert)?;
        }
        // Alone, because two servers may replace the model at the same time.
        self.store.write(Isolation::Alone, move |tx| {
            sql::set_current(tx, id, made)?;
            sql::delete_other_parts(tx, id)
        })?;
        Ok(())
    }

    /// Uses the model of the database if it differs from the current one. Returns whether the database has a model.
    ///
    /// # Errors
    /// An error of the store.
    pub(super) fn adopt_stored(&self) -> Result<bool> {
        let Some(made) = self.store.read(sql::made)? else { return Ok(false) };
        let current = self.current.load().as_ref().map(|current| current.model.origin.made);
        if current == Some(made) || *self.unusable() == Some(made) {
            return Ok(true);
        }
        let text = self.store.read(sql::parts)?;
        let read = bytes(&text).and_then(|bytes| file::read(&*bytes, bytes.len() as u64));
        match read {
            Ok(model) => {
                if let Err(error) = self.write(&model) {
                    tracing::warn!(path = %self.path.display(), %error, "the word model cannot be written");
                }
                self.swap(model);
            }
            Err(error) => {
                tracing::warn!(%error, "the word model of the database cannot be read");
                *self.unusable() = Some(made);
            }
        }
        Ok(true)
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |digit: u8| char::from(b"0123456789abcdef"[usize::from(digit)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn bytes(text: &str) -> io::Result<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    bytes.collect::<Option<_>>().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

mod sql {
    use super::{StoreError, Tx};

    pub(super) fn insert_part(tx: &mut dyn Tx, model: i64, part: i64, data: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO word_model_part (model, part, data) VALUES ($1, $2, $3)";
        tx.run(sql, &[model.into(), part.into(), data.into()]).map(drop)
    }

    pub(super) fn set_current(tx: &mut dyn Tx, model: i64, made: i64) -> Result<(), StoreError> {
        let sql = "INSERT INTO word_model (one, model, made) VALUES (1, $1, $2)
                   ON CONFLICT (one) DO UPDATE SET model = excluded.model, made = excluded.made";
        tx.run(sql, &[model.into(), made.into()]).map(drop)
    }

    /// Deletes the parts of all models but one. A server that is writing another one at this time writes it again.
    pub(super) fn delete_other_parts(tx: &mut dyn Tx, model: i64) -> Result<(), StoreError> {
        tx.run("DELETE FROM word_model_part WHERE model <> $1", &[model.into()]).map(drop)
    }

    /// Returns the time when the current model was made.
    pub(super) fn made(tx: &mut dyn Tx) -> Result<Option<i64>, StoreError> {
        let row = tx.row("SELECT made FROM word_model WHERE one = 1", &[])?;
        row.map(|mut row| row.take(0)).transpose()
    }

    /// Returns the current model as text.
    pub(super) fn parts(tx: &mut dyn Tx) -> Result<String, StoreError> {
        let sql =
            "SELECT data FROM word_model_part WHERE model = (SELECT model FROM word_model WHERE one = 1)
                   ORDER BY part";
        let mut text = String::new();
        tx.for_each(sql, &[], &mut |row| {
            text.push_str(&row.take::<String>(0)?);
            Ok(())
        })?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
