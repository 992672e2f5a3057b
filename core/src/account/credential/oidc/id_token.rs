//! The ID token of an issuer: its signature, and by whom, for whom and when it was issued (OpenID Connect Core 1.0 section
//! 3.1.3.7). Only the fields that count are read. Any other field may have any type, because issuers disagree about those.

use data_encoding::BASE64URL_NOPAD;
use jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER;
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde_json::{Map, Value};

use crate::account::credential::verify::university_name;
use crate::base::clock::{SECOND_MS, Timestamp};

const SKEW_MS: i64 = 60 * SECOND_MS;
/// In base 64.
const ED25519: usize = 43;

pub(super) type Claims = Map<String, Value>;

pub(super) struct IdToken<'t> {
    algorithm: Algorithm,
    message: &'t str,
    signature: Vec<u8>,
    /// Not to be trusted before [`IdToken::check`].
    pub(super) claims: Claims,
}

/// Accepts only algorithms with which nobody but the issuer can sign: no token without a signature, or with one by a shared key.
pub(super) fn algorithm(name: &str) -> Option<Algorithm> {
    name.parse().ok().filter(|algorithm: &Algorithm| algorithm.family() != AlgorithmFamily::Hmac)
}

impl<'t> IdToken<'t> {
    pub(super) fn parse(token: &'t str) -> Result<Self, String> {
        let (message, signature) = token.rsplit_once('.').ok_or("it is not signed")?;
        let (header, claims) = message.split_once('.').ok_or("it is not signed")?;
        let bytes = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).ok();
        let json = |part| serde_json::from_slice::<Claims>(&bytes(part)?).ok();
        let header = json(header).ok_or("its header cannot be read")?;
        // An encrypted token has more parts.
        let claims = json(claims).ok_or("its claims cannot be read")?;
        let signature = bytes(signature).ok_or("its signature cannot be read")?;
        let text = |field| header.get(field).and_then(Value::as_str).unwrap_or_default();
        let algorithm = algorithm(text("alg"))
            .ok_or_else(|| format!("its alg is not supported: {}", university_name(text("alg"))))?;
        if let Some(field) = ["crit", "cty"].into_iter().find(|field| header.contains_key(*field)) {
            return Err(format!("its header has {field}, which is not supported"));
        }
        let kind = text("typ").to_ascii_lowercase();
        if !matches!(kind.trim_start_matches("application/"), "" | "jwt" | "jose") {
            return Err(format!("its typ is that of another token: {}", university_name(&kind)));
        }
        Ok(Self { algorithm, message, signature, claims })
    }

    pub(super) fn is_signed_with(&self, keys: &[Value]) -> bool {
        let is_valid = |key: DecodingKey| {
            let verifier = (DEFAULT_PROVIDER.verifier_factory)(&self.algorithm, &key);
            verifier.is_ok_and(|verifier| verifier.verify(self.message.as_bytes(), &self.signature).is_ok())
        };
        keys.iter().filter_map(|key| self.usable(key)).any(is_valid)
    }

    fn usable(&self, key: &Value) -> Option<DecodingKey> {
        let text = |field| key.get(field).and_then(Value::as_str);
        let is_for_it = text("use").is_none_or(|usage| usage == "sig")
            && text("alg").is_none_or(|name| algorithm(name) == Some(self.algorithm));
        let key = match (self.algorithm.family(), text("kty").filter(|_| is_for_it)?) {
            (AlgorithmFamily::Rsa, "RSA") => DecodingKey::from_rsa_components(text("n")?, text("e")?),
            (AlgorithmFamily::Ec, "EC") => DecodingKey::from_ec_components(text("x")?, text("y")?),
            // The library panics at a shorter key.
            (AlgorithmFamily::Ed, "OKP") if text("crv") == Some("Ed25519") && text("x")?.len() == ED25519 => {
                DecodingKey::from_ed_components(text("x")?)
            }
            _ => return None,
        };
        key.ok()
    }

    pub(super) fn check(
        &self,
        issuer: &str,
        client: &str,
        nonce: &str,
        now: Timestamp,
    ) -> Result<(), String> {
        // Null is no claim.
        let claim = |name: &str| self.claims.get(name).filter(|value| !value.is_null());
        let require = |is_right: bool, name: &str, rule: &str| {
            let shown = || university_name(&claim(name).map(Value::to_string).unwrap_or_default());
            if is_right { Ok(()) } else { Err(format!("its claim {name} {rule}: {}", shown())) }
        };
        require(is(claim("iss"), issuer), "iss", "names another issuer")?;
        let audience = match claim("aud") {
            Some(Value::Array(several)) => several.as_slice(),
            one => one.map(std::slice::from_ref).unwrap_or_default(),
        };
        let is_client = |one: &Value| is(Some(one), client);
        require(audience.iter().any(is_client), "aud", "does not name this service")?;
        // The audience may have others if the issuer says that this service has asked for the token.
        let is_ours = claim("azp").map_or_else(|| audience.iter().all(is_client), is_client);
        require(is_ours, "azp", "does not name this service")?;
        let is_past = |name: &str, skew: i64| {
            claim(name).and_then(millis).map(|at| at.saturating_sub(skew) <= now.as_millis())
        };
        require(is_past("exp", -SKEW_MS) == Some(false), "exp", "is over, or no time")?;
        require(is_past("iat", SKEW_MS) == Some(true), "iat", "is in the future, or no time")?;
        require(
            claim("nbf").is_none() || is_past("nbf", SKEW_MS) == Some(true),
            "nbf",
            "is in the future, or no time",
        )?;
        require(is(claim("nonce"), nonce), "nonce", "is that of another sign-in")
    }
}

fn is(claim: Option<&Value>, text: &str) -> bool {
    claim.and_then(Value::as_str) == Some(text)
}

/// The seconds may have a fraction.
#[expect(clippy::cast_possible_truncation, reason = "the far future and the far past stay what they are")]
fn millis(seconds: &Value) -> Option<i64> {
    Some((seconds.as_f64()? * 1_000.0) as i64)
}
