//! Demo data: fictitious members and posts, and their acts over some weeks, for trying out feeds and reports. The data depends on
//! a seed and on the current time, at which it ends: the same seed and time give the same members, posts, acts and figures. It is
//! written like imported data: the acts by the import of acts ([`crate::transfer::act`]), the requests with their past times.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde::Serialize;

use crate::account::{self, Admin, Caller};
use crate::analysis::backfill;
use crate::analysis::calendar::Calendar;
use crate::analysis::counters::Counter;
use crate::import::{Kind, Progress, to_the_end};
use crate::post::PostStats;
use crate::record::error::{Code, Error, Problem, Result};
use crate::store::{Isolation, Tx};
use crate::transfer::act::ActImport;
use crate::transfer::member_import;
use crate::{Tidings, feedback, main_info, notice, post, words};

#[cfg(test)]
mod tests;
mod texts;
mod traffic;
mod world;

use texts::TEXTS;
use traffic::{Guest, Script, Traffic};
use world::World;

/// The maximum number of members.
pub const MEMBERS_MAX: u32 = 10_000;
/// The maximum number of posts.
pub const POSTS_MAX: u32 = 100_000;
/// The maximum number of days.
pub const DAYS_MAX: u32 = 366;

/// The password of all members of the demo data.
pub const PASSWORD: &str = "made-up member";

const RULE: Problem =
    Problem::new(Code::InvalidValue, "demo data has 1 to 10000 members, 1 to 100000 posts and 1 to 366 days");
const IN_USE: Problem =
    Problem::new(Code::NotPossible, "the database has posts, or members other than administrators");

/// The amount of demo data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The seed; different seeds give different data.
    pub seed: u64,
    /// The number of members, 1 to 10,000.
    pub members: u32,
    /// The number of posts, 1 to 100,000.
    pub posts: u32,
    /// The number of days of traffic, including the current day, 1 to 366.
    pub days: u32,
}

impl Default for Size {
    fn default() -> Self {
        Self { seed: 1, members: 200, posts: 600, days: 30 }
    }
}

/// The demo data that was made.
#[derive(Debug, Serialize)]
pub struct Demo {
    /// The number of members.
    pub members: u64,
    /// The number of posts.
    pub posts: u64,
    /// The number of views, likes, searches and opened newsfeeds.
    pub acts: u64,
    /// The id of an active member with a liked post, whose password is [`PASSWORD`].
    #[serde(skip)]
    pub keen: String,
}

/// Makes demo data in a database without posts and without members other than administrators. The administrators
/// remain; no member of the demo data is one. `progress` receives the number of finished days, and can cancel.
///
/// # Errors
/// `bad token`, `Not admin`; `bad request` for a size out of its bounds, and for a database that is in use.
pub fn make(tidings: &Tidings, caller: &Caller, size: Size, progress: Progress<'_>) -> Result<Demo> {
    let identity = caller.identify(tidings);
    let within = |n: u32, max| (1..=max).contains(&n);
    tidings.store().read(|tx| {
        identity.administrator(tx).map(drop)?;
        let Size { members, posts, days, .. } = size;
        if !(within(members, MEMBERS_MAX) && within(posts, POSTS_MAX) && within(days, DAYS_MAX)) {
            return Err(Error::BadRequest(RULE));
        }
        if sql::is_in_use(tx)? { Err(Error::BadRequest(IN_USE)) } else { Ok(()) }
    })?;
    let calendar = Arc::clone(&tidings.analysis().calendar);
    let hash = tidings.account().hasher.hash(PASSWORD)?;
    let mut world = World::new(size, tidings.now(), &calendar.local_time(), &hash);
    let lines: String = world.posts.iter().map(|post| &*post.line).collect();
    let posts = post::import(tidings, caller, lines.as_bytes(), &mut to_the_end)?.inserted;
    let lines: String = world.people.iter().map(|person| &*person.line).collect();
    let members = member_import::import_members(tidings, caller, lines.as_bytes(), &mut to_the_end)?.inserted;
    for person in &mut world.people {
        let found = tidings.store().read(|tx| account::find(tx, &person.id))?;
        person.key = found.map(|member| member.key);
    }
    announce(tidings, caller, &world)?;

    let keen = world.people[0].id.clone();
    let mut demo = Demo { members, posts, acts: 0, keen };
    let mut traffic = Traffic::new(tidings, world);
    let acts = Arc::new(ActImport::new(tidings));
    for (done, day) in (1..).zip(traffic.days()) {
        let mut script = traffic.day(day)?;
        script.requests.sort_by_key(|request| request.at);
        script.acts = acts.arranged(script.acts);
        let (acts, calendar) = (Arc::clone(&acts), Arc::clone(&calendar));
        let identity = identity.clone();
        demo.acts += tidings.store().write_long(Isolation::Alone, move |tx| {
            let admin = identity.administrator(tx)?;
            perform(tx, &admin, &calendar, &acts, &script)
        })?;
        if let ControlFlow::Break(()) = progress(done) {
            return Ok(demo);
        }
    }
    match words::learn(tidings, &mut |_| ()) {
        // A server that has the database open learns the words itself.
        Ok(_) | Err(Error::Overloaded) => Ok(demo),
        Err(error) => Err(error),
    }
}

/// The requests and acts are in the order in which they are written. Returns the number of acts.
fn perform(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    calendar: &Calendar,
    acts: &ActImport,
    script: &Script,
) -> Result<u64> {
    backfill::write(tx, admin, calendar, &script.requests)?;
    let mut done = acts.write_all(tx, admin, &script.acts)?;
    for (at, guest) in &script.guests {
        let at = *at;
        match guest {
            Guest::Views(url) => {
                let Some(mut stats) = PostStats::of_url(tx, url)? else { continue };
                stats.view(Some(at));
                PostStats::update_each(tx, vec![(stats, acts.clock.now())])?;
                calendar.count(tx, Counter::View, at)?;
            }
            Guest::Searches { search, visitor, lately } => {
                if *lately {
                    search.count_term(tx, *visitor, at)?;
                }
                calendar.count(tx, Counter::Search, at)?;
            }
        }
        done += 1;
    }
    for (at, device) in &script.devices {
        calendar.count(tx, *device, *at)?;
    }
    Ok(done)
}

/// Evenly over the days. Also sets the two lines of the front page.
fn announce(tidings: &Tidings, caller: &Caller, world: &World) -> Result<()> {
    let count = |number| i64::try_from(number).unwrap_or(i64::MAX);
    let (begins, span, readers) = (world.begins, world.now - world.begins, count(world.people.len()));
    let authors = world.people.iter().cycle().zip(&TEXTS.feedback);
    let authors: Vec<String> = authors.map(|(person, _)| person.id.clone()).collect();
    let identity = caller.identify(tidings);
    tidings.store().write_long(Isolation::Alone, move |tx| {
        let admin = identity.administrator(tx)?;
        let all = count(TEXTS.notices.len());
        for ((title, post, is_shown), n) in TEXTS.notices.iter().zip(0..) {
            let (is_shown, date) = (*is_shown, begins + span * n / all);
            let view = if is_shown { readers * (all - n) / all } else { 0 };
            let demo = notice::DemoNotice { id: world::id(date, n, 1), title, post, is_shown, view, date };
            notice::insert_demo(tx, &admin, &demo)?;
        }
        let all = count(authors.len());
        for (((kind, text), author), n) in TEXTS.feedback.iter().zip(&authors).zip(0..) {
            let (author, date) =
                (account::find(tx, author)?.ok_or(Error::NotFound)?, begins + span * (n + 1) / (all + 1));
            feedback::insert(tx, &admin.act_for(author), world::id(date, n, 2), (kind, text), "", date)?;
        }
        Ok::<_, Error>(())
    })?;
    let lines = main_info::Draft {
        new_info_1: Some("Everybody here is made up".to_owned()),
        new_info_2: Some("둘러보세요!".to_owned()),
    };
    tidings.call(caller, main_info::Update { draft: lines })
}

mod sql {
    use super::Tx;
    use crate::store::StoreError;

    pub(super) fn is_in_use(tx: &mut dyn Tx) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM post) OR EXISTS (SELECT 1 FROM member WHERE admin IS NULL)";
        tx.one(sql, &[])?.take(0)
    }
}
