use tidings_core::check::{self, CancelFlag, Checks, Context, Remedy};
use tidings_core::{Error, Location, StoreError};

use crate::failure::{self, cannot_open};
use crate::prelude::*;
use crate::progress;
use crate::session::{confirm, operator};

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

pub(crate) fn run(global: &Global, Check { repair, yes }: &Check) -> Exit {
    let operator = operator(global)?;
    let settings = global.settings()?;
    let database = global.location(&settings);
    let out = Output::new(global);
    let config = settings.core_with(|name| USED.contains(&name))?;
    let context =
        Context { key: config.token_key_file.as_deref(), others: Some(&config), ..Context::default() };
    let failed = |error| failed(&database, error);
    let check = |stop: &CancelFlag| {
        let checks =
            progress::of_parts("checking", |show| check::check(operator, &database, &context, show, stop));
        checks.map_err(failed)
    };
    // A check that changes nothing needs no handler for Ctrl-C.
    let mut checks = check(&CancelFlag::default())?;
    if *repair {
        // Scripts need --yes even if nothing is wrong, so that a missing --yes is noticed on the first run.
        let what = if checks.repairable() { format!(": {}", wrong(&checks)) } else { String::new() };
        if checks.repairable() || out.is_for_programs() || !crate::output::is_interactive() {
            confirm(&out, *yes, &format!("repair {database}{what}"))?;
        }
        if checks.repairable() {
            let stop = progress::stop()?;
            progress::of_parts("repairing", |show| check::repair(operator, &database, show, &stop))
                .map_err(failed)?;
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
