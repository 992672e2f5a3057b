//! The settings of mail.

use crate::base::config::Config;
use crate::base::config::mail::Language;
use crate::base::config::setting::{Form, Setting, field};

pub(super) const SETTINGS: &[Setting<Config>] = &[
    Setting::new(
        "smtp-url",
        Form::Text,
        field!(Config, mail.server),
        "The mail server: smtps://HOST with TLS, smtp://HOST with STARTTLS, smtp+plain://HOST without, only on this machine",
    )
    .takes("URL")
    .unset("none, and no mail is sent"),
    Setting::new(
        "smtp-password-file",
        Form::Text,
        field!(Config, mail.password_file),
        "A file with the password for the mail server, whose user is in smtp-url",
    )
    .takes("FILE")
    .unset("none"),
    Setting::new(
        "smtp-ca",
        Form::Text,
        field!(Config, mail.ca),
        "A PEM file with certificates of authorities that the connection to the mail server trusts too",
    )
    .takes("FILE")
    .unset("none"),
    Setting::new(
        "mail-from",
        Form::Text,
        field!(Config, mail.from),
        "The sender of mail, such as Campus <no-reply@campus.example>; its name is what mail calls the service",
    )
    .takes("ADDRESS")
    .unset("none"),
    Setting::new(
        "mail-language",
        Form::Choice(Language::NAMES),
        field!(Config, mail.language),
        "The language of the built-in texts of mail",
    ),
    Setting::new(
        "mail-templates",
        Form::Text,
        field!(Config, mail.templates),
        "A directory with texts of mail that replace the built-in ones",
    )
    .takes("DIR")
    .unset("none"),
    Setting::new(
        "reset-url",
        Form::Text,
        field!(Config, mail.reset_url),
        "The page of an app on which members choose a new password; {code} is where the code goes, or else after #",
    )
    .takes("URL")
    .unset("a page of the server, with public-url"),
    Setting::new(
        "confirm-url",
        Form::Text,
        field!(Config, mail.confirm_url),
        "The page of an app on which members confirm their address; {code} is where the code goes, or else after #",
    )
    .takes("URL")
    .unset("a page of the server, with public-url"),
    Setting::new(
        "invite-url",
        Form::Text,
        field!(Config, mail.invite_url),
        "The page of an app on which people sign up with an invitation; {code} is where the code goes, or else after #",
    )
    .takes("URL")
    .unset("none, and mail has the code alone"),
    Setting::new(
        "require-email",
        Form::Flag,
        field!(Config, mail.required),
        "A sign-up needs an e-mail address",
    ),
];
