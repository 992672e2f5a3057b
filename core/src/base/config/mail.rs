//! The settings of mail.

use std::path::PathBuf;

use lettre::message::Mailbox;
use percent_encoding::percent_decode_str;
use url::Url;

use super::setting::{FieldType, Invalid, Value, another_form};
use crate::base::host;

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

    /// Returns what mail and pages call the service: the name of the sender, or the domain of its address; empty without a sender.
    pub fn site(&self) -> String {
        let from = self.from.as_ref().map(|from| &from.0);
        from.map(|from| from.name.clone().unwrap_or_else(|| from.email.domain().to_owned()))
            .unwrap_or_default()
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
        // The parser of URLs leaves the hosts of these schemes as they are written.
        let with_host = |mut url: Url| {
            let host = host::parse(&percent_decode_str(url.host_str()?).decode_utf8().ok()?)?;
            url.set_host(Some(&host.to_string())).ok().map(|()| url)
        };
        let url = Url::parse(text).ok().filter(is_plain).and_then(with_host).ok_or(
            "must be an address such as smtps://mail.example.org or smtp://user@mail.example.org:587",
        )?;
        if url.password().is_some() {
            return Err("must not have the password: name a file with it in smtp-password-file".to_owned());
        }
        let server = Self(url);
        let is_here = server.0.host_str().is_some_and(host::is_this_machine);
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
        let from = text.parse().ok().filter(|from: &Mailbox| from.email.user().is_ascii());
        from.map(Self).ok_or_else(|| wrong.to_owned())
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
    /// All languages.
    pub const ALL: [Self; 2] = [Self::En, Self::Ko];

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
        let found = Self::ALL.into_iter().find(|one| one.to_value().as_ref() == Some(value));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_mail_servers_have_one_form() {
        let server = |text: &str| MailServer::from_value(&Value::Text(text.into()));
        for (text, host) in [
            ("smtp+plain://LOCALHOST:2525", "localhost"),
            ("smtp+plain://localhost.", "localhost"),
            ("smtp+plain://127.1/", "127.0.0.1"),
            ("smtp+plain://[::1]", "::1"),
            ("smtps://ann%40a.example@Mail.Example.ORG:465", "mail.example.org"),
            ("smtp://mail.도서관.example", "mail.xn--zb0b81k2qm.example"),
        ] {
            assert_eq!(server(text).unwrap().host(), host, "{text}");
        }
        for text in
            ["smtp+plain://mail.example.org", "smtp+plain://localhost.example", "smtps://a%20b", "smtps://"]
        {
            assert!(server(text).is_err(), "{text}");
        }
    }
}
