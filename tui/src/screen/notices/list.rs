//! The list of notices and drafts.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use super::editor::Text;
use super::row::{self, Row, Sort};
use crate::effect::{Act, Answer, Query};
use crate::keys::{self, Action, Table};
use crate::number::{self, number};
use crate::pending::Pending;
use crate::placing::Placing;
use crate::problem::Problem;
use crate::reach::Reach;
use crate::screen::browse::Browse;
use crate::screen::{Ctx, Out, Question, reading};
use crate::sheet::Sheet;
use crate::theme::Theme;
use crate::widget::browser::{Appearance, Browser, NO_MATCH};
use crate::widget::cycle::Cycle as _;
use crate::widget::input::Input;
use crate::widget::table::{Cell, Column};

/// The notices, each with its draft, and the drafts of new ones.
#[derive(Debug, Default)]
pub(super) struct NoticeList {
    pending: Pending,
    list: Browser<Row>,
    sort: Sort,
    /// The versions of the notices, of their views, and of the audit trail, which tells of drafts, that were requested last.
    seen: Option<[i64; 3]>,
    /// The notice to open when the notices have been loaded.
    to_open: Option<String>,
    /// What was saved, to be selected when the notices have been loaded.
    to_select: Option<String>,
}

/// The note on a key that would change a row that is not the saved one.
pub(super) const SETTLING: &str = "One moment: the list is being loaded again.";

const COLUMNS: [Column; 4] = [
    Column::new("Title", 0),
    Column::new("Date", 16).from(60),
    Column::new("Views", 7).right(),
    Column::new("State", 8),
];

impl NoticeList {
    /// Opens a notice for reading, at once or when the notices have been loaded.
    pub(super) fn open(&mut self, id: String, out: &mut Out) {
        self.to_open = Some(id);
        if !self.pending.is_waiting() {
            self.open_loaded(out);
        }
    }

    fn open_loaded(&mut self, out: &mut Out) {
        let Some(id) = self.to_open.take() else { return };
        self.list.filter = Input::default();
        self.arrange();
        if self.list.select(&id) {
            self.list.read();
        } else {
            out.say("The notice no longer exists.");
        }
    }

    /// Selects a row when the notices have been loaded.
    pub(super) fn select_loaded(&mut self, id: &str) {
        self.to_select = Some(id.to_owned());
    }

    /// Selects what was saved, also if the filter hides it.
    fn select_saved(&mut self) {
        let Some(id) = self.to_select.take() else { return };
        if !self.list.select(&id) && !self.list.filter.is_empty() {
            self.list.filter = Input::default();
            self.arrange();
            self.list.select(&id);
        }
    }

    /// Returns whether the selection is still that of before a change, so that a key could change another notice than the
    /// one that was saved.
    pub(super) const fn is_settling(&self) -> bool {
        self.to_select.is_some()
    }

    fn load(&mut self, ctx: &Ctx, out: &mut Out) {
        out.effect(self.pending.request(ctx.now, Query::Notices));
    }

    fn arrange(&mut self) {
        let sort = self.sort;
        self.list.arrange(|_| true, |a, b| sort.order(a, b));
    }

    fn remove(&self, ctx: &Ctx, out: &mut Out) {
        let Some(row) = self.list.selected() else { return };
        let title = row.title().to_owned();
        out.question = Some(match (&row.notice, &row.draft) {
            (Some(notice), _) => Question::yes_or_no(
                format!("Remove the notice “{title}”?"),
                format!(
                    "It was read {} times. It cannot be brought back; feedback on it stays.",
                    notice.view
                ),
                "remove it",
                Act::RemoveNotice { id: row.id.clone(), title },
            ),
            (None, _) if row.shared.is_some() => Question::yes_or_no(
                format!("Remove the draft “{title}”?"),
                "All administrators see it. It cannot be brought back.",
                "remove it",
                Act::RemoveShared { id: row.id.clone(), title },
            ),
            (None, draft) => Question::yes_or_no(
                format!("Discard the draft “{title}”?"),
                "It was never published.",
                "discard it",
                Act::DiscardDraft {
                    key: draft.as_ref().map(|draft| draft.key.clone()).unwrap_or_default(),
                    at: ctx.now,
                },
            ),
        });
    }

    fn toggle(&self, ctx: &Ctx, out: &mut Out) {
        let Some(row) = self.list.selected() else { return };
        if row.notice.is_none() {
            let (edit, save) = (ctx.key(&keys::NOTICES, Action::Edit), ctx.key(&keys::EDITOR, Action::Save));
            return out.say(format!("A draft is published from the editor: {edit}, then {save}."));
        }
        let title = row.title().to_owned();
        let (shown, reach) = (!row.shown(), row.reach(!row.shown(), ctx));
        let act = Act::ShowNotice { id: row.id.clone(), title: title.clone(), shown, reach: reach.clone() };
        if !shown {
            return out.act(act);
        }
        let text = format!("Show the notice “{title}”?");
        out.question = Some(Question::yes_or_no(text, reach.forecast(), "show it", act));
    }

    fn publish(&self, ctx: &Ctx, out: &mut Out) {
        let Some(row) = self.list.selected() else { return };
        match (&row.shared, &row.draft) {
            (Some(_), None) => {}
            (Some(_), Some(_)) => {
                let save = ctx.key(&keys::EDITOR, Action::Save);
                return out.say(format!("It is edited: the editor publishes it with {save}."));
            }
            (None, _) => return out.say("This publishes a draft of all administrators."),
        }
        let title = row.title().to_owned();
        let text = format!("Publish the draft “{title}”?");
        let text_of_row = Text::of(row, ctx);
        let reach = Reach::of_typed(text_of_row.shown, &text_of_row.placing, ctx);
        let becomes = match &row.base {
            Some(notice) => format!("It changes the notice “{}”.", notice.title),
            None => "It becomes a new notice.".to_owned(),
        };
        let detail = format!("{becomes} {}", reach.forecast());
        let act = Act::PublishShared { id: row.id.clone(), title, reach };
        out.question = Some(Question::yes_or_no(text, detail.trim_end(), "publish it", act));
    }
}

impl Browse for NoticeList {
    type Item = Row;

    const KEYS: &'static Table = &keys::NOTICES;

    fn list(&self) -> &Browser<Row> {
        &self.list
    }

    fn list_mut(&mut self) -> &mut Browser<Row> {
        &mut self.list
    }

    fn text(&self, row: &Row, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let mut facts = vec![row.state().to_owned(), ctx.stamp(row.date())];
        if row.notice.is_some() {
            facts.push(number::count(row.view(), "view"));
            facts.extend(row.placement(|at| ctx.stamp(at)));
        }
        if let Some(shared) = &row.shared {
            facts.extend(row.base.as_ref().map(|notice| format!("changes “{}”", notice.title)));
            facts.extend(Placing::default().with(&shared.fields, ctx).facts());
        }
        let mut lines = reading(row.title(), &facts.join(" · "), row.post(), columns);
        if (row.notice.is_some() || row.shared.is_some()) && row.draft.is_some() {
            let edit = ctx.key(&keys::NOTICES, Action::Edit);
            let hint = format!("There is a draft with changes: {edit} resumes it.");
            lines.insert(lines.len().min(2), Line::styled(hint, ctx.theme.attention()));
        }
        lines
    }

    fn load_changed(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        let is_outdated = self.list.items().iter().any(|row| row.is_outdated(ctx.now));
        let seen = Some([changes.notices, changes.notice_views, changes.audit]);
        if (self.seen != seen || is_outdated) && !self.pending.is_waiting() {
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
            Action::Toggle | Action::Publish | Action::Remove if self.is_settling() => out.say(SETTLING),
            Action::Toggle => self.toggle(ctx, out),
            Action::Publish => self.publish(ctx, out),
            Action::Remove => self.remove(ctx, out),
            Action::Sort => {
                self.sort = self.sort.next();
                self.arrange();
            }
            _ => return false,
        }
        true
    }

    fn sheet(&self, ctx: &Ctx) -> Sheet {
        let row = |row: &Row| {
            vec![
                row.id.as_str().into(),
                row.title().into(),
                ctx.stamp(row.date()).into(),
                row.view().into(),
                row.state().trim_start_matches(['✎', '●', '○', ' ']).into(),
                row.post().into(),
            ]
        };
        Sheet {
            name: format!("notices-{}", ctx.day(ctx.now)),
            head: vec!["_id", "title", "date", "view", "state", "post"],
            rows: self.list.listed().map(row).collect(),
        }
    }

    fn copied(row: &Row) -> (&'static str, String) {
        ("the text", format!("{}\n\n{}\n", row.title(), row.post()))
    }

    fn loaded(&mut self, number: u64, answer: Answer, ctx: &Ctx, out: &mut Out) {
        let Answer::Notices(answer) = answer else { return };
        let Some(loaded) = self.pending.take(number, answer) else { return };
        let rows = row::rows(*loaded, ctx.now);
        let sort = self.sort;
        self.list.set(rows, |_| true, |a, b| sort.order(a, b));
        self.select_saved();
        self.open_loaded(out);
    }

    fn changed(&mut self, act: &Act, result: Result<Option<&str>, &Problem>, ctx: &Ctx, out: &mut Out) {
        if let (
            Act::SaveNotice { .. } | Act::ShareDraft { .. } | Act::PublishShared { .. },
            Ok(Some(saved)),
        ) = (act, result)
        {
            self.select_loaded(saved);
        }
        if let Act::SaveNotice { .. }
        | Act::ShowNotice { .. }
        | Act::RemoveNotice { .. }
        | Act::ShareDraft { .. }
        | Act::PublishShared { .. }
        | Act::RemoveShared { .. }
        | Act::DiscardDraft { .. } = act
        {
            self.load(ctx, out);
        }
    }

    fn waits_long(&self, now: Timestamp) -> bool {
        self.pending.is_slow(now)
    }

    fn cancel_pending(&mut self) -> bool {
        self.to_select = None;
        self.pending.cancel()
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx) {
        let (listed, all) = (self.list.listed().count(), self.list.items().len());
        let count = if listed == all { number(all) } else { format!("{listed} of {all}") };
        let head = match (self.seen, all) {
            (Some(_), 0) if self.pending.is_waiting() => "Loading …".to_owned(),
            _ => format!("{count} · {}", self.sort.label()),
        };
        let row = |row: &Row, _: Option<&Row>| {
            let style = match row.state() {
                "● shown" | "● pinned" => ctx.theme.good(),
                "○ hidden" | "○ ended" => Theme::faint(),
                _ => ctx.theme.attention(),
            };
            let views = row.notice.as_ref().map(|notice| number(notice.view)).unwrap_or_default();
            vec![
                Cell::from(row.title()),
                Cell::styled(ctx.stamp(row.date()), Theme::faint()),
                views.into(),
                Cell::styled(row.state(), style),
            ]
        };
        let none = format!("There are no notices. {} writes one.", ctx.key(&keys::NOTICES, Action::New));
        let look = Appearance {
            theme: ctx.theme,
            head,
            problem: self.pending.problem().map(|problem| problem.text.clone()),
            empty: match (self.pending.is_waiting() && all == 0, self.list.filter.is_empty()) {
                (true, _) => "",
                (_, true) => &none,
                (_, false) => NO_MATCH,
            },
            columns: &COLUMNS,
            row: &row,
            text: &|row, columns| self.text(row, columns, ctx),
        };
        self.list.draw(area, frame.buffer_mut(), &look);
    }
}
