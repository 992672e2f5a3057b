//! A sign-in on its way to the issuer and back. Its secrets derive from random bytes in a cookie of the browser, so a guest who
//! begins one writes nothing to the database, and any server finishes it. The cookie is signed: its content was checked when it
//! was made.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::Tidings;
use crate::audit::trail::hex;
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::random::random;

pub(super) const LASTS_MS: i64 = 10 * 60 * SECOND_MS;
/// The prefix of cookie names. Each flow has a cookie of its own, so that a person may begin several.
const COOKIE: &str = "tidings_oidc_";
/// A prefix with TLS: browsers accept such a cookie only from the host itself.
pub(super) const HOST: &str = "__Host-";
/// The number of characters of the state in the name of a cookie.
const NAME: usize = 16;
const DOMAIN: &str = "tidings single sign-on 1\0";

#[derive(Serialize, Deserialize)]
pub(super) struct Flow {
    secret: Zeroizing<String>,
    pub(super) expires: Timestamp,
    pub(super) page: String,
    /// Returned to the app unchanged.
    pub(super) app_state: Option<String>,
}

impl Flow {
    pub(super) fn new(page: String, app_state: Option<String>, now: Timestamp) -> Self {
        let secret = Zeroizing::new(hex(&random::<32>()));
        Self { secret, expires: now + LASTS_MS, page, app_state }
    }

    /// Ties the way back to the browser.
    pub(super) fn state(&self) -> String {
        self.derived("state")
    }

    /// Ties the ID token to the flow.
    pub(super) fn nonce(&self) -> String {
        self.derived("nonce")
    }

    /// Ties the code of the issuer to the flow (RFC 7636).
    pub(super) fn verifier(&self) -> String {
        self.derived("verifier")
    }

    fn derived(&self, what: &str) -> String {
        hex(&Sha256::new_with_prefix(DOMAIN).chain_update(what).chain_update(&*self.secret).finalize())
    }

    pub(super) fn cookie(&self, tidings: &Tidings) -> (String, String) {
        (cookie_name(tidings, &self.state()), tidings.account().keys.seal(DOMAIN, self))
    }

    pub(super) fn of_cookies(tidings: &Tidings, cookies: &[&str], state: &str) -> Option<Self> {
        let name = cookie_name(tidings, state.get(..NAME)?);
        let pairs = cookies
            .iter()
            .flat_map(|header| header.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
        let now = tidings.now();
        let mut flows = values.filter_map(|value| tidings.account().keys.unseal::<Self>(DOMAIN, value));
        flows.find(|flow| flow.expires > now && flow.state() == state)
    }
}

pub(super) fn cookie_name(tidings: &Tidings, state: &str) -> String {
    let is_secure = tidings.config().public_url.as_ref().is_some_and(|url| url.scheme() == "https");
    format!("{}{COOKIE}{}", if is_secure { HOST } else { "" }, state.get(..NAME).unwrap_or_default())
}
