//! Imports views, likes, searches and opened newsfeeds with their times. They count like acts in this service, but have no line in
//! the access log; of several likes of a post by a member, the earliest counts. Member, kind, object and time identify an act, so
//! files can overlap, and acts can be in any order.

use std::io::BufRead;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::{Admin, Caller, fold};
use crate::audit::trail::Action;
use crate::base::clock;
use crate::base::clock::Timestamp;
use crate::base::config::Bounds;
use crate::base::text;
use crate::import::{self, BatchTime, Import, Item, Kind, MoveReport, Progress, Report, Written};
use crate::newsfeed;
use crate::post;
use crate::record::error::Result;
use crate::record::operation::{Access, Failure, JSON_LINES, Media, Spec, Stream, Work};
use crate::record::schema::ImportType;
use crate::record::scope::Scope;
use crate::search::{ListedSearch, Search};
use crate::store::Tx;
use crate::words::SEARCH_RULE;

#[cfg(test)]
mod tests;
mod write;

use write::Writer;

/// Import acts of members
///
/// Acts are views, likes, searches and opened newsfeeds in another system. The body, up to {import}, has one JSON object on each
/// line, or is one array of such objects. Each act counts once: an act that was imported before is skipped. An invalid line is
/// reported and does not stop the import. If the database fails during the import, the response is `internal error` as that of
/// `/import_members`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ImportActs {}

impl Stream for ImportActs {
    type Line = ActLine;
    type Answer = MoveReport;
    const SPEC: Spec = Spec::post("admin", "/import_acts", Access::Admins(Scope::ActsImport))
        .works(Work::Long)
        .or(&[Failure::Import]);
    const TAKES: &'static [Media] = JSON_LINES;
}

impl Import for ImportActs {
    const UPDATES: bool = false;
    const EMPTY: &'static str = "the body is missing: send an act on each line";

    fn import(
        self,
        tidings: &Tidings,
        caller: &Caller,
        input: impl BufRead,
        progress: Progress<'_>,
    ) -> Result<Report> {
        import::check::<ActImport>(tidings, caller)?;
        // The log must be complete, because the visits of a day are computed from it.
        tidings.analysis().flush()?;
        let acts = ActImport::new(tidings);
        let report = import::run(tidings, caller, acts, lines(tidings, input), progress)?;
        if report.inserted > 0 {
            newsfeed::learn_from_import(tidings, report.inserted)?;
        }
        Ok(report)
    }
}

import::fields! {
/// An act of a member in another system, as a line of an import.
#[derive(ToSchema)]
#[schema(as = ActLineFields)]
pub struct ActLine {
    /// The id of the member.
    #[schema(value_type = String, max_length = 1_000, examples("ann"))]
    "id" id: String = Text,
    /// `view`, `like`, `search` or `newsfeed`.
    #[schema(rename = "type", value_type = ImportType)]
    "type" kind: String = Text,
    /// The URL of the post, of a view and of a like.
    #[schema(max_length = 2_000, examples("https://news.example.org/eclipse"))]
    "url" url: String = Text,
    /// The text of a search.
    #[schema(max_length = 200, examples("eclipse"))]
    "search" search: String = Text,
    /// The name of an opened newsfeed.
    #[schema(max_length = 100, examples("science"))]
    "newsfeed_name" newsfeed_name: String = Text,
    /// The date of the act, RFC 3339.
    #[schema(value_type = String, max_length = 100, examples("2026-11-20T08:36:00Z"))]
    "date" date: String = Text,
}}

const NEWSFEED: Bounds = post::NAME;

const ID_MISSING: &str = "id is missing: it identifies the member";
const TYPE_RULE: &str = "type is view, like, search or newsfeed";
const URL_MISSING: &str = "url is missing: it identifies the post";
const SEARCH_MISSING: &str = "search is missing: it is the text of the search";
const NEWSFEED_RULE: &str = "newsfeed_name is 1 to 100 characters on one line";
const DATE_MISSING: &str = "date is missing: it is the time of the act";
const DATE_RULE: &str = "date is written like 2026-11-20T08:36:00Z, from 1970 on";
const FUTURE: &str = "date is in the future";

const EXAMPLE: &str = "an act is written as {\"id\": …, \"type\": \"view\", \"url\": …, \"date\": …}, or with search or newsfeed_name";

pub(crate) fn lines(tidings: &Tidings, input: impl BufRead) -> impl Iterator<Item = Result<Item<Line>>> {
    import::json(input, move |number, text| {
        Line::check(tidings, number, import::parse_fields(text, EXAMPLE)?)
    })
}

pub(crate) struct ActImport {
    calendar: Arc<crate::analysis::calendar::Calendar>,
    pub(crate) clock: clock::Clock,
}

pub(crate) struct Line {
    pub(crate) number: u64,
    /// In lower case.
    pub(crate) member: String,
    pub(crate) at: Timestamp,
    pub(crate) act: Act,
}

pub(crate) enum Act {
    /// Of the post with this address.
    View(String),
    /// Of the post with this address.
    Like(String),
    /// A recorded search.
    Search(ListedSearch),
    /// With its tags.
    Newsfeed { name: String, tags: Vec<String> },
}

impl ActImport {
    pub(crate) fn new(tidings: &Tidings) -> Self {
        Self { calendar: Arc::clone(&tidings.analysis().calendar), clock: tidings.clock().clone() }
    }

    /// Ignores the time limit of a batch. The acts are arranged. Returns the number of new acts.
    #[cfg(feature = "demo")]
    pub(crate) fn write_all(&self, tx: &mut dyn Tx, admin: &Admin<'_>, lines: &[Line]) -> Result<u64> {
        Ok(self.write(tx, admin, lines, &BatchTime::unlimited())?.inserted)
    }
}

impl Line {
    fn check(tidings: &Tidings, number: u64, fields: ActLine) -> Result<Self, String> {
        let ActLine { id, kind, url, search, newsfeed_name, date } = fields;
        let member = fold(&id.ok_or(ID_MISSING)?);
        let at =
            Timestamp::parse(&date.ok_or(DATE_MISSING)?).filter(|at| at.as_millis() >= 0).ok_or(DATE_RULE)?;
        if at > tidings.now() {
            return Err(FUTURE.to_owned());
        }
        let url = || url.map(|url| url.trim().to_owned()).ok_or(URL_MISSING);
        let act = match kind.as_deref() {
            Some("view") => Act::View(url()?),
            Some("like") => Act::Like(url()?),
            Some("search") => {
                let search =
                    Search::new(&search.ok_or(SEARCH_MISSING)?).map_err(|_| SEARCH_RULE.message())?;
                Act::Search(search.listed(tidings).map_err(|error| error.to_string())?)
            }
            Some("newsfeed") => {
                let name = newsfeed_name.and_then(|name| text::line(&name, NEWSFEED)).ok_or(NEWSFEED_RULE)?;
                let opened = newsfeed::opened_at(tidings, &name, at);
                let (name, tags) = opened.map_err(|error| error.to_string())?;
                Act::Newsfeed { name, tags }
            }
            _ => return Err(TYPE_RULE.to_owned()),
        };
        Ok(Self { number, member, at, act })
    }
}

impl Kind for ActImport {
    type Operation = ImportActs;
    type Line = Line;
    const BATCH: usize = 2_000;
    const ACTION: Action = Action::ActImport;
    const SCOPE: Scope = Scope::ActsImport;

    /// Sorts by member and day, so that the visits of each day are computed once.
    fn arranged(&self, batch: Vec<Line>) -> Vec<Line> {
        let day = |line: Line| (self.calendar.local_hour(line.at).day, line);
        let mut lines: Vec<(i64, Line)> = batch.into_iter().map(day).collect();
        // The sort is stable, so the acts of a day stay in order.
        lines.sort_by(|(day_a, a), (day_b, b)| (&a.member, day_a).cmp(&(&b.member, day_b)));
        lines.into_iter().map(|(_, line)| line).collect()
    }

    fn write(&self, tx: &mut dyn Tx, admin: &Admin<'_>, batch: &[Line], time: &BatchTime) -> Result<Written> {
        Writer::new(self, admin).write(tx, batch, time)
    }
}
