//! Finds the ids and names that complete an argument, on the database or server where the command would work.
//!
//! Completion must not disturb: it asks no questions, changes nothing, and on any error finds nothing.

use std::ffi::OsString;

use clap::{Args as _, Command, FromArgMatches as _};
use tidings_client::{Result, Service};
use tidings_core::Tidings;
use tidings_core::account::key::{self, Scope};
use tidings_core::account::{GetPasskeys, invitation};
use tidings_core::{mail, member, notice, post, source, webhook};

use crate::complete::{Kind, MOST};
use crate::database;
use crate::feedback;
use crate::global::Global;
use crate::key::scope_names;
use crate::profile::Store;
use crate::session::Session;
use crate::settings::Settings;

/// The options that say where a command works, and as whom.
const PLACES: [&str; 5] = ["--db", "--server", "--profile", "--config", "--as"];

/// Returns each id or name with a description, which may be empty.
pub(crate) fn find(kind: Kind, current: &str) -> Option<Vec<(String, String)>> {
    match kind {
        Kind::Profile => {
            let profiles = Store::of_user().ok()?.profiles().ok()?.0.into_iter();
            Some(profiles.map(|(name, profile)| (name, profile.server.to_string())).collect())
        }
        Kind::Scope => {
            Some(Scope::ALL.iter().map(|scope| (scope.to_string(), scope.help().to_owned())).collect())
        }
        _ => records(&service(current)?, kind, current).ok(),
    }
}

/// Returns the service where the command would work, unless opening it asks a question, or creates or updates a database.
fn service(current: &str) -> Option<Service> {
    let mut arguments = vec![OsString::from("tidings")];
    let mut words = std::env::args_os().skip_while(|word| word != "--");
    while let Some(word) = words.next() {
        let Some(text) = word.to_str() else { continue };
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        if PLACES.contains(&name) {
            let Some(value) = value.map(OsString::from).or_else(|| words.next()) else { break };
            arguments.extend([OsString::from(name), value]);
        }
    }
    let matches = Global::augment_args(Command::new("tidings")).try_get_matches_from(arguments).ok()?;
    let mut global = Global::from_arg_matches(&matches).ok()?;
    global.settle(&matches).ok()?;
    // The id that is being typed is not yet that of the acting member.
    global.acting = global.acting.filter(|id| id.to_lowercase() != current);
    if !global.names_server() {
        let settings = Settings::default().complete(global.config.as_deref()).ok()?;
        Tidings::is_up_to_date(&database::location(&global, &settings)).then_some(())?;
    }
    Some(Session::open(&global).ok()?.service)
}

fn records(service: &Service, kind: Kind, current: &str) -> Result<Vec<(String, String)>> {
    Ok(match kind {
        Kind::Member => {
            let search = Some(current.to_owned()).filter(|current| !current.is_empty());
            let page = service.call(member::List {
                search,
                limit: i64::try_from(MOST).ok(),
                ..Default::default()
            })?;
            page.members.into_iter().map(|member| (member.user_id, member.nickname)).collect()
        }
        Kind::Topic => {
            let found = service.as_reader().call(post::ListCategories {})?.categories;
            found.into_iter().map(|found| (found.category_name, String::new())).collect()
        }
        Kind::Key => {
            let keys = service.call(key::List {})?.keys;
            keys.into_iter().map(|key| (key.name, scope_names(&key.scopes))).collect()
        }
        Kind::Invitation => {
            let found = service.call(invitation::List {})?.invitations.into_iter();
            found.map(|found| (found.id, found.note.unwrap_or_default())).collect()
        }
        Kind::Passkey => {
            let passkeys = service.call(GetPasskeys {})?.passkeys;
            passkeys.into_iter().map(|passkey| (passkey.id, passkey.name)).collect()
        }
        Kind::Source => {
            let sources = service.call(source::List {})?.sources;
            sources.into_iter().map(|source| (source.url, source.name)).collect()
        }
        Kind::Webhook => {
            let hooks = service.call(webhook::List {})?.webhooks;
            hooks.into_iter().map(|hook| (hook.name, hook.url)).collect()
        }
        Kind::Delivery => {
            let waiting = service.call(webhook::ListDeliveries {})?.deliveries;
            waiting.into_iter().map(|waiting| (waiting.id, waiting.webhook)).collect()
        }
        Kind::Mail => {
            let waiting = service.call(mail::List {})?.mails;
            waiting.into_iter().map(|mail| (mail.id, mail.kind.to_string())).collect()
        }
        Kind::Draft => {
            let title = |title: Option<String>| title.unwrap_or_default();
            service
                .call(notice::ListDrafts {})?
                .drafts
                .into_iter()
                .map(|d| (d.id.to_string(), title(d.fields.title)))
                .collect()
        }
        Kind::Profile | Kind::Scope => Vec::new(),
        Kind::Post => {
            let list = post::List { limit: Some(post::LIST_MAX), ..Default::default() };
            let page = service.as_reader().call(list)?;
            page.posts.into_iter().map(|post| (post.id, post.title)).collect()
        }
        Kind::Notice => {
            let list = service.call(notice::List::default())?;
            list.notices().iter().map(|notice| (notice.id.to_string(), notice.title.to_string())).collect()
        }
        Kind::Feedback => {
            let page = feedback::page_of(service, false, None)?;
            let line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
            page.feedback.into_iter().map(|feedback| (feedback.id, line(&feedback.post))).collect()
        }
    })
}
