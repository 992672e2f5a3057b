//! How many paths that are new the log keeps, and how many it looks for.
//!
//! Each operation has its own budget, so that a flood of one leaves the paths of the others alone, and within it the
//! paths that the service found apart from those that it refused:
//!
//! | answered | new paths at once | and then | looked for at once | and then | while fewer rows than |
//! |---|---|---|---|---|---|
//! | with success, for an id (`{post_obi}`, `{user_id}`) | 65,536 | 1 a second | 65,536 | 4,000 a second | 1,000,000 |
//! | with success, for another text or number | 4,096 | 1 in 10 s | 4,096 | 1,000 a second | 500,000 |
//! | not with success | 1,024 | 1 in 10 s | 1,024 | 200 a second | 250,000 |
//!
//! A path with an id succeeds only when there is something with this id, so there are not many more than posts and
//! members: all paths of a site with 50,000 posts are kept on its first day. (Two or three operations answer a
//! stranger's made-up id with 200 and a `result` that is a failure, as documented; the bounds hold for them.) A name
//! of a topic that no post has succeeds, too, and anybody can make up as many as they like. What strangers are refused
//! fills a quarter of the table at most, so that there is room for the rest whatever they do.

use super::{Operation, sql};
use crate::analysis::gcra::{Gcra, GcraState};
use crate::clock::{SECOND_MS, Timestamp};
use crate::keyed::OwnMap;
use crate::store::{StoreError, Tx};

/// How often the rows of the table are counted; between, what was added is.
const COUNT_MS: i64 = 10 * 60 * SECOND_MS;

/// How a request was kind, as far as it tells whether there are many like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnswerKind {
    /// With success, for the id of something that is there.
    Id,
    /// With success, for any text or number.
    Text,
    /// With anything else.
    Refused,
}

/// What may be done for requests that were answered so.
struct Bounds {
    new: Gcra,
    looks: Gcra,
    /// New ones are kept only while the table has fewer rows.
    rows: i64,
}

impl AnswerKind {
    pub(super) fn of(operation: Operation, status: u16) -> Self {
        match status {
            // What has not changed since (304) was found, too.
            200..=399 if operation.has_id => Self::Id,
            200..=399 => Self::Text,
            _ => Self::Refused,
        }
    }

    const fn bounds(self) -> Bounds {
        match self {
            Self::Id => Bounds {
                new: Gcra::per_second(65_536, 1),
                looks: Gcra::per_second(65_536, 4_000),
                rows: 1_000_000,
            },
            Self::Text => {
                Bounds { new: Gcra::one_in(4_096, 10), looks: Gcra::per_second(4_096, 1_000), rows: 500_000 }
            }
            Self::Refused => {
                Bounds { new: Gcra::one_in(1_024, 10), looks: Gcra::per_second(1_024, 200), rows: 250_000 }
            }
        }
    }
}

/// What has been used up.
#[derive(Default)]
pub(super) struct Budget {
    /// By template, for every method: anybody may choose that.
    usage: OwnMap<(&'static str, AnswerKind), Usage>,
    rows: Option<Rows>,
    unlimited: bool,
}

#[derive(Default)]
struct Usage {
    new: GcraState,
    looks: GcraState,
}

/// The rows of the table.
struct Rows {
    count: i64,
    counted_at: Timestamp,
}

impl Budget {
    /// A budget that is never used up.
    #[cfg(feature = "demo")]
    pub(super) fn unlimited() -> Self {
        Self { unlimited: true, ..Self::default() }
    }

    /// Whether a path may be looked for in the table.
    pub(super) fn may_look_up(&mut self, template: &'static str, kind: AnswerKind, at: Timestamp) -> bool {
        let usage = self.usage.entry((template, kind)).or_default();
        self.unlimited || kind.bounds().looks.take(&mut usage.looks, at)
    }

    /// Whether a path that is new may be kept.
    pub(super) fn may_insert(
        &mut self,
        tx: &mut dyn Tx,
        template: &'static str,
        kind: AnswerKind,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        if self.unlimited {
            return Ok(true);
        }
        let Bounds { new, rows, .. } = kind.bounds();
        if self.rows(tx, at)?.count >= rows {
            return Ok(false);
        }
        let usage = self.usage.entry((template, kind)).or_default();
        let keeps = new.take(&mut usage.new, at);
        if keeps && let Some(rows) = &mut self.rows {
            rows.count += 1;
        }
        Ok(keeps)
    }

    fn rows(&mut self, tx: &mut dyn Tx, at: Timestamp) -> Result<&Rows, StoreError> {
        let counted = self.rows.take().filter(|rows| (0..COUNT_MS).contains(&(at - rows.counted_at)));
        let rows = match counted {
            Some(rows) => rows,
            None => Rows { count: sql::count(tx)?, counted_at: at },
        };
        Ok(self.rows.insert(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, Service, service};

    const POST: &str = "/post_view/{post_obi}";
    const TOPIC: &str = "/get_newsfeed_of_topic/{category_name}";

    /// How many of so many new paths are kept at this moment.
    fn kept(
        service: &Service,
        budget: &mut Budget,
        asked: (&'static str, u16),
        at: Timestamp,
        of: usize,
    ) -> usize {
        let (template, status) = asked;
        let kind = AnswerKind::of(Operation::new("GET", template), status);
        let read = service.store().read(|tx| {
            let mut kept = 0;
            for _ in 0..of {
                kept += usize::from(
                    budget.may_look_up(template, kind, at) && budget.may_insert(tx, template, kind, at)?,
                );
            }
            Ok::<_, StoreError>(kept)
        });
        read.unwrap()
    }

    #[test]
    fn the_paths_of_a_large_site_are_kept_on_its_first_day_and_made_up_ones_are_not() {
        let (service, mut budget) = (service(), Budget::default());
        let mut kept = |asked, at, of| kept(&service, &mut budget, asked, at, of);
        assert_eq!(kept((TOPIC, 200), NOW, 100_000), 4_096);
        assert_eq!(kept((POST, 404), NOW, 100_000), 1_024);
        assert_eq!(kept((POST, 200), NOW, 50_000), 50_000);
        assert_eq!(kept(("/post_like/{post_obi}", 200), NOW, 50_000), 50_000);
        assert_eq!(kept(("/get_log_user/{user_id}/{limit}", 200), NOW, 20_000), 20_000);
        // A day of a flood that never ends.
        let day: usize = (1..=86_400).map(|second| kept((TOPIC, 200), NOW + second * SECOND_MS, 10)).sum();
        assert_eq!(day, 8_640);
    }

    #[test]
    fn what_strangers_are_refused_never_fills_the_table() {
        let (service, mut budget) = (service(), Budget::default());
        let mut at_rows = |count| {
            budget.rows = Some(Rows { count, counted_at: NOW });
            [(POST, 404), (TOPIC, 200), (POST, 200)].map(|asked| kept(&service, &mut budget, asked, NOW, 1))
        };
        assert_eq!(at_rows(249_999), [1, 1, 1]);
        assert_eq!(at_rows(250_000), [0, 1, 1]);
        assert_eq!(at_rows(500_000), [0, 0, 1]);
        assert_eq!(at_rows(1_000_000), [0, 0, 0]);
        // They are counted again, and there are not as many.
        assert_eq!(kept(&service, &mut budget, (POST, 404), NOW + COUNT_MS, 1), 1);
    }
}
