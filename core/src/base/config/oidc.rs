//! The settings of single sign-on.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use url::Url;

use super::Secret;
use super::value::{Invalid, element};
use crate::base::host;

/// The settings of single sign-on with OpenID Connect.
#[derive(Clone, Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Single sign-on")]
pub struct Oidc {
    /// The issuer of OpenID Connect with which people sign in, such as `https://login.campus.example`; without it, there is no
    /// single sign-on.
    #[arg(long = "oidc-issuer", value_name = "URL")]
    pub issuer: Option<Issuer>,
    /// The name that the issuer has given to this service.
    #[arg(long = "oidc-client-id", value_name = "ID")]
    pub client_id: Option<String>,
    /// The secret that the issuer has given to this service; `None` means the one in `client_secret_file`, or none.
    #[arg(skip)]
    pub client_secret: Option<Secret>,
    /// A file with the secret that the issuer has given to this service; `TIDINGS_OIDC_CLIENT_SECRET` holds the secret itself.
    #[arg(long = "oidc-client-secret-file", value_name = "FILE")]
    pub client_secret_file: Option<PathBuf>,
    /// A page of an app to which people may return, compared exactly; may be repeated, and the first is the default.
    #[arg(long = "oidc-pages", value_name = "URL", value_delimiter = ',', value_parser = element)]
    pub pages: Vec<String>,
    /// The claim of the issuer with the id of a new member.
    #[arg(long = "oidc-id-claim", value_name = "CLAIM", default_value = "preferred_username")]
    pub id_claim: String,
    /// The claim of the issuer with the groups of a person.
    #[arg(long = "oidc-groups-claim", value_name = "CLAIM", default_value = "groups")]
    pub groups_claim: String,
    /// Only people of this group may sign in with the issuer; may be repeated.
    #[arg(long = "oidc-groups", value_name = "GROUP", value_delimiter = ',', value_parser = element)]
    pub groups: Vec<String>,
    /// Only people whose verified e-mail address is of this domain may sign in with the issuer; may be repeated.
    #[arg(long = "oidc-domains", value_name = "DOMAIN", value_delimiter = ',', value_parser = element)]
    pub domains: Vec<String>,
}

impl Oidc {
    /// Returns whether there is single sign-on.
    pub const fn is_on(&self) -> bool {
        self.issuer.is_some()
    }

    pub(super) fn check(&self, public_url: Option<&Url>) -> Result<(), Invalid> {
        if !self.is_on() {
            return Ok(());
        }
        let needs = |setting: &'static str, what: &str| {
            Err(Invalid::new(
                &["oidc-issuer", setting],
                format!("single sign-on needs {what}: set {setting}"),
            ))
        };
        if self.client_id.is_none() {
            return needs("oidc-client-id", "the name that the issuer has given to this service");
        }
        if public_url.is_none() {
            return needs("public-url", "the address to which the issuer sends people back");
        }
        if self.pages.is_empty() {
            return needs("oidc-pages", "the page of an app to which people return");
        }
        let is_page = |page: &String| {
            Url::parse(page)
                .is_ok_and(|url| url.fragment().is_none() && (url.scheme() == "https" || is_here(&url)))
        };
        if self.pages.iter().all(is_page) {
            Ok(())
        } else {
            let rule = "each must be a page with https:// and without a fragment, such as https://app.example/signed-in";
            Err(Invalid::new(&["oidc-pages"], rule))
        }
    }
}

/// The address of an issuer: `https://`, or `http://` on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer(pub(crate) String);

impl FromStr for Issuer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).ok().filter(|url| {
            let has_more = url.query().is_some() || url.fragment().is_some() || !url.username().is_empty();
            matches!(url.scheme(), "https" | "http") && url.has_host() && !has_more
        });
        let url = url.ok_or("must be the address of an issuer, such as https://login.campus.example")?;
        if url.scheme() == "http" && !is_here(&url) {
            return Err("people would sign in unencrypted on another machine: write https://");
        }
        // As it is written, because the issuer has this text in its tokens.
        Ok(Self(text.to_owned()))
    }
}

/// Accepts only `http://` addresses.
fn is_here(url: &Url) -> bool {
    url.scheme() == "http" && url.host_str().is_some_and(host::is_this_machine)
}
