//! The audit trail: what administrators, operators and API keys have done, latest first.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use tidings_core::audit::AuditRecord;
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::{Answer, Query};
use crate::keys::{self, Action, Table};
use crate::number::number;
use crate::pending::Pending;
use crate::screen::browse::Browse;
use crate::screen::{Ctx, Out, reading};
use crate::sheet::Sheet;
use crate::theme::Theme;
use crate::widget::browser::{Appearance, Browser, Item, NO_MATCH, any_holds};
use crate::widget::table::{Cell, Column};

/// A record, with its number as a text.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    number: String,
    record: AuditRecord,
}

impl Row {
    /// Returns who acted: the id of an administrator, or what else it was.
    fn who(&self) -> String {
        let AuditRecord { actor_kind, actor, .. } = &self.record;
        match (actor_kind.as_str(), actor.as_str()) {
            ("member", actor) => actor.to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, actor) => format!("{kind} {actor}"),
        }
    }

    /// Returns what was acted on, as people know it: the text of a record with an id, otherwise the subject.
    fn what(&self) -> &str {
        let AuditRecord { subject, before, after, .. } = &self.record;
        let is_id = subject.len() == 24 && subject.bytes().all(|b| b.is_ascii_hexdigit());
        match (is_id, after.as_str(), before.as_str()) {
            (true, "", "") | (false, ..) => subject,
            (true, "", before) => before,
            (true, after, _) => after,
        }
    }
}

impl Item for Row {
    fn id(&self) -> &str {
        &self.number
    }

    fn holds(&self, text: &str) -> bool {
        let AuditRecord { action, subject, before, after, surface, .. } = &self.record;
        any_holds(&[&self.who(), action, subject, before, after, surface], text)
    }
}

/// The audit trail.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    pending: Pending,
    verification: Pending,
    list: Browser<Row>,
    /// The record before which older ones can be loaded.
    next: Option<i64>,
    /// Whether the pending request asks for older records.
    loads_older: bool,
    /// The version that was requested last.
    seen: Option<i64>,
}

const COLUMNS: [Column; 6] = [
    Column::new("Date", 16),
    Column::new("Who", 14),
    Column::new("Action", 18),
    Column::new("On", 0),
    Column::new("How", 8).from(72),
    Column::new("No.", 7).from(96),
];

impl Audit {
    fn load(&mut self, ctx: &Ctx, out: &mut Out) {
        self.loads_older = false;
        out.effect(self.pending.request(ctx.now, Query::Audit { before: None }));
    }

    fn load_older(&mut self, ctx: &Ctx, out: &mut Out) {
        if self.pending.is_waiting() {
            return;
        }
        match self.next {
            Some(before) => {
                self.loads_older = true;
                out.effect(self.pending.request(ctx.now, Query::Audit { before: Some(before) }));
            }
            None => out.say("These are all records."),
        }
    }

    fn arrange(&mut self) {
        // The core returns the latest first, and sorting is stable.
        self.list.arrange(|_| true, |_, _| std::cmp::Ordering::Equal);
    }
}

impl Browse for Audit {
    type Item = Row;

    const KEYS: &'static Table = &keys::AUDIT;

    fn list(&self) -> &Browser<Row> {
        &self.list
    }

    fn list_mut(&mut self) -> &mut Browser<Row> {
        &mut self.list
    }

    fn text(&self, item: &Row, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let AuditRecord { date, surface, action, subject, before, after, hash, .. } = &item.record;
        let title = if subject.is_empty() { action.clone() } else { format!("{action}: {subject}") };
        let facts = format!("No. {} · {} · {surface} · {}", item.number, item.who(), ctx.stamp(*date));
        let values = [("Before", before), ("After", after), ("Hash", hash)].into_iter();
        let lines =
            values.filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name}: {value}"));
        reading(&title, &facts, &lines.collect::<Vec<_>>().join("\n"), columns)
    }

    fn load_changed(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        let seen = Some(changes.audit);
        if self.seen != seen && !self.pending.is_waiting() {
            self.seen = seen;
            self.load(ctx, out);
        }
    }

    fn reload(&mut self, ctx: &Ctx, out: &mut Out) {
        self.load(ctx, out);
    }

    fn filter_changed(&mut self, _: &Ctx, _: &mut Out) {
        self.arrange();
    }

    fn own_action(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        match action {
            Action::More => self.load_older(ctx, out),
            Action::Verify => {
                out.say("Verifying …");
                out.effect(self.verification.request(ctx.now, Query::VerifyAudit));
            }
            _ => return false,
        }
        true
    }

    fn sheet(&self, ctx: &Ctx) -> Sheet {
        let row = |item: &Row| {
            let AuditRecord { seq, date, surface, action, subject, before, after, hash, .. } = &item.record;
            vec![
                (*seq).into(),
                ctx.stamp(*date).into(),
                item.who().into(),
                surface.as_str().into(),
                action.as_str().into(),
                subject.as_str().into(),
                before.as_str().into(),
                after.as_str().into(),
                hash.as_str().into(),
            ]
        };
        Sheet {
            name: format!("audit-{}", ctx.day(ctx.now)),
            head: vec!["seq", "date", "who", "surface", "action", "subject", "before", "after", "hash"],
            rows: self.list.listed().map(row).collect(),
        }
    }

    fn copied(item: &Row) -> (&'static str, String) {
        ("the number and the hash", format!("{}:{}", item.record.seq, item.record.hash))
    }

    fn loaded(&mut self, number_of: u64, answer: Answer, _: &Ctx, out: &mut Out) {
        match answer {
            Answer::Audit(answer) => {
                let Some(page) = self.pending.take(number_of, answer) else { return };
                self.next = page.next;
                let new = page.audit.into_iter().map(|record| Row { number: record.seq.to_string(), record });
                let mut rows = if self.loads_older { self.list.items().to_vec() } else { Vec::new() };
                rows.extend(new);
                self.list.set(rows, |_| true, |_, _| std::cmp::Ordering::Equal);
                self.arrange();
            }
            Answer::Verified(answer) => match self.verification.take(number_of, answer) {
                Some(verified) => match verified.fault {
                    None => {
                        out.done(format!("{} records are intact.", number(verified.records.unsigned_abs())));
                    }
                    Some(fault) => out.say(format!("NOT INTACT: record {}: {}.", fault.seq, fault.reason)),
                },
                None => {
                    if let Some(problem) = self.verification.problem() {
                        out.complain(problem);
                    }
                }
            },
            _ => {}
        }
    }

    fn waits_long(&self, now: Timestamp) -> bool {
        self.pending.is_slow(now)
    }

    fn cancel_pending(&mut self) -> bool {
        self.pending.cancel()
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx) {
        let shown = self.list.items().len();
        let older = ctx.key(&keys::AUDIT, Action::More);
        let more = if self.next.is_some() { format!(", {older} loads older ones") } else { String::new() };
        let row = |item: &Row, _: Option<&Row>| {
            let record = &item.record;
            vec![
                Cell::styled(ctx.stamp(record.date), Theme::faint()),
                item.who().into(),
                record.action.as_str().into(),
                item.what().into(),
                Cell::styled(record.surface.as_str(), Theme::faint()),
                Cell::styled(item.number.as_str(), Theme::faint()),
            ]
        };
        let empty = match (self.pending.is_waiting() && shown == 0, self.list.filter.is_empty()) {
            (true, _) => "Loading …",
            (_, false) => NO_MATCH,
            (_, true) => "Nothing was done yet.",
        };
        let look = Appearance {
            theme: ctx.theme,
            head: format!("{} records{more}", number(shown as u64)),
            problem: self.pending.problem().map(|problem| problem.text.clone()),
            empty,
            columns: &COLUMNS,
            row: &row,
            text: &|item, columns| self.text(item, columns, ctx),
        };
        self.list.draw(area, frame.buffer_mut(), &look);
    }
}
