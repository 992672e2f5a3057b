//! The settings of passkeys.

use webauthn_rp::request::{AsciiDomain, DomainOrigin, RpId, Scheme};

use super::setting::Invalid;

/// The settings of passkeys.
#[derive(Clone, Debug, Default)]
pub struct Passkeys {
    /// The domain to which passkeys belong, that of the apps; `None` if there are none.
    pub domain: Option<String>,
    /// The origins of the apps; empty means `https://` and the domain.
    pub origins: Vec<String>,
}

impl Passkeys {
    /// Returns whether members sign in with passkeys.
    pub const fn is_on(&self) -> bool {
        self.domain.is_some()
    }

    /// Returns the domain as browsers call it; `None` if it is not set or not valid.
    pub(crate) fn relying_party(&self) -> Option<RpId> {
        AsciiDomain::try_from(self.domain.clone()?).ok().map(RpId::Domain)
    }

    /// Returns the origins as browsers call them.
    pub(crate) fn allowed(&self) -> Vec<DomainOrigin<'_, '_>> {
        let Some(domain) = &self.domain else { return Vec::new() };
        if self.origins.is_empty() {
            return vec![DomainOrigin::new(domain)];
        }
        self.origins.iter().filter_map(|origin| DomainOrigin::try_from(origin.as_str()).ok()).collect()
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        let Some(domain) = &self.domain else {
            let rule = "needs the domain of the apps: set passkey-domain";
            return if self.origins.is_empty() {
                Ok(())
            } else {
                Err(Invalid::new(&["passkey-origins", "passkey-domain"], rule))
            };
        };
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
        if self.relying_party().is_none() || !domain.bytes().all(is_plain) {
            return Err(Invalid::new(
                &["passkey-domain"],
                "must be a domain such as app.example, in lower case",
            ));
        }
        let is_of_domain = |origin: &String| {
            DomainOrigin::try_from(origin.as_str()).is_ok_and(|origin| {
                let below = origin.host.strip_suffix(domain.as_str());
                let is_secure = match origin.scheme {
                    Scheme::Https => true,
                    // A browser treats this machine as secure.
                    Scheme::Other("http") => origin.host == "localhost",
                    _ => false,
                };
                is_secure && below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
            })
        };
        if self.origins.iter().all(is_of_domain) {
            return Ok(());
        }
        let rule = "each must be an origin of passkey-domain, such as https://app.example";
        Err(Invalid::new(&["passkey-origins", "passkey-domain"], rule))
    }
}
