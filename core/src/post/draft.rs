use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

use crate::base::clock::Timestamp;
use crate::base::config::Bounds;
use crate::base::text;
use crate::record::error::{BrokenRule, Code, Problem, Result};

/// The length of a title in characters.
pub const TITLE: Bounds = Bounds { min: 1, max: 300 };
/// The length of the text of a post in characters.
pub const POST: Bounds = Bounds { min: 0, max: 100_000 };
/// The maximum length of the address of a post or an image, in characters.
pub const URL_MAX: usize = 2_000;
/// The length of a topic or a tag in characters.
pub const NAME: Bounds = Bounds { min: 1, max: 100 };
/// The maximum number of topics of a post, and of tags.
pub const NAMES_MAX: usize = 50;

const TITLE_RULE: Problem = Problem::invalid("title", "title is 1 to 300 characters on one line");
const POST_RULE: Problem = Problem::invalid(
    "post",
    "post is at most 100000 characters, without control characters but tabs and line breaks",
);
const URL_RULE: Problem = Problem::invalid(
    "url",
    "url is an address of at most 2000 characters that begins with http:// or https://",
);
const IMG_RULE: Problem = Problem::invalid(
    "img",
    "img is \"\", an address of at most 2000 characters with http:// or https://, or a path that begins with /",
);
const TOPIC_RULE: Problem =
    Problem::invalid("topic", "topic is a list of at most 50 names of 1 to 100 characters");
const TAG_RULE: Problem = Problem::invalid("tag", "tag is a list of at most 50 names of 1 to 100 characters");
const DATE_RULE: Problem = Problem::invalid("date", "date is written like 2026-11-20T08:36:00Z");
const END_DATE_RULE: Problem =
    Problem::invalid("end_date", "end_date is written like 2026-11-20T08:36:00Z, or \"\" for none");
pub(super) const TITLE_MISSING: Problem =
    Problem::missing("title", "title is missing, and there is no post with this url yet");
const URL_MISSING: Problem = Problem::missing("url", "url is missing");
const NOTHING: Problem = Problem::new(Code::NothingGiven, "no field of the post is given");

/// The unchecked fields of a post. Inserting a post requires title and url; updating a post requires at least one
/// field, and leaves out the fields that do not change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PostFields)]
pub struct Draft {
    /// The title, {post-title} characters on one line; white space at its ends is removed.
    #[schema(examples("An eclipse over the lake"))]
    pub title: Option<String>,
    /// The text, {post-text} characters.
    #[schema(examples("On Friday evening the moon covers the sun."))]
    pub post: Option<String>,
    /// The URL, http or https, {post-url} characters, unique among posts. It is stored as written, except that white space
    /// at its ends is removed: two spellings of the same address are two URLs.
    #[schema(examples("https://news.example.org/eclipse"))]
    pub url: Option<String>,
    /// The URL of an image; `""` for none. It is http or https, or a path that begins with `/`, for an image that the
    /// client itself serves.
    #[schema(max_length = 2_000, examples("https://news.example.org/lake.jpg"))]
    pub img: Option<String>,
    /// The categories, {post-names}, each of {post-name} characters. White space at their ends and repeated names are
    /// removed.
    #[schema(examples("science"))]
    pub topic: Option<Vec<String>>,
    /// The tags, {post-names}, each of {post-name} characters, with the same rule as the categories.
    #[schema(examples("nature"))]
    pub tag: Option<Vec<String>>,
    /// The date of publication, RFC 3339; the current time by default for a new post.
    #[schema(max_length = 100, examples("2026-11-20T08:36:00Z"))]
    pub date: Option<String>,
    /// The date from which the post is hidden, RFC 3339; `""` for never.
    #[schema(max_length = 100, examples("2026-12-24T00:00:00Z"))]
    pub end_date: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) title: Option<String>,
    pub(super) post: Option<String>,
    pub(super) address: Option<Address>,
    img: Option<String>,
    topic: Option<Vec<String>>,
    tag: Option<Vec<String>>,
    pub(super) date: Option<Timestamp>,
    end_date: Option<End>,
}

/// `None` removes the end date.
#[derive(Clone, Copy, Debug)]
struct End(Option<Timestamp>);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Content {
    pub(super) title: String,
    pub(super) post: String,
    pub(super) address: Address,
    pub(super) img: String,
    pub(super) topic: Vec<String>,
    pub(super) tag: Vec<String>,
    pub(super) date: Timestamp,
    pub(super) end_date: Option<Timestamp>,
}

impl Content {
    pub(super) fn differences(&self, old: &Self) -> String {
        let fields = [
            ("title", self.title != old.title),
            ("post", self.post != old.post),
            ("url", self.address != old.address),
            ("img", self.img != old.img),
            ("topic", self.topic != old.topic),
            ("tag", self.tag != old.tag),
            ("date", self.date != old.date),
            ("end_date", self.end_date != old.end_date),
        ];
        let changed: Vec<&str> =
            fields.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
        format!("{} (changed: {})", self.title, changed.join(", "))
    }
}

#[cfg(feature = "fuzzing")]
impl Content {
    pub(super) fn exported(&self, id: Option<&str>, view: i64, fav: i64) -> serde_json::Value {
        serde_json::json!({
            "_id": id, "title": self.title, "post": self.post, "url": self.address.url, "img": self.img,
            "topic": self.topic, "tag": self.tag, "date": self.date,
            "end_date": self.end_date, "view": view, "fav_cnt": fav,
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Address {
    /// As written.
    pub(super) url: String,
    /// The site: the host in lower case, IDNA-encoded, with the port if it is not the default of the scheme.
    pub(super) host: String,
}

impl Change {
    pub(super) fn parse(draft: &Draft) -> Result<Self, BrokenRule> {
        let change = Self {
            title: checked(draft.title.as_ref(), |t| text::line(t.trim(), TITLE), TITLE_RULE)?,
            post: checked(draft.post.as_ref(), |t| text::block(t, POST), POST_RULE)?,
            address: checked(draft.url.as_ref(), |t| address(t), URL_RULE)?,
            img: checked(draft.img.as_ref(), |t| img(t), IMG_RULE)?,
            topic: checked(draft.topic.as_ref(), |list| names(list), TOPIC_RULE)?,
            tag: checked(draft.tag.as_ref(), |list| names(list), TAG_RULE)?,
            date: checked(draft.date.as_ref(), |t| Timestamp::parse(t), DATE_RULE)?,
            end_date: checked(draft.end_date.as_ref(), |t| end_date(t), END_DATE_RULE)?,
        };
        if change.is_empty() { Err(BrokenRule(NOTHING)) } else { Ok(change) }
    }

    pub(super) fn of_new(&self, now: Timestamp) -> Result<Content, BrokenRule> {
        Ok(Content {
            address: self.address.clone().ok_or(BrokenRule(URL_MISSING))?,
            title: self.title.clone().ok_or(BrokenRule(TITLE_MISSING))?,
            post: self.post.clone().unwrap_or_default(),
            img: self.img.clone().unwrap_or_default(),
            topic: self.topic.clone().unwrap_or_default(),
            tag: self.tag.clone().unwrap_or_default(),
            date: self.date.unwrap_or(now),
            end_date: self.end_date.and_then(|end| end.0),
        })
    }

    pub(super) fn onto(&self, old: &Content) -> Content {
        Content {
            title: self.title.as_ref().unwrap_or(&old.title).clone(),
            post: self.post.as_ref().unwrap_or(&old.post).clone(),
            address: self.address.as_ref().unwrap_or(&old.address).clone(),
            img: self.img.as_ref().unwrap_or(&old.img).clone(),
            topic: self.topic.as_ref().unwrap_or(&old.topic).clone(),
            tag: self.tag.as_ref().unwrap_or(&old.tag).clone(),
            date: self.date.unwrap_or(old.date),
            end_date: self.end_date.map_or(old.end_date, |end| end.0),
        }
    }

    pub(super) fn texts_onto(&self, old: &Content) -> Content {
        let Self { title, post, img, .. } = self;
        Self { title: title.clone(), post: post.clone(), img: img.clone(), ..Self::default() }.onto(old)
    }

    fn is_empty(&self) -> bool {
        let Self { title, post, address, img, topic, tag, date, end_date } = self;
        let texts = [title, post, img].into_iter().all(Option::is_none);
        let lists = [topic, tag].into_iter().all(Option::is_none);
        texts && lists && address.is_none() && date.is_none() && end_date.is_none()
    }
}

pub(crate) fn topics(list: &[String]) -> Result<Vec<String>, Problem> {
    names(list).ok_or(TOPIC_RULE)
}

pub(crate) fn tags(list: &[String]) -> Result<Vec<String>, Problem> {
    names(list).ok_or(TAG_RULE)
}

fn checked<F, T>(
    field: Option<&F>,
    check: impl FnOnce(&F) -> Option<T>,
    rule: Problem,
) -> Result<Option<T>, BrokenRule> {
    field.map(|field| check(field).ok_or(BrokenRule(rule))).transpose()
}

pub(super) fn address(text: &str) -> Option<Address> {
    let text = text.trim();
    let url = http(text)?;
    let host = url.host_str()?;
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Some(Address { url: text.to_owned(), host })
}

/// [`Url::parse`] corrects many mistakes, such as white space or a missing `//`, but the store holds the address as written.
fn http(text: &str) -> Option<Url> {
    let begins = |scheme: &str| text.get(..scheme.len()).is_some_and(|t| t.eq_ignore_ascii_case(scheme));
    let written = (begins("http://") || begins("https://")) && is_plain(text);
    if written { Url::parse(text).ok() } else { None }
}

fn img(text: &str) -> Option<String> {
    let text = text.trim();
    let allowed = text.is_empty() || text.starts_with('/') && is_plain(text) || http(text).is_some();
    allowed.then(|| text.to_owned())
}

fn is_plain(text: &str) -> bool {
    text.chars().count() <= URL_MAX && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn names(list: &[String]) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::with_capacity(list.len().min(NAMES_MAX));
    for name in list {
        let name = text::line(name.trim(), NAME)?;
        if !names.contains(&name) {
            if names.len() == NAMES_MAX {
                return None;
            }
            names.push(name);
        }
    }
    Some(names)
}

fn end_date(text: &str) -> Option<End> {
    if text.is_empty() { Some(End(None)) } else { Timestamp::parse(text).map(|end| End(Some(end))) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::draft;

    fn given(change: impl FnOnce(&mut Draft)) -> Result<Change, BrokenRule> {
        let mut draft = Draft::default();
        change(&mut draft);
        Change::parse(&draft)
    }

    fn url(url: &str) -> Option<Address> {
        given(|draft| draft.url = Some(url.into())).ok().and_then(|change| change.address)
    }

    fn topic(list: &[&str]) -> Option<Vec<String>> {
        let list = list.iter().map(|name| (*name).to_owned()).collect();
        given(|draft| draft.topic = Some(list)).ok().and_then(|change| change.topic)
    }

    #[test]
    fn a_url_is_stored_as_written_and_its_site_in_lower_case() {
        for (given, kept, host) in [
            (" https://Blog.Example.com/A?b#c ", "https://Blog.Example.com/A?b#c", "blog.example.com"),
            ("HTTP://example.com", "HTTP://example.com", "example.com"),
            ("http://example.com:80/", "http://example.com:80/", "example.com"),
            ("http://example.com:8080/", "http://example.com:8080/", "example.com:8080"),
            ("https://한국.kr/서울", "https://한국.kr/서울", "xn--3e0b707e.kr"),
        ] {
            assert_eq!(url(given), Some(Address { url: kept.into(), host: host.into() }));
        }
    }

    #[test]
    fn an_address_that_is_not_plain_http_is_refused() {
        let long = format!("https://example.com/{}", "a".repeat(1_981));
        for refused in [
            "",
            "example.com",
            "ftp://example.com/",
            "javascript:alert(1)",
            "https:example.com",
            "https:\\\\example.com",
            "https://",
            "https://exa mple.com/",
            "https://example.com/a\nb",
            "https://example.com/\0",
            &long,
        ] {
            assert_eq!(url(refused), None, "{refused:?}");
        }
        assert!(url(&long[..2_000]).is_some());
    }

    #[test]
    fn texts_and_dates_keep_their_bounds_to_the_character() {
        let title = |text: String| given(|draft| draft.title = Some(text)).is_ok();
        assert!(title("🦀".repeat(300)) && !title("🦀".repeat(301)) && !title(String::new()));
        let post = |text: String| given(|draft| draft.post = Some(text)).is_ok();
        assert!(post("한".repeat(100_000)) && !post("a".repeat(100_001)) && !post("a\0".into()));
        for wrong in ["yesterday", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z"] {
            assert!(given(|draft| draft.date = Some(wrong.into())).is_err(), "{wrong}");
            assert!(given(|draft| draft.end_date = Some(wrong.into())).is_err(), "{wrong}");
        }
        assert!(given(|draft| draft.tag = Some(vec!["🦀".repeat(101)])).is_err());
    }

    #[test]
    fn an_image_is_empty_an_address_or_a_path() {
        let img = |text: &str| given(|draft| draft.img = Some(text.into())).is_ok();
        for allowed in ["", " ", "https://example.com/a.png", "/static/a.png", "//cdn.example.com/a.png"] {
            assert!(img(allowed), "{allowed:?}");
        }
        for refused in ["a.png", "javascript:alert(1)", "data:image/png;base64,AA==", "/a b", "/a\0"] {
            assert!(!img(refused), "{refused:?}");
        }
    }

    #[test]
    fn topics_are_composed_trimmed_and_distinct() {
        let kept = topic(&[" 서울 ", "cafe\u{301}", "café", "서울"]).unwrap();
        assert_eq!(kept, ["서울", "café"]);
        assert_eq!(topic(&[]), Some(vec![]));
        assert!(topic(&[&"가".repeat(100)]).is_some());
        for refused in ["", " ", "a\nb", "a\0", &"가".repeat(101)] {
            assert_eq!(topic(&["a", refused]), None, "{refused:?}");
        }
        let many: Vec<String> = (0..51).map(|n| n.to_string()).collect();
        let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(topic(&many), None);
        many[50] = "0";
        assert!(topic(&many).is_some(), "50 names, one of them repeated");
    }

    #[test]
    fn a_new_post_needs_a_title_and_a_url_and_has_a_date() {
        let draft = Draft { end_date: Some("2027-01-01".into()), ..draft("  서울 ", "https://a.kr") };
        let new = Change::parse(&draft).unwrap().of_new(Timestamp::from_millis(7)).unwrap();
        assert_eq!((&*new.title, new.date, &*new.post), ("서울", Timestamp::from_millis(7), ""));
        assert!(new.end_date.is_some());
        for without in [Draft { title: None, ..draft.clone() }, Draft { url: None, ..draft }] {
            assert!(Change::parse(&without).unwrap().of_new(Timestamp::from_millis(7)).is_err());
        }
    }

    #[test]
    fn a_change_leaves_other_fields_alone() {
        let (post, end_date) = (Some("text".into()), Some("2027-01-01".into()));
        let draft = Draft { post, end_date, ..draft("a", "https://a.kr") };
        let old = Change::parse(&draft).unwrap().of_new(Timestamp::from_millis(7)).unwrap();
        let new = given(|draft| draft.end_date = Some(String::new())).unwrap().onto(&old);
        assert_eq!(new, Content { end_date: None, ..old });
        assert!(given(|_| ()).is_err(), "nothing to change");
        assert!(given(|draft| draft.date = Some(String::new())).is_err());
    }

    proptest! {
        #[test]
        fn no_draft_panics_and_accepted_drafts_keep_the_rules(text in ".{0,400}", list: Vec<String>) {
            let (title, post) = (Some(text.clone()), Some(text.clone()));
            let draft = Draft { title, post, topic: Some(list), ..Draft::default() };
            if let Ok(change) = Change::parse(&draft) {
                prop_assert!(change.title.is_some_and(|title| TITLE.hold(&title) && title.trim() == title));
                prop_assert!(change.topic.is_some_and(|names| names.iter().all(|name| NAME.hold(name))));
            }
            let _ = (address(&text), img(&text), end_date(&text));
        }
    }
}
