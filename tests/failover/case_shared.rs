//! Cases of several servers that are well: what one does is seen on the others.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::load::{Kind, Load, compare};
use crate::world::{World, faketime};
use crate::{Outcome, Scale, seconds};

/// The maximum time after which a post is in the feeds of the others, for 99 of 100.
const SHOWN_MAX: Duration = Duration::from_secs(1);
/// The minimum number of likes a second. A build with debug assertions is slower, so there the figure is only printed.
const LIKES_MIN: f64 = 300.0;

/// Members sign out everywhere or are blacklisted on one server, and use their tokens on the others.
pub(crate) fn tokens_revoked(scale: Scale) -> Outcome {
    let world = World::without_standby(3);
    let races = scale.share(10_000, 40);
    let mut faults = Vec::new();
    for race in 0..races {
        let on = usize::try_from(race % 3).expect("0 to 2");
        let (id, token) = world.sign_up(&format!("short{race}"));
        let caller = |server: usize| world.servers[server].anyone().with_token(&id, token.clone());
        let others = [caller((on + 1) % 3), caller((on + 2) % 3)];
        for other in &others {
            let _ = other.get("/get_userinfo").succeeded();
        }
        let is_blacklisted = race % 2 == 1;
        let revoked = if is_blacklisted {
            world.admin(on).get(&format!("/push_blacklist/{id}"))
        } else {
            caller(on).get("/sign_out_all")
        };
        let _ = revoked.succeeded();
        for other in &others {
            let feedback = json!({ "type": "a", "post": "b" });
            for answer in [other.get("/get_userinfo"), other.post("/send_feedback", feedback)] {
                if answer.status >= 500 || answer.outcome() == "200 success" {
                    let cause = if is_blacklisted { "blacklisted" } else { "signed out" };
                    faults
                        .push(format!("race {race}: {id} is {cause}, and is answered {}", answer.outcome()));
                }
            }
        }
    }
    Outcome { measured: format!("{races} races"), faults }
}

/// The clocks of two servers differ by six seconds, and that of a third by ten minutes.
pub(crate) fn clocks(_: Scale) -> Outcome {
    let mut world = World::direct(1);
    if faketime().is_none() {
        return Outcome { measured: "left out: there is no faketime".into(), faults: Vec::new() };
    }
    for ahead_s in [3, -3, 600] {
        world.add_server_ahead(ahead_s);
    }
    let (mut faults, mut most) = (Vec::new(), 0.0_f64);
    for (number, server) in world.servers.iter().enumerate() {
        let (status, is_apart) = (server.anyone().get("/readyz").status, number == 3);
        if status != if is_apart { 503 } else { 200 } {
            faults.push(format!("server {number} answers {status} when asked whether it is ready"));
        }
        if server.process.log().contains("synchronise both") != is_apart {
            faults.push(format!("server {number} does not say in its log whether it is ready"));
        }
        let _ =
            world.member(0, number).post("/send_feedback", json!({ "type": "a", "post": "b" })).succeeded();
        let sql = "SELECT extract(epoch FROM clock_timestamp()) - max(date) / 1000.0 FROM feedback";
        let age: f64 = world.query(sql)[0].parse().unwrap();
        most = most.max(age.abs());
        if age.abs() > 1.0 {
            faults.push(format!("what server {number} stores has a date {age:.1} s ago"));
        }
    }
    Outcome { measured: format!("dates differ from the time of the primary by at most {most:.2} s"), faults }
}

/// Two administrators remove each other at the same time on two servers.
pub(crate) fn administrators(scale: Scale) -> Outcome {
    let world = World::without_standby(2);
    let mut faults = Vec::new();
    let races = if scale.is_full() { 10 } else { 4 };
    for race in 0..races {
        let pair = [0, 1].map(|side| world.sign_up(&format!("admin{race}{side}")));
        let _ = world.cli(["admin", "grant", &pair[0].0], "").succeeded();
        let _ = world.cli(["admin", "grant", &pair[1].0], "").succeeded();
        // The others lose their rights, so that only these two are left.
        let sql =
            format!("UPDATE member SET admin = NULL WHERE id NOT IN ('{}', '{}')", pair[0].0, pair[1].0);
        let _ = world.query(&sql);
        let (barrier, callers) = (
            Barrier::new(2),
            [0, 1].map(|side| world.servers[side].anyone().with_token(&pair[side].0, pair[side].1.clone())),
        );
        let results = thread::scope(|scope| {
            let remove = |side: usize| {
                let (barrier, caller, other) = (&barrier, &callers[side], &pair[1 - side].0);
                scope.spawn(move || {
                    barrier.wait();
                    caller.get(&format!("/admin_remove_user/{other}")).outcome()
                })
            };
            [remove(0), remove(1)].map(|side| side.join().unwrap())
        });
        let left = world.query("SELECT count(*) FROM member WHERE admin IS NOT NULL")[0].clone();
        if left != "1" || results.iter().filter(|result| *result == "200 success").count() != 1 {
            faults.push(format!("race {race}: {left} administrators are left after {results:?}"));
        }
    }
    Outcome { measured: format!("{races} races"), faults }
}

/// Posts are inserted on one server, and appear in the feeds of the others.
pub(crate) fn feeds(scale: Scale) -> Outcome {
    let world = World::without_standby(3);
    let (posts, mut times, mut faults) = (scale.share(1_000, 30), Vec::new(), Vec::new());
    for number in 0..posts {
        let on = usize::try_from(number % 3).expect("0 to 2");
        let topic = format!("topic{number}");
        let post = json!({
            "title": topic, "post": "Text.", "topic": [topic],
            "url": format!("https://news.example.org/topic/{number}"),
        });
        let _ = world.admin(on).post("/insert_post", post).succeeded();
        let begin = Instant::now();
        let is_shown = |server: usize| {
            let feed = world.servers[server].anyone().get(&format!("/get_newsfeed_of_topic/{topic}"));
            feed.body["newsfeed"].as_array().is_some_and(|posts| posts.len() == 1)
        };
        let mut waiting = vec![(on + 1) % 3, (on + 2) % 3];
        while !waiting.is_empty() && begin.elapsed() < Duration::from_secs(10) {
            waiting.retain(|server| !is_shown(*server));
            thread::sleep(Duration::from_millis(5));
        }
        if !waiting.is_empty() {
            faults.push(format!("{topic} is not in the feeds of the servers {waiting:?}"));
        }
        times.push(begin.elapsed());
    }
    times.sort();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    if at(99) > SHOWN_MAX {
        faults.push(format!("of 100 posts, one takes {}", seconds(at(99))));
    }
    Outcome {
        measured: format!(
            "{posts} posts, shown after {} (half), {} (99 %)",
            seconds(at(50)),
            seconds(at(99))
        ),
        faults,
    }
}

/// Members like posts as fast as three servers can record it.
pub(crate) fn likes(_: Scale) -> Outcome {
    let world = World::direct(3);
    let load = Load::start(&world, 48, &[Kind::Like]);
    let begin = Instant::now();
    thread::sleep(Duration::from_secs(5));
    let took = begin.elapsed();
    let acknowledged =
        load.sent().iter().filter(|one| one.kind == Kind::Like && one.is_acknowledged()).count();
    let all = load.sent().iter().filter(|one| one.is_acknowledged()).count();
    let (_, mut faults) = compare(&world, &load.stop());
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let rate = all as f64 / took.as_secs_f64();
    if rate < LIKES_MIN && !cfg!(debug_assertions) {
        faults.push(format!("{rate:.0} a second are fewer than {LIKES_MIN:.0}"));
    }
    Outcome { measured: format!("{rate:.0} likes and views a second, {acknowledged} likes"), faults }
}
