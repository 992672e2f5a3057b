//! The posts that a source brings. Only that source changes their texts and addresses; topics, tags and dates stay as
//! administrators have left them.

use std::collections::HashSet;
use std::sync::Arc;

use super::change;
use super::draft::{self, Change, Content, Draft};
use super::rows::{self, DerivedChanges, New, Stored};
use super::token_fields::TokenFields;
use crate::account::Admin;
use crate::base::clock::{Clock, Timestamp};
use crate::record::error::{Error, Result};
use crate::record::id::{ObjectId, PostKey, SourceKey};
use crate::store::{Arg, Row, Topic, Tx, row_each, run_each};

pub(crate) struct Arrival {
    change: Change,
    tokens: Arc<TokenFields>,
    identity: Identity,
    /// Whether the entry was seen before. If it has no post, an administrator has removed the post.
    pub(crate) is_known: bool,
}

/// Identifies an entry within its source.
pub(crate) struct Identity {
    /// A hash of its id, or of a substitute for the id.
    pub(crate) key: i64,
    /// The key of an entry that is alone on its page.
    pub(crate) page_key: i64,
    pub(crate) page: String,
    pub(crate) is_shared: bool,
    /// An address that no other entry has.
    pub(crate) own: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    Inserted {
        id: String,
        title: String,
    },
    Updated,
    /// Its post has these texts already, or was removed.
    Skipped,
    /// Its address is that of a post that this source has not brought.
    NotOwn,
    /// The source has brought as many posts as it may.
    LeftOut,
}

impl Arrival {
    pub(crate) fn new(draft: &Draft, identity: Identity, is_known: bool) -> Result<Self, String> {
        let change = Change::parse(draft).map_err(|rule| {
            let error = Error::from(rule);
            error.detail().unwrap_or_else(|| error.to_string())
        })?;
        let texts = [&change.title, &change.post].map(|text| text.as_deref().unwrap_or_default());
        let tokens = Arc::new(TokenFields::of(texts[0], texts[1]));
        Ok(Self { change, tokens, identity, is_known })
    }

    pub(crate) fn date(&self) -> Option<Timestamp> {
        self.change.date
    }

    /// Decides whether a post of the same source at the page of this entry is the post of this entry. `entry` is the key of the
    /// entry to which the post belonged before.
    fn is_at_page(&self, post: &Stored, entry: Option<i64>) -> bool {
        let Self { change, identity: Identity { page_key, is_shared, .. }, .. } = self;
        let was_alone = entry.is_none_or(|entry| entry == *page_key);
        let has_title = change.title.as_ref() == Some(&post.content.title);
        // Some feeds change the ids at each fetch.
        let looks_alike = has_title || change.date == Some(post.content.date);
        if *is_shared { was_alone && has_title } else { was_alone || looks_alike }
    }
}

/// Cuts off the query and the rest, which may contain a session.
pub(crate) fn place(url: &str) -> &str {
    url.split(['?', '#', ';']).next().unwrap_or_default()
}

struct Found {
    post: Stored,
    source: Option<SourceKey>,
    entry: Option<i64>,
}

fn found<'u>(tx: &mut dyn Tx, urls: impl Iterator<Item = &'u str>) -> Result<Vec<Option<Found>>> {
    let sql = format!(
        "SELECT {}, o.source, o.entry FROM post p LEFT JOIN post_source o ON o.post = p.key WHERE p.url = $1",
        rows::COLUMNS
    );
    let found =
        |mut row: Row| Ok(Found { source: row.take(10)?, entry: row.take(11)?, post: rows::stored(row)? });
    let urls: Vec<[Arg<'_>; 1]> = urls.map(|url| [url.into()]).collect();
    row_each(tx, &sql, &urls)?.into_iter().map(|row| row.map(found).transpose()).collect()
}

/// Inserts at most `room` posts. The entries must have distinct identities, and the transaction must run alone.
pub(crate) fn write(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    source: SourceKey,
    clock: &Clock,
    arrivals: &[Arrival],
    room: usize,
) -> Result<Vec<Arrived>> {
    let mut derived = DerivedChanges::default();
    let identities = || arrivals.iter().map(|arrival| &arrival.identity);
    let entries: Vec<_> = identities().map(|identity| [source.into(), identity.key.into()]).collect();
    let mut by_entry = rows::by_entries(tx, &entries)?;
    let removed = row_each(tx, "SELECT 1 FROM source_removed WHERE source = $1 AND entry = $2", &entries)?;
    let at_page = found(tx, identities().map(|identity| &*identity.page))?;
    let at_own = found(tx, identities().map(|identity| &*identity.own))?;
    let mut claimed: HashSet<PostKey> = by_entry.iter().flatten().map(|post| post.key).collect();
    let mut taken: HashSet<&str> = HashSet::new();
    let (mut new, mut arrived, mut known) = (Vec::new(), Vec::with_capacity(arrivals.len()), Vec::new());
    for (at, (arrival, (page, own))) in arrivals.iter().zip(at_page.into_iter().zip(at_own)).enumerate() {
        let Arrival { change, tokens, identity, .. } = arrival;
        let is_of = |found: &Option<Found>| found.as_ref().map(|found| found.source == Some(source));
        let (page_is_ours, own_is_ours) = (is_of(&page), is_of(&own));
        // The address that the entry has if it has no post yet, or its address changes.
        let (url, is_ours) = if identity.is_shared || page_is_ours == Some(true) {
            (&*identity.own, own_is_ours)
        } else {
            (&*identity.page, page_is_ours)
        };
        let mut claim = |found: Option<Found>, is_own: bool| {
            let Found { post, entry, .. } = found.filter(|found| found.source == Some(source))?;
            (is_own || arrival.is_at_page(&post, entry))
                .then_some(post)
                .filter(|post| claimed.insert(post.key))
        };
        let old = by_entry[at].take().or_else(|| claim(own, true)).or_else(|| claim(page, false));
        let Some(old) = old else {
            let may_arrive = !arrival.is_known && removed[at].is_none() && is_ours.is_none();
            let address = draft::address(url).filter(|_| may_arrive && taken.insert(url));
            arrived.push(match (address, is_ours) {
                (Some(address), _) => {
                    // Until it is inserted.
                    new.push((at, Content { address, ..change.of_new(clock.now())? }, Arc::clone(tokens)));
                    Arrived::LeftOut
                }
                (None, Some(false)) => Arrived::NotOwn,
                (None, _) => Arrived::Skipped,
            });
            continue;
        };
        known.push([old.key.into(), identity.key.into()]);
        let mut content = change.texts_onto(&old.content);
        let before = place(&old.content.address.url);
        let has_moved = [&identity.page, &identity.own].into_iter().all(|url| place(url) != before);
        if is_ours.is_none() && has_moved && taken.insert(url) {
            content.address = draft::address(url).unwrap_or(content.address);
        }
        if content == old.content {
            arrived.push(Arrived::Skipped);
        } else {
            rows::update(tx, admin, &old, &content, Some(Arc::clone(tokens)), &mut derived)?;
            arrived.push(Arrived::Updated);
        }
    }
    run_each(tx, "UPDATE post_source SET entry = $2 WHERE post = $1", &known)?;
    // The newest are last.
    let new = new.split_off(new.len().saturating_sub(room));
    let ids: Vec<String> = new.iter().map(|_| ObjectId::new(clock).to_string()).collect();
    let mut posts = Vec::with_capacity(new.len());
    for ((_, content, tokens), id) in new.iter().zip(&ids) {
        posts.push(New { id, content, tokens: Arc::clone(tokens), view: 0, fav: 0 });
    }
    let posts = rows::insert(tx, admin, &posts, &mut derived)?;
    let mut links = Vec::with_capacity(posts.len());
    for (((at, content, _), id), post) in new.into_iter().zip(ids).zip(posts) {
        links.push([post.into(), source.into(), arrivals[at].identity.key.into()]);
        arrived[at] = Arrived::Inserted { id, title: content.title };
    }
    run_each(tx, "INSERT INTO post_source (post, source, entry) VALUES ($1, $2, $3)", &links)?;
    if arrived.iter().any(|one| matches!(one, Arrived::Inserted { .. } | Arrived::Updated)) {
        derived.write(tx)?;
    }
    Ok(arrived)
}

/// Those on the host of `url`.
pub(crate) fn adopt(tx: &mut dyn Tx, _: &Admin<'_>, source: SourceKey, url: &str) -> Result<()> {
    let Some(draft::Address { host, .. }) = draft::address(url) else { return Ok(()) };
    let sql = "INSERT INTO post_source (post, source) SELECT p.key, CAST($1 AS bigint) FROM post p
               WHERE p.host = $2 AND NOT EXISTS (SELECT 1 FROM post_source o WHERE o.post = p.key) RETURNING post";
    let adopted = tx.rows(sql, &[source.into(), (&host).into()])?.into_iter().map(|mut row| row.take(0));
    change::add_each(tx, &adopted.collect::<Result<Vec<PostKey>, _>>()?)?;
    tx.touch(Topic::PostTexts);
    Ok(())
}

/// Returns their number.
pub(crate) fn remove(tx: &mut dyn Tx, admin: &Admin<'_>, source: SourceKey, most: usize) -> Result<usize> {
    let (posts, mut derived) = (rows::of_source(tx, source, most)?, DerivedChanges::default());
    for post in &posts {
        rows::remove(tx, admin, post, &mut derived)?;
    }
    if !posts.is_empty() {
        derived.write(tx)?;
    }
    Ok(posts.len())
}
