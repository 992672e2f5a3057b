//! The readers of a notice, and the time of its visibility, in words.

use serde_json::Value;
use tidings_core::clock::Timestamp;

use crate::screen::Ctx;
use crate::screen::form::Record;

pub(super) enum Reach {
    Hidden,
    Ended(String),
    /// These readers see the notice from this time on.
    Later(&'static str, String),
    Now(&'static str),
}

impl Reach {
    pub(super) fn of(notice: &Record, ctx: &Ctx) -> Self {
        let time = |name| notice.get(name).and_then(Value::as_str).and_then(Timestamp::parse);
        let is_set = |name| notice.get(name).and_then(Value::as_i64) == Some(1);
        let readers = if is_set("members_only") { "members" } else { "everybody" };
        match (time("visible_from"), time("visible_until")) {
            _ if !is_set("activation") => Self::Hidden,
            (_, Some(until)) if until <= ctx.now => Self::Ended(ctx.stamp(until)),
            (Some(from), _) if from > ctx.now => Self::Later(readers, ctx.stamp(from)),
            _ => Self::Now(readers),
        }
    }

    pub(super) fn published(&self, title: &str) -> String {
        match self {
            Self::Hidden => format!("Saved “{title}”, hidden."),
            Self::Ended(until) => format!("Saved “{title}”; it ended at {until}."),
            Self::Later("members", from) => format!("Scheduled “{title}” for {from}, for members."),
            Self::Later(_, from) => format!("Scheduled “{title}” for {from}."),
            Self::Now("members") => format!("Published “{title}” for members."),
            Self::Now(_) => format!("Published “{title}”."),
        }
    }

    pub(super) fn toggled(&self, title: &str) -> String {
        match self {
            Self::Hidden => format!("“{title}” is hidden."),
            Self::Ended(until) => format!("“{title}” is shown, but it ended at {until}."),
            Self::Later(readers, from) => format!("“{title}” is shown to {readers} from {from} on."),
            Self::Now(readers) => format!("“{title}” is shown to {readers}."),
        }
    }

    /// For a notice that is not shown yet.
    pub(super) fn forecast(&self) -> String {
        let people = |readers: &str| if readers == "members" { "Members" } else { "All readers" };
        match self {
            Self::Hidden => String::new(),
            Self::Ended(until) => format!("It ended at {until}, so nobody sees it before that is changed."),
            Self::Later(readers, from) => format!("{} will see it from {from} on.", people(readers)),
            Self::Now(readers) => format!("{} will see it at once.", people(readers)),
        }
    }

    /// The text in the editor about the notice once it is saved.
    pub(super) const fn state(&self) -> &'static str {
        match self {
            Self::Hidden => "○ will be hidden",
            Self::Ended(_) => "○ has ended",
            Self::Later(..) => "○ will be shown later",
            Self::Now(_) => "● will be shown",
        }
    }

    pub(super) const fn save(&self, is_new: bool) -> &'static str {
        let (new, changed) = match self {
            Self::Hidden => ("save it, hidden", "save the changes, hidden"),
            Self::Ended(_) => ("save it, although it has ended", "save the changes, although it has ended"),
            Self::Later(..) => ("schedule it", "save the changes, to be seen later"),
            Self::Now(_) => ("publish it now", "save the changes, to be seen now"),
        };
        if is_new { new } else { changed }
    }
}
