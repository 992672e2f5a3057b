//! The metadata of the issuer, such as its addresses and its keys, and a cache of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use ureq::http::{Request, Response};
use url::Url;

use super::id_token::algorithm;
use super::{Denied, UNAVAILABLE};
use crate::account::credential::verify::university_name;
use crate::base::clock::{Clock, HOUR_MS, SECOND_MS, Timestamp};

const KEPT_MS: i64 = HOUR_MS;
/// Also while the issuer does not respond.
const AGAIN_MS: i64 = 10 * SECOND_MS;

pub(super) trait Transport: Send + Sync {
    fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, String>;
}

/// OpenID Connect Discovery 1.0.
pub(super) struct Metadata {
    pub(super) authorization_endpoint: Url,
    pub(super) token_endpoint: Url,
    /// RFC 7517.
    pub(super) keys: Vec<Value>,
    /// The other fields are parsed only where they are used.
    fields: Map<String, Value>,
}

impl Metadata {
    pub(super) fn userinfo_endpoint(&self) -> Option<&str> {
        self.fields.get("userinfo_endpoint")?.as_str()
    }

    /// Returns whether it names itself in its responses (RFC 9207).
    pub(super) fn names_itself(&self) -> bool {
        self.fields.get("authorization_response_iss_parameter_supported") == Some(&Value::Bool(true))
    }

    pub(super) fn takes_secret_in_body(&self) -> bool {
        let methods = self.list("token_endpoint_auth_methods_supported");
        methods.is_some_and(|methods| !methods.contains(&"client_secret_basic"))
    }

    pub(super) fn has_scope(&self, scope: &str) -> bool {
        self.list("scopes_supported").is_some_and(|scopes| scopes.contains(&scope))
    }

    fn list(&self, field: &str) -> Option<Vec<&str>> {
        Some(self.fields.get(field)?.as_array()?.iter().filter_map(Value::as_str).collect())
    }

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
        // The list may have only the first name of a path.
        let is_missing = |claim: &str| {
            !claims.contains(&claim) && !claims.contains(&claim.split('.').next().unwrap_or(claim))
        };
        settings.iter().find(|(_, claim)| is_missing(claim)).map_or(Ok(()), |(setting, claim)| {
            Err(format!("the issuer says that it never sends {claim}, the claim of {setting}"))
        })
    }
}

#[derive(Default)]
pub(super) struct Offer {
    known: Mutex<Known>,
    /// Held while the issuer is asked.
    turn: Mutex<()>,
}

#[derive(Default)]
struct Known {
    metadata: Option<Arc<Metadata>>,
    asked: Option<Timestamp>,
    answered: Option<Timestamp>,
}

impl Offer {
    /// Returns the cached metadata, unless it is old or is `outdated`.
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
        // One thread asks. The others use the metadata that there is, and wait only if there is none.
        let known = self.known().metadata.clone().filter(is_fit);
        let turn = match (self.turn.try_lock(), known) {
            (Ok(turn), _) => turn,
            (Err(_), Some(known)) => return Ok(known),
            (Err(_), None) => self.turn.lock().unwrap_or_else(PoisonError::into_inner),
        };
        // Another thread may have asked in the meantime.
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
        // The metadata is replaced in one step, so it is valid after a panic.
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

fn get(address: &str, transport: &dyn Transport) -> Result<Map<String, Value>, String> {
    let request = Request::get(address).header("accept", "application/json").body(Vec::new());
    let answer = transport.send(request.map_err(|error| error.to_string())?)?;
    if !answer.status().is_success() {
        return Err(format!("{address}: status {}", answer.status().as_u16()));
    }
    serde_json::from_slice(answer.body()).map_err(|error| format!("{address}: no JSON object: {error}"))
}
