//! The latest events, encoded once for all listeners: those that a listener lacks when it continues after an event.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tidings_core::error::Problem;
use tidings_core::events::{Event, Kind, Mark, Place, Subject};
use tidings_core::{Error, Result};

use super::frame;

/// Events in the history, and events that a listener has not read …
pub(super) const LENGTH: usize = 256;
/// … and their bytes: the last event stays even if it is longer.
const BYTES: usize = 4 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds {
    public: [bool; Kind::ALL.len()],
    /// The changes of the data are not for all callers.
    pub(super) has_changes: bool,
}

impl Kinds {
    pub(super) const PUBLIC: Self = Self { public: [true; Kind::ALL.len()], has_changes: false };

    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut kinds = Self { public: [false; Kind::ALL.len()], has_changes: false };
        for name in text.split(',').map(str::trim) {
            if name == frame::CHANGES {
                kinds.has_changes = true;
                continue;
            }
            let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
            kinds.public[kind.ok_or(Error::BadRequest(KINDS_RULE))? as usize] = true;
        }
        Ok(kinds)
    }

    pub(super) const fn contains(self, kind: Kind) -> bool {
        self.public[kind as usize]
    }

    pub(super) const fn has_counts(self) -> bool {
        self.contains(Kind::Counts)
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
        Arc::new(Self { mark: event.mark, frame: frame::event(event), is_withdrawn: AtomicBool::new(false) })
    }

    /// The event is of these kinds, and not withdrawn.
    pub(super) fn is_for(&self, kinds: Kinds) -> bool {
        kinds.contains(self.mark.kind) && !self.is_withdrawn.load(Ordering::Relaxed)
    }
}

pub(super) struct History {
    entries: VecDeque<Arc<Told>>,
    bytes: usize,
    /// A listener at this place or a later one lacks only events of the history.
    floor: Place,
    place: Place,
    last: Place,
    /// For a listener without events: a comment, and the current place.
    heartbeat: Bytes,
}

impl History {
    pub(super) fn new(floor: Place) -> Self {
        let (entries, heartbeat) = (VecDeque::new(), frame::heartbeat(floor));
        Self { entries, bytes: 0, floor, place: floor, last: floor, heartbeat }
    }

    /// The oldest events make room.
    pub(super) fn push(&mut self, event: Arc<Told>) {
        self.bytes += event.frame.len();
        self.entries.push_back(event);
        while self.entries.len() > LENGTH || (self.bytes > BYTES && self.entries.len() > 1) {
            let Some(entry) = self.entries.pop_front() else { break };
            self.bytes -= entry.frame.len();
            self.floor.pass(&entry.mark);
        }
    }

    /// Withdrawn events are told to nobody.
    pub(super) fn withdraw(&mut self, subject: Subject) {
        for entry in self.entries.iter().filter(|entry| entry.mark.subject == Some(subject)) {
            entry.is_withdrawn.store(true, Ordering::Relaxed);
        }
    }

    /// `last` is the place of the last changes that the events tell.
    pub(super) fn set_end(&mut self, place: Place, last: Place) {
        if place != self.place {
            self.heartbeat = frame::heartbeat(place);
        }
        (self.place, self.last) = (place, last);
    }

    /// For a listener that has read everything.
    pub(super) fn heartbeat(&self) -> Bytes {
        self.heartbeat.clone()
    }

    /// The frames that a listener gets first.
    pub(super) fn begin(&self, since: Since, kinds: Kinds) -> Vec<Bytes> {
        let mut frames = Vec::new();
        let told = [Kind::Notice, Kind::Post].into_iter().filter(|kind| kinds.contains(*kind));
        let is_missing = |kind: &Kind| match since {
            Since::Now => false,
            Since::After(place) => !place.is_within(self.floor, self.last, *kind),
            Since::Unknown => true,
        };
        // Before the other events and without a place: a listener that gets nothing else has read the data again.
        frames.extend(told.clone().filter(is_missing).map(frame::reset));
        if let Since::After(place) = since {
            let continued: Vec<Kind> = told.filter(|kind| !is_missing(kind)).collect();
            let lacking = self.entries.iter().filter(|entry| {
                entry.is_for(kinds) && continued.contains(&entry.mark.kind) && place.lacks(&entry.mark)
            });
            frames.extend(lacking.map(|entry| entry.frame.clone()));
        }
        frames.push(frame::begin(self.place));
        frames
    }
}
