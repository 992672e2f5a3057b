//! The completion of ids and names in a shell. The scripts of the shells ask the program itself.

use std::ffi::OsStr;
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use clap::{Args, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use tidings_client::shown::escape;

pub(crate) const VARIABLE: &str = "TIDINGS_COMPLETE";
/// The user waits meanwhile.
const WAIT_MAX: Duration = Duration::from_millis(800);
pub(crate) const MOST: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Delivery,
    Draft,
    Feedback,
    Invitation,
    Key,
    Mail,
    Member,
    Notice,
    Passkey,
    Post,
    Profile,
    Scope,
    Source,
    Topic,
    Webhook,
}

/// Each with a description.
pub(crate) type Find = fn(Kind, &str) -> Option<Vec<(String, String)>>;

/// Set by `main`: the function uses most of the program, whose arguments are declared with [`ids`].
static FIND: OnceLock<Find> = OnceLock::new();

#[derive(Debug, Args)]
pub(crate) struct MemberId {
    /// The member
    #[arg(add = ids(Kind::Member))]
    pub(crate) id: String,
}

pub(crate) fn answer_shell(command: fn() -> Command, find: Find) {
    let _ = FIND.set(find);
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

pub(crate) fn ids(kind: Kind) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| candidates(kind, current).unwrap_or_default())
}

fn candidates(kind: Kind, current: &OsStr) -> Option<Vec<CompletionCandidate>> {
    let (find, current) = (FIND.get()?, current.to_str()?.to_lowercase());
    let typed = current.clone();
    // The thread is left behind if it takes too long: the program ends.
    let (send, receive) = mpsc::channel();
    thread::spawn(move || send.send(find(kind, &typed)));
    let mut found = receive.recv_timeout(WAIT_MAX).ok()??;
    found
        .retain(|(value, _)| value.to_lowercase().starts_with(&current) && !value.contains(char::is_control));
    found.truncate(MOST);
    let candidate = |(value, help): (String, String)| {
        let help = (!help.is_empty()).then(|| escape::line(&help).into_owned().into());
        CompletionCandidate::new(value).help(help)
    };
    Some(found.into_iter().map(candidate).collect())
}
