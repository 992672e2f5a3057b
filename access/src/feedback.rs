//! Feedback.

use serde::Serialize;
use tidings_core::feedback::{self, Draft, FeedbackList, FeedbackPage, FeedbackState};

use crate::Service;
use crate::error::Result;

impl Service {
    /// Sends feedback as the acting member, about a notice if one is named.
    ///
    /// # Errors
    /// Those of [`feedback::send`].
    pub fn send_feedback(&self, notice: Option<&str>, draft: &Draft) -> Result<()> {
        #[derive(Serialize)]
        struct Form<'a> {
            #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
            kind: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            post: Option<&'a str>,
        }
        self.run(
            |tidings, caller| feedback::send(tidings, caller, notice, draft),
            |server| {
                let form = Form { kind: draft.kind.as_deref(), post: draft.post.as_deref() };
                match notice {
                    // The documented path of feedback on a notice.
                    Some(notice) => server.posted(&["remove_notice", notice], &form),
                    None => server.posted(&["send_feedback"], &form),
                }
            },
        )
    }

    /// Returns the newest feedback, open and done.
    ///
    /// # Errors
    /// Those of [`feedback::list`].
    pub fn all_feedback(&self) -> Result<FeedbackList> {
        self.run(feedback::list, |server| server.get(&["get_all_feedback"], &[]))
    }

    /// Returns a page of the feedback, newest first: open feedback, or all.
    ///
    /// # Errors
    /// Those of [`feedback::browse`].
    pub fn feedback(&self, all: bool, after: Option<&str>) -> Result<FeedbackPage> {
        self.run(
            |tidings, caller| feedback::browse(tidings, caller, all, after),
            |server| {
                let number = |number: i64| Some(number.to_string());
                let (all, limit) = (("all", number(all.into())), ("limit", number(feedback::LIST_MAX)));
                server.get(&["get_feedback"], &[all, limit, ("after", after.map(str::to_owned))])
            },
        )
    }

    /// Marks feedback as done, or as open again.
    ///
    /// # Errors
    /// Those of [`feedback::set_activation`].
    pub fn set_feedback(&self, id: &str, state: FeedbackState) -> Result<()> {
        let activation = state.activation();
        self.run(
            |tidings, caller| feedback::set_activation(tidings, caller, id, activation),
            |server| server.done(&["update_feedback", id, &activation.to_string()]),
        )
    }
}
