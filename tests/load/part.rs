//! The parts of the benchmark: each measures one subject and returns its rows.

use std::cell::OnceCell;

use clap::ValueEnum;

use crate::Result;
use crate::measure::Turns;
use crate::program::Program;
use crate::table::Row;
use crate::world::World;

mod acts;
mod analytics;
mod bulk;
mod events;
mod history;
mod mixed;
mod reads;
mod records;
mod sign_in;
mod words;

/// The number of clients in parts that read public data.
const MANY: usize = 64;
/// The number of clients in parts that measure latency.
const FEW: usize = 8;

/// A part that can be measured by itself.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Part {
    /// The popular and recommended feeds of guests
    Feeds,
    /// A feed, notices and the search trends that the client already has, answered with 304
    Unchanged,
    /// The list of notices, and one notice
    Notices,
    /// `get_userinfo` with a token
    Userinfo,
    /// The recommended feed of members with a history
    MemberFeed,
    /// The lists and feeds of members with 300 views, 300 likes and 300 searches
    History,
    /// Searches for two frequent words
    Searches,
    /// Likes, each synced to disk before the response
    PostLike,
    /// Signing in, alone and while feeds are read
    SignIn,
    /// The analytics reports, read while nothing changes
    Analytics,
    /// Feeds, likes, views, searches and lists of 24 members with a history, alone and beside imports: the slowest responses
    /// and the largest write-ahead log
    Mixed,
    /// Records: insert one, read one, list 30; the part `sign_in` measures signing in
    Records,
    /// Guest feeds with access log and counters, compared with feeds without them
    Counting,
    /// Words similar to three tokens, in a large word model
    SimilarWords,
    /// Importing posts, over HTTP and on the command line, members and acts
    Import,
    /// The memory of 10,000 streams of live events
    Events,
    /// The time from start to the first response, and the memory used then
    Start,
}

/// The state that the parts share.
pub(crate) struct Bench {
    program: Program,
    posts: usize,
    turns: Turns,
    world: OnceCell<World>,
}

impl Bench {
    pub(crate) fn new(program: Program, posts: usize, turns: Turns) -> Self {
        Self { program, posts, turns, world: OnceCell::new() }
    }

    /// Returns the server that parts measure, and starts it on first use.
    fn world(&self) -> Result<&World> {
        if let Some(world) = self.world.get() {
            return Ok(world);
        }
        let world = World::start(&self.program, self.posts)?;
        Ok(self.world.get_or_init(|| world))
    }

    pub(crate) fn measure(&mut self, part: Part) -> Result<Vec<Row>> {
        let (turns, posts) = (self.turns, self.posts);
        match part {
            Part::Feeds => reads::feeds(self.world()?, turns),
            Part::Unchanged => reads::unchanged(self.world()?, turns),
            Part::Notices => reads::notices(self.world()?, turns),
            Part::Userinfo => reads::userinfo(self.world()?, turns),
            Part::MemberFeed => acts::member_feed(self.world()?, turns),
            Part::History => history::history(self.world()?, turns),
            Part::Searches => history::searches(self.world()?, turns, posts),
            Part::PostLike => acts::post_like(self.world()?, turns, &self.program.file("bare.db")),
            Part::SignIn => sign_in::sign_in(self.world()?, turns),
            Part::Analytics => analytics::reports(self.world()?, turns),
            Part::Mixed => mixed::mixed(self.world()?, turns),
            // The last part that uses the shared server, because it changes the notices.
            Part::Records => records::records(self.world()?, turns, &self.program.file("bare-records.db")),
            // These parts run without the shared server; all parts that need it come before them.
            Part::Counting | Part::SimilarWords | Part::Import | Part::Events | Part::Start => {
                self.world.take();
                match part {
                    Part::Counting => analytics::counting(&self.program, turns, posts),
                    Part::SimilarWords => words::similar(&self.program, turns, posts),
                    Part::Import => bulk::import(&self.program, turns, posts),
                    Part::Events => events::events(&self.program),
                    _ => bulk::start(&self.program, posts),
                }
            }
        }
    }
}
