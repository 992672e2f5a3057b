//! The rows of the list of notices, and their order.

use std::cmp::{Ordering, Reverse};

use tidings_core::clock::Timestamp;
use tidings_core::notice::{Audience, FullNotice, Pin, State, Visibility};

use crate::draft::SavedDraft;
use crate::widget::browser::{Item, any_holds};
use crate::widget::cycle::Cycle;

/// A notice with the draft that changes it, or the draft of a new notice.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) notice: Option<FullNotice>,
    pub(super) draft: Option<SavedDraft>,
    /// The time of which the row shows the state.
    pub(super) at: Timestamp,
}

impl Row {
    pub(super) fn title(&self) -> &str {
        match (&self.notice, &self.draft) {
            (Some(notice), _) => &notice.title,
            (None, Some(draft)) if draft.title.is_empty() => "(no title yet)",
            (None, Some(draft)) => &draft.title,
            (None, None) => "",
        }
    }

    pub(super) fn post(&self) -> &str {
        match (&self.notice, &self.draft) {
            (Some(notice), _) => &notice.post,
            (None, draft) => draft.as_ref().map_or("", |draft| &draft.post),
        }
    }

    pub(super) fn date(&self) -> Timestamp {
        let draft = || self.draft.as_ref().map_or(Timestamp::MIN, |draft| draft.date);
        self.notice.as_ref().map_or_else(draft, |notice| notice.date)
    }

    pub(super) fn shown(&self) -> bool {
        self.notice.as_ref().is_some_and(|notice| notice.activation == Visibility::Shown)
    }

    pub(super) fn view(&self) -> i64 {
        self.notice.as_ref().map_or(0, |notice| notice.view)
    }

    pub(super) fn state(&self) -> &'static str {
        let notice = match (&self.notice, &self.draft) {
            (None, _) => return "✎ draft",
            (Some(_), Some(_)) => return "✎ edited",
            (Some(notice), None) => notice,
        };
        match notice.state(self.at) {
            State::Shown if notice.placement.pinned == Pin::Pinned => "● pinned",
            State::Shown => "● shown",
            State::Hidden => "○ hidden",
            State::Scheduled => "○ later",
            State::Ended => "○ ended",
        }
    }

    /// Returns whether the notice has begun or ended since the time of which the row shows the state.
    pub(super) fn is_outdated(&self, now: Timestamp) -> bool {
        self.notice.as_ref().is_some_and(|notice| notice.state(now) != notice.state(self.at))
    }

    /// Returns when, where and to whom the notice is visible, with times in the form that `stamp` gives them.
    pub(super) fn placement(&self, stamp: impl Fn(Timestamp) -> String) -> Vec<String> {
        let Some(FullNotice { placement, .. }) = &self.notice else { return Vec::new() };
        let facts = [
            placement.visible_from.map(|from| format!("from {}", stamp(from))),
            placement.visible_until.map(|until| format!("until {}", stamp(until))),
            placement.topic.as_ref().map(|topic| format!("on the page of {topic}")),
            (placement.members_only == Audience::Members).then(|| "for members".to_owned()),
        ];
        facts.into_iter().flatten().collect()
    }
}

impl Item for Row {
    fn id(&self) -> &str {
        &self.id
    }

    fn holds(&self, text: &str) -> bool {
        any_holds(&[self.title(), self.post(), self.state()], text)
    }
}

/// The order of the list. Drafts of new notices come first.
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
        a.notice.is_some().cmp(&b.notice.is_some()).then(by).then_with(|| newest(a, b))
    }
}
