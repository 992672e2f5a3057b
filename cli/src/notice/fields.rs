//! The fields of a notice that the commands share, as arguments.

use clap::Args;
use tidings_core::notice::{Audience, Draft, Pin};

use crate::complete::{Kind, ids};
use crate::output::typed_time;

/// When, where and to whom a notice is visible.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Placing {
    /// The time from which it is visible, such as "2026-12-05 09:00" or 2026-12-05, in the zone of the database; empty for no limit
    #[arg(long, value_name = "D")]
    from: Option<String>,
    /// The time from which it is no longer visible; empty for no limit
    #[arg(long, value_name = "D")]
    until: Option<String>,
    /// List it before the others
    #[arg(long, conflicts_with = "unpinned")]
    pinned: bool,
    /// List it in the order of dates
    #[arg(long)]
    unpinned: bool,
    /// Show it to members only
    #[arg(long, conflicts_with = "for_everyone")]
    members_only: bool,
    /// Show it to guests too
    #[arg(long)]
    for_everyone: bool,
    /// The topic on whose page it is; empty for the general page
    #[arg(long, value_name = "T", allow_hyphen_values = true, add = ids(Kind::Topic))]
    topic: Option<String>,
}

impl Placing {
    pub(super) fn draft(&self) -> Draft {
        let pin = |is_given: bool, pin: Pin| is_given.then(|| pin.activation());
        let audience = |is_given: bool, audience: Audience| is_given.then(|| audience.activation());
        Draft {
            visible_from: self.from.as_deref().map(typed_time),
            visible_until: self.until.as_deref().map(typed_time),
            pinned: pin(self.pinned, Pin::Pinned).or(pin(self.unpinned, Pin::Unpinned)),
            topic: self.topic.clone(),
            members_only: audience(self.members_only, Audience::Members)
                .or(audience(self.for_everyone, Audience::Everyone)),
            ..Draft::default()
        }
    }
}
