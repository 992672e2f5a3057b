//! The audit trail of administrators, operators and API keys, latest first.

use ratatui::text::Line;
use serde_json::{Value, json};
use tidings_core::audit::{AuditPage, AuditRecord, List, Verification, Verify};
use tidings_core::changes::Changes;

use crate::effect::Work;
use crate::keys::{self, Action, Table};
use crate::layout::tab;
use crate::pending::Pending;
use crate::screen::browse::{Browse, ColumnOf, Listing, any_holds, listing};
use crate::screen::{Ctx, Loaded, Out, reading};
use crate::widget::table::{Cell, Column};
use tidings_client::shown::number::number;

/// With the number as a text.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    number: String,
    record: AuditRecord,
}

impl Row {
    /// The id of an administrator, or the kind of another actor.
    fn who(&self) -> String {
        let AuditRecord { actor_kind, actor, .. } = &self.record;
        match (actor_kind.as_str(), actor.as_str()) {
            ("member", actor) => actor.to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, actor) => format!("{kind} {actor}"),
        }
    }

    /// The text of a record with an id, otherwise the subject.
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

#[derive(Default)]
pub(crate) struct Audit {
    base: Listing<Row, i64>,
    verification: Pending,
}

/// That are loaded at a time.
const RECORDS: i64 = 200;

impl Browse for Audit {
    listing!(Row, i64, AuditPage);

    const TAB: usize = tab::AUDIT;
    const KEYS: &'static Table = &keys::AUDIT;
    const ID: fn(&Row) -> &str = |row| &row.number;
    const VERSIONS: fn(&Changes) -> [i64; 3] = |changes| [changes.audit, 0, 0];
    const COPIED: (&'static str, fn(&Row) -> String) =
        ("the number and the hash", |item| format!("{}:{}", item.record.seq, item.record.hash));
    const COLUMNS: &'static [ColumnOf<Self>] = &[
        (Column::new("Date", 16), |_, row, _, ctx| Cell::faint(ctx.stamp(row.record.date))),
        (Column::new("Who", 14), |_, row, _, _| row.who().into()),
        (Column::new("Action", 18), |_, row, _, _| row.record.action.as_str().into()),
        (Column::new("On", 0), |_, row, _, _| row.what().into()),
        (Column::new("How", 8).from(72), |_, row, _, _| Cell::faint(row.record.surface.as_str())),
        (Column::new("No.", 7).from(96), |_, row, _, _| Cell::faint(row.number.as_str())),
    ];
    const EXPORTED: (&'static str, &'static str) =
        ("audit", "seq date who surface action subject before after hash");
    const FILTERS: bool = true;

    fn keeps(&self, row: &Row, text: &str) -> bool {
        let AuditRecord { action, subject, before, after, surface, .. } = &row.record;
        any_holds(&[&row.who(), action, subject, before, after, surface], text)
    }

    fn query(&mut self, before: Option<i64>, _: &Ctx) -> Option<Work<AuditPage>> {
        Some(Work::call(List { before, limit: Some(RECORDS), ..List::default() }))
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

    fn own_action(&mut self, action: Action, _: Option<Row>, ctx: &Ctx, out: &mut Out) -> bool {
        match action {
            Action::More if self.base.pending.is_waiting() => {}
            Action::More if self.base.next.is_none() => out.say("These are all records."),
            Action::More => self.load(self.base.next, ctx, out),
            Action::Verify => {
                out.say("Verifying …");
                out.effect(self.verification.request(ctx.now, Work::call(Verify::default())));
            }
            _ => return false,
        }
        true
    }

    fn values(&self, row: &Row, ctx: &Ctx) -> Value {
        let AuditRecord { seq, date, surface, action, subject, before, after, hash, .. } = &row.record;
        json!([seq, ctx.stamp(*date), row.who(), surface, action, subject, before, after, hash])
    }

    fn loaded(&mut self, page: AuditPage, _: &Ctx, _: &mut Out) {
        let rows = page.audit.into_iter().map(|record| Row { number: record.seq.to_string(), record });
        self.add(rows.collect(), page.next);
    }

    fn settled(&mut self, number_of: u64, answer: &mut Loaded, out: &mut Out) {
        let has_waited = self.verification.is_waiting();
        match self.verification.take(number_of, answer) {
            Some(Verification { fault: Some(fault), .. }) => {
                out.say(format!("NOT INTACT: record {}: {}.", fault.seq, fault.reason));
            }
            Some(Verification { records, .. }) => {
                out.done(format!("{} records are intact.", number(records.unsigned_abs())));
            }
            _ if has_waited => {
                self.verification.settled_problem().into_iter().for_each(|problem| out.error(problem));
            }
            _ => {}
        }
    }

    fn head(&self, _: &Ctx) -> String {
        let more = if self.base.next.is_some() { ", m loads older ones" } else { "" };
        format!("{} records{more}", number(self.base.rows.len() as u64))
    }

    fn empty(&self) -> &'static str {
        "Nothing was done yet."
    }
}
