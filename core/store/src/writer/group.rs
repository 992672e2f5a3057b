//! One commit of the writer, with queued and deferred writes.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::deferred::DeferredWrites;
use super::refuse::{refuse, refuse_deferred};
use super::transaction::{Group, Rollback, run_again};
use super::work::Work;
use super::{Inbox, JOIN_FOR, Message, QUEUE};
use crate::engine::Committer;
use crate::watch::Versions;
use crate::{Isolation, StoreError, TimeSlice, Tx as _};

/// The first write of a commit waits at most this long. Tests say which writes share a commit, on any machine.
const GROUP_TIME: Duration = Duration::from_millis(if cfg!(test) { 2_000 } else { 20 });
/// Reserved for deferred writes, even if a single write has used all of the time.
const DEFERRED_TIME: Duration = Duration::from_millis(5);

/// Commits `first`, the writes after it in the queue and the deferred writes that are due, and sends the callers their results.
/// If the transaction fails as a whole and the engine advises it, all of them run again in another one. Work that must not share
/// a transaction runs in several.
///
/// Afterwards `deferred` contains the deferred writes that are not due or have more data. Returns the number of committed writes,
/// without deferred ones.
pub(super) fn commit_group<C: Committer>(
    committer: &mut C,
    versions: &Versions,
    first: Option<Box<dyn Work>>,
    inbox: &Inbox,
    deferred: &mut DeferredWrites,
) -> usize {
    let mut writes = first.into_iter().collect();
    let (mut rollback, mut count) = (Rollback::Group, 0);
    loop {
        match try_group(committer, versions, &mut writes, inbox, deferred, rollback) {
            Ok(Ended { next, writes: more }) => {
                count += more;
                rollback = next;
                if rollback == Rollback::Group && writes.is_empty() && !deferred.were_passed_over {
                    return count;
                }
            }
            Err(error) => {
                committer.ended(Err(&error));
                // The callers whose writes have an unknown outcome know it. The other writes are not stored.
                let error = match error {
                    StoreError::OutcomeUnknown(cause) => StoreError::Disconnected(cause),
                    error => error,
                };
                if let Err(error) = committer.retry(error) {
                    refuse_all::<C>(&error, writes, inbox, deferred);
                    return count;
                }
            }
        }
    }
}

struct Ended {
    /// How the writes of the next transaction roll back: singly if they run again because one of them failed.
    next: Rollback,
    writes: usize,
}

fn first_isolation<C: Committer>(writes: &VecDeque<Box<dyn Work>>, deferred: &DeferredWrites) -> Isolation {
    let write = writes.front().filter(|_| !deferred.were_passed_over).map(|work| work.isolation());
    match write.or_else(|| deferred.writes.first().map(|write| write.isolation())) {
        Some(Isolation::Concurrent | Isolation::Locking) | None if C::HAS_OTHERS => Isolation::Concurrent,
        _ => Isolation::Alone,
    }
}

/// Runs `writes`, the queue and the due deferred writes in one transaction, as far as their isolation admits it: the first that
/// it does not admit stays in `writes`. If the transaction fails as a whole but may succeed later, `writes` and `deferred`
/// contain all of them, and nothing is committed. If its outcome is unknown, they contain the others.
fn try_group<C: Committer>(
    committer: &mut C,
    versions: &Versions,
    writes: &mut VecDeque<Box<dyn Work>>,
    inbox: &Inbox,
    deferred: &mut DeferredWrites,
    rollback: Rollback,
) -> Result<Ended, StoreError> {
    let mut isolation = first_isolation::<C>(writes, deferred);
    // Passed-over writes must not wait for yet another transaction.
    let is_of_deferred = deferred.were_passed_over;
    let since = writes.front().filter(|_| !is_of_deferred).map(|work| work.sent());
    let mut group = Group::new(committer.begin(isolation, since)?, inbox.is_replaying, rollback);
    let began = Instant::now();
    while !is_of_deferred && let Some(work) = writes.pop_front() {
        if !isolation.admits(work.isolation()) || !since.is_some_and(|since| joins(since, work.sent())) {
            writes.push_front(work);
            break;
        }
        isolation = isolation.and(work.isolation());
        group.run_write(work);
        while writes.is_empty() && group.takes_more() && began.elapsed() < time_of_writes(deferred) {
            match inbox.next_queued() {
                Some(Message::Write(work)) => writes.push_back(work),
                Some(Message::Flush(work)) => {
                    deferred.flush();
                    writes.push_back(work);
                }
                Some(Message::Defer(write)) => deferred.push(write),
                None => break,
            }
        }
    }
    // Others wait for the rows that a locking work has locked, so it commits first.
    let is_awaited = C::HAS_OTHERS && isolation == Isolation::Locking;
    let are_due = deferred.are_due() && !is_awaited;
    if is_awaited {
        deferred.pass_over_due();
    }
    if are_due {
        group.release_shared();
    } else {
        group.release_last();
    }
    if group.must_run_again {
        return Ok(Ended { next: group.start_over(writes), writes: 0 });
    }
    let mut batch = Vec::new();
    if are_due {
        let time = TimeSlice::until((began + GROUP_TIME).max(Instant::now() + DEFERRED_TIME));
        // All of them run even when the time is over. Each component defers at most one write, which then writes only a
        // small part.
        for write in deferred.take() {
            if isolation.admits(write.isolation()) {
                isolation = isolation.and(write.isolation());
                batch.extend(group.run_deferred(write, time));
            } else {
                deferred.pass_over(write);
            }
        }
    }
    let done = std::mem::take(&mut group.done);
    let is_unsettled = group.is_unsettled();
    let (has_changes, revision) = (group.has_changes, group.tx.revision());
    let outcome = match group.end() {
        Ok(topics) if has_changes => committer.confirm().map(|()| topics),
        outcome => outcome,
    };
    if let Err(error) = &outcome
        && error.is_temporary()
    {
        run_again(done, writes);
        deferred.push_due(batch.into_iter().map(|(write, _)| write));
        return Err(error.clone());
    }
    let unknown =
        outcome.as_ref().err().filter(|error| matches!(error, StoreError::OutcomeUnknown(_))).cloned();
    // Nothing is committed, perhaps because of a statement whose answer the commit has read.
    if is_unsettled && outcome.is_err() && unknown.is_none() {
        run_again(done, writes);
        return Ok(Ended { next: Rollback::Single, writes: 0 });
    }
    if unknown.is_none() && (has_changes || outcome.is_err()) {
        committer.ended(outcome.as_ref().map(drop));
    }
    let count = done.iter().map(|work| work.writes()).sum::<usize>();
    let outcome = outcome.map(|topics| {
        if has_changes {
            inbox.gauges.committed(count + batch.len());
        }
        if !topics.is_empty() {
            versions.publish(&topics, revision);
        }
    });
    for work in done {
        work.answer(outcome.clone());
    }
    for (mut write, result) in batch {
        if write.done(result.and_then(|()| outcome.clone())) == ControlFlow::Continue(()) {
            deferred.push_due([write]);
        }
    }
    if let Some(error) = unknown {
        return Err(error);
    }
    // Writes that run on their own still do so after the deferred ones.
    Ok(Ended { next: if is_of_deferred { rollback } else { Rollback::Group }, writes: count })
}

/// Answers `writes`, the deferred writes and, if the engine says so, the queue.
fn refuse_all<C: Committer>(
    error: &StoreError,
    writes: VecDeque<Box<dyn Work>>,
    inbox: &Inbox,
    deferred: &mut DeferredWrites,
) {
    for work in writes {
        refuse(work, error);
    }
    if C::REFUSES_QUEUE {
        // Writes that arrive meanwhile are not refused here.
        for _ in 0..QUEUE {
            match inbox.next_queued() {
                Some(Message::Write(work) | Message::Flush(work)) => refuse(work, error),
                Some(Message::Defer(write)) => deferred.push(write),
                None => break,
            }
        }
    }
    for write in deferred.take() {
        refuse_deferred(write, error);
    }
}

fn joins(first: Instant, sent: Instant) -> bool {
    sent <= first + JOIN_FOR
}

fn time_of_writes(deferred: &DeferredWrites) -> Duration {
    if deferred.are_due() { GROUP_TIME.saturating_sub(DEFERRED_TIME) } else { GROUP_TIME }
}
