//! An issuer in memory, whose answers a test decides.

use std::sync::{Arc, Mutex, MutexGuard};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use ureq::http::{Request, Response};
use url::{Url, form_urlencoded};

use super::super::offer::Transport;
use crate::base::clock::{Clock, Timestamp};
use crate::testing::signer::Signer;

pub(super) const URL: &str = "https://login.example";
pub(super) const CLIENT: &str = "campus";
pub(super) const SECRET: &str = "s3cret/with: signs";

#[derive(Clone)]
pub(super) struct Fake(Arc<Mutex<State>>);

pub(super) struct State {
    clock: Clock,
    pub(super) is_down: bool,
    /// Whether it names itself when it sends people back.
    pub(super) names_itself: bool,
    /// The number of the key that signs.
    pub(super) key: u8,
    /// What its tokens name, and what it signs with.
    pub(super) algorithm: &'static str,
    pub(super) signs: Algorithm,
    /// What replaces and adds to what it says: its metadata, its key, its answer with tokens, their headers and their claims.
    pub(super) metadata: Value,
    pub(super) jwk: Value,
    pub(super) answer: Value,
    pub(super) header: Value,
    pub(super) claims: Value,
    /// What it answers instead of tokens, and instead of further claims.
    pub(super) refuses: Option<(u16, Value)>,
    pub(super) refuses_more: Option<u16>,
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
            signs: Algorithm::EdDSA,
            metadata: json!({}),
            jwk: json!({}),
            answer: json!({}),
            header: json!({}),
            claims: json!({}),
            refuses: None,
            refuses_more: None,
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
    fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, String> {
        let mut state = self.state();
        let path = request.uri().path().to_owned();
        state.asked.push(path.clone());
        if state.is_down {
            return Err("no answer in time".to_owned());
        }
        let (status, body) = match path.as_str() {
            "/.well-known/openid-configuration" => (200, state.configuration()),
            "/keys" => (200, json!({ "keys": [7, {}, state.public_key()], "more": 1 })),
            "/token" => state.token(&request),
            "/me" => {
                assert_eq!(request.headers()["authorization"], "Bearer access");
                (state.refuses_more.unwrap_or(200), state.user_info.clone())
            }
            _ => (404, json!({})),
        };
        let answer = Response::builder().status(status).header("content-type", "application/json");
        Ok(answer.body(body.to_string().into_bytes()).unwrap())
    }
}

impl State {
    fn configuration(&self) -> Value {
        let metadata = json!({
            "issuer": URL,
            "authorization_endpoint": format!("{URL}/authorize"),
            "token_endpoint": format!("{URL}/token"),
            "userinfo_endpoint": format!("{URL}/me"),
            "jwks_uri": format!("{URL}/keys"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["EdDSA", "RS256"],
            "authorization_response_iss_parameter_supported": self.names_itself,
        });
        with(metadata, &self.metadata)
    }

    fn public_key(&self) -> Value {
        let key =
            with(Signer::of(self.signs, self.key).jwk(), &json!({ "kid": format!("key-{}", self.key) }));
        with(key, &self.jwk)
    }

    fn token(&mut self, request: &Request<Vec<u8>>) -> (u16, Value) {
        if let Some(refused) = self.refuses.clone() {
            return refused;
        }
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
                let answer = json!({ "access_token": "access", "token_type": "Bearer", "id_token": token });
                (200, with(answer, &self.answer))
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
        let claims = with(claims, &self.claims);
        let header = json!({ "alg": self.algorithm, "kid": format!("key-{}", self.key) });
        let header = with(header, &self.header);
        let part = |json: &Value| BASE64URL_NOPAD.encode(json.to_string().as_bytes());
        let signed = format!("{}.{}", part(&header), part(&claims));
        if self.algorithm == "none" {
            return format!("{signed}.");
        }
        let signature = Signer::of(self.signs, self.key).sign(signed.as_bytes());
        format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
    }
}

fn with(mut object: Value, changes: &Value) -> Value {
    object.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    object
}
