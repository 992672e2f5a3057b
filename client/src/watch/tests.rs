//! Watching a server that is played by the test.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// The time limit of everything that a test waits for.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A server whose streams of events the test writes.
struct Played {
    server: Server,
    /// The opened streams.
    streams: Receiver<TcpStream>,
}

/// Plays a server on a listener until it has answered `requests` requests.
fn play(listener: TcpListener, requests: usize, events: &'static str) -> Played {
    let address = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let (send, streams) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().take(requests) {
            serve(stream.unwrap(), &send, events);
        }
    });
    let token = format!("{}000", key::PREFIX);
    Played { server: Server::new(address, Some(token.into()), None), streams }
}

/// Watches a played server until its stream has told its first changes.
fn watched(played: &Played) -> (Watch, TcpStream, Changes) {
    let mut watch = Service::on_server(played.server.clone()).watch().unwrap();
    assert_eq!((watch.look().link, watch.look().changes), (Link::Connecting, Changes::default()));
    let mut stream = played.streams.recv_timeout(WAIT_MAX).unwrap();
    changes(&mut stream, 1, 900);
    let first = waits(&mut watch, |look| look.link == Link::Live).changes;
    (watch, stream, first)
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// Answers one request; `events` is the answer to a request for events, or empty for a stream.
fn serve(mut stream: TcpStream, streams: &Sender<TcpStream>, events: &str) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let path = lines.next().unwrap_or_default();
    let head = lines.by_ref().take_while(|line| !line.is_empty());
    assert_eq!(head.filter(|line| line.contains("Bearer")).count(), 1);
    let body = match path.as_str() {
        path if path.contains("/events?events=changes ") && events.is_empty() => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nretry: 3000\n\n")
                .unwrap();
            let _ = streams.send(stream);
            return;
        }
        path if path.contains("/events?") => events,
        _ => r#"{"result": "Not admin", "code": "missing_scope", "message": "no"}"#,
    };
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

fn changes(stream: &mut TcpStream, posts: i64, counts: i64) {
    let changes = Changes { posts, counts, ..Changes::default() };
    let data = serde_json::to_string(&changes).unwrap();
    stream.write_all(format!("event: changes\ndata: {data}\n\n").as_bytes()).unwrap();
}

/// Waits until a look is as expected.
#[track_caller]
fn waits(watch: &mut Watch, is_expected: impl Fn(&Look) -> bool) -> Look {
    let begin = Instant::now();
    loop {
        let look = watch.look();
        if is_expected(&look) {
            return look;
        }
        assert!(begin.elapsed() < WAIT_MAX, "{look:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn is_lost(look: &Look) -> bool {
    matches!(look.link, Link::Lost { .. })
}

#[test]
fn changes_are_seen_as_they_happen_but_counters_every_ten_seconds() {
    let played = play(listener(), 2, "");
    let (mut watch, mut stream, first) = watched(&played);
    let Changes { posts, notices, notice_views, feedback, members, counts, terms, audit, sources } = first;
    let all = [posts, notices, notice_views, feedback, members, counts, terms, audit, sources];
    assert_eq!(all, [1; 9], "all is read again");
    assert_eq!(watch.look().caller.as_deref(), Some("API key"));
    changes(&mut stream, 1, 901);
    changes(&mut stream, 75, 901);
    let second = waits(&mut watch, |look| look.changes.posts > posts).changes;
    assert_eq!(second, Changes { posts: posts + 1, ..first });
    // Numbers that shrink are those of another process.
    changes(&mut stream, 5, 1);
    waits(&mut watch, |look| look.changes.posts > second.posts);
    pass(&mut watch, COUNTS_EVERY);
    assert!(watch.look().changes.counts > counts);
}

/// Lets time pass since the counters changed.
fn pass(watch: &mut Watch, time: Duration) {
    if let Source::Server { counted, .. } = &mut watch.0 {
        counted.at = counted.at.checked_sub(time).unwrap();
    }
}

#[test]
fn looking_at_the_counters_is_no_news() {
    let played = play(listener(), 2, "");
    let requests = Arc::clone(&played.server.requests);
    let (mut watch, mut stream, Changes { mut counts, .. }) = watched(&played);
    let mut posts = 1;
    // Posts change together with the counters, so that the test knows when the change has arrived.
    let mut is_looked_at = |watch: &mut Watch, after: Duration| {
        pass(watch, after);
        posts += 1;
        changes(&mut stream, posts, 900 + posts);
        let look = waits(watch, |look| look.changes.posts == posts).changes;
        std::mem::replace(&mut counts, look.counts) != look.counts
    };
    // The figures are read again once, because they may have had requests of others, too.
    let looking = requests.begin();
    assert!(is_looked_at(&mut watch, COUNTS_EVERY));
    assert!(!is_looked_at(&mut watch, COUNTS_EVERY));
    assert!(!is_looked_at(&mut watch, SELDOM));
    assert!(is_looked_at(&mut watch, OWN_EVERY));
    drop(looking);
    requests.forget();
    assert!(!is_looked_at(&mut watch, Duration::ZERO));
    assert!(is_looked_at(&mut watch, COUNTS_EVERY));
    // While nobody uses the program, the counters are read once a minute.
    let Source::Server { heard, .. } = &watch.0 else { panic!() };
    let heard = Arc::clone(heard);
    lock(&heard).used = Instant::now().checked_sub(UNUSED_AFTER).unwrap();
    assert!(!is_looked_at(&mut watch, COUNTS_EVERY));
    watch.is_used();
    assert!(is_looked_at(&mut watch, Duration::ZERO));
}

#[test]
fn a_lost_server_is_found_again_and_everything_is_read_again() {
    let here = listener();
    let address = here.local_addr().unwrap();
    let played = play(here, 2, "");
    let (mut watch, stream, before) = watched(&played);
    drop(stream);
    let gone = waits(&mut watch, is_lost);
    assert_eq!(gone.changes, before);
    let played = play(TcpListener::bind(address).unwrap(), 2, "");
    let mut stream = played.streams.recv_timeout(WAIT_MAX).unwrap();
    changes(&mut stream, 1, 1);
    let after = waits(&mut watch, |look| look.link == Link::Live).changes;
    let Changes { posts, counts, audit, .. } = after;
    assert!(posts > before.posts && counts > before.counts && audit > before.audit, "{after:?}");
}

#[test]
fn a_caller_who_may_not_follow_the_events_polls() {
    for (refused, link) in [
        (r#"{"result": "Not admin", "code": "missing_scope", "message": "no"}"#, Link::Polling),
        (r#"{"result": "Not found", "code": "unknown_path", "message": "no"}"#, Link::Polling),
        (r#"{"result": "bad token", "code": "bad_token", "message": "no"}"#, Link::SignedOut),
    ] {
        let played = play(listener(), 2, refused);
        let mut watch = Service::on_server(played.server).watch().unwrap();
        let look = waits(&mut watch, |look| look.link != Link::Connecting);
        assert_eq!((look.link, look.changes.posts, look.zone), (link, 1, None));
    }
    // This is no stream.
    let played = play(listener(), 1, "<html>");
    let mut watch = Service::on_server(played.server).watch().unwrap();
    let Link::Lost { cause, .. } = waits(&mut watch, is_lost).link else { panic!() };
    assert!(cause.contains("no answer of tidings"), "{cause}");
}

#[test]
fn pauses_grow_up_to_half_a_minute_and_differ() {
    let server = Server::new("https://tidings.example.org".parse().unwrap(), None, None);
    let mut follower = Follower { server, heard: Weak::new(), last: None, is_introduced: false, tries: 0 };
    let pauses: Vec<f64> = (0..40).map(|_| follower.pause().as_secs_f64()).collect();
    assert!((0.5..=1.0).contains(&pauses[0]) && (2.0..=4.0).contains(&pauses[2]), "{pauses:?}");
    assert!(pauses[5..].iter().all(|pause| (15.0..=30.0).contains(pause)), "{pauses:?}");
    assert!(pauses[5..].windows(2).any(|two| (two[0] - two[1]).abs() > 0.1), "{pauses:?}");
}
