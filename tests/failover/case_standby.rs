//! Cases in which commits cannot reach the standby.

use std::thread;
use std::time::{Duration, Instant};

use crate::case_primary::{lists, longest_refusal, shown};
use crate::load::{Load, Sent, outcome};
use crate::world::World;
use crate::{Outcome, Scale, seconds};

/// An answer that was on its way when the standby ended may arrive this much later.
const GRACE: Duration = Duration::from_millis(200);

/// The standby ends, and comes back after a time in which writes are refused.
pub(crate) fn gone(_: Scale) -> Outcome {
    gone_for(Duration::from_secs(38), Duration::ZERO)
}

/// The standby ends while writes wait for a lock for longer than an attempt does, so that a later attempt is the first to
/// commit. It stays away for so long that writes that were sent meanwhile are refused too.
pub(crate) fn gone_late(_: Scale) -> Outcome {
    gone_for(Duration::from_secs(50), Duration::from_secs(12))
}

/// The standby is away for this time. Writes wait for a lock in the first part of it.
fn gone_for(away: Duration, wait_for_lock: Duration) -> Outcome {
    let world = World::start(3);
    let load = Load::running(&world, 3, Duration::from_secs(1));
    let mut lock = world.connect();
    if !wait_for_lock.is_zero() {
        lock.query("BEGIN", &[]);
        lock.query("LOCK TABLE lane IN EXCLUSIVE MODE", &[]);
    }
    let standby = world.standby.as_ref().unwrap();
    standby.kill();
    let killed = Instant::now();
    thread::sleep(wait_for_lock);
    drop(lock);
    thread::sleep(away.saturating_sub(killed.elapsed()));
    let mut faults = early(&load.sent(), killed);
    let refused = load.sent().iter().filter(|one| one.answered > killed && !one.is_acknowledged()).count();
    if refused == 0 {
        faults.push("no write is refused without the standby".into());
    }
    standby.start();
    let started = Instant::now();
    let resumed = load.resumed(&[0, 1, 2], started, Duration::from_secs(40));
    let sent = load.stop_after(Duration::from_millis(500));
    if resumed.is_none() {
        faults.push("nothing is written when the standby is back".into());
    }
    let longest = longest_refusal(&sent, &mut faults);
    let measured = format!(
        "{refused} refused, after {} at most, written again after {}",
        seconds(longest),
        shown(resumed)
    );
    outcome(&world, &sent, &measured, faults)
}

/// The standby ends, and somebody cancels the waits of commits for it; then the standby is promoted.
pub(crate) fn waits_cancelled(_: Scale) -> Outcome {
    let world = World::start(3);
    let load = Load::running(&world, 3, Duration::from_secs(1));
    let standby = world.standby.as_ref().unwrap();
    standby.suspend();
    let suspended = Instant::now();
    let mut connection = world.primary.connect();
    let mut cancelled = 0;
    while suspended.elapsed() < Duration::from_secs(6) {
        for function in ["pg_cancel_backend", "pg_terminate_backend"] {
            let sql = format!("SELECT {function}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
            cancelled += connection.query(&sql, &[]).len();
            thread::sleep(Duration::from_millis(150));
        }
    }
    let mut faults = early(&load.sent(), suspended);
    if cancelled == 0 {
        faults.push("no commit waited for the standby".into());
    }
    // The standby lacks what the primary alone has.
    world.primary.kill();
    standby.resume();
    standby.promote();
    let promoted = Instant::now();
    let resumed = load.resumed(&[0, 1, 2], promoted, Duration::from_secs(40));
    let sent = load.stop_after(Duration::from_secs(1));
    if resumed.is_none() {
        faults.push("nothing is written after the promotion".into());
    }
    faults.extend(lists(&world));
    let measured = format!("{cancelled} waits cancelled, written again after {}", shown(resumed));
    outcome(&world, &sent, &measured, faults)
}

/// Returns the acknowledgements that the standby cannot have confirmed.
fn early(sent: &[Sent], gone: Instant) -> Vec<String> {
    let early = sent.iter().filter(|one| one.is_acknowledged() && one.answered > gone + GRACE);
    let told = |one: &Sent| {
        let late = seconds(one.answered - gone);
        format!("{:?} {}: acknowledged {late} after the standby was gone", one.kind, one.key)
    };
    early.map(told).collect()
}
