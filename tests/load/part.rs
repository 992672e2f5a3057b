//! The parts of a run: each measures one line of the table of targets and gives its rows.

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
mod reads;
mod sign_in;
mod words;

/// Clients of the parts that ask for what everybody may read.
const MANY: usize = 64;
/// Clients of the parts in which the time to an answer matters.
const FEW: usize = 8;

/// What can be measured by itself.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Part {
    /// The popular, recommended and topic feed of guests
    Feeds,
    /// All notices, and one
    Notices,
    /// `get_userinfo` with a token
    Userinfo,
    /// The recommended feed of members with a history
    MemberFeed,
    /// Likes, each on disk when answered
    PostLike,
    /// Signing in, alone and beside feeds
    SignIn,
    /// What analytics report, read while nothing changes
    Analytics,
    /// Guest feeds with access log and counters, against the same without
    Counting,
    /// Similar words of three tokens, in a large word model
    SimilarWords,
    /// Importing posts, over HTTP and by command
    Import,
    /// From start to the first answer, and the memory used then
    Start,
}

/// What the parts share.
pub(crate) struct Bench {
    pub(crate) program: Program,
    pub(crate) posts: usize,
    turns: Turns,
    world: OnceCell<World>,
}

impl Bench {
    pub(crate) fn new(program: Program, posts: usize, turns: Turns) -> Self {
        Self { program, posts, turns, world: OnceCell::new() }
    }

    /// The served database that parts measure against, made when it is first needed.
    fn world(&self) -> Result<&World> {
        if let Some(world) = self.world.get() {
            return Ok(world);
        }
        let world = World::start(&self.program, self.posts)?;
        Ok(self.world.get_or_init(|| world))
    }

    pub(crate) fn measure(&mut self, part: Part) -> Result<Vec<Row>> {
        match part {
            Part::Feeds => reads::feeds(self.world()?, &self.turns),
            Part::Notices => reads::notices(self.world()?, &self.turns),
            Part::Userinfo => reads::userinfo(self.world()?, &self.turns),
            Part::MemberFeed => acts::member_feed(self.world()?, &self.turns),
            Part::PostLike => {
                let bare_database = self.program.directory.join("bare.db");
                acts::post_like(self.world()?, &self.turns, &bare_database)
            }
            Part::SignIn => sign_in::sign_in(self.world()?, &self.turns),
            Part::Analytics => analytics::reports(self.world()?, &self.turns),
            // Nothing else shall run beside these, and none of the parts before comes after them.
            Part::Counting | Part::SimilarWords | Part::Import | Part::Start => {
                self.world.take();
                let alone = match part {
                    Part::Counting => analytics::counting,
                    Part::SimilarWords => words::similar,
                    Part::Import => bulk::import,
                    _ => bulk::start,
                };
                alone(&self.program, &self.turns, self.posts)
            }
        }
    }

    /// How many turns were disturbed by other programs since this was last asked.
    pub(crate) fn take_disturbed(&self) -> u32 {
        self.turns.take_disturbed()
    }
}
