use std::collections::{BTreeSet, HashSet};

use ratatui::text::Line;
use serde_json::{Value, json};
use tidings_core::changes::Changes;
use tidings_core::feedback::{Feedback as Entry, FeedbackState, Mark};
use tidings_core::notice::FullNotice;

use crate::effect::query::{self, FeedbackData};
use crate::effect::{Act, Kind, Work};
use crate::keys::{self, Action, Table};
use crate::layout::tab;
use crate::screen::browse::{Browse, ColumnOf, Listing, any_holds, listing};
use crate::screen::{Ctx, Destination, Out, reading};
use crate::theme::Theme;
use crate::widget::table::{Cell, Column};

#[derive(Default)]
pub(crate) struct Feedback {
    base: Listing<Entry>,
    notices: Vec<FullNotice>,
    read: HashSet<String>,
    /// Its text is beside the list.
    beside: Option<String>,
    all: bool,
    kind: Option<String>,
}

impl Feedback {
    /// Open, and not read on this machine.
    fn is_unread(&self, item: &Entry) -> bool {
        item.activation == FeedbackState::Open && !self.read.contains(&item.id)
    }

    fn mark_read(&mut self, id: &str, out: &mut Out) {
        let item = self.base.rows.iter().find(|item| item.id == id);
        if item.is_some_and(|item| self.is_unread(item)) {
            self.read.insert(id.to_owned());
            let id = id.to_owned();
            let work = Work::new(move |sources| sources.read.add(&id).map(|()| None));
            out.act(Act::new(None, Kind::Save, None, work));
        }
    }

    /// All types follow the last type.
    fn next_kind(&mut self) {
        let kinds: BTreeSet<&str> = self.base.rows.iter().map(|item| item.kind.as_str()).collect();
        let is_next = |next: &&str| self.kind.as_deref().is_none_or(|kind| *next > kind);
        self.kind = kinds.into_iter().find(is_next).map(str::to_owned);
    }

    fn notice(&self, id: &str) -> Option<&FullNotice> {
        self.notices.iter().find(|notice| notice.id.to_string() == id)
    }
}

impl Browse for Feedback {
    listing!(Entry, (), FeedbackData);

    const TAB: usize = tab::FEEDBACK;
    const KEYS: &'static Table = &keys::FEEDBACK;
    const ID: fn(&Entry) -> String = |item| item.id.clone();
    const VERSIONS: fn(&Changes) -> [i64; 3] = |changes| [changes.feedback, changes.members, changes.notices];
    const COPIED: (&'static str, fn(&Entry) -> String) = ("the text", |item| item.post.clone());
    const COLUMNS: &'static [ColumnOf<Self>] = &[
        (Column::new("", 3), |this, item, _, ctx| {
            let new = if this.is_unread(item) { "new" } else { "" };
            Cell::styled(new, ctx.theme.attention().patch(Theme::strong()))
        }),
        (Column::new("State", 6), |_, item, _, ctx| {
            let is_open = item.activation == FeedbackState::Open;
            Cell::styled(state(item), if is_open { ctx.theme.attention() } else { Theme::faint() })
        }),
        (Column::new("Type", 10), |_, item, _, _| item.kind.as_str().into()),
        (Column::new("Text", 0), |_, item, _, _| item.post.as_str().into()),
        (Column::new("Author", 12).from(64), |_, item, _, _| Cell::faint(item.author.as_str())),
        (Column::new("Date", 16).from(80), |_, item, _, ctx| Cell::faint(ctx.stamp(item.date))),
    ];
    const EXPORTED: (&'static str, &'static str) = ("feedback", "_id type post author date notice state");
    const FILTERS: bool = true;

    fn keeps(&self, item: &Entry, text: &str) -> bool {
        (self.all || item.activation == FeedbackState::Open)
            && self.kind.as_ref().is_none_or(|kind| item.kind == *kind)
            && any_holds(&[&item.kind, &item.post, &item.author], text)
    }

    fn query(&mut self, _: Option<()>, _: &Ctx) -> Option<Work<FeedbackData>> {
        Some(query::feedback())
    }

    fn text(&self, item: &Entry, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let facts = format!("{} · from {} · {}", state(item), item.author, ctx.stamp(item.date));
        let mut lines = reading(&item.kind, &facts, &item.post, columns);
        if !item.notice.is_empty() {
            lines.push(Line::default());
            lines.push(Line::styled("─".repeat(columns.min(40)), Theme::faint()));
            match self.notice(&item.notice) {
                Some(notice) => {
                    let facts = format!("The notice it refers to · {}", ctx.stamp(notice.date));
                    lines.extend(reading(&notice.title, &facts, &notice.post, columns));
                }
                None => lines.push(Line::styled("The notice it refers to was removed.", Theme::faint())),
            }
        }
        lines
    }

    /// An item is read when its text is opened, or is left after it was shown beside the list.
    fn selection_changed(&mut self, ctx: &Ctx, out: &mut Out) {
        let selected = self.base.selected().map(|item| item.id.clone());
        let is_beside = self.areas(ctx.body()).text.width > 0;
        let before = std::mem::replace(&mut self.beside, selected.clone().filter(|_| is_beside));
        if let Some(left) = before.filter(|before| Some(before) != selected.as_ref()) {
            self.mark_read(&left, out);
        }
        if let Some(opened) = selected.filter(|_| self.base.list.reading) {
            self.mark_read(&opened, out);
        }
    }

    fn own_action(&mut self, action: Action, item: Option<Entry>, _: &Ctx, out: &mut Out) -> bool {
        match (action, item) {
            (Action::Done, Some(Entry { id: feedback_obi, activation, .. })) => {
                let (state, done) = match activation {
                    FeedbackState::Open => (FeedbackState::Done, "Done."),
                    FeedbackState::Done => (FeedbackState::Open, "Open again."),
                };
                let operation = Mark { feedback_obi, activation: state.activation() };
                out.act(Act::call(tab::FEEDBACK, Kind::Save, done.to_owned(), operation));
            }
            (Action::Toggle, _) => {
                self.all = !self.all;
                self.arrange();
            }
            (Action::Kind, _) => {
                self.next_kind();
                self.arrange();
            }
            (Action::GoTo, Some(item)) if item.notice.is_empty() => out.say("It refers to no notice."),
            (Action::GoTo, Some(item)) => out.go = Some(Destination::Notice(item.notice)),
            _ => return false,
        }
        true
    }

    fn values(&self, item: &Entry, ctx: &Ctx) -> Value {
        let state = if item.activation == FeedbackState::Open { "open" } else { "done" };
        json!([item.id, item.kind, item.post, item.author, ctx.stamp(item.date), item.notice, state])
    }

    fn loaded(&mut self, FeedbackData { list, notices, read }: FeedbackData, _: &Ctx, _: &mut Out) {
        self.notices = notices;
        // A mark that is being written is not in the file yet.
        self.read.extend(read);
        // First among all items: if the selected item is no longer listed, its place among them stays selected.
        let listed = (self.all, self.kind.take());
        self.all = true;
        self.add(list, None);
        (self.all, self.kind) = listed;
        self.arrange();
    }

    fn waiting_items(&self) -> usize {
        self.base.rows.iter().filter(|item| item.activation == FeedbackState::Open).count()
    }

    fn head(&self, _: &Ctx) -> String {
        let (open, all) = (self.waiting_items(), self.base.rows.len());
        let what = if self.all { format!("{all} in all, {open} open") } else { format!("{open} open") };
        let unread = self.base.rows.iter().filter(|item| self.is_unread(item)).count();
        let unread = if unread > 0 { format!(" · {unread} unread") } else { String::new() };
        let kind = self.kind.as_ref().map_or_else(|| "every type".to_owned(), |kind| format!("type {kind}"));
        format!("{what} · {kind}{unread}")
    }

    fn empty(&self) -> &'static str {
        if self.all {
            return "There is no feedback yet.";
        }
        "There is no open feedback. a shows done items, too."
    }
}

fn state(item: &Entry) -> &'static str {
    if item.activation == FeedbackState::Open { "● open" } else { "✓ done" }
}
