//! The screens on a server: its name, the state of the connection, and recovering after the connection was lost.

use tidings_core::member;

use super::*;

/// Ticks with this connection.
fn ticks(stage: &mut Stage, link: Link) {
    stage.clock.advance(1_000);
    let look = Look { link, caller: Some("ann".into()), ..stage.watch.look() };
    stage.happens(Event::Tick(look));
}

fn lost() -> Link {
    Link::Lost { since: NOW - 61_000, cause: "connection refused".into() }
}

/// Ticks with a connection that was lost, which raises every version.
fn is_back(stage: &mut Stage) {
    let mut look = Look { link: Link::Live, ..stage.watch.look() };
    let Changes { posts, notices, feedback, members, counts, terms, audit, sources, .. } = &mut look.changes;
    for version in [posts, notices, feedback, members, counts, terms, audit, sources] {
        *version += 1_000_000;
    }
    stage.happens(Event::Tick(look));
}

#[test]
fn the_title_names_the_server_the_caller_and_the_connection() {
    let mut stage = Stage::remote(Link::Connecting);
    stage.sees("tidings.example.org").sees("connecting …");
    stage.keys(&["2"]);
    for (link, wide, narrow) in [
        (Link::Live, "ann ● live", "ann ● live"),
        (Link::Polling, "ann ○ every 10 seconds", "ann ○ 10 s"),
        (Link::SignedOut, "ann ✗ not signed in", "… ✗ not signed in"),
        (lost(), "ann ✗ not reachable since 08:34:59", "… ✗ since 08:34:59"),
    ] {
        ticks(&mut stage, link);
        for (size, shown) in [((80, 24), wide), ((40, 12), narrow)] {
            stage.resize(size.0, size.1);
            let seen = stage.seen();
            let title: Vec<&str> = seen.lines().nth(1).unwrap().split_whitespace().collect();
            assert_eq!(title.join(" ").replace("·…", "· …"), format!("tidings.example.org · {shown}"));
        }
    }
    // The choices are visible, however small the window is.
    stage.keys(&["x"]).sees("Question · tidings.example.org").sees("y  remove it").sees("Esc  cancel");
}

#[test]
fn times_are_in_the_zone_of_the_server_once_it_is_known() {
    let mut stage = Stage::remote(Link::Connecting);
    let look = Look { zone: Some("Asia/Seoul".into()), link: Link::Live, ..stage.watch.look() };
    stage.resize(160, 50);
    stage.happens(Event::Tick(look));
    stage.sees("Asia/Seoul 17:36");
}

#[test]
fn requests_without_an_answer_are_sent_again_when_the_connection_is_back() {
    for screen in ["1", "2", "3", "4", "5", "6", "7", "8", "9"] {
        let mut stage = Stage::remote(Link::Live);
        ticks(&mut stage, Link::Live);
        stage.holds = true;
        stage.keys(&[screen, "Ctrl-L"]);
        assert!(!stage.waiting.is_empty(), "{screen}");
        stage.waiting.clear();
        ticks(&mut stage, lost());
        assert!(stage.waiting.is_empty(), "{screen}: {:?}", stage.waiting);
        is_back(&mut stage);
        assert!(!stage.waiting.is_empty(), "{screen}");
    }
}

#[test]
fn a_failure_is_followed_by_another_try_when_the_connection_is_back() {
    for (screen, open) in [("4", "Enter"), ("5", "Enter"), ("6", "Left"), ("7", "f")] {
        let mut stage = Stage::remote(Link::Live);
        stage.resize(160, 50);
        ticks(&mut stage, Link::Live);
        stage.holds = true;
        stage.keys(&[screen, open, "Ctrl-L"]);
        for effect in std::mem::take(&mut stage.waiting) {
            let Effect::Load { number, .. } = effect else { continue };
            let answer = Err(Problem::new("The server cannot be reached: no route."));
            stage.happens(Event::Loaded { number, answer });
        }
        stage.sees("The server cannot be reached");
        ticks(&mut stage, lost());
        stage.holds = false;
        is_back(&mut stage);
        stage.sees_not("cannot be reached");
    }
}

#[test]
fn the_first_screen_is_one_that_the_caller_may_see() {
    let id = "eda";
    let opened = |scopes: &[&str], holds: bool| {
        let mut stage = Stage::at(|tidings, _| {
            data::member(tidings, id, "Ed");
            let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            tidings.call(&Caller::Operator, member::SetRole { user_id: id.into(), scopes }).unwrap();
        });
        stage.sources.service = Service::on_database(stage.tidings.clone(), Caller::Member(id.into()));
        stage.holds = holds;
        let look = stage.watch.look();
        stage.reopen(Title::server("tidings.example.org"), &look);
        stage
    };
    for (scopes, screen) in
        [(&["analytics:read"][..], 0), (&["notices"], 1), (&["feedback"], 2), (&["posts"], 4)]
    {
        let stage = opened(scopes, false);
        assert_eq!(stage.state.current, screen, "{scopes:?}");
        stage.sees_not("Not admin");
    }
    // A person who has pressed a key has chosen.
    let mut stage = opened(&["notices"], true);
    stage.keys(&["1"]);
    stage.release();
    assert_eq!(stage.state.current, 0);
}
