//! Imports: what is printed, and the exit status. `tidings act` and `tidings roster` import members' acts and the members of
//! the university.

use std::collections::BTreeMap;
use std::io::BufRead;

use tidings_client::Error;
use tidings_core::account::RosterPage;
use tidings_core::act::ImportActs;
use tidings_core::answer::LineError;
use tidings_core::import::{Import, Report};
use tidings_core::member::ListRoster;
use tidings_core::roster_import::ImportRoster;

use crate::failure::REFUSED;
use crate::prelude::*;
use crate::progress::Watch;

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Strictness {
    /// End with exit status 1 if any line is left out, not only if all are
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(
    session: &Session,
    (things, file): (&str, &Path),
    strictness: Strictness,
    operation: impl Import,
) -> Exit {
    let watch = Watch::start(things);
    let input = watch.open(file)?;
    read(session, &watch, input, strictness, operation)
}

/// An import that took nothing because of errors ends with exit status 1; with `--strict`, any error is enough.
pub(crate) fn read<I: Import>(
    Session { service, out }: &Session,
    watch: &Watch,
    input: impl BufRead,
    Strictness { strict }: Strictness,
    operation: I,
) -> Exit {
    let report = match service.import(operation, input, &mut |done| watch.told(done)) {
        // Ctrl-C came before the first input.
        Err(Error::Core(tidings_core::Error::Input(_))) if watch.is_interrupted() => Report::empty::<I>(),
        Err(Error::Stopped) => {
            return Err(Failure::interrupted(
                "stopped; the server keeps what it has received: run the command again to continue",
            ));
        }
        report => report?,
    };
    let taken = report.inserted + report.updated.unwrap_or_default() + report.skipped;
    // A server reports only the errors.
    let left_out = report.about.left_out.max(report.errors.len() as u64);
    let status = watch.answer(out, &report, |page| describe(page, &report, left_out))?;
    if watch.is_interrupted() || left_out == 0 || (taken > 0 && !strict) {
        return Ok(status);
    }
    let what = if report.about.are_entries { "entries" } else { "lines" };
    let lines = format!("{} of the {what} were", number(left_out));
    out.complain(&if taken == 0 {
        format!("nothing was imported: {lines} left out")
    } else {
        format!("--strict: {lines} left out; the others are imported")
    });
    Ok(ExitCode::from(REFUSED))
}

fn describe(page: &mut Page, report: &Report, left_out: u64) {
    let updated = report.updated.map(|updated| format!("{} updated, ", number(updated)));
    let (inserted, updated) = (number(report.inserted), updated.unwrap_or_default());
    let (skipped, left_out) = (number(report.skipped), number(left_out));
    page.line(format!("{inserted} inserted, {updated}{skipped} already the same, {left_out} left out"));
    let what = if report.about.are_entries { "entry" } else { "line" };
    let errors = report.errors.iter().map(|LineError { line, reason }| format!("{what} {line}: {reason}"));
    few_of_a_kind(page, errors);
    few_of_a_kind(page, report.warnings.iter().cloned());
    for column in &report.about.unknown_columns {
        page.note(&format!("the column {column:?} is not known and is not read"));
    }
}

/// Adds the first notes of each kind, and the number of the others. Notes of a kind differ only in numbers and quoted texts.
fn few_of_a_kind(page: &mut Page, notes: impl Iterator<Item = String>) {
    const FEW: u64 = 10;
    let mut kinds: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for note in notes {
        let unquoted: String = note.split('"').step_by(2).collect();
        let (count, last) = kinds.entry(unquoted.replace(|c: char| c.is_ascii_digit(), "")).or_default();
        *count += 1;
        if *count <= FEW {
            page.note(&note);
        }
        *last = note;
    }
    for (all, last) in kinds.values().filter(|(all, _)| *all > FEW) {
        page.note(&format!("… and {} more of this kind; the last one is {last}", number(all - FEW)));
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// Import views, likes, searches and opened newsfeeds from another system; each counts on the day of its date
    #[command(
        after_help = "Lines:\n  {\"id\": \"ann\", \"type\": \"view\", \"url\": \"https://…\", \"date\": \"2024-03-01T09:00:00Z\"}\n  \
                      {\"id\": \"ann\", \"type\": \"search\", \"search\": \"…\", \"date\": \"…\"}\n\
                      The types: view and like with url, search with search, newsfeed with newsfeed_name\n\
                      Example: tidings act import acts.jsonl"
    )]
    Import {
        /// The file with one JSON object per line or one JSON array, or - for standard input
        file: PathBuf,
        #[command(flatten)]
        strictness: Strictness,
    },
}

pub(crate) fn acts(session: &Session, command: &Act) -> Exit {
    let Act::Import { file, strictness } = command;
    run(session, ("acts", file), *strictness, ImportActs {})
}

#[derive(Debug, Subcommand)]
pub(crate) enum Roster {
    /// Import the roster: CSV with the header id,name,major,password
    #[command(after_help = "Example: tidings roster import members.csv")]
    Import {
        /// The file, or - for standard input
        file: PathBuf,
        #[command(flatten)]
        strictness: Strictness,
    },
    /// List the members on the roster by id
    #[command(after_help = "Example: tidings roster list --ndjson")]
    List,
}

const PAGE: i64 = 1_000;

pub(crate) fn roster(session: &Session, command: &Roster) -> Exit {
    match command {
        Roster::Import { file, strictness } => run(session, ("members", file), *strictness, ImportRoster {}),
        Roster::List => list_roster(session),
    }
}

fn list_roster(session: &Session) -> Exit {
    let page = |after: Option<String>| {
        let RosterPage { roster, next } = session.service.call(ListRoster { limit: Some(PAGE), after })?;
        Ok::<_, Failure>((roster, next))
    };
    if session.out.streams() {
        return stream_pages(None, None, |after, _| page(after));
    }
    let (mut roster, mut next) = page(None)?;
    while next.is_some() {
        let (members, after) = page(next)?;
        roster.extend(members);
        next = after;
    }
    session.out.answer(&BTreeMap::from([("roster", &roster)]), |page| {
        let table = Table::of(&roster)
            .whole("ID", |member| member.id.clone())
            .text("Name", |member| member.name.clone())
            .optional_text("Major", |member| member.major.clone());
        page.table(&table, "The roster is empty: tidings roster import FILE.csv");
    })
}
