use serde::Serialize;

use crate::store::{StoreError, Topic, Tx};

/// `None` also for a row of a version that this program cannot read.
pub(crate) fn read<T: serde::de::DeserializeOwned>(
    tx: &mut dyn Tx,
    origin: &'static str,
) -> Result<Option<T>, StoreError> {
    let row = tx.row("SELECT content FROM feed_weights WHERE origin = $1", &[origin.into()])?;
    let content: Option<String> = row.map(|mut row| row.take(0)).transpose()?;
    Ok(content.and_then(|content| serde_json::from_str(&content).ok()))
}

/// The feeds use the content immediately.
pub(crate) fn write(
    tx: &mut dyn Tx,
    origin: &'static str,
    content: &impl Serialize,
) -> Result<(), StoreError> {
    let content = serde_json::to_string(content).expect("figures and names serialise without errors");
    let sql = "INSERT INTO feed_weights (origin, content) VALUES ($1, $2)
               ON CONFLICT (origin) DO UPDATE SET content = excluded.content";
    tx.run(sql, &[origin.into(), (&content).into()])?;
    tx.touch(Topic::Posts);
    Ok(())
}
