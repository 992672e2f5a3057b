//! Notices and their drafts.

use serde::Serialize;
use tidings_core::account::Caller;
use tidings_core::answer::Inserted;
use tidings_core::notice::{self, Draft, DraftList, FullList, ListQuery, NoticeList, OneNotice, Reads};

use crate::Service;
use crate::error::Result;

/// The fields of a draft on the server, and which draft and notice they belong to.
#[derive(Serialize)]
struct DraftFields<'a> {
    #[serde(flatten)]
    fields: &'a Draft,
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<&'a str>,
}

impl Service {
    /// Publishes a notice.
    ///
    /// # Errors
    /// Those of [`notice::insert`].
    pub fn insert_notice(&self, draft: &Draft) -> Result<Inserted> {
        self.run(
            |tidings, caller| notice::insert(tidings, caller, draft),
            |server| server.post(&["insert_notice"], draft),
        )
    }

    /// Changes a notice.
    ///
    /// # Errors
    /// Those of [`notice::update`].
    pub fn update_notice(&self, id: &str, draft: &Draft) -> Result<()> {
        self.run(
            |tidings, caller| notice::update(tidings, caller, id, draft),
            |server| server.posted(&["update_notice", id], draft),
        )
    }

    /// Removes a notice.
    ///
    /// # Errors
    /// Those of [`notice::remove`].
    pub fn remove_notice(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| notice::remove(tidings, caller, id),
            |server| server.done(&["remove_notice", id]),
        )
    }

    /// Returns the notices that everyone sees now, with the documented fields.
    ///
    /// # Errors
    /// Those of [`notice::list`].
    pub fn notices(&self) -> Result<NoticeList> {
        self.run(
            |tidings, _| notice::list(tidings, &Caller::Guest),
            |server| server.as_guest().get(&["get_all_notice"], &[]),
        )
    }

    /// Returns the notices that the caller sees, hidden ones too, with the documented fields.
    ///
    /// # Errors
    /// Those of [`notice::list`].
    pub fn all_notices(&self) -> Result<NoticeList> {
        self.run(notice::list, |server| server.get(&["get_all_notice"], &[]))
    }

    /// Returns the notices that everyone sees now, with all fields.
    ///
    /// # Errors
    /// Those of [`notice::list_full`].
    pub fn full_notices(&self, query: &ListQuery<'_>) -> Result<FullList> {
        self.run(
            |tidings, _| notice::list_full(tidings, &Caller::Guest, query),
            |server| server.as_guest().get(&["get_notices"], &parameters(query)),
        )
    }

    /// Returns the notices that the caller sees, with all fields.
    ///
    /// # Errors
    /// Those of [`notice::list_full_with_views`].
    pub fn all_full_notices(&self, query: &ListQuery<'_>) -> Result<FullList> {
        self.run(
            |tidings, caller| notice::list_full_with_views(tidings, caller, query),
            |server| server.get(&["get_notices"], &parameters(query)),
        )
    }

    /// Reads a notice, which counts as a view; with its text as HTML if `html` is set.
    ///
    /// # Errors
    /// Those of [`notice::get`].
    pub fn notice(&self, id: &str, html: bool) -> Result<OneNotice> {
        self.run(
            |tidings, caller| {
                let get = if html { notice::get_rendered } else { notice::get };
                get(tidings, caller, id)
            },
            |server| server.get(&["get_notice", id], &[("html", html.then(|| "1".to_owned()))]),
        )
    }

    /// Returns how often a notice was read on each of the last days.
    ///
    /// # Errors
    /// Those of [`notice::reads`].
    pub fn notice_reads(&self, id: &str, days: i64) -> Result<Reads> {
        self.run(
            |tidings, caller| notice::reads(tidings, caller, id, days),
            |server| server.get(&["get_notice_reads", id], &[("days", Some(days.to_string()))]),
        )
    }

    /// Saves a draft of a new notice, or of a change of `notice`; it replaces `draft`, if given.
    ///
    /// # Errors
    /// Those of [`notice::save_draft`].
    pub fn save_draft(&self, draft: Option<&str>, notice: Option<&str>, fields: &Draft) -> Result<Inserted> {
        self.run(
            |tidings, caller| notice::save_draft(tidings, caller, draft, notice, fields),
            |server| server.post(&["save_notice_draft"], &DraftFields { fields, draft, notice }),
        )
    }

    /// Returns the drafts.
    ///
    /// # Errors
    /// Those of [`notice::drafts`].
    pub fn drafts(&self) -> Result<DraftList> {
        self.run(notice::drafts, |server| server.get(&["get_notice_drafts"], &[]))
    }

    /// Removes a draft.
    ///
    /// # Errors
    /// Those of [`notice::remove_draft`].
    pub fn remove_draft(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| notice::remove_draft(tidings, caller, id),
            |server| server.done(&["remove_notice_draft", id]),
        )
    }

    /// Publishes a draft and removes it.
    ///
    /// # Errors
    /// Those of [`notice::publish_draft`].
    pub fn publish_draft(&self, id: &str) -> Result<Inserted> {
        self.run(
            |tidings, caller| notice::publish_draft(tidings, caller, id),
            |server| server.act(&["publish_notice_draft", id]),
        )
    }
}

fn parameters(query: &ListQuery<'_>) -> [(&'static str, Option<String>); 2] {
    [("topic", query.topic.map(str::to_owned)), ("html", query.html.then(|| "1".to_owned()))]
}
