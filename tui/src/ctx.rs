use jiff::tz::TimeZone;
use ratatui::layout::Rect;
use tidings_client::shown::time;
use tidings_core::clock::Timestamp;
use tidings_core::config::Bounds;

use crate::layout;
use crate::theme::Theme;

#[derive(Clone, Debug)]
pub(crate) struct Ctx {
    pub(crate) now: Timestamp,
    /// Days are counted and all times are shown in this zone.
    pub(crate) zone: TimeZone,
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    pub(crate) theme: Theme,
    /// A server logs every request.
    pub(crate) is_remote: bool,
    /// `None` if the length is that of a server.
    pub(crate) password: Option<Bounds>,
}

impl Ctx {
    #[cfg(test)]
    pub(crate) fn of_tests(now: Timestamp) -> Self {
        let (zone, theme) = (TimeZone::get("Asia/Seoul").expect("a zone"), Theme::new(true));
        Self { now, zone, size: (80, 24), theme, is_remote: false, password: None }
    }

    pub(crate) fn body(&self) -> Rect {
        layout::areas(Rect::new(0, 0, self.size.0, self.size.1)).body
    }

    fn at(&self, at: Timestamp, format: &str) -> String {
        time::formatted(at, &self.zone, format)
    }

    pub(crate) fn stamp(&self, at: Timestamp) -> String {
        time::stamp(at, &self.zone)
    }

    pub(crate) fn day(&self, at: Timestamp) -> String {
        self.at(at, "%Y-%m-%d")
    }

    pub(crate) fn time(&self, at: Timestamp) -> String {
        self.at(at, "%H:%M")
    }

    pub(crate) fn clock(&self, at: Timestamp) -> String {
        self.at(at, "%H:%M:%S")
    }

    /// `11-19 13:36:05`, or without the date if `above` is on the same day.
    pub(crate) fn dated(&self, at: Timestamp, above: Option<Timestamp>) -> String {
        let same = above.is_some_and(|above| self.day(above) == self.day(at));
        self.at(at, if same { "      %H:%M:%S" } else { "%m-%d %H:%M:%S" })
    }

    /// `13:36:05` if it is today, otherwise `11-19 13:36:05`.
    pub(crate) fn moment(&self, at: Timestamp) -> String {
        let format = if self.day(at) == self.day(self.now) { "%H:%M:%S" } else { "%m-%d %H:%M:%S" };
        self.at(at, format)
    }
}
