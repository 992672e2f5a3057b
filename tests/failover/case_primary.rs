//! Cases in which the primary fails, or the connections to it.

use std::thread;
use std::time::{Duration, Instant};

use crate::load::{Load, Sent, outcome};
use crate::proxy::Mode;
use crate::world::{Server, World};
use crate::{Outcome, Scale, seconds};

/// The maximum time between a promotion and the next write of each server.
const RESUME_MAX: Duration = Duration::from_secs(2);
/// The same after a start, which recovers from the crash first.
const RESTART_MAX: Duration = Duration::from_secs(5);
/// The maximum time of an answer without a primary: 30 s, and time for a busy machine.
const REFUSE_MAX: Duration = Duration::from_secs(36);

/// The primary is killed under load, and the standby is promoted.
pub(crate) fn killed(_: Scale) -> Outcome {
    let world = World::start(3);
    let load = Load::running(&world, 4, Duration::from_millis(1_500));
    world.primary.kill();
    let (mut faults, killed) = (Vec::new(), Instant::now());
    faults.extend(unready(&world, killed, Duration::from_secs(3)));
    faults.extend(reads_go_on(&world));
    let standby = world.standby.as_ref().unwrap();
    standby.promote();
    let promoted = Instant::now();
    let resumed = load.resumed(&[0, 1, 2], promoted, Duration::from_secs(30));
    let sent = load.stop_after(Duration::from_secs(1));
    faults.extend(too_late(resumed, RESUME_MAX));
    world.wait_until_ready();
    faults.extend(lists(&world));
    let gap = promoted.duration_since(killed);
    let measured = format!("promoted after {}, written again after {}", seconds(gap), shown(resumed));
    outcome(&world, &sent, &measured, faults)
}

/// The primary is killed and, after a time in which writes are refused, started again.
pub(crate) fn restarted(_: Scale) -> Outcome {
    let world = World::without_standby(3);
    let load = Load::running(&world, 3, Duration::from_secs(1));
    world.primary.kill();
    let killed = Instant::now();
    let mut faults = unready(&world, killed, Duration::from_secs(3));
    while load.sent().iter().filter(|one| is_refused_write(one) && one.answered > killed).count() < 9 {
        if killed.elapsed() > REFUSE_MAX + Duration::from_secs(10) {
            faults.push("no write is refused without a primary".into());
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    world.primary.start();
    let started = Instant::now();
    let resumed = load.resumed(&[0, 1, 2], started, Duration::from_secs(30));
    let sent = load.stop_after(Duration::from_millis(500));
    faults.extend(too_late(resumed, RESTART_MAX));
    let longest = longest_refusal(&sent, &mut faults);
    let measured =
        format!("refused after {} at most, written again after {}", seconds(longest), shown(resumed));
    outcome(&world, &sent, &measured, faults)
}

/// The primary is suspended under load, the standby is promoted, and the former primary continues.
pub(crate) fn suspended(_: Scale) -> Outcome {
    let world = World::start(3);
    let load = Load::running(&world, 3, Duration::from_secs(1));
    world.primary.suspend();
    let suspended = Instant::now();
    let mut faults = unready(&world, suspended, Duration::from_secs(10));
    world.standby.as_ref().unwrap().promote();
    let promoted = Instant::now();
    let resumed = load.resumed(&[0, 1, 2], promoted, Duration::from_secs(30));
    faults.extend(too_late(resumed, Duration::from_secs(8)));
    // It still takes itself for the primary, and would answer with old data.
    world.primary.resume();
    let sent = load.stop_after(Duration::from_secs(2));
    world.wait_until_ready();
    faults.extend(lists(&world));
    let measured = format!("written again after {}", shown(resumed));
    outcome(&world, &sent, &measured, faults)
}

/// The network between one server and the primary loses everything for a while.
pub(crate) fn silent(_: Scale) -> Outcome {
    let world = World::without_standby(3);
    let load = Load::running(&world, 3, Duration::from_secs(1));
    world.proxies[0].set(Mode::Hold);
    let held = Instant::now();
    let mut faults = unready(&world, held, Duration::from_secs(10));
    thread::sleep(Duration::from_secs(8).saturating_sub(held.elapsed()));
    world.proxies[0].set(Mode::Pass);
    let passed = Instant::now();
    let resumed = load.resumed(&[0, 1, 2], passed, Duration::from_secs(30));
    let sent = load.stop_after(Duration::from_millis(500));
    faults.extend(too_late(resumed, Duration::from_secs(12)));
    let measured = format!("written again after {}", shown(resumed));
    outcome(&world, &sent, &measured, faults)
}

/// The connection is cut between COMMITs and their answers.
pub(crate) fn commits_cut(scale: Scale) -> Outcome {
    let world = World::without_standby(3);
    let load = Load::running(&world, 3, Duration::from_millis(500));
    let (cuts, begin) = (scale.share(1_000, 50), Instant::now());
    world.proxies[0].set(Mode::CutCommits(3));
    while world.proxies[0].cuts() < cuts && begin.elapsed() < Duration::from_secs(240) {
        thread::sleep(Duration::from_millis(20));
    }
    world.proxies[0].set(Mode::Pass);
    let (cut, took) = (world.proxies[0].cuts(), begin.elapsed());
    let sent = load.stop_after(Duration::from_millis(500));
    let mut faults = Vec::new();
    if cut < cuts {
        faults.push(format!("only {cut} commits were cut"));
    }
    // Each outcome was found out: no client learns of the cuts.
    for one in sent.iter().filter(|one| !one.is_acknowledged()) {
        faults.push(format!("server {} answered {:?} to {:?} {}", one.server, one.answer, one.kind, one.key));
    }
    let found = world
        .servers
        .iter()
        .map(|server| server.process.log().matches("the answer to a commit was lost").count());
    let measured = format!("{cut} commits cut in {}, {} of them stored", seconds(took), found.sum::<usize>());
    outcome(&world, &sent, &measured, faults)
}

/// Waits until no server is ready; returns a fault if this takes longer than `most`.
pub(crate) fn unready(world: &World, since: Instant, most: Duration) -> Vec<String> {
    let is_ready = |server: &Server| server.anyone().get("/readyz").status == 200;
    while world.servers.iter().any(is_ready) {
        if since.elapsed() > most {
            return vec![format!("a server is ready {} after the failure", seconds(since.elapsed()))];
        }
        thread::sleep(Duration::from_millis(20));
    }
    Vec::new()
}

/// Checks that reads from memory are answered.
fn reads_go_on(world: &World) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, server) in world.servers.iter().enumerate() {
        let answer = server.anyone().get("/get_popularity_newsfeed?limit=3");
        if answer.status != 200 {
            faults.push(format!("server {number} answers a feed with {answer:?}"));
        }
    }
    faults
}

/// Checks that the servers, whose caches may have seen what the new primary lacks, list all notices and no others.
pub(crate) fn lists(world: &World) -> Vec<String> {
    let stored: usize = world.query("SELECT count(*) FROM notice")[0].parse().unwrap();
    let (begin, mut faults) = (Instant::now(), Vec::new());
    for (number, server) in world.servers.iter().enumerate() {
        loop {
            let list = server.anyone().get("/get_all_notice");
            let listed = list.body["notice_list"].as_array().map_or(0, Vec::len);
            if listed == stored {
                break;
            }
            if begin.elapsed() > Duration::from_secs(5) {
                faults.push(format!("server {number} lists {listed} of {stored} notices"));
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
    faults
}

fn is_refused_write(one: &Sent) -> bool {
    one.answer.as_ref().is_some_and(|(status, _)| *status == 503)
}

/// Returns how long the slowest refused write took. A refusal says when to try again.
pub(crate) fn longest_refusal(sent: &[Sent], faults: &mut Vec<String>) -> Duration {
    for one in sent.iter().filter(|one| !one.is_acknowledged()) {
        if !is_refused_write(one) || !one.says_when {
            faults.push(format!("server {} answered {:?} without a primary", one.server, one.answer));
        }
    }
    let longest = sent.iter().filter(|one| is_refused_write(one)).map(|one| one.answered - one.at).max();
    let longest = longest.unwrap_or_default();
    if longest > REFUSE_MAX {
        faults.push(format!("a write was refused after {} only", seconds(longest)));
    }
    longest
}

fn too_late(resumed: Option<Duration>, most: Duration) -> Option<String> {
    let is_late = resumed.is_none_or(|resumed| resumed > most);
    is_late
        .then(|| format!("writes were to resume within {}, and did after {}", seconds(most), shown(resumed)))
}

pub(crate) fn shown(resumed: Option<Duration>) -> String {
    resumed.map_or_else(|| "never".into(), seconds)
}
