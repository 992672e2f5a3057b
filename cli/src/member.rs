use tidings_core::account::key::Scope;
use tidings_core::account::{SignIn, SignInUp};
use tidings_core::member;
use tidings_core::member_import::ImportMembers;

use crate::atomic_file::Readers;
use crate::export;
use crate::imported::{self, Strictness};
use crate::key;
use crate::password::{self, Password};
use crate::prelude::*;

mod show;
mod sign_in;

#[derive(Debug, Subcommand)]
pub(crate) enum Member {
    /// Sign a member up
    #[command(
        after_help = "With --code, the code of an invitation is asked for first. With --password-stdin or --password-file it is the\n\
                      first line, and the password is the second.\n\n\
                      Examples:\n  tidings member sign-up ann --nickname Ann\n  tidings member sign-up ann --nickname Ann --code --server https://tidings.example.org\n  token=$(tidings member sign-up ann --nickname Ann --password-file pw.txt --token)"
    )]
    SignUp(sign_in::NewMember),
    /// Sign a member in and print an access token
    #[command(after_help = "Example: tidings member sign-in ann --password-file pw.txt")]
    SignIn(SignInArgs),
    /// Sign a university member in, signing up a new one, and print an access token
    #[command(after_help = "Example: tidings member sign-in-up s2026001")]
    SignInUp(SignInArgs),
    /// List the members by id
    #[command(
        after_help = "Examples:\n  tidings member list --search kim\n  tidings member list --only roles\n  tidings member list --ndjson | wc -l"
    )]
    List(show::Filter),
    /// Show a member
    #[command(after_help = "Example: tidings member show ann")]
    Show(MemberId),
    /// Reset the measured interest of a member: deletes views, searches, opened feeds and hidden posts
    #[command(after_help = "Example: tidings member reset ann")]
    Reset(MemberId),
    /// Show the lists of a member: likes, views, searches and opened newsfeeds
    #[command(after_help = "Example: tidings member lists ann --type 3")]
    Lists {
        #[command(flatten)]
        member: MemberId,
        /// 0 all, 1 likes, 2 views, 3 searches, 4 newsfeeds
        #[arg(long = "type", value_name = "0-4", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=4))]
        kind: u8,
    },
    /// Change a member's nickname
    #[command(after_help = "Example: tidings member nickname ann \"Ann of the library\"")]
    Nickname {
        #[command(flatten)]
        member: MemberId,
        /// The nickname
        nickname: String,
    },
    /// Set whether apps sign the member in automatically
    #[command(after_help = "Example: tidings member auto-login ann 1")]
    AutoLogin {
        #[command(flatten)]
        member: MemberId,
        /// 0 no, 1 yes
        #[arg(value_parser = clap::value_parser!(i64).range(0..=1))]
        auto_login: i64,
    },
    /// Set a member's password and sign the member out everywhere; members change their own with the current one
    #[command(
        after_help = "Members, who are named with --as, are asked for their current password first. With --password-stdin or\n\
                      --password-file it is the first line, and the new password is the second.\n\n\
                      Examples:\n  tidings member password ann\n  tidings --as ann member password ann"
    )]
    Password(Credentials),
    /// Issue a code with which a member who has forgotten their password chooses a new one, within an hour and once
    #[command(after_help = "The member uses it in your app, or with tidings member new-password.\n\n\
                            Example: tidings member reset-password ann")]
    ResetPassword(MemberId),
    /// Choose a new password with a code that an administrator has issued, and sign out everywhere
    #[command(
        after_help = "With --password-stdin or --password-file the code is the first line, and the new password is the second.\n\n\
                      Example: tidings member new-password --server https://tidings.example.org"
    )]
    NewPassword(Password),
    /// Ask for a mail with a code, with which a member who has forgotten their password chooses a new one
    #[command(
        after_help = "Example: tidings member forgotten ann@example.org --server https://tidings.example.org"
    )]
    Forgotten {
        /// The id of the member, or their address
        #[arg(add = ids(Kind::Member))]
        id: String,
    },
    /// Show the e-mail address of the member who is acting
    #[command(after_help = "Example: tidings --as ann member email")]
    Email,
    /// Give the member who is acting another e-mail address, which a mail with a code confirms
    #[command(after_help = "Example: tidings --as ann member set-email ann@example.org")]
    SetEmail(sign_in::NewEmail),
    /// Confirm the e-mail address with the code of the mail
    #[command(after_help = "With --password-stdin or --password-file the code is read from there.\n\n\
                      Example: tidings --as ann member confirm-email")]
    ConfirmEmail(Password),
    /// Print an access token for the code that the page of an app got after a single sign-on
    #[command(after_help = "With --password-stdin or --password-file the code is read from there.\n\n\
                      Example: tidings member sign-in-oidc --server https://tidings.example.org")]
    SignInOidc(sign_in::OidcCode),
    /// Link the account of the member who is acting to the person of a single sign-on, with such a code
    #[command(
        after_help = "With --password-stdin or --password-file the code is the first line, and the password is the second.\n\n\
                      Example: tidings --as ann member link-oidc"
    )]
    LinkOidc(Password),
    /// Remove the link of the account of the member who is acting to a single sign-on
    #[command(after_help = "Example: tidings --as ann member unlink-oidc")]
    UnlinkOidc(Password),
    /// List the passkeys of the member who is acting
    #[command(after_help = "Example: tidings --as ann member passkeys")]
    Passkeys,
    /// Remove a passkey of the member who is acting
    #[command(after_help = "Example: tidings --as ann member remove-passkey 6560c1a2ffeeddccbbaa0001")]
    RemovePasskey {
        /// The passkey: see tidings member passkeys
        #[arg(add = ids(Kind::Passkey))]
        id: String,
    },
    /// Show where a member is signed in, the device that was used last first
    #[command(after_help = "Example: tidings member sessions ann")]
    Sessions(MemberId),
    /// Sign a member out everywhere, or out of one session
    #[command(after_help = "Example: tidings member sign-out ann --session 6560c1a2ffeeddccbbaa0001")]
    SignOut {
        #[command(flatten)]
        member: MemberId,
        /// Only this session: see tidings member sessions
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Disable the second factor of a member who has lost it
    #[command(after_help = "Example: tidings member reset-otp ann")]
    ResetOtp(MemberId),
    /// Remove the passkeys and the single sign-on of a member, and sign the member out everywhere
    #[command(after_help = "Example: tidings member reset-sign-ins ann")]
    ResetSignIns(MemberId),
    /// Issue a code with which a member sets up a second factor, within an hour and once
    #[command(after_help = "Example: tidings member otp ann")]
    Otp(MemberId),
    /// Show what a member may administer, or set it: an editor has the scope notices, an analyst analytics:read
    #[command(
        after_help = key::scopes_help(
            "Examples:\n  tidings member role ann notices\n  tidings member role ann --none"
        )
    )]
    Role(show::Role),
    /// Write everything that is stored about a member to a file, as one JSON object
    #[command(
        after_help = "Examples:\n  tidings member export ann ann.json\n  tidings --as ann member export ann -"
    )]
    Export {
        #[command(flatten)]
        member: MemberId,
        /// The file, or - for standard output
        file: PathBuf,
    },
    /// Remove a member with all lists and the measured interest
    #[command(after_help = "Example: tidings member remove ann --yes")]
    Remove {
        #[command(flatten)]
        member: MemberId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Import members of another system with their password hashes
    #[command(
        after_help = "A line:\n  {\"id\": \"ann\", \"nickname\": \"Ann\", \"password_hash\": \"scrypt:32768:8:1$…$…\", \
                      \"name\": \"Ann Lee\", \"major\": \"Physics\", \"date\": \"2024-03-01T09:00:00Z\"}\n\
                      In CSV, the first line has these names.\n\
                      Examples:\n  tidings member import members.jsonl\n  tidings member import members.csv"
    )]
    Import {
        /// The file with one JSON object per line, one JSON array, or CSV, or - for standard input
        file: PathBuf,
        #[command(flatten)]
        strictness: Strictness,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SignInArgs {
    #[command(flatten)]
    credentials: Credentials,
    /// A code of the authenticator or a recovery code, for a member who has enabled the second factor
    #[arg(long, value_name = "CODE")]
    otp: Option<String>,
}

impl SignInArgs {
    fn form(&self) -> Result<SignIn, Failure> {
        let Credentials { member: MemberId { id }, password } = &self.credentials;
        Ok(SignIn { id: id.clone(), pw: password::present(password)?.to_string(), otp: self.otp.clone() })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Credentials {
    #[command(flatten)]
    member: MemberId,
    #[command(flatten)]
    password: Password,
}

pub(crate) fn run(session: &Session, global: &Global, command: &Member) -> Exit {
    let Session { service, out } = session;
    match command {
        Member::SignUp(new) => sign_in::sign_up(session, new),
        Member::SignIn(args) => sign_in::token(session, args.form()?),
        Member::SignInUp(args) => sign_in::token(session, SignInUp { form: args.form()? }),
        Member::List(filter) => show::list(session, filter),
        Member::Show(MemberId { id }) => show::info(session, id),
        Member::Lists { member: MemberId { id }, kind } => show::lists(session, id, *kind),
        Member::Reset(MemberId { id }) => {
            let id = session.member(id)?;
            service.reset_measurement(&id)?;
            session.done(format!("The measured interest of {id} is reset."))
        }
        Member::Nickname { member: MemberId { id }, nickname } => {
            let id = session.member(id)?;
            service.change_nickname(&id, nickname)?;
            session.done(format!("The nickname of {id} is {nickname}."))
        }
        Member::AutoLogin { member: MemberId { id }, auto_login } => {
            let id = session.member(id)?;
            service.update_auto_login(&id, *auto_login)?;
            let state = ["off", "on"][usize::from(*auto_login == 1)];
            session.done(format!("The auto-login of {id} is {state}."))
        }
        Member::Password(Credentials { member: MemberId { id }, password }) => {
            sign_in::password(session, global, id, password)
        }
        Member::ResetPassword(MemberId { id }) => {
            let issued = session.call_on("member", id, member::IssueReset { user_id: id.clone() })?;
            out.answer(&issued, |page| {
                page.line(&issued.code);
                page.note(&format!(
                    "Give the code to {id}, who chooses a new password with it until {}: tidings member new-password. It is \
                     not shown again.",
                    local(issued.expires)
                ));
            })
        }
        Member::NewPassword(password) => sign_in::new_password(session, password),
        Member::Forgotten { id } => sign_in::forgotten(session, id),
        Member::Email => sign_in::email(session),
        Member::SetEmail(new) => sign_in::set_email(session, new),
        Member::ConfirmEmail(code) => sign_in::confirm_email(session, code),
        Member::SignInOidc(code) => sign_in::sign_in_oidc(session, code),
        Member::LinkOidc(source) => sign_in::link_oidc(session, source),
        Member::UnlinkOidc(password) => sign_in::unlink_oidc(session, password),
        Member::Passkeys => sign_in::passkeys(session),
        Member::RemovePasskey { id } => sign_in::remove_passkey(session, id),
        Member::Sessions(MemberId { id }) => sign_in::sessions(session, id),
        Member::SignOut { member: MemberId { id }, session: of } => {
            sign_in::sign_out(session, id, of.as_deref())
        }
        Member::ResetOtp(MemberId { id }) => {
            let done = format!("{id} signs in with the password alone.");
            session.change("member", id, member::ResetOtp { user_id: id.clone() }, done)
        }
        Member::ResetSignIns(MemberId { id }) => {
            let done = format!("{id} has no passkey and no single sign-on any more.");
            session.change("member", id, member::ResetSignIns { user_id: id.clone() }, done)
        }
        Member::Otp(MemberId { id }) => {
            let issued = session.call_on("member", id, member::IssueOtp { user_id: id.clone() })?;
            out.answer(&issued, |page| {
                page.qr(&issued.enrolment_code);
                page.line(&issued.enrolment_code);
                page.note(&format!(
                    "Give the code to {id}, who enables the second factor with it until {}: tidings otp enable. It is \
                     not shown again.",
                    local(issued.expires)
                ));
            })
        }
        Member::Role(role) => show::role(session, role),
        Member::Export { member: MemberId { id }, file } => {
            let id = session.member(id)?;
            export::run(
                session,
                file,
                ("entries", Readers::Owner),
                |take| service.export_data(&id, take),
                |entries| format!("The data of {id} is exported: {} entries", number(entries)),
            )
        }
        Member::Remove { member: MemberId { id }, yes } => remove(session, id, *yes),
        Member::Import { file, strictness } => {
            let is_csv = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
            imported::run(session, ("members", file), *strictness, ImportMembers { is_csv })
        }
    }
}

fn remove(session: &Session, id: &str, yes: bool) -> Exit {
    let service = &session.service;
    // Members may remove themselves; administrators and members with the scope may remove any member. The command asks only
    // if the caller has this right.
    let found = service.user_info(id);
    let is_own = service.acts_as_member() && found.is_ok();
    if !is_own {
        service.check_right(Scope::Members)?;
    }
    let info = found.map_err(|error| unknown(error, "member", id))?;
    let id = info.user_id;
    session.confirm(yes, &format!("remove the member {id} ({}), with all lists", info.nickname))?;
    service.remove_member(&id).map_err(|error| unknown(error, "member", &id))?;
    session.done(format!("{id} is removed."))
}
