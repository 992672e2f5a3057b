//! Reads from a standby that pauses and ends.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tidings_cluster::{Cluster, Connection};

use crate::world::{DATABASE, World};
use crate::{Outcome, Scale, seconds};

/// The time within which the primary answers instead of a standby that is behind, and what a busy machine adds.
const BACK_MAX: Duration = Duration::from_secs(2);
/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// A standby answers searches, pauses, continues, ends, and comes back. Each server finds at once what it has inserted, and
/// the others within a second.
pub(crate) fn standby_reads(_: Scale) -> Outcome {
    let world = World::start(3);
    world.wait_until_ready();
    let standby = world.standby.as_ref().unwrap();
    let mut faults = Vec::new();
    expect_reads(&world, standby, "at the beginning", &mut faults);

    standby.connect().query("SELECT pg_wal_replay_pause()", &[]);
    let post = json!({ "title": "Needle", "post": "Text.", "url": "https://news.example.org/needle" });
    let _ = world.admin(0).post("/insert_post", post).succeeded();
    let inserted = Instant::now();
    if !finds(&world, 0, "needle") {
        faults.push("the server that has inserted a post does not find it".into());
    }
    while !(0..3).all(|server| finds(&world, server, "needle")) && inserted.elapsed() < LONG {}
    let back = inserted.elapsed();
    if back > BACK_MAX {
        faults.push(format!("a paused standby answers for {}", seconds(back)));
    }
    let is_lost = |_: &usize| !(0..3).all(|server| finds(&world, server, "needle"));
    let lost = (0..50).filter(is_lost).count();
    if lost > 0 {
        faults.push(format!("a paused standby answers {lost} of 50 later searches"));
    }
    standby.connect().query("SELECT pg_wal_replay_resume()", &[]);
    expect_reads(&world, standby, "after the pause", &mut faults);

    world.primary.wait_for_standby(None);
    standby.kill();
    let (killed, mut longest) = (Instant::now(), Duration::ZERO);
    while killed.elapsed() < Duration::from_secs(3) {
        for server in 0..3 {
            let began = Instant::now();
            if !finds(&world, server, "needle") {
                faults.push("a search fails when the standby ends".into());
            }
            longest = longest.max(began.elapsed());
        }
    }
    if longest > BACK_MAX {
        faults.push(format!("a search takes {} when the standby ends", seconds(longest)));
    }
    standby.start();
    expect_reads(&world, standby, "after its end", &mut faults);
    let measured = format!(
        "on the primary {} after a pause; the longest search {} when the standby ends",
        seconds(back),
        seconds(longest)
    );
    Outcome { measured, faults }
}

/// Returns whether a server finds posts.
fn finds(world: &World, server: usize, search: &str) -> bool {
    let answer = world.member(server, server).post("/priority_search/5", json!({ "search": search }));
    answer.status == 200 && answer.body["search_result"].as_array().is_some_and(|found| !found.is_empty())
}

/// Searches until the standby has answered some of the searches.
fn expect_reads(world: &World, standby: &Cluster, when: &str, faults: &mut Vec<String>) {
    let (before, began) = (reads(standby), Instant::now());
    while reads(standby) < before + 5 {
        if began.elapsed() > LONG {
            faults.push(format!("the standby answers no searches {when}"));
            return;
        }
        for server in 0..3 {
            let _ = finds(world, server, "post");
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the number of transactions that read on a server: each of them ends with a rollback.
fn reads(cluster: &Cluster) -> i64 {
    let sql = "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    let rows = Connection::open(&cluster.url(DATABASE)).and_then(|mut open| open.try_query(sql, &[]));
    rows.ok().and_then(|rows| rows[0][0].as_ref()?.parse().ok()).unwrap_or_default()
}
