//! The latest events, encoded once for all listeners.
//!
//! A listener reads them by position. So no listener has a queue of its own, and one that is too slow loses the stream when
//! the events that it has not read leave the history.

use std::collections::VecDeque;

use bytes::Bytes;
use tidings_core::error::Problem;
use tidings_core::events::{Kind, Mark, Place, Subject};
use tidings_core::{Error, Result};

use super::frame;

/// The maximum number of events in the history …
const LENGTH: usize = 256;
/// … and of their bytes: the last event stays even if it is longer.
const BYTES: usize = 4 * 1024 * 1024;

/// The kinds of events that a listener wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds {
    public: [bool; Kind::ALL.len()],
    /// Whether it wants the changes of the data, which are not for all callers.
    pub(super) has_changes: bool,
}

impl Kinds {
    /// All kinds that are for all callers.
    pub(super) const PUBLIC: Self = Self { public: [true; Kind::ALL.len()], has_changes: false };

    /// Reads names separated by commas.
    ///
    /// # Errors
    /// `bad request` for an unknown name.
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

/// The place from which a listener reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// The listener is new.
    Now,
    /// The listener continues after an event.
    After(Place),
    /// The listener names an event that is not of this database.
    Unknown,
}

/// The next read of a listener.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Frame(Bytes),
    /// The listener has read everything.
    Nothing,
    /// Events that the listener has not read have left the history.
    Lost,
}

struct Entry {
    mark: Mark,
    /// Empty if the event is not told any more.
    frame: Bytes,
}

/// The latest events.
pub(super) struct History {
    entries: VecDeque<Entry>,
    /// The position of the first entry.
    first: u64,
    bytes: usize,
    /// A listener at this place or a later one lacks only events of the history.
    floor: Place,
    /// The place after all events.
    place: Place,
    /// The last changes that the events tell.
    last: Place,
    /// The message to a listener without events: a comment, and the current place.
    heartbeat: Bytes,
}

impl History {
    /// Returns an empty history that begins at `floor`.
    pub(super) fn new(floor: Place) -> Self {
        let (entries, heartbeat) = (VecDeque::new(), frame::heartbeat(floor));
        Self { entries, first: 0, bytes: 0, floor, place: floor, last: floor, heartbeat }
    }

    /// Adds an event. The oldest events leave if there is no room.
    pub(super) fn push(&mut self, mark: Mark, frame: Bytes) {
        self.bytes += frame.len();
        self.entries.push_back(Entry { mark, frame });
        while self.entries.len() > LENGTH || (self.bytes > BYTES && self.entries.len() > 1) {
            let Some(entry) = self.entries.pop_front() else { break };
            self.first += 1;
            self.bytes -= entry.frame.len();
            self.floor.pass(&entry.mark);
        }
    }

    /// Removes the texts of events about `subject`.
    pub(super) fn withdraw(&mut self, subject: Subject) {
        for entry in self.entries.iter_mut().filter(|entry| entry.mark.subject == Some(subject)) {
            self.bytes -= entry.frame.len();
            entry.frame = Bytes::new();
        }
    }

    /// Sets the place after all events, and the last changes that they tell.
    pub(super) fn set_end(&mut self, place: Place, last: Place) {
        if place != self.place {
            self.heartbeat = frame::heartbeat(place);
        }
        (self.place, self.last) = (place, last);
    }

    /// Returns the position after the last event.
    pub(super) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Returns the comment for a listener that has read everything.
    pub(super) fn heartbeat(&self) -> Bytes {
        self.heartbeat.clone()
    }

    /// Returns the next event of these kinds, and moves the position behind it.
    pub(super) fn next(&self, position: &mut u64, kinds: Kinds) -> Next {
        let Some(read) = position.checked_sub(self.first) else { return Next::Lost };
        let read = usize::try_from(read).unwrap_or(usize::MAX);
        for entry in self.entries.iter().skip(read) {
            *position += 1;
            if kinds.contains(entry.mark.kind) && !entry.frame.is_empty() {
                return Next::Frame(entry.frame.clone());
            }
        }
        Next::Nothing
    }

    /// Returns what a listener gets first. From then on, it reads from [`History::end`].
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
                !entry.frame.is_empty() && continued.contains(&entry.mark.kind) && place.lacks(&entry.mark)
            });
            frames.extend(lacking.map(|entry| entry.frame.clone()));
        }
        frames.push(frame::begin(self.place));
        frames
    }
}
