//! Sends mail over SMTP.

use std::time::{Duration, SystemTime};

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{Error as SmtpError, PoolConfig};
use lettre::{Message, SmtpTransport, Transport as _};
use percent_encoding::percent_decode_str;

use super::letter::Letter;
use super::templates::{Templates, Written};
use crate::base::clock::Timestamp;
use crate::base::config::{Encryption, Invalid, Mail};
use crate::base::text_file;
use crate::record::error::{Error, Result};

/// The time limit of connecting, and of each step after that.
const STEP: Duration = Duration::from_secs(10);
/// The maximum number of mails that are sent at once, each over a connection of its own.
pub(super) const AT_ONCE: u32 = 4;
/// The time for which a connection waits for the next mail.
const IDLE: Duration = Duration::from_secs(30);
/// The answers of mail servers that no other attempt changes: there is no such mailbox.
///
/// Source: RFC 5321 section 4.2.3; RFC 7504 for 556.
const PERMANENT: [u16; 4] = [550, 551, 553, 556];

/// A mail as it is sent.
pub(super) struct Outgoing {
    pub(super) id: String,
    pub(super) to: String,
    pub(super) at: Timestamp,
    pub(super) written: Written,
}

impl Outgoing {
    pub(super) fn new(id: &str, at: Timestamp, templates: &Templates, letter: Letter) -> Self {
        let written = templates.write(&letter);
        Self { id: id.to_owned(), to: letter.to, at, written }
    }
}

/// Why a mail was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    /// The reason in a few words. It has no text of the server, which may name the address.
    pub(super) reason: String,
    /// Whether another attempt would fail too.
    pub(super) is_permanent: bool,
}

/// Sends mail. Tests use one without a network.
pub(super) trait Transport: Send + Sync {
    /// Sends a mail. Blocks until the mail server has answered.
    fn send(&self, outgoing: &Outgoing) -> std::result::Result<(), Failed>;
}

/// Sends over SMTP.
pub(super) struct Smtp {
    transport: SmtpTransport,
    from: Mailbox,
}

impl Smtp {
    /// # Errors
    /// [`Error::InvalidSetting`] when a file cannot be used, or there is no mail server.
    pub(super) fn new(config: &Mail) -> Result<Self> {
        let (Some(server), Some(from)) = (&config.server, &config.from) else {
            return Err(Invalid::new(
                &["smtp-url", "mail-from"],
                "is needed to send mail, and so is mail-from",
            )
            .into());
        };
        let (host, (encryption, port)) = (server.host().to_owned(), server.encryption());
        let mut tls = TlsParameters::builder(host.clone());
        if let Some(file) = &config.ca {
            let unusable = |why: String| Invalid::new(&["smtp-ca"], format!("{} {why}", file.display()));
            let text = text_file::read(file).map_err(|error| unusable(format!("cannot be read: {error}")))?;
            let authority = Certificate::from_pem(text.as_bytes());
            tls =
                tls.add_root_certificate(authority.map_err(|_| unusable("has no valid certificate".into()))?);
        }
        let tls = tls.build_rustls().map_err(|error| Error::Internal(error.into()))?;
        let mut builder = SmtpTransport::builder_dangerous(host)
            .port(port)
            .timeout(Some(STEP))
            .hello_name(ClientId::Domain(from.0.email.domain().to_owned()))
            .pool_config(PoolConfig::new().max_size(AT_ONCE).idle_timeout(IDLE))
            .tls(match encryption {
                Encryption::Implicit => Tls::Wrapper(tls),
                Encryption::StartTls => Tls::Required(tls),
                Encryption::None => Tls::None,
            });
        if let Some(file) = &config.password_file {
            let unusable = |error| {
                Invalid::new(&["smtp-password-file"], format!("{} cannot be read: {error}", file.display()))
            };
            let password = text_file::read(file).map_err(unusable)?;
            let user = percent_decode_str(server.0.username()).decode_utf8_lossy().into_owned();
            builder = builder.credentials(Credentials::new(user, password.trim_end().to_owned()));
        }
        Ok(Self { transport: builder.build(), from: from.0.clone() })
    }

    fn message(&self, outgoing: &Outgoing) -> std::result::Result<Message, lettre::error::Error> {
        let Outgoing { id, to, at, written: Written { subject, text, html } } = outgoing;
        let at = Duration::from_millis(at.as_millis().try_into().unwrap_or_default());
        let to = to.parse().map_err(|_| lettre::error::Error::MissingTo)?;
        let mut message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(subject)
            .date(SystemTime::UNIX_EPOCH + at)
            // The same at each attempt, by which servers recognise what they have already.
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .multipart(MultiPart::alternative_plain_html(text.clone(), html.clone()))?;
        // No automatic answers, such as of somebody on holiday (RFC 3834).
        let name = HeaderName::new_from_ascii_str("Auto-Submitted");
        message.headers_mut().insert_raw(HeaderValue::new(name, "auto-generated".to_owned()));
        Ok(message)
    }
}

impl Transport for Smtp {
    fn send(&self, outgoing: &Outgoing) -> std::result::Result<(), Failed> {
        let unwritten = |_| Failed { reason: "the mail could not be written".to_owned(), is_permanent: true };
        let message = self.message(outgoing).map_err(unwritten)?;
        self.transport.send(&message).map(drop).map_err(|error| failed(&error))
    }
}

fn failed(error: &SmtpError) -> Failed {
    let code = error.status().map(u16::from);
    let reason = match code {
        Some(code) => format!("the mail server answered {code}"),
        None if error.is_timeout() => "the mail server did not answer in time".to_owned(),
        None if error.is_tls() => "the connection to the mail server could not be encrypted".to_owned(),
        None if error.is_client() => {
            "the mail server lacks what is needed: encryption or the sign-in".to_owned()
        }
        None => "the mail server could not be reached".to_owned(),
    };
    Failed { reason, is_permanent: code.is_some_and(|code| PERMANENT.contains(&code)) }
}

/// Connects to the mail server and signs in, without sending anything.
///
/// # Errors
/// Why that failed, in a few words.
pub fn check(config: &Mail) -> std::result::Result<(), String> {
    let smtp = Smtp::new(config).map_err(|error| error.message().into_owned())?;
    match smtp.transport.test_connection() {
        Ok(true) => Ok(()),
        Ok(false) => Err("the mail server does not answer as one".to_owned()),
        Err(error) => Err(failed(&error).reason),
    }
}
