//! Accounts: who a caller is, and the rules of ids, passwords and nicknames.
//!
//! A [`Caller`] says how somebody came. Who that is is found out inside the transaction that acts on it, so that
//! a member who has just been removed, blacklisted or signed out no longer acts. The check returns a proof, which the
//! functions of the other slices take as a parameter (`account/authority.rs`).

use std::fmt;
use std::sync::{Arc, OnceLock};

use unicode_normalization::UnicodeNormalization as _;
use zeroize::Zeroizing;

use crate::Tidings;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::id::MemberKey;
use crate::store::{StoreError, Topic, Tx};
use crate::text;
use token::Claims;

mod authority;
pub(crate) mod import;
mod members;
pub(crate) mod password;
pub(crate) mod roster;
mod session;
mod shown;
pub(crate) mod throttle;
pub(crate) mod token;
pub(crate) mod verify;

pub use crate::client::Client;
pub use authority::Operator;
pub(crate) use authority::{Admin, Identity, Member, MemberRecord, find};
pub use import::import_members;
pub use members::{MEMBERS_MAX, MemberEntry, MemberQuery, Members, list, set_password};
pub use roster::{Roster, RosterMember, RosterReport, import_roster, roster};
pub(crate) use session::register;
pub use session::{
    AccessToken, NewPassword, SignUp, change_pw, sign_in, sign_in_up, sign_out_all, sign_up, sign_up_from,
};
pub use verify::{Verdict, Verifier, VerifyError};

/// Ids that are nobody's: they stand for visitors who are not signed in and for members who are gone.
pub const RESERVED_IDS: [&str; 2] = [GUEST, REMOVED];
/// Stands for who is not signed in.
pub(crate) const GUEST: &str = "guest";
/// Shown in place of the id of a member who is gone.
pub(crate) const REMOVED: &str = "removed";

/// How somebody came to an operation.
#[derive(Clone, Default)]
pub enum Caller {
    /// Without a token.
    #[default]
    Nobody,
    /// With a bearer token.
    Token(Token),
    /// By right of whoever may read the database file, as the member with this id.
    Member(String),
    /// By right of whoever may read the database file: an administrator who is no member.
    Operator,
}

/// A bearer token, not checked yet. Clones share what is found out about it.
#[derive(Clone)]
pub struct Token(Arc<Found>);

struct Found {
    text: Zeroizing<String>,
    /// What it says, when it was signed with our key.
    claims: OnceLock<Option<Claims>>,
    /// The key of the member whom the first transaction that asked found it to be; `None`: nobody.
    member: OnceLock<Option<MemberKey>>,
}

impl Token {
    /// The token itself.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.0.text
    }

    /// What it says, when it was signed with our key and has not ended.
    fn claims(&self, tidings: &Tidings) -> Option<&Claims> {
        let claims = self.0.claims.get_or_init(|| tidings.keys().verify(&self.0.text));
        claims.as_ref().filter(|claims| claims.lasts(tidings.now()))
    }
}

impl Caller {
    /// Who came with this bearer token.
    pub fn token(token: impl Into<String>) -> Self {
        let (claims, member) = (OnceLock::new(), OnceLock::new());
        Self::Token(Token(Arc::new(Found { text: Zeroizing::new(token.into()), claims, member })))
    }

    /// Whether this is a token that was signed with our key and has not expired. It may have been revoked: only an
    /// operation finds that out.
    pub fn has_signed_token(&self, tidings: &Tidings) -> bool {
        matches!(self, Self::Token(token) if token.claims(tidings).is_some())
    }

    /// Checks what can be checked without the database: a token's signature and end.
    pub(crate) fn identify(&self, tidings: &Tidings) -> Identity {
        match self {
            Self::Nobody => Identity::Nobody,
            Self::Operator => Identity::Operator,
            Self::Member(id) => Identity::Named { folded: fold(id), token: None },
            Self::Token(token) => match token.claims(tidings) {
                Some(claims) => Identity::Named {
                    folded: fold(&claims.sub),
                    token: Some((claims.generation, token.clone())),
                },
                None => Identity::Nobody,
            },
        }
    }

    /// Whether the caller has a token that was signed here and has not ended, or needs none.
    ///
    /// Nothing is read for it: the token may have been revoked since.
    pub fn is_signed(&self, tidings: &Tidings) -> bool {
        !matches!(self.identify(tidings), Identity::Nobody)
    }

    /// Returns the identity of the caller of a finished request, without reading the database.
    pub(crate) fn resolved(&self, tidings: &Tidings) -> ResolvedCaller {
        let Self::Token(token) = self else { return ResolvedCaller::Guest };
        match (token.claims(tidings), token.0.member.get()) {
            (_, Some(Some(key))) => ResolvedCaller::Member(*key),
            (None, _) | (_, Some(None)) => ResolvedCaller::Guest,
            (Some(claims), None) => {
                ResolvedCaller::Named { folded: fold(&claims.sub).into(), generation: claims.generation }
            }
        }
    }
}

/// The identity of the caller of a finished request.
#[derive(Debug)]
pub(crate) enum ResolvedCaller {
    /// A guest, or a caller without a valid token.
    Guest,
    /// The member with this key.
    Member(MemberKey),
    /// The bearer of a signed token that the operation did not look up: the member with this id if their generation is
    /// still `generation`, otherwise a guest.
    Named { folded: Box<str>, generation: i64 },
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str("Nobody"),
            Self::Token(_) => f.write_str("Token([secret])"),
            Self::Member(id) => f.debug_tuple("Member").field(id).finish(),
            Self::Operator => f.write_str("Operator"),
        }
    }
}

/// Ids are the same whatever their case; they are ASCII.
pub(crate) fn fold(id: &str) -> String {
    id.to_ascii_lowercase()
}

/// Whether `id` may be a member's: its length, ASCII letters, digits, `_ - .`, a letter or digit first,
/// and not one that stands for somebody else.
fn is_id(config: &Config, id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    config.id_length.hold(id)
        && id.bytes().all(plain)
        && id.as_bytes()[0].is_ascii_alphanumeric()
        && !RESERVED_IDS.contains(&fold(id).as_str())
}

/// Whether `id` is so long that nobody can have it: it is not worth folding or looking up.
fn is_too_long(config: &Config, id: &str) -> bool {
    const BYTES_OF_A_CHARACTER: usize = 4;
    id.len() > config.id_length.max.max(verify::ID_MAX).saturating_mul(BYTES_OF_A_CHARACTER)
}

/// Whether `password` has an allowed length, in characters of its NFC.
fn is_password(config: &Config, password: &str) -> bool {
    config.password_length.hold(&Zeroizing::new(password.nfc().collect::<String>()))
}

/// Whether `password` may be set, by an administrator or another member: its length, and that it is not one of the most
/// common where that is asked for.
fn may_be_set(config: &Config, password: &str, admin: bool) -> bool {
    is_password(config, password)
        && !((admin || config.refuse_common_passwords) && password::is_common(password))
}

/// The nickname as it is kept; `None` when it may not be one: its length, control characters, what is not seen
/// ([`shown`]).
pub(crate) fn nickname(config: &Config, text: &str) -> Option<String> {
    text::line(text, config.nickname_length).filter(|text| shown::is_shown(text))
}

/// A member's name as their nickname: without what a nickname may not have, cut to its length; their id
/// where nothing is left.
fn cut_nickname(config: &Config, name: &str, id: &str) -> String {
    let cut = |text: &str| {
        let composed: String = text.nfc().filter(|c| !c.is_control()).collect();
        let cut: String = shown::only_shown(&composed).chars().take(config.nickname_length.max).collect();
        // What joins two characters may have lost the second.
        nickname(config, &shown::only_shown(&cut))
    };
    cut(name).or_else(|| cut(id)).unwrap_or_else(|| "member".to_owned())
}

/// A generation that no earlier token has. Below 2^53, so that every JSON reader keeps it exactly.
pub(crate) fn new_generation() -> i64 {
    i64::from_le_bytes(crate::id::random()) & ((1 << 53) - 1)
}

/// Ends every token of a member.
pub(crate) fn sign_out(tx: &mut dyn Tx, member: &Member<'_>) -> Result<(), StoreError> {
    revoke_tokens(tx, member.key).map(drop)
}

/// Ends every token of the member with this key; answers their new generation.
///
/// A key is no proof, so this is private to the slice: a member who signs in again holds no proof yet but has given
/// their password, and the operator sets the password of a member.
fn revoke_tokens(tx: &mut dyn Tx, key: MemberKey) -> Result<i64, StoreError> {
    let generation = new_generation();
    let sql = "UPDATE member SET generation = $2 WHERE key = $1";
    tx.run(sql, &[key.into(), generation.into()])?;
    Ok(generation)
}

/// Ends every token there is.
pub(crate) fn revoke_everybodys_tokens(tx: &mut dyn Tx, _: Operator) -> Result<(), StoreError> {
    let members = tx.rows("SELECT key FROM member", &[])?;
    for mut member in members {
        revoke_tokens(tx, member.take(0)?)?;
    }
    Ok(())
}

/// Removes a member with their lists and their interest.
///
/// # Errors
/// `last administrator` when nobody would be left to administer.
pub(crate) fn remove(tx: &mut dyn Tx, member: &Member<'_>) -> Result<()> {
    keep_an_administrator(tx, member)?;
    tx.run("DELETE FROM member WHERE key = $1", &[member.key.into()])?;
    tx.touch(Topic::Members);
    // The access log shows the member as `removed` from now on. `analysis::log` detaches their lines later, in small steps.
    tx.run("INSERT INTO removed_member (key) VALUES ($1)", &[member.key.into()])?;
    // Reports on past days name the day's visitors.
    tx.touch(Topic::History);
    tx.touch(Topic::Counts);
    Ok(())
}

/// Refuses what would take the last administrator who can sign in.
///
/// # Errors
/// `last administrator`.
pub(crate) fn keep_an_administrator(tx: &mut dyn Tx, without: &MemberRecord) -> Result<()> {
    if !without.admin || without.blacklisted {
        return Ok(());
    }
    let sql = "SELECT 1 FROM member WHERE admin IS NOT NULL AND blacklisted IS NULL AND key <> $1 LIMIT 1";
    match tx.row(sql, &[without.key.into()])? {
        Some(_) => Ok(()),
        None => Err(Error::LastAdministrator),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_are_plain_and_not_somebody_elses_name() {
        let config = Config::default();
        for id in ["ann", "2026-11_x.y", &"a".repeat(30)] {
            assert!(is_id(&config, id), "{id}");
        }
        let long = "a".repeat(31);
        for id in ["", "an", &long, "-ann", ".ann", "_ann", "an n", "ann\0", "한국인", "Guest", "removed"]
        {
            assert!(!is_id(&config, id), "{id:?}");
        }
    }

    #[test]
    fn lengths_are_in_characters_of_the_composed_form() {
        let config = Config::default();
        assert!(is_password(&config, "비밀번호여덟글자") && !is_password(&config, "비밀번호일곱글"));
        assert!(!is_password(&config, &"e\u{301}".repeat(7)), "seven letters with accents are seven");
        assert!(is_password(&config, &"x".repeat(128)) && !is_password(&config, &"x".repeat(129)));
        assert_eq!(nickname(&config, "e\u{301}").as_deref(), Some("é"));
        assert_eq!(nickname(&config, &"🦀".repeat(30)).map(|n| n.len()), Some(120));
        for refused in ["", "  ", "\u{3000}", "a\nb", "\0", &"n".repeat(31)] {
            assert_eq!(nickname(&config, refused), None, "{refused:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_passes_is_within_bounds(text: String) {
            let config = Config::default();
            if is_id(&config, &text) {
                prop_assert!((3..=30).contains(&text.len()));
            }
            if let Some(nickname) = nickname(&config, &text) {
                prop_assert!((1..=30).contains(&nickname.chars().count()));
            }
        }
    }

    #[test]
    fn a_caller_never_shows_its_token() {
        assert_eq!(format!("{:?}", Caller::token("eyJ.secret.x")), "Token([secret])");
    }
}
