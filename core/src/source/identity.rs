//! Recognises the entries of a feed at the next fetch, and gives each an address of its own. An entry is known by its id, so that
//! its address may change and several entries may link to one page; without an id by its page, or by its title and date.

use std::collections::{HashMap, HashSet};

use tidings_feeds::{Entry, EntryFault, Feed};
use url::{Position, Url};

use super::seen::hash;
use super::{address, sql::Record};
use crate::post::URL_MAX;

pub(super) struct Identified {
    pub(super) entry: Entry,
    /// The number in the feed, from 1.
    pub(super) number: u64,
    /// A hash of the id, or of the other data that identify the entry.
    pub(super) key: u64,
    /// A hash that identifies an entry that is alone on its page.
    pub(super) page_key: u64,
    pub(super) page: String,
    pub(super) is_shared: bool,
    pub(super) own: String,
}

/// Passes entries that cannot be used to `refuse`, each with its line.
pub(super) fn identified(
    feed: &mut Feed,
    record: &Record,
    mut refuse: impl FnMut(u64, String),
) -> Vec<Identified> {
    // The host of the feed, and those that it names as its own.
    let urls = [Url::parse(&record.source.url).ok(), feed.link.clone(), feed.self_address.clone()];
    let hosts: Vec<&str> = urls.iter().flatten().filter_map(Url::host_str).collect();
    let mut entries: Vec<(u64, Entry, String)> = Vec::new();
    for (number, entry) in (1..).zip(std::mem::take(&mut feed.entries)) {
        match entry {
            Err(EntryFault { line, reason }) => refuse(line, reason),
            Ok(entry) => match entry.url.as_deref().map(address::of_article) {
                Some(page) => entries.push((number, entry, page)),
                None => refuse(entry.line, "it has no address".to_owned()),
            },
        }
    }
    let (mut ids, mut files) = (HashMap::<String, HashSet<String>>::new(), HashMap::<String, usize>::new());
    for (_, entry, page) in &entries {
        if let Some(id) = &entry.id {
            ids.entry(id.clone()).or_default().insert(page.clone());
        }
        if let Some(file) = &entry.own_url {
            *files.entry(file.clone()).or_default() += 1;
        }
    }
    let mut pages: HashMap<String, HashSet<String>> = HashMap::new();
    let mut names = Vec::with_capacity(entries.len());
    for (_, entry, page) in &entries {
        // An id that entries on several pages have identifies none of them.
        let id = entry.id.as_deref().filter(|id| ids.get(*id).is_some_and(|pages| pages.len() == 1));
        let text = if entry.title.is_empty() { &entry.text } else { &entry.title };
        let name = id.map_or_else(|| format!("{text}\0{:?}", entry.date), |id| stripped(id, &hosts));
        pages.entry(page.clone()).or_default().insert(name.clone());
        names.push((id.is_some(), name));
    }
    let identify = |((number, entry, page), (has_id, name)): ((u64, Entry, String), (bool, String))| {
        let is_shared = pages.get(&page).is_some_and(|names| names.len() > 1);
        let place = stripped(&page, &hosts);
        let (page_key, own_key) = (hash(&["page", &place]), hash(&["story", &name, &place]));
        let key = match (has_id, is_shared) {
            (true, _) => hash(&["id", &name]),
            (false, true) => own_key,
            (false, false) => page_key,
        };
        let is_own = |file: &&String| files.get(*file) == Some(&1) && !pages.contains_key(*file);
        let file = entry.own_url.as_ref().filter(is_own).filter(|file| file.len() <= URL_MAX);
        let of_page = || with_fragment(&page, entry.id.as_deref().filter(|_| has_id), own_key);
        let own = file.map_or_else(of_page, |file| address::of_article(file));
        Identified { entry, number, key, page_key, page, is_shared, own }
    };
    entries.into_iter().zip(names).map(identify).collect()
}

/// The fragment distinguishes the entry from others on the page.
fn with_fragment(page: &str, id: Option<&str>, key: u64) -> String {
    let with = |fragment: &str| {
        let (page, _) = page.split_once('#').unwrap_or((page, ""));
        Url::parse(&format!("{page}#{fragment}")).map_or_else(|_| page.to_owned(), String::from)
    };
    let of_id: Option<String> = id.map(with).filter(|url| url.len() <= URL_MAX);
    of_id.unwrap_or_else(|| with(&format!("{key:016x}")))
}

/// Removes the parts that change when a site moves: the scheme, and the host if it is one of the source itself.
fn stripped(id: &str, hosts: &[&str]) -> String {
    let url = Url::parse(id).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(url) = url else { return id.to_owned() };
    let is_own = url.host_str().is_none_or(|host| hosts.contains(&host));
    let host = if is_own { "" } else { &url[Position::BeforeHost..Position::AfterPort] };
    format!("//{host}{}", &url[Position::BeforePath..])
}
