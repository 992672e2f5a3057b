//! One commit: the works and the riders that it carries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::sqlite::{Connection, SqliteTx};
use super::watch::Versions;
use super::writer::{Inbox, Message};
use super::{Ride, Rider, Slice, StoreError, Tx};

/// Works and time that one commit may carry, so that the first of a group does not wait for ever.
pub(super) const GROUP: usize = 1_024;
const GROUP_TIME: Duration = Duration::from_millis(20);
/// What of that time works leave to riders that wait; riders have it even where one work took longer than all of it.
const RIDE_SHARE: Duration = Duration::from_millis(5);

/// A work whose outcome is known, but not on disk yet.
pub(super) struct Finished {
    /// Whether what it wrote is to be kept.
    pub(super) keep: bool,
    /// Gives the answer, told whether the commit went well.
    pub(super) answer: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

pub(super) type Work = Box<dyn FnOnce(&mut dyn Tx) -> Finished + Send>;

/// The riders that wait for a commit.
pub(super) type Riders = Vec<Box<dyn Rider>>;

/// One transaction: the first work, what has gathered behind it, and the riders for the rest of its time.
pub(super) fn commit_group(
    connection: &Connection,
    versions: &Versions,
    first: Option<Work>,
    inbox: &Inbox,
    riders: &mut Riders,
) {
    let mut answers = Vec::new();
    let mut tx = match inbox.health.look().and_then(|()| SqliteTx::begin_write(connection)) {
        Ok(tx) => tx,
        Err(error) => {
            inbox.health.committed(Err(&error));
            if let Some(work) = first {
                refuse(work, &error);
            }
            for rider in riders.drain(..) {
                refuse_rider(rider, &error);
            }
            return;
        }
    };
    let began = Instant::now();
    let (mut kept, mut broken) = (false, None);
    let mut next = first;
    while let Some(work) = next {
        answers.extend(run_work(&mut tx, work, &mut kept, &mut broken));
        next = None;
        while next.is_none()
            && broken.is_none()
            && answers.len() < GROUP
            && began.elapsed() < time_of_works(riders)
        {
            match inbox.next_already() {
                Some(Message::Write(work)) => next = Some(work),
                Some(Message::Ride(rider)) => riders.push(rider),
                None => break,
            }
        }
    }
    let end = (began + GROUP_TIME).max(Instant::now() + RIDE_SHARE);
    let mut aboard = Vec::new();
    // All of them, whatever the time: there is one for each who defers writes, and what it does at least is little.
    for rider in riders.drain(..) {
        aboard.extend(run_rider(&mut tx, rider, Slice::until(end), &mut kept, &mut broken));
    }
    let revision = tx.revision();
    let committed = match broken {
        Some(error) => {
            tx.rollback();
            Err(error)
        }
        // What went into a file that has just lost its path is not acknowledged.
        None if kept => {
            let committed = tx.commit().and_then(|topics| inbox.health.look().map(|()| topics));
            committed.inspect(|_| inbox.gauges.committed(answers.len() + aboard.len()))
        }
        // Who was refused costs the disk nothing.
        None => {
            tx.rollback();
            Ok(Vec::new())
        }
    };
    if kept || committed.is_err() {
        inbox.health.committed(committed.as_ref().map(drop));
    }
    if let Ok(topics) = &committed
        && !topics.is_empty()
    {
        versions.publish(topics, revision);
    }
    let committed = committed.map(|_| ());
    for answer in answers {
        answer(committed.clone());
    }
    for (mut rider, result) in aboard {
        let written = result.and_then(|()| committed.clone());
        if rider.arrive(written) == Ride::GoesOn {
            riders.push(rider);
        }
    }
}

/// How long the works of a group may take.
fn time_of_works(riders: &Riders) -> Duration {
    if riders.is_empty() { GROUP_TIME } else { GROUP_TIME.saturating_sub(RIDE_SHARE) }
}

type Give = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Runs a work; what gives its answer, unless it has been answered or panicked.
fn run_work(
    tx: &mut SqliteTx<'_>,
    work: Work,
    kept: &mut bool,
    broken: &mut Option<StoreError>,
) -> Option<Give> {
    if let Err(error) = savepoint(tx, broken) {
        refuse(work, &error);
        return None;
    }
    let run = |tx: &mut SqliteTx<'_>| {
        let finished = work(tx);
        (finished.keep, finished.answer)
    };
    run_one(tx, run, kept, broken)
}

/// Runs a slice of a rider's work; the rider and what became of it, unless it has been told or panicked.
fn run_rider(
    tx: &mut SqliteTx<'_>,
    mut rider: Box<dyn Rider>,
    slice: Slice,
    kept: &mut bool,
    broken: &mut Option<StoreError>,
) -> Option<(Box<dyn Rider>, Result<(), StoreError>)> {
    if let Err(error) = savepoint(tx, broken) {
        refuse_rider(rider, &error);
        return None;
    }
    let run = |tx: &mut SqliteTx<'_>| {
        let result = rider.write(tx, slice);
        (result.is_ok(), (rider, result))
    };
    run_one(tx, run, kept, broken)
}

/// Begins a savepoint. `broken` is set once SQLite has undone the whole transaction.
fn savepoint(tx: &mut SqliteTx<'_>, broken: &mut Option<StoreError>) -> Result<(), StoreError> {
    match broken {
        Some(error) => Err(error.clone()),
        None => tx.run("SAVEPOINT work", &[]).map(|_| ()).inspect_err(|error| *broken = Some(error.clone())),
    }
}

/// Runs one work in the savepoint that was begun for it; it says whether what it did is to be kept. `kept` is set
/// when that stays, `broken` once SQLite has undone the whole transaction.
fn run_one<T>(
    tx: &mut SqliteTx<'_>,
    work: impl FnOnce(&mut SqliteTx<'_>) -> (bool, T),
    kept: &mut bool,
    broken: &mut Option<StoreError>,
) -> Option<T> {
    let counted = tx.counted();
    let finished = catch_unwind(AssertUnwindSafe(|| work(tx)));
    let keep = finished.as_ref().is_ok_and(|(keep, _)| *keep);
    *kept |= keep;
    if !keep {
        tx.uncount(counted);
    }
    let undone = if keep { Ok(0) } else { tx.run("ROLLBACK TO work", &[]) };
    if let Err(error) = undone.and_then(|_| tx.run("RELEASE work", &[])) {
        *broken = Some(error);
    } else if !tx.is_open() {
        *broken = Some(StoreError::other("the transaction was undone"));
    }
    if finished.is_err() {
        // Dropped with the work, the sender tells its caller.
        tracing::error!("a write panicked and was undone");
    }
    Some(finished.ok()?.1)
}

/// A transaction that refuses everything.
struct Refusing<'e>(&'e StoreError);

impl Tx for Refusing<'_> {
    fn rows(&mut self, _: &str, _: &[super::Arg<'_>]) -> Result<Vec<super::Row>, StoreError> {
        Err(self.0.clone())
    }
    fn run(&mut self, _: &str, _: &[super::Arg<'_>]) -> Result<u64, StoreError> {
        Err(self.0.clone())
    }
    fn revision(&self) -> i64 {
        0
    }
    fn touch(&mut self, _: super::Topic) {}
    fn count(&mut self, _: i64, _: Option<i64>, _: i64) {}
    fn count_on(&mut self, _: i64, _: i64, _: i64) {}
}

/// Answers a work that cannot run, by running it on a transaction that refuses everything.
fn refuse(work: Work, error: &StoreError) {
    (work(&mut Refusing(error)).answer)(Err(error.clone()));
}

/// As [`refuse`], a rider, which goes no further.
fn refuse_rider(mut rider: Box<dyn Rider>, error: &StoreError) {
    let refused = rider.write(&mut Refusing(error), Slice::endless());
    let _ = rider.arrive(refused.and_then(|()| Err(error.clone())));
}
