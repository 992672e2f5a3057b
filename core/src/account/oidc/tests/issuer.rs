//! An issuer in memory, whose answers a test decides.

use std::sync::{Arc, Mutex, MutexGuard};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use openidconnect::core::{CoreEdDsaPrivateSigningKey, CoreJwsSigningAlgorithm};
use openidconnect::{HttpRequest, HttpResponse, JsonWebKeyId, PrivateSigningKey as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::{Url, form_urlencoded};

use super::super::issuer::{Failure, Transport};
use crate::base::clock::{Clock, Timestamp};

pub(super) const URL: &str = "https://login.example";
pub(super) const CLIENT: &str = "campus";
pub(super) const SECRET: &str = "s3cret/with: signs";

/// Handles share the issuer.
#[derive(Clone)]
pub(super) struct Fake(Arc<Mutex<State>>);

pub(super) struct State {
    clock: Clock,
    pub(super) is_down: bool,
    /// Whether it names itself when it sends people back.
    pub(super) names_itself: bool,
    /// The number of the key that signs.
    pub(super) key: u8,
    pub(super) algorithm: &'static str,
    /// What replaces and adds to the claims of ID tokens.
    pub(super) claims: Value,
    /// Whether its tokens have no claims but the necessary ones.
    pub(super) leaves_out: bool,
    /// What it says about a person besides.
    pub(super) user_info: Value,
    /// The nonce and the challenge of the latest person who has signed in, with the code.
    signed_in: Option<(String, String, String)>,
    codes: u32,
    /// The paths that were asked for.
    pub(super) asked: Vec<String>,
}

impl Fake {
    pub(super) fn new(clock: &Clock) -> Self {
        let state = State {
            clock: clock.clone(),
            is_down: false,
            names_itself: true,
            key: 1,
            algorithm: "EdDSA",
            claims: json!({}),
            leaves_out: false,
            user_info: json!({ "sub": "7f3" }),
            signed_in: None,
            codes: 0,
            asked: Vec::new(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Signs a person in at the address to which the browser was sent; returns the query with which it comes back.
    pub(super) fn sign_in(&self, location: &str) -> String {
        let url = Url::parse(location).unwrap();
        assert_eq!(url.origin().ascii_serialization() + url.path(), format!("{URL}/authorize"));
        let parameter = |name: &str| url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
        let given =
            ["response_type", "client_id", "redirect_uri", "scope", "code_challenge_method"].map(parameter);
        let returns = "https://campus.example/api/sign_in_oidc/return";
        assert_eq!(given, ["code", CLIENT, returns, "openid profile email", "S256"]);
        let mut state = self.state();
        state.codes += 1;
        let code = format!("code-{}", state.codes);
        state.signed_in = Some((code.clone(), parameter("nonce"), parameter("code_challenge")));
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("code", &code).append_pair("state", &parameter("state"));
        if state.names_itself {
            query.append_pair("iss", URL);
        }
        query.finish()
    }
}

impl Transport for Fake {
    fn send(&self, request: HttpRequest) -> Result<HttpResponse, Failure> {
        let mut state = self.state();
        let path = request.uri().path().to_owned();
        state.asked.push(path.clone());
        if state.is_down {
            return Err(Failure("no answer in time".to_owned()));
        }
        let (status, body) = match path.as_str() {
            "/.well-known/openid-configuration" => (200, state.configuration()),
            "/keys" => (200, json!({ "keys": [state.signing_key().as_verification_key()] })),
            "/token" => state.token(&request),
            "/me" => {
                assert_eq!(request.headers()["authorization"], "Bearer access");
                (200, state.user_info.clone())
            }
            _ => (404, json!({})),
        };
        let answer =
            ureq::http::Response::builder().status(status).header("content-type", "application/json");
        Ok(answer.body(body.to_string().into_bytes()).unwrap())
    }
}

impl State {
    fn configuration(&self) -> Value {
        json!({
            "issuer": URL,
            "authorization_endpoint": format!("{URL}/authorize"),
            "token_endpoint": format!("{URL}/token"),
            "userinfo_endpoint": format!("{URL}/me"),
            "jwks_uri": format!("{URL}/keys"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["EdDSA", "RS256"],
            "authorization_response_iss_parameter_supported": self.names_itself,
        })
    }

    fn signing_key(&self) -> CoreEdDsaPrivateSigningKey {
        // A key of Ed25519 in PKCS #8 (RFC 8410).
        let mut der = data_encoding::HEXLOWER.decode(b"302e020100300506032b657004220420").unwrap();
        der.extend([self.key; 32]);
        let pem =
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", BASE64.encode(&der));
        let name = JsonWebKeyId::new(format!("key-{}", self.key));
        CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, Some(name)).unwrap()
    }

    /// Exchanges a code, once.
    fn token(&mut self, request: &HttpRequest) -> (u16, Value) {
        let basic = format!("Basic {}", BASE64.encode(format!("{CLIENT}:s3cret%2Fwith%3A+signs").as_bytes()));
        assert_eq!(request.headers()["authorization"], basic.as_str());
        let given = |name: &str| {
            let mut pairs = form_urlencoded::parse(request.body());
            pairs.find(|(key, _)| key == name).unwrap().1.into_owned()
        };
        let challenge = BASE64URL_NOPAD.encode(&Sha256::digest(given("code_verifier")));
        match self.signed_in.take() {
            Some((code, nonce, expected)) if code == given("code") && expected == challenge => {
                let token = self.id_token(&nonce);
                (200, json!({ "access_token": "access", "token_type": "Bearer", "id_token": token }))
            }
            _ => (400, json!({ "error": "invalid_grant" })),
        }
    }

    fn id_token(&self, nonce: &str) -> String {
        let seconds = |at: Timestamp| at.as_millis() / 1_000;
        let now = self.clock.now();
        let mut claims = json!({
            "iss": URL, "sub": "7f3", "aud": CLIENT, "nonce": nonce,
            "iat": seconds(now), "exp": seconds(now + 300_000),
            "preferred_username": "ann", "name": "Ann Lee", "email": "ann@example.org", "email_verified": true,
        });
        if self.leaves_out {
            claims
                .as_object_mut()
                .unwrap()
                .retain(|claim, _| claim.len() <= 5 && claim != "name" && claim != "email");
        }
        for (claim, value) in self.claims.as_object().unwrap() {
            claims[claim] = value.clone();
        }
        let header = json!({ "alg": self.algorithm, "kid": format!("key-{}", self.key) });
        let part = |json: &Value| BASE64URL_NOPAD.encode(json.to_string().as_bytes());
        let signed = format!("{}.{}", part(&header), part(&claims));
        if self.algorithm == "none" {
            return format!("{signed}.");
        }
        let signature = self.signing_key().sign(&CoreJwsSigningAlgorithm::EdDsa, signed.as_bytes()).unwrap();
        format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
    }
}
