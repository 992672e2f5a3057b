use std::cmp::{Ordering, Reverse};

use serde_json::Value;
use tidings_core::clock::Timestamp;
use tidings_core::notice::{FullNotice, Pin, SavedDraft, State, Visibility};

use crate::effect::query::Notices;
use crate::screen::Ctx;
use crate::screen::form::{Record, record, typed_time};
use crate::widget::Cycle;

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
        let draft = self.draft.as_ref().and_then(|draft| draft.fields.title.as_deref());
        let notice = self.notice.as_ref().map(|notice| &*notice.title);
        [draft, notice].into_iter().flatten().find(|title| !title.is_empty()).unwrap_or("(no title yet)")
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

    /// The fields of the notice with the changes of its draft. A new notice is shown.
    pub(super) fn record(&self) -> Record {
        let mut fields = self.notice.as_ref().map_or_else(new, record);
        let draft = self.draft.as_ref().map(|draft| record(&draft.fields)).unwrap_or_default();
        fields.extend(draft.into_iter().filter(|(_, value)| !value.is_null()));
        fields
    }

    pub(super) fn is_outdated(&self, now: Timestamp) -> bool {
        self.published().is_some_and(|notice| notice.state(now) != notice.state(self.at))
    }
}

pub(super) fn new() -> Record {
    [("activation".to_owned(), 1.into())].into_iter().collect()
}

/// A few words for when, where and to whom a notice is visible.
pub(super) fn facts(notice: &Record, ctx: &Ctx) -> Vec<String> {
    let text = |name| notice.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let is_set = |name| notice.get(name).and_then(Value::as_i64) == Some(1);
    let facts = [
        text("visible_from").map(|from| format!("from {}", typed_time(from, ctx))),
        text("visible_until").map(|until| format!("until {}", typed_time(until, ctx))),
        text("topic").map(|topic| format!("on the page of {topic}")),
        is_set("pinned").then(|| "pinned".to_owned()),
        is_set("members_only").then(|| "for members".to_owned()),
    ];
    facts.into_iter().flatten().collect()
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
