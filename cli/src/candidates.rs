//! Ids and names on the database or server where the command would work. Completion must not disturb: it asks no questions,
//! changes nothing, and on any error finds nothing.

use std::ffi::OsString;

use clap::{Args as _, Command, FromArgMatches as _};
use tidings_client::{Result, Service};
use tidings_core::Tidings;
use tidings_core::account::key::{self, Scope};
use tidings_core::account::{GetPasskeys, invitation};
use tidings_core::{mail, member, notice, post, source, webhook};

use crate::complete::MOST;
use crate::feedback;
use crate::key::scope_names;
use crate::prelude::*;
use crate::profile::Store;

const PLACES: [&str; 5] = ["--db", "--server", "--profile", "--config", "--as"];

/// Each with a description, which may be empty.
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

/// Nothing if opening the service asks a question, or creates or updates a database.
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
        let settings = global.settings().ok()?;
        Tidings::is_up_to_date(&global.location(&settings)).then_some(())?;
    }
    Some(Session::open(&global).ok()?.service)
}

fn records(service: &Service, kind: Kind, current: &str) -> Result<Vec<(String, String)>> {
    Ok(match kind {
        Kind::Member => {
            let search = Some(current.to_owned()).filter(|current| !current.is_empty());
            let limit = i64::try_from(MOST).ok();
            let page = service.call(member::List { search, limit, ..Default::default() })?;
            each(page.members, |member| (member.user_id, member.nickname))
        }
        Kind::Topic => each(service.as_reader().call(post::ListCategories {})?.categories, |found| {
            (found.category_name, String::new())
        }),
        Kind::Key => each(service.call(key::List {})?.keys, |key| (key.name, scope_names(&key.scopes))),
        Kind::Invitation => each(service.call(invitation::List {})?.invitations, |found| {
            (found.id, found.note.unwrap_or_default())
        }),
        Kind::Passkey => each(service.call(GetPasskeys {})?.passkeys, |passkey| (passkey.id, passkey.name)),
        Kind::Source => each(service.call(source::List {})?.sources, |source| (source.url, source.name)),
        Kind::Webhook => each(service.call(webhook::List {})?.webhooks, |hook| (hook.name, hook.url)),
        Kind::Delivery => each(service.call(webhook::ListDeliveries {})?.deliveries, |waiting| {
            (waiting.id, waiting.webhook)
        }),
        Kind::Mail => each(service.call(mail::List {})?.mails, |mail| (mail.id, mail.kind.to_string())),
        Kind::Draft => each(service.call(notice::ListDrafts {})?.drafts, |draft| {
            (draft.id.to_string(), draft.fields.title.unwrap_or_default())
        }),
        Kind::Profile | Kind::Scope => Vec::new(),
        Kind::Post => {
            let list = post::List { limit: Some(post::LIST_MAX), ..Default::default() };
            each(service.as_reader().call(list)?.posts, |post| (post.id, post.title))
        }
        Kind::Notice => each(service.call(notice::List::default())?.notices(), |notice| {
            (notice.id.to_string(), notice.title.to_string())
        }),
        Kind::Feedback => each(feedback::page_of(service, false, None)?.feedback, |feedback| {
            (feedback.id, feedback.post.lines().next().unwrap_or_default().to_owned())
        }),
    })
}

fn each<T>(
    records: impl IntoIterator<Item = T>,
    described: impl Fn(T) -> (String, String),
) -> Vec<(String, String)> {
    records.into_iter().map(described).collect()
}
