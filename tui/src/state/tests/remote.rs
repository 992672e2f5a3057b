//! The screens on a server: its name, the state of the connection, and recovering after the connection was lost.

use tidings_client::{Link, Look};
use tidings_core::member;

use super::*;

/// Returns the screens as a server has them, with data.
fn remote() -> Stage {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    let look = Look { link: Link::Connecting, zone: None, ..stage.watch.look() };
    stage.state = State::new(Title::server("tidings.example.org"), true, (80, 24), &look);
    let first = stage.state.start();
    stage.perform(first);
    stage
}

/// Ticks with this connection.
fn ticks(stage: &mut Stage, link: Link) {
    stage.clock.advance(1_000);
    let look = Look { link, caller: Some("ann".into()), ..stage.watch.look() };
    stage.happens(Event::Tick(look));
}

fn lost() -> Link {
    Link::Lost { since: NOW - 61_000, cause: "connection refused".into() }
}

#[test]
fn the_title_names_the_server_the_caller_and_the_connection() {
    let mut stage = remote();
    stage.sees("tidings.example.org");
    stage.sees("connecting …");
    for (columns, rows) in [(40, 12), (80, 24)] {
        stage.resize(columns, rows);
        for (name, link) in [
            ("live", Link::Live),
            ("polling", Link::Polling),
            ("signed_out", Link::SignedOut),
            ("lost", lost()),
        ] {
            ticks(&mut stage, link);
            stage.keys(&["2"]);
            insta::assert_snapshot!(format!("remote_{name}_{columns}x{rows}"), stage.seen());
        }
        stage.keys(&["x"]);
        insta::assert_snapshot!(format!("remote_question_{columns}x{rows}"), stage.seen());
        stage.keys(&["Esc"]);
    }
}

#[test]
fn times_are_in_the_zone_of_the_server_once_it_is_known() {
    let mut stage = remote();
    let look = Look { zone: Some("Asia/Seoul".into()), link: Link::Live, ..stage.watch.look() };
    stage.resize(160, 50);
    stage.happens(Event::Tick(look));
    stage.sees("Asia/Seoul 17:36");
}

#[test]
fn requests_without_an_answer_are_sent_again_when_the_connection_is_back() {
    for screen in ["1", "2", "3", "4", "5", "6", "7", "8", "9"] {
        let mut stage = remote();
        ticks(&mut stage, Link::Live);
        stage.holds = true;
        stage.keys(&[screen, "Ctrl-L"]);
        assert!(!stage.waiting.is_empty(), "{screen}");
        stage.waiting.clear();
        ticks(&mut stage, lost());
        assert!(stage.waiting.is_empty(), "{screen}: {:?}", stage.waiting);
        let mut look = Look { link: Link::Live, ..stage.watch.look() };
        raise(&mut look);
        stage.happens(Event::Tick(look));
        assert!(!stage.waiting.is_empty(), "{screen}");
    }
}

#[test]
fn a_failure_is_followed_by_another_try_when_the_connection_is_back() {
    for (screen, open) in [("4", "Enter"), ("5", "Enter"), ("6", "Left"), ("7", "f")] {
        let mut stage = remote();
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
        let mut look = Look { link: Link::Live, ..stage.watch.look() };
        raise(&mut look);
        stage.happens(Event::Tick(look));
        stage.sees_not("cannot be reached");
    }
}

/// Raises every version, as after a lost connection.
fn raise(look: &mut Look) {
    let changes = &mut look.changes;
    for version in [
        &mut changes.posts,
        &mut changes.notices,
        &mut changes.feedback,
        &mut changes.members,
        &mut changes.counts,
        &mut changes.terms,
        &mut changes.audit,
        &mut changes.sources,
    ] {
        *version += 1_000_000;
    }
}

#[test]
fn the_first_screen_is_one_that_the_caller_may_see() {
    let id = "eda";
    let opened = |scopes: &[&str]| {
        let mut stage = Stage::at(Clock::fixed(NOW), |tidings, _| {
            data::member(tidings, id, "Ed");
            let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            tidings.call(&Caller::Operator, member::SetRole { user_id: id.into(), scopes }).unwrap();
        });
        stage.sources.service = Service::on_database(stage.tidings.clone(), Caller::Member(id.into()));
        let look = stage.watch.look();
        stage.state = State::new(Title::server("tidings.example.org"), true, (80, 24), &look);
        stage
    };
    for (scopes, screen) in
        [(&["analytics:read"][..], 0), (&["notices"], 1), (&["feedback"], 2), (&["posts"], 4)]
    {
        let mut stage = opened(scopes);
        let first = stage.state.start();
        stage.perform(first);
        assert_eq!(stage.state.current, screen, "{scopes:?}");
        stage.sees_not("Not admin");
    }
    // A person who has pressed a key has chosen.
    let mut stage = opened(&["notices"]);
    stage.holds = true;
    let first = stage.state.start();
    stage.perform(first);
    stage.keys(&["1"]);
    stage.holds = false;
    let waiting = std::mem::take(&mut stage.waiting);
    stage.perform(waiting);
    assert_eq!(stage.state.current, 0);
}
