//! The context of all screens: the time and its zone, the terminal, the colours, and where the service is.

use jiff::tz::TimeZone;
use ratatui::layout::Rect;
use tidings_client::shown::time;
use tidings_core::clock::Timestamp;
use tidings_core::config::Bounds;

use crate::layout;
use crate::theme::Theme;

/// The context that all screens share.
#[derive(Clone, Debug)]
pub(crate) struct Ctx {
    /// The current time.
    pub(crate) now: Timestamp,
    /// The time zone in which days are counted and all times are shown.
    pub(crate) zone: TimeZone,
    /// Columns and rows of the terminal.
    pub(crate) size: (u16, u16),
    pub(crate) theme: Theme,
    /// Whether the service is a server, which logs every request.
    pub(crate) is_remote: bool,
    /// The length of a password; `None` if it is that of a server.
    pub(crate) password: Option<Bounds>,
}

impl Ctx {
    /// Returns the area of the screen.
    pub(crate) fn body(&self) -> Rect {
        layout::areas(Rect::new(0, 0, self.size.0, self.size.1)).body
    }

    /// Formats a point in time in the zone.
    fn at(&self, at: Timestamp, format: &str) -> String {
        time::formatted(at, &self.zone, format)
    }

    /// Formats a point in time as `2026-11-20 13:36`.
    pub(crate) fn stamp(&self, at: Timestamp) -> String {
        time::stamp(at, &self.zone)
    }

    /// Formats a point in time as `2026-11-20`.
    pub(crate) fn day(&self, at: Timestamp) -> String {
        self.at(at, "%Y-%m-%d")
    }

    /// Formats a point in time as `13:36`.
    pub(crate) fn time(&self, at: Timestamp) -> String {
        self.at(at, "%H:%M")
    }

    /// Formats a point in time as `13:36:05`.
    pub(crate) fn clock(&self, at: Timestamp) -> String {
        self.at(at, "%H:%M:%S")
    }

    /// Formats a point in time as `11-19 13:36:05`, or without the date if `above` is on the same day.
    pub(crate) fn dated(&self, at: Timestamp, above: Option<Timestamp>) -> String {
        let same = above.is_some_and(|above| self.day(above) == self.day(at));
        self.at(at, if same { "      %H:%M:%S" } else { "%m-%d %H:%M:%S" })
    }

    /// Formats a point in time as `13:36:05` if it is today, otherwise as `11-19 13:36:05`.
    pub(crate) fn moment(&self, at: Timestamp) -> String {
        let format = if self.day(at) == self.day(self.now) { "%H:%M:%S" } else { "%m-%d %H:%M:%S" };
        self.at(at, format)
    }
}
