//! The table has the SHA-256 of a code, which suffices because a code is random.

use data_encoding::Specification;
use sha2::{Digest as _, Sha256};
use unicode_normalization::UnicodeNormalization as _;
use zeroize::Zeroizing;

use crate::audit::trail::hex;
use crate::base::clock::Timestamp;
use crate::base::random::random;
use crate::record::id::MemberKey;
use crate::store::{StoreError, Tx};

#[cfg(test)]
mod tests;

/// 16 letters and digits.
const RANDOM_BYTES: usize = 10;
/// The maximum number of characters that are read of a typed code, including those around its letters and digits.
const TYPED_MAX: usize = 128;

/// The table stores these numbers, which must not change.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Chooses a new password; from a mail.
    Reset = 1,
    /// Chooses a new password; from an administrator.
    IssuedReset = 2,
    /// Confirms an address. Its `data` is the hash of the six digits that do the same.
    Address = 3,
    /// Admits to the set-up of a second factor.
    Enrolment = 4,
    /// Ends a single sign-on. Its `data` is the person.
    SignOn = 5,
    /// Not a code, but the name of a step that was taken and must not be taken again. It has no member.
    Taken = 6,
}

impl Kind {
    /// The latest codes of a member that work: several of those in mail, so that a request of another person does not end the
    /// member's.
    const fn most(self) -> i64 {
        match self {
            Self::Reset => 3,
            Self::IssuedReset | Self::Address | Self::Enrolment => 1,
            Self::SignOn | Self::Taken => i64::MAX,
        }
    }
}

pub(super) struct Code {
    pub(super) member: MemberKey,
    pub(super) data: String,
}

pub(super) fn insert(
    tx: &mut dyn Tx,
    kind: Kind,
    member: MemberKey,
    hash: &str,
    data: &str,
    expires: Timestamp,
) -> Result<(), StoreError> {
    let (member, kind, most) = (member.into(), (kind as i64).into(), kind.most().into());
    let sql = "INSERT INTO code (kind, member, hash, data, expires) VALUES ($1, $2, $3, $4, $5)";
    tx.run(sql, &[kind, member, hash.into(), data.into(), expires.into()])?;
    let sql = "DELETE FROM code WHERE kind = $1 AND member = $2 AND key NOT IN (
                   SELECT key FROM code WHERE kind = $1 AND member = $2 ORDER BY key DESC LIMIT $3)";
    tx.run(sql, &[kind, member, most]).map(drop)
}

pub(super) fn find(
    tx: &mut dyn Tx,
    kinds: &[Kind],
    hash: &str,
    now: Timestamp,
) -> Result<Option<Code>, StoreError> {
    let sql = "SELECT kind, member, data FROM code WHERE hash = $1 AND expires > $2";
    let Some(mut row) = tx.row(sql, &[hash.into(), now.into()])? else { return Ok(None) };
    let found: i64 = row.take(0)?;
    if !kinds.iter().any(|kind| *kind as i64 == found) {
        return Ok(None);
    }
    Ok(Some(Code { member: row.take(1)?, data: row.take(2)? }))
}

pub(super) fn remove(tx: &mut dyn Tx, kind: Kind, member: MemberKey) -> Result<(), StoreError> {
    let sql = "DELETE FROM code WHERE kind = $1 AND member = $2";
    tx.run(sql, &[(kind as i64).into(), member.into()]).map(drop)
}

/// Returns false if the step with this name was taken before. From `until` on it cannot be taken, for another reason.
pub(super) fn take_step(tx: &mut dyn Tx, name: &str, until: Timestamp) -> Result<bool, StoreError> {
    let sql =
        "INSERT INTO code (kind, hash, data, expires) VALUES ($1, $2, '', $3) ON CONFLICT (hash) DO NOTHING";
    Ok(tx.run(sql, &[(Kind::Taken as i64).into(), name.into(), until.into()])? > 0)
}

/// Withdraws all pending changes of a member, or of all members: a proposed address, the codes of the member, queued mail with
/// such a code, and a second factor that is not enabled yet. Everything that ends sessions calls it. Otherwise a person who has
/// had the account for a moment could get it back with a code.
pub(in crate::account) fn withdraw(tx: &mut dyn Tx, member: Option<MemberKey>) -> Result<(), StoreError> {
    let (of, of_mail) = match member {
        None => ("member IS NOT NULL", "TRUE"),
        Some(_) => (
            "member = $1",
            // A queued mail names an id or an address, not the member, until it is sent.
            "(member = $1 OR asked IN (SELECT folded FROM member WHERE key = $1
                                       UNION ALL SELECT folded FROM member_email WHERE member = $1))",
        ),
    };
    let args: Vec<_> = member.into_iter().map(Into::into).collect();
    for (change, of) in [
        ("DELETE FROM mail WHERE kind IN ('confirm', 'reset')", of_mail),
        ("UPDATE member_email SET pending = NULL WHERE pending IS NOT NULL", of),
        // The steps that were taken stay, so that none is taken again.
        ("DELETE FROM code WHERE TRUE", of),
        ("DELETE FROM second_factor WHERE enabled IS NULL", of),
    ] {
        tx.run(&format!("{change} AND {of}"), &args)?;
    }
    Ok(())
}

/// Returns whether there may be more.
pub(crate) fn prune(tx: &mut dyn Tx, now: Timestamp, limit: u64) -> Result<bool, StoreError> {
    let sql =
        "DELETE FROM code WHERE key IN (SELECT key FROM code WHERE expires <= $1 ORDER BY expires LIMIT $2)";
    Ok(tx.run(sql, &[now.into(), limit.cast_signed().into()])? == limit)
}

/// Four groups of four letters and digits.
pub(super) fn generate() -> String {
    let mut letters = Specification::new();
    // Crockford's alphabet, without letters that look like digits.
    letters.symbols.push_str("0123456789abcdefghjkmnpqrstvwxyz");
    let encoding = letters.encoding().expect("the alphabet has 32 different characters");
    let text = encoding.encode(&random::<RANDOM_BYTES>());
    let groups: Vec<&str> = (0..text.len()).step_by(4).map(|at| &text[at..at + 4]).collect();
    groups.join("-")
}

/// Letters that look like digits count as these digits.
pub(super) fn hash(code: &str) -> String {
    let code = typed(code);
    let letters = code.chars().map(|c| match c.to_ascii_lowercase() {
        'o' => '0',
        'i' | 'l' => '1',
        c => c,
    });
    hex(&Sha256::digest(Zeroizing::new(letters.collect::<String>()).as_bytes()))
}

/// Removes what people type and paste around the digits of a code: white space, hyphens and invisible characters. Full-width
/// digits and letters become ASCII ones.
pub(super) fn typed(code: &str) -> Zeroizing<String> {
    let is_part = |c: &char| {
        !c.is_whitespace()
            && !matches!(c, '-' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2010}'..='\u{2015}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{2212}' | '\u{feff}')
    };
    // The longest code has 16 characters, and no more than four around each.
    Zeroizing::new(code.chars().take(TYPED_MAX).nfkc().filter(is_part).collect())
}
