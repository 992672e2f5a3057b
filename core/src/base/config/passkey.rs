//! The settings of passkeys.

use clap::Args;
use webauthn_rp::request::{AsciiDomain, DomainOrigin, Port, RpId, Scheme};

use super::value::Invalid;

/// The settings of passkeys.
#[derive(Clone, Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Passkeys")]
pub struct Passkeys {
    /// The domain of the app in whose browsers members sign in with passkeys, such as app.example; without it there are none.
    #[arg(long = "passkey-domain", value_name = "DOMAIN")]
    pub domain: Option<String>,
}

impl Passkeys {
    /// Returns whether members sign in with passkeys.
    pub const fn is_on(&self) -> bool {
        self.domain.is_some()
    }

    /// `None` if the domain is not set or not valid.
    pub(crate) fn relying_party(&self) -> Option<RpId> {
        AsciiDomain::try_from(self.domain.clone()?).ok().map(RpId::Domain)
    }

    /// `https://` and the domain; on this machine also `http://` and any port, which a browser treats as secure.
    pub(crate) fn allowed(&self) -> Vec<DomainOrigin<'_, '_>> {
        let Some(domain) = &self.domain else { return Vec::new() };
        let here = DomainOrigin { scheme: Scheme::Other("http"), host: domain, port: Port::Any };
        let is_here = domain == "localhost";
        std::iter::once(DomainOrigin::new(domain)).chain(is_here.then_some(here)).collect()
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        let Some(domain) = &self.domain else { return Ok(()) };
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
        if self.relying_party().is_some() && domain.bytes().all(is_plain) {
            return Ok(());
        }
        Err(Invalid::new(&["passkey-domain"], "must be a domain such as app.example, in lower case"))
    }
}
