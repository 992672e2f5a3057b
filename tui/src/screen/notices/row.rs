//! The rows of the list of notices, and their order.

use std::cmp::{Ordering, Reverse};

use tidings_core::clock::Timestamp;
use tidings_core::notice::{Audience, FullNotice, Pin, SavedDraft, State, Visibility};

use crate::effect::Notices;
use crate::placing::Placing;
use crate::reach::Reach;
use crate::screen::Ctx;
use crate::widget::cycle::Cycle;

/// A notice, or a draft of all administrators.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(super) id: String,
    pub(super) draft: Option<SavedDraft>,
    /// The notice, or the one that the draft changes.
    pub(super) notice: Option<FullNotice>,
    /// The time of which the row shows the state.
    pub(super) at: Timestamp,
}

pub(super) fn rows(loaded: Notices, at: Timestamp) -> Vec<Row> {
    let Notices { list: notices, drafts } = loaded;
    let drafts = drafts.into_iter().map(|draft| {
        let notice = notices.iter().find(|notice| Some(notice.id) == draft.notice).cloned();
        Row { id: draft.id.to_string(), draft: Some(draft), notice, at }
    });
    let mut rows: Vec<Row> = drafts.collect();
    rows.extend(notices.into_iter().map(|notice| {
        let id = notice.id.to_string();
        Row { id, draft: None, notice: Some(notice), at }
    }));
    rows
}

impl Row {
    pub(super) fn title(&self) -> &str {
        self.written_title().unwrap_or("(no title yet)")
    }

    pub(super) fn written_title(&self) -> Option<&str> {
        let draft = self.draft.as_ref().and_then(|draft| draft.fields.title.as_deref());
        let notice = self.notice.as_ref().map(|notice| &*notice.title);
        [draft, notice].into_iter().flatten().find(|title| !title.is_empty())
    }

    pub(super) fn post(&self) -> &str {
        let draft = self.draft.as_ref().and_then(|draft| draft.fields.post.as_deref());
        draft.or(self.notice.as_ref().map(|notice| &*notice.post)).unwrap_or_default()
    }

    pub(super) fn date(&self) -> Timestamp {
        let draft = self.draft.as_ref().map(|draft| draft.date);
        draft.or(self.notice.as_ref().map(|notice| notice.date)).unwrap_or(Timestamp::MIN)
    }

    pub(super) fn published(&self) -> Option<&FullNotice> {
        self.notice.as_ref().filter(|_| self.draft.is_none())
    }

    pub(super) fn shown(&self) -> bool {
        self.published().is_some_and(|notice| notice.activation == Visibility::Shown)
    }

    pub(super) fn view(&self) -> i64 {
        self.published().map_or(0, |notice| notice.view)
    }

    pub(super) fn state(&self) -> &'static str {
        let Some(notice) = self.published() else { return "✎ shared" };
        match notice.state(self.at) {
            State::Shown if notice.placement.pinned == Pin::Pinned => "● pinned",
            State::Shown => "● shown",
            State::Hidden => "○ hidden",
            State::Scheduled => "○ later",
            State::Ended => "○ ended",
        }
    }

    /// Returns whether the notice, with the changes of its draft, is shown, and when, where and to whom it is visible.
    pub(super) fn placing(&self, ctx: &Ctx) -> (bool, Placing) {
        let base = self.notice.as_ref();
        let shown = base.is_none_or(|notice| notice.activation == Visibility::Shown);
        let placing = base.map(|notice| Placing::of(&notice.placement, ctx)).unwrap_or_default();
        let Some(draft) = &self.draft else { return (shown, placing) };
        let shown = draft.fields.activation.map_or(shown, |shown| shown == Visibility::Shown.activation());
        (shown, placing.with(&draft.fields, ctx))
    }

    pub(super) fn reach(&self, shown: bool, ctx: &Ctx) -> Reach {
        let placement = self.notice.as_ref().map(|notice| notice.placement.clone()).unwrap_or_default();
        let times = (placement.visible_from, placement.visible_until);
        Reach::of(shown, times, placement.members_only == Audience::Members, ctx)
    }

    pub(super) fn is_outdated(&self, now: Timestamp) -> bool {
        self.published().is_some_and(|notice| notice.state(now) != notice.state(self.at))
    }
}

/// Drafts come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Date,
    Title,
    Views,
    State,
}

impl Cycle for Sort {
    const ALL: &'static [Self] = &[Self::Date, Self::Title, Self::Views, Self::State];
}

impl Sort {
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Date => "newest first",
            Self::Title => "by title",
            Self::Views => "most views first",
            Self::State => "hidden first",
        }
    }

    pub(super) fn order(self, a: &Row, b: &Row) -> Ordering {
        let newest = |a: &Row, b: &Row| b.date().cmp(&a.date()).then_with(|| b.id.cmp(&a.id));
        let by = match self {
            Self::Date => Ordering::Equal,
            Self::Title => a.title().to_lowercase().cmp(&b.title().to_lowercase()),
            Self::Views => Reverse(a.view()).cmp(&Reverse(b.view())),
            Self::State => a.shown().cmp(&b.shown()),
        };
        a.draft.is_none().cmp(&b.draft.is_none()).then(by).then_with(|| newest(a, b))
    }
}
