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

/// The id of an administrator, or the kind of another actor.
fn who(AuditRecord { actor_kind, actor, .. }: &AuditRecord) -> String {
    match (actor_kind.as_str(), actor.as_str()) {
        ("member", actor) => actor.to_owned(),
        (kind, "") => kind.to_owned(),
        (kind, actor) => format!("{kind} {actor}"),
    }
}

/// The text of a record with an id, otherwise the subject.
fn what(AuditRecord { subject, before, after, .. }: &AuditRecord) -> &str {
    let is_id = subject.len() == 24 && subject.bytes().all(|b| b.is_ascii_hexdigit());
    match (is_id, after.as_str(), before.as_str()) {
        (true, "", "") | (false, ..) => subject,
        (true, "", before) => before,
        (true, after, _) => after,
    }
}

#[derive(Default)]
pub(crate) struct Audit {
    base: Listing<AuditRecord, i64>,
    verification: Pending,
}

const PAGE: i64 = 200;

impl Browse for Audit {
    listing!(AuditRecord, i64, AuditPage);

    const TAB: usize = tab::AUDIT;
    const KEYS: &'static Table = &keys::AUDIT;
    const ID: fn(&AuditRecord) -> String = |record| record.seq.to_string();
    const VERSIONS: fn(&Changes) -> [i64; 3] = |changes| [changes.audit, 0, 0];
    const COPIED: (&'static str, fn(&AuditRecord) -> String) =
        ("the number and the hash", |record| format!("{}:{}", record.seq, record.hash));
    const COLUMNS: &'static [ColumnOf<Self>] = &[
        (Column::new("Date", 16), |_, record, _, ctx| Cell::faint(ctx.stamp(record.date))),
        (Column::new("Who", 14), |_, record, _, _| who(record).into()),
        (Column::new("Action", 18), |_, record, _, _| record.action.as_str().into()),
        (Column::new("On", 0), |_, record, _, _| what(record).into()),
        (Column::new("How", 8).from(72), |_, record, _, _| Cell::faint(record.surface.as_str())),
        (Column::new("No.", 7).from(96), |_, record, _, _| Cell::faint(record.seq.to_string())),
    ];
    const EXPORTED: (&'static str, &'static str) =
        ("audit", "seq date who surface action subject before after hash");
    const FILTERS: bool = true;

    fn keeps(&self, record: &AuditRecord, text: &str) -> bool {
        let AuditRecord { action, subject, before, after, surface, .. } = record;
        any_holds(&[&who(record), action, subject, before, after, surface], text)
    }

    fn query(&mut self, before: Option<i64>, _: &Ctx) -> Option<Work<AuditPage>> {
        Some(Work::call(List { before, limit: Some(PAGE), ..List::default() }))
    }

    fn text(&self, record: &AuditRecord, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let AuditRecord { seq, date, surface, action, subject, before, after, hash, .. } = record;
        let title = if subject.is_empty() { action.clone() } else { format!("{action}: {subject}") };
        let facts = format!("No. {seq} · {} · {surface} · {}", who(record), ctx.stamp(*date));
        let values = [("Before", before), ("After", after), ("Hash", hash)].into_iter();
        let lines =
            values.filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name}: {value}"));
        reading(&title, &facts, &lines.collect::<Vec<_>>().join("\n"), columns)
    }

    fn own_action(&mut self, action: Action, _: Option<AuditRecord>, ctx: &Ctx, out: &mut Out) -> bool {
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

    fn values(&self, record: &AuditRecord, ctx: &Ctx) -> Value {
        let AuditRecord { seq, date, surface, action, subject, before, after, hash, .. } = record;
        json!([seq, ctx.stamp(*date), who(record), surface, action, subject, before, after, hash])
    }

    fn loaded(&mut self, page: AuditPage, _: &Ctx, _: &mut Out) {
        self.add(page.audit, page.next);
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
