//! `tidings demo`: generates data to try tidings out.

use std::process::ExitCode;

use clap::{Args, value_parser};
use tidings_core::Error;
use tidings_core::demo::{self, DAYS_MAX, MEMBERS_MAX, PASSWORD, POSTS_MAX, Size};
use tidings_tui::number::number;

use crate::failure::Failure;
use crate::output::Page;
use crate::progress::Watch;
use crate::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The seed of the generator; the same seed generates the same data
    #[arg(long, value_name = "N", default_value_t = Size::default().seed)]
    seed: u64,
    /// Members, 1 to 10000
    #[arg(long, value_name = "N", default_value_t = Size::default().members)]
    #[arg(value_parser = value_parser!(u32).range(1..=i64::from(MEMBERS_MAX)))]
    members: u32,
    /// Posts, 1 to 100000
    #[arg(long, value_name = "N", default_value_t = Size::default().posts)]
    #[arg(value_parser = value_parser!(u32).range(1..=i64::from(POSTS_MAX)))]
    posts: u32,
    /// Days of traffic up to now, 1 to 366
    #[arg(long, value_name = "N", default_value_t = Size::default().days)]
    #[arg(value_parser = value_parser!(u32).range(1..=i64::from(DAYS_MAX)))]
    days: u32,
}

pub(crate) fn run(session: &Session, args: &Demo) -> Result<ExitCode, Failure> {
    let &Demo { seed, members, posts, days } = args;
    let then = "the data is incomplete; remove the database and start again";
    let (tidings, caller) = session.database()?;
    let watch = Watch::towards(days.into(), "days", then);
    let size = Size { seed, members, posts, days };
    let made = demo::make(tidings, caller, size, &mut |done| watch.told(done));
    let made = made.map_err(|error| match error {
        Error::BadRequest(why) => {
            Failure::refused(&error.into(), format!("{}; name a new file, as --db demo.db", why.message()))
        }
        error => error.into(),
    })?;
    watch.answer(&session.out, &made, |page| describe(page, &made, days))
}

fn describe(page: &mut Page, made: &demo::Demo, days: u32) {
    let [members, posts, acts] = [made.members, made.posts, made.acts].map(number);
    page.line(format!("{members} members, {posts} posts and {acts} acts in {days} days, all made up."));
    page.line("");
    page.line("Try:");
    for command in ["tidings analysis days 7", "tidings search realtime", "tidings search similar telescope"]
    {
        page.line(format!("  {command}"));
    }
    page.line(
        "Or start the server and sign in as a member who reads a lot; all members have the same password:",
    );
    page.line("  tidings serve");
    page.line(format!("  id {}, password {PASSWORD:?}", made.keen));
    page.line("Make a member an administrator:");
    page.line("  tidings init --admin ID");
}
