//! The sign-in at the server that `--server` or `--profile` names.

use std::env::VarError;

use tidings_client::{Address, Server, Service, expiry};
use tidings_core::account::key::is_key;
use tidings_core::clock::Clock;
use tidings_core::error::Code;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::global::Global;
use crate::output::local;
use crate::profile::{self, Profile, Profiles, Store};

const KEY: &str = "TIDINGS_SERVER_KEY";
pub(crate) const NO_KEY: &str =
    "a key begins with tidings_ and has 48 digits after it, as tidings key add prints it once";

enum SignIn {
    Variable(Address, Zeroizing<String>),
    Profile(String, Box<Profile>),
    /// Nobody: operations are called as a guest.
    Nobody(Address),
}

/// `None` if the options name a database.
pub(crate) fn server(global: &Global) -> Result<Option<Server>, Failure> {
    let acting = global.acting.as_deref();
    let server = match choose(global)? {
        None => return Ok(None),
        Some(SignIn::Variable(address, key)) => {
            let server = Server::new(address, Some(key), acting);
            if let Some(id) = acting {
                check_member(&server, id)?;
            }
            server
        }
        Some(SignIn::Profile(name, profile)) => profile.connect(profile.token(&name)?, acting)?,
        Some(SignIn::Nobody(address)) => Server::new(address, None, None),
    };
    Ok(Some(server))
}

/// Returns what is left to do.
pub(crate) fn renew(global: &Global, token: &str) -> Result<Option<String>, Failure> {
    Ok(match choose(global)? {
        Some(SignIn::Profile(name, profile)) => {
            let mut locked = Store::of_user()?.lock()?;
            let secret = Some(Zeroizing::new(token.to_owned()));
            let profile = Profile { expires: expiry(token), token: secret, ..*profile };
            locked.profiles.0.insert(name, profile);
            locked.save()?;
            None
        }
        Some(SignIn::Variable(..)) => {
            Some(format!("The token in {KEY} fails from now on: --json prints the new one."))
        }
        Some(SignIn::Nobody(_)) | None => None,
    })
}

pub(crate) fn explained(global: &Global, failure: Failure) -> Failure {
    if failure.code != Some(Code::BadToken) {
        return failure;
    }
    match choose(global) {
        Ok(Some(SignIn::Variable(address, _))) => failure.with_advice(format!(
            "{address} does not accept the key in {KEY}: it is wrong, revoked or expired, or it is an API key where a \
             member is needed"
        )),
        Ok(Some(SignIn::Profile(name, profile))) => {
            let (who, server) = (profile.who(), &profile.server);
            if profile.member.is_none() {
                return failure.with_advice(format!(
                    "{server} does not accept the API key of the profile {name}, or this needs a member: store another key \
                     with tidings login --profile {name} --key-file F"
                ));
            }
            let why = match profile.expires {
                Some(end) if end <= Clock::system().now() => format!("expired on {}", local(end)),
                _ => "is no longer valid".to_owned(),
            };
            failure.with_advice(format!(
                "the sign-in of {who} at {server} {why}: sign in again with tidings login --profile {name}"
            ))
        }
        Ok(Some(SignIn::Nobody(address))) => failure
            .with_advice(format!("nobody is signed in at {address}: tidings login --server {address} ID")),
        // It is a database, or the first failure says more than this one.
        Ok(None) | Err(_) => failure,
    }
}

/// `None` if the options name a database.
fn choose(global: &Global) -> Result<Option<SignIn>, Failure> {
    let acting = global.acting.as_deref();
    let Some(name) = &global.profile else {
        let Some(address) = &global.server else { return Ok(None) };
        let chosen = match key()? {
            Some(key) => SignIn::Variable(address.clone(), key),
            None => stored(address, acting)?,
        };
        return Ok(Some(chosen));
    };
    let profiles = Store::of_user()?.profiles()?;
    let profile = profiles.get(name).ok_or_else(|| profile::unknown(name))?;
    if let Some(address) = global.server.as_ref().filter(|address| **address != profile.server) {
        let server = &profile.server;
        return Err(Failure::usage(format!(
            "the profile {name} is for {server}, and --server names {address}: leave one of them out"
        )));
    }
    Ok(Some(match acting {
        Some(id) if !profile.is_of(id) => stored(&profile.server, Some(id))?,
        _ => SignIn::Profile(name.clone(), Box::new(profile.clone())),
    }))
}

fn stored(address: &Address, acting: Option<&str>) -> Result<SignIn, Failure> {
    // Without a directory for sign-ins, nobody has signed in.
    let profiles = Store::of_user().map_or_else(|_| Ok(Profiles::default()), |store| store.profiles())?;
    match (profiles.at(address, acting)?, acting) {
        (Some((name, profile)), _) => Ok(SignIn::Profile(name.to_owned(), Box::new(profile.clone()))),
        (None, None) => Ok(SignIn::Nobody(address.clone())),
        (None, Some(id)) => Err(Failure::usage(format!(
            "{id:?} is not signed in at {address}: tidings login --server {address} {id}"
        ))),
    }
}

fn key() -> Result<Option<Zeroizing<String>>, Failure> {
    let key = match std::env::var(KEY).map(Zeroizing::new) {
        Err(VarError::NotPresent) => return Ok(None),
        key => Zeroizing::new(key.unwrap_or_else(|_| Zeroizing::new("?".to_owned())).trim().to_owned()),
    };
    // An access token is a JSON Web Token, which has three parts.
    let is_known = key.is_empty() || is_key(&key) || key.split('.').count() == 3;
    is_known
        .then(|| Some(key).filter(|key| !key.is_empty()))
        .ok_or_else(|| Failure::usage(format!("{KEY} is neither an API key nor an access token: {NO_KEY}")))
}

/// Checks that the token in the variable is that of the member whom `--as` names: the command acts in that member's name.
fn check_member(server: &Server, id: &str) -> Result<(), Failure> {
    let own = Service::on_server(server.clone()).user_info(id)?.user_id;
    if own.eq_ignore_ascii_case(id) {
        return Ok(());
    }
    Err(Failure::usage(format!("{KEY} has the token of {own:?}, and --as names {id:?}")))
}
