use std::sync::Arc;

use tidings_vectors::{Model, Origin, StoredPart};

use super::{Current, Shared};
use crate::base::random::random;
use crate::record::error::{Error, Result};
use crate::store::{Isolation, StoreError, Tx};

impl Shared {
    /// Each part has a transaction of its own, so that other writes wait for few bytes, and the log stays short. Fails with
    /// [`Error::Overloaded`] if another process has stored a model meanwhile.
    pub(super) fn publish(&self, model: Model) -> Result<Arc<Current>> {
        let id = i64::from_be_bytes(random());
        let mut parts = 0;
        for StoredPart { words, vectors } in model.to_stored() {
            let words = json(&words)?;
            // Rows that no other transaction knows of.
            let insert = move |tx: &mut dyn Tx| sql::insert_part(tx, id, parts, &words, &vectors);
            self.store.write(Isolation::Concurrent, insert)?;
            parts += 1;
        }
        let origin = json(&model.origin)?;
        // Alone, because another process may replace the model at the same time, which deletes these parts.
        let is_whole = self.store.write::<_, StoreError>(Isolation::Alone, move |tx| {
            let is_whole = sql::count_parts(tx, id)? == parts;
            if is_whole {
                sql::set_current(tx, id, &origin)?;
                sql::delete_other_parts(tx, id)?;
            }
            Ok(is_whole)
        })?;
        if is_whole { Ok(self.swap(model, id)) } else { Err(Error::Overloaded) }
    }

    /// Does nothing if the model of the database is the current one.
    pub(super) fn adopt_stored(&self) -> Result<()> {
        let Some(id) = self.store.read(sql::current)? else { return Ok(()) };
        let current = self.current.load().as_ref().map(|current| current.id);
        if current == Some(id) || *self.unusable() == Some(id) {
            return Ok(());
        }
        // Another process may have replaced it since.
        let Some((id, origin, parts)) = self.store.read(sql::model)? else { return Ok(()) };
        match read(&origin, parts) {
            Ok(model) => drop(self.swap(model, id)),
            // It will be learned again; nothing else is lost.
            Err(error) => {
                tracing::warn!(%error, "the word model cannot be read");
                *self.unusable() = Some(id);
            }
        }
        Ok(())
    }
}

/// The words of a part as JSON, and its vectors.
type Row = (String, Vec<u8>);

fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::Internal(e.into()))
}

fn read(origin: &str, parts: Vec<Row>) -> Result<Model, Box<dyn std::error::Error>> {
    let origin: Origin = serde_json::from_str(origin)?;
    let parts = parts.into_iter().map(|(words, vectors)| {
        let words = serde_json::from_str(&words)?;
        Ok(StoredPart { words, vectors })
    });
    Ok(Model::from_stored(origin, parts.collect::<serde_json::Result<Vec<_>>>()?)?)
}

mod sql {
    use super::{Row, StoreError, Tx};

    pub(super) fn insert_part(
        tx: &mut dyn Tx,
        model: i64,
        part: i64,
        words: &str,
        vectors: &Vec<u8>,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO word_model_part (model, part, words, vectors) VALUES ($1, $2, $3, $4)";
        tx.run(sql, &[model.into(), part.into(), words.into(), vectors.into()]).map(drop)
    }

    pub(super) fn count_parts(tx: &mut dyn Tx, model: i64) -> Result<i64, StoreError> {
        tx.one("SELECT count(*) FROM word_model_part WHERE model = $1", &[model.into()])?.take(0)
    }

    pub(super) fn set_current(tx: &mut dyn Tx, model: i64, origin: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO word_model (one, model, origin) VALUES (1, $1, $2)
                   ON CONFLICT (one) DO UPDATE SET model = excluded.model, origin = excluded.origin";
        tx.run(sql, &[model.into(), origin.into()]).map(drop)
    }

    pub(super) fn delete_other_parts(tx: &mut dyn Tx, model: i64) -> Result<(), StoreError> {
        tx.run("DELETE FROM word_model_part WHERE model <> $1", &[model.into()]).map(drop)
    }

    pub(super) fn current(tx: &mut dyn Tx) -> Result<Option<i64>, StoreError> {
        let row = tx.row("SELECT model FROM word_model WHERE one = 1", &[])?;
        row.map(|mut row| row.take(0)).transpose()
    }

    pub(super) fn model(tx: &mut dyn Tx) -> Result<Option<(i64, String, Vec<Row>)>, StoreError> {
        let row = tx.row("SELECT model, origin FROM word_model WHERE one = 1", &[])?;
        let Some(mut row) = row else { return Ok(None) };
        let (model, origin): (i64, String) = (row.take(0)?, row.take(1)?);
        let sql = "SELECT words, vectors FROM word_model_part WHERE model = $1 ORDER BY part";
        let mut parts = Vec::new();
        tx.for_each(sql, &[model.into()], &mut |row| {
            parts.push((row.take(0)?, row.take(1)?));
            Ok(())
        })?;
        Ok(Some((model, origin, parts)))
    }
}

#[cfg(test)]
mod tests;
