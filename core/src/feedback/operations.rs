//! The operations on feedback.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Draft, FeedbackList, FeedbackPage, FeedbackQuery, NO_NOTICE, POST_RULE};
use crate::config::Config;
use crate::error::{Error, Outcome, Problem, Result};
use crate::id::ObjectId;
use crate::operation::{Access, Failure, Operation, Rate, Spec, Work};
use crate::schema::Switch;
use crate::scope::Scope;
use crate::{Caller, Tidings};

const GROUP: &str = "feedback";
const ADMINS: Access = Access::Admins(Scope::Feedback);

/// What a member writes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Message {
    /// {feedback-type} characters; `general` by default.
    #[serde(rename = "type")]
    #[schema(examples("general"))]
    pub kind: Option<String>,
    /// {feedback-text} characters.
    #[schema(max_length = 5_000, examples("The search is fast."))]
    pub post: Option<String>,
    /// An alias of `post`.
    #[schema(max_length = 5_000, examples("The search is fast."))]
    pub feedback: Option<String>,
}

impl From<Message> for Draft {
    fn from(Message { kind, post, feedback }: Message) -> Self {
        Self { kind, post: post.or(feedback) }
    }
}

/// Sends feedback on a notice
///
/// `result` is `success`; or `bad request` when the token fails, `fail` when the notice does not exist or the text or
/// type is not valid.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = FeedbackFields)]
pub struct SendOnNotice {
    /// The `_id` of the notice
    #[schema(value_type = ObjectId)]
    pub notice_obi: String,
    /// The feedback.
    #[serde(rename = "..")]
    pub message: Message,
}

impl Operation for SendOnNotice {
    type Answer = ();
    // Removing a notice and sending feedback on it have the same path; only the method differs.
    const SPEC: Spec = Spec::post(GROUP, "/remove_notice/{notice_obi}", Access::Members)
        .limited(Rate::Feedback)
        .or(&[Failure::Feedback])
        .named("notice_feedback");

    fn refusals(settings: &Config) -> Vec<Error> {
        let mut refusals = SendGeneral::refusals(settings);
        refusals.insert(1, Outcome::Fail.because(NO_NOTICE));
        refusals
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::send(tidings, caller, Some(&self.notice_obi), &self.message.into())
    }
}

/// Sends feedback that concerns no notice
///
/// `result` is `success`; or `bad request` when the token fails, `fail` when the text or type is not valid.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = FeedbackFields)]
pub struct SendGeneral {
    /// The feedback.
    #[serde(rename = "..")]
    pub message: Message,
}

impl Operation for SendGeneral {
    type Answer = ();
    const SPEC: Spec =
        Spec::post(GROUP, "/send_feedback", Access::Members).limited(Rate::Feedback).or(&[Failure::Feedback]);

    fn refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::BadRequest.because(Error::BadToken.problem()), Outcome::Fail.because(POST_RULE)]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::send(tidings, caller, None, &self.message.into())
    }
}

/// Lists all feedback, newest first
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListAll {}

impl Operation for ListAll {
    type Answer = FeedbackList;
    const SPEC: Spec = Spec::get(GROUP, "/get_all_feedback", ADMINS).works(Work::Store);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<FeedbackList> {
        super::list(tidings, caller)
    }
}

/// Lists open or all feedback, newest first, in pages
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {
    /// 0 for open feedback only, which is the default; 1 for all.
    #[schema(value_type = Option<Switch>)]
    pub all: Option<i64>,
    /// The maximum number of entries, 1 to 1,000; 100 by default.
    #[schema(minimum = 1, maximum = 1_000, examples(100))]
    pub limit: Option<i64>,
    /// The `next` of the previous page.
    #[schema(max_length = 100, examples("6560c1a2ffeeddccbbaa0001"))]
    pub after: Option<String>,
}

impl Operation for List {
    type Answer = FeedbackPage;
    const SPEC: Spec = Spec::get(GROUP, "/get_feedback", ADMINS).works(Work::Query).or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<FeedbackPage> {
        let Self { all, limit, after } = self;
        let all = match all {
            None | Some(0) => false,
            Some(1) => true,
            Some(_) => return Err(Error::BadRequest(Problem::invalid("all", "all is 0 or 1"))),
        };
        super::page(tidings, caller, &FeedbackQuery { all, limit, after })
    }
}

/// Marks feedback as done or open
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Mark {
    /// The `_id` of the feedback
    #[schema(value_type = ObjectId)]
    pub feedback_obi: String,
    /// 0 for done, 1 for open
    #[schema(value_type = Switch)]
    pub activation: i64,
}

impl Operation for Mark {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/update_feedback/{feedback_obi}/{activation}", ADMINS)
        .writes()
        .or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::set_activation(tidings, caller, &self.feedback_obi, self.activation)
    }
}
