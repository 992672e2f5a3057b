//! Sign-in profiles: the servers that `tidings login` has signed in to, and `tidings profile`, which lists and removes them.

use std::collections::BTreeMap;

use serde::Serialize;
use tidings_core::clock::{Clock, Timestamp};

use crate::prelude::*;

pub(crate) mod credentials;
mod file;
pub(crate) mod login;
mod store;

pub(crate) use file::{Profile, Profiles, check_name, default_name, only, trusting};
pub(crate) use store::Store;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the profiles
    #[command(after_help = "Example: tidings profile list")]
    List,
    /// Sign a profile out and remove it
    #[command(after_help = "Example: tidings profile remove campus")]
    Remove {
        /// The profile
        #[arg(add = ids(Kind::Profile))]
        name: String,
    },
}

#[derive(Serialize)]
struct Row {
    name: String,
    server: String,
    /// `None` for an API key.
    member: Option<String>,
    admin: u8,
    signed_in: u8,
    expires: Option<Timestamp>,
    /// Whether `--server` alone chooses the profile.
    default: u8,
}

impl Row {
    fn state(&self, now: Timestamp) -> &'static str {
        match self {
            Self { signed_in: 0, .. } => "signed out",
            Self { expires: Some(end), .. } if *end <= now => "expired",
            Self { member: None, .. } => "by its scopes",
            Self { admin: 0, .. } => "member",
            _ => "administrator",
        }
    }
}

pub(crate) fn run(global: &Global, command: &Command) -> Exit {
    let (store, out) = (Store::of_user()?, Output::new(global));
    match command {
        Command::List => list(&store, &out),
        Command::Remove { name } => {
            let profiles = store.profiles()?;
            let profile = profiles.get(name).ok_or_else(|| unknown(name))?;
            let left = end(profile)?;
            let mut locked = store.lock()?;
            locked.profiles.0.remove(name);
            locked.save()?;
            out.answer(&(), |page| {
                page.line(format!("The profile {name} is removed."));
                if let Some(left) = &left {
                    page.note(left);
                }
            })
        }
    }
}

pub(crate) fn unknown(name: &str) -> Failure {
    Failure::usage(format!("there is no profile {name:?}: see tidings profile list"))
}

/// Returns what is left to do if the server still accepts the secret.
pub(crate) fn end(profile: &Profile) -> Result<Option<String>, Failure> {
    let Some(token) = profile.token.clone() else { return Ok(None) };
    let server = &profile.server;
    let Some(member) = &profile.member else {
        return Ok(Some(format!("{server} accepts the key until it is revoked: tidings key revoke NAME")));
    };
    Ok(profile.connect(token, Some(member))?.sign_out().err().map(|error| {
        let until = profile.expires.map_or_else(String::new, |end| format!(" until {}", local(end)));
        format!(
            "{error}: the sign-in is removed here, but the server accepts it{until}: tidings member sign-out {member} ends \
             it"
        )
    }))
}

fn list(store: &Store, out: &Output) -> Exit {
    let profiles = store.profiles()?;
    let now = Clock::system().now();
    let row = |(name, profile): (&String, &Profile)| Row {
        name: name.clone(),
        server: profile.server.to_string(),
        member: profile.member.clone(),
        admin: profile.administrator.into(),
        signed_in: profile.token.is_some().into(),
        expires: profile.expires,
        default: profiles.is_default(name).into(),
    };
    let rows: Vec<_> = profiles.0.iter().map(row).collect();
    let none = "There is no profile yet: tidings login --server URL ID";
    out.table(&BTreeMap::from([("profiles", &rows)]), &rows, none, |table| {
        table
            .whole("Name", |row| row.name.clone())
            .whole("Server", |row| row.server.clone())
            .whole("Signs in", |row| row.member.clone().unwrap_or_else(|| "an API key".to_owned()))
            .whole("Is", |row| row.state(now).to_owned())
            .whole("Default", |row| if row.default == 1 { "yes" } else { "" }.to_owned())
            .optional_whole(dated("Expires"), |row| row.expires.map(local).unwrap_or_default())
            .styled(|row| if row.signed_in == 1 { Style::Plain } else { Style::Faint })
    })
}
