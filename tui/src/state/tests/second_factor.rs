//! Tests of the dialog that enables a second factor.

use super::*;

const URI: &str = "otpauth://totp/tidings:ann?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=tidings";

fn acted(kind: Kind, result: Result<Saved, Problem>) -> Event {
    let Act { change, .. } = Act::new(None, kind, None, Work::new(|_| Ok(None)));
    Event::Acted { change, result }
}

#[test]
fn on_a_server_it_is_enabled_with_a_code_to_scan() {
    let mut stage = Stage::remote(Link::Live);
    stage.keys(&["O", "pw", "Enter", "8k2m"]).sees("Your second factor").sees("••");
    let missing = Problem { field: Some("enrolment_code".into()), ..Problem::new("It needs a code.") };
    stage.happens(acted(Kind::BeginOtp, Err(missing)));
    stage.sees("✗ It needs a code.");
    stage.happens(acted(Kind::BeginOtp, Ok(Some(URI.into()))));
    stage.sees("Scan the code, or type the secret").sees("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP").sees("▀");
    stage.resize(40, 12);
    stage.sees("Type the secret").sees_not("▀");
    stage.happens(acted(Kind::EnableOtp, Ok(Some("aaaa-bbbb\ncccc-dddd".into()))));
    stage.sees("cccc-dddd");
    stage.keys(&["Enter"]).sees("Overview");
}

#[test]
fn on_a_database_the_operator_needs_none() {
    Stage::new().keys(&["O"]).sees("the operator has every right");
}
