//! Feedback: the open items, shown with the notice that each refers to.

use std::collections::HashSet;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;
use tidings_core::feedback::{Feedback as Entry, FeedbackState};
use tidings_core::notice::FullNotice;

use crate::effect::{Act, Answer, FeedbackData, Query};
use crate::keys::{self, Action, Table};
use crate::pending::Pending;
use crate::problem::Problem;
use crate::screen::browse::Browse;
use crate::screen::{Ctx, Destination, Out, reading};
use crate::sheet::Sheet;
use crate::theme::Theme;
use crate::widget::browser::{Appearance, Browser, Item, NO_MATCH, any_holds};
use crate::widget::table::{Cell, Column};

impl Item for Entry {
    fn id(&self) -> &str {
        &self.id
    }

    fn holds(&self, text: &str) -> bool {
        any_holds(&[&self.kind, &self.post, &self.author], text)
    }
}

/// The feedback.
#[derive(Debug, Default)]
pub(crate) struct Feedback {
    pending: Pending,
    list: Browser<Entry>,
    notices: Vec<FullNotice>,
    /// The ids of the feedback that was read on this machine.
    read: HashSet<String>,
    /// The item whose text is beside the list.
    beside: Option<String>,
    /// Whether done items are also listed.
    all: bool,
    /// The type that is listed; `None` for all types.
    kind: Option<String>,
    /// The versions of feedback, members and notices that were requested last.
    seen: Option<(i64, i64, i64)>,
}

const COLUMNS: [Column; 6] = [
    Column::new("", 3),
    Column::new("State", 6),
    Column::new("Type", 10),
    Column::new("Text", 0),
    Column::new("Author", 12).from(64),
    Column::new("Date", 16).from(80),
];

impl Feedback {
    /// Returns the number of open items.
    pub(crate) fn open_items(&self) -> usize {
        self.list.items().iter().filter(|item| item.activation == FeedbackState::Open).count()
    }

    /// Returns whether an item needs to be read: nobody has dealt with it, and it was not read on this machine.
    fn is_unread(&self, item: &Entry) -> bool {
        item.activation == FeedbackState::Open && !self.read.contains(&item.id)
    }

    /// Marks an unread item as read.
    fn mark_read(&mut self, id: &str, out: &mut Out) {
        let item = self.list.items().iter().find(|item| item.id == id);
        if item.is_some_and(|item| self.is_unread(item)) {
            self.read.insert(id.to_owned());
            out.act(Act::ReadFeedback { ids: vec![id.to_owned()] });
        }
    }

    fn load(&mut self, ctx: &Ctx, out: &mut Out) {
        out.effect(self.pending.request(ctx.now, Query::Feedback));
    }

    fn arrange(&mut self) {
        let (all, kind) = (self.all, self.kind.clone());
        let keeps = move |item: &Entry| {
            (all || item.activation == FeedbackState::Open)
                && kind.as_ref().is_none_or(|kind| item.kind == *kind)
        };
        // The core returns the newest first, and sorting is stable.
        self.list.arrange(keeps, |_, _| std::cmp::Ordering::Equal);
    }

    /// Selects the next type; after the last type, selects all types.
    fn next_kind(&mut self) {
        let mut kinds: Vec<&str> = self.list.items().iter().map(|item| item.kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let next = match &self.kind {
            None => kinds.first().copied(),
            Some(kind) => kinds.into_iter().find(|next| *next > kind.as_str()),
        };
        self.kind = next.map(str::to_owned);
    }

    fn notice(&self, id: &str) -> Option<&FullNotice> {
        self.notices.iter().find(|notice| notice.id.to_string() == id)
    }
}

impl Browse for Feedback {
    type Item = Entry;

    const KEYS: &'static Table = &keys::FEEDBACK;

    fn list(&self) -> &Browser<Entry> {
        &self.list
    }

    fn list_mut(&mut self) -> &mut Browser<Entry> {
        &mut self.list
    }

    fn text(&self, item: &Entry, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let state = if item.activation == FeedbackState::Open { "● open" } else { "✓ done" };
        let facts = format!("{state} · from {} · {}", item.author, ctx.stamp(item.date));
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

    fn load_changed(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        let seen = Some((changes.feedback, changes.members, changes.notices));
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

    /// Marks an item as read when its text is opened, or is left after it was shown beside the list.
    fn selection_changed(&mut self, ctx: &Ctx, out: &mut Out) {
        let selected = self.list.selected().map(|item| item.id.clone());
        let is_beside = self.list.areas(ctx.body()).text.width > 0;
        let before = std::mem::replace(&mut self.beside, selected.clone().filter(|_| is_beside));
        if let Some(left) = before.filter(|before| Some(before) != selected.as_ref()) {
            self.mark_read(&left, out);
        }
        if let Some(opened) = selected.filter(|_| self.list.reading()) {
            self.mark_read(&opened, out);
        }
    }

    fn own_action(&mut self, action: Action, _: &Ctx, out: &mut Out) -> bool {
        match action {
            Action::Done => {
                if let Some(item) = self.list.selected() {
                    out.act(Act::FeedbackDone {
                        id: item.id.clone(),
                        done: item.activation == FeedbackState::Open,
                    });
                }
            }
            Action::Toggle => {
                self.all = !self.all;
                self.arrange();
            }
            Action::Kind => {
                self.next_kind();
                self.arrange();
            }
            Action::GoTo => match self.list.selected() {
                Some(item) if !item.notice.is_empty() => {
                    out.go = Some(Destination::Notice(item.notice.clone()));
                }
                Some(_) => out.say("It refers to no notice."),
                None => {}
            },
            _ => return false,
        }
        true
    }

    fn sheet(&self, ctx: &Ctx) -> Sheet {
        let row = |item: &Entry| {
            vec![
                item.id.as_str().into(),
                item.kind.as_str().into(),
                item.post.as_str().into(),
                item.author.as_str().into(),
                ctx.stamp(item.date).into(),
                item.notice.as_str().into(),
                if item.activation == FeedbackState::Open { "open" } else { "done" }.into(),
            ]
        };
        Sheet {
            name: format!("feedback-{}", ctx.day(ctx.now)),
            head: vec!["_id", "type", "post", "author", "date", "notice", "state"],
            rows: self.list.listed().map(row).collect(),
        }
    }

    fn copied(item: &Entry) -> (&'static str, String) {
        ("the text", item.post.clone())
    }

    fn loaded(&mut self, number: u64, answer: Answer, _: &Ctx, _: &mut Out) {
        let Answer::Feedback(answer) = answer else { return };
        let Some(FeedbackData { list, notices, read }) = self.pending.take(number, answer) else { return };
        self.notices = notices;
        // A mark that is being written is not in the file yet.
        self.read.extend(read);
        self.list.set(list, |_| true, |_, _| std::cmp::Ordering::Equal);
        self.arrange();
    }

    fn changed(&mut self, act: &Act, _: Result<Option<&str>, &Problem>, ctx: &Ctx, out: &mut Out) {
        if let Act::FeedbackDone { .. } = act {
            self.load(ctx, out);
        }
    }

    fn waits_long(&self, now: Timestamp) -> bool {
        self.pending.is_slow(now)
    }

    fn cancel_pending(&mut self) -> bool {
        self.pending.cancel()
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx) {
        let (open, all) = (self.open_items(), self.list.items().len());
        let what = if self.all { format!("{all} in all, {open} open") } else { format!("{open} open") };
        let unread = self.list.items().iter().filter(|item| self.is_unread(item)).count();
        let unread = if unread > 0 { format!(" · {unread} unread") } else { String::new() };
        let kind = self.kind.as_ref().map_or_else(|| "every type".to_owned(), |kind| format!("type {kind}"));
        let row = |item: &Entry, _: Option<&Entry>| {
            let (state, style) = if item.activation == FeedbackState::Open {
                ("● open", ctx.theme.attention())
            } else {
                ("✓ done", Theme::faint())
            };
            let new = if self.is_unread(item) { "new" } else { "" };
            vec![
                Cell::styled(new, ctx.theme.attention().patch(Theme::strong())),
                Cell::styled(state, style),
                item.kind.as_str().into(),
                item.post.as_str().into(),
                Cell::styled(item.author.as_str(), Theme::faint()),
                Cell::styled(ctx.stamp(item.date), Theme::faint()),
            ]
        };
        let toggle = ctx.key(&keys::FEEDBACK, Action::Toggle);
        let none = format!("There is no open feedback. {toggle} shows done items, too.");
        let empty = match (self.pending.is_waiting() && all == 0, self.all) {
            (true, _) => "Loading …",
            _ if !self.list.filter.is_empty() => NO_MATCH,
            (_, true) => "There is no feedback yet.",
            (_, false) => &none,
        };
        let look = Appearance {
            theme: ctx.theme,
            head: format!("{what} · {kind}{unread}"),
            problem: self.pending.problem().map(|problem| problem.text.clone()),
            empty,
            columns: &COLUMNS,
            row: &row,
            text: &|item, columns| self.text(item, columns, ctx),
        };
        self.list.draw(area, frame.buffer_mut(), &look);
    }
}
