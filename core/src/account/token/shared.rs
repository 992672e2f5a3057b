//! The fingerprint of the signing key, in a database that several servers share.
//!
//! A server with a key of its own would refuse the tokens of the other servers, and its key file is easily created by
//! accident: by a first start on another machine or in another directory. So the first program that opens the database
//! records the fingerprint of its key, and others are refused unless they have the same key. A program that has the
//! recorded key as its previous key, or had it until the key was replaced, records the new one.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::base::config::Secret;
use crate::store::{StoreError, Tx};

/// Returns the fingerprint of a key: a hash from which neither the key nor a signature follows. Stored: it may not change.
pub(super) fn fingerprint(key: &Secret) -> String {
    let hash = Sha256::new().chain_update(b"tidings token key\0").chain_update(&*key.0).finalize();
    hash.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a String takes any text");
        hex
    })
}

pub(super) fn recorded(tx: &mut dyn Tx) -> Result<Option<String>, StoreError> {
    let row = tx.row("SELECT fingerprint FROM token_key WHERE one = 1", &[])?;
    row.map(|mut row| row.take(0)).transpose()
}

/// Records the fingerprint `current`, unless one is recorded that is not among `earlier`. Returns whether `current` is now
/// the recorded one.
pub(super) fn record(tx: &mut dyn Tx, current: &str, earlier: &[String]) -> Result<bool, StoreError> {
    let sql = match recorded(tx)? {
        Some(recorded) if recorded == current => return Ok(true),
        Some(recorded) if earlier.contains(&recorded) => {
            "UPDATE token_key SET fingerprint = $1 WHERE one = 1"
        }
        Some(_) => return Ok(false),
        None => "INSERT INTO token_key (one, fingerprint) VALUES (1, $1)",
    };
    tx.run(sql, &[current.into()])?;
    Ok(true)
}
