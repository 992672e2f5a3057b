//! The access log: newest first, filtered by member, path and time, and updated as it grows.

use std::collections::BTreeSet;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use tidings_core::analysis::{LogEntry, LogPage, LogPlace};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::{Answer, Query};
use crate::keys::{self, Action, Table};
use crate::number::count;
use crate::pending::Pending;
use crate::screen::browse::Browse;
use crate::screen::{Ctx, Out, reading};
use crate::sheet::Sheet;
use crate::theme::Theme;
use crate::widget::browser::{Appearance, Browser, Item};
use crate::widget::input::Input;
use crate::widget::table::{Cell, Column};

mod filter;

/// The maximum number of lines in memory while older lines are loaded.
const LINES_MAX: usize = 20_000;

/// A line and its identifier.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    id: String,
    line: LogEntry,
}

impl Item for Row {
    fn id(&self) -> &str {
        &self.id
    }

    /// Returns true, because the core has already applied the filter.
    fn holds(&self, _: &str) -> bool {
        true
    }
}

/// The log.
#[derive(Debug)]
pub(crate) struct Log {
    pending: Pending,
    list: Browser<Row>,
    /// The filter of the list.
    listed: Option<String>,
    /// Whether the pending request continues the list with older lines.
    further: bool,
    next: Option<LogPlace>,
    looked_to: Option<Timestamp>,
    follow: bool,
    seen: i64,
    /// The error in the typed filter.
    mistake: Option<&'static str>,
    /// The results of the lines that were loaded, as they are typed into the filter.
    results: BTreeSet<String>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            pending: Pending::default(),
            list: Browser::with_width(list_width),
            listed: None,
            further: false,
            next: None,
            looked_to: None,
            follow: true,
            seen: 0,
            mistake: None,
            results: BTreeSet::new(),
        }
    }
}

/// Returns the width of the list beside the text of a line, which is short: most of the room is for the paths.
fn list_width(width: u16) -> u16 {
    width - 3 - (width / 3).clamp(30, 50)
}

const COLUMNS: [Column; 6] = [
    Column::new("Time", 14),
    Column::new("Member", 12),
    Column::new("Method", 6),
    Column::new("Path", 0),
    Column::new("Code", 4).right(),
    Column::new("Result", 16).from(100),
];

/// The columns of a narrow table, with the time but not the date.
const NARROW: [Column; 4] = [
    Column::new("Time", 8),
    Column::new("Member", 8),
    Column::new("Path", 0),
    Column::new("Code", 4).right(),
];
/// The width from which all columns are shown.
const ROOMY: u16 = 56;

impl Log {
    /// Starts typing the filter.
    pub(crate) const fn type_filter(&mut self) {
        self.list.type_filter();
    }

    /// Sets the filter and loads the matching lines.
    pub(crate) fn look_for(&mut self, text: &str, ctx: &Ctx, out: &mut Out) {
        self.list.filter = Input::new(text);
        self.load(None, ctx, out);
    }

    fn load(&mut self, place: Option<LogPlace>, ctx: &Ctx, out: &mut Out) {
        match filter::parse(self.list.filter.text(), ctx) {
            Ok(filter) => {
                self.mistake = None;
                self.further = place.is_some();
                self.listed = Some(self.list.filter.text().to_owned());
                out.effect(self.pending.request(ctx.now, Query::Log { filter, place }));
            }
            // What is being typed may still become right.
            Err(mistake) => self.mistake = Some(mistake).filter(|_| !self.list.typing()),
        }
    }

    /// Sets the filter to the next of the results in the lines that were loaded; after the last, to any result.
    fn next_result(&mut self, ctx: &Ctx, out: &mut Out) {
        let text = filter::with_next_result(self.list.filter.text(), &self.results);
        self.list.filter = Input::new(&text);
        self.load(None, ctx, out);
    }

    fn take(&mut self, LogPage { lines, next, looked_to }: LogPage) {
        let at_top = self.list.is_at_top();
        self.results.extend(lines.iter().filter_map(|line| Some(line.result.as_ref()?.replace(' ', "_"))));
        let mut rows: Vec<Row> =
            if self.further { self.list.items().to_vec() } else { Vec::with_capacity(lines.len()) };
        rows.extend(lines.into_iter().map(|line| Row { id: format!("{:?}", line.place()), line }));
        (self.next, self.looked_to) = (next, looked_to);
        if rows.len() >= LINES_MAX {
            self.next = None;
        }
        self.list.set(rows, |_| true, |_, _| std::cmp::Ordering::Equal);
        if at_top && !self.further {
            // If the newest line is selected, the selection moves to the new newest line.
            self.list.select_first();
        }
    }
}

impl Browse for Log {
    type Item = Row;

    const KEYS: &'static Table = &keys::LOG;

    fn list(&self) -> &Browser<Row> {
        &self.list
    }

    fn list_mut(&mut self) -> &mut Browser<Row> {
        &mut self.list
    }

    fn text(&self, row: &Row, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let LogEntry { user_id, date, path, method, status, result, .. } = &row.line;
        let facts = format!("{} {}", ctx.day(*date), ctx.clock(*date));
        let answer =
            result.as_ref().map_or_else(|| status.to_string(), |result| format!("{status} {result}"));
        reading(&format!("{method} {path}"), &facts, &format!("by {user_id}\nanswered {answer}"), columns)
    }

    fn load_changed(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        let first = self.listed.is_none();
        let follows = self.follow || self.pending.problem().is_some();
        let grown = follows && self.seen != changes.counts && !self.list.reading();
        if (first || grown) && !self.pending.is_waiting() {
            self.seen = changes.counts;
            self.load(None, ctx, out);
        }
    }

    fn reload(&mut self, ctx: &Ctx, out: &mut Out) {
        self.load(None, ctx, out);
    }

    fn filter_changed(&mut self, ctx: &Ctx, out: &mut Out) {
        self.load(None, ctx, out);
    }

    fn own_action(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        match (action, self.next) {
            (Action::Follow, _) => {
                self.follow = !self.follow;
                if self.follow {
                    self.load(None, ctx, out);
                }
            }
            (Action::More, Some(place)) => {
                // New lines would replace the older ones that are loaded now.
                self.follow = false;
                self.load(Some(place), ctx, out);
            }
            (Action::More, None) => out.say("The log has no older lines."),
            (Action::Kind, _) => self.next_result(ctx, out),
            (Action::Open, _) if self.list.typing() => match filter::parse(self.list.filter.text(), ctx) {
                // The field stays open.
                Err(mistake) => self.mistake = Some(mistake),
                Ok(_) => return false,
            },
            _ => return false,
        }
        true
    }

    fn sheet(&self, ctx: &Ctx) -> Sheet {
        let row = |row: &Row| {
            let LogEntry { user_id, date, path, method, status, result, .. } = &row.line;
            let date = date.to_string();
            vec![
                date.into(),
                user_id.as_str().into(),
                method.as_str().into(),
                path.as_str().into(),
                (*status).into(),
                result.as_deref().unwrap_or_default().into(),
            ]
        };
        Sheet {
            name: format!("log-{}", ctx.day(ctx.now)),
            head: vec!["date", "user_id", "method", "path", "status", "result"],
            rows: self.list.listed().map(row).collect(),
        }
    }

    fn copied(Row { line, .. }: &Row) -> (&'static str, String) {
        let LogEntry { user_id, date, path, method, status, .. } = line;
        let date = date.to_string();
        ("the line", format!("{date} {user_id} {method} {path} {status}"))
    }

    fn loaded(&mut self, number: u64, answer: Answer, _: &Ctx, _: &mut Out) {
        if let Answer::Log(answer) = answer
            && let Some(page) = self.pending.take(number, answer)
        {
            self.take(page);
        }
    }

    fn waits_long(&self, now: Timestamp) -> bool {
        self.pending.is_slow(now)
    }

    fn cancel_pending(&mut self) -> bool {
        self.pending.cancel()
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx) {
        let row = |Row { line, .. }: &Row, above: Option<&Row>| {
            let style = if line.is_failure() { ctx.theme.bad() } else { Theme::faint() };
            if area.width < ROOMY {
                return vec![
                    Cell::styled(ctx.clock(line.date), Theme::faint()),
                    line.user_id.as_str().into(),
                    line.path.as_str().into(),
                    Cell::styled(line.status.to_string(), style),
                ];
            }
            vec![
                Cell::styled(ctx.dated(line.date, above.map(|above| above.line.date)), Theme::faint()),
                line.user_id.as_str().into(),
                Cell::styled(line.method.as_str(), Theme::faint()),
                line.path.as_str().into(),
                Cell::styled(line.status.to_string(), style),
                Cell::styled(line.result.as_deref().unwrap_or_default(), style),
            ]
        };
        let n = self.list.listed().count();
        // A narrow table has no room for dates.
        let day = self.list.selected().filter(|_| area.width < ROOMY).map(|row| ctx.day(row.line.date));
        let mut head: Vec<String> = day.into_iter().collect();
        head.push(if self.follow {
            "▶ following".to_owned()
        } else {
            format!("‖ paused ({} follows)", ctx.key(&keys::LOG, Action::Follow))
        });
        head.push(count(n, "line"));
        if let Some(to) = self.looked_to {
            head.push(format!(
                "back to {}; {} loads older lines",
                ctx.moment(to),
                ctx.key(&keys::LOG, Action::More)
            ));
        }
        let head = if self.list.typing() { filter::HINT.to_owned() } else { head.join(" · ") };
        // The problem of an earlier filter disappears on typing.
        let is_current =
            self.listed.as_deref() == Some(self.list.filter.text()) && !self.pending.is_waiting();
        let problem = self.pending.problem().filter(|_| is_current).map(|problem| problem.text.clone());
        let look = Appearance {
            theme: ctx.theme,
            head,
            problem: self.mistake.map(str::to_owned).or(problem),
            empty: match (self.pending.is_waiting(), self.listed.as_deref()) {
                (true, _) => "Loading …",
                (_, None | Some("")) => "There were no requests yet.",
                (_, Some(_)) => "No line matches. Esc clears the filter.",
            },
            columns: if area.width < ROOMY { &NARROW } else { &COLUMNS },
            row: &row,
            text: &|row, columns| self.text(row, columns, ctx),
        };
        self.list.draw(area, frame.buffer_mut(), &look);
    }
}
