//! When, where and to whom a notice is visible, as an administrator types it.

use tidings_client::shown::time;
use tidings_core::clock::Timestamp;
use tidings_core::notice::{Audience, Draft, Pin, Placement};

use crate::ctx::Ctx;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placing {
    pub(crate) from: String,
    /// The notice is no longer visible from this time on; empty for no limit.
    pub(crate) until: String,
    /// The notice is on the page of this topic; empty for the general page.
    pub(crate) topic: String,
    pub(crate) pinned: bool,
    pub(crate) members_only: bool,
}

pub(crate) const NO_TIME: &str = "A time looks like 2026-12-01 or 2026-12-01 09:00.";

impl Placing {
    /// Times are in the zone of the screens.
    pub(crate) fn of(placement: &Placement, ctx: &Ctx) -> Self {
        let Placement { visible_from, visible_until, pinned, topic, members_only } = placement;
        let time = |at: &Option<Timestamp>| at.map(|at| typed(at, ctx)).unwrap_or_default();
        Self {
            from: time(visible_from),
            until: time(visible_until),
            topic: topic.as_deref().unwrap_or_default().to_owned(),
            pinned: *pinned == Pin::Pinned,
            members_only: *members_only == Audience::Members,
        }
    }

    pub(crate) fn with(self, draft: &Draft, ctx: &Ctx) -> Self {
        let Draft { visible_from, visible_until, pinned, topic, members_only, .. } = draft;
        let time = |text: &Option<String>, before: String| match text {
            Some(text) => Timestamp::parse(text).map_or_else(|| text.clone(), |at| typed(at, ctx)),
            None => before,
        };
        Self {
            from: time(visible_from, self.from),
            until: time(visible_until, self.until),
            topic: topic.clone().unwrap_or(self.topic),
            pinned: pinned.map_or(self.pinned, |pinned| pinned == Pin::Pinned.activation()),
            members_only: members_only
                .map_or(self.members_only, |members| members == Audience::Members.activation()),
        }
    }

    /// Sets the fields that differ from those in `before`. The error is the name of the field with a time that cannot be read.
    pub(crate) fn set(&self, before: &Self, draft: &mut Draft, ctx: &Ctx) -> Result<(), &'static str> {
        let time = |name: &'static str, text: &str, before: &str| match text.trim() {
            text if text == before => Ok(None),
            "" => Ok(Some(String::new())),
            text => parse(text, ctx).map(|at| Some(at.to_string())).ok_or(name),
        };
        draft.visible_from = time("visible_from", &self.from, &before.from)?;
        draft.visible_until = time("visible_until", &self.until, &before.until)?;
        draft.topic = Some(self.topic.trim()).filter(|topic| *topic != before.topic).map(str::to_owned);
        draft.pinned = (self.pinned != before.pinned).then(|| i64::from(self.pinned));
        draft.members_only = (self.members_only != before.members_only).then(|| i64::from(self.members_only));
        Ok(())
    }

    /// A few words for each field that is set.
    pub(crate) fn facts(&self) -> Vec<String> {
        let facts = [
            (!self.from.is_empty()).then(|| format!("from {}", self.from)),
            (!self.until.is_empty()).then(|| format!("until {}", self.until)),
            (!self.topic.is_empty()).then(|| format!("on the page of {}", self.topic)),
            self.pinned.then(|| "pinned".to_owned()),
            self.members_only.then(|| "for members".to_owned()),
        ];
        facts.into_iter().flatten().collect()
    }
}

/// In the zone of the screens, unless the time has seconds.
pub(crate) fn typed(at: Timestamp, ctx: &Ctx) -> String {
    if at.as_millis().rem_euclid(60_000) == 0 { ctx.stamp(at) } else { at.to_string() }
}

/// In the zone of the screens.
pub(crate) fn parse(text: &str, ctx: &Ctx) -> Option<Timestamp> {
    time::parse(text, &ctx.zone)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::theme::Theme;

    fn ctx() -> Ctx {
        let zone = TimeZone::get("Asia/Seoul").unwrap();
        Ctx {
            now: Timestamp::MIN,
            zone,
            size: (80, 24),
            theme: Theme::new(true),
            is_remote: false,
            password: None,
        }
    }

    fn set(typed: &Placing, before: &Placing) -> Result<Draft, &'static str> {
        let mut draft = Draft::default();
        typed.set(before, &mut draft, &ctx()).map(|()| draft)
    }

    #[test]
    fn times_are_typed_in_the_zone_of_the_screens() {
        let of = |from: &str| {
            let typed = Placing { from: from.into(), ..Placing::default() };
            set(&typed, &Placing::default()).map(|draft| draft.visible_from)
        };
        assert_eq!(of("2026-12-01"), Ok(Some("2026-11-30T15:00:00.000Z".into())));
        assert_eq!(of(" 2026-12-01 09:30 "), Ok(Some("2026-12-01T00:30:00.000Z".into())));
        assert_eq!(of("2026-12-01T09:30+02:00"), Ok(Some("2026-12-01T07:30:00.000Z".into())));
        assert_eq!(of(""), Ok(None));
        for wrong in ["tomorrow", "12-01", "2026-13-01", "2026-12-01 25:00"] {
            assert_eq!(of(wrong), Err("visible_from"), "{wrong}");
        }
    }

    #[test]
    fn only_changed_fields_are_set_and_emptied_ones_are_removed() {
        let placement = Placement {
            visible_from: Timestamp::parse("2026-12-01T00:00:00.500Z"),
            visible_until: Timestamp::parse("2026-12-24T09:00:00Z"),
            topic: Some("Sea".into()),
            pinned: Pin::Pinned,
            ..Placement::default()
        };
        let before = Placing::of(&placement, &ctx());
        assert_eq!(
            (before.from.as_str(), before.until.as_str()),
            ("2026-12-01T00:00:00.500Z", "2026-12-24 18:00")
        );
        assert_eq!(set(&before, &before), Ok(Draft::default()));
        let typed =
            Placing { until: String::new(), topic: String::new(), members_only: true, ..before.clone() };
        let changed = Draft {
            visible_until: Some(String::new()),
            topic: Some(String::new()),
            members_only: Some(1),
            ..Draft::default()
        };
        assert_eq!(set(&typed, &before), Ok(changed.clone()));
        assert_eq!(before.clone().with(&changed, &ctx()), typed);
        assert_eq!(before.clone().with(&Draft::default(), &ctx()), before);
    }
}
