//! The mail that is due, and what it says. A mail is removed after the mail server has taken it, so one whose outcome a crash has
//! lost is sent again, once.

use std::sync::Arc;

use super::letter::{Letter, Text};
use super::outbox::{self, Due, Kind, MAILS};
use super::smtp::{Outgoing, Smtp};
use super::templates::Templates;
use crate::Tidings;
use crate::account::credential::{email, invitation, reset};
use crate::base::clock::Timestamp;
use crate::base::config::Mail;
use crate::record::error::Result;
use crate::record::jobs::{self, Attempt, Sent, Transport, Work};
use crate::store::{Isolation, Store, StoreError, Topic, Tx};

pub(super) struct Queue {
    transport: Arc<dyn Transport<Outgoing>>,
    templates: Templates,
    config: Mail,
}

pub(crate) fn start(tidings: &Tidings) -> Result<()> {
    let config = tidings.config();
    if !config.mail.is_on() {
        return Ok(());
    }
    tidings.jobs().start(|| {
        let mail = config.mail();
        let transport = Arc::new(Smtp::new(&mail, config.extra_ca.as_deref())?);
        Queue::new(mail, transport)
    })
}

impl Queue {
    pub(super) fn new(config: Mail, transport: Arc<dyn Transport<Outgoing>>) -> Result<Self> {
        Ok(Self { transport, templates: Templates::new(&config)?, config })
    }
}

impl jobs::Queue for Queue {
    type Job = String;
    type Outcome = Sent;

    const LEASE: &'static str = "mail";
    const TOPIC: Topic = Topic::Mail;
    const THREADS: [&'static str; 2] = ["tidings-mail", "tidings-smtp"];
    /// Each mail is sent over a connection of its own.
    const AT_ONCE: usize = 4;
    /// All mail goes to the same server.
    const PER_RECEIVER: usize = Self::AT_ONCE;
    const FAILURE: &'static str = "mail cannot be sent yet";

    fn look(&mut self, tx: &mut dyn Tx, now: Timestamp) -> Result<jobs::Due<String>, StoreError> {
        outbox::look(tx, now, Self::AT_ONCE)
    }

    fn begin(&self, store: &Store, id: &String, now: Timestamp) -> Result<Option<Work<Sent>>> {
        let (id, config) = (id.clone(), self.config.clone());
        let prepared = store.write(Isolation::Alone, move |tx| prepare(tx, &config, &id, now))?;
        Ok(prepared.map(|(attempt, letter)| {
            let outgoing = Outgoing::new(&attempt.id, now, &self.templates, letter);
            attempt.work(&self.transport, outgoing)
        }))
    }

    fn end(&mut self, store: &Store, outcomes: &mut Vec<Sent>, now: Timestamp) -> Result<()> {
        MAILS.end(store, outcomes, now)
    }
}

fn prepare(
    tx: &mut dyn Tx,
    config: &Mail,
    id: &str,
    now: Timestamp,
) -> Result<Option<(Attempt, Letter)>, StoreError> {
    let Some(due) = outbox::due(tx, id, now)? else { return Ok(None) };
    let Some(kind) = due.kind else {
        // A later program has stored it. It would stay due.
        MAILS.failed(tx, id, None, "this version does not know such mail", now)?;
        return Ok(None);
    };
    let Some(letter) = letter(tx, config, kind, id, &due, now)? else {
        MAILS.remove(tx, id)?;
        return Ok(None);
    };
    let (id, name, until) = (id.to_owned(), kind.to_string(), kind.until(due.date));
    Ok(Some((Attempt { id, name, attempts: due.attempts, until }, letter)))
}

fn letter(
    tx: &mut dyn Tx,
    config: &Mail,
    kind: Kind,
    id: &str,
    due: &Due,
    now: Timestamp,
) -> Result<Option<Letter>, StoreError> {
    let note = |tx: &mut dyn Tx, text| {
        let (Some(member), Some(address)) = (due.member, &due.address) else { return Ok(None) };
        let id = email::id(tx, member)?;
        Ok(id.map(|id| Letter { to: address.clone(), text, id, code: None, link: None }))
    };
    match (kind, due.member) {
        (Kind::Confirm, Some(member)) => email::confirmation(tx, config, member, now),
        (Kind::Confirm, None) => Ok(None),
        (Kind::Reset, known) => {
            let found = match (known, &due.asked) {
                (Some(member), _) => Some(member),
                (None, Some(asked)) => email::reachable(tx, asked)?,
                (None, None) => None,
            };
            let Some(member) = found else { return Ok(None) };
            if known.is_none() {
                outbox::set_member(tx, id, member)?;
            }
            reset::letter(tx, config, member, due.client.as_deref().unwrap_or_default(), now)
        }
        (Kind::PasswordChanged, _) => note(tx, Text::PasswordChanged),
        (Kind::AddressChanged, _) => note(tx, Text::AddressChanged),
        (Kind::AddressProposed, _) => note(tx, Text::AddressProposed),
        (Kind::SignInChanged, _) => note(tx, Text::SignInChanged),
        (Kind::Invite, _) => {
            let (Some(address), Some(id)) = (&due.address, &due.asked) else { return Ok(None) };
            invitation::letter(tx, config, id, address, now)
        }
    }
}
