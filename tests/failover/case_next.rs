//! The case of feeds whose pages come from different servers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tidings_tests::{Caller, wait_until};

use crate::world::World;
use crate::{Outcome, Scale, seconds};

/// The posts of a page: so few that a feed has twenty.
const LIMIT: usize = 30;
/// The posts that the member who reads has liked, which makes the recommended feed their own.
const LIKED: usize = 5;

/// Guests and a member read feeds to the end, each page from another server, while posts are liked and inserted.
pub(crate) fn next(scale: Scale) -> Outcome {
    let world = World::without_standby(3);
    for post in &world.posts[..LIKED] {
        let _ = world.member(0, 0).get(&format!("/post_like/{post}")).succeeded();
    }
    for server in &world.servers {
        wait_until("the feeds show the imported posts", || {
            let feed = read(&|_| server.anyone().clone(), "/get_newsfeed_of_topic/all");
            feed.is_ok_and(|(shown, _)| shown.len() == world.posts.len())
        });
    }
    let (walks, is_done) = (scale.share(400, 20), AtomicBool::new(false));
    let (mut faults, mut pages, mut slowest) = (Vec::new(), 0, Duration::ZERO);
    thread::scope(|scope| {
        scope.spawn(|| change(&world, &is_done));
        for walk in 0..usize::try_from(walks).expect("a few hundred") {
            let (name, is_own) = [
                ("/get_popularity_newsfeed", false),
                ("/get_newsfeed_of_topic/all", false),
                ("/get_recommendation_newsfeed", false),
                ("/get_recommendation_newsfeed", true),
            ][walk % 4];
            let reader = |page: usize| {
                let server = (walk + page) % 3;
                if is_own { world.member(0, server) } else { world.servers[server].anyone().clone() }
            };
            match read(&reader, name) {
                Err(fault) => faults.push(format!("walk {walk} of {name}: {fault}")),
                Ok((shown, most)) => {
                    pages += shown.len().div_ceil(LIMIT);
                    slowest = slowest.max(most);
                    let different: BTreeSet<_> = shown.iter().collect();
                    let twice = shown.len() - different.len();
                    let expected = if is_own { &world.posts[LIKED..] } else { &world.posts };
                    let missing = expected.iter().filter(|post| !different.contains(post)).count();
                    if twice > 0 || missing > 0 {
                        faults
                            .push(format!("walk {walk} of {name}: {twice} posts twice, {missing} left out"));
                    }
                }
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let measured = format!("{walks} feeds with {pages} pages, each within {}", seconds(slowest));
    Outcome { measured, faults }
}

/// Reads a feed to its end, and returns the ids of all posts and the longest time of a page.
fn read(reader: &impl Fn(usize) -> Caller, feed: &str) -> Result<(Vec<String>, Duration), String> {
    let (mut shown, mut slowest) = (Vec::new(), Duration::ZERO);
    let mut path = format!("{feed}?limit={LIMIT}");
    for page in 0.. {
        let begin = Instant::now();
        let answer = reader(page).get(&path);
        slowest = slowest.max(begin.elapsed());
        if answer.status != 200 {
            return Err(format!("page {page} is {answer:?}"));
        }
        shown.extend(answer.column("newsfeed", "_id"));
        match answer.body["next"].as_str() {
            Some(next) => path = format!("{feed}?next={next}"),
            None => break,
        }
    }
    Ok((shown, slowest))
}

/// Likes and inserts posts on all servers until the readers are done.
fn change(world: &World, is_done: &AtomicBool) {
    for number in 0_usize.. {
        if is_done.load(Ordering::Relaxed) {
            return;
        }
        let (server, post) = (number % 3, &world.posts[number * 7 % world.posts.len()]);
        let _ = world.member(1 + number % 5, server).get(&format!("/post_like/{post}"));
        if number.is_multiple_of(20) {
            let post = json!({
                "title": format!("Later {number}"), "post": "Text.", "topic": ["all"],
                "url": format!("https://news.example.org/later/{number}"),
            });
            let _ = world.admin(server).post("/insert_post", post).succeeded();
        }
        thread::sleep(Duration::from_millis(5));
    }
}
