use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use webauthn_rp::bin::{Decode as _, Encode as _};
use webauthn_rp::request::PublicKeyCredentialDescriptor;
use webauthn_rp::request::register::{
    CredProtect, Nickname, PublicKeyCredentialUserEntity, RegistrationVerificationOptions, UserHandle64,
    Username,
};
use webauthn_rp::response::{AuthTransports, CredentialId};
use webauthn_rp::{PublicKeyCredentialCreationOptions, Registration, RegistrationServerState};

use super::{Ceremony, GROUP, NAME_MAX, PASSKEYS_MAX, end, name_of, parse, settings, sql, to_json, wrong};
use crate::account::Call;
use crate::account::credential::attempt::with_password;
use crate::account::credential::email;
use crate::account::credential::otp::proof::{Proven, present, prove};
use crate::account::credential::verify::university_name;
use crate::audit::trail::{Action, Entry};
use crate::base::config::Config;
use crate::mail::outbox::Kind;
use crate::record::error::{Code, Error, Outcome, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Operation, Spec, Work};
use crate::store::Isolation;

const PURPOSE: &str = "tidings new passkey 1\0";

const TOO_MANY: Problem =
    Problem::new(Code::NotPossible, "the member has 20 passkeys already: remove one of them first");

/// The app keeps it, signed, until the browser has made a passkey.
#[derive(Serialize, Deserialize)]
struct Begun {
    member: i64,
    /// In base 64.
    state: String,
    /// For the device, in base 64.
    handle: String,
    gave_code: bool,
    /// Must be the same when the passkey is added.
    present: String,
}

/// Begin adding a passkey
///
/// The app gives the options to the browser (`PublicKeyCredential.parseCreationOptionsFromJSON` and `navigator.credentials.create`)
/// and sends its answer to `add_passkey` within five minutes. `result` is `success`; or `incorrect pw`. Only for a member who has
/// enabled the second factor, it is `otp required` without a code and `incorrect otp` with a wrong one.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = BeginPasskeyFields)]
pub struct BeginPasskey {
    /// The current password.
    #[schema(max_length = 1_000_000, examples("a long sentence"))]
    pub pw: String,
    /// The code of the authenticator, or a recovery code, of a member who has enabled the second factor.
    #[schema(max_length = 1_000, examples("287082"))]
    pub otp: Option<String>,
}

impl Operation for BeginPasskey {
    type Answer = Ceremony;
    const SPEC: Spec = with_password("/begin_passkey");

    fn documented_refusals(_: &Config) -> Vec<Error> {
        [Outcome::IncorrectPw, Outcome::OtpRequired, Outcome::IncorrectOtp].map(Error::from).into()
    }

    fn run(self, call: &Call<'_>) -> Result<Ceremony> {
        let tidings = call.tidings();
        let (_, relying_party) = settings(tidings)?;
        let Proven { member, id, gave_code, present } = prove(call, &self.pw, self.otp.as_deref())?;
        let known = call.store().read(|tx| sql::credentials(tx, member))?;
        if known.len() >= usize::try_from(PASSKEYS_MAX).unwrap_or_default() {
            return Err(Error::BadRequest(TOO_MANY));
        }
        let handle = known.first().and_then(|(_, handle)| super::sign_in::handle(handle));
        let handle = handle.unwrap_or_else(UserHandle64::new);
        let credentials = known.iter().filter_map(|(credential, _)| {
            let id = CredentialId::<Vec<u8>>::decode(BASE64URL_NOPAD.decode(credential.as_bytes()).ok()?);
            Some(PublicKeyCredentialDescriptor { id: id.ok()?, transports: AuthTransports::decode(0).ok()? })
        });
        let name = Username::try_from(id.as_str()).or_else(|_| Username::try_from("member"));
        let user = PublicKeyCredentialUserEntity {
            name: name.map_err(|error| Error::Internal(error.into()))?,
            id: &handle,
            display_name: Nickname::try_from(id.as_str()).ok(),
        };
        let mut options =
            PublicKeyCredentialCreationOptions::passkey(&relying_party, user, credentials.collect());
        // Many phones and computers do not know it, and browsers would refuse them.
        options.extensions.cred_protect = CredProtect::None;
        let (server, browser) = options.start_ceremony().map_err(|error| Error::Internal(error.into()))?;
        let begun = Begun {
            member: member.as_i64(),
            state: BASE64URL_NOPAD.encode(&server.encode().map_err(|error| Error::Internal(error.into()))?),
            handle: BASE64URL_NOPAD.encode(&handle.encode().unwrap_or_else(|never| match never {})),
            gave_code,
            present,
        };
        let options = serde_json::to_string(&browser).map_err(|error| Error::Internal(error.into()))?;
        Ok(Ceremony { ceremony: tidings.account().keys.seal(PURPOSE, &begun), options })
    }
}

/// The id of a new passkey.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AddedPasskey {
    /// Its id.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
}

/// Add a passkey
///
/// `result` is `success`; or `incorrect code` when the answer of the browser is not one to these options, or comes too late.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = AddPasskeyFields)]
pub struct AddPasskey {
    /// What `begin_passkey` has given.
    #[schema(max_length = 10_000, examples("eyJzdGF0ZSI6IiJ9.5f1d"))]
    pub ceremony: String,
    /// The answer of the browser (`credential.toJSON()`), as JSON.
    #[schema(max_length = 100_000, examples("{\"id\":\"AAECAwQFBgcICQoLDA0ODw\",\"type\":\"public-key\"}"))]
    pub credential: String,
    /// A name by which the member knows the device.
    #[schema(max_length = 100, examples("My phone"))]
    pub name: String,
}

impl Operation for AddPasskey {
    type Answer = AddedPasskey;
    const SPEC: Spec = Spec::post(GROUP, "/add_passkey", Access::Members).works(Work::Store);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![wrong()]
    }

    fn run(self, call: &Call<'_>) -> Result<AddedPasskey> {
        let (identity, now) = (call.authority(), call.now());
        let (settings, relying_party) = settings(call.tidings())?;
        let key = call.store().read(|tx| Ok::<_, Error>(identity.member(tx)?.key))?;
        let begun: Begun = call.tidings().account().keys.unseal(PURPOSE, &self.ceremony).ok_or_else(wrong)?;
        if begun.member != key.as_i64() {
            return Err(wrong());
        }
        let state = BASE64URL_NOPAD.decode(begun.state.as_bytes()).map_err(|_| wrong())?;
        let state = RegistrationServerState::<64>::decode(&state).map_err(|_| wrong())?;
        let answer = answer(&self.credential).ok_or_else(wrong)?;
        let challenge = name_of(answer.challenge_relaxed().map_err(|_| wrong())?);
        let allowed = settings.allowed();
        let options = RegistrationVerificationOptions::<_, &str> {
            allowed_origins: &allowed,
            // Browsers may send extensions that the app has not asked for.
            error_on_unsolicited_extensions: false,
            ..RegistrationVerificationOptions::default()
        };
        let passkey = state.verify(&relying_party, &answer, &options).map_err(|error| {
            tracing::debug!(%error, "a new passkey was refused");
            wrong()
        })?;
        let name = university_name(&self.name).chars().take(NAME_MAX).collect();
        let new = sql::New {
            id: ObjectId::new(call.tidings().clock()).to_string(),
            credential: BASE64URL_NOPAD.encode(passkey.id().as_ref()),
            handle: begun.handle.clone(),
            name,
            key: BASE64URL_NOPAD
                .encode(&passkey.static_state().encode().unwrap_or_else(|never| match never {})),
            state: sql::state(passkey.dynamic_state()),
            gave_code: begun.gave_code,
            at: now,
        };
        let (id, note) = (new.id.clone(), email::Note::new(call.tidings(), Kind::SignInChanged));
        call.store().write(Isolation::Alone, move |tx| {
            let member = identity.member(tx)?;
            if present(tx, &identity, &member)? != begun.present {
                return Err(wrong());
            }
            end(tx, &challenge, now)?;
            if sql::count(tx, member.key)? >= PASSKEYS_MAX {
                return Err(Error::BadRequest(TOO_MANY));
            }
            if !sql::insert(tx, member.key, &new)? {
                return Err(wrong());
            }
            note.send(tx, member.key)?;
            Ok(identity.record_own(tx, &member, Entry::new(Action::MemberPasskeyAdd))?)
        })?;
        Ok(AddedPasskey { id })
    }
}

/// The beginning of an attestation object without a statement about the device, in CBOR: `fmt`, `attStmt` and the key `authData`.
const NO_STATEMENT: &[u8] = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData";

/// No statement about the device was asked for, so none is read, whatever its format.
fn answer(credential: &str) -> Option<Registration> {
    let (id, mut response) = parse(credential)?;
    if let Some(data) = response.get("authenticatorData").and_then(Value::as_str) {
        let data = BASE64URL_NOPAD.decode(data.as_bytes()).ok()?;
        let length = u16::try_from(data.len()).ok()?.to_be_bytes();
        let length = if length[0] == 0 { &[0x58, length[1]][..] } else { &[0x59, length[0], length[1]] };
        let object = BASE64URL_NOPAD.encode(&[NO_STATEMENT, length, &data].concat());
        response.insert("attestationObject".to_owned(), object.into());
    }
    Registration::from_json_relaxed(to_json(&id, &response).as_bytes()).ok()
}
