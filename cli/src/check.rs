//! `tidings check`: checks the integrity of the database.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use tidings_core::account::Operator;
use tidings_core::check::{self, CancelFlag, Checks, Context, Remedy};
use tidings_core::{Error, Location, StoreError};

use crate::database;
use crate::failure::{self, Failure, cannot_open};
use crate::global::Global;
use crate::interrupt;
use crate::output::{Output, Page, Style};
use crate::session::{confirm, operator};
use crate::settings::Settings;

/// The settings that the checks use. A fault in a different setting does not prevent the checks.
const USED: [&str; 10] = [
    "token-key-file",
    "smtp-url",
    "smtp-password-file",
    "mail-from",
    "extra-ca",
    "public-url",
    "oidc-issuer",
    "oidc-client-id",
    "oidc-client-secret-file",
    "oidc-pages",
];

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Repair wrong counters and the search index, in small steps while other processes use the database
    #[arg(long)]
    repair: bool,
    /// Do not ask
    #[arg(long, requires = "repair")]
    yes: bool,
}

pub(crate) fn run(global: &Global, Check { repair, yes }: &Check) -> Result<ExitCode, Failure> {
    let operator = operator(global)?;
    let settings = Settings::default().complete(global.config.as_deref())?;
    let database = database::location(global, &settings);
    let out = Output::new(global);
    let config = settings.core_with(|name| USED.contains(&name))?;
    let context =
        Context { key: config.token_key_file.as_deref(), others: Some(&config), ..Context::default() };
    let check = |stop: &CancelFlag| run_checks(operator, &database, &context, stop);
    // A check that changes nothing needs no handler for Ctrl-C.
    let mut checks = check(&CancelFlag::default())?;
    if *repair {
        // Scripts need --yes even if nothing is wrong, so that a missing --yes is noticed on the first run.
        let what = if checks.repairable() { format!(": {}", wrong(&checks)) } else { String::new() };
        if checks.repairable() || out.is_for_programs() || !crate::output::is_interactive() {
            confirm(&out, *yes, &format!("repair {database}{what}"))?;
        }
        if checks.repairable() {
            let stop = interrupt::stop()?;
            run_repair(operator, &database, &stop)?;
            checks = check(&stop)?;
        }
    }
    if checks.ok() {
        return out.list(&checks, &checks.checks, |page| show(page, &checks));
    }
    if out.streams() {
        // The same lines as for a database without faults.
        out.list(&checks, &checks.checks, |_| {})?;
        return Ok(ExitCode::from(failure::REFUSED));
    }
    out.answer_with_result("fail", &checks, |page| show(page, &checks))
}

fn wrong(checks: &Checks) -> String {
    let wrong = checks.checks.iter().filter(|check| !check.ok).map(|check| readable(check.name));
    wrong.collect::<Vec<_>>().join(", ")
}

fn run_checks(
    operator: Operator,
    database: &Location,
    context: &Context<'_>,
    stop: &CancelFlag,
) -> Result<Checks, Failure> {
    let spinner = Spinner::new();
    let checks = check::check(operator, database, context, &mut |name| spinner.show("checking", name), stop);
    spinner.0.finish_and_clear();
    checks.map_err(|error| failed(database, error))
}

fn run_repair(operator: Operator, database: &Location, stop: &CancelFlag) -> Result<(), Failure> {
    let spinner = Spinner::new();
    let repaired = check::repair(operator, database, &mut |name| spinner.show("repairing", name), stop);
    spinner.0.finish_and_clear();
    repaired.map_err(|error| failed(database, error))
}

fn failed(database: &Location, error: Error) -> Failure {
    match error {
        Error::Store(StoreError::Interrupted) => {
            Failure::interrupted("interrupted: completed repairs are kept, the rest is unchanged")
        }
        error => cannot_open(database, &error),
    }
}

fn show(page: &mut Page, checks: &Checks) {
    let widest = checks.checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
    for check in &checks.checks {
        let (style, sign) = if check.ok { (Style::Plain, "✓ ok   ") } else { (Style::Bad, "✗ wrong") };
        let command = match check.remedy {
            None => "",
            Some(Remedy::Repair) => ": tidings check --repair",
            Some(Remedy::Restore) => ": tidings restore FILE",
        };
        page.styled(style, format!("{sign}  {:widest$}  {}{command}", readable(check.name), check.detail));
    }
}

fn readable(name: &str) -> String {
    name.replace('_', " ")
}

struct Spinner(ProgressBar);

impl Spinner {
    fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
        let spinner = ProgressBar::new_spinner().with_style(style.expect("the template is well-formed"));
        spinner.enable_steady_tick(std::time::Duration::from_millis(100));
        Self(spinner)
    }

    fn show(&self, what: &str, name: &str) {
        self.0.set_message(format!("{what} {}", readable(name)));
    }
}
