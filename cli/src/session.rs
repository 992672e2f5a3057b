//! The session of a command: the open database, the caller and the output.

use tidings_core::account::{Caller, Operator};
use tidings_core::{Error, Location, Outcome, Tidings};
use tidings_tui::escape;

use crate::database;
use crate::failure::Failure;
use crate::global::Global;
use crate::output::{self, Output};
use crate::password;
use crate::settings::Settings;

/// The open database, the caller and the output.
pub(crate) struct Session {
    pub(crate) tidings: Tidings,
    pub(crate) out: Output,
    /// The operator, or the member that `--as` names.
    pub(crate) caller: Caller,
}

impl Session {
    /// Opens the database that the options name.
    ///
    /// # Errors
    /// When the database does not exist or does not open; when `--as` names an unknown member or one who may not act.
    pub(crate) fn open(global: &Global) -> Result<Self, Failure> {
        Self::with(global, database::open)
    }

    /// Opens the database as [`Session::open`] does, creating it if it does not exist.
    ///
    /// # Errors
    /// When it does not open; when `--as` names an unknown member or one who may not act.
    pub(crate) fn create(global: &Global) -> Result<Self, Failure> {
        Self::with(global, database::create)
    }

    fn with(
        global: &Global,
        open: impl FnOnce(&Location, &Settings) -> Result<Tidings, Failure>,
    ) -> Result<Self, Failure> {
        let settings = Settings::default().complete(global.config.as_deref())?;
        let tidings = open(&database::location(global, &settings), &settings)?;
        let caller = match &global.acting {
            Some(id) => Caller::acting_as(&tidings, id).map_err(|error| unknown(error, "member", id))?,
            None => Caller::Operator,
        };
        Ok(Self { tidings, out: Output::new(global), caller })
    }

    /// Returns the acting member, for operations that only members have.
    ///
    /// # Errors
    /// A usage failure if `--as` is missing.
    pub(crate) fn acting_member(&self) -> Result<&Caller, Failure> {
        match &self.caller {
            Caller::Operator => Err(Failure::usage("this needs a member: name one with --as ID")),
            member => Ok(member),
        }
    }

    /// Returns the member `id`, for operations that the operator may do for any member and members for themselves.
    ///
    /// # Errors
    /// `Not found` if there is no such member; `Not admin` if `--as` names another member.
    pub(crate) fn member(&self, id: &str) -> Result<Caller, Failure> {
        self.caller.on_behalf_of(&self.tidings, id).map_err(|error| match error {
            Error::Forbidden => {
                Failure::refused(&error, format!("only {id:?} does this, or the operator: leave --as out"))
            }
            error => unknown(error, "member", id),
        })
    }

    /// Asks for confirmation; `what` completes the question, such as `remove the notice "Library"`.
    ///
    /// # Errors
    /// A usage failure if the command cannot ask and `yes` is not set; a refusal if the answer is no.
    pub(crate) fn confirm(&self, yes: bool, what: &str) -> Result<(), Failure> {
        confirm(&self.out, yes, what)
    }
}

/// Returns the proof that the operator gave a command that opens no session.
///
/// # Errors
/// `Not admin` when `--as` names a member.
pub(crate) fn operator(global: &Global) -> Result<Operator, Failure> {
    let caller = global.acting.clone().map_or(Caller::Operator, Caller::Member);
    caller.operator().map_err(refused_to_members)
}

/// Adds advice to the refusal when a caller named with `--as` tries an operation that only the operator has.
pub(crate) fn refused_to_members(error: Error) -> Failure {
    match error {
        Error::Forbidden => {
            let advice = "only the operator, who may read the database file, does this: leave --as out";
            Failure::refused(&error, advice)
        }
        error => error.into(),
    }
}

/// Asks for confirmation as [`Session::confirm`] does, for a command without a session.
pub(crate) fn confirm(out: &Output, yes: bool, what: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if out.is_for_programs() || !output::is_interactive() {
        let what = escape::line(what);
        return Err(Failure::usage(format!(
            "this would {what}, and the command cannot ask: confirm with --yes"
        )));
    }
    let question = format!("Really {}? [y/N] ", escape::line(what));
    match password::ask(&question)?.map(|answer| answer.to_lowercase()).as_deref() {
        Some("y" | "yes") => Ok(()),
        _ => Err(Failure::declined("nothing was changed")),
    }
}

/// Returns the id with which the member signed up; `typed` may differ in case.
pub(crate) fn registered<'a>(member: &'a Caller, typed: &'a str) -> &'a str {
    match member {
        Caller::Member(id) => id,
        _ => typed,
    }
}

/// Returns a failure that names what does not exist: its kind and its id.
pub(crate) fn unknown(error: Error, kind: &str, id: &str) -> Failure {
    match error {
        Error::NotFound | Error::Documented(Outcome::NotFound, _) => {
            Failure::refused(&error, format!("there is no {kind} {id:?}: see tidings {kind} list"))
        }
        error => error.into(),
    }
}
