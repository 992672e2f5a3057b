//! The import of posts from a file or another system.

use std::collections::HashSet;
use std::io::BufRead;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::draft::{Draft, TITLE_MISSING};
use super::rows::{self, DerivedChanges, New};
use super::token_fields::TokenFields;

use crate::Tidings;
use crate::account::{Admin, Caller};
use crate::audit::trail::Action;
use crate::base::clock::Clock;
use crate::import::{self, BatchTime, Import, Kind, Progress, Report, Written};
use crate::record::answer::LineError;
use crate::record::error::Result;
use crate::record::id::ObjectId;
use crate::record::operation::{Access, CSV, Failure, Form, JSON, Media, NDJSON, Spec, Stream, Work};
use crate::record::scope::Scope;
use crate::store::Tx;

mod feed;
mod line;

pub use feed::FEED_MAX;
pub(crate) use feed::{date_fault, draft as entry_draft};
use line::Line;

/// Import posts
///
/// The body, up to {import}, has one JSON object with the fields of a post on each line, or is one array of such objects.
/// It can also be CSV, after a line with the names of the fields, or an RSS, Atom or JSON feed. The `url` identifies a post: a
/// new post is inserted, and an existing post gets the given fields. An invalid line is
/// reported and does not stop the import. If the database fails during the import, the response is `internal error` with
/// the numbers of posts `inserted`, `updated` and `skipped` so far; the same import can then be repeated and continues
/// from there.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ImportPosts {
    /// The format of the body, which its media type tells.
    #[serde(skip)]
    pub format: Format,
    /// The charset of the body, which its media type may tell. It is for feeds.
    #[serde(skip)]
    pub charset: Option<String>,
}

impl Stream for ImportPosts {
    type Line = PostLine;
    type Answer = ImportReport;
    const SPEC: Spec = Spec::post("post", "/import_posts", Access::Admins(Scope::PostsImport))
        .works(Work::Long)
        .or(&[Failure::Import]);
    const TAKES: &'static [Media] = &[
        Media { name: NDJSON, form: Form::Lines },
        Media { name: JSON, form: Form::Array },
        Media { name: CSV, form: Form::Text },
        Media { name: "application/feed+json", form: Form::Text },
        Media { name: "application/rss+xml", form: Form::Text },
        Media { name: "application/atom+xml", form: Form::Text },
    ];
}

impl Format {
    /// Returns the format of a media type that an import takes.
    pub fn of_media_type(media_type: &[u8]) -> Self {
        let is = |name: &str| media_type.eq_ignore_ascii_case(name.as_bytes());
        let known = ImportPosts::TAKES.iter().find(|media| is(media.name));
        match known.map_or(JSON, |media| media.name) {
            NDJSON | JSON => Self::Json,
            CSV => Self::Csv,
            _ => Self::Feed,
        }
    }
}

/// A post of an import: the fields of a post, and others of an exported post.
#[derive(ToSchema)]
#[schema(as = PostLineFields)]
#[expect(dead_code, reason = "the fields are for the document only")]
pub struct PostLine {
    #[serde(flatten)]
    post: Draft,
    /// The URL, http or https, {post-url} characters, which identifies the post.
    #[schema(examples("https://news.example.org/eclipse"))]
    url: String,
    /// The `_id` of a new post; a new one by default. An existing post keeps its own.
    #[schema(pattern = "^[0-9a-fA-F]{24}$", examples("6b0039acd7c34f1e5b2e91a7"))]
    _id: Option<String>,
    /// The views of a new post; 0 by default. An existing post keeps its own.
    #[schema(minimum = 0, maximum = 9_007_199_254_740_992_i64, examples(7))]
    view: Option<i64>,
    /// The likes of a new post; 0 by default. An existing post keeps its own.
    #[schema(minimum = 0, maximum = 9_007_199_254_740_992_i64, examples(7))]
    fav_cnt: Option<i64>,
}

/// The result of an import.
#[derive(ToSchema)]
pub struct ImportReport {
    /// The number of new posts.
    pub inserted: u64,
    /// The number of changed posts.
    pub updated: u64,
    /// The number of unchanged posts.
    pub skipped: u64,
    /// The first 1,000 rejected lines, in order. If there are more, a last entry has their number.
    pub errors: Vec<LineError>,
    /// What was wrong with a feed and with entries that were read anyway, for people; only if there is something. The first
    /// 1,000; if there are more, a last entry has their number.
    #[schema(
        max_items = 1_001,
        examples("entry 2: the date cannot be read: a new post gets the time of the import")
    )]
    pub warnings: Option<Vec<String>>,
}

/// The format of a file of posts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line (NDJSON), or one JSON array of objects; the first byte decides.
    #[default]
    Json,
    /// Comma-separated values, after a line with the names of the fields.
    Csv,
    /// An RSS, Atom or JSON feed.
    Feed,
}

impl Format {
    /// Determines the format of a file from its name, or else from its first bytes.
    pub fn of(name: &str, head: &[u8]) -> Self {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
        match extension.as_deref() {
            Some("jsonl" | "ndjson") => Self::Json,
            Some("csv") => Self::Csv,
            Some("rss" | "atom" | "xml") => Self::Feed,
            _ => {
                let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
                // A JSON Feed names its version with this address.
                let names_a_feed = || head.windows(JSON_FEED.len()).any(|part| part == JSON_FEED);
                match head.first() {
                    Some(b'<') => Self::Feed,
                    Some(b'{') if names_a_feed() => Self::Feed,
                    Some(b'{' | b'[') | None => Self::Json,
                    Some(_) => Self::Csv,
                }
            }
        }
    }
}

const JSON_FEED: &[u8] = b"jsonfeed.org/version/";

/// Imports posts in JSON ([`Format::Json`]).
///
/// # Errors
/// Those of [`Import::import`].
pub fn import(
    tidings: &Tidings,
    caller: &Caller,
    input: impl BufRead,
    progress: Progress<'_>,
) -> Result<Report> {
    ImportPosts::default().import(tidings, caller, input, progress)
}

/// The url identifies the post of a line. An existing post is updated with the fields of the line, and keeps its id, its views and
/// its likes. Imported views and likes have no dates, so they count, but do not make a post popular. In JSON, `topic` and `tag`
/// can also be one text with commas. `null` means an empty text, an empty list or no end date. The columns of CSV have the names
/// of the fields. An empty value of `post`, `img`, `topic`, `tag` and `end_date` means an empty field; an empty value of another
/// column means no value. Commas or semicolons separate the names in a list. The address of a feed entry becomes the url, the
/// categories become the tags, and the longest text, without markup, becomes the text. The title of an entry without one is the
/// start of its text, or else its address. An entry whose date is missing, cannot be read or is yet to come has the time of its
/// first import. Of several entries with one address, the newest counts. A feed is read into memory, up to [`FEED_MAX`] bytes. The
/// import fails with `bad request` if it is no feed or too long.
impl Import for ImportPosts {
    const UPDATES: bool = true;
    const EMPTY: &'static str = "the body is missing: send a post on each line";

    fn media_type(&self, head: &[u8]) -> &'static str {
        match self.format {
            Format::Json if head.starts_with(b"[") => JSON,
            Format::Json => NDJSON,
            Format::Csv => CSV,
            // RSS too: the server looks at the beginning.
            Format::Feed if head.starts_with(b"<") => "application/atom+xml",
            Format::Feed => "application/feed+json",
        }
    }

    fn import(
        self,
        tidings: &Tidings,
        caller: &Caller,
        input: impl BufRead,
        progress: Progress<'_>,
    ) -> Result<Report> {
        let posts = Posts { clock: tidings.clock().clone() };
        match self.format {
            Format::Json => import::run(tidings, caller, posts, import::json(input, Line::parse), progress),
            Format::Csv => {
                let mut lines = import::csv::lines(input, line::COLUMNS, Line::of_csv)?;
                import::run(tidings, caller, posts, &mut lines, progress).map(|report| lines.told(report))
            }
            Format::Feed => {
                let feed = feed::read(input, self.charset.as_deref(), tidings.clock().now())?;
                let report = import::run(tidings, caller, posts, feed.items, progress);
                report.map(|report| Report { warnings: feed.warnings, ..report })
            }
        }
    }
}

/// Asserts that each post, written like an export, is the same when it is read again.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_lines(format: Format, input: &[u8]) -> import::Read {
    let now = crate::base::clock::Timestamp::default();
    let again = |line: Line| {
        let Line { change, id, view, fav, .. } = line;
        let Ok(content) = change.of_new(now) else { return };
        let written = content.exported(id.as_deref(), view, fav);
        let json = serde_json::to_vec(&written).expect("texts and numbers serialise without errors");
        let read = Line::parse(1, &json).unwrap_or_else(|reason| panic!("{reason}: {written}"));
        assert_eq!((read.id, read.view, read.fav), (id, view, fav), "{written}");
        assert_eq!(read.change.of_new(now).ok().as_ref(), Some(&content), "{written}");
    };
    match format {
        Format::Json => import::read_all(import::json(input, Line::parse), again),
        Format::Csv => {
            let lines = import::csv::lines(input, line::COLUMNS, Line::of_csv);
            import::read_all(lines.expect("reading from memory does not fail"), again)
        }
        Format::Feed => feed::read(input, None, now)
            .map_or_else(|_| import::Read::default(), |feed| import::read_all(feed.items, again)),
    }
}

struct Posts {
    clock: Clock,
}

impl Kind for Posts {
    type Operation = ImportPosts;
    type Line = Line;
    const BATCH: usize = 2_000;
    const ACTION: Action = Action::PostImport;
    const SCOPE: Scope = Scope::PostsImport;

    fn write(&self, tx: &mut dyn Tx, admin: &Admin<'_>, batch: &[Line], time: &BatchTime) -> Result<Written> {
        let (mut written, mut derived) = (Written::default(), DerivedChanges::default());
        let (at_once, mut rest) = (tx.dialect().records_at_once(), batch);
        while !rest.is_empty() {
            let (lines, others) = rest.split_at(distinct(&rest[..at_once.min(rest.len())]));
            write_lines(tx, admin, &self.clock, lines, &mut written, &mut derived)?;
            if time.is_over() {
                break;
            }
            rest = others;
        }
        if written.inserted + written.updated > 0 {
            derived.write(tx)?;
        }
        Ok(written)
    }
}

/// Returns the number of lines before the first one that has the url or the id of an earlier line.
fn distinct(lines: &[Line]) -> usize {
    if lines.len() == 1 {
        return 1;
    }
    let (mut urls, mut ids) = (HashSet::new(), HashSet::new());
    lines
        .iter()
        .take_while(|line| urls.insert(&line.url) && line.id.as_ref().is_none_or(|id| ids.insert(id)))
        .count()
}

/// With distinct urls and ids.
fn write_lines(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    clock: &Clock,
    lines: &[Line],
    written: &mut Written,
    derived: &mut DerivedChanges,
) -> Result<()> {
    let stored = rows::by_urls(tx, lines.iter().map(|line| &*line.url))?;
    let unknown = lines.iter().zip(&stored).filter(|(_, old)| old.is_none()).map(|(line, _)| line);
    let taken = rows::existing_ids(tx, unknown.filter_map(|line| line.id.as_deref()))?;
    let mut posts = Vec::new();
    for (line, old) in lines.iter().zip(stored) {
        let Line { number, change, tokens, id, view, fav, .. } = line;
        if let Some(old) = old {
            let new = change.onto(&old.content);
            if new == old.content {
                written.skipped += 1;
            } else {
                rows::update(tx, admin, &old, &new, tokens.clone(), derived)?;
                written.updated += 1;
            }
        } else if change.title.is_none() {
            written.refuse(*number, TITLE_MISSING.message());
        } else if id.as_deref().is_some_and(|id| taken.contains(id)) {
            written.refuse(*number, "another post has this _id: leave it out for a new one");
        } else {
            let content = change.of_new(clock.now())?;
            let id = id.clone().unwrap_or_else(|| ObjectId::new(clock).to_string());
            let new = || Arc::new(TokenFields::of(&content.title, &content.post));
            posts.push((id, tokens.clone().unwrap_or_else(new), content, *view, *fav));
        }
    }
    let new: Vec<New<'_>> = posts
        .iter()
        .map(|(id, tokens, content, view, fav)| New {
            id,
            content,
            tokens: Arc::clone(tokens),
            view: *view,
            fav: *fav,
        })
        .collect();
    rows::insert(tx, admin, &new, derived)?;
    written.inserted += posts.len() as u64;
    Ok(())
}

#[cfg(test)]
mod tests;
