//! The settings of mail.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use lettre::message::Mailbox;
use percent_encoding::percent_decode_str;
use url::Url;

use super::value::{Invalid, web_address};
use crate::base::host;

/// The path of the page for a new password, of the server or of an app.
pub const RESET_PAGE: &str = "account/password";
/// The path of the page that confirms an address, of the server or of an app.
pub const CONFIRM_PAGE: &str = "account/email";
/// The path of the page of an app on which people sign up with an invitation.
pub(crate) const INVITE_PAGE: &str = "account/invitation";

/// The settings of the mail that the service sends to members.
#[derive(Clone, Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Mail")]
pub struct Mail {
    /// The mail server: `smtps://HOST` with TLS, `smtp://HOST` with STARTTLS, `smtp+plain://HOST` without, only on this machine;
    /// without it, no mail is sent.
    #[arg(id = "smtp-url", long, value_name = "URL")]
    pub server: Option<MailServer>,
    /// A file with the password for the mail server, whose user is in smtp-url.
    #[arg(long = "smtp-password-file", value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// The sender of mail, such as `Campus <no-reply@campus.example>`; its name is what mail calls the service.
    #[arg(long = "mail-from", value_name = "ADDRESS")]
    pub from: Option<Sender>,
    /// The language of the built-in texts of mail.
    #[arg(long = "mail-language", value_name = "LANGUAGE", default_value = "en")]
    pub language: Language,
    /// A directory with texts of mail that replace the built-in ones.
    #[arg(long = "mail-templates", value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// The address of an app with pages at account/password, account/email and account/invitation, to which mail links with the
    /// code after #; without it, mail links to the pages of the server at public-url, and an invitation is the code alone.
    #[arg(long, value_name = "URL", value_parser = web_address)]
    pub app_url: Option<Url>,
    /// The address of the pages of the server. A service takes it from `public_url`.
    #[arg(skip)]
    pub server_url: Option<Url>,
    /// A sign-up needs an e-mail address.
    #[arg(long = "require-email")]
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

    /// `code` has nothing but letters, digits and hyphens.
    pub(crate) fn link(&self, page: &str, code: &str) -> Option<String> {
        let server = self.server_url.as_ref().filter(|_| page != INVITE_PAGE);
        let base = self.app_url.as_ref().or(server)?;
        Some(format!("{}/{page}#{code}", base.as_str().trim_end_matches('/')))
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    Implicit,
    StartTls,
    None,
}

impl MailServer {
    /// Also returns the port.
    pub(crate) fn encryption(&self) -> (Encryption, u16) {
        let (encryption, port) = match self.0.scheme() {
            "smtps" => (Encryption::Implicit, 465),
            "smtp" => (Encryption::StartTls, 587),
            _ => (Encryption::None, 25),
        };
        (encryption, self.0.port().unwrap_or(port))
    }

    /// Without the brackets of an IPv6 address.
    pub(crate) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }
}

impl FromStr for MailServer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
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
            return Err("must not have the password: name a file with it in smtp-password-file");
        }
        let server = Self(url);
        let is_here = server.0.host_str().is_some_and(host::is_this_machine);
        if server.encryption().0 == Encryption::None && !is_here {
            return Err("mail would be sent unencrypted to another machine: write smtp:// or smtps://");
        }
        Ok(server)
    }
}

/// The sender of mail.
#[derive(Clone, Debug)]
pub struct Sender(pub(crate) Mailbox);

impl FromStr for Sender {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let from = text.parse().ok().filter(|from: &Mailbox| from.email.user().is_ascii());
        from.map(Self).ok_or("must be an address such as Campus <no-reply@campus.example>")
    }
}

/// The language of the built-in texts of mail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Korean.
    Ko,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::En, Self::Ko];

    /// Returns its tag.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Ko => "ko",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_mail_servers_have_one_form() {
        let server = str::parse::<MailServer>;
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
