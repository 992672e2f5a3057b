//! Posts.

use tidings_core::answer::Inserted;
use tidings_core::post::{self, Categories, Draft, GetPost, ListQuery, PostList};

use crate::Service;
use crate::error::Result;

impl Service {
    /// Inserts a post.
    ///
    /// # Errors
    /// Those of [`post::insert`].
    pub fn insert_post(&self, draft: &Draft) -> Result<Inserted> {
        self.run(
            |tidings, caller| post::insert(tidings, caller, draft),
            |server| server.post(&["insert_post"], draft),
        )
    }

    /// Changes a post.
    ///
    /// # Errors
    /// Those of [`post::update`].
    pub fn update_post(&self, id: &str, draft: &Draft) -> Result<()> {
        self.run(
            |tidings, caller| post::update(tidings, caller, id, draft),
            |server| server.posted(&["update_post", id], draft),
        )
    }

    /// Removes a post.
    ///
    /// # Errors
    /// Those of [`post::remove`].
    pub fn remove_post(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| post::remove(tidings, caller, id),
            |server| server.done(&["remove_post", id]),
        )
    }

    /// Returns the categories, the one with the most posts first.
    ///
    /// # Errors
    /// Those of [`post::categories`].
    pub fn categories(&self) -> Result<Categories> {
        self.run(
            |tidings, _| post::categories(tidings),
            |server| server.as_reader().get(&["get_categories"], &[]),
        )
    }

    /// Returns a page of posts, newest first.
    ///
    /// # Errors
    /// Those of [`post::list`].
    pub fn posts(&self, query: &ListQuery<'_>) -> Result<PostList> {
        self.run(
            |tidings, _| post::list(tidings, query),
            |server| {
                let ListQuery { topic, limit, next } = query;
                let limit = limit.map(|limit| limit.to_string());
                let [topic, next] = [topic, next].map(|text| text.map(str::to_owned));
                let query = [("topic", topic), ("limit", limit), ("next", next)];
                server.as_reader().get(&["get_posts"], &query)
            },
        )
    }

    /// Returns a post with its whole text.
    ///
    /// # Errors
    /// Those of [`post::get`].
    pub fn post(&self, id: &str) -> Result<GetPost> {
        self.run(|tidings, _| post::get(tidings, id), |server| server.as_reader().get(&["get_post", id], &[]))
    }

    /// Counts a view of a post by the acting member, or by a guest.
    ///
    /// # Errors
    /// Those of [`post::view`].
    pub fn view_post(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| post::view(tidings, caller, id).wait(),
            |server| server.as_reader().done(&["post_view", id]),
        )
    }

    /// Likes a post.
    ///
    /// # Errors
    /// Those of [`post::like`].
    pub fn like_post(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| post::like(tidings, caller, id).wait(),
            |server| server.done(&["post_like", id]),
        )
    }

    /// Takes a like back.
    ///
    /// # Errors
    /// Those of [`post::unlike`].
    pub fn unlike_post(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| post::unlike(tidings, caller, id).wait(),
            |server| server.done(&["post_unlike", id]),
        )
    }

    /// Hides a post from the recommended feed of the acting member.
    ///
    /// # Errors
    /// Those of [`post::hide`].
    pub fn hide_post(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| post::hide(tidings, caller, id).wait(),
            |server| server.done(&["post_hide", id]),
        )
    }

    /// Shows a hidden post in the recommended feed again.
    ///
    /// # Errors
    /// Those of [`post::unhide`].
    pub fn unhide_post(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| post::unhide(tidings, caller, id).wait(),
            |server| server.done(&["post_unhide", id]),
        )
    }
}
