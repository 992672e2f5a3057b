//! Requests to the issuer, and its responses about a person.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use ureq::http::{Request, Response};
use url::{Url, form_urlencoded};
use zeroize::Zeroizing;

use super::flow::Flow;
use super::id_token::{Claims, IdToken};
use super::offer::{self, Metadata, Offer, Transport};
use super::{
    Denied, EMAIL, EMAIL_VERIFIED, INVALID, NAME, NO_TOKEN, REFUSED_CODE, REFUSED_SERVICE, RETURN_PATH,
    SERVER_ERROR, SUBJECT, UNAVAILABLE,
};
use crate::account::credential::verify::university_name;
use crate::base::clock::Clock;
use crate::base::config::{Config, Invalid, Oidc};
use crate::base::text_file;
use crate::record::error::{Error, Result};
use crate::record::outgoing;

const WHOLE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_secs(3);
const ANSWER_MAX: u64 = 1 << 20;
const SCOPE: &str = "openid profile email";
const SCOPE_WITH_GROUPS: &str = "openid profile email groups";
/// The refusals of this service (RFC 6749 section 5.2), whatever the code.
const OF_SERVICE: [&str; 3] = ["invalid_client", "unauthorized_client", "unsupported_grant_type"];

pub(crate) struct Issuer {
    url: String,
    client_id: String,
    secret: Option<Zeroizing<String>>,
    returns: String,
    /// The claims for which the issuer is asked again if its token has them not.
    wanted: Vec<String>,
    wants_groups: bool,
    clock: Clock,
    transport: Box<dyn Transport>,
    offer: Offer,
}

impl Issuer {
    /// Sends no request yet.
    pub(crate) fn from_config(config: &Config, clock: &Clock) -> Result<Option<Self>> {
        if !config.oidc.is_on() {
            return Ok(None);
        }
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(WHOLE))
            .timeout_connect(Some(STEP))
            .timeout_recv_response(Some(STEP))
            // Only an issuer on this machine may be without encryption, and then also the addresses that it names.
            .https_only(config.oidc.issuer.as_ref().is_some_and(|issuer| issuer.0.starts_with("https://")))
            .user_agent(outgoing::USER_AGENT);
        let agent = outgoing::agent(agent, true, config.extra_ca.as_deref())?;
        Self::new(config, clock, Box::new(Http(agent)))
    }

    pub(super) fn new(config: &Config, clock: &Clock, transport: Box<dyn Transport>) -> Result<Option<Self>> {
        let oidc = &config.oidc;
        let (Some(issuer), Some(client_id), Some(public_url)) =
            (&oidc.issuer, &oidc.client_id, &config.public_url)
        else {
            return Ok(None);
        };
        let wanted = settings_of_claims(oidc).into_iter().map(|(_, claim)| claim);
        Ok(Some(Self {
            url: issuer.0.clone(),
            client_id: client_id.clone(),
            secret: secret(oidc)?,
            returns: format!("{}{RETURN_PATH}", public_url.as_str().trim_end_matches('/')),
            wanted: wanted.chain([NAME, EMAIL, EMAIL_VERIFIED]).map(str::to_owned).collect(),
            wants_groups: !oidc.groups.is_empty(),
            clock: clock.clone(),
            transport,
            offer: Offer::default(),
        }))
    }

    pub(super) fn sign_in(&self, flow: &Flow) -> Result<Url, Denied> {
        let metadata = self.metadata(None)?;
        let mut at = metadata.authorization_endpoint.clone();
        let scope = if self.wants_groups && metadata.has_scope("groups") { SCOPE_WITH_GROUPS } else { SCOPE };
        let challenge = BASE64URL_NOPAD.encode(&Sha256::digest(flow.verifier()));
        at.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.client_id),
            ("redirect_uri", &self.returns),
            ("scope", scope),
            ("state", &flow.state()),
            ("nonce", &flow.nonce()),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        Ok(at)
    }

    /// Checks that this issuer sent the response (RFC 9207). `given` is the issuer that the response names, if any.
    pub(super) fn check_sender(&self, given: Option<&str>) -> Result<(), Denied> {
        let is_sender = match given {
            Some(given) => given == self.url,
            None => !self.metadata(None)?.names_itself(),
        };
        if is_sender { Ok(()) } else { Err(Denied::new(INVALID, "the answer is not that of the issuer")) }
    }

    pub(super) fn claims(&self, flow: &Flow, code: &str) -> Result<Claims, Denied> {
        let metadata = self.metadata(None)?;
        let answer = self.exchange(&metadata, flow, code)?;
        let text = |field: &str| answer.get(field).and_then(Value::as_str);
        let token = IdToken::parse(text("id_token").unwrap_or_default()).map_err(of_token)?;
        // The issuer may have replaced its keys since they were read.
        if !token.is_signed_with(&metadata.keys)
            && !token.is_signed_with(&self.metadata(Some(&metadata))?.keys)
        {
            return Err(of_token("its signature is by no key of the issuer"));
        }
        token.check(&self.url, &self.client_id, &flow.nonce(), self.clock.now()).map_err(of_token)?;
        let mut claims = token.claims;
        let lacks = |wanted: &String| super::person::claim(&claims, wanted).is_none();
        let endpoint = metadata.userinfo_endpoint().filter(|_| self.wanted.iter().any(lacks));
        let more =
            endpoint.map(|endpoint| self.user_info(endpoint, text("access_token").unwrap_or_default()));
        let Some(more) = more.transpose()?.flatten() else { return Ok(claims) };
        // Otherwise they could be about another person (OpenID Connect Core 1.0 section 5.3.2).
        if more.get(SUBJECT) != claims.get(SUBJECT) {
            return Err(wrong("its further claims are about somebody else"));
        }
        // An address and whether it is verified belong together.
        if [EMAIL, EMAIL_VERIFIED].iter().any(|claim| !claims.contains_key(*claim)) {
            claims.remove(EMAIL);
            claims.remove(EMAIL_VERIFIED);
        }
        for (claim, value) in more {
            claims.entry(claim).or_insert(value);
        }
        Ok(claims)
    }

    fn exchange(&self, metadata: &Metadata, flow: &Flow, code: &str) -> Result<Claims, Denied> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs([
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.returns),
            ("code_verifier", &flow.verifier()),
        ]);
        let mut request = Request::post(metadata.token_endpoint.as_str())
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded");
        match &self.secret {
            Some(secret) if !metadata.takes_secret_in_body() => {
                let encoded =
                    |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let pair = Zeroizing::new(format!("{}:{}", encoded(&self.client_id), encoded(secret)));
                let basic = Zeroizing::new(format!("Basic {}", BASE64.encode(pair.as_bytes())));
                request = request.header("authorization", &*basic);
            }
            secret => {
                form.append_pair("client_id", &self.client_id);
                form.extend_pairs(secret.iter().map(|secret| ("client_secret", secret.as_str())));
            }
        }
        let request = request.body(form.finish().into_bytes()).map_err(wrong)?;
        let answer = self.transport.send(request).map_err(|failure| unavailable(&failure))?;
        let status = answer.status();
        let fields: Claims = serde_json::from_slice(answer.body()).unwrap_or_default();
        match fields.get("error").and_then(Value::as_str) {
            Some("invalid_grant") => {
                tracing::warn!("the issuer refused a code: invalid_grant");
                Err(REFUSED_CODE)
            }
            None if status.is_success() && fields.contains_key("id_token") => Ok(fields),
            error => {
                let error = university_name(error.unwrap_or("no id_token"));
                tracing::error!(error, status = status.as_u16(), "the issuer gave this service no token");
                Err(if OF_SERVICE.contains(&error.as_str()) { REFUSED_SERVICE } else { NO_TOKEN })
            }
        }
    }

    fn metadata(&self, outdated: Option<&Arc<Metadata>>) -> Result<Arc<Metadata>, Denied> {
        self.offer.get(outdated, &self.clock, || offer::ask(&self.url, &*self.transport))
    }

    /// Returns `None` if the response has no claims that can be read.
    fn user_info(&self, endpoint: &str, access_token: &str) -> Result<Option<Claims>, Denied> {
        let authorization = Zeroizing::new(format!("Bearer {access_token}"));
        let request = Request::get(endpoint).header("authorization", &*authorization).body(Vec::new());
        let answer = self.transport.send(request.map_err(wrong)?).map_err(|failure| unavailable(&failure))?;
        let status = answer.status();
        if status.is_server_error() {
            return Err(unavailable(&format!("userinfo_endpoint: status {}", status.as_u16())));
        }
        let claims = serde_json::from_slice::<Claims>(answer.body()).ok();
        let claims = claims.filter(|claims| status.is_success() && claims.contains_key(SUBJECT));
        if claims.is_none() {
            tracing::warn!(status = status.as_u16(), "the issuer gave no further claims that can be read");
        }
        Ok(claims)
    }
}

fn settings_of_claims(oidc: &Oidc) -> Vec<(&'static str, &str)> {
    let groups = (!oidc.groups.is_empty()).then_some(("oidc-groups-claim", oidc.groups_claim.as_str()));
    std::iter::once(("oidc-id-claim", oidc.id_claim.as_str())).chain(groups).collect()
}

/// Checks that the issuer responds, signs in a supported way, and may send the claims that the settings name.
pub(crate) fn check(config: &Config) -> Result<(), String> {
    match Issuer::from_config(config, &Clock::system()) {
        Ok(Some(issuer)) => {
            offer::ask(&issuer.url, &*issuer.transport)?.check(&settings_of_claims(&config.oidc))
        }
        Ok(None) => Ok(()),
        Err(error) => Err(error.message().into_owned()),
    }
}

fn secret(oidc: &Oidc) -> Result<Option<Zeroizing<String>>> {
    let unusable = |setting, why: String| Error::InvalidSetting(Invalid::new(&[setting], why));
    match (&oidc.client_secret, &oidc.client_secret_file) {
        (Some(secret), _) => {
            let text = str::from_utf8(&secret.0)
                .map_err(|error| unusable("oidc-client-secret", error.to_string()))?;
            Ok(Some(Zeroizing::new(text.to_owned())))
        }
        (None, Some(file)) => {
            let why = |error| format!("{} cannot be read: {error}", file.display());
            let text =
                text_file::read(file).map_err(|error| unusable("oidc-client-secret-file", why(error)))?;
            Ok(Some(Zeroizing::new(text.trim_end().to_owned())))
        }
        (None, None) => Ok(None),
    }
}

fn unavailable(failure: &str) -> Denied {
    tracing::warn!(failure, "the issuer did not answer");
    UNAVAILABLE
}

fn wrong(why: impl Display) -> Denied {
    tracing::warn!(%why, "an answer of the issuer was refused");
    Denied::new(
        SERVER_ERROR,
        "the answer of the issuer is not valid: tell the administrators of this service",
    )
}

fn of_token(why: impl Display) -> Denied {
    wrong(format!("the ID token: {why}"))
}

struct Http(ureq::Agent);

impl Transport for Http {
    fn send(&self, request: Request<Vec<u8>>) -> std::result::Result<Response<Vec<u8>>, String> {
        let failed = |error: ureq::Error| outgoing::reason(&error);
        let mut answer = self.0.run(request).map_err(failed)?;
        let body = answer.body_mut().with_config().limit(ANSWER_MAX).read_to_vec().map_err(failed)?;
        Ok(answer.map(|_| body))
    }
}
