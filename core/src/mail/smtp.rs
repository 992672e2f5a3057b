use std::error::Error as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{Certificate, SmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail as MailFrom, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, Message};
use percent_encoding::percent_decode_str;

use super::letter::Letter;
use super::templates::{Templates, Written};
use crate::base::clock::Timestamp;
use crate::base::config::{Config, Encryption, Invalid, Mail, MailServer};
use crate::base::{host, text_file};
use crate::record::error::{Error, Result};
use crate::record::jobs::{Failed, Transport};

/// For connecting, and for each step after that.
const STEP: Duration = Duration::from_secs(10);
/// The answers to a recipient that has no mailbox: another attempt does not change them. Source: RFC 5321 section 4.2.3; RFC 7504
/// for 556.
const PERMANENT: [u16; 4] = [550, 551, 553, 556];
/// The enhanced statuses of such answers, if they have one (RFC 3463 sections 3.2 and 3.3; RFC 7505 for 5.1.10).
const PERMANENT_STATUS: [&str; 6] = ["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"];

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

pub(super) struct Smtp {
    server: MailServer,
    tls: TlsParameters,
    credentials: Option<Credentials>,
    from: Mailbox,
}

impl Smtp {
    pub(super) fn new(config: &Mail, extra_ca: Option<&Path>) -> Result<Self> {
        let (Some(server), Some(from)) = (&config.server, &config.from) else {
            return Err(Invalid::new(
                &["smtp-url", "mail-from"],
                "is needed to send mail, and so is mail-from",
            )
            .into());
        };
        let mut tls = TlsParameters::builder(server.host().to_owned());
        if let Some(file) = extra_ca {
            let unusable = |why: String| Invalid::new(&["extra-ca"], format!("{} {why}", file.display()));
            let text = text_file::read(file).map_err(|error| unusable(format!("cannot be read: {error}")))?;
            let authority = Certificate::from_pem(text.as_bytes());
            tls =
                tls.add_root_certificate(authority.map_err(|_| unusable("has no valid certificate".into()))?);
        }
        let tls = tls.build_rustls().map_err(|error| Error::Internal(error.into()))?;
        let mut credentials = None;
        if let Some(file) = &config.password_file {
            let unusable = |error| {
                Invalid::new(&["smtp-password-file"], format!("{} cannot be read: {error}", file.display()))
            };
            let password = text_file::read(file).map_err(unusable)?;
            let user = percent_decode_str(server.0.username()).decode_utf8_lossy().into_owned();
            credentials = Some(Credentials::new(user, password.trim_end().to_owned()));
        }
        let Mailbox { name, email } = &from.0;
        let domain = host::name(email.domain()).unwrap_or_else(|| email.domain().to_owned());
        let email = Address::new(email.user(), domain).map_err(|error| Error::Internal(error.into()))?;
        Ok(Self { server: server.clone(), tls, credentials, from: Mailbox::new(name.clone(), email) })
    }

    fn connect(&self) -> Result<SmtpConnection, SmtpError> {
        let hello = ClientId::Domain(self.from.email.domain().to_owned());
        let (encryption, port) = self.server.encryption();
        let tls = (encryption == Encryption::Implicit).then_some(&self.tls);
        let mut connection =
            SmtpConnection::connect((self.server.host(), port), Some(STEP), &hello, tls, None)?;
        if encryption == Encryption::StartTls {
            connection.starttls(&self.tls, &hello)?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials)?;
        }
        Ok(connection)
    }

    fn message(&self, outgoing: &Outgoing) -> Result<Message, lettre::error::Error> {
        let Outgoing { id, to, at, written: Written { subject, text, html } } = outgoing;
        let at = Duration::from_millis(at.as_millis().try_into().unwrap_or_default());
        let to = to.parse().map_err(|_| lettre::error::Error::MissingTo)?;
        let mut message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(subject)
            .date(SystemTime::UNIX_EPOCH + at)
            // The same at each attempt: servers recognise by it what they have already.
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .multipart(MultiPart::alternative_plain_html(text.clone(), html.clone()))?;
        // Prevents automatic answers, such as holiday notices (RFC 3834).
        let name = HeaderName::new_from_ascii_str("Auto-Submitted");
        message.headers_mut().insert_raw(HeaderValue::new(name, "auto-generated".to_owned()));
        Ok(message)
    }
}

impl Transport<Outgoing> for Smtp {
    fn send(&self, outgoing: &Outgoing) -> Result<(), Failed> {
        let unwritten = |_| Failed { is_permanent: true, ..Failed::from("the mail could not be written") };
        let message = self.message(outgoing).map_err(unwritten)?;
        let mut connection = self.connect().map_err(|error| failed(&error))?;
        let sent = send_over(&mut connection, &message);
        connection.abort();
        sent
    }
}

/// Each command is sent by itself, because the meaning of an answer depends on it.
fn send_over(connection: &mut SmtpConnection, message: &Message) -> Result<(), Failed> {
    let (envelope, fail) = (message.envelope(), |error| failed(&error));
    connection.command(MailFrom::new(envelope.from().cloned(), Vec::new())).map_err(fail)?;
    for to in envelope.to() {
        let refused = |error| Failed { is_permanent: has_no_mailbox(&error), ..failed(&error) };
        connection.command(Rcpt::new(to.clone(), Vec::new())).map_err(refused)?;
    }
    connection.command(Data).map_err(fail)?;
    connection.message(&message.formatted()).map(drop).map_err(fail)
}

fn has_no_mailbox(error: &SmtpError) -> bool {
    let Some(code) = error.status().map(u16::from) else { return false };
    let text = error.source().map(ToString::to_string).unwrap_or_default();
    // Some servers write `#5.1.1`.
    let status = text.split(' ').next().unwrap_or_default().trim_matches(|c: char| !c.is_ascii_digit());
    if status.split('.').filter(|part| part.parse::<u16>().is_ok()).count() == 3 {
        return code >= 500 && PERMANENT_STATUS.contains(&status);
    }
    PERMANENT.contains(&code)
}

fn failed(error: &SmtpError) -> Failed {
    let reason = match error.status().map(u16::from) {
        Some(code) => return format!("the mail server answered {code}").into(),
        None if error.is_timeout() => "the mail server did not answer in time",
        None if error.is_tls() => "the connection to the mail server could not be encrypted",
        None if error.is_client() => "the mail server lacks what is needed: encryption or the sign-in",
        None => "the mail server could not be reached",
    };
    reason.into()
}

/// Connects to the mail server and signs in, without sending anything.
///
/// # Errors
/// Why that failed, in a few words.
pub fn check(config: &Config) -> Result<(), String> {
    let smtp =
        Smtp::new(&config.mail, config.extra_ca.as_deref()).map_err(|error| error.message().into_owned())?;
    smtp.connect().map(|mut connection| connection.abort()).map_err(|error| failed(&error).reason)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// Sends a mail to a server that answers one command with `answer`, and returns how that ended with the command for the sender.
    fn sent(command: &'static str, answer: &'static str) -> (Result<(), Failed>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut say = stream.try_clone().unwrap();
            let (mut sender, mut is_text) = (String::new(), false);
            write!(say, "220 here\r\n").unwrap();
            for line in BufReader::new(stream).lines().map_while(std::result::Result::ok) {
                let said = if is_text { if line == "." { "TEXT" } else { continue } } else { &*line };
                is_text = said == "DATA" && command != "DATA";
                if said.starts_with("MAIL") {
                    sender.clone_from(&line);
                }
                let usual = if said == "DATA" { "354 go on" } else { "250 taken" };
                write!(say, "{}\r\n", if said.starts_with(command) { answer } else { usual }).unwrap();
                if said == "QUIT" {
                    break;
                }
            }
            sender
        });
        let config = Mail {
            server: Some(format!("smtp+plain://LOCALHOST:{port}").parse().unwrap()),
            from: Some("Campus <no-reply@도서관.example>".parse().unwrap()),
            ..Mail::default()
        };
        let written =
            Written { subject: "제목".into(), text: "본문\n".into(), html: "<p>본문</p>".into() };
        let at = Timestamp::from_millis(1_700_000_000_000);
        let outgoing = Outgoing { id: "1".into(), to: "ann@example.org".into(), at, written };
        let sent = Smtp::new(&config, None).unwrap().send(&outgoing);
        (sent, server.join().unwrap())
    }

    #[test]
    fn the_command_and_the_enhanced_status_tell_what_an_answer_means() {
        let answers = "550 |550 no such user|550 5.1.1 unknown|550-5.1.1 unknown\r\n550 5.1.1 user|553 5.1.3 bad\
            |554 5.2.1 disabled|556 5.1.10 null MX|550 5.1.2 host|550 5.1.6 moved|550 #5.1.1 unknown";
        for answer in answers.split('|') {
            assert!(sent("RCPT", answer).0.unwrap_err().is_permanent, "{answer}");
        }
        let answers = "RCPT 550 5.7.1 relaying denied|RCPT 550 5.1.0 refused|RCPT 550 5.1.8 bad sender|RCPT 552 5.2.2 full\
            |RCPT 554 refused|RCPT 450 4.1.1 unknown|RCPT 450 5.1.1 unknown|RCPT 421 later|MAIL 550 5.7.1 sender refused\
            |MAIL 550 5.1.1 unknown|MAIL 550 |DATA 550 no|TEXT 550 5.1.1 unknown|TEXT 553 spam|EHLO 550 5.7.1 blocked";
        for line in answers.split('|') {
            let (command, answer) = line.split_once(' ').unwrap();
            let failed = sent(command, answer).0.unwrap_err();
            assert_eq!(failed.reason, format!("the mail server answered {}", &answer[..3]), "{line}");
            assert!(!failed.is_permanent, "{line}");
        }
        assert_eq!(sent("QUIT", "500 what").0, Ok(()), "the mail was taken before");
    }

    #[test]
    fn mail_servers_read_the_domain_of_the_sender_in_ascii() {
        let (sent, sender) = sent("never", "");
        assert_eq!(sent, Ok(()));
        assert!(sender.starts_with("MAIL FROM:<no-reply@xn--zb0b81k2qm.example>"), "{sender}");
        assert!(!sender.contains("SMTPUTF8"), "{sender}");
    }
}
