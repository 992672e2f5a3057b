use clap::value_parser;
use tidings_core::Error;
use tidings_core::demo::{self, DAYS_MAX, MEMBERS_MAX, PASSWORD, POSTS_MAX, Size};

use crate::database;
use crate::prelude::*;
use crate::progress::Watch;

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

pub(crate) fn run(session: &Session, args: &Demo) -> Exit {
    let &Demo { seed, members, posts, days } = args;
    let then = "the data is incomplete; remove the database and start again";
    let (tidings, caller) = session.database()?;
    let watch = Watch::towards(Some(days.into()), "days", then);
    let size = Size { seed, members, posts, days };
    let made = demo::make(tidings, caller, size, &mut |done| watch.told(done));
    let made = made.map_err(|error| match error {
        Error::BadRequest(why) => {
            Failure::refused(&error.into(), format!("{}; name a new database with --db", why.message()))
        }
        error => error.into(),
    })?;
    let tidings = database::next_command(tidings.location());
    watch.answer(&session.out, &made, |page| describe(page, &made, days, &tidings))
}

fn describe(page: &mut Page, made: &demo::Demo, days: u32, tidings: &str) {
    let keen = &made.keen;
    let [members, posts, acts] = [made.members, made.posts, made.acts].map(number);
    page.line(format!("{members} members, {posts} posts and {acts} acts in {days} days, all made up."));
    page.line("");
    page.line("Look at it:");
    for command in [
        "analysis days 7",
        "search similar telescope",
        &format!("--as {keen} feed recommended --why --limit 5"),
        "tui",
    ] {
        page.line(format!("  {tidings} {command}"));
    }
    page.line("Serve it, and open http://127.0.0.1:8080/docs:");
    page.line(format!("  {tidings} serve"));
    page.line(format!(
        "Sign in as {keen}, who reads a lot. All members have the same password, {PASSWORD:?}."
    ));
    page.line("Make an administrator:");
    page.line(format!("  {tidings} init --admin ID"));
}
