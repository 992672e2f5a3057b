use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use serde::Serialize;

use super::answer::{SimilarPost, Why};
use super::order::{FeedKind, Next};
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::newsfeed::index::item::{Item, commonest_tags};
use crate::post::{Post, PostSource};
use crate::record::answer::Encoded;

pub(crate) const HOLD_MS: i64 = 60 * SECOND_MS;

/// The reasons of the posts of a page, encoded.
pub struct Reasons {
    /// The JSON object of each [`Why`].
    pub(crate) json: Box<[Box<str>]>,
    /// The index and the time with which they were computed.
    pub(crate) index: u64,
    pub(crate) at: Timestamp,
}

impl Reasons {
    /// Decodes the reasons, in the order of the posts.
    pub fn decode(&self) -> Vec<Why> {
        let decode = |json| serde_json::from_str(json).expect("the JSON object is that of a reason");
        self.json.iter().map(|json| decode(json)).collect()
    }
}

/// What posts of a page have besides the fields of a post, each in the order of the posts.
#[derive(Clone, Copy, Default)]
pub struct More<'m> {
    /// Whether the caller likes the post, from [`super::likes`]: `liked`, 0 or 1.
    pub likes: Option<&'m [bool]>,
    /// The reasons, from [`super::why`].
    pub why: Option<&'m Reasons>,
    /// The sources, from [`super::sources`].
    pub sources: Option<&'m [Option<PostSource>]>,
    /// The nearly identical posts, from [`super::similar`]; a post without such has no `similar`.
    pub similar: Option<&'m [Vec<SimilarPost>]>,
}

/// A page of a feed. Cheap to clone; it is encoded when [`FeedPage::answer`] is first called.
///
/// All guests share the same first page of a feed until the feed changes.
#[derive(Clone)]
pub struct FeedPage(Arc<Content>);

struct Content {
    kind: FeedKind,
    items: Box<[Arc<Item>]>,
    /// The first posts that were ranked for one member; the others are in the order for all readers.
    ranked: usize,
    next: Option<String>,
    answer: OnceLock<Arc<Encoded>>,
    commonest_tags: OnceLock<Vec<String>>,
    /// Computed on request. A page with other counts of likes shares them.
    reasons: Arc<ArcSwapOption<Reasons>>,
}

impl FeedPage {
    /// The first `ranked` posts were ranked for one member.
    pub(crate) fn new(kind: FeedKind, items: Vec<Arc<Item>>, ranked: usize, next: Option<Next>) -> Self {
        let (items, next) = (items.into(), next.map(Next::write));
        Self::of(kind, items, ranked, next, Arc::default())
    }

    fn of(
        kind: FeedKind,
        items: Box<[Arc<Item>]>,
        ranked: usize,
        next: Option<String>,
        reasons: Arc<ArcSwapOption<Reasons>>,
    ) -> Self {
        let (answer, commonest_tags) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(Content { kind, items, ranked, next, answer, commonest_tags, reasons }))
    }

    pub(crate) fn empty(kind: FeedKind) -> Self {
        Self::new(kind, Vec::new(), 0, None)
    }

    /// Returns the posts in the order of the feed.
    pub fn posts(&self) -> impl ExactSizeIterator<Item = Post> {
        self.0.items.iter().map(|item| item.post())
    }

    /// Returns the text that continues the feed, see [`super::Page::next`]; `None` at the end of the feed.
    pub fn next(&self) -> Option<&str> {
        self.0.next.as_deref()
    }

    /// Returns the complete answer, `{"result":"success","newsfeed":[…],"next":…}`.
    pub fn answer(&self) -> &Arc<Encoded> {
        self.0.answer.get_or_init(|| Arc::new(Encoded::new(self.encode(More::default()))))
    }

    /// Returns the complete answer with more in each post.
    pub fn answer_with(&self, more: More<'_>) -> Encoded {
        Encoded::new(self.encode(more))
    }

    /// Each count comes with the place of its post on the page.
    pub(crate) fn with_likes(&self, counts: impl Iterator<Item = (usize, i64)>) -> Self {
        let Content { kind, items, ranked, next, reasons, .. } = &*self.0;
        let (mut items, next, reasons) = (items.clone(), next.clone(), Arc::clone(reasons));
        for (place, count) in counts {
            items[place] = Arc::new(items[place].with_likes(count));
        }
        Self::of(*kind, items, *ranked, next, reasons)
    }

    pub(crate) fn commonest_tags(&self) -> &[String] {
        let tags = || commonest_tags(self.0.items.iter().map(|item| &**item));
        self.0.commonest_tags.get_or_init(tags)
    }

    /// `None` unless they were computed with the index of this number within a minute before `now`.
    pub(crate) fn reasons(&self, index: u64, now: Timestamp) -> Option<Arc<Reasons>> {
        let holds = |of: &Arc<Reasons>| of.index == index && (of.at..of.at + HOLD_MS).contains(&now);
        self.0.reasons.load_full().filter(holds)
    }

    pub(crate) fn set_reasons(&self, reasons: &Arc<Reasons>) {
        self.0.reasons.store(Some(Arc::clone(reasons)));
    }

    pub(crate) fn kind(&self) -> FeedKind {
        self.0.kind
    }

    pub(crate) fn ranked(&self) -> usize {
        self.0.ranked
    }

    pub(crate) fn items(&self) -> &[Arc<Item>] {
        &self.0.items
    }

    fn encode(&self, More { likes, why, sources, similar }: More<'_>) -> Vec<u8> {
        let Content { items, next, .. } = &*self.0;
        let posts: usize = items.iter().map(|item| item.json.len() + 12).sum();
        let more: usize = why.map_or(0, |why| why.json.iter().map(|json| json.len() + 9).sum());
        let mut answer = Vec::with_capacity(posts + more + 80);
        answer.extend_from_slice(br#"{"result":"success","newsfeed":["#);
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                answer.push(b',');
            }
            answer.extend_from_slice(item.json.as_bytes());
            if let Some(likes) = likes {
                add_field(&mut answer, br#","liked":"#, &u8::from(likes[n]));
            }
            if let Some(source) = sources.and_then(|sources| sources[n].as_ref()) {
                add_field(&mut answer, br#","source":"#, source);
            }
            if let Some(similar) = similar.map(|similar| &similar[n]).filter(|similar| !similar.is_empty()) {
                add_field(&mut answer, br#","similar":"#, similar);
            }
            if let Some(why) = why {
                answer.pop();
                answer.extend_from_slice(br#","why":"#);
                answer.extend_from_slice(why.json[n].as_bytes());
                answer.push(b'}');
            }
        }
        answer.extend_from_slice(b"],\"next\":");
        match next {
            None => answer.extend_from_slice(b"null"),
            // The digits need no escape.
            Some(next) => answer.extend_from_slice(format!("\"{next}\"").as_bytes()),
        }
        answer.push(b'}');
        answer
    }
}

/// Replaces the brace that ends an object.
fn add_field(object: &mut Vec<u8>, name: &[u8], value: &impl Serialize) {
    object.pop();
    object.extend_from_slice(name);
    serde_json::to_writer(&mut *object, value).expect("texts are written to memory");
    object.push(b'}');
}
