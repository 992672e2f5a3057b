//! What the issuer says about itself: its addresses and its keys.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use ureq::http::Request;
use url::Url;

use super::id_token::algorithm;
use super::issuer::Transport;
use super::{Denied, UNAVAILABLE};
use crate::account::verify::university_name;
use crate::base::clock::{Clock, HOUR_MS, SECOND_MS, Timestamp};

/// The time for which what the issuer says about itself is kept.
const KEPT_MS: i64 = HOUR_MS;
/// The minimum time between two requests for it, also while the issuer does not answer.
const AGAIN_MS: i64 = 10 * SECOND_MS;

/// What an issuer offers (OpenID Connect Discovery 1.0).
pub(super) struct Metadata {
    pub(super) authorization_endpoint: Url,
    pub(super) token_endpoint: Url,
    /// Its public keys (RFC 7517).
    pub(super) keys: Vec<Value>,
    /// The other fields, each of which is read only where it is used.
    fields: Map<String, Value>,
}

impl Metadata {
    /// Returns the address of its further claims about a person, if it has any.
    pub(super) fn userinfo_endpoint(&self) -> Option<&str> {
        self.fields.get("userinfo_endpoint")?.as_str()
    }

    /// Returns whether it names itself when it sends people back (RFC 9207).
    pub(super) fn names_itself(&self) -> bool {
        self.fields.get("authorization_response_iss_parameter_supported") == Some(&Value::Bool(true))
    }

    /// Returns whether the secret of this service is to be in the body of a request.
    pub(super) fn takes_secret_in_body(&self) -> bool {
        let methods = self.list("token_endpoint_auth_methods_supported");
        methods.is_some_and(|methods| !methods.contains(&"client_secret_basic"))
    }

    fn list(&self, field: &str) -> Option<Vec<&str>> {
        Some(self.fields.get(field)?.as_array()?.iter().filter_map(Value::as_str).collect())
    }

    /// Checks that it signs in a way that is supported, and may send the claims that these settings name.
    pub(super) fn check(&self, settings: &[(&str, &str)]) -> Result<(), String> {
        if let Some(names) = self.list("id_token_signing_alg_values_supported")
            && !names.iter().any(|name| algorithm(name).is_some())
        {
            return Err(format!(
                "the issuer signs only in ways that are not supported: {}",
                names.join(", ")
            ));
        }
        let Some(claims) = self.list("claims_supported") else { return Ok(()) };
        // Of a path, the list has the first name.
        let is_missing = |claim: &str| {
            !claims.contains(&claim) && !claims.contains(&claim.split('.').next().unwrap_or(claim))
        };
        settings.iter().find(|(_, claim)| is_missing(claim)).map_or(Ok(()), |(setting, claim)| {
            Err(format!("the issuer says that it never sends {claim}, the claim of {setting}"))
        })
    }
}

/// What an issuer offers, kept for a while.
#[derive(Default)]
pub(super) struct Offer {
    known: Mutex<Known>,
    /// Held while the issuer is asked.
    turn: Mutex<()>,
}

/// What is known already.
#[derive(Default)]
struct Known {
    metadata: Option<Arc<Metadata>>,
    /// The time of the latest request for it, and of the latest answer.
    asked: Option<Timestamp>,
    answered: Option<Timestamp>,
}

impl Offer {
    /// Returns what the issuer says about itself: what is known already, unless it is old or it is `outdated`.
    pub(super) fn get(
        &self,
        outdated: Option<&Arc<Metadata>>,
        clock: &Clock,
        ask: impl FnOnce() -> Result<Metadata, String>,
    ) -> Result<Arc<Metadata>, Denied> {
        let is_fit =
            |metadata: &Arc<Metadata>| outdated.is_none_or(|outdated| !Arc::ptr_eq(outdated, metadata));
        let since = |at: Option<Timestamp>| at.map_or(i64::MAX, |at| (clock.now() - at).abs());
        let fresh = |known: &Known| {
            known.metadata.clone().filter(|metadata| is_fit(metadata) && since(known.answered) < KEPT_MS)
        };
        if let Some(metadata) = fresh(&self.known()) {
            return Ok(metadata);
        }
        // One asks; the others go on with what is known, and wait only if that is nothing.
        let known = self.known().metadata.clone().filter(is_fit);
        let turn = match (self.turn.try_lock(), known) {
            (Ok(turn), _) => turn,
            (Err(_), Some(known)) => return Ok(known),
            (Err(_), None) => self.turn.lock().unwrap_or_else(PoisonError::into_inner),
        };
        // Another one may have asked meanwhile.
        let known = self.known();
        let (found, is_due) = (fresh(&known), since(known.asked) >= AGAIN_MS);
        drop(known);
        if let Some(metadata) = found {
            return Ok(metadata);
        }
        if is_due {
            let answer = ask();
            let mut known = self.known();
            known.asked = Some(clock.now());
            match answer {
                Ok(metadata) => (known.metadata, known.answered) = (Some(Arc::new(metadata)), known.asked),
                Err(error) => {
                    tracing::warn!(%error, "the issuer did not say what it offers");
                }
            }
        }
        drop(turn);
        self.known().metadata.clone().ok_or(UNAVAILABLE)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // What it protects is replaced at once, so it is valid after a panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn ask(issuer: &str, transport: &dyn Transport) -> Result<Metadata, String> {
    let at = format!("{}/.well-known/openid-configuration", issuer.strip_suffix('/').unwrap_or(issuer));
    let fields = get(&at, transport)?;
    let text = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or_default();
    if text("issuer") != issuer {
        return Err(format!("{at}: its issuer is another one: {}", university_name(text("issuer"))));
    }
    let address = |field: &str| {
        let url = Url::parse(text(field)).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        url.ok_or_else(|| format!("{at}: its {field} is no address"))
    };
    let (authorization_endpoint, token_endpoint) =
        (address("authorization_endpoint")?, address("token_endpoint")?);
    let keys_at = address("jwks_uri")?;
    let Some(Value::Array(keys)) = get(keys_at.as_str(), transport)?.remove("keys") else {
        return Err(format!("{keys_at}: it has no keys"));
    };
    Ok(Metadata { authorization_endpoint, token_endpoint, keys, fields })
}

/// Returns the JSON object at an address.
fn get(address: &str, transport: &dyn Transport) -> Result<Map<String, Value>, String> {
    let request = Request::get(address).header("accept", "application/json").body(Vec::new());
    let answer = transport.send(request.map_err(|error| error.to_string())?)?;
    if !answer.status().is_success() {
        return Err(format!("{address}: status {}", answer.status().as_u16()));
    }
    serde_json::from_slice(answer.body()).map_err(|error| format!("{address}: no JSON object: {error}"))
}
