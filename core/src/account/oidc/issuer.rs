//! The issuer: what it says about itself, and its answers about a person.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use data_encoding::BASE64URL_NOPAD;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreIdToken, CoreIdTokenVerifier,
    CoreJwsSigningAlgorithm,
};
use openidconnect::{
    AuthType, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, IssuerUrl, Nonce,
    OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope,
    SignatureVerificationError, TokenResponse as _,
};
use serde_json::{Map, Value};
use url::Url;
use zeroize::Zeroizing;

use super::flow::Flow;
use super::offer::{self, Metadata, Offer};
use super::{
    Denied, EMAIL, EMAIL_VERIFIED, INVALID, REFUSED_CODE, RETURN_PATH, SERVER_ERROR, SUBJECT, UNAVAILABLE,
};
use crate::base::clock::{Clock, SECOND_MS, Timestamp};
use crate::base::config::{Config, Invalid, Oidc};
use crate::base::text_file;
use crate::record::error::{Error, Result};
use crate::record::outgoing;

/// The time limit of a request to the issuer, and of its parts.
const WHOLE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_secs(3);
/// The maximum number of bytes that are read from an answer.
const ANSWER_MAX: u64 = 1 << 20;
/// How much the clocks of the issuer and of this service may differ.
const SKEW_MS: i64 = 60 * SECOND_MS;
/// The algorithms of signatures: with keys that the issuer alone has. A token without a signature is never accepted.
const SIGNATURES: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// A client whose token endpoint may be unknown.
type SetClient = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// What the issuer has asserted about a person.
pub(super) type Claims = Map<String, Value>;

/// Sends requests to the issuer.
pub(super) trait Transport: Send + Sync {
    /// Sends a request. Blocks until the issuer has answered.
    ///
    /// # Errors
    /// Why it failed, in a few words.
    fn send(&self, request: HttpRequest) -> std::result::Result<HttpResponse, Failure>;
}

/// Why a request to the issuer failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Failure(pub(super) String);

/// An issuer.
pub(crate) struct Issuer {
    url: IssuerUrl,
    client_id: ClientId,
    secret: Option<Zeroizing<String>>,
    returns: RedirectUrl,
    scopes: Vec<Scope>,
    /// The claims for which the issuer is asked again if its token has them not.
    wanted: Vec<String>,
    clock: Clock,
    transport: Box<dyn Transport>,
    offer: Offer,
}

impl Issuer {
    /// Returns the issuer that the settings name, if any. It is asked nothing yet.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] when a file cannot be used.
    pub(crate) fn from_config(config: &Config, clock: &Clock) -> Result<Option<Self>> {
        if !config.oidc.is_on() {
            return Ok(None);
        }
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(WHOLE))
            .timeout_connect(Some(STEP))
            .timeout_recv_response(Some(STEP))
            // An issuer on this machine may be without encryption; whatever it names elsewhere may not.
            .https_only(config.oidc.issuer.as_ref().is_some_and(|issuer| issuer.0.starts_with("https://")))
            .user_agent(outgoing::USER_AGENT);
        let agent = outgoing::agent(agent, true, config.oidc.ca.as_deref(), "oidc-ca")?;
        Self::new(config, clock, Box::new(Http(agent)))
    }

    pub(super) fn new(config: &Config, clock: &Clock, transport: Box<dyn Transport>) -> Result<Option<Self>> {
        let oidc = &config.oidc;
        let (Some(issuer), Some(client_id), Some(public_url)) =
            (&oidc.issuer, &oidc.client_id, &config.public_url)
        else {
            return Ok(None);
        };
        let unusable = |setting, why: String| Error::InvalidSetting(Invalid::new(&[setting], why));
        let url =
            IssuerUrl::new(issuer.0.clone()).map_err(|error| unusable("oidc-issuer", error.to_string()))?;
        let returns = format!("{}{RETURN_PATH}", public_url.as_str().trim_end_matches('/'));
        let returns = RedirectUrl::new(returns).map_err(|error| unusable("public-url", error.to_string()))?;
        let wanted = [&oidc.id_claim, &oidc.name_claim].into_iter().chain(&oidc.major_claim);
        let wanted = wanted.chain((!oidc.groups.is_empty()).then_some(&oidc.groups_claim)).cloned();
        Ok(Some(Self {
            url,
            client_id: ClientId::new(client_id.clone()),
            secret: secret(oidc)?,
            returns,
            scopes: oidc.scopes.iter().cloned().map(Scope::new).collect(),
            wanted: wanted.chain([EMAIL, EMAIL_VERIFIED].map(str::to_owned)).collect(),
            clock: clock.clone(),
            transport,
            offer: Offer::default(),
        }))
    }

    /// Returns the address at which a person signs in.
    ///
    /// # Errors
    /// When the issuer does not answer.
    pub(super) fn sign_in(&self, flow: &Flow) -> Result<Url, Denied> {
        let metadata = self.metadata(None)?;
        let (client, state, nonce) = (self.client(&metadata), flow.state(), flow.nonce());
        let request = client.authorize_url(
            CoreAuthenticationFlow::AuthorizationCode,
            move || CsrfToken::new(state),
            move || Nonce::new(nonce),
        );
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&PkceCodeVerifier::new(flow.verifier()));
        Ok(request.set_pkce_challenge(challenge).add_scopes(self.scopes.iter().cloned()).url().0)
    }

    /// Checks who sends a person back: `given` is what the answer says, if anything.
    ///
    /// # Errors
    /// When it is not this issuer (RFC 9207), or the issuer does not answer.
    pub(super) fn check_sender(&self, given: Option<&str>) -> Result<(), Denied> {
        let must = || {
            let metadata = self.metadata(None)?;
            Ok(metadata.additional_metadata().authorization_response_iss_parameter_supported)
        };
        let is_sender = match given {
            Some(given) => given == self.url.as_str(),
            None => !must()?,
        };
        if is_sender { Ok(()) } else { Err(Denied::new(INVALID, "the answer is not that of the issuer")) }
    }

    /// Exchanges the code of the issuer for what it asserts about the person.
    ///
    /// # Errors
    /// When the issuer refuses the code or does not answer; when its token is not valid for this flow.
    pub(super) fn claims(&self, flow: &Flow, code: String) -> Result<Claims, Denied> {
        let metadata = self.metadata(None)?;
        let answer = self
            .client(&metadata)
            .exchange_code(AuthorizationCode::new(code))
            .map_err(wrong)?
            .set_pkce_verifier(PkceCodeVerifier::new(flow.verifier()))
            .request(&|request| self.transport.send(request))
            .map_err(|error| match error {
                RequestTokenError::Request(failure) => unavailable(&failure),
                RequestTokenError::ServerResponse(refusal) => {
                    tracing::warn!(error = %refusal.error(), "the issuer refused a code");
                    REFUSED_CODE
                }
                error => wrong(error),
            })?;
        let token = answer.id_token().ok_or_else(|| wrong("it has no ID token"))?;
        match self.verify(&metadata, token, flow) {
            // Its keys were replaced after it was asked for them.
            Err(ClaimsVerificationError::SignatureVerification(
                SignatureVerificationError::NoMatchingKey,
            )) => {
                self.verify(&*self.metadata(Some(&metadata))?, token, flow).map_err(wrong)?;
            }
            verified => verified.map_err(wrong)?,
        }
        let mut claims = payload(token).ok_or_else(|| wrong("it cannot be read"))?;
        if let Some(endpoint) = metadata.userinfo_endpoint()
            && self.wanted.iter().any(|claim| !claims.contains_key(claim))
        {
            let more = self.user_info(endpoint.url().as_str(), answer.access_token().secret())?;
            // Otherwise it could be about somebody else (OpenID Connect Core 1.0 section 5.3.2).
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
        }
        Ok(claims)
    }

    /// Checks the signature of an ID token, for whom and by whom it is, when, and that it belongs to the flow.
    fn verify(
        &self,
        metadata: &Metadata,
        token: &CoreIdToken,
        flow: &Flow,
    ) -> std::result::Result<(), ClaimsVerificationError> {
        let (clock, now) = (&self.clock, self.clock.now());
        let keys = metadata.jwks().clone();
        let verifier = CoreIdTokenVerifier::new_public_client(self.client_id.clone(), self.url.clone(), keys)
            .set_allowed_algs(SIGNATURES)
            .set_time_fn(|| time(clock.now() - SKEW_MS))
            .set_issue_time_verifier_fn(move |issued| {
                let is_past = issued <= time(now + SKEW_MS);
                is_past.then_some(()).ok_or_else(|| "it was issued in the future".to_owned())
            });
        token.claims(&verifier, &Nonce::new(flow.nonce())).map(drop)
    }

    fn metadata(&self, outdated: Option<&Arc<Metadata>>) -> Result<Arc<Metadata>, Denied> {
        self.offer.get(outdated, &self.clock, || offer::ask(&self.url, &*self.transport))
    }

    /// Returns the further claims about a person.
    fn user_info(&self, endpoint: &str, access_token: &str) -> Result<Claims, Denied> {
        let authorization = Zeroizing::new(format!("Bearer {access_token}"));
        let request =
            ureq::http::Request::get(endpoint).header("authorization", &*authorization).body(Vec::new());
        let answer = self.transport.send(request.map_err(wrong)?).map_err(|failure| unavailable(&failure))?;
        if !answer.status().is_success() {
            return Err(wrong(format!("its further claims: status {}", answer.status().as_u16())));
        }
        serde_json::from_slice(answer.body()).map_err(wrong)
    }

    fn client(&self, metadata: &Metadata) -> SetClient {
        let secret = self.secret.as_ref().map(|secret| ClientSecret::new(secret.to_string()));
        let methods = metadata.token_endpoint_auth_methods_supported();
        let takes = |method| methods.is_none_or(|methods| methods.contains(&method));
        let in_body = !takes(CoreClientAuthMethod::ClientSecretBasic);
        CoreClient::from_provider_metadata(metadata.clone(), self.client_id.clone(), secret)
            .set_auth_type(if in_body { AuthType::RequestBody } else { AuthType::BasicAuth })
            .set_redirect_uri(self.returns.clone())
    }
}

/// Checks that the issuer of these settings answers.
///
/// # Errors
/// Why it does not.
pub(crate) fn check(config: &Config) -> Result<(), String> {
    match Issuer::from_config(config, &Clock::system()) {
        Ok(Some(issuer)) => offer::ask(&issuer.url, &*issuer.transport).map(drop),
        Ok(None) => Ok(()),
        Err(error) => Err(error.message().into_owned()),
    }
}

/// Returns the secret that the issuer has given to this service.
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

/// Returns the claims of an ID token that was verified.
fn payload(token: &CoreIdToken) -> Option<Claims> {
    let token = token.to_string();
    let payload = BASE64URL_NOPAD.decode(token.split('.').nth(1)?.as_bytes()).ok()?;
    serde_json::from_slice(&payload).ok()
}

fn time(at: Timestamp) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at.as_millis()).unwrap_or_default()
}

fn unavailable(failure: &Failure) -> Denied {
    tracing::warn!(%failure, "the issuer did not answer");
    UNAVAILABLE
}

/// Returns the refusal of an answer of the issuer that breaks a rule.
fn wrong(why: impl Display) -> Denied {
    tracing::warn!(%why, "an answer of the issuer was refused");
    Denied::new(
        SERVER_ERROR,
        "the answer of the issuer is not valid: tell the administrators of this service",
    )
}

/// Sends over HTTP.
struct Http(ureq::Agent);

impl Transport for Http {
    fn send(&self, request: HttpRequest) -> std::result::Result<HttpResponse, Failure> {
        let failed = |error: ureq::Error| Failure(outgoing::reason(&error));
        let mut answer = self.0.run(request).map_err(failed)?;
        let body = answer.body_mut().with_config().limit(ANSWER_MAX).read_to_vec().map_err(failed)?;
        Ok(answer.map(|_| body))
    }
}
