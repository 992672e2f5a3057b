//! `tidings analysis report`: the report of a period, as a table, a page or CSV.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tidings_core::analysis::{GetReport, PeriodReport};
use tidings_report::{Place, Table as CsvTable};

use crate::atomic_file::{AtomicFile, Readers, refuse_stdout, unwritable};
use crate::output;
use crate::prelude::*;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The first day [default: 29 days before the last day]
    #[arg(long, value_name = "YYYY-MM-DD")]
    from: Option<String>,
    /// The last day [default: today]
    #[arg(long, value_name = "YYYY-MM-DD")]
    to: Option<String>,
    /// Write the report as an HTML page with charts, or - for standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write each table of the report as a CSV file to this directory
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
}

pub(super) fn run(session: &Session, args: &ReportArgs) -> Exit {
    let to_stdout = args.html.as_deref().is_some_and(|file| file.as_os_str() == "-");
    if to_stdout && session.out.is_for_programs() {
        return Err(Failure::usage(
            "the page and the answer would be mixed: name a file, or leave --json out",
        ));
    }
    let asked = GetReport { from: args.from.clone(), to: args.to.clone() };
    let report = session.service.as_reader().call(asked)?.fields();
    let mut written = Vec::new();
    if let Some(directory) = &args.csv {
        refuse_stdout(directory)?;
        fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))?;
        for table in CsvTable::ALL {
            let file = directory.join(table.file_name());
            write(session, &file, &table.csv(&report))?;
            written.push(file);
        }
    }
    match &args.html {
        Some(_) if to_stdout => {
            let page = tidings_report::page(&report, Place::File);
            output::has_reader(std::io::stdout().lock().write_all(page.as_bytes()))?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(file) => {
            write(session, file, &tidings_report::page(&report, Place::File))?;
            written.push(file.clone());
        }
        None => {}
    }
    session.out.answer(&report, |page| {
        if written.is_empty() {
            figures(page, &report);
        }
        for file in &written {
            page.line(format!("Wrote {}.", file.display()));
        }
    })
}

fn write(session: &Session, path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = AtomicFile::beside(&session.service, path, Readers::Umask)?;
    file.append(text.as_bytes())?;
    file.keep()
}

fn figures(page: &mut Page, report: &PeriodReport) {
    let [visitors, visits, views, likes, searches] = report.sums().map(number);
    page.fields(&[
        ("Period", format!("{} to {} ({})", report.from, report.to, report.zone)),
        ("Visitors", visitors),
        ("Visits", visits),
        ("Views", views),
        ("Likes", likes),
        ("Searches", searches),
        ("Posts", number(report.post_count)),
    ]);
    page.line("");
    let table = Table::of(&report.days)
        .whole("Day", |day| day.date.clone())
        .number("Visitors", |day| number(day.visitor))
        .number("Visits", |day| number(day.visit))
        .number("Views", |day| number(day.view))
        .number("Likes", |day| number(day.like))
        .number("Searches", |day| number(day.search))
        .bars(|day| day.visitor);
    page.table(&table, "");
}
