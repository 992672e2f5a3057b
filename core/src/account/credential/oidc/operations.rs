use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::sql;
use crate::account::credential::attempt::{begin, failed, with_password};
use crate::account::credential::otp::proof::confirm;
use crate::account::credential::sign_in::{AccessToken, Proof, sign_in_identified};
use crate::account::credential::{code, email};
use crate::account::{Call, sessions};
use crate::audit::trail::{Action, Entry};
use crate::base::config::Config;
use crate::mail::outbox::Kind;
use crate::record::error::{Code, Error, Outcome, Problem, Result};
use crate::record::operation::{Access, Operation, Rate, Spec, Work};
use crate::store::Isolation;

const GROUP: &str = "account";

const NOT_LINKED: Problem = Problem::new(
    Code::IdTaken,
    "there is an account with this id or address, which is not linked: sign in with its password, and send the code to link_oidc",
);

/// Sign in with single sign-on
///
/// Exchanges the code that the page of the app got for an access token. The app sends the browser to `GET /sign_in_oidc`, with a
/// `page` of the setting `oidc-pages` and a `state` in the query, and it comes back to the page with `state` and the code, or with
/// `error` and `error_description`. The code works once and for two minutes. `result` is `success`; or `incorrect code` when the
/// code is wrong, was used before or has expired, `already id` when there is an account with the same id or address: its member
/// signs in with their password and links it with the code, which then works for ten minutes; or `blacklist user`. Only for a
/// member who has enabled the second factor, it is `otp required` without a code of it and `incorrect otp` with a wrong one; the
/// code of the sign-on stays valid.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = SignInOidcFields)]
pub struct SignInOidc {
    /// The code that the page got.
    #[schema(max_length = 1_000, examples("8k2m-0qwz-7hn4-c9xe"))]
    pub code: String,
    /// The code of the authenticator, or a recovery code, of a member who has enabled the second factor.
    #[schema(max_length = 1_000, examples("287082"))]
    pub otp: Option<String>,
}

impl Operation for SignInOidc {
    type Answer = AccessToken;
    const SPEC: Spec =
        Spec::post(GROUP, super::PATH, Access::Open).works(Work::Store).limited(Rate::General).attempt();

    fn documented_refusals(_: &Config) -> Vec<Error> {
        use Outcome::{BlacklistUser, IncorrectCode, IncorrectOtp, OtpRequired};
        let all = [IncorrectCode, BlacklistUser, OtpRequired, IncorrectOtp].map(Error::from);
        all.into_iter().chain([Outcome::AlreadyId.because(NOT_LINKED)]).collect()
    }

    fn run(self, call: &Call<'_>) -> Result<AccessToken> {
        let (now, hash) = (call.now(), code::hash(&self.code));
        let attempt = begin(call, None)?;
        let Some(pending) = call.store().read(|tx| sql::pending(tx, &hash, now))? else {
            return Err(failed(attempt, Outcome::IncorrectCode));
        };
        if !pending.is_linked {
            return Err(Outcome::AlreadyId.because(NOT_LINKED));
        }
        let proof = Proof::Issuer(self.otp.as_deref());
        sign_in_identified(call, pending.member, proof, attempt, move |tx| {
            sql::take(tx, &hash, now)?.map(drop).ok_or_else(|| Outcome::IncorrectCode.into())
        })
    }
}

/// Link a single sign-on
///
/// From then on, the person of the code signs in to the member's account. The account must be the one with the person's address or
/// id. It is linked to one person at most; another link replaces it, as after `unlink_oidc`. `result` is `success`; or
/// `incorrect pw`; or `incorrect code` when the code is wrong, was used before or has expired, is about another account, or the
/// person has an account already.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = LinkOidcFields)]
pub struct LinkOidc {
    /// The code that the page got.
    #[schema(max_length = 1_000, examples("8k2m-0qwz-7hn4-c9xe"))]
    pub code: String,
    /// The current password.
    #[schema(max_length = 1_000_000, examples("a long sentence"))]
    pub pw: String,
}

impl Operation for LinkOidc {
    type Answer = ();
    const SPEC: Spec = with_password("/link_oidc");

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::IncorrectPw.into(), Outcome::IncorrectCode.into()]
    }

    fn run(self, call: &Call<'_>) -> Result<()> {
        let (identity, now, hash) = (call.authority(), call.now(), code::hash(&self.code));
        let confirmed = confirm(call, &self.pw)?;
        let note = email::Note::new(call.tidings(), Kind::SignInChanged);
        let is_linked = call.store().write(Isolation::Alone, move |tx| {
            let member = identity.member(tx)?;
            let is_theirs = |pending: &sql::Pending| !pending.is_linked && pending.member == member.key;
            let pending = sql::pending(tx, &hash, now)?.filter(is_theirs);
            let Some(pending) = pending else { return Ok(false) };
            let person = (&*pending.issuer, &*pending.subject);
            sql::take(tx, &hash, now)?;
            if sql::member(tx, person)?.is_some() {
                return Ok(false);
            }
            sql::link(tx, member.key, person, now)?;
            sessions::end_by_issuer(tx, member.key, identity.session())?;
            identity.record_own(tx, &member, Entry::new(Action::MemberLink))?;
            note.send(tx, member.key)?;
            Ok::<_, Error>(true)
        })?;
        if !is_linked {
            return Err(confirmed.failed(Outcome::IncorrectCode));
        }
        confirmed.succeeded();
        Ok(())
    }
}

/// Unlink the single sign-on
///
/// The person does not sign in to the account any more: other sessions that have begun with single sign-on end, and so do codes
/// that were not exchanged yet. `result` is `success`; or `incorrect pw`.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = UnlinkOidcFields)]
pub struct UnlinkOidc {
    /// The current password.
    #[schema(max_length = 1_000_000, examples("a long sentence"))]
    pub pw: String,
}

impl Operation for UnlinkOidc {
    type Answer = ();
    const SPEC: Spec = with_password("/unlink_oidc");

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::IncorrectPw.into()]
    }

    fn run(self, call: &Call<'_>) -> Result<()> {
        let identity = call.authority();
        let confirmed = confirm(call, &self.pw)?;
        let note = email::Note::new(call.tidings(), Kind::SignInChanged);
        call.store().write(Isolation::Alone, move |tx| {
            let member = identity.member(tx)?;
            if sql::unlink(tx, member.key)? {
                sessions::end_by_issuer(tx, member.key, identity.session())?;
                identity.record_own(tx, &member, Entry::new(Action::MemberUnlink))?;
                note.send(tx, member.key)?;
            }
            Ok::<_, Error>(())
        })?;
        confirmed.succeeded();
        Ok(())
    }
}
