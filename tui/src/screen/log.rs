use std::collections::BTreeSet;

use ratatui::style::Style;
use ratatui::text::Line;
use serde_json::{Value, json};
use tidings_core::analysis::{LogEntry, LogLine, LogLines, LogPlace};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::{Work, query};
use crate::keys::{self, Action, Table};
use crate::layout::tab;
use crate::screen::browse::{Browse, ColumnOf, Listing, listing};
use crate::screen::{Ctx, Destination, Out, reading};
use crate::theme::Theme;
use crate::widget::cursor::Cursor;
use crate::widget::input::Input;
use crate::widget::table::{Cell, Column};
use tidings_client::shown::number::count;

mod filter;

/// In memory while older lines are loaded.
const LINES_MAX: usize = 20_000;

#[derive(Default)]
pub(crate) struct Log {
    base: Listing<LogLine, LogPlace>,
    listed: Option<String>,
    looked_to: Option<Timestamp>,
    is_paused: bool,
    mistake: Option<&'static str>,
    /// The results of the lines that were loaded, as they are typed into the filter.
    results: BTreeSet<String>,
}

const MEMBER: fn(&Log, &LogLine, Option<&LogLine>, &Ctx) -> Cell =
    |_, line, _, _| line.entry.user_id.as_str().into();
const PATH: ColumnOf<Log> = (Column::new("Path", 0), |_, line, _, _| line.entry.path.as_str().into());
const CODE: ColumnOf<Log> = (Column::new("Code", 4).right(), |_, line, _, ctx| {
    Cell::styled(line.entry.status.to_string(), style(line, ctx))
});
const COLUMNS: [ColumnOf<Log>; 6] = [
    (Column::new("Time", 14), |_, line, above, ctx| {
        Cell::faint(ctx.dated(line.entry.date, above.map(|above| above.entry.date)))
    }),
    (Column::new("Member", 12), MEMBER),
    (Column::new("Method", 6), |_, line, _, _| Cell::faint(line.entry.method.as_str())),
    PATH,
    CODE,
    (Column::new("Result", 16).from(100), |_, line, _, ctx| {
        Cell::styled(line.result.as_deref().unwrap_or_default(), style(line, ctx))
    }),
];

/// For a narrow table, with the time but not the date.
const NARROW: [ColumnOf<Log>; 4] = [
    (Column::new("Time", 8), |_, line, _, ctx| Cell::faint(ctx.clock(line.entry.date))),
    (Column::new("Member", 8), MEMBER),
    PATH,
    CODE,
];
/// From this width on, all columns are shown.
const ROOMY: u16 = 56;

fn style(line: &LogLine, ctx: &Ctx) -> Style {
    if line.is_failure() { ctx.theme.bad() } else { Theme::faint() }
}

impl Log {
    fn look_for(&mut self, text: &str, ctx: &Ctx, out: &mut Out) {
        self.base.list.filter = Input::new(text);
        self.load(None, ctx, out);
    }

    fn filter(&self) -> &str {
        self.base.list.filter.text()
    }
}

impl Browse for Log {
    listing!(LogLine, LogPlace, LogLines);

    const TAB: usize = tab::LOG;
    const KEYS: &'static Table = &keys::LOG;
    /// Most of the room is for the paths, because the text of a line is short.
    const LIST_WIDTH: fn(u16) -> u16 = |width| width - 3 - (width / 3).clamp(30, 50);
    const ID: fn(&LogLine) -> String = |line| line.place.to_string();
    const VERSIONS: fn(&Changes) -> [i64; 3] = |changes| [changes.counts, 0, 0];
    const COPIED: (&'static str, fn(&LogLine) -> String) = ("the line", |line| {
        let LogEntry { user_id, date, path, method, status } = &line.entry;
        format!("{date} {user_id} {method} {path} {status}")
    });
    const EXPORTED: (&'static str, &'static str) = ("log", "date user_id method path status result");

    fn query(&mut self, place: Option<LogPlace>, ctx: &Ctx) -> Option<Work<LogLines>> {
        match filter::parse(self.filter(), ctx) {
            Ok(filter) => {
                self.mistake = None;
                self.listed = Some(self.filter().to_owned());
                Some(query::log(filter, place))
            }
            Err(mistake) => {
                // Unfinished input may still become right.
                self.mistake = Some(mistake).filter(|_| !self.base.list.typing);
                None
            }
        }
    }

    fn is_due(&mut self, has_changed: bool, _: &Changes, _: &Ctx) -> bool {
        let follows = !self.is_paused || self.base.pending.problem().is_some();
        self.listed.is_none() || (follows && has_changed && !self.base.list.reading)
    }

    fn text(&self, line: &LogLine, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let LogLine { entry: LogEntry { user_id, date, path, method, status }, result, .. } = line;
        let facts = format!("{} {}", ctx.day(*date), ctx.clock(*date));
        let answer =
            result.as_ref().map_or_else(|| status.to_string(), |result| format!("{status} {result}"));
        reading(&format!("{method} {path}"), &facts, &format!("by {user_id}\nanswered {answer}"), columns)
    }

    fn own_action(&mut self, action: Action, _: Option<LogLine>, ctx: &Ctx, out: &mut Out) -> bool {
        match (action, self.base.next) {
            (Action::Follow, _) => {
                self.is_paused = !self.is_paused;
                if !self.is_paused {
                    self.load(None, ctx, out);
                }
            }
            (Action::More, Some(place)) => {
                // New lines would replace the older ones that are loaded now.
                self.is_paused = true;
                self.load(Some(place), ctx, out);
            }
            (Action::More, None) => out.say("The log has no older lines."),
            (Action::Kind, _) => {
                let text = filter::with_next_result(self.filter(), &self.results);
                self.look_for(&text, ctx, out);
            }
            (Action::Open, _) if self.base.list.typing => match filter::parse(self.filter(), ctx) {
                // The field stays open.
                Err(mistake) => self.mistake = Some(mistake),
                Ok(_) => return false,
            },
            _ => return false,
        }
        true
    }

    fn values(&self, line: &LogLine, _: &Ctx) -> Value {
        let LogEntry { user_id, date, path, method, status } = &line.entry;
        json!([date.to_string(), user_id, method, path, status, line.result.as_deref().unwrap_or_default()])
    }

    fn opened(&mut self, to: Destination, ctx: &Ctx, out: &mut Out) {
        match to {
            Destination::Log(text) => self.look_for(&text, ctx, out),
            _ => self.base.list.type_filter(),
        }
    }

    fn loaded(&mut self, LogLines { log: lines, next, looked_to }: LogLines, _: &Ctx, _: &mut Out) {
        let is_at_top = self.base.list.is_at_top();
        self.results.extend(lines.iter().filter_map(|line| Some(line.result.as_ref()?.replace(' ', "_"))));
        self.add(lines, next);
        self.looked_to = looked_to;
        self.base.next.take_if(|_| self.base.rows.len() >= LINES_MAX);
        if is_at_top && !self.base.further {
            // If the newest line is selected, the selection moves to the new newest line.
            self.base.list.cursor = Cursor::default();
        }
    }

    fn columns(&self, ctx: &Ctx) -> &'static [ColumnOf<Self>] {
        if ctx.body().width < ROOMY { &NARROW } else { &COLUMNS }
    }

    fn head(&self, ctx: &Ctx) -> String {
        if self.base.list.typing {
            return filter::HINT.to_owned();
        }
        // A narrow table has no room for dates.
        let day = self.base.selected().filter(|_| ctx.body().width < ROOMY);
        let follow = if self.is_paused { "‖ paused (f follows)" } else { "▶ following" };
        let to = self.looked_to.map(|to| format!("back to {}; m loads older lines", ctx.moment(to)));
        let day = day.map(|line| ctx.day(line.entry.date));
        let head = [day, Some(follow.to_owned()), Some(count(self.base.rows.len(), "line")), to];
        head.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    fn problem(&self) -> Option<&str> {
        // The problem of an earlier filter disappears on typing.
        let is_current = self.listed.as_deref() == Some(self.filter()) && !self.base.pending.is_waiting();
        let problem = self.base.pending.problem().filter(|_| is_current);
        self.mistake.or(problem.map(|problem| problem.text.as_str()))
    }

    fn empty(&self) -> &'static str {
        match self.listed.as_deref() {
            None | Some("") => "There were no requests yet.",
            Some(_) => "No line matches. Esc clears the filter.",
        }
    }
}
