use std::fs;
use std::io::ErrorKind;

use indicatif::HumanBytes;
use tidings_core::backup::{self, BackupError, By, Report, RevokedAgain};
use tidings_core::clock::Clock;
use tidings_core::{Location, StoreError, Surface};

use crate::atomic_file;
use crate::database;
use crate::input;
use crate::prelude::*;
use crate::progress;
use crate::session::{confirm, operator};
use crate::store;

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The file; an existing backup is replaced, any other existing file is refused
    file: PathBuf,
    /// Leave out what the database file still has of deleted rows
    #[arg(long)]
    compact: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The backup
    file: PathBuf,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(global: &Global, Backup { file, compact }: &Backup) -> Exit {
    let operator = operator(global)?;
    let database = global.location(&global.settings()?);
    atomic_file::refuse_stdout(file)?;
    let backup = if *compact { backup::backup_compact } else { backup::backup };
    let done = progress::of_steps(|show, stop| backup(operator, &database, file, show, stop))?;
    let report = done.map_err(|error| explained(&error, Work::Backup))?;
    Output::new(global).answer(&report, |page| {
        page.line(format!("{} is a backup: {}.", file.display(), figures(&report)));
    })
}

pub(crate) fn restore(global: &Global, Restore { file, yes }: &Restore) -> Exit {
    let operator = operator(global)?;
    let database = global.location(&global.settings()?);
    let out = Output::new(global);
    if file.is_file() {
        input::check(file)?;
    }
    let replace = question(&database, file);
    confirm(&out, *yes, &replace)?;
    let account = database::account_name();
    let by = By { clock: &Clock::system(), surface: Surface::Cli, account: account.as_deref() };
    let done = progress::of_steps(|show, stop| backup::restore(operator, &database, file, by, show, stop))?;
    let restored = done.map_err(|error| explained(&error, Work::Restore))?;
    out.answer(&restored, |page| {
        let file = file.display();
        page.line(format!("{database} was restored from {file}: {}.", figures(&restored.report)));
        if let Some(copied) = &restored.copied {
            store::notes(page, copied);
        }
        match (&restored.previous, &restored.copied) {
            (Some(previous), _) => page.line(format!(
                "The previous database is kept as {}. All members have to sign in again.",
                previous.display()
            )),
            (None, Some(_)) => page.line("All members have to sign in again."),
            (None, None) => page.line("There was no database before. All members have to sign in again."),
        }
        match &restored.revoked {
            Some(revoked) => revoked_again(page, revoked),
            None => page.note(
                "API keys, administrators, roles and webhooks that were revoked after the backup was made are valid again: see \
                 tidings key list, tidings admin list, tidings member list --only roles and tidings webhook list.",
            ),
        }
    })
}

fn revoked_again(page: &mut Page, revoked: &RevokedAgain) {
    let RevokedAgain { keys, administrators, roles, blacklisted, webhooks } = revoked;
    for (what, names) in [
        ("API keys, revoked since the backup and again now", keys),
        ("Administrators, whose right was revoked since the backup and again now", administrators),
        ("Members, whose roles lost scopes since the backup and again now", roles),
        ("Members, blacklisted since the backup and again now", blacklisted),
        ("Webhooks, removed since the backup and again now", webhooks),
    ] {
        if !names.is_empty() {
            page.line(format!("{what}: {}.", names.join(", ")));
        }
    }
}

fn question(database: &Location, file: &Path) -> String {
    let new = file.display();
    let Some(database) = database.file() else {
        return format!("fill the empty database {database} with {new}, and sign all members out");
    };
    let size = |path: &Path| fs::metadata(path).map(|about| HumanBytes(about.len()).to_string());
    let old = database.display();
    match (size(database), size(file)) {
        (Ok(old_size), Ok(new_size)) => format!(
            "put {new} ({new_size}) in the place of the database {old} ({old_size}), which is kept, and sign \
             all members out"
        ),
        _ => format!("make {new} the database {old}"),
    }
}

fn figures(report: &Report) -> String {
    format!("{} rows, {}, checked", number(report.rows), HumanBytes(report.bytes))
}

#[derive(Clone, Copy)]
enum Work {
    Backup,
    Restore,
}

fn explained(error: &BackupError, work: Work) -> Failure {
    let advice = match (error, work) {
        (BackupError::Copy(error), _) => return store::explained(error),
        (BackupError::Newer { .. }, _) => return Failure::system(error.to_string()),
        (BackupError::Interrupted, _) => return Failure::interrupted("interrupted: nothing was changed"),
        (BackupError::Itself(_), _) => return Failure::usage(format!("{error}: name another file")),
        (BackupError::InUse(_), Work::Backup) => {
            return Failure::in_use(format!("{error}: name another file"));
        }
        (BackupError::InUse(database), Work::Restore) => {
            let users =
                users_of(database).iter().map(|user| format!(", {user}")).collect::<Vec<_>>().concat();
            return Failure::in_use(format!(
                "{error}{users}: stop the server and whatever else uses it first"
            ));
        }
        (BackupError::Missing(_), Work::Backup) => "name the database with --db",
        (BackupError::Missing(_) | BackupError::Foreign(_), _) => "name another file",
        (BackupError::Damaged { .. }, Work::Backup) => {
            "tidings check says more; an older backup can take its place"
        }
        (BackupError::Damaged { .. }, Work::Restore) => "take another backup",
        (BackupError::NotAFile(_), _) => "name a file",
        (BackupError::Occupied(_), _) => "name another file, or remove this one",
        (BackupError::NoRoom { .. } | BackupError::Store { cause: StoreError::Full, .. }, Work::Backup) => {
            "make room, or name a file on another disk"
        }
        (BackupError::NoRoom { .. } | BackupError::Store { cause: StoreError::Full, .. }, Work::Restore) => {
            "make room"
        }
        (BackupError::File { cause, .. }, _) => match cause.kind() {
            ErrorKind::IsADirectory => "name a file",
            ErrorKind::NotFound => "make the directory first",
            _ => "check its permissions, and whether the disk is full",
        },
        (BackupError::Store { .. }, _) => "check whether the disk is full or broken",
    };
    Failure::system(format!("{error}: {advice}"))
}

/// Such as `tidings (process 4321)`. Works only on Linux: for root it returns all, for others those of the same user.
fn users_of(file: &Path) -> Vec<String> {
    let user = |process: fs::DirEntry| {
        let id: u32 = process.file_name().to_str()?.parse().ok()?;
        let process = Some(process).filter(|_| id != std::process::id())?;
        let mut files = fs::read_dir(process.path().join("fd")).ok()?.flatten();
        files.find(|opened| fs::read_link(opened.path()).ok() == file.canonicalize().ok())?;
        let name = fs::read_to_string(process.path().join("comm")).ok()?;
        Some(format!("{} (process {id})", name.trim()))
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(user).collect()
}
