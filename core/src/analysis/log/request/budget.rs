//! Limits the number of new paths that the log stores, and the number of lookups of paths.
//!
//! Each operation has its own budget, so that a flood of one operation does not affect the paths of the others. Within
//! an operation, requests that succeeded and requests that were refused have separate budgets:
//!
//! | answer | new paths at once | and then | lookups at once | and then | while fewer rows than |
//! |---|---|---|---|---|---|
//! | success, for an id (`{post_obi}`, `{user_id}`) | 65,536 | 1 a second | 65,536 | 4,000 a second | 1,000,000 |
//! | success, for another text or number | 4,096 | 1 in 10 s | 4,096 | 1,000 a second | 500,000 |
//! | any other | 1,024 | 1 in 10 s | 1,024 | 200 a second | 250,000 |
//!
//! A path with an id succeeds only if this id exists, so there are not many more such paths than posts and members: all
//! paths of a site with 50,000 posts are stored on its first day. An answer with status 200 whose `result` is a failure
//! is not a success. A topic's name succeeds even if no post has the topic, and a client can make up any number of them.
//! Refused requests fill at most a quarter of the table, so that there is always room for the others.

use super::{LoggedAnswer, Operation, sql};
use crate::analysis::gcra::{Gcra, GcraState};
use crate::answer::SUCCESS;
use crate::clock::{SECOND_MS, Timestamp};
use crate::keyed::OwnMap;
use crate::store::{StoreError, Tx};

/// The interval between two counts of the table's rows; in between, inserted rows are added.
const COUNT_MS: i64 = 10 * 60 * SECOND_MS;

/// The kind of answer to a request, which determines how many such requests can exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnswerKind {
    /// Success, for the id of an existing post or member.
    Id,
    /// Success, for any other text or number.
    Text,
    /// Any other answer.
    Refused,
}

/// The limits for one kind of answer.
struct Bounds {
    new: Gcra,
    lookups: Gcra,
    /// New paths are stored only while the table has fewer rows.
    rows: i64,
}

impl AnswerKind {
    pub(super) fn of(operation: Operation, answer: LoggedAnswer) -> Self {
        match answer.status {
            // An unchanged resource (304) also exists.
            200..=399 if answer.result == SUCCESS && operation.has_id => Self::Id,
            200..=399 if answer.result == SUCCESS => Self::Text,
            _ => Self::Refused,
        }
    }

    const fn bounds(self) -> Bounds {
        match self {
            Self::Id => Bounds {
                new: Gcra::per_second(65_536, 1),
                lookups: Gcra::per_second(65_536, 4_000),
                rows: 1_000_000,
            },
            Self::Text => Bounds {
                new: Gcra::one_in(4_096, 10),
                lookups: Gcra::per_second(4_096, 1_000),
                rows: 500_000,
            },
            Self::Refused => {
                Bounds { new: Gcra::one_in(1_024, 10), lookups: Gcra::per_second(1_024, 200), rows: 250_000 }
            }
        }
    }
}

/// The state of the limits.
#[derive(Clone, Default)]
pub(super) struct Budget {
    /// By template, for all methods together, because clients choose the method.
    usage: OwnMap<(&'static str, AnswerKind), Usage>,
    rows: Option<Rows>,
    unlimited: bool,
}

#[derive(Clone, Default)]
struct Usage {
    new: GcraState,
    lookups: GcraState,
}

/// The number of rows of the table.
#[derive(Clone)]
struct Rows {
    count: i64,
    counted_at: Timestamp,
}

impl Budget {
    /// Creates a budget without limits.
    #[cfg(feature = "demo")]
    pub(super) fn unlimited() -> Self {
        Self { unlimited: true, ..Self::default() }
    }

    /// Charges a lookup of a path and returns whether it is allowed.
    pub(super) fn may_look_up(&mut self, template: &'static str, kind: AnswerKind, at: Timestamp) -> bool {
        let usage = self.usage.entry((template, kind)).or_default();
        self.unlimited || kind.bounds().lookups.take(&mut usage.lookups, at)
    }

    /// Charges a new path and returns whether it may be stored.
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
        let is_allowed = new.take(&mut usage.new, at);
        if is_allowed && let Some(rows) = &mut self.rows {
            rows.count += 1;
        }
        Ok(is_allowed)
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

    /// Returns how many of `of` new paths are stored at this time.
    fn stored(
        service: &Service,
        budget: &mut Budget,
        request: (&'static str, u16),
        at: Timestamp,
        of: usize,
    ) -> usize {
        let (template, status) = request;
        let kind = AnswerKind::of(Operation::new("GET", template), LoggedAnswer { status, result: SUCCESS });
        let read = service.store().read(|tx| {
            let mut stored = 0;
            for _ in 0..of {
                stored += usize::from(
                    budget.may_look_up(template, kind, at) && budget.may_insert(tx, template, kind, at)?,
                );
            }
            Ok::<_, StoreError>(stored)
        });
        read.unwrap()
    }

    #[test]
    fn a_large_site_stores_all_paths_on_its_first_day_but_few_made_up_ones() {
        let (service, mut budget) = (service(), Budget::default());
        let mut stored = |request, at, of| stored(&service, &mut budget, request, at, of);
        assert_eq!(stored((TOPIC, 200), NOW, 100_000), 4_096);
        assert_eq!(stored((POST, 404), NOW, 100_000), 1_024);
        assert_eq!(stored((POST, 200), NOW, 50_000), 50_000);
        assert_eq!(stored(("/post_like/{post_obi}", 200), NOW, 50_000), 50_000);
        assert_eq!(stored(("/get_log_user/{user_id}/{limit}", 200), NOW, 20_000), 20_000);
        // A flood that lasts all day.
        let day: usize = (1..=86_400).map(|second| stored((TOPIC, 200), NOW + second * SECOND_MS, 10)).sum();
        assert_eq!(day, 8_640);
    }

    #[test]
    fn refused_requests_never_fill_the_table() {
        let (service, mut budget) = (service(), Budget::default());
        let mut at_rows = |count| {
            budget.rows = Some(Rows { count, counted_at: NOW });
            [(POST, 404), (TOPIC, 200), (POST, 200)]
                .map(|request| stored(&service, &mut budget, request, NOW, 1))
        };
        assert_eq!(at_rows(249_999), [1, 1, 1]);
        assert_eq!(at_rows(250_000), [0, 1, 1]);
        assert_eq!(at_rows(500_000), [0, 0, 1]);
        assert_eq!(at_rows(1_000_000), [0, 0, 0]);
        // The rows are counted again, and there are fewer.
        assert_eq!(stored(&service, &mut budget, (POST, 404), NOW + COUNT_MS, 1), 1);
    }
}
