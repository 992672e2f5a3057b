//! A page of a feed.

use std::sync::{Arc, OnceLock};

use super::item::Item;
use super::next::Next;
use crate::answer::Encoded;
use crate::post::Post;

const LIKED: &[u8] = br#","liked":1}"#;
const NOT_LIKED: &[u8] = br#","liked":0}"#;

/// A page of a feed. Cheap to clone; it is encoded when [`FeedPage::answer`] is first called.
///
/// All guests share the same first page of a feed until the feed changes.
#[derive(Clone)]
pub struct FeedPage(Arc<Content>);

struct Content {
    items: Box<[Arc<Item>]>,
    next: Option<String>,
    answer: OnceLock<Arc<Encoded>>,
}

impl FeedPage {
    pub(super) fn new(items: Vec<Arc<Item>>, next: Option<Next>) -> Self {
        let (items, next) = (items.into(), next.map(Next::write));
        Self(Arc::new(Content { items, next, answer: OnceLock::new() }))
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
        self.0.answer.get_or_init(|| Arc::new(Encoded::new(self.encode(None))))
    }

    /// Returns the complete answer with `liked` in each post, 0 or 1. `likes` says for each post whether it is liked.
    pub(super) fn answer_with(&self, likes: &[bool]) -> Encoded {
        Encoded::new(self.encode(Some(likes)))
    }

    pub(super) fn items(&self) -> &[Arc<Item>] {
        &self.0.items
    }

    fn encode(&self, likes: Option<&[bool]>) -> Vec<u8> {
        let Content { items, next, .. } = &*self.0;
        let end_of = |n: usize| likes.map(|likes| if likes[n] { LIKED } else { NOT_LIKED });
        let posts: usize = items.iter().map(|item| item.json.len() + NOT_LIKED.len()).sum();
        let mut answer = Vec::with_capacity(posts + 80);
        answer.extend_from_slice(br#"{"result":"success","newsfeed":["#);
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                answer.push(b',');
            }
            answer.extend_from_slice(item.json.as_bytes());
            if let Some(end) = end_of(n) {
                // Instead of the brace that ends the object.
                answer.pop();
                answer.extend_from_slice(end);
            }
        }
        answer.extend_from_slice(b"],\"next\":");
        match next {
            None => answer.extend_from_slice(b"null"),
            // Its digits need no escape.
            Some(next) => answer.extend_from_slice(format!("\"{next}\"").as_bytes()),
        }
        answer.push(b'}');
        answer
    }
}
