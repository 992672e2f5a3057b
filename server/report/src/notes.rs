//! Notes on each figure of a report: which requests it counts and which it leaves out.

use tidings_core::analysis::POSTS_READ;

use crate::format::number;

pub(crate) const DAYS: &str = "A visitor is a member or a guest, counted once a day. A guest is recognised for one day \
    only, so a guest who returns the next day, or who stays past midnight, counts on both days; the sum of the days \
    counts a person once for each day. A visit ends after 30 minutes without a request, and at midnight. Declared \
    crawlers are neither visitors nor visits. Views and searches count every act, also those of crawlers; a like that is \
    taken back still counts.";

pub(crate) const HOURS: &str = "The average number of visitors in an hour of a weekday. A visitor counts in every hour \
    with a request. Declared crawlers are left out. When clocks change, an hour that occurs twice counts as one, and an \
    hour that is skipped has no visitors.";

pub(crate) const TERMS: &str = "Searches that apps reported in the last 24 hours, at most ten terms: earlier terms are \
    not kept. For each term, a visitor counts once an hour and five times at most, and the guests of one network count \
    100 times at most. Left out are the searches of declared crawlers, blocked terms, and terms of too few visitors for \
    the settings of this service.";

/// Shown instead of terms if the period ends before today.
pub(crate) const NO_TERMS: &str =
    "Terms are kept for 24 hours only, so a report has them only if its last day is today.";

pub(crate) const DEVICES: &str = "What apps reported on these days. An app may report a device more than once, and not \
    every app reports, so these are not numbers of visitors.";

pub(crate) const POSTS: &str = "The posts with a date in the period that have the most views, at most ten. Views and \
    likes are those until now, not only those of the period, because they are kept for each post and not for each day. \
    Views count every act, also those of crawlers; likes that were taken back, and removed posts, are left out.";

pub(crate) fn topics(posts: i64) -> String {
    let read = if posts >= POSTS_READ {
        format!("the newest {} posts", number(POSTS_READ))
    } else {
        match posts {
            1 => "1 post".to_owned(),
            n => format!("{} posts", number(n)),
        }
    };
    format!(
        "The topics of {read} with a date in the period: the ten with the most posts. A post with several topics counts \
         in each of them. Views and likes are those until now, also after the period. Removed posts are left out."
    )
}
