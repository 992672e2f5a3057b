//! Events in the format of server-sent events.
//!
//! Source: WHATWG HTML, section 9.2.6.

use std::fmt::Write as _;

use bytes::Bytes;
use serde::Serialize;
use tidings_core::changes::Changes;
use tidings_core::events::{Content, Event, Kind, Place};

/// A listener whose stream ended connects again after this time, in milliseconds.
const RETRY_MS: u32 = 3_000;
pub(super) const CHANGES: &str = "changes";

/// Counts have no id, because they are not told again.
pub(super) fn event(event: &Event) -> Bytes {
    let mut frame = String::new();
    if event.mark.kind != Kind::Counts {
        write_line(&mut frame, "id", &event.mark.place.to_string());
    }
    write_content(&mut frame, &event.content);
    frame.into()
}

/// Tells a listener to read data again.
pub(super) fn reset(kind: Kind) -> Bytes {
    let mut frame = String::new();
    write_content(&mut frame, &Content::Reset { event: kind });
    frame.into()
}

/// Has no id, like counts.
pub(super) fn changes(changes: &Changes) -> Bytes {
    let mut frame = String::new();
    write_event(&mut frame, CHANGES, changes);
    frame.into()
}

/// The frame sets the place of a listener, without an event.
pub(super) fn begin(place: Place) -> Bytes {
    let mut frame = String::new();
    write_line(&mut frame, "retry", &RETRY_MS.to_string());
    write_line(&mut frame, "id", &place.to_string());
    frame.push('\n');
    frame.into()
}

/// The place of a listener that has read everything.
pub(super) fn heartbeat(place: Place) -> Bytes {
    let mut frame = ":\n".to_owned();
    write_line(&mut frame, "id", &place.to_string());
    frame.push('\n');
    frame.into()
}

fn write_content(frame: &mut String, content: &Content) {
    write_event(frame, content.name(), content);
}

fn write_event(frame: &mut String, name: &str, data: &impl Serialize) {
    write_line(frame, "event", name);
    // JSON has no line breaks, so the data is one line.
    let data = serde_json::to_string(data).expect("events have text keys and serialise without errors");
    write_line(frame, "data", &data);
    frame.push('\n');
}

fn write_line(frame: &mut String, field: &str, value: &str) {
    writeln!(frame, "{field}: {value}").expect("writing to memory does not fail");
}
