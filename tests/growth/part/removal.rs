//! The removal of a member with many acts: the request, the deletion of the acts, and the waits of other writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tidings_core::account::Caller;
use tidings_core::{Tidings, analysis, profile};

use super::Range;
use crate::table::Growth::{Any, AtMost, NLogN};
use crate::table::Report;
use crate::world::{NOW_MS, World, sign_up};
use crate::{Result, cost};

const PART: &str = "removal";
/// The longest that another write may wait.
const LONGEST_MS: f64 = 50.0;
/// How long waits are measured without a removal.
const CALM: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(20);

/// The tables with the rows of the member, and the values. Each has a quarter of the rows.
const ROWS: [(&str, &str); 4] = [
    ("settled_like (member, post, date)", "key, n * 61803399 % 100000007, n"),
    ("viewed (member, post, date)", "key, n * 61803399 % 100000007, n"),
    ("moved_act (member, date, act)", "key, n, n"),
    ("log (member, key, request)", "key, {first} - n, 1"),
];

pub(super) fn measure(world: &World, rows: Range, report: &mut Report) -> Result<()> {
    let id = format!("member{}", rows.size);
    sign_up(&world.open()?, &id)?;
    for (table, values) in ROWS {
        // Log lines of today, apart from those of the other sizes.
        let first = NOW_MS * 16_384 - i64::try_from(rows.size)?;
        let values = values.replace("{first}", &first.to_string());
        let sql = format!("INSERT INTO {table} SELECT {values} FROM number JOIN member ON id = '{id}'");
        world.fill(&sql, 0, rows.size / 4)?;
    }
    let mut add = |what, growth, cost| report.add(PART, what, growth, cost);
    let tidings = world.start()?;
    let calm = || {
        thread::sleep(CALM);
        Ok(())
    };
    add("longest wait of a write before it", Any, Some(waits(&tidings, calm)?.longest));
    let (removed, cost) = cost::once(|| tidings.call(&Caller::Member(id), profile::Remove {}));
    removed?;
    add("remove_mine", AtMost(LONGEST_MS), Some(cost));
    drop(tidings);
    // Retention deletes the acts when a service starts, and every ten minutes.
    let tidings = world.start()?;
    let began = Instant::now();
    let deleting = || {
        while world.number("SELECT count(*) FROM removed_member")? > 0 {
            thread::sleep(POLL);
        }
        Ok(())
    };
    let waits = waits(&tidings, deleting)?;
    add("until the acts are deleted (real time)", NLogN, Some(began.elapsed()));
    add("longest wait of a write meanwhile", AtMost(LONGEST_MS), Some(waits.longest));
    add("most processor time in such a wait", AtMost(LONGEST_MS), Some(waits.dearest));
    Ok(())
}

#[derive(Default)]
struct Waits {
    /// The longest wait, in real time. Other programs and the disk add to it.
    longest: Duration,
    /// The most processor time that all threads of the process used during a wait.
    dearest: Duration,
}

/// Measures the waits of consecutive writes while `work` runs.
fn waits(tidings: &Tidings, work: impl FnOnce() -> Result<()>) -> Result<Waits> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut waits = Waits::default();
            while !done.load(Ordering::Acquire) {
                let began = Instant::now();
                let (inserted, used) = cost::once(|| analysis::insert_device(tidings, "pc").wait());
                inserted?;
                waits.longest = waits.longest.max(began.elapsed());
                waits.dearest = waits.dearest.max(used);
            }
            Ok::<_, tidings_core::Error>(waits)
        });
        let result = work();
        done.store(true, Ordering::Release);
        let waits = writer.join().map_err(|_| "the writer panicked")??;
        result.map(|()| waits)
    })
}
