//! The latest events, encoded once for all listeners: those that a listener lacks when it continues after an event.
//! Source of the format of frames: WHATWG HTML, section 9.2.6.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use serde::Serialize;
use tidings_core::error::Problem;
use tidings_core::events::{Content, Event, Kind, Mark, Place, Subject};
use tidings_core::{Error, Result};

/// A listener whose stream ended connects again after this time, in milliseconds.
const RETRY_MS: u32 = 3_000;
pub(super) const CHANGES: &str = "changes";
/// Events in the history, and events that a listener has not read …
pub(super) const LENGTH: usize = 256;
/// … and their bytes: the last event stays even if it is longer.
const BYTES: usize = 4 * 1024 * 1024;

#[derive(Clone, Debug)]
pub(super) struct Kinds(Vec<&'static str>);

impl Kinds {
    /// Changes of the data are not for all callers.
    pub(super) fn public() -> Self {
        Self(Kind::ALL.map(Kind::name).to_vec())
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let known: Vec<_> = Self::public().0.into_iter().chain([CHANGES]).collect();
        let named = |name: &str| known.iter().copied().find(|known| *known == name.trim());
        text.split(',').map(named).collect::<Option<_>>().map(Self).ok_or(Error::BadRequest(KINDS_RULE))
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains(&name)
    }
}

const KINDS_RULE: Problem = Problem::invalid("events", "events are notice, post, counts and changes");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    Now,
    After(Place),
    /// The listener names an event that is not of this database.
    Unknown,
}

pub(super) struct Told {
    mark: Mark,
    pub(super) frame: Bytes,
    is_withdrawn: AtomicBool,
}

impl Told {
    pub(super) fn new(event: &Event) -> Arc<Self> {
        // Counts have no place, because they are not told again.
        let place = (event.mark.kind != Kind::Counts).then_some(event.mark.place);
        let frame = frame(place, event.content.name(), &event.content);
        Arc::new(Self { mark: event.mark, frame, is_withdrawn: AtomicBool::new(false) })
    }

    pub(super) fn is_for(&self, kinds: &Kinds) -> bool {
        kinds.contains(self.mark.kind.name()) && !self.is_withdrawn.load(Ordering::Relaxed)
    }
}

pub(super) struct History {
    entries: VecDeque<Arc<Told>>,
    bytes: usize,
    /// A listener at this place or a later one lacks only events of the history.
    floor: Place,
    place: Place,
    last: Place,
}

impl History {
    pub(super) fn new(floor: Place) -> Self {
        Self { entries: VecDeque::new(), bytes: 0, floor, place: floor, last: floor }
    }

    pub(super) fn push(&mut self, event: Arc<Told>) {
        self.bytes += event.frame.len();
        self.entries.push_back(event);
        while self.entries.len() > LENGTH || (self.bytes > BYTES && self.entries.len() > 1) {
            let Some(entry) = self.entries.pop_front() else { break };
            self.bytes -= entry.frame.len();
            self.floor.pass(&entry.mark);
        }
    }

    pub(super) fn withdraw(&mut self, subject: Subject) {
        for entry in self.entries.iter().filter(|entry| entry.mark.subject == Some(subject)) {
            entry.is_withdrawn.store(true, Ordering::Relaxed);
        }
    }

    /// `last` is the place of the last changes that the events tell.
    pub(super) fn set_end(&mut self, place: Place, last: Place) {
        (self.place, self.last) = (place, last);
    }

    pub(super) fn heartbeat(&self) -> Bytes {
        format!(":\nid: {}\n\n", self.place).into()
    }

    pub(super) fn begin(&self, since: Since, kinds: &Kinds) -> Vec<Bytes> {
        let mut frames = Vec::new();
        let told = [Kind::Notice, Kind::Post].into_iter().filter(|kind| kinds.contains(kind.name()));
        let is_missing = |kind: &Kind| match since {
            Since::Now => false,
            Since::After(place) => !place.is_within(self.floor, self.last, *kind),
            Since::Unknown => true,
        };
        // Before the other events and without a place: a listener that gets nothing else has read the data again.
        frames.extend(told.clone().filter(is_missing).map(reset));
        if let Since::After(place) = since {
            let continued: Vec<Kind> = told.filter(|kind| !is_missing(kind)).collect();
            let lacking = self.entries.iter().filter(|entry| {
                entry.is_for(kinds) && continued.contains(&entry.mark.kind) && place.lacks(&entry.mark)
            });
            frames.extend(lacking.map(|entry| entry.frame.clone()));
        }
        // Sets the place of the listener, without an event.
        frames.push(format!("retry: {RETRY_MS}\nid: {}\n\n", self.place).into());
        frames
    }
}

pub(super) fn frame(place: Option<Place>, name: &str, data: &impl Serialize) -> Bytes {
    let id = place.map(|place| format!("id: {place}\n")).unwrap_or_default();
    // JSON has no line breaks, so the data is one line.
    let data = serde_json::to_string(data).expect("events have text keys and serialise without errors");
    format!("{id}event: {name}\ndata: {data}\n\n").into()
}

fn reset(kind: Kind) -> Bytes {
    let content = Content::Reset { event: kind };
    frame(None, content.name(), &content)
}
