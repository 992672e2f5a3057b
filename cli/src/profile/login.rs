use std::io::IsTerminal as _;

use serde::Serialize;
use tidings_client::{Address, Error, Server, Service, SignedIn, expiry};
use tidings_core::account::SignIn;
use tidings_core::account::key::{Scope, is_key};
use tidings_core::clock::Timestamp;
use tidings_core::error::Code;
use tidings_core::location::masked;
use zeroize::Zeroizing;

use crate::input;
use crate::key;
use crate::password::{self, Password};
use crate::prelude::*;
use crate::profile::credentials::NO_KEY;
use crate::profile::{self, Profile, Profiles, Store, check_name, default_name, only};

#[derive(Debug, Args)]
pub(crate) struct Login {
    /// The member
    #[arg(add = ids(Kind::Member))]
    id: Option<String>,
    #[command(flatten)]
    password: Password,
    /// A code of the authenticator, or a recovery code, if the member has enabled the second factor
    #[arg(long, value_name = "CODE")]
    otp: Option<String>,
    /// Sign in with an API key, not as a member; read it from standard input, up to the end of its first line
    #[arg(long, conflicts_with_all = ["id", "password_stdin", "password_file", "otp", "key_file"])]
    key_stdin: bool,
    /// Sign in with an API key, not as a member; read it from a file, up to the end of its first line
    #[arg(long, value_name = "F", conflicts_with_all = ["id", "password_stdin", "password_file", "otp"])]
    key_file: Option<PathBuf>,
    /// A PEM file with the certificate of the server, if it is self-signed, or of its authority, if it is private: no other
    /// certificate is accepted, also by later commands
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Logout {
    /// Sign out of every server
    #[arg(long)]
    all: bool,
    /// End every session of the member on the server, also on other devices
    #[arg(long, conflicts_with = "all")]
    everywhere: bool,
}

#[derive(Serialize)]
struct Answer {
    profile: String,
    server: String,
    /// `None` for an API key.
    member: Option<String>,
    admin: u8,
    expires: Option<Timestamp>,
}

struct Accepted {
    secret: Zeroizing<String>,
    server: Server,
    member: Option<String>,
    is_admin: bool,
    scopes: Vec<Scope>,
    /// Whether the rights of an administrator need a second factor, which this sign-in has not given.
    needs_otp: bool,
}

pub(crate) fn run(global: &Global, args: &Login) -> Exit {
    if global.acting.is_some() {
        return Err(Failure::usage("name the member as tidings login ID: leave --as out"));
    }
    let (store, out) = (Store::of_user()?, Output::new(global));
    // Before it asks for a password, the command finds out whether it can store the sign-in.
    let profiles = store.lock()?.profiles;
    let earlier = global.profile.as_ref().and_then(|name| Some((name, profiles.get(name)?)));
    let address = match (&global.server, earlier) {
        (Some(address), _) => address.clone(),
        (None, Some((_, profile))) => profile.server.clone(),
        (None, None) => {
            let typed = asked(&out, "Server: ", "name the server: tidings login --server URL ID")?;
            let address = typed.parse::<Address>();
            address.map_err(|error| Failure::invalid(&masked(&typed), "the server", error))?
        }
    };
    let is_key = args.key_stdin || args.key_file.is_some();
    let id = match (is_key, &args.id, earlier.and_then(|(_, profile)| profile.member.clone())) {
        (true, ..) => None,
        (false, Some(id), _) => Some(id.clone()),
        (false, None, Some(id)) => Some(id),
        (false, None, None) => {
            Some(asked(&out, "Member: ", &format!("name the member: tidings login --server {address} ID"))?)
        }
    };
    let name = match &global.profile {
        Some(name) => check_name(name)?.to_owned(),
        None => default_name(&address, id.as_deref()),
    };
    check_same(&profiles, &name, &address, id.as_deref())?;
    let tls_ca = match &args.tls_ca {
        Some(file) => Some(std::path::absolute(file).map_err(|error| input::unreadable(file, &error))?),
        None => earlier.and_then(|(_, profile)| profile.tls_ca.clone()),
    };
    let guest = profile::trusting(Server::new(address, None, None), tls_ca.as_deref())?;
    let accepted = match &id {
        Some(id) => sign_in(args, &guest, id)?,
        None => with_key(args, &guest)?,
    };
    let profile = Profile {
        server: accepted.server.address().clone(),
        member: accepted.member.clone(),
        administrator: accepted.is_admin,
        tls_ca,
        expires: expiry(&accepted.secret),
        token: Some(accepted.secret),
    };
    let stored = store.lock().and_then(|mut locked| {
        locked.profiles.0.insert(name.clone(), profile.clone());
        locked.save()
    });
    if stored.is_err() && accepted.member.is_some() {
        // A session whose token is stored nowhere is of no use. The failure to store it matters more.
        let _ = accepted.server.sign_out();
    }
    let stored = stored?;
    let replaced = profiles.get(&name).and_then(|profile| profile.token.clone());
    if let (Some(member), Some(token)) = (&profile.member, replaced) {
        // The session that this one replaces is of no use. It ends by itself if the server does not answer.
        let _ = accepted.server.signed_in(token, Some(member)).sign_out();
    }
    let answer = Answer {
        profile: name.clone(),
        server: profile.server.to_string(),
        member: profile.member.clone(),
        admin: profile.administrator.into(),
        expires: profile.expires,
    };
    out.answer(&answer, |page| {
        show(page, &store, &name, &profile, &stored);
        if let (Some(member), false) = (&profile.member, profile.administrator) {
            page.note(&rights(member, &accepted.scopes));
        }
        if accepted.needs_otp {
            page.note(
                "this server gives the rights of administrators only to sessions with a second factor: enable it with \
                 tidings otp enable",
            );
        }
    })
}

fn show(page: &mut Page, store: &Store, name: &str, profile: &Profile, profiles: &Profiles) {
    let Profile { server, member, administrator, expires, .. } = profile;
    page.line(match (member, administrator) {
        (Some(member), true) => format!("{member} is signed in at {server} as an administrator."),
        (Some(member), false) => format!("{member} is signed in at {server}."),
        (None, _) => format!("The API key signs in at {server}; its scopes decide what it may do."),
    });
    if let Some(end) = expires {
        page.line(format!("The sign-in expires on {}.", local(*end)));
    }
    page.line(format!("The secret is in {}.", store.file().display()));
    let option =
        if profiles.is_default(name) { format!("--server {server}") } else { format!("--profile {name}") };
    page.line(format!("Commands use it with {option}."));
}

fn rights(member: &str, scopes: &[Scope]) -> String {
    if scopes.is_empty() {
        return format!(
            "{member} is no administrator: the server refuses the commands that administer; --as {member} acts as this \
             member"
        );
    }
    let scopes = key::scope_names(scopes);
    format!(
        "{member} is no administrator, and has a role: the server accepts the commands that need {scopes}"
    )
}

/// Fails with `hint` if the command cannot ask, or the answer is empty.
fn asked(out: &Output, question: &str, hint: &str) -> Result<String, Failure> {
    password::ask_if_possible(out, question)?.ok_or_else(|| Failure::usage(hint))
}

/// A profile with this name must be for the same sign-in.
fn check_same(profiles: &Profiles, name: &str, address: &Address, id: Option<&str>) -> Result<(), Failure> {
    let Some(profile) = profiles.get(name) else { return Ok(()) };
    let is_same = profile.server == *address
        && match id {
            Some(id) => profile.is_of(id),
            None => profile.member.is_none(),
        };
    if is_same {
        return Ok(());
    }
    let (who, server) = (profile.who(), &profile.server);
    Err(Failure::usage(format!(
        "the profile {name} is for {who} at {server}: choose another name with --profile, or remove it with tidings \
         profile remove {name}"
    )))
}

fn sign_in(args: &Login, server: &Server, id: &str) -> Result<Accepted, Failure> {
    let pw = password::present(&args.password)?;
    let mut form = SignIn { id: id.to_owned(), pw: pw.as_str().to_owned(), otp: args.otp.clone() };
    let mut signed_in = SignedIn::new(server, &form);
    let asks_code = |error: &Error| error.code() == Some(Code::OtpRequired) && form.otp.is_none();
    if std::io::stdin().is_terminal() && signed_in.as_ref().is_err_and(asks_code) {
        form.otp = password::ask("Code of the authenticator, or a recovery code: ")?;
        signed_in = SignedIn::new(server, &form);
    }
    let SignedIn { server, token, id, is_admin, scopes, needs_otp } =
        signed_in.map_err(|error| match error.code() {
            Some(Code::OtpRequired) => Failure::refused(
                &error,
                "give the code of the authenticator, or a recovery code, with --otp CODE",
            ),
            Some(Code::WrongOtp) => Failure::refused(&error, "the code is wrong, or was used before"),
            _ => error.into(),
        })?;
    Ok(Accepted { secret: token, server, member: Some(id), is_admin, scopes, needs_otp })
}

/// Checks the key before it is stored.
fn with_key(args: &Login, server: &Server) -> Result<Accepted, Failure> {
    let secret = password::key(args.key_file.as_deref())?;
    let secret = Zeroizing::new(secret.trim().to_owned());
    if !is_key(&secret) {
        return Err(Failure::usage(format!("this is no API key: {NO_KEY}")));
    }
    let server = server.signed_in(secret.clone(), None);
    server.check_key().map_err(|error| match error.code() {
        Some(Code::BadToken) => {
            let address = server.address();
            Failure::refused(
                &error,
                format!("{address} does not accept the key: it is wrong, revoked or expired"),
            )
        }
        _ => error.into(),
    })?;
    Ok(Accepted { secret, server, member: None, is_admin: false, scopes: Vec::new(), needs_otp: false })
}

pub(crate) fn log_out(global: &Global, args: &Logout) -> Exit {
    if global.acting.is_some() {
        return Err(Failure::usage("name what to sign out of with --profile: leave --as out"));
    }
    if args.all && global.names_server() {
        return Err(Failure::usage("--all signs out of every server: leave --server and --profile out"));
    }
    let (store, out) = (Store::of_user()?, Output::new(global));
    let profiles = store.profiles()?;
    let chosen = if args.all {
        let signed_in = profiles.0.iter().filter(|(_, profile)| profile.token.is_some());
        signed_in.map(|(name, profile)| (&**name, profile)).collect()
    } else {
        vec![chosen(global, &profiles)?]
    };
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    for (name, profile) in chosen {
        if args.everywhere {
            end_everywhere(name, profile)?;
        } else {
            notes.extend(profile::end(profile)?);
        }
        store.lock()?.sign_out(name)?;
        let (who, server) = (profile.who(), &profile.server);
        lines.push(match profile.member {
            Some(_) if args.everywhere => format!("{who} is signed out at {server}, on every device."),
            Some(_) => format!("{who} is signed out at {server}."),
            None => format!("The API key of {server} is removed here."),
        });
    }
    out.answer(&(), |page| {
        for line in &lines {
            page.line(line);
        }
        for note in &notes {
            page.note(note);
        }
        if lines.is_empty() {
            page.note("nobody is signed in");
        }
    })
}

fn chosen<'a>(global: &Global, profiles: &'a Profiles) -> Result<(&'a str, &'a Profile), Failure> {
    if let Some(name) = &global.profile {
        let found = profiles.0.get_key_value(name);
        return found.map(|(name, profile)| (&**name, profile)).ok_or_else(|| profile::unknown(name));
    }
    let found = if let Some(address) = &global.server {
        profiles.at(address, None)?
    } else {
        let all = profiles.0.iter().map(|(name, profile)| (&**name, profile));
        only(&all.filter(|(_, profile)| profile.token.is_some()).collect::<Vec<_>>())?
    };
    found.ok_or_else(|| Failure::usage("nobody is signed in: see tidings profile list"))
}

/// On a failure the sign-in stays, so that the command can be run again.
fn end_everywhere(name: &str, profile: &Profile) -> Result<(), Failure> {
    let Some(member) = &profile.member else {
        return Err(Failure::usage("an API key has no sessions: leave --everywhere out"));
    };
    let server = profile.connect(profile.token(name)?, Some(member))?;
    Ok(Service::on_server(server).sign_out(member, None)?)
}
