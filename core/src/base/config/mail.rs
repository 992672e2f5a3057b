//! The settings of mail.

use std::net::IpAddr;
use std::path::PathBuf;

use lettre::message::Mailbox;
use url::Url;

use super::setting::{FieldType, Invalid, Value, another_form};

/// The path of the server's page for a new password.
pub const RESET_PAGE: &str = "account/password";
/// The path of the server's page that confirms an address.
pub const CONFIRM_PAGE: &str = "account/email";

/// The settings of the mail that the service sends to members.
#[derive(Clone, Debug, Default)]
pub struct Mail {
    /// The mail server; `None` if the service sends no mail.
    pub server: Option<MailServer>,
    /// The file with the password for the mail server.
    pub password_file: Option<PathBuf>,
    /// A PEM file with further certificates that the mail server may have.
    pub ca: Option<PathBuf>,
    /// The sender of mail, an address with or without a name.
    pub from: Option<Sender>,
    /// The language of the built-in texts.
    pub language: Language,
    /// A directory with texts that replace the built-in ones.
    pub templates: Option<PathBuf>,
    /// The page on which members choose a new password.
    pub reset_url: Option<PageUrl>,
    /// The page on which members confirm their address.
    pub confirm_url: Option<PageUrl>,
    /// The page on which people sign up with the code of an invitation.
    pub invite_url: Option<PageUrl>,
    /// Whether a sign-up needs an address.
    pub required: bool,
}

impl Mail {
    /// Returns whether the service sends mail.
    pub const fn is_on(&self) -> bool {
        self.server.is_some()
    }

    /// Returns the settings with the pages of the server in place of those of apps that are not set.
    pub(crate) fn with_pages(mut self, server: Option<&Url>) -> Self {
        let page = |path| server.map(|server| PageUrl::of_server(server, path));
        self.reset_url = self.reset_url.or_else(|| page(RESET_PAGE));
        self.confirm_url = self.confirm_url.or_else(|| page(CONFIRM_PAGE));
        self
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        let Some(server) = &self.server else {
            let needed = "mail needs a mail server: set smtp-url";
            return if self.required {
                Err(Invalid::new(&["require-email", "smtp-url"], needed))
            } else {
                Ok(())
            };
        };
        if self.from.is_none() {
            let rule = "mail needs a sender: set mail-from, such as Campus <no-reply@campus.example>";
            return Err(Invalid::new(&["smtp-url"], rule));
        }
        let has_user = !server.0.username().is_empty();
        match (has_user, self.password_file.is_some()) {
            (true, false) => {
                Err(Invalid::new(&["smtp-url"], "its user needs a password: set smtp-password-file"))
            }
            (false, true) => Err(Invalid::new(
                &["smtp-password-file", "smtp-url"],
                "whose password it is must be in smtp-url, such as smtps://user@mail.example.org",
            )),
            (true, true) | (false, false) => Ok(()),
        }
    }
}

/// The address of a mail server: `smtps://` with TLS from the start, `smtp://` with STARTTLS, or `smtp+plain://` without encryption,
/// only on this machine.
#[derive(Clone, Debug)]
pub struct MailServer(pub(crate) Url);

/// How a connection to a mail server is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    Implicit,
    StartTls,
    None,
}

impl MailServer {
    /// Returns how connections are encrypted, and the port.
    pub(crate) fn encryption(&self) -> (Encryption, u16) {
        let (encryption, port) = match self.0.scheme() {
            "smtps" => (Encryption::Implicit, 465),
            "smtp" => (Encryption::StartTls, 587),
            _ => (Encryption::None, 25),
        };
        (encryption, self.0.port().unwrap_or(port))
    }

    /// Returns the name or the address of the host.
    pub(crate) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }
}

impl FieldType for MailServer {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.0.to_string()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let Value::Text(text) = value else { return another_form() };
        let is_plain = |url: &Url| {
            let has_more =
                url.query().is_some() || url.fragment().is_some() || !matches!(url.path(), "" | "/");
            matches!(url.scheme(), "smtps" | "smtp" | "smtp+plain") && url.has_host() && !has_more
        };
        let url = Url::parse(text).ok().filter(is_plain).ok_or(
            "must be an address such as smtps://mail.example.org or smtp://user@mail.example.org:587",
        )?;
        if url.password().is_some() {
            return Err("must not have the password: name a file with it in smtp-password-file".to_owned());
        }
        let server = Self(url);
        let is_loopback = |ip: IpAddr| ip.is_loopback();
        let is_here = server.host() == "localhost" || server.host().parse().is_ok_and(is_loopback);
        if server.encryption().0 == Encryption::None && !is_here {
            return Err(
                "mail would be sent unencrypted to another machine: write smtp:// or smtps://".to_owned()
            );
        }
        Ok(server)
    }
}

/// The sender of mail.
#[derive(Clone, Debug)]
pub struct Sender(pub(crate) Mailbox);

impl FieldType for Sender {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.0.to_string()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let Value::Text(text) = value else { return another_form() };
        let wrong = "must be an address such as Campus <no-reply@campus.example>";
        text.parse().map(Self).map_err(|_| wrong.to_owned())
    }
}

/// The language of the built-in texts of mail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Korean.
    Ko,
}

impl Language {
    pub(super) const NAMES: &[&str] = &["en", "ko"];

    /// Returns its tag.
    pub const fn tag(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl FieldType for Language {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.tag().to_owned()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let found = [Self::En, Self::Ko].into_iter().find(|one| one.to_value().as_ref() == Some(value));
        found.ok_or_else(|| format!("must be one of {}", Self::NAMES.join(", ")))
    }
}

/// The address of a page to which mail links with a code, which takes the place of `{code}`, or else is the fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageUrl(String);

impl PageUrl {
    const CODE: &str = "{code}";

    /// Returns the link with this code, which has nothing but letters, digits and hyphens.
    pub(crate) fn with_code(&self, code: &str) -> String {
        if self.0.contains(Self::CODE) {
            self.0.replace(Self::CODE, code)
        } else {
            format!("{}#{code}", self.0)
        }
    }

    /// Returns a page of the server at this address.
    pub(crate) fn of_server(server: &Url, path: &str) -> Self {
        Self(format!("{}/{path}", server.as_str().trim_end_matches('/')))
    }
}

impl FieldType for PageUrl {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.0.clone()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        let Value::Text(text) = value else { return another_form() };
        // As in a link of a mail, which ends at a blank or a bracket.
        let is_link = !text.contains(|c: char| c.is_control() || c.is_whitespace() || matches!(c, '<' | '>'));
        let is_page = |url: &Url| matches!(url.scheme(), "https" | "http") && url.has_host();
        let with_code = text.replace(Self::CODE, "0");
        let is_page = is_link && Url::parse(&with_code).is_ok_and(|url| is_page(&url));
        let has_place = text.contains(Self::CODE) || !text.contains('#');
        let rule = "must be the address of a page, such as https://app.example/reset or https://app.example/reset?code={code}";
        if is_page && has_place { Ok(Self(text.clone())) } else { Err(rule.to_owned()) }
    }
}
