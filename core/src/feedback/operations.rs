use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    FeedbackList, FeedbackPage, FeedbackState, GENERAL, KIND, KIND_RULE, LIST, LIST_MAX, NO_NOTICE, POST,
    POST_RULE, limit, sql,
};
use crate::account::{Admin, Call, Identity, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::base::config::Config;
use crate::base::text;
use crate::notice;
use crate::record::activation::is_on;
use crate::record::answer;
use crate::record::error::{Error, Outcome, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Operation, Rate, Spec, Work};
use crate::record::schema::Switch;
use crate::record::scope::Scope;
use crate::store::{Isolation, Tx};
use crate::webhook::outbox::{self, Event};

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

/// Send feedback on a notice
///
/// `result` is `success`; or `bad request` for a missing or invalid token, `fail` when the notice does not exist or the text or
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
        .refused_with(Outcome::BadRequest)
        .named("notice_feedback");

    fn documented_refusals(settings: &Config) -> Vec<Error> {
        let mut refusals = SendGeneral::documented_refusals(settings);
        refusals.insert(0, Outcome::Fail.because(NO_NOTICE));
        refusals
    }

    fn run(self, call: &Call<'_>) -> Result<()> {
        send(call, Some(self.notice_obi), &self.message)
    }
}

/// Send feedback
///
/// It concerns no notice. `result` is `success`; or `bad request` for a missing or invalid token, `fail` when the text or type is
/// not valid.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = FeedbackFields)]
pub struct SendGeneral {
    /// The feedback.
    #[serde(rename = "..")]
    pub message: Message,
}

impl Operation for SendGeneral {
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/send_feedback", Access::Members)
        .limited(Rate::Feedback)
        .or(&[Failure::Feedback])
        .refused_with(Outcome::BadRequest);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::Fail.because(POST_RULE)]
    }

    fn run(self, call: &Call<'_>) -> Result<()> {
        send(call, None, &self.message)
    }
}

fn send(call: &Call<'_>, notice: Option<String>, message: &Message) -> Result<()> {
    let (identity, now) = (call.authority(), call.now());
    let (id, is_limited) = (ObjectId::at(now), call.tidings().config().client_limits);
    let kind = text::name(message.kind.as_deref().unwrap_or(GENERAL), KIND);
    let post = message.post.as_ref().or(message.feedback.as_ref());
    let post = post.and_then(|post| text::block(post, POST));
    let written = call.store().write(Isolation::Alone, move |tx| {
        let member = identity.member(tx)?;
        let notice = match &notice {
            Some(notice) => {
                notice::visible(tx, notice, &member, now)?.ok_or(Outcome::Fail.because(NO_NOTICE))?
            }
            None => String::new(),
        };
        let kind = kind.as_ref().ok_or(Outcome::Fail.because(KIND_RULE))?;
        let post = post.as_ref().ok_or(Outcome::Fail.because(POST_RULE))?;
        if is_limited {
            limit::check(tx, &member, now)?;
        }
        super::insert(tx, &member, id, (kind, post), &notice, now)?;
        // The body is made when it is sent: until then the author may have been removed.
        Ok(outbox::enqueue(tx, Event::FeedbackCreated, &id.to_string(), None, now)?)
    });
    written.map_err(|e: Error| e.if_failed("fail"))
}

/// List all feedback, newest first
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListAll {}

impl Transaction for ListAll {
    type By = Admin<'static>;
    type Answer = FeedbackList;
    const SPEC: Spec = Spec::get(GROUP, "/get_all_feedback", ADMINS).works(Work::Store);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<FeedbackList> {
        Ok(FeedbackList { feedback_list: sql::list(tx, admin, true, i64::MAX, LIST_MAX)? })
    }
}

/// Page through feedback, newest first
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

impl Transaction for List {
    type By = Admin<'static>;
    type Answer = FeedbackPage;
    const SPEC: Spec = Spec::get(GROUP, "/get_feedback", ADMINS).works(Work::Query).or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<FeedbackPage> {
        let all = is_on(self.all, Problem::invalid("all", "all is 0 or 1"))?;
        let limit = self.limit.unwrap_or(LIST);
        if !(1..=LIST_MAX).contains(&limit) {
            return Err(Error::BadRequest(Problem::invalid("limit", "limit is 1 to 1,000")));
        }
        let before = match &self.after {
            Some(id) => sql::key(tx, admin, id)?.ok_or(Error::NotFound)?,
            None => i64::MAX,
        };
        // One more than the page has, to detect whether another page follows.
        let mut feedback = sql::list(tx, admin, all, before, limit + 1)?;
        let next = answer::cut(&mut feedback, limit).map(|last| last.id.clone());
        Ok(FeedbackPage { feedback, next })
    }
}

/// Mark feedback done or open
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Mark {
    /// The `_id` of the feedback
    #[schema(value_type = ObjectId)]
    pub feedback_obi: String,
    /// 0 for done, 1 for open
    #[schema(value_type = Switch)]
    pub activation: i64,
}

impl Transaction for Mark {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/update_feedback/{feedback_obi}/{activation}", ADMINS)
        .writes()
        .or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<()> {
        let (id, now) = (ObjectId::parse(&self.feedback_obi), identity.now());
        let state = FeedbackState::from_activation(self.activation);
        let state = state.ok_or(Error::BadRequest(crate::record::activation::RULE))?;
        let id = id.ok_or(Error::NotFound)?;
        if !sql::set_state(tx, admin, id, state, now)? {
            return Err(Error::NotFound);
        }
        let (subject, state) = (id.to_string(), if state == FeedbackState::Done { "done" } else { "open" });
        Ok(admin.record(tx, Entry::new(Action::FeedbackUpdate).on(&subject).after(state))?)
    }
}
