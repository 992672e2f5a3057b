//! `tidings member`: members, as they act and as the operator looks after them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tidings_core::account::{self, Caller, SignUp};
use tidings_core::{Error, Outcome, Tidings, admin, profile};

use crate::failure::Failure;
use crate::password::{self, Password};
use crate::progress::Watch;
use crate::session::{Session, registered, unknown};

mod list;
mod show;

#[derive(Debug, Subcommand)]
pub(crate) enum Member {
    /// Sign a member up
    #[command(after_help = "Example: tidings member sign-up ann --nickname Ann")]
    SignUp {
        /// The id: letters, digits, _ - and ., a letter or digit first
        id: String,
        /// The name that is shown
        #[arg(long, value_name = "N", allow_hyphen_values = true)]
        nickname: String,
        #[command(flatten)]
        password: Password,
    },
    /// Sign a member in: print an access token
    #[command(after_help = "Example: tidings member sign-in ann --password-file pw.txt")]
    SignIn(Credentials),
    /// Sign a university member in, signing up who is new: print an access token
    #[command(after_help = "Example: tidings member sign-in-up s2026001")]
    SignInUp(Credentials),
    /// The members, by id
    #[command(
        after_help = "Examples:\n  tidings member list --search kim\n  tidings member list --ndjson | wc -l"
    )]
    List(list::Options),
    /// What is known of a member
    #[command(after_help = "Example: tidings member show ann")]
    Show {
        /// The member
        id: String,
    },
    /// Begin the measurement of a member's interest anew: views, searches and opened newsfeeds are forgotten
    #[command(after_help = "Example: tidings member reset ann")]
    Reset {
        /// The member
        id: String,
    },
    /// The lists of a member: likes, views, searches and opened newsfeeds
    #[command(after_help = "Example: tidings member lists ann --type 3")]
    Lists {
        /// The member
        id: String,
        /// 0 all, 1 likes, 2 views, 3 searches, 4 newsfeeds
        #[arg(long = "type", value_name = "0-4", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=4))]
        kind: u8,
    },
    /// Change a member's nickname
    #[command(after_help = "Example: tidings member nickname ann \"Ann of the library\"")]
    Nickname {
        /// The member
        id: String,
        /// The nickname
        nickname: String,
    },
    /// Set whether apps sign a member in by themselves
    #[command(after_help = "Example: tidings member auto-login ann 1")]
    AutoLogin {
        /// The member
        id: String,
        /// 0 no, 1 yes
        #[arg(value_parser = clap::value_parser!(i64).range(0..=1))]
        auto_login: i64,
    },
    /// Give a member a new password; they are signed out everywhere
    #[command(after_help = "Example: tidings member password ann")]
    Password(Credentials),
    /// Remove a member, with their lists and their interest
    #[command(after_help = "Example: tidings member remove ann --yes")]
    Remove {
        /// The member
        id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Import members of another system, with the password hashes they had there
    #[command(
        after_help = "A line:\n  {\"id\": \"ann\", \"nickname\": \"Ann\", \"password_hash\": \"scrypt:32768:8:1$…$…\", \
                      \"name\": \"Ann Lee\", \"major\": \"Physics\", \"date\": \"2024-03-01T09:00:00Z\"}\n\
                      Example: tidings member import members.jsonl"
    )]
    Import {
        /// The file, one JSON object a line or one JSON array, or - for standard input
        file: PathBuf,
    },
}

/// Who, and where their password comes from.
#[derive(Debug, Args)]
pub(crate) struct Credentials {
    /// The member
    id: String,
    #[command(flatten)]
    password: Password,
}

pub(crate) fn run(session: &Session, command: &Member) -> Result<ExitCode, Failure> {
    let Session { tidings, out, .. } = session;
    match command {
        Member::SignUp { id, nickname, password } => {
            let pw = password::new(password)?.to_string();
            let form = SignUp { id: id.clone(), pw_check: pw.clone(), pw, nickname: nickname.clone() };
            let token = account::sign_up(tidings, &form).map_err(|error| explained(tidings, error))?;
            out.answer(&token, |page| page.line(&token.access_token))
        }
        Member::SignIn(Credentials { id, password }) => {
            let token = account::sign_in(tidings, id, &password::present(password)?, None)?;
            out.answer(&token, |page| page.line(&token.access_token))
        }
        Member::SignInUp(Credentials { id, password }) => {
            let token = account::sign_in_up(tidings, id, &password::present(password)?, None)?;
            out.answer(&token, |page| page.line(&token.access_token))
        }
        Member::List(options) => list::run(session, options),
        Member::Show { id } => show::info(session, &session.member(id)?),
        Member::Lists { id, kind } => show::lists(session, &session.member(id)?, *kind),
        Member::Reset { id } => {
            let member = session.member(id)?;
            profile::reset_measurement(tidings, &member)?;
            let id = registered(&member, id);
            out.answer(&(), |page| page.line(format!("The interest of {id} is measured anew.")))
        }
        Member::Nickname { id, nickname } => {
            let member = session.member(id)?;
            let renamed = profile::change_nickname(tidings, &member, nickname);
            renamed.map_err(|error| explained(tidings, error))?;
            let id = registered(&member, id);
            out.answer(&(), |page| page.line(format!("The nickname of {id} is {nickname}.")))
        }
        Member::AutoLogin { id, auto_login } => {
            let member = session.member(id)?;
            profile::update_auto_login(tidings, &member, *auto_login)?;
            let id = registered(&member, id);
            let state = ["off", "on"][usize::from(*auto_login == 1)];
            out.answer(&(), |page| page.line(format!("The auto-login of {id} is {state}.")))
        }
        Member::Password(Credentials { id, password }) => give_password(session, id, password),
        Member::Remove { id, yes } => remove(session, id, *yes),
        Member::Import { file } => import(session, file),
    }
}

fn import(session: &Session, file: &Path) -> Result<ExitCode, Failure> {
    let watch = Watch::start("members");
    let input = watch.open(file)?;
    let report =
        account::import_members(&session.tidings, &session.caller, input, &mut |done| watch.told(done));
    let report = watch.imported(report)?;
    watch.answer(&session.out, &report, |page| {
        page.imported(report.inserted, None, report.skipped, &report.errors, &report.about);
    })
}

fn give_password(session: &Session, id: &str, password: &Password) -> Result<ExitCode, Failure> {
    session.operator_only()?;
    // Before anybody is asked for a password that is for nobody.
    let member = session.member(id)?;
    let id = registered(&member, id);
    let given = account::set_password(&session.tidings, id, &password::new(password)?);
    given.map_err(|error| explained(&session.tidings, error))?;
    session
        .out
        .answer(&(), |page| page.line(format!("{id} has a new password and is signed out everywhere.")))
}

fn remove(session: &Session, id: &str, yes: bool) -> Result<ExitCode, Failure> {
    let Session { tidings, out, caller } = session;
    // A member removes themselves, an administrator whomever; nobody is asked about what would be refused.
    let themselves = match caller {
        Caller::Operator => None,
        acting => acting.on_behalf_of(tidings, id).ok(),
    };
    if themselves.is_none() {
        admin::check(tidings, caller)?;
    }
    let member = Caller::Operator.on_behalf_of(tidings, id).map_err(|error| unknown(error, "member", id))?;
    let info = profile::user_info(tidings, &member)?;
    let id = info.user_id;
    session.confirm(yes, &format!("remove the member {id} ({}), with all lists", info.nickname))?;
    let removed = match &themselves {
        Some(member) => profile::remove_mine(tidings, member),
        None => admin::remove_user(tidings, caller, &id),
    };
    removed.map_err(|error| unknown(error, "member", &id))?;
    out.answer(&(), |page| page.line(format!("{id} is removed.")))
}

/// Says what ids, passwords and nicknames have to be, where one is not so.
pub(crate) fn explained(tidings: &Tidings, error: Error) -> Failure {
    let (id, pw) = (tidings.config().id_length, tidings.config().password_length);
    let nickname = tidings.config().nickname_length;
    let nickname =
        format!("a nickname has {} to {} visible characters on one line", nickname.min, nickname.max);
    let whose = if tidings.config().refuse_common_passwords { "" } else { ", for an administrator," };
    match error {
        Error::Documented(Outcome::WrongUserInfo) => Failure::refused(
            &error,
            format!(
                "an id has {} to {} ASCII letters, digits, _ - or ., a password {} to {} characters and{whose} is none \
                 of the 10,000 most common; {nickname}",
                id.min, id.max, pw.min, pw.max
            ),
        ),
        Error::Documented(Outcome::RewriteNickname) => Failure::refused(&error, nickname),
        Error::Documented(Outcome::AlreadyId) => {
            Failure::refused(&error, "somebody has this id, or the university's roster reserves it")
        }
        error => error.into(),
    }
}
