//! The thread that sends mail.
//!
//! Of several servers of a database one sends, by lease. Each mail is sent on a thread of its own, so that a mail server that is
//! slow with one recipient does not delay the mail to others. A mail is removed after the mail server has taken it, so one whose
//! outcome a crash has lost is sent again, once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::letter::{Letter, Text};
use super::outbox::{self, Due, Kind};
use super::smtp::{AT_ONCE, Failed, Outgoing, Transport};
use super::templates::Templates;
use crate::account::{email, invitation, reset};
use crate::base::clock::{Clock, SECOND_MS, Timestamp};
use crate::base::config::Mail;
use crate::record::background::{Stop, log_failure};
use crate::record::error::{Error, Result};
use crate::record::lease::Lease;
use crate::store::{Isolation, Store, StoreError, Topic, Tx};

/// From one failed attempt to the next, in seconds. After the last one the mail is given up.
pub(super) const DELAYS: [i64; 7] = [10, 60, 5 * 60, 30 * 60, 2 * 60 * 60, 6 * 60 * 60, 24 * 60 * 60];
const INTERVAL: Duration = Duration::from_secs(60);
/// Until the next look while another server has the lease, and until it is renewed while mail is being sent; also the time for
/// which a service that stops waits for the mail server.
const SHORT_INTERVAL: Duration = Duration::from_secs(1);
const FAILURE_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Clone)]
struct Outcome {
    id: String,
    kind: Kind,
    date: Timestamp,
    /// Before this one.
    attempts: i64,
    sent: std::result::Result<(), Failed>,
}

pub(super) struct Worker {
    store: Arc<Store>,
    clock: Clock,
    lease: Lease,
    transport: Arc<dyn Transport>,
    templates: Templates,
    config: Mail,
    /// The ids of the mails that are being sent, or whose outcomes are not stored yet.
    sending: Vec<String>,
    /// Not stored yet.
    outcomes: Vec<Outcome>,
    /// Outcomes of threads that have ended since the latest pass.
    ended: Arc<Mutex<Vec<Outcome>>>,
}

impl Worker {
    pub(super) fn new(
        store: &Arc<Store>,
        clock: &Clock,
        config: Mail,
        transport: Arc<dyn Transport>,
    ) -> Result<Self> {
        Ok(Self {
            store: Arc::clone(store),
            clock: clock.clone(),
            lease: Lease::reaching_out(Arc::clone(store), clock.clone(), "mail"),
            transport,
            templates: Templates::new(&config)?,
            config,
            sending: Vec::new(),
            outcomes: Vec::new(),
            ended: Arc::default(),
        })
    }

    pub(super) fn run(mut self, stop: &Stop) {
        let versions = self.store.versions();
        while !stop.is_set() {
            let version = self.store.version(Topic::Mail);
            let pause = self.pass().unwrap_or_else(|error| {
                log_failure(&error, "mail cannot be sent yet");
                FAILURE_INTERVAL
            });
            versions.wait_for(Topic::Mail, version, pause, || stop.is_set() || self.has_ended(1));
        }
        // Mail that the mail server takes in this moment is not sent again after a restart.
        let all = self.sending.len() - self.outcomes.len();
        versions.sleep(SHORT_INTERVAL, || self.has_ended(all));
        if let Err(error) = self.record().and_then(|()| Ok(self.lease.release()?)) {
            tracing::debug!(cause = error.detail(), "the lease of sending mail ends later");
        }
    }

    fn has_ended(&self, threads: usize) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).len() >= threads
    }

    /// Records outcomes, and begins to send mail that is due. Returns the time until the next pass, unless something changes
    /// before.
    pub(super) fn pass(&mut self) -> Result<Duration> {
        self.record()?;
        let now = self.clock.now();
        let (next, due) = self.store.read(|tx| {
            Ok::<_, StoreError>((outbox::next_attempt(tx)?, outbox::due(tx, now, AT_ONCE.into())?))
        })?;
        if due.is_empty() && self.sending.is_empty() {
            self.lease.release()?;
            let until = next.map_or(INTERVAL, |next| {
                Duration::from_millis(u64::try_from(next - now).unwrap_or_default())
            });
            return Ok(until.min(INTERVAL));
        }
        let is_free = self.sending.len() < AT_ONCE as usize;
        if !self.lease.hold()? || !is_free || due.iter().all(|due| self.sending.contains(&due.id)) {
            return Ok(SHORT_INTERVAL);
        }
        let (config, sending) = (self.config.clone(), self.sending.clone());
        let letters = self.store.write(Isolation::Alone, move |tx| prepare(tx, &config, &sending, now))?;
        for (outcome, letter) in letters {
            let outgoing = Outgoing::new(&outcome.id, now, &self.templates, letter);
            self.send(outcome, outgoing)?;
        }
        Ok(Duration::ZERO)
    }

    fn send(&mut self, mut outcome: Outcome, outgoing: Outgoing) -> Result<()> {
        let (transport, ended) = (Arc::clone(&self.transport), Arc::clone(&self.ended));
        let versions = self.store.versions();
        let id = outcome.id.clone();
        let send = move || {
            let sent = catch_unwind(AssertUnwindSafe(|| transport.send(&outgoing)));
            let failed = || Failed { reason: "the mail could not be sent".to_owned(), is_permanent: false };
            outcome.sent = sent.unwrap_or_else(|_| Err(failed()));
            ended.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
            versions.wake();
        };
        let thread = std::thread::Builder::new().name("tidings-smtp".into()).spawn(send);
        thread.map_err(|error| Error::Internal(error.into()))?;
        self.sending.push(id);
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    /// The mails of these outcomes are not sent again before this succeeds.
    fn record(&mut self) -> Result<()> {
        self.outcomes.append(&mut self.ended.lock().unwrap_or_else(PoisonError::into_inner));
        if self.outcomes.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let outcomes: Arc<[Outcome]> = self.outcomes.clone().into();
        let written = Arc::clone(&outcomes);
        self.store.write(Isolation::Alone, move |tx| {
            written.iter().try_for_each(|outcome| match &outcome.sent {
                Ok(()) => outbox::remove(tx, &outcome.id),
                Err(failed) => {
                    outbox::failed(tx, &outcome.id, next_attempt(outcome, failed, now), &failed.reason, now)
                }
            })
        })?;
        self.outcomes.clear();
        for outcome in &*outcomes {
            self.sending.retain(|id| *id != outcome.id);
            let kind = outcome.kind.name();
            match &outcome.sent {
                Ok(()) => {}
                Err(failed) if next_attempt(outcome, failed, now).is_some() => {
                    tracing::info!(kind, error = failed.reason, "a mail was not sent and is tried again");
                }
                Err(failed) => tracing::warn!(kind, error = failed.reason, "a mail was given up"),
            }
        }
        Ok(())
    }
}

/// Skips the letters that are being sent. Removes mail that has nothing to say any more.
fn prepare(
    tx: &mut dyn Tx,
    config: &Mail,
    sending: &[String],
    now: Timestamp,
) -> Result<Vec<(Outcome, Letter)>, StoreError> {
    let mut letters = Vec::new();
    let due = outbox::due(tx, now, AT_ONCE.into())?.into_iter().filter(|due| !sending.contains(&due.id));
    for due in due.take(AT_ONCE as usize - sending.len()) {
        let Some(kind) = due.kind else {
            // A later program has stored it. It would stay due.
            outbox::failed(tx, &due.id, None, "this version does not know such mail", now)?;
            continue;
        };
        match letter(tx, config, kind, &due, now)? {
            Some(letter) => {
                let Due { id, date, attempts, .. } = due;
                letters.push((Outcome { id, kind, date, attempts, sent: Ok(()) }, letter));
            }
            None => outbox::remove(tx, &due.id)?,
        }
    }
    Ok(letters)
}

fn letter(
    tx: &mut dyn Tx,
    config: &Mail,
    kind: Kind,
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
                outbox::set_member(tx, &due.id, member)?;
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

/// `None` if the mail is given up.
fn next_attempt(outcome: &Outcome, failed: &Failed, now: Timestamp) -> Option<Timestamp> {
    let Outcome { kind, date, attempts, .. } = outcome;
    let seconds = usize::try_from(*attempts).ok().and_then(|attempts| DELAYS.get(attempts))?;
    let next = now + seconds * SECOND_MS;
    (!failed.is_permanent && !outbox::is_late(*kind, *date, next)).then_some(next)
}
