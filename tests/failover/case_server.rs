//! Cases in which a server of tidings ends or is suspended.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::case_primary::shown;
use crate::load::{Load, Sent, outcome};
use crate::world::World;
use crate::{Outcome, Scale, seconds};

/// The maximum time for which the others wait for the lock of a server that is away: PostgreSQL ends its transaction after
/// 5 s.
const GAP_MAX: Duration = Duration::from_secs(8);
/// The age up to which a killed server may lose log lines, and time for a busy machine.
const LOG_LOSS: Duration = Duration::from_millis(400);

/// A server is killed under load.
pub(crate) fn killed(_: Scale) -> Outcome {
    let mut world = World::without_standby(3);
    let lines: i64 = log_lines(&world);
    let load = Load::running(&world, 3, Duration::from_millis(1_500));
    let killed = Instant::now();
    world.servers[0].process.kill();
    let sent = load.stop_after(Duration::from_secs(2));
    let mut faults = Vec::new();
    let gap = longest_gap(&sent, &[1, 2], &mut faults);
    thread::sleep(Duration::from_millis(500));
    // All requests are in the log, except the last ones of the killed server.
    let is_certain =
        |one: &&Sent| one.answer.is_some() && (one.server != 0 || one.answered + LOG_LOSS < killed);
    let (certain, logged) = (sent.iter().filter(is_certain).count(), log_lines(&world) - lines);
    if logged < i64::try_from(certain).unwrap() {
        faults.push(format!("the log has {logged} lines of at least {certain} requests"));
    }
    let answered = sent.iter().filter(|one| one.answer.is_some()).count();
    let lost = i64::try_from(answered).unwrap() - logged;
    let measured = format!("the others waited {} at most, {lost} log lines lost", seconds(gap));
    world.servers.remove(0);
    world.add_server();
    world.wait_until_ready();
    outcome(&world, &sent, &measured, faults)
}

/// A server is suspended under load, and continues later.
pub(crate) fn suspended(scale: Scale) -> Outcome {
    let world = World::without_standby(3);
    let load = Load::running(&world, 3, Duration::from_secs(1));
    world.servers[0].process.signal(Signal::STOP);
    thread::sleep(Duration::from_secs(if scale.is_full() { 60 } else { 9 }));
    world.servers[0].process.signal(Signal::CONT);
    let resumed = load.resumed(&[0, 1, 2], Instant::now(), Duration::from_secs(30));
    let sent = load.stop_after(Duration::from_secs(1));
    let mut faults = Vec::new();
    let gap = longest_gap(&sent, &[1, 2], &mut faults);
    if resumed.is_none() {
        faults.push("the server does not write after it was suspended".into());
    }
    for one in sent.iter().filter(|one| !one.is_acknowledged()) {
        faults.push(format!("server {} answered {:?} to {:?} {}", one.server, one.answer, one.kind, one.key));
    }
    let (gap, resumed) = (seconds(gap), shown(resumed));
    let measured = format!("the others waited {gap} at most, it writes again after {resumed}");
    outcome(&world, &sent, &measured, faults)
}

/// Returns the longest time without an acknowledgement of these servers.
fn longest_gap(sent: &[Sent], servers: &[usize], faults: &mut Vec<String>) -> Duration {
    let others = sent.iter().filter(|one| servers.contains(&one.server) && one.is_acknowledged());
    let mut times: Vec<_> = others.map(|one| one.answered).collect();
    times.sort();
    let gap = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(Duration::MAX);
    if gap > GAP_MAX {
        faults.push(format!("the other servers wrote nothing for {}", seconds(gap)));
    }
    gap
}

fn log_lines(world: &World) -> i64 {
    world.query("SELECT count(*) FROM log")[0].parse().unwrap()
}
