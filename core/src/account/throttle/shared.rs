//! The failures that all servers of a database share, in a table of it.
//!
//! An attempt is reserved in the table before its password is hashed, and counts as a failure until it ends: however many
//! attempts arrive at however many servers, they begin as if they had arrived at one. A reservation whose server died
//! expires.
//!
//! A row is a bucket of the same kind that [`Memory`](super::Memory) has, so the table is bounded, and a full bucket loses
//! its least important entry. The hashes are keyed with the secret that all servers know for those of paths.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use super::table::{Bucket, Entry, Moment, State, WAYS, Worth, bucket_of};
use super::{
    CLIENT_BUCKETS, CLIENT_FAILURES, CLIENT_WINDOW_MS, FORGET_MS, Failed, Failures, OfCodes, OfPair, Outcome,
    Rule, admit, admit_client, low_half,
};
use crate::base::clock::{Clock, SECOND_MS};
use crate::record::error::{Error, Result};
use crate::store::{Isolation, Store, StoreError, Tx};

/// The time after which the reservation of an attempt expires, in milliseconds: longer than any attempt takes.
const RESERVED_MS: i64 = 60 * SECOND_MS;

/// The failed sign-ins of all servers of a database.
pub(crate) struct Shared {
    store: Arc<Store>,
    clock: Clock,
    keys: OnceLock<(u64, u64)>,
}

/// The failures of a pair or an account, and its attempts in progress.
#[derive(Default)]
struct Attempts<R> {
    failures: Failed<R>,
    running: u8,
    /// The end of the latest reservation.
    reserved_until: Moment,
}

impl<R: Rule> Attempts<R> {
    /// Returns the number of attempts in progress.
    fn running(&self, now: Moment) -> u8 {
        if now < self.reserved_until { self.running } else { 0 }
    }
}

impl<R: Rule> State for Attempts<R> {
    fn worth(&self, now: Moment) -> Option<Worth> {
        let running = self.running(now);
        let (waits, failures, at) = match (self.failures.worth(now), running) {
            (None, 0) => return None,
            (None, _) => (true, 0, self.reserved_until - RESERVED_MS),
            (Some((waits, failures, at)), _) => (waits || running > 0, failures, at),
        };
        Some((waits, failures.saturating_add(running), at))
    }
}

impl<R: Rule> Bucket<Attempts<R>> {
    /// Decides whether another attempt may begin.
    ///
    /// # Errors
    /// The errors of [`admit`].
    fn admit(&mut self, key: u64, now: Moment) -> Result<()> {
        let attempts = self.get(key, now).map(|attempts| &*attempts);
        let running = attempts.map_or(0, |attempts| attempts.running(now).into());
        admit(attempts.map(|attempts| &attempts.failures), running, now)
    }
}

impl Shared {
    /// Returns the failures that the servers of the database share.
    pub(super) fn new(store: Arc<Store>, clock: Clock) -> Self {
        Self { store, clock, keys: OnceLock::new() }
    }

    /// Returns the keys of the hashes.
    ///
    /// # Errors
    /// An error of the store.
    pub(super) fn keys(&self) -> Result<(u64, u64)> {
        if let Some(keys) = self.keys.get() {
            return Ok(*keys);
        }
        let secret = self.store.read(sql::secret)?;
        let secret = u128::from_str_radix(&secret, 16).map_err(|e| Error::Internal(e.into()))?;
        #[expect(clippy::cast_possible_truncation, reason = "the halves of the secret")]
        let keys = ((secret >> 64) as u64, secret as u64);
        Ok(*self.keys.get_or_init(|| keys))
    }

    /// Begins an attempt: reserves it in the table. If the client has to wait, `is_known` decides whether it begins
    /// nevertheless.
    ///
    /// # Errors
    /// The errors of [`admit`]; an error of the store.
    pub(super) fn begin(
        &self,
        pair: Option<u64>,
        client: u64,
        is_known: impl FnOnce() -> Result<bool>,
    ) -> Result<()> {
        let now = self.clock.now().as_millis();
        // Refused here, a flood of attempts writes nothing.
        let (of_client, of_pair) = self.store.read(|tx| {
            let of_client = client_waits(tx, client, now)?;
            let of_pair = pair.map(|pair| load_bucket::<Attempts<OfPair>>(tx, pair, now)?.admit(pair, now));
            Ok::<_, Error>((of_client, of_pair))
        })?;
        if of_client.is_err() && !is_known()? {
            return of_client;
        }
        let (Some(pair), Some(of_pair)) = (pair, of_pair) else { return Ok(()) };
        of_pair?;
        let passes = of_client.is_err();
        self.store.write(Isolation::Alone, move |tx| {
            if !passes {
                client_waits(tx, client, now)??;
            }
            reserve::<OfPair>(tx, pair, now)
        })
    }

    /// Ends an attempt, and returns when other servers know.
    pub(super) fn end(&self, pair: Option<u64>, client: u64, outcome: Outcome) {
        let now = self.clock.now().as_millis();
        self.record(move |tx| {
            // While the client waits, only members whom it is a place of get here. Their mistakes do not prolong the wait of
            // others.
            if outcome == Outcome::Failed {
                let mut clients: Bucket<Failures> = load_bucket(tx, client, now)?;
                if admit_client(clients.get(client, now).as_deref(), now).is_ok() {
                    clients.entry(client, now).add(now);
                    store_bucket(tx, client, &clients, now)?;
                }
            }
            match pair {
                Some(pair) => release::<OfPair>(tx, pair, outcome, now),
                None => Ok(()),
            }
        });
    }

    /// Begins to check a code: reserves the attempt in the table.
    ///
    /// # Errors
    /// The errors of [`admit`]; an error of the store.
    pub(super) fn begin_code(&self, account: u64) -> Result<()> {
        let now = self.clock.now().as_millis();
        self.store.read(|tx| load_bucket::<Attempts<OfCodes>>(tx, account, now)?.admit(account, now))?;
        self.store.write(Isolation::Alone, move |tx| reserve::<OfCodes>(tx, account, now))
    }

    /// Ends the check of a code, and returns when other servers know.
    pub(super) fn end_code(&self, account: u64, outcome: Outcome) {
        let now = self.clock.now().as_millis();
        self.record(move |tx| release::<OfCodes>(tx, account, outcome, now));
    }

    /// Records the end of an attempt.
    fn record(&self, end: impl Fn(&mut dyn Tx) -> Result<(), StoreError> + Send + 'static) {
        let now = self.clock.now().as_millis();
        let ended = self.store.write(Isolation::Alone, move |tx| {
            end(tx)?;
            sql::delete_outdated(tx, now)
        });
        if let Err(error) = ended {
            // The reservation counts as a failure until it expires.
            tracing::warn!(cause = error.to_string(), "the end of a sign-in could not be recorded");
        }
    }
}

/// Returns the refusal of an attempt, if the client has to wait.
fn client_waits(tx: &mut dyn Tx, client: u64, now: Moment) -> Result<Result<()>, StoreError> {
    let mut clients: Bucket<Failures> = load_bucket(tx, client, now)?;
    Ok(admit_client(clients.get(client, now).as_deref(), now))
}

/// Adds an attempt to those in progress.
///
/// # Errors
/// The errors of [`admit`]; an error of the store.
fn reserve<R: Rule>(tx: &mut dyn Tx, key: u64, now: Moment) -> Result<()> {
    let mut bucket: Bucket<Attempts<R>> = load_bucket(tx, key, now)?;
    bucket.admit(key, now)?;
    let attempts = bucket.entry(key, now);
    attempts.running = attempts.running(now).saturating_add(1);
    attempts.reserved_until = now + RESERVED_MS;
    Ok(store_bucket(tx, key, &bucket, now)?)
}

/// Records the end of an attempt, which is no longer in progress.
fn release<R: Rule>(tx: &mut dyn Tx, key: u64, outcome: Outcome, now: Moment) -> Result<(), StoreError> {
    let mut bucket: Bucket<Attempts<R>> = load_bucket(tx, key, now)?;
    let attempts = bucket.entry(key, now);
    attempts.failures.record(outcome, now);
    attempts.running = attempts.running(now).saturating_sub(1);
    store_bucket(tx, key, &bucket, now)
}

fn load_bucket<S: Stored>(tx: &mut dyn Tx, key: u64, now: Moment) -> Result<Bucket<S>, StoreError> {
    let entries = sql::entries(tx, S::KIND, bucket_of(key, S::BUCKETS))?;
    let mut bucket = Bucket::default();
    for (place, text) in bucket.0.iter_mut().zip(entries.split_terminator(';')) {
        // A damaged entry is forgotten.
        let mut numbers = text.split(' ').map_while(|number| i64::from_str_radix(number, 16).ok());
        if let Some(key) = numbers.next()
            && let Some(state) = S::read(&mut numbers, now)
        {
            *place = Entry { key: key.cast_unsigned(), state };
        }
    }
    Ok(bucket)
}

fn store_bucket<S: Stored>(
    tx: &mut dyn Tx,
    key: u64,
    bucket: &Bucket<S>,
    now: Moment,
) -> Result<(), StoreError> {
    let (mut text, mut until) = (String::new(), now);
    for entry in bucket.0.iter().filter(|entry| entry.state.worth(now).is_some()) {
        push(&mut text, entry.key.cast_signed());
        entry.state.write(&mut text);
        text.pop();
        text.push(';');
        until = until.max(entry.state.until());
    }
    sql::store(tx, S::KIND, bucket_of(key, S::BUCKETS), until, &text)
}

fn push(text: &mut String, number: i64) {
    // The sign first, as it is read again.
    let sign = if number < 0 { "-" } else { "" };
    write!(text, "{sign}{:x} ", number.unsigned_abs()).expect("a String takes any text");
}

/// A state that a row contains.
trait Stored: State {
    /// The number of the kind in the table, which must not change.
    const KIND: i64;
    /// The number of buckets.
    const BUCKETS: u64;

    /// Returns the time from which the state does not count any more.
    fn until(&self) -> Moment;

    /// Appends the numbers of the state to a text.
    fn write(&self, text: &mut String);

    /// Reads the numbers that [`Stored::write`] wrote. If the last failure is after `now`, the clock was set back: it counts as
    /// one at `now`, and earlier ones as before it by the same times.
    fn read(numbers: &mut impl Iterator<Item = i64>, now: Moment) -> Option<Self>;
}

impl Stored for Failures {
    const KIND: i64 = 0;
    const BUCKETS: u64 = CLIENT_BUCKETS;

    fn until(&self) -> Moment {
        self.last + CLIENT_WINDOW_MS
    }

    fn write(&self, text: &mut String) {
        push(text, self.last);
        let at = |n: u8| self.times[usize::from((self.oldest + n) % CLIENT_FAILURES)];
        (0..self.count).for_each(|n| push(text, at(n).into()));
    }

    fn read(numbers: &mut impl Iterator<Item = i64>, now: Moment) -> Option<Self> {
        let last = numbers.next()?;
        let mut failures = Self { last: last.min(now), ..Self::default() };
        let set_back = low_half((last - now).max(0));
        for (place, time) in failures.times.iter_mut().zip(numbers) {
            *place = u32::try_from(time).ok()?.wrapping_sub(set_back);
            failures.count += 1;
        }
        Some(failures)
    }
}

impl<R: Rule> Stored for Attempts<R> {
    const KIND: i64 = R::KIND;
    const BUCKETS: u64 = R::BUCKETS;

    fn until(&self) -> Moment {
        self.reserved_until.max(self.failures.last_at + FORGET_MS)
    }

    fn write(&self, text: &mut String) {
        let Self { failures: Failed { last_at, failures, .. }, running, reserved_until } = *self;
        for number in [last_at, failures.into(), running.into(), reserved_until] {
            push(text, number);
        }
    }

    fn read(numbers: &mut impl Iterator<Item = i64>, now: Moment) -> Option<Self> {
        let (last_at, failures) = (numbers.next()?.min(now), numbers.next()?.try_into().ok()?);
        let (running, reserved_until) = (numbers.next()?.try_into().ok()?, numbers.next()?);
        let reserved_until = reserved_until.min(now + RESERVED_MS);
        let failures = Failed { last_at, failures, ..Failed::default() };
        Some(Self { failures, running, reserved_until })
    }
}

const _: () = assert!(WAYS == 8, "the number of entries of a stored bucket, which all servers must share");

mod sql {
    use super::{Moment, StoreError, Tx};

    /// The number of rows that are deleted at a time, more than an attempt inserts.
    const DELETED: i64 = 8;

    pub(super) fn secret(tx: &mut dyn Tx) -> Result<String, StoreError> {
        tx.one("SELECT secret FROM path_key WHERE one = 1", &[])?.take(0)
    }

    pub(super) fn entries(tx: &mut dyn Tx, kind: i64, bucket: u64) -> Result<String, StoreError> {
        let sql = "SELECT entries FROM sign_in_failure WHERE kind = $1 AND bucket = $2";
        let row = tx.row(sql, &[kind.into(), bucket.cast_signed().into()])?;
        row.map_or_else(|| Ok(String::new()), |mut row| row.take(0))
    }

    pub(super) fn store(
        tx: &mut dyn Tx,
        kind: i64,
        bucket: u64,
        until: Moment,
        entries: &str,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO sign_in_failure (kind, bucket, until, entries) VALUES ($1, $2, $3, $4)
                   ON CONFLICT (kind, bucket) DO UPDATE SET until = excluded.until, entries = excluded.entries";
        tx.send(sql, &[kind.into(), bucket.cast_signed().into(), until.into(), entries.into()])
    }

    /// Deletes some rows of which no entry counts any more.
    pub(super) fn delete_outdated(tx: &mut dyn Tx, now: Moment) -> Result<(), StoreError> {
        let sql = "DELETE FROM sign_in_failure WHERE (kind, bucket) IN (
                       SELECT kind, bucket FROM sign_in_failure WHERE until < $1 ORDER BY until LIMIT $2)";
        tx.send(sql, &[now.into(), DELETED.into()])
    }
}

#[cfg(test)]
mod tests;
