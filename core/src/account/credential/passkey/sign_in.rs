use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use webauthn_rp::bin::{Decode as _, Encode as _};
use webauthn_rp::request::auth::AuthenticationVerificationOptions;
use webauthn_rp::request::register::UserHandle64;
use webauthn_rp::response::register::{CompressedPubKey, DynamicState, StaticState};
use webauthn_rp::{
    AuthenticatedCredential, DiscoverableAuthentication64, DiscoverableAuthenticationServerState,
    DiscoverableCredentialRequestOptions,
};

use super::{Ceremony, GROUP, end, name_of, parse, settings, sql, to_json, wrong};
use crate::Tidings;
use crate::account::Call;
use crate::account::credential::attempt::{begin, failed};
use crate::account::credential::sign_in::{AccessToken, Proof, sign_in_identified};
use crate::base::config::{Config, Passkeys};
use crate::record::error::{Error, Outcome, Result};
use crate::record::operation::{Access, Operation, Rate, Spec, Work};

const PURPOSE: &str = "tidings passkey sign-in 1\0";

type Key = CompressedPubKey<[u8; 32], [u8; 32], [u8; 48], Vec<u8>>;

/// Begin a passkey sign-in
///
/// The app gives the options to the browser (`PublicKeyCredential.parseRequestOptionsFromJSON` and `navigator.credentials.get`) and
/// sends its answer to `sign_in_passkey` within five minutes. Who signs in is known only then.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = BeginPasskeySignInFields)]
pub struct BeginPasskeySignIn {}

impl Operation for BeginPasskeySignIn {
    type Answer = Ceremony;
    const SPEC: Spec = Spec::get(GROUP, "/begin_passkey_sign_in", Access::Open);

    fn run(self, call: &Call<'_>) -> Result<Ceremony> {
        let (_, relying_party) = settings(call.tidings())?;
        let options = DiscoverableCredentialRequestOptions::passkey(&relying_party);
        let (server, browser) = options.start_ceremony().map_err(|error| Error::Internal(error.into()))?;
        let state = BASE64URL_NOPAD.encode(&server.encode().map_err(|error| Error::Internal(error.into()))?);
        let options = serde_json::to_string(&browser).map_err(|error| Error::Internal(error.into()))?;
        Ok(Ceremony { ceremony: call.tidings().account().keys.seal(PURPOSE, &state), options })
    }
}

/// Sign in with a passkey
///
/// `result` is `success`; or `incorrect code` when the answer of the browser is not one to these options, comes too late or is that of
/// an unknown passkey; or `blacklist user`. Only for a member who has enabled the second factor after adding the passkey, it is `otp
/// required` without a code of it and `incorrect otp` with a wrong one.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = SignInPasskeyFields)]
pub struct SignInPasskey {
    /// What `begin_passkey_sign_in` has given.
    #[schema(max_length = 10_000, examples("ImV5SnpkR0YwWlNJNklpSjkifQ.5f1d"))]
    pub ceremony: String,
    /// The answer of the browser (`credential.toJSON()`), as JSON.
    #[schema(max_length = 100_000, examples("{\"id\":\"AAECAwQFBgcICQoLDA0ODw\",\"type\":\"public-key\"}"))]
    pub credential: String,
    /// The code of the authenticator, or a recovery code, of a member whose passkey does not replace the second factor.
    #[schema(max_length = 1_000, examples("287082"))]
    pub otp: Option<String>,
}

impl Operation for SignInPasskey {
    type Answer = AccessToken;
    const SPEC: Spec = Spec::post(GROUP, "/sign_in_passkey", Access::Open)
        .works(Work::Store)
        .limited(Rate::General)
        .attempt();

    fn documented_refusals(_: &Config) -> Vec<Error> {
        use Outcome::{BlacklistUser, IncorrectOtp, OtpRequired};
        [wrong()].into_iter().chain([BlacklistUser, OtpRequired, IncorrectOtp].map(Error::from)).collect()
    }

    fn run(self, call: &Call<'_>) -> Result<AccessToken> {
        let tidings = call.tidings();
        let (settings, now) = (settings(tidings)?, call.now());
        let attempt = begin(call, None)?;
        let Some(used) = used(tidings, settings, &self.ceremony, &self.credential)? else {
            return Err(failed(attempt, wrong()));
        };
        let (passkey, challenge, state) = used;
        let proof = if passkey.gave_code { Proof::Both } else { Proof::Code(self.otp.as_deref()) };
        sign_in_identified(call, passkey.member, proof, attempt, move |tx| {
            end(tx, &challenge, now)?;
            if sql::used(tx, &passkey, &state, now)? { Ok(()) } else { Err(wrong()) }
        })
    }
}

/// Returns the passkey, the name of the ceremony, and the passkey's new state; `None` if the browser's answer is not valid.
fn used(
    tidings: &Tidings,
    (settings, relying_party): (&Passkeys, webauthn_rp::request::RpId),
    ceremony: &str,
    credential: &str,
) -> Result<Option<(sql::Stored, String, String)>> {
    let Some((id, mut response)) = parse(credential) else { return Ok(None) };
    let Some(passkey) = tidings.store().read(|tx| sql::find(tx, &id))? else { return Ok(None) };
    // Some devices do not tell whose passkey it is; the credential alone does.
    response.entry("userHandle").or_insert_with(|| passkey.handle.clone().into());
    let answer = to_json(&id, &response);
    let verified = || {
        let state = BASE64URL_NOPAD
            .decode(tidings.account().keys.unseal::<String>(PURPOSE, ceremony)?.as_bytes())
            .ok()?;
        let state = DiscoverableAuthenticationServerState::decode(&state).ok()?;
        let answer = DiscoverableAuthentication64::from_json_relaxed(answer.as_bytes()).ok()?;
        let challenge = name_of(answer.challenge_relaxed().ok()?);
        let handle = handle(&passkey.handle)?;
        let key = BASE64URL_NOPAD.decode(passkey.key.as_bytes()).ok()?;
        let key = StaticState::<Key>::decode(&key).ok()?;
        let dynamic: [u8; 7] = BASE64URL_NOPAD.decode(passkey.state.as_bytes()).ok()?.try_into().ok()?;
        let dynamic = DynamicState::decode(dynamic).ok()?;
        let mut known = AuthenticatedCredential::new(answer.raw_id(), &handle, key, dynamic).ok()?;
        let allowed = settings.allowed();
        let options = AuthenticationVerificationOptions::<_, &str> {
            allowed_origins: &allowed,
            error_on_unsolicited_extensions: false,
            ..AuthenticationVerificationOptions::default()
        };
        if let Err(error) = state.verify(&relying_party, &answer, &mut known, &options) {
            tracing::debug!(%error, "a passkey was refused");
            return None;
        }
        Some((challenge, sql::state(known.dynamic_state())))
    };
    let verified = verified();
    Ok(verified.map(|(challenge, state)| (passkey, challenge, state)))
}

pub(super) fn handle(stored: &str) -> Option<UserHandle64> {
    let bytes: [u8; 64] = BASE64URL_NOPAD.decode(stored.as_bytes()).ok()?.try_into().ok()?;
    Some(UserHandle64::decode(bytes).unwrap_or_else(|never| match never {}))
}
