//! The settings of single sign-on.

use std::path::PathBuf;

use url::Url;

use super::Secret;
use super::setting::{FieldType, Invalid, Value, another_form};
use crate::base::host;

/// The settings of single sign-on with OpenID Connect.
#[derive(Clone, Debug)]
pub struct Oidc {
    /// The issuer, which signs people in; `None` if there is no single sign-on.
    pub issuer: Option<Issuer>,
    /// The name that the issuer has given to this service.
    pub client_id: Option<String>,
    /// The secret that the issuer has given to this service; `None` means the one in `client_secret_file`, or none.
    pub client_secret: Option<Secret>,
    /// The file with that secret.
    pub client_secret_file: Option<PathBuf>,
    /// A PEM file with further certificates that the issuer may have.
    pub ca: Option<PathBuf>,
    /// The pages of apps to which people return, the first of which is the default.
    pub pages: Vec<String>,
    /// What the issuer is asked for besides `openid`.
    pub scopes: Vec<String>,
    /// The claim with the id of a new member.
    pub id_claim: String,
    /// The claim with the name of a member.
    pub name_claim: String,
    /// The claim with the major of a member; `None` if the issuer knows none.
    pub major_claim: Option<String>,
    /// The claim with the groups of a person.
    pub groups_claim: String,
    /// The groups whose people may sign in; empty for all.
    pub groups: Vec<String>,
    /// The domains of the verified addresses of people who may sign in; empty for all.
    pub domains: Vec<String>,
}

impl Default for Oidc {
    fn default() -> Self {
        Self {
            issuer: None,
            client_id: None,
            client_secret: None,
            client_secret_file: None,
            ca: None,
            pages: Vec::new(),
            scopes: vec!["profile".to_owned(), "email".to_owned()],
            id_claim: "preferred_username".to_owned(),
            name_claim: "name".to_owned(),
            major_claim: None,
            groups_claim: "groups".to_owned(),
            groups: Vec::new(),
            domains: Vec::new(),
        }
    }
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

impl FieldType for Issuer {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.0.clone()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let Value::Text(text) = value else { return another_form() };
        let url = Url::parse(text).ok().filter(|url| {
            let has_more = url.query().is_some() || url.fragment().is_some() || !url.username().is_empty();
            matches!(url.scheme(), "https" | "http") && url.has_host() && !has_more
        });
        let url = url.ok_or("must be the address of an issuer, such as https://login.campus.example")?;
        if url.scheme() == "http" && !is_here(&url) {
            return Err("people would sign in unencrypted on another machine: write https://".to_owned());
        }
        // As it is written: the issuer names itself so in its tokens.
        Ok(Self(text.clone()))
    }
}

/// Returns whether an address is one of this machine that begins with `http://`.
fn is_here(url: &Url) -> bool {
    url.scheme() == "http" && url.host_str().is_some_and(host::is_this_machine)
}
