//! Tests of what makes an entry the same entry, and of how many entries become posts.

use super::*;
use crate::base::clock::DAY_MS;

fn rss(items: &[String]) -> String {
    let items = items.concat();
    format!("<rss><channel><title>Site</title><link>http://site.example/</link>{items}</channel></rss>")
}

fn item(title: &str, link: &str, more: &str) -> String {
    format!("<item><title>{title}</title><link>{link}</link>{more}</item>")
}

fn guid(id: &str) -> String {
    format!("<guid isPermaLink=\"false\">{id}</guid>")
}

fn date(day: u32) -> String {
    format!("<pubDate>2026-11-{day:02}</pubDate>")
}

struct Feed {
    service: Service,
    site: Site,
    id: String,
}

impl Feed {
    fn start() -> Self {
        let (service, site) = (reading(), Site::start());
        let id = add(&service, &site.url("/feed"));
        Self { service, site, id }
    }

    fn gives(&self, items: &[String]) -> Fetched {
        self.site.gives("/feed", &rss(items));
        fetch(&self.service, &self.id)
    }

    /// Returns the titles and addresses of all posts, in order of their titles.
    fn posts(&self) -> Vec<String> {
        let posts = self.service.call(&Caller::Operator, post::List::default()).unwrap().posts;
        let mut posts: Vec<_> =
            posts.into_iter().map(|post| format!("{} {}", post.title, post.url)).collect();
        posts.sort();
        posts
    }
}

#[test]
fn entries_with_ids_that_share_a_link_are_posts_of_their_own() {
    let feed = Feed::start();
    let show = |n: u32| item(&format!("Episode {n}"), "http://site.example/show", &guid(&format!("e{n}")));
    assert_eq!(counts(&feed.gives(&[show(2), show(1)])), [2, 0, 0]);
    let ids = |n: u32| format!("Episode {n} http://site.example/show#e{n}");
    assert_eq!(feed.posts(), [ids(1), ids(2)]);
    assert_eq!(counts(&feed.gives(&[show(3), show(2), show(1)])), [1, 0, 2]);
    assert_eq!(feed.posts(), [ids(1), ids(2), ids(3)]);
    assert_eq!(counts(&feed.gives(&[show(4)])), [1, 0, 0], "one at a time");
    assert_eq!(counts(&feed.gives(&[show(5)])), [1, 0, 0]);
    assert_eq!(feed.posts().len(), 5);
    let renamed = item("Last episode", "http://site.example/show", &guid("e5"));
    assert_eq!(counts(&feed.gives(&[renamed])), [0, 1, 0]);
}

#[test]
fn a_file_or_a_permanent_id_is_an_address_of_its_own() {
    let feed = Feed::start();
    let file = |n| format!("{}<enclosure url=\"http://site.example/{n}.mp3\" type=\"audio/mpeg\"/>", guid(n));
    let page = |n| format!("<guid isPermaLink=\"true\">http://site.example/{n}</guid>");
    let show = |n, more: &str| item(n, "http://site.example/show", more);
    feed.gives(&[
        show("a", &file("a")),
        show("b", &file("b")),
        show("c", &page("c")),
        show("d", &guid("d d")),
    ]);
    let at = ["a http://site.example/a.mp3", "b http://site.example/b.mp3", "c http://site.example/c"];
    assert_eq!(feed.posts(), [at[0], at[1], at[2], "d http://site.example/show#d%20d"]);
}

#[test]
fn entries_without_ids_differ_by_title_and_date() {
    let feed = Feed::start();
    let news = |n: u32| item(&format!("News {n}"), "http://site.example/", &date(n));
    assert_eq!(counts(&feed.gives(&[news(1)])), [1, 0, 0]);
    assert_eq!(counts(&feed.gives(&[news(3), news(2), news(1)])), [2, 0, 1]);
    assert_eq!(counts(&feed.gives(&[news(3)])), [0, 0, 1], "it is alone on its page now");
    let menus = [2, 1].map(|n| item("Menu", "http://site.example/menu", &date(n)));
    assert_eq!(counts(&feed.gives(&menus)), [2, 0, 0]);
    let plain = ["A", "B"].map(|title| item(title, "http://site.example/list", ""));
    assert_eq!(counts(&feed.gives(&plain)), [2, 0, 0]);
    assert_eq!(feed.posts().len(), 7);
    let edited = item("A, corrected", "http://site.example/a", "");
    feed.gives(&[item("A", "http://site.example/a", "")]);
    assert_eq!(counts(&feed.gives(&[edited])), [0, 1, 0], "an entry with a page of its own is known by it");
}

#[test]
fn an_entry_with_another_address_and_the_same_id_is_the_same_post() {
    let feed = Feed::start();
    let one = |at: &str| item("One", &format!("{at}/1"), &guid("1"));
    let entry = |at: &str| [one(at), item("Two", &format!("{at}/2"), "")];
    assert_eq!(counts(&feed.gives(&entry("http://site.example"))), [2, 0, 0]);
    assert_eq!(counts(&feed.gives(&entry("https://site.example"))), [0, 2, 0]);
    assert_eq!(counts(&feed.gives(&[one("https://new.example")])), [0, 1, 0]);
    assert_eq!(feed.posts(), ["One https://new.example/1", "Two https://site.example/2"]);
    for session in ["?sid=1", "?sid=2", ";jsessionid=3"] {
        let session = [item("One", &format!("https://new.example/1{session}"), &guid("1"))];
        assert_eq!(counts(&feed.gives(&session)), [0, 0, 1]);
    }
}

#[test]
fn the_feed_of_a_site_that_moves_does_not_come_twice() {
    let feed = Feed::start();
    // The address is the id, too, as many programs write it.
    let all = |at: &str| {
        let items = [1, 2].map(|n| item("News", &format!("{at}/{n}"), &format!("<guid>{at}/{n}</guid>")));
        let moved = rss(&items).replace("<link>http://site.example/<", &format!("<link>{at}/<"));
        feed.site.gives("/feed", &moved);
        fetch(&feed.service, &feed.id)
    };
    assert_eq!(counts(&all("http://site.example")), [2, 0, 0]);
    assert_eq!(counts(&all("https://site.example")), [0, 2, 0]);
    assert_eq!(counts(&all("https://www.new.example")), [0, 2, 0]);
    assert_eq!(feed.posts(), ["News https://www.new.example/1", "News https://www.new.example/2"]);
}

#[test]
fn ids_that_say_nothing_do_no_harm() {
    let feed = Feed::start();
    let same = |n: u32| item(&format!("T{n}"), &format!("http://site.example/{n}"), &guid("site"));
    assert_eq!(counts(&feed.gives(&[same(2), same(1)])), [2, 0, 0]);
    assert_eq!(counts(&feed.gives(&[same(3), same(2), same(1)])), [1, 0, 2]);
    let random = |id: &str, title: &str| [item(title, "http://site.example/r", &(guid(id) + &date(3)))];
    assert_eq!(counts(&feed.gives(&random("a", "R"))), [1, 0, 0]);
    assert_eq!(counts(&feed.gives(&random("b", "R"))), [0, 0, 1]);
    assert_eq!(counts(&feed.gives(&random("c", "R, corrected"))), [0, 1, 0]);
}

#[test]
fn a_removed_post_stays_removed_after_an_empty_feed() {
    let feed = Feed::start();
    let items = [item("One", "http://site.example/1", &guid("1")), item("Two", "http://site.example/2", "")];
    for post in feed.gives(&items).posts {
        remove_post(&feed.service, &post.id);
    }
    feed.gives(&[]);
    assert_eq!(counts(&feed.gives(&items)), [0, 0, 2]);
    assert!(feed.posts().is_empty());
}

#[test]
fn a_source_of_an_earlier_version_keeps_its_posts() {
    let feed = Feed::start();
    let entry = |n: u32| item(&format!("T{n}"), &format!("http://site.example/{n}"), &guid(&n.to_string()));
    let first = feed.gives(&[entry(2), entry(1)]);
    let mut seen = seen::Seen::default();
    for n in 1..3 {
        seen.add(seen::hash(&[&format!("http://site.example/{n}")]), 7);
    }
    let earlier = move |tx: &mut dyn Tx| {
        tx.run("UPDATE post_source SET entry = NULL", &[])?;
        tx.run("UPDATE source SET seen = $1", &[(&seen.pack()).into()])
    };
    feed.service.store().write(Isolation::Alone, earlier).unwrap();
    remove_post(&feed.service, &first.posts[0].id);
    assert_eq!(counts(&feed.gives(&[entry(3), entry(2), entry(1)])), [1, 0, 2]);
    let https = item("T1", "https://site.example/1", &guid("1"));
    assert_eq!(counts(&feed.gives(&[https])), [0, 1, 0], "its id is known now");
}

#[test]
fn the_first_entry_of_a_file_without_dates_is_the_newest() {
    let feed = Feed::start();
    let items: Vec<_> =
        (1..=99).rev().map(|n| item(&format!("T{n}"), &format!("http://site.example/{n}"), "")).collect();
    let fetched = feed.gives(&items);
    assert_eq!((fetched.inserted, &*fetched.posts[0].title, &*fetched.posts[98].title), (99, "T99", "T1"));
    let ids: Vec<_> = fetched.posts.iter().map(|post| &post.id).collect();
    assert!(ids.is_sorted_by(|a, b| a > b), "a feed has the posts of a time by their ids");
}

#[test]
fn a_source_brings_so_many_posts_in_a_day() {
    let feed = Feed::start();
    let one = |n: u32| item(&format!("T{n}"), &format!("http://site.example/{n}"), "");
    let items = |range: std::ops::RangeInclusive<u32>| range.rev().map(one).collect::<Vec<_>>();
    let first = feed.gives(&items(1..=250));
    assert_eq!((counts(&first), &*first.posts[0].title), ([100, 0, 150], "T250"));
    let told = &first.warnings[0];
    assert!(told.ends_with("only so many posts in a day, the newest: 150"), "{told}");
    assert_eq!(counts(&feed.gives(&items(1..=251))), [1, 0, 250], "the others do not come later");
    assert_eq!(counts(&feed.gives(&items(1..=1_000))), [199, 0, 801]);
    feed.service.clock().advance(DAY_MS);
    assert_eq!(counts(&feed.gives(&items(1..=2_000))), [300, 0, 1_700]);
    assert_eq!(get(&feed.service, &feed.id).posts, 600);
    remove(&feed.service, &feed.id, Some(1));
    assert!(feed.posts().is_empty());
}

#[test]
fn a_fetch_tells_what_is_wrong_with_entries() {
    let feed = Feed::start();
    let mut items = vec![item("T1", "http://site.example/1", "<pubDate>gestern</pubDate>"); 2];
    items.extend(vec!["<item><title>None</title></item>".to_owned(); 150]);
    let fetched = feed.gives(&items);
    let expected = [
        "entry 1: its date cannot be read: gestern: the post gets the time of the fetch",
        "entry 2: an earlier one has the same id or address, and counts",
    ];
    assert_eq!(fetched.warnings, expected);
    assert_eq!((fetched.errors.len(), &*fetched.errors[99].reason), (101, "it has no address"));
    assert_eq!(fetched.errors[100].reason, "50 more entries, up to this one, were left out");
}
