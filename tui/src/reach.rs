//! The readers of a notice, and the time of its visibility, in words.

use tidings_core::clock::Timestamp;

use crate::ctx::Ctx;
use crate::placing::{Placing, parse};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Only administrators see the notice.
    Hidden,
    /// The notice is over since this time.
    Ended(String),
    /// These readers see the notice from this time on.
    Later(&'static str, String),
    Now(&'static str),
}

impl Reach {
    /// The notice is shown or hidden, visible between two times, and for members only or not.
    pub(crate) fn of(
        shown: bool,
        (from, until): (Option<Timestamp>, Option<Timestamp>),
        members_only: bool,
        ctx: &Ctx,
    ) -> Self {
        let readers = if members_only { "members" } else { "everybody" };
        match (from, until) {
            _ if !shown => Self::Hidden,
            (_, Some(until)) if until <= ctx.now => Self::Ended(ctx.stamp(until)),
            (Some(from), _) if from > ctx.now => Self::Later(readers, ctx.stamp(from)),
            _ => Self::Now(readers),
        }
    }

    pub(crate) fn of_typed(shown: bool, placing: &Placing, ctx: &Ctx) -> Self {
        let time = |text: &str| parse(text.trim(), ctx);
        Self::of(shown, (time(&placing.from), time(&placing.until)), placing.members_only, ctx)
    }

    pub(crate) fn published(&self, title: &str) -> String {
        match self {
            Self::Hidden => format!("Saved “{title}”, hidden."),
            Self::Ended(until) => format!("Saved “{title}”; it ended at {until}."),
            Self::Later("members", from) => format!("Scheduled “{title}” for {from}, for members."),
            Self::Later(_, from) => format!("Scheduled “{title}” for {from}."),
            Self::Now("members") => format!("Published “{title}” for members."),
            Self::Now(_) => format!("Published “{title}”."),
        }
    }

    pub(crate) fn toggled(&self, title: &str) -> String {
        match self {
            Self::Hidden => format!("“{title}” is hidden."),
            Self::Ended(until) => format!("“{title}” is shown, but it ended at {until}."),
            Self::Later(readers, from) => format!("“{title}” is shown to {readers} from {from} on."),
            Self::Now(readers) => format!("“{title}” is shown to {readers}."),
        }
    }

    /// For a notice that is not shown yet.
    pub(crate) fn forecast(&self) -> String {
        let people = |readers: &str| if readers == "members" { "Members" } else { "All readers" };
        match self {
            Self::Hidden => String::new(),
            Self::Ended(until) => {
                format!("It ended at {until}, so nobody sees it before that is changed.")
            }
            Self::Later(readers, from) => format!("{} will see it from {from} on.", people(readers)),
            Self::Now(readers) => format!("{} will see it at once.", people(readers)),
        }
    }

    /// The text in the editor about the notice once it is saved.
    pub(crate) const fn state(&self) -> &'static str {
        match self {
            Self::Hidden => "○ will be hidden",
            Self::Ended(_) => "○ has ended",
            Self::Later(..) => "○ will be shown later",
            Self::Now(_) => "● will be shown",
        }
    }

    pub(crate) const fn save(&self, is_new: bool) -> &'static str {
        match (self, is_new) {
            (Self::Hidden, true) => "save it, hidden",
            (Self::Hidden, false) => "save the changes, hidden",
            (Self::Ended(_), true) => "save it, although it has ended",
            (Self::Ended(_), false) => "save the changes, although it has ended",
            (Self::Later(..), true) => "schedule it",
            (Self::Later(..), false) => "save the changes, to be seen later",
            (Self::Now(_), true) => "publish it now",
            (Self::Now(_), false) => "save the changes, to be seen now",
        }
    }
}
