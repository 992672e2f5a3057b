//! Tests of the dialog that enables a second factor.

use tidings_client::{Link, Look};

use super::*;
use crate::problem::Problem;

const URI: &str = "otpauth://totp/tidings:ann?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=tidings";

fn remote() -> Stage {
    let mut stage = Stage::at(Clock::fixed(NOW), data::campus);
    let look = Look { link: Link::Live, zone: None, ..stage.watch.look() };
    stage.state = State::new(Title::server("tidings.example.org"), true, (80, 24), &look);
    let first = stage.state.start();
    stage.perform(first);
    stage
}

fn acted(kind: Kind, result: Result<Saved, Problem>) -> Event {
    let Act { change, .. } = Act::new(None, kind, None, Work::new(|_| Ok(None)));
    Event::Acted { change, result }
}

#[test]
fn on_a_server_it_is_enabled_with_a_code_to_scan() {
    let mut stage = remote();
    stage.keys(&["O", "pw", "Enter", "8k2m"]);
    stage.sees("Your second factor");
    stage.sees("••");
    let missing = Problem { field: Some("enrolment_code".into()), ..Problem::new("It needs a code.") };
    stage.happens(acted(Kind::BeginOtp, Err(missing)));
    stage.sees("✗ It needs a code.");
    stage.happens(acted(Kind::BeginOtp, Ok(Some(URI.into()))));
    stage.sees("Scan the code, or type the secret");
    stage.sees("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP");
    assert!(stage.seen().contains('▀'), "{}", stage.seen());
    stage.resize(40, 12);
    stage.sees("Type the secret");
    assert!(!stage.seen().contains('▀'), "{}", stage.seen());
    stage.happens(acted(Kind::EnableOtp, Ok(Some("aaaa-bbbb\ncccc-dddd".into()))));
    stage.sees("cccc-dddd");
    stage.keys(&["Enter"]);
    stage.sees("Overview");
}

#[test]
fn on_a_database_the_operator_needs_none() {
    let mut stage = Stage::new();
    stage.keys(&["O"]);
    stage.sees("the operator has every right");
}
