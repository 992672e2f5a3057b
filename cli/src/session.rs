use std::path::Path;

use tidings_client::shown::escape;
use tidings_client::{Error, Service};
use tidings_core::account::{Caller, Operator};
use tidings_core::operation::Operation;
use tidings_core::{Location, Tidings, analysis};

use crate::database;
use crate::failure::{Exit, Failure};
use crate::global::Global;
use crate::input;
use crate::output::{self, Output};
use crate::password;
use crate::profile::credentials;
use crate::settings::Settings;

/// The caller of `service` is the operator, the sign-in at `--server`, or the member that `--as` names.
pub(crate) struct Session {
    pub(crate) service: Service,
    pub(crate) out: Output,
}

impl Session {
    pub(crate) fn open(global: &Global) -> Result<Self, Failure> {
        Self::with(global, database::open)
    }

    /// Creates the database if it does not exist, unless the `input` of the command cannot be opened.
    pub(crate) fn create(global: &Global, input: Option<&Path>) -> Result<Self, Failure> {
        Self::with(global, |location, settings| {
            let is_new = location.file().is_some_and(|path| !path.exists());
            input.filter(|_| is_new).map_or(Ok(()), input::check)?;
            database::create(location, settings)
        })
    }

    fn with(
        global: &Global,
        open: impl FnOnce(&Location, &Settings) -> Result<Tidings, Failure>,
    ) -> Result<Self, Failure> {
        let out = Output::new(global);
        if let Some(server) = credentials::server(global)? {
            let service = Service::on_server(server);
            let asked = service.clone();
            output::use_zone(move || asked.zone());
            return Ok(Self { service, out });
        }
        let settings = global.settings()?;
        let tidings = open(&global.location(&settings), &settings)?;
        let zone = analysis::zone(&tidings);
        output::use_zone(move || Some(zone.clone()));
        let caller = match &global.acting {
            Some(id) => {
                Caller::acting_as(&tidings, id).map_err(|error| unknown(error.into(), "member", id))?
            }
            None => Caller::Operator,
        };
        Ok(Self { service: Service::on_database(tidings, caller), out })
    }

    pub(crate) fn call_on<O: Operation>(
        &self,
        kind: &str,
        id: &str,
        operation: O,
    ) -> Result<O::Answer, Failure> {
        self.service.call(operation).map_err(|error| unknown(error, kind, id))
    }

    pub(crate) fn change(
        &self,
        kind: &str,
        id: &str,
        operation: impl Operation<Answer = ()>,
        done: impl AsRef<str>,
    ) -> Exit {
        self.call_on(kind, id, operation)?;
        self.done(done)
    }

    pub(crate) fn done(&self, done: impl AsRef<str>) -> Exit {
        self.out.answer(&(), |page| page.line(done))
    }

    pub(crate) fn database(&self) -> Result<(&Tidings, &Caller), Failure> {
        self.service.database().ok_or_else(needs_database)
    }

    /// The same session as a guest sees the service, unless it acts as a member.
    pub(crate) fn as_reader(&self) -> Self {
        Self { service: self.service.as_reader(), out: self.out.clone() }
    }

    pub(crate) fn acting_member(&self) -> Result<&Self, Failure> {
        if self.service.acts_as_member() {
            Ok(self)
        } else {
            Err(Failure::usage("this needs a member: name one with --as ID"))
        }
    }

    /// In the spelling of the sign-up. Fails if `--as` names a different member.
    pub(crate) fn member(&self, id: &str) -> Result<String, Failure> {
        self.service.registered(id).map_err(|error| of_member(error, id))
    }

    /// `what` completes the question, such as `remove the notice "Library"`.
    pub(crate) fn confirm(&self, yes: bool, what: &str) -> Result<(), Failure> {
        confirm(&self.out, yes, what)
    }
}

/// For a command that opens no session.
pub(crate) fn operator(global: &Global) -> Result<Operator, Failure> {
    let caller = global.acting.clone().map_or(Caller::Operator, Caller::Member);
    caller.operator().map_err(refused_to_members)
}

pub(crate) fn needs_database() -> Failure {
    Failure::usage("this works on the database itself: leave --server out, and run it where the database is")
}

/// For operations that only the operator has.
pub(crate) fn refused_to_members(error: impl Into<Error>) -> Failure {
    let error = error.into();
    if error.is_forbidden() {
        let advice = "only the operator, who may read the database file, does this: leave --as out";
        return Failure::refused(&error, advice);
    }
    error.into()
}

/// Like [`Session::confirm`], for a command without a session.
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

pub(crate) fn of_member(error: Error, id: &str) -> Failure {
    if error.is_forbidden() {
        let advice = format!("only {id:?} does this, or an administrator: sign in as one, or leave --as out");
        return Failure::refused(&error, advice);
    }
    unknown(error, "member", id)
}

pub(crate) fn unknown(error: Error, kind: &str, id: &str) -> Failure {
    if error.is_not_found() {
        let list = if kind == "delivery" { "webhook deliveries" } else { &format!("{kind} list") };
        let partial = if kind == "member" { "" } else { partial_id(id) };
        return Failure::refused(&error, format!("there is no {kind} {id:?}{partial}: see tidings {list}"));
    }
    error.into()
}

/// Added to the message about an unknown id that is only a part of one.
pub(crate) fn partial_id(id: &str) -> &'static str {
    let is_partial = (4..24).contains(&id.len()) && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_partial { ", and a whole id has 24 digits" } else { "" }
}
