use tidings_core::answer::SUCCESS;
use tidings_core::audit::{self, AuditRecord, Head};

use crate::atomic_file::Readers;
use crate::export;
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// List what was done, latest first
    #[command(
        after_help = "Examples:\n  tidings audit list --action member\n  tidings audit list --actor ann --ndjson"
    )]
    List(Filter),
    /// Verify that no record was changed, inserted or removed
    #[command(
        after_help = "It prints the latest record as NUMBER:HASH. Keep that elsewhere, and give it as --head later: only then \
                      a trail that was replaced as a whole is found.\n\nExample: tidings audit verify --head 12:9f86d0…"
    )]
    Verify {
        /// A record that an earlier verification printed
        #[arg(long, value_name = "NUMBER:HASH")]
        head: Option<Head>,
    },
    /// Write all records to a file, earliest first, one JSON object per line
    #[command(after_help = "Example: tidings audit export audit.jsonl")]
    Export {
        /// The file, or - for standard output
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only this action, such as notice.insert, or all of a kind, such as notice
    #[arg(long, value_name = "A")]
    action: Option<String>,
    /// Only acts of this member, key, operator or service
    #[arg(long, value_name = "ID", allow_hyphen_values = true, add = ids(Kind::Member))]
    actor: Option<String>,
    /// Only acts on this member or record
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    on: Option<String>,
    /// Only records before this number
    #[arg(long, value_name = "N")]
    before: Option<i64>,
    /// The maximum number of records, up to 1000 without --ndjson [default: 100, with --ndjson all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    limit: Option<i64>,
}

impl Filter {
    fn query(&self) -> audit::List {
        let Self { action, actor, on, before, limit } = self;
        let (action, actor, subject) = (action.clone(), actor.clone(), on.clone());
        audit::List { before: *before, limit: *limit, action, actor, subject }
    }
}

pub(crate) fn run(session: &Session, command: &Audit) -> Exit {
    let Session { service, out } = session;
    match command {
        Audit::List(filter) => list(session, filter),
        Audit::Verify { head } => {
            let verified = service.call(audit::Verify { head: head.as_ref().map(ToString::to_string) })?;
            if let Some(fault) = &verified.fault {
                // The object that HTTP sends, and a status for scripts.
                return out.answer_with_result(SUCCESS, &verified, |page| {
                    let line =
                        format!("The audit trail is not intact: record {}: {}", fault.seq, fault.reason);
                    page.styled(Style::Bad, line);
                });
            }
            out.answer(&verified, |page| {
                page.line(format!("{} records are intact.", number(verified.records.unsigned_abs())));
                page.line(format!("{}:{}", verified.seq, verified.hash));
            })
        }
        Audit::Export { file } => export::run(
            session,
            file,
            ("records", Readers::Owner),
            |take| service.export_lines(&audit::ExportTrail {}, take),
            |records| format!("{} records exported", number(records)),
        ),
    }
}

fn list(session: &Session, filter: &Filter) -> Exit {
    let Session { service, out } = session;
    let query = filter.query();
    if out.streams() {
        return stream_pages(query.limit, query.before, |before, left| {
            let limit = Some(left.min(audit::RECORDS_MAX));
            let page = service.call(audit::List { before, limit, ..query.clone() })?;
            Ok((page.audit, page.next))
        });
    }
    let found = service.call(query.clone())?;
    out.answer(&found, |page| {
        let table = Table::of(&found.audit)
            .number("No.", |record| record.seq.to_string())
            .whole(dated("Date"), |record| local(record.date))
            .whole("Who", |AuditRecord { actor_kind, actor, .. }| match actor_kind.as_str() {
                "member" => actor.clone(),
                kind if actor.is_empty() => kind.to_owned(),
                kind => format!("{kind} {actor}"),
            })
            .optional_whole("How", |record| record.surface.clone())
            .whole("Action", |record| record.action.clone())
            .whole("On", |record| record.subject.clone())
            .optional_text("Before and after", |record| match (&*record.before, &*record.after) {
                ("", change) | (change, "") => change.to_owned(),
                (before, after) => format!("{before} → {after}"),
            });
        let is_filtered = [&query.action, &query.actor, &query.subject].iter().any(|part| part.is_some());
        let is_whole = !is_filtered && query.before.is_none();
        page.table(&table, if is_whole { "Nothing was done yet." } else { "No record matches." });
        if let Some(next) = found.next {
            page.note(&format!("There are more: --before {next}, or --ndjson prints them all"));
        }
    })
}
