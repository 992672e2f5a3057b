//! Posts: import, start, search and feeds.

use std::thread::sleep;
use std::time::Duration;

use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::import::to_the_end;
use tidings_core::newsfeed::{self, Page};
use tidings_core::post;
use tidings_core::search::{Find, FindInCategory, PostPage};

use super::Range;
use crate::data::{self, TOPICS};
use crate::table::Growth::{Flat, NLogN};
use crate::table::Report;
use crate::world::{World, ann, insert_post, like_and_feed};
use crate::{Result, cost};

const PART: &str = "posts";
const CHUNK: u64 = 20_000;
const POLL: Duration = Duration::from_millis(20);

/// `posts` are those that are not imported yet.
pub(super) fn measure(
    world: &World,
    posts: &mut data::Posts,
    rows: Range,
    report: &mut Report,
) -> Result<()> {
    let mut add = |what, growth, cost| report.add(PART, what, growth, cost);
    let (tidings, mut taken, mut rest) = (world.open()?, Duration::ZERO, rows.size - rows.before);
    while rest > 0 {
        let lines = posts.lines(usize::try_from(rest.min(CHUNK))?);
        let (done, cost) =
            cost::once(|| post::import(&tidings, &Caller::Operator, lines.as_bytes(), &mut to_the_end));
        done?;
        taken += cost;
        rest -= rest.min(CHUNK);
    }
    add("import, per post", Flat, Some(taken / u32::try_from(rows.size - rows.before)?));
    drop(tidings);

    let first = Page::default();
    let (tidings, starting) = cost::once(|| -> Result<Tidings> {
        let tidings = world.start()?;
        newsfeed::popular(&tidings, &first)?;
        Ok(tidings)
    });
    let tidings = tidings?;
    add("start, to the first feed", NLogN, Some(starting));

    let name = format!("zyx{}", rows.size);
    let (id, following) = cost::once(|| -> Result<String> {
        let id = insert_post(&tidings, &name, &name)?;
        while newsfeed::topic(&tidings, &Caller::Guest, &name, &first)?.posts().next().is_none() {
            sleep(POLL);
        }
        Ok(id)
    });
    let id = id?;
    add("a new post until feeds show it", NLogN, Some(following));

    let page = PostPage::default();
    let find = |search: &str| Find { num: 10, search: search.into(), page: page.clone() };
    add("search for a word of one post", Flat, cost::each(|| tidings.call(&Caller::Guest, find(&name))));
    let common = data::word(1);
    add("search for a common word", Flat, cost::each(|| tidings.call(&Caller::Guest, find(&common))));
    let topic = TOPICS[0];
    let find_in_topic = || {
        let (category_name, search) = (topic.into(), common.clone());
        tidings.call(&Caller::Guest, FindInCategory { category_name, num: 10, search, page: page.clone() })
    };
    add("the same within a topic", Flat, cost::each(find_in_topic));
    add("get_post", Flat, cost::each(|| tidings.call(&Caller::Guest, post::Get { post_obi: id.clone() })));
    add("popular feed", Flat, cost::each(|| newsfeed::popular(&tidings, &first)));
    add("topic feed", Flat, cost::each(|| newsfeed::topic(&tidings, &Caller::Guest, topic, &first)));
    for post in newsfeed::popular(&tidings, &Page { limit: Some(30), ..first })?.posts() {
        post::view(&tidings, &ann(), &post.id).wait()?;
    }
    add("a like and the member's feed after it", NLogN, cost::each(like_and_feed(&tidings, &id)));
    drop(tidings);

    // Without the feeds, whose update would be part of the cost.
    let tidings = world.open()?;
    let mut count = 0;
    let insert = || {
        count += 1;
        insert_post(&tidings, &format!("{name}-{count}"), topic)
    };
    add("insert_post", Flat, cost::each(insert));
    Ok(())
}
