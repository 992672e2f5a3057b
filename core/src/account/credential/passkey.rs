//! Passkeys (Web Authentication Level 3, sections 7.1 and 7.2). A device unlocks one with a fingerprint, a face or a PIN, so it is
//! both factors at once; it replaces the second factor only if it was added with a code of it. The app keeps what is needed
//! between the two steps of a ceremony, signed, so a guest who begins one writes nothing.

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use webauthn_rp::bin::Encode as _;

use super::{code, email};
use crate::Tidings;
use crate::account::{Call, Identity, Member, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::config::Passkeys;
use crate::mail::outbox::Kind;
use crate::record::error::{Code, Error, Outcome, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Operation, Spec};
use crate::store::{Isolation, Tx};

mod register;
mod sign_in;
mod sql;
#[cfg(test)]
mod tests;

pub use register::{AddPasskey, AddedPasskey, BeginPasskey};
pub use sign_in::{BeginPasskeySignIn, SignInPasskey};
pub(crate) use sql::list;
pub(in crate::account) use sql::remove_all;

const GROUP: &str = "account";

const PASSKEYS_MAX: i64 = 20;
/// In characters.
const NAME_MAX: usize = 100;
/// The time for which a ceremony is remembered: longer than the five minutes in which it ends.
const KEPT_MS: i64 = 10 * 60 * SECOND_MS;

const OFF: Problem =
    Problem::new(Code::NotPossible, "there are no passkeys here: the setting passkey-domain turns them on");
const WRONG: Problem = Problem::new(
    Code::WrongCode,
    "the passkey is not known, was made elsewhere, or the attempt has ended: begin again",
)
.of("credential");

/// What a browser needs to make or to use a passkey.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Ceremony {
    /// What the app sends back with the answer of the browser.
    #[schema(max_length = 10_000, examples("eyJzdGF0ZSI6IiJ9.5f1d"))]
    pub ceremony: String,
    /// The options for `navigator.credentials`, as JSON.
    #[schema(
        max_length = 100_000,
        examples("{\"challenge\":\"AAECAwQFBgcICQoLDA0ODw\",\"rpId\":\"app.example\"}")
    )]
    pub options: String,
}

/// A passkey of the member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Passkey {
    /// Its id.
    #[serde(rename = "_id")]
    #[schema(value_type = ObjectId)]
    pub id: String,
    /// The name that the member has given it.
    #[schema(max_length = 100, examples("My phone"))]
    pub name: String,
    /// The date when it was added.
    pub date: Timestamp,
    /// The date of the latest sign-in with it; null before the first one.
    pub last_used: Option<Timestamp>,
}

/// The passkeys of the member.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MemberPasskeys {
    /// The passkeys, latest first.
    #[schema(max_items = 20)]
    pub passkeys: Vec<Passkey>,
}

/// List the member's passkeys
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetPasskeys {}

impl Transaction for GetPasskeys {
    type By = Member<'static>;
    type Answer = MemberPasskeys;
    const SPEC: Spec = Spec::get(GROUP, "/get_passkeys", Access::Members);

    fn run(&self, tx: &mut dyn Tx, member: &Member<'_>, _: &Identity) -> Result<MemberPasskeys> {
        Ok(MemberPasskeys { passkeys: sql::list(tx, member.key)? })
    }
}

/// Remove a passkey
///
/// Nobody signs in with it any more. Sessions that have begun with it go on.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RemovePasskey {
    /// The id of the passkey
    #[schema(value_type = ObjectId)]
    pub passkey_obi: String,
}

impl Operation for RemovePasskey {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/remove_passkey/{passkey_obi}", Access::Members).writes().or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<()> {
        let (identity, note) = (call.authority(), email::Note::new(call.tidings(), Kind::SignInChanged));
        call.store().write(Isolation::Alone, move |tx| {
            let member = identity.member(tx)?;
            if !sql::remove(tx, member.key, &self.passkey_obi)? {
                return Err(Error::NotFound);
            }
            note.send(tx, member.key)?;
            Ok(identity.record_own(tx, &member, Entry::new(Action::MemberPasskeyRemove))?)
        })
    }
}

fn settings(tidings: &Tidings) -> Result<(&Passkeys, webauthn_rp::request::RpId)> {
    let settings = &tidings.config().passkeys;
    let relying_party = settings.relying_party().ok_or(Error::BadRequest(OFF))?;
    Ok((settings, relying_party))
}

fn wrong() -> Error {
    Outcome::IncorrectCode.because(WRONG)
}

const FIELDS: [&str; 5] =
    ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];

/// Returns the id of a credential in base 64, and the fields of its response that are read. The library refuses unknown values of
/// other fields, such as a way of transport, and panics if some are null.
fn parse(credential: &str) -> Option<(String, Map<String, Value>)> {
    let mut given: Value = serde_json::from_str(credential).ok()?;
    let id = BASE64URL_NOPAD.decode(given.get("id")?.as_str()?.as_bytes()).ok()?;
    let Value::Object(mut response) = given.get_mut("response")?.take() else { return None };
    response.retain(|field, value| {
        FIELDS.contains(&&**field) && value.as_str().is_some_and(|text| !text.is_empty())
    });
    Some((BASE64URL_NOPAD.encode(&id), response))
}

fn to_json(id: &str, response: &Map<String, Value>) -> String {
    json!({ "id": id, "rawId": id, "type": "public-key", "response": response, "clientExtensionResults": {} })
        .to_string()
}

/// The challenge is the name of a ceremony.
fn name_of(challenge: webauthn_rp::response::SentChallenge) -> String {
    challenge.encode().unwrap_or_else(|never| match never {}).to_string()
}

/// Fails with [`wrong`] if the ceremony has ended before.
fn end(tx: &mut dyn Tx, challenge: &str, now: Timestamp) -> Result<()> {
    if code::take_step(tx, challenge, now + KEPT_MS)? { Ok(()) } else { Err(wrong()) }
}
