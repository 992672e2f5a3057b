//! The parts of the benchmark.

use clap::ValueEnum;

use crate::Result;
use crate::data;
use crate::table::Report;
use crate::world::World;

mod feedback;
mod likes;
mod log;
mod members;
mod notices;
mod posts;
mod removal;

/// A part that can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Import, start, search and feeds
    Posts,
    /// Sign-in and the lists of members
    Members,
    /// The likes of one member
    Likes,
    /// Notices, at most 100,000
    Notices,
    /// Sending and listing feedback
    Feedback,
    /// The queries of the access log
    Log,
    /// The removal of a member with many acts
    Removal,
}

impl Part {
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Fills a database from size to size, and measures each.
    pub(crate) fn measure(self, world: &World, report: &mut Report) -> Result<()> {
        let mut posts = data::Posts::new();
        let mut before = 0;
        for size in report.sizes.clone() {
            eprintln!("{}, {size} rows", self.name());
            let rows = Range { before, size };
            match self {
                Self::Posts => posts::measure(world, &mut posts, rows, report),
                Self::Members => members::measure(world, rows, report),
                Self::Likes => likes::measure(world, rows, report),
                Self::Notices if size > notices::MAX => Ok(()),
                Self::Notices => notices::measure(world, rows, report),
                Self::Feedback => feedback::measure(world, rows, report),
                Self::Log => log::measure(world, rows, report),
                Self::Removal => removal::measure(world, rows, report),
            }?;
            before = size;
        }
        Ok(())
    }
}

/// The rows to insert before a measurement.
#[derive(Clone, Copy)]
struct Range {
    /// The number of rows at the previous size.
    before: u64,
    /// The number of rows at this size.
    size: u64,
}
