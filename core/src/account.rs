//! Accounts: the identity of callers, and the rules for ids, passwords and nicknames. A [`Caller`] is a claim of identity, which
//! an operation checks inside the transaction that acts on it, so that a member who has just been removed, blacklisted or signed
//! out no longer acts. The check returns a proof (`account/authority.rs`).

use std::fmt;
use std::sync::{Arc, OnceLock};

use unicode_normalization::UnicodeNormalization as _;
use zeroize::Zeroizing;

use crate::Tidings;
use crate::base::clock::{Clock, Timestamp};
use crate::base::config::{Config, ID_LENGTH, NICKNAME_LENGTH};
use crate::base::location::Location;
use crate::base::text::{self, shown};
use crate::record::error::{Error, Outcome, Problem, Result};
use crate::record::id::MemberKey;
use crate::store::{Arg, Store, StoreError, Tx, send_each};
use credential::password::{self, Hasher};
use credential::throttle::Throttle;
use credential::{code, verify};
use key::{KeyHash, KeyRecord, KnownKeys};
use sessions::SeenSessions;
use token::{Claims, Keys};

mod authority;
mod call;
pub(crate) mod credential;
mod device;
pub mod key;
pub(crate) mod members;
pub(crate) mod places;
mod right;
pub(crate) mod role;
pub(crate) mod roster;
mod scopes;
pub(crate) mod sessions;
#[cfg(test)]
mod tests;
pub(crate) mod token;

pub use crate::base::client::Client;
pub use authority::Operator;
pub(crate) use authority::{Admin, Claim, Identity, Member, MemberRecord, find};
pub(crate) use call::{Authority, Transaction};
pub use call::{Call, ClientInfo};
pub use credential::email::{ConfirmEmail, EmailAddress, GetEmail, SetEmail};
pub use credential::invitation::SignUpInvited;
pub use credential::oidc::{LinkOidc, SignInOidc, UnlinkOidc};
pub use credential::otp::{
    BeginOtp, DisableOtp, EnableOtp, EnrolmentCode, GetOtp, OtpSecret, OtpStatus, RecoveryCodes,
    RenewRecoveryCodes,
};
pub use credential::passkey::{
    AddPasskey, BeginPasskey, BeginPasskeySignIn, GetPasskeys, RemovePasskey, SignInPasskey,
};
pub use credential::reset::{RequestReset, ResetCode, ResetPassword};
pub(crate) use credential::sign_in::sign_up_admin;
pub use credential::sign_in::{AccessToken, ChangePassword, SignIn, SignInUp, SignUp};
pub use credential::verify::{Verdict, Verifier, VerifyError};
pub use credential::{invitation, oidc, passkey};
pub use device::Device;
pub use members::{MEMBERS_MAX, MemberEntry, MemberFilter, Members};
pub use right::{Account, check_right};
pub use role::Role;
pub use roster::{ROSTER_MAX, RosterMember, RosterPage};
pub(crate) use scopes::Scopes;
pub use sessions::{ListSessions, SESSIONS_MAX, Session, Sessions, SignOutAll, SignOutSession};

pub(crate) struct State {
    pub(crate) keys: Keys,
    pub(crate) known_keys: KnownKeys,
    pub(crate) seen_sessions: SeenSessions,
    pub(crate) hasher: Hasher,
    pub(crate) throttle: Throttle,
    pub(crate) verifier: Box<dyn Verifier>,
    pub(crate) issuer: Option<oidc::Issuer>,
}

impl State {
    pub(crate) fn open(
        config: &Config,
        location: &Location,
        store: &Arc<Store>,
        clock: &Clock,
        verifier: Option<Box<dyn Verifier>>,
    ) -> Result<Self> {
        let stem = location.base();
        Ok(Self {
            keys: match location {
                Location::File(named) => Keys::open(config, &stem, named, clock.clone())?,
                Location::Postgres(_) => Keys::open_shared(config, &stem, store, clock.clone())?,
            },
            known_keys: KnownKeys::new(),
            seen_sessions: SeenSessions::new(),
            hasher: Hasher::new(),
            throttle: Throttle::new(store, clock.clone()),
            verifier: verifier.map_or_else(|| verify::from_config(config), Ok)?,
            issuer: oidc::Issuer::from_config(config, clock)?,
        })
    }
}

/// Ids that no member can have: they stand for guests and for removed members.
pub const RESERVED_IDS: [&str; 2] = [GUEST, REMOVED];
pub(crate) const GUEST: &str = "guest";
pub(crate) const REMOVED: &str = "removed";

/// The origin of a call to an operation.
#[derive(Clone, Default)]
pub enum Caller {
    /// A guest: a caller without a token.
    #[default]
    Guest,
    /// The bearer of a token.
    Token(Token),
    /// The member with this id, named by the operator instead of by a token.
    Member(String),
    /// The operator: the person who may read the database file. The operator may do what administrators may, and is not a member.
    Operator,
}

/// A bearer token that may be invalid. Clones share the results of its checks.
#[derive(Clone)]
pub struct Token(Arc<TokenState>);

#[derive(Default)]
struct TokenState {
    text: Zeroizing<String>,
    key: Option<KeyHash>,
    /// As the first transaction that looked the key up found it; `None` inside if it is invalid.
    found_key: OnceLock<Option<KeyRecord>>,
    /// `None` inside if the token was not signed with one of our keys.
    claims: OnceLock<Option<Arc<Claims>>>,
    /// As the first transaction that looked the member up found it; `None` inside if the token is invalid.
    member: OnceLock<Option<MemberKey>>,
    /// The last use of the session, as that transaction found it.
    last_seen: OnceLock<Option<Timestamp>>,
}

impl Token {
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.0.text
    }

    /// `None` also once the token has expired.
    fn claims(&self, tidings: &Tidings) -> Option<&Claims> {
        if self.0.key.is_some() {
            return None;
        }
        let claims = self.0.claims.get_or_init(|| tidings.account().keys.verify(&self.0.text));
        claims.as_deref().filter(|claims| claims.lasts(tidings.now()))
    }

    /// Returns `None` until the claims are known.
    fn session(&self) -> Option<&str> {
        self.0.claims.get()?.as_ref()?.session.as_deref()
    }

    /// Returns `None` until the claims are known.
    fn signed(&self) -> Option<Timestamp> {
        Some(self.0.claims.get()?.as_ref()?.signed())
    }

    fn note_use(&self, tidings: &Tidings) {
        if let (Some(session), Some(Some(last_seen))) = (self.session(), self.0.last_seen.get()) {
            tidings.account().seen_sessions.used(tidings, session, *last_seen);
        }
        let Some(key) = self.0.key else { return };
        match self.0.found_key.get() {
            Some(Some(found)) => tidings.account().known_keys.used(tidings, key, found),
            Some(None) => tidings.account().known_keys.remove(&key),
            None => {}
        }
    }
}

impl Caller {
    /// Returns the bearer of this token, which may be an API key.
    pub fn token(token: impl Into<String>) -> Self {
        let text = Zeroizing::new(token.into());
        Self::Token(Token(Arc::new(TokenState { key: KeyHash::of(&text), text, ..TokenState::default() })))
    }

    /// Returns whether this is a token that was signed with one of our keys and has not expired, or an API key that was used
    /// recently. It may have been revoked, unless an operation has found that before: only an operation checks it.
    pub fn has_signed_token(&self, tidings: &Tidings) -> bool {
        let is_signed = |token: &Token| token.claims(tidings).is_some_and(|claims| !claims.is_revoked());
        matches!(self, Self::Token(token) if is_signed(token)) || self.known_key(tidings).is_some()
    }

    /// Checks only a token's signature and expiry: nothing is read from the database.
    pub(crate) fn identify(&self, tidings: &Tidings) -> Identity {
        let claim = match self {
            Self::Guest => Claim::Guest,
            Self::Operator => Claim::Operator,
            Self::Member(id) => Claim::Named { folded: fold(id), token: None },
            Self::Token(token) => match (token.0.key, token.claims(tidings)) {
                (Some(key), _) => Claim::Key { key, token: token.clone() },
                (None, Some(claims)) => Claim::Named {
                    folded: fold(&claims.sub),
                    token: Some((claims.generation, token.clone())),
                },
                (None, None) => Claim::Guest,
            },
        };
        Identity::new(claim, tidings.origin(), tidings.config().require_otp)
    }

    /// Returns whether the caller has a token as [`Caller::has_signed_token`] describes it, or needs none.
    ///
    /// The check does not read the database, so the token may have been revoked.
    pub fn is_signed(&self, tidings: &Tidings) -> bool {
        match self {
            Self::Guest => false,
            Self::Token(_) => self.has_signed_token(tidings),
            Self::Member(_) | Self::Operator => true,
        }
    }

    /// Does not read the database.
    pub(crate) fn resolved(&self, tidings: &Tidings) -> ResolvedCaller {
        let Self::Token(token) = self else { return ResolvedCaller::Guest };
        token.note_use(tidings);
        if let Some(key) = token.0.key {
            return ResolvedCaller::Key(key);
        }
        match (token.claims(tidings), token.0.member.get()) {
            (_, Some(Some(key))) => ResolvedCaller::Member(*key),
            (None, _) | (_, Some(None)) => ResolvedCaller::Guest,
            (Some(claims), None) => {
                let (folded, session) = (fold(&claims.sub).into(), claims.session.as_deref().map(Box::from));
                ResolvedCaller::Named { folded, generation: claims.generation, session }
            }
        }
    }
}

/// The identity of the caller of a finished request.
#[derive(Debug)]
pub(crate) enum ResolvedCaller {
    /// Also a caller without a valid token.
    Guest,
    Member(MemberKey),
    /// The bearer of the API key with this hash if there is one, otherwise a guest.
    Key(KeyHash),
    /// The bearer of a signed token that the operation did not look up: the member with this id if their generation is
    /// still `generation` and they still have the session, otherwise a guest.
    Named {
        folded: Box<str>,
        generation: i64,
        session: Option<Box<str>>,
    },
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guest => f.write_str("Guest"),
            Self::Token(_) => f.write_str("Token([secret])"),
            Self::Member(id) => f.debug_tuple("Member").field(id).finish(),
            Self::Operator => f.write_str("Operator"),
        }
    }
}

/// In NFC, like the stored ids of a university, with ASCII letters alone in lower case.
pub(crate) fn fold(id: &str) -> String {
    let mut folded = if id.is_ascii() { id.to_owned() } else { id.nfc().collect() };
    folded.make_ascii_lowercase();
    folded
}

/// An allowed length, ASCII letters, digits and `_ - .`, with a letter or digit first; not a reserved id.
pub(crate) fn is_id(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    ID_LENGTH.hold(id)
        && id.bytes().all(plain)
        && id.as_bytes()[0].is_ascii_alphanumeric()
        && !RESERVED_IDS.contains(&fold(id).as_str())
}

/// Returns whether `id` is longer than any id can be, so that it need not be folded or looked up.
fn is_too_long(id: &str) -> bool {
    const BYTES_OF_A_CHARACTER: usize = 4;
    id.len() > ID_LENGTH.max.max(verify::ID_MAX).saturating_mul(BYTES_OF_A_CHARACTER)
}

fn is_password(config: &Config, password: &str) -> bool {
    config.password_length().hold(&Zeroizing::new(password.nfc().collect::<String>()))
}

fn check_new_password(
    config: &Config,
    field: &'static str,
    password: &str,
    admin: bool,
) -> Result<(), Error> {
    let problem = if !is_password(config, password) {
        Problem::password(field, config.password_length())
    } else if (admin || config.refuse_common_passwords) && password::is_common(password) {
        Problem::invalid(field, "this is one of the 10,000 most common passwords: choose another one")
    } else {
        return Ok(());
    };
    Err(Outcome::WrongUserInfo.because(problem))
}

fn check_new_passwords(config: &Config, new_pw: &str, new_pw_check: &str, admin: bool) -> Result<()> {
    check_new_password(config, "new_pw", new_pw, admin)?;
    if new_pw == new_pw_check { Ok(()) } else { Err(passwords_differ()) }
}

fn passwords_differ() -> Error {
    Outcome::CheckPw.because(Outcome::CheckPw.problem().of("new_pw_check"))
}

/// `None` if it has a forbidden length, or control or invisible characters ([`shown`]).
pub(crate) fn nickname(text: &str) -> Option<String> {
    text::name(text, NICKNAME_LENGTH)
}

/// Without forbidden characters, and cut to the allowed length; if nothing remains, made from the member's id.
pub(crate) fn cut_nickname(name: &str, id: &str) -> String {
    let cut = |text: &str| {
        let composed: String = text.nfc().filter(|c| !c.is_control()).collect();
        let cut: String = shown::only_shown(&composed).chars().take(NICKNAME_LENGTH.max).collect();
        // The cut may have left a joiner without its second character.
        nickname(&shown::only_shown(&cut))
    };
    cut(name).or_else(|| cut(id)).unwrap_or_else(|| "member".to_owned())
}

/// No earlier token has this random generation. It is below 2^53, so that every JSON reader keeps it exactly.
pub(crate) fn new_generation() -> i64 {
    i64::from_le_bytes(crate::base::random::random()) & ((1 << 53) - 1)
}

pub(crate) fn sign_out(tx: &mut dyn Tx, member: &Member<'_>) -> Result<(), StoreError> {
    revoke_tokens(tx, member.key).map(drop)
}

/// For callers without a proof of the member, such as a sign-in, which has checked the password instead; others call [`sign_out`].
fn revoke_tokens(tx: &mut dyn Tx, key: MemberKey) -> Result<i64, StoreError> {
    let generation = new_generation();
    let sql = "UPDATE member SET generation = $2 WHERE key = $1";
    tx.run(sql, &[key.into(), generation.into()])?;
    code::withdraw(tx, Some(key))?;
    tx.run("DELETE FROM session WHERE member = $1", &[key.into()])?;
    Ok(generation)
}

const REVOKED_AT_ONCE: usize = 1_000;

pub(crate) fn revoke_everybodys_tokens(tx: &mut dyn Tx, _: Operator) -> Result<(), StoreError> {
    let members = tx.rows("SELECT key FROM member", &[])?;
    let generations = members.into_iter().map(|mut member| Ok([member.take(0)?, new_generation()]));
    let generations: Vec<[i64; 2]> = generations.collect::<Result<_, StoreError>>()?;
    for generations in generations.chunks(REVOKED_AT_ONCE) {
        let args: Vec<_> = generations.iter().map(|generation| generation.map(Arg::from)).collect();
        send_each(tx, "UPDATE member SET generation = $2 WHERE key = $1", &args)?;
    }
    // Otherwise a code that was used after the backup would work again.
    code::withdraw(tx, None)?;
    invitation::remove_all(tx)?;
    tx.run("DELETE FROM session", &[]).map(drop)
}

pub(crate) fn require_another_administrator(tx: &mut dyn Tx, without: &MemberRecord) -> Result<()> {
    if !without.admin || without.blacklisted {
        return Ok(());
    }
    let sql = "SELECT 1 FROM member WHERE admin IS NOT NULL AND blacklisted IS NULL AND key <> $1 LIMIT 1";
    match tx.row(sql, &[without.key.into()])? {
        Some(_) => Ok(()),
        None => Err(Error::LastAdministrator),
    }
}
