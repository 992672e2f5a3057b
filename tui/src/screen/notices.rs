use std::cmp::Ordering;

use ratatui::text::Line;
use serde_json::{Value, json};
use tidings_core::changes::Changes;
use tidings_core::notice::{Draft, PublishDraft, Remove, RemoveDraft, Update, Visibility};

use crate::effect::query::{self, Notices as Loaded};
use crate::effect::{Act, Kind, Work};
use crate::keys::{self, Action, Table};
use crate::layout::tab;
use crate::screen::browse::{Browse, ColumnOf, Listing, any_holds, listing};
use crate::screen::form::record;
use crate::screen::{Ctx, Destination, Out, reading};
use crate::theme::Theme;
use crate::widget::Cycle as _;
use crate::widget::input::Input;
use crate::widget::table::{Cell, Column};
use tidings_client::shown::number::{self, number};

mod editor;
mod reach;
mod row;

use reach::Reach;
use row::{Row, Sort};

#[derive(Default)]
pub(crate) struct Notices {
    base: Listing<Row>,
    sort: Sort,
    to_open: Option<String>,
}

impl Notices {
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

fn remove(row: &Row, out: &mut Out) {
    let (title, id) = (row.title(), row.id.clone());
    let (what, detail, act) = if let Some(notice) = row.published() {
        let detail =
            format!("It was read {} times. It cannot be brought back; feedback on it stays.", notice.view);
        let (done, operation) = (format!("Removed “{title}”."), Remove { notice_obi: id });
        ("notice", detail, Act::call(tab::NOTICES, Kind::Remove, done, operation))
    } else {
        let detail = "All administrators see it. It cannot be brought back.".to_owned();
        let (done, operation) = (format!("Removed the draft “{title}”."), RemoveDraft { draft_obi: id });
        ("draft", detail, Act::call(tab::NOTICES, Kind::Remove, done, operation))
    };
    out.ask(format!("Remove the {what} “{title}”?"), detail, "remove it", act);
}

fn toggle(row: Row, ctx: &Ctx, out: &mut Out) {
    if row.draft.is_some() {
        return out.say("A draft is published from the editor: e, then Ctrl-S.");
    }
    let (title, shown) = (row.title().to_owned(), !row.shown());
    let activation = Visibility::shown_if(shown).activation();
    let mut notice = row.record();
    notice.insert("activation".to_owned(), activation.into());
    let reach = Reach::of(&notice, ctx);
    let draft = Draft { activation: Some(activation), ..Draft::default() };
    let operation = Update { notice_obi: row.id, draft };
    let act = Act::call(tab::NOTICES, Kind::Save, reach.toggled(&title), operation);
    if shown {
        out.ask(format!("Show the notice “{title}”?"), reach.forecast(), "show it", act);
    } else {
        out.act(act);
    }
}

fn publish(row: Row, ctx: &Ctx, out: &mut Out) {
    if row.draft.is_none() {
        return out.say("This publishes a draft of all administrators.");
    }
    let (title, reach) = (row.title().to_owned(), Reach::of(&row.record(), ctx));
    let becomes = match &row.notice {
        Some(notice) => format!("It changes the notice “{}”.", notice.title),
        None => "It becomes a new notice.".to_owned(),
    };
    let detail = format!("{becomes} {}", reach.forecast());
    let work = Work::call(PublishDraft { draft_obi: row.id }).map(|saved| Some(saved.id.to_string()));
    let act = Act::new(tab::NOTICES, Kind::Save, reach.published(&title), work);
    out.ask(format!("Publish the draft “{title}”?"), detail.trim_end(), "publish it", act);
}

impl Browse for Notices {
    listing!(Row, (), Loaded);

    const TAB: usize = tab::NOTICES;
    const KEYS: &'static Table = &keys::NOTICES;
    const ID: fn(&Row) -> String = |row| row.id.clone();
    /// The version of the audit trail changes with the drafts.
    const VERSIONS: fn(&Changes) -> [i64; 3] =
        |changes| [changes.notices, changes.notice_views, changes.audit];
    const COPIED: (&'static str, fn(&Row) -> String) =
        ("the text", |row| format!("{}\n\n{}\n", row.title(), row.post()));
    const COLUMNS: &'static [ColumnOf<Self>] = &[
        (Column::new("Title", 0), |_, row, _, _| row.title().into()),
        (Column::new("Date", 16).from(60), |_, row, _, ctx| Cell::faint(ctx.stamp(row.date()))),
        (Column::new("Views", 7).right(), |_, row, _, _| {
            row.published().map(|notice| number(notice.view)).unwrap_or_default().into()
        }),
        (Column::new("State", 8), |_, row, _, ctx| {
            let style = match row.state() {
                "● shown" | "● pinned" => ctx.theme.good(),
                "○ hidden" | "○ ended" => Theme::faint(),
                _ => ctx.theme.attention(),
            };
            Cell::styled(row.state(), style)
        }),
    ];
    const EXPORTED: (&'static str, &'static str) = ("notices", "_id title date view state post");
    const SETTLES: &'static [Action] =
        &[Action::Toggle, Action::Publish, Action::Remove, Action::Edit, Action::Open];
    const FILTERS: bool = true;
    const LOADS_ABOVE: bool = true;

    fn keeps(&self, row: &Row, text: &str) -> bool {
        any_holds(&[row.title(), row.post(), row.state()], text)
    }

    fn order(&self, a: &Row, b: &Row) -> Ordering {
        self.sort.order(a, b)
    }

    fn query(&mut self, _: Option<()>, _: &Ctx) -> Option<Work<Loaded>> {
        Some(query::notices())
    }

    fn is_due(&mut self, has_changed: bool, _: &Changes, ctx: &Ctx) -> bool {
        has_changed || self.base.rows.iter().any(|row| row.is_outdated(ctx.now))
    }

    fn text(&self, row: &Row, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let mut facts = vec![row.state().to_owned(), ctx.stamp(row.date())];
        if let Some(draft) = &row.draft {
            facts.extend(row.notice.as_ref().map(|notice| format!("changes “{}”", notice.title)));
            facts.extend(row::facts(&record(&draft.fields), ctx));
        } else if let Some(notice) = &row.notice {
            facts.push(number::count(notice.view, "view"));
            facts.extend(row::facts(&record(notice), ctx).into_iter().filter(|fact| fact != "pinned"));
        }
        reading(row.title(), &facts.join(" · "), row.post(), columns)
    }

    fn own_action(&mut self, action: Action, row: Option<Row>, ctx: &Ctx, out: &mut Out) -> bool {
        // Opening a draft continues it.
        let is_draft = row.as_ref().is_some_and(|row| row.draft.is_some());
        match (action, row) {
            (Action::Toggle, Some(row)) => toggle(row, ctx, out),
            (Action::Publish, Some(row)) => publish(row, ctx, out),
            (Action::Remove, Some(row)) => remove(&row, out),
            (Action::New, _) => self.base.form = Some(editor::of(None, ctx)),
            (Action::Edit, Some(row)) => self.base.form = Some(editor::of(Some(&row), ctx)),
            (Action::Open, Some(row)) if is_draft && !self.base.list.typing => {
                self.base.form = Some(editor::of(Some(&row), ctx));
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

    fn opened(&mut self, to: Destination, _: &Ctx, out: &mut Out) {
        let Destination::Notice(id) = to else { return };
        self.to_open = Some(id);
        if !self.base.pending.is_waiting() {
            self.open_loaded(out);
        }
    }

    fn loaded(&mut self, loaded: Loaded, ctx: &Ctx, out: &mut Out) {
        self.add(row::rows(loaded, ctx.now), None);
        self.open_loaded(out);
    }

    fn head(&self, _: &Ctx) -> String {
        let (listed, all) = (self.base.list.listed.len(), self.base.rows.len());
        let count = if listed == all { number(all) } else { format!("{listed} of {all}") };
        format!("{count} · {}", self.sort.label())
    }

    fn empty(&self) -> &'static str {
        "There are no notices. n writes one."
    }
}
