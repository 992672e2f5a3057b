//! The rows of the list of notices, and their order.

use std::cmp::{Ordering, Reverse};

use tidings_core::clock::Timestamp;
use tidings_core::notice::{Audience, FullNotice, Pin, SavedDraft as SharedDraft, State, Visibility};

use crate::draft::SavedDraft;
use crate::effect::Notices;
use crate::reach::Reach;
use crate::screen::Ctx;
use crate::widget::cycle::Cycle;

/// A notice, a draft of all administrators, or the draft of a new notice on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(super) id: String,
    pub(super) notice: Option<FullNotice>,
    /// The draft of all administrators.
    pub(super) shared: Option<SharedDraft>,
    /// The notice that the draft of all administrators changes.
    pub(super) base: Option<FullNotice>,
    /// The draft on this machine that changes the notice or the draft of all administrators, or that the row is.
    pub(super) draft: Option<SavedDraft>,
    /// The time of which the row shows the state.
    pub(super) at: Timestamp,
}

/// Returns the rows of the list: the notices, the drafts of all administrators and the other drafts.
pub(super) fn rows(loaded: Notices, at: Timestamp) -> Vec<Row> {
    let Notices { list: notices, shared, mut drafts } = loaded;
    for draft in &mut drafts {
        // The draft of a removed notice becomes the draft of a new one.
        draft.notice =
            draft.notice.take().filter(|id| notices.iter().any(|notice| notice.id.to_string() == *id));
        draft.shared =
            draft.shared.take().filter(|id| shared.iter().any(|shared| shared.id.to_string() == *id));
    }
    let (of_shared, drafts): (Vec<_>, Vec<_>) = drafts.into_iter().partition(|draft| draft.shared.is_some());
    let (of_notices, of_new): (Vec<_>, Vec<_>) = drafts.into_iter().partition(|draft| draft.notice.is_some());
    let shared = shared.into_iter().map(|shared| {
        let id = shared.id.to_string();
        let draft = of_shared.iter().find(|draft| draft.shared.as_ref() == Some(&id)).cloned();
        let base = notices.iter().find(|notice| Some(notice.id) == shared.notice).cloned();
        Row { id, notice: None, shared: Some(shared), base, draft, at }
    });
    let mut rows: Vec<Row> = shared.collect();
    rows.extend(notices.into_iter().map(|notice| {
        let id = notice.id.to_string();
        let draft = of_notices.iter().find(|draft| draft.notice.as_ref() == Some(&id)).cloned();
        Row { id, notice: Some(notice), shared: None, base: None, draft, at }
    }));
    rows.extend(of_new.into_iter().map(|draft| {
        let (id, draft) = (draft.key.clone(), Some(draft));
        Row { id, notice: None, shared: None, base: None, draft, at }
    }));
    rows
}

impl Row {
    pub(super) fn title(&self) -> &str {
        let shared = self.shared.as_ref().map(|shared| shared.fields.title.as_deref().unwrap_or_default());
        let base = self.base.as_ref().map(|notice| &*notice.title);
        let draft = self.draft.as_ref().map(|draft| draft.title.as_str());
        let notice = self.notice.as_ref().map(|notice| &*notice.title);
        let titles = [notice, shared, base, draft].into_iter().flatten();
        titles.into_iter().find(|title| !title.is_empty()).unwrap_or("(no title yet)")
    }

    pub(super) fn post(&self) -> &str {
        let shared = self.shared.as_ref().and_then(|shared| shared.fields.post.as_deref());
        match (self.notice.as_ref().or(self.base.as_ref()), &self.draft) {
            _ if shared.is_some() => shared.unwrap_or_default(),
            (Some(notice), _) => &notice.post,
            (None, draft) => draft.as_ref().map_or("", |draft| &draft.post),
        }
    }

    pub(super) fn date(&self) -> Timestamp {
        let shared = self.shared.as_ref().map(|shared| shared.date);
        let draft = || shared.or(self.draft.as_ref().map(|draft| draft.date)).unwrap_or(Timestamp::MIN);
        self.notice.as_ref().map_or_else(draft, |notice| notice.date)
    }

    pub(super) fn shown(&self) -> bool {
        self.notice.as_ref().is_some_and(|notice| notice.activation == Visibility::Shown)
    }

    pub(super) fn view(&self) -> i64 {
        self.notice.as_ref().map_or(0, |notice| notice.view)
    }

    pub(super) fn state(&self) -> &'static str {
        let notice = match (&self.notice, &self.shared, &self.draft) {
            (None, Some(_), None) => return "✎ shared",
            (None, None, _) => return "✎ draft",
            (_, _, Some(_)) => return "✎ edited",
            (Some(notice), _, None) => notice,
        };
        match notice.state(self.at) {
            State::Shown if notice.placement.pinned == Pin::Pinned => "● pinned",
            State::Shown => "● shown",
            State::Hidden => "○ hidden",
            State::Scheduled => "○ later",
            State::Ended => "○ ended",
        }
    }

    /// Returns who sees the notice if it is shown or hidden.
    pub(super) fn reach(&self, shown: bool, ctx: &Ctx) -> Reach {
        let placement = self.notice.as_ref().map(|notice| notice.placement.clone()).unwrap_or_default();
        let times = (placement.visible_from, placement.visible_until);
        Reach::of(shown, times, placement.members_only == Audience::Members, ctx)
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
