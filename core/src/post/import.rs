//! Many posts at once, from a file or another system.

use std::io::BufRead;
use std::time::Instant;

use serde::Serialize;

use super::draft::TITLE_MISSING;
use super::rows::{self, DerivedChanges, New};
use super::token_fields::TokenFields;
use crate::Tidings;
use crate::account::{Admin, Caller};
use crate::answer::LineError;
use crate::clock::Clock;
use crate::error::Result;
use crate::id::ObjectId;
use crate::import::{self, About, BATCH_TIME, Kind, Progress, Tally, Written};
use crate::store::Tx;

mod columns;
mod feed;
mod line;

pub use feed::FEED_MAX;
use line::Line;

/// What an import did.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportReport {
    /// Posts that were new.
    pub inserted: u64,
    /// Posts that changed.
    pub updated: u64,
    /// Posts that were the same already.
    pub skipped: u64,
    /// Lines that were left out, the first 1,000 of them, in order; when there are more, a last entry says how
    /// many.
    pub errors: Vec<LineError>,
    /// What is told to people besides.
    #[serde(skip)]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub about: About,
}

/// How posts are written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line (NDJSON), or one JSON array of them, which the first byte tells.
    Json,
    /// Values with commas between, under a line that names the fields.
    Csv,
    /// An RSS, Atom or JSON feed.
    Feed,
}

impl Format {
    /// The format of a file by its name, else by how it begins.
    pub fn of(name: &str, head: &[u8]) -> Self {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
        match extension.as_deref() {
            Some("jsonl" | "ndjson") => Self::Json,
            Some("csv") => Self::Csv,
            Some("rss" | "atom" | "xml") => Self::Feed,
            _ => Self::beginning(head),
        }
    }

    fn beginning(head: &[u8]) -> Self {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        // Every version of JSON Feed is named by an address there.
        let names_a_feed = || head.windows(JSON_FEED.len()).any(|part| part == JSON_FEED);
        match head.first() {
            Some(b'<') => Self::Feed,
            Some(b'{') if names_a_feed() => Self::Feed,
            Some(b'{' | b'[') | None => Self::Json,
            Some(_) => Self::Csv,
        }
    }
}

const JSON_FEED: &[u8] = b"jsonfeed.org/version/";

/// Imports posts in JSON ([`Format::Json`]).
///
/// The fields are those of [`Draft`](super::Draft), and of a post that is exported: `_id`, `view` and `fav_cnt`,
/// which a new post takes over. Others are ignored. `topic` and `tag` may also be one text with commas. `null`
/// stands for an empty text, an empty list, no end.
///
/// The url tells which post a line is: one that is there is updated with the fields that the line gives, and
/// keeps its id, its views and its likes; one that is the same already is not written. A line that breaks a rule
/// is reported and stops no other. Views and likes that are taken over have no dates, so they count, but do not
/// make a post popular.
///
/// The input is read as a stream. What is written is written in batches that let others write in between, so an
/// import that ends early leaves what came before; doing it again does no harm. `progress` is told how many
/// records were dealt with, batch by batch, and may stop it.
///
/// # Errors
/// `bad token`, `Not admin`; [`Error::Input`](crate::Error::Input) when the input cannot be read to its end;
/// `overloaded`.
pub fn import(
    tidings: &Tidings,
    caller: &Caller,
    input: impl BufRead,
    progress: Progress<'_>,
) -> Result<ImportReport> {
    import_as(tidings, caller, Format::Json, input, progress)
}

/// As [`import()`], of posts in any format.
///
/// The columns of CSV have the names of the fields. An empty value of `post`, `img`, `topic`, `tag` and `end_date` is
/// an empty one, of the others none; names in a list have commas or semicolons between.
///
/// Of the entries of a feed, the address is the url, the categories are the tags, and of the texts the longest is
/// kept, without its markup. An entry without a title is called by how its text begins. A feed is read whole, up to
/// [`FEED_MAX`] bytes.
///
/// # Errors
/// As [`import()`]; `bad request` for a feed that is none or too long.
pub fn import_as(
    tidings: &Tidings,
    caller: &Caller,
    format: Format,
    input: impl BufRead,
    progress: Progress<'_>,
) -> Result<ImportReport> {
    let posts = Posts { clock: tidings.clock().clone() };
    let tally = match format {
        Format::Json => import::run(tidings, caller, posts, import::json(input, Line::parse), progress),
        Format::Csv => {
            let parse = |number, names: &[String], values: &csv::StringRecord| {
                Line::new(number, columns::fields(names, values)?)
            };
            let mut lines = import::csv::lines(input, columns::COLUMNS, parse);
            let tally = import::run(tidings, caller, posts, &mut lines, progress);
            tally.map(|tally| tally.with_unknown(lines.into_unknown()))
        }
        Format::Feed => {
            let entries = feed::entries(input)?;
            import::run(tidings, caller, posts, entries, progress)
        }
    };
    let Tally { inserted, updated, skipped, errors, about } = tally?;
    Ok(ImportReport { inserted, updated, skipped, errors, about })
}

/// Reads the posts of an input. Each, as an export would write it, is the same when it is read again.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_lines(format: Format, input: &[u8]) -> import::Read {
    let now = crate::clock::Timestamp::default();
    let again = |line: Line| {
        let Line { change, id, view, fav, .. } = line;
        let Ok(content) = change.into_new(now) else { return };
        let written = content.exported(id.as_deref(), view, fav);
        let json = serde_json::to_vec(&written).expect("texts and numbers");
        let read = Line::parse(1, &json).unwrap_or_else(|reason| panic!("{reason}: {written}"));
        assert_eq!((read.id, read.view, read.fav), (id, view, fav), "{written}");
        assert_eq!(read.change.into_new(now).ok().as_ref(), Some(&content), "{written}");
    };
    match format {
        Format::Json => import::read_all(import::json(input, Line::parse), again),
        Format::Csv => {
            let parse = |number, names: &[String], values: &csv::StringRecord| {
                Line::new(number, columns::fields(names, values)?)
            };
            import::read_all(import::csv::lines(input, columns::COLUMNS, parse), again)
        }
        Format::Feed => feed::entries(input)
            .map_or_else(|_| import::Read::default(), |entries| import::read_all(entries, again)),
    }
}

/// Posts, as an import writes them.
struct Posts {
    clock: Clock,
}

impl Kind for Posts {
    type Line = Line;
    const BATCH: usize = 500;

    fn write(&self, tx: &mut dyn Tx, admin: &Admin<'_>, batch: Vec<Line>) -> Result<Written<Line>> {
        let began = Instant::now();
        let (mut written, mut derived) = (Written::default(), DerivedChanges::default());
        let mut lines = batch.into_iter();
        for line in lines.by_ref() {
            write_line(tx, admin, &self.clock, line, &mut written, &mut derived)?;
            if began.elapsed() > BATCH_TIME {
                break;
            }
        }
        written.left = lines.collect();
        if written.inserted + written.updated > 0 {
            derived.write(tx)?;
        }
        Ok(written)
    }
}

fn write_line(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    clock: &Clock,
    line: Line,
    written: &mut Written<Line>,
    derived: &mut DerivedChanges,
) -> Result<()> {
    let Line { number, url, change, tokens, id, view, fav } = line;
    if let Some(old) = rows::by_url(tx, &url)? {
        let new = change.onto(&old.content);
        if new == old.content {
            written.skipped += 1;
        } else {
            rows::update(tx, admin, &old, &new, tokens, derived)?;
            written.updated += 1;
        }
        return Ok(());
    }
    let refused = match &id {
        _ if change.title.is_none() => Some(TITLE_MISSING),
        Some(id) if rows::has_id(tx, id)? => Some("another post has this _id: leave it out for a new one"),
        _ => None,
    };
    if let Some(reason) = refused {
        written.refuse(number, reason);
        return Ok(());
    }
    let content = change.into_new(clock.now())?;
    let id = id.unwrap_or_else(|| ObjectId::new(clock).to_string());
    let tokens = tokens.unwrap_or_else(|| TokenFields::of(&content.title, &content.post));
    rows::insert(tx, admin, New { id: &id, content: &content, tokens, view, fav }, derived)?;
    written.inserted += 1;
    Ok(())
}

#[cfg(test)]
mod tests;
