//! The `next` of a page of results: how a caller continues a search.

use std::hash::{Hash as _, Hasher as _};

use crate::base::keyed::Unkeyed;
use crate::post::index;
use crate::record::error::{Error, Problem, Result};

/// The number of best results that pages show.
#[expect(clippy::cast_possible_wrap, reason = "a few thousand")]
pub const RESULTS_MAX: i64 = index::RESULTS_MAX as i64;

const NEXT_RULE: Problem = Problem::invalid("next", "next is not from a previous page of this search");

pub(super) struct Page {
    offset: i64,
    num: i64,
    /// A hash of the search, so that a `next` continues no other search. Two searches with the same hash would continue each
    /// other, which does no harm. `None` without a `next`.
    search: Option<u64>,
}

impl Page {
    /// Refuses a `next` that is not from a page of this search. A page has a `next` if `paged`, or after another one.
    pub(super) fn of(
        (paged, next): (bool, Option<&str>),
        search: &str,
        category: Option<&str>,
        num: i64,
    ) -> Result<Self> {
        let mut hasher = Unkeyed::default();
        (search, category).hash(&mut hasher);
        let hash = hasher.finish();
        let offset = next.map_or(Some(0), |next| offset(next, hash)).ok_or(Error::BadRequest(NEXT_RULE))?;
        Ok(Self { offset, num, search: (paged || next.is_some()).then_some(hash) })
    }

    /// One more than the page shows, to know whether it is the last.
    pub(super) fn needed(&self) -> usize {
        let needed = match self.search {
            Some(_) => (self.offset + self.num + 1).min(RESULTS_MAX),
            None => self.num,
        };
        usize::try_from(needed).unwrap_or_default()
    }

    /// Reduces the needed results to those of the page. Returns the `next`, if the caller wants one.
    #[expect(clippy::option_option, reason = "a caller may want no `next`, and the last page has none")]
    pub(super) fn cut<T>(&self, results: &mut Vec<T>) -> Option<Option<String>> {
        let hash = self.search?;
        let count = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
        let (end, is_last) = (self.offset + self.num, results.len() <= count(self.offset + self.num));
        results.truncate(count(end));
        results.drain(..count(self.offset).min(results.len()));
        Some((!is_last).then(|| format!("{hash:016x}{end:03x}")))
    }
}

/// The number of results before the page that a `next` continues with; `None` for a `next` of another search.
fn offset(next: &str, search: u64) -> Option<i64> {
    let place = next.strip_prefix(&format!("{search:016x}"))?;
    let is_plain = place.len() == 3 && place.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    i64::from_str_radix(place, 16).ok().filter(|place| is_plain && (1..RESULTS_MAX).contains(place))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pages_show_every_result_once_in_order(count in 0_i64..400, num in 1_i64..50, other: u64) {
            let (mut shown, mut next) = (Vec::new(), None::<String>);
            loop {
                let page = Page::of((true, next.as_deref()), "whales", Some("sea"), num).unwrap();
                let mut results: Vec<i64> = (0..count.min(i64::try_from(page.needed()).unwrap())).collect();
                next = page.cut(&mut results).unwrap();
                shown.extend(results);
                let Some(next) = &next else { break };
                prop_assert!(Page::of((false, Some(next)), "whales", None, num).is_err());
                prop_assert!(offset(next, other).is_none());
            }
            prop_assert_eq!(shown, (0..count).collect::<Vec<_>>());
        }

        #[test]
        fn an_invented_next_is_refused(text in "[0-9a-fA-F+ é]{0,22}", place in 3_000..0xfff_i64) {
            prop_assert!(Page::of((false, Some(&text)), "whales", None, 1).is_err());
            let first = Page::of((true, None), "whales", None, 1).unwrap();
            let next = first.cut(&mut vec![0, 1]).unwrap().unwrap();
            let beyond = format!("{}{place:03x}", &next[..16]);
            prop_assert!(Page::of((false, Some(&beyond)), "whales", None, 1).is_err());
        }
    }
}
