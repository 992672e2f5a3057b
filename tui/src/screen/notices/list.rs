//! The list of notices and drafts.

use std::borrow::Cow;
use std::cmp::Ordering;

use ratatui::text::Line;
use serde_json::{Value, json};
use tidings_core::changes::Changes;

use super::editor;
use super::row::{self, Row, Sort};
use crate::effect::{Act, Answer, Changed, Query};
use crate::keys::{self, Action, Table};
use crate::placing::Placing;
use crate::reach::Reach;
use crate::screen::browse::{Browse, Listing, SETTLING, any_holds, listing};
use crate::screen::{Ctx, Out, Question, reading};
use crate::theme::Theme;
use crate::widget::cycle::Cycle as _;
use crate::widget::input::Input;
use crate::widget::table::{Cell, Column};
use tidings_client::shown::number::{self, number};

#[derive(Default)]
pub(crate) struct Notices {
    base: Listing<Row>,
    sort: Sort,
    /// The notice to open when the notices have been loaded.
    to_open: Option<String>,
}

const COLUMNS: [Column; 4] = [
    Column::new("Title", 0),
    Column::new("Date", 16).from(60),
    Column::new("Views", 7).right(),
    Column::new("State", 8),
];

impl Notices {
    /// Opens the notice at once, or when the notices have been loaded.
    pub(crate) fn open(&mut self, id: String, out: &mut Out) {
        self.to_open = Some(id);
        if !self.base.pending.is_waiting() {
            self.open_loaded(out);
        }
    }

    fn open_loaded(&mut self, out: &mut Out) {
        let Some(id) = self.to_open.take() else { return };
        self.base.list.filter = Input::default();
        self.arrange();
        if self.select(&id) {
            self.base.list.read();
        } else {
            out.say("The notice no longer exists.");
        }
    }
}

fn remove(row: Row) -> Question {
    let title = row.title().to_owned();
    match row.published() {
        Some(notice) => Question::yes_or_no(
            format!("Remove the notice “{title}”?"),
            format!("It was read {} times. It cannot be brought back; feedback on it stays.", notice.view),
            "remove it",
            Act::RemoveNotice { id: row.id, title },
        ),
        None => Question::yes_or_no(
            format!("Remove the draft “{title}”?"),
            "All administrators see it. It cannot be brought back.",
            "remove it",
            Act::RemoveShared { id: row.id, title },
        ),
    }
}

fn toggle(row: Row, ctx: &Ctx, out: &mut Out) {
    if row.draft.is_some() {
        return out.say("A draft is published from the editor: e, then Ctrl-S.");
    }
    let (title, shown) = (row.title().to_owned(), !row.shown());
    let reach = row.reach(shown, ctx);
    let (text, forecast) = (format!("Show the notice “{title}”?"), reach.forecast());
    let act = Act::ShowNotice { id: row.id, title, shown, reach };
    if shown {
        out.question = Some(Question::yes_or_no(text, forecast, "show it", act));
    } else {
        out.act(act);
    }
}

fn publish(row: Row, ctx: &Ctx, out: &mut Out) {
    if row.draft.is_none() {
        return out.say("This publishes a draft of all administrators.");
    }
    let title = row.title().to_owned();
    let (shown, placing) = row.placing(ctx);
    let reach = Reach::of_typed(shown, &placing, ctx);
    let becomes = match &row.notice {
        Some(notice) => format!("It changes the notice “{}”.", notice.title),
        None => "It becomes a new notice.".to_owned(),
    };
    let (text, detail) = (format!("Publish the draft “{title}”?"), format!("{becomes} {}", reach.forecast()));
    let act = Act::PublishShared { id: row.id, title, reach };
    out.question = Some(Question::yes_or_no(text, detail.trim_end(), "publish it", act));
}

impl Browse for Notices {
    listing!(Row, ());

    const KEYS: &'static Table = &keys::NOTICES;
    const COLUMNS: &'static [Column] = &COLUMNS;
    const EXPORTED: (&'static str, &'static [&'static str]) =
        ("notices", &["_id", "title", "date", "view", "state", "post"]);
    const FILTERS: bool = true;
    const LOADS_ABOVE: bool = true;

    fn id(row: &Row) -> &str {
        &row.id
    }

    fn keeps(&self, row: &Row, text: &str) -> bool {
        any_holds(&[row.title(), row.post(), row.state()], text)
    }

    fn order(&self, a: &Row, b: &Row) -> Ordering {
        self.sort.order(a, b)
    }

    fn query(&mut self, _: Option<()>, _: &Ctx) -> Option<Query> {
        Some(Query::Notices)
    }

    /// The version of the audit trail changes with the drafts.
    fn versions(changes: &Changes) -> [i64; 3] {
        [changes.notices, changes.notice_views, changes.audit]
    }

    fn is_due(&mut self, has_changed: bool, _: &Changes, ctx: &Ctx) -> bool {
        has_changed || self.base.rows.iter().any(|row| row.is_outdated(ctx.now))
    }

    fn text(&self, row: &Row, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let mut facts = vec![row.state().to_owned(), ctx.stamp(row.date())];
        if let Some(draft) = &row.draft {
            facts.extend(row.notice.as_ref().map(|notice| format!("changes “{}”", notice.title)));
            facts.extend(Placing::default().with(&draft.fields, ctx).facts());
        } else if let Some(notice) = &row.notice {
            facts.push(number::count(notice.view, "view"));
            facts.extend(
                Placing::of(&notice.placement, ctx).facts().into_iter().filter(|fact| fact != "pinned"),
            );
        }
        reading(row.title(), &facts.join(" · "), row.post(), columns)
    }

    fn own_action(&mut self, action: Action, row: Option<Row>, ctx: &Ctx, out: &mut Out) -> bool {
        // After a change, a key could change another notice than the one that was saved.
        let is_settling = self.base.to_select.is_some();
        // Opening a draft continues it.
        let is_draft = row.as_ref().is_some_and(|row| row.draft.is_some());
        match (action, row) {
            (Action::Toggle | Action::Publish | Action::Remove | Action::Edit | Action::Open, _)
                if is_settling =>
            {
                out.say(SETTLING);
            }
            (Action::Toggle, Some(row)) => toggle(row, ctx, out),
            (Action::Publish, Some(row)) => publish(row, ctx, out),
            (Action::Remove, Some(row)) => out.question = Some(remove(row)),
            (Action::New, _) => self.base.open(editor::of(None, ctx)),
            (Action::Edit, Some(row)) => self.base.open(editor::of(Some(&row), ctx)),
            (Action::Open, Some(row)) if is_draft && !self.base.list.typing => {
                self.base.open(editor::of(Some(&row), ctx));
            }
            (Action::Sort, _) => {
                self.sort = self.sort.next();
                self.arrange();
            }
            _ => return false,
        }
        true
    }

    fn values(&self, row: &Row, ctx: &Ctx) -> Value {
        let state = row.state().trim_start_matches(['✎', '●', '○', ' ']);
        json!([row.id, row.title(), ctx.stamp(row.date()), row.view(), state, row.post()])
    }

    fn copied(row: &Row) -> (&'static str, String) {
        ("the text", format!("{}\n\n{}\n", row.title(), row.post()))
    }

    fn loaded(&mut self, answer: Answer, ctx: &Ctx, out: &mut Out) {
        let Answer::Notices(loaded) = answer else { return };
        self.add(row::rows(loaded, ctx.now), None);
        self.open_loaded(out);
    }

    fn changed(&mut self, act: &Act, result: Changed, ctx: &Ctx, out: &mut Out) {
        match act {
            Act::SaveNotice(_) | Act::ShareDraft(_) | Act::PublishShared { .. } => {
                let saved = result.ok().flatten().map(str::to_owned);
                self.base.to_select = saved.or(self.base.to_select.take());
            }
            Act::ShowNotice { .. } | Act::RemoveNotice { .. } | Act::RemoveShared { .. } => {}
            _ => return,
        }
        self.load(None, ctx, out);
    }

    fn cells(&self, row: &Row, _: Option<&Row>, ctx: &Ctx) -> Vec<Cell> {
        let style = match row.state() {
            "● shown" | "● pinned" => ctx.theme.good(),
            "○ hidden" | "○ ended" => Theme::faint(),
            _ => ctx.theme.attention(),
        };
        let views = row.published().map(|notice| number(notice.view)).unwrap_or_default();
        let date = Cell::faint(ctx.stamp(row.date()));
        vec![row.title().into(), date, views.into(), Cell::styled(row.state(), style)]
    }

    fn head(&self, _: &Ctx) -> String {
        let (listed, all) = (self.base.list.listed.len(), self.base.rows.len());
        let count = if listed == all { number(all) } else { format!("{listed} of {all}") };
        format!("{count} · {}", self.sort.label())
    }

    fn empty(&self) -> Cow<'static, str> {
        "There are no notices. n writes one.".into()
    }
}
