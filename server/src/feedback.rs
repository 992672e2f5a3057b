//! Members' feedback to the administrators.

use serde::Deserialize;
use tidings_core::Error;
use tidings_core::error::Problem;
use tidings_core::feedback::{self, Draft, FeedbackList, FeedbackPage, FeedbackQuery};
use utoipa::{IntoParams, ToSchema};

use crate::docs;
use crate::limit::Counted;
use crate::reply::Answer;
use crate::request::{Call, number};
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        // Removing a notice and sending feedback on it have the same path; only the method differs.
        Route::post("/remove_notice/{notice_obi}", notice_feedback).counts_as(Counted::Feedback),
        Route::post("/send_feedback", send_feedback).counts_as(Counted::Feedback),
        Route::get("/get_all_feedback", get_all_feedback).reads(),
        Route::get("/get_feedback", get_feedback).reads(),
        Route::get("/update_feedback/{feedback_obi}/{activation}", update_feedback).counts_as(Counted::Write),
    ]
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct FeedbackFields {
    /// {feedback-type} characters; `general` by default.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// {feedback-text} characters.
    post: Option<String>,
    /// An alias of `post`.
    feedback: Option<String>,
}

impl From<FeedbackFields> for Draft {
    fn from(FeedbackFields { kind, post, feedback }: FeedbackFields) -> Self {
        Self { kind, post: post.or(feedback) }
    }
}

/// Sends feedback on a notice
///
/// `result` is `success`; or `bad request` when the token fails, `fail` when the notice does not exist or the text or
/// type is not valid.
#[utoipa::path(
    post,
    path = "/remove_notice/{notice_obi}",
    tag = "feedback",
    security(("token" = [])),
    params(("notice_obi" = String, Path, description = "The `_id` of the notice")),
    request_body = FeedbackFields,
    responses((status = 200, body = docs::Done)),
)]
pub(crate) async fn notice_feedback(mut call: Call) -> Answer {
    let [notice] = call.ids();
    let draft = call.fields::<FeedbackFields>().await?.into();
    call.answer(move |tidings, caller| feedback::send(tidings, caller, Some(&notice), &draft)).await
}

/// Sends feedback that concerns no notice
///
/// `result` is `success`; or `bad request` when the token fails, `fail` when the text or type is not valid.
#[utoipa::path(
    post,
    path = "/send_feedback",
    tag = "feedback",
    security(("token" = [])),
    request_body = FeedbackFields,
    responses((status = 200, body = docs::Done)),
)]
pub(crate) async fn send_feedback(mut call: Call) -> Answer {
    let draft = call.fields::<FeedbackFields>().await?.into();
    call.answer(move |tidings, caller| feedback::send(tidings, caller, None, &draft)).await
}

/// Lists all feedback, newest first
#[utoipa::path(
    get,
    path = "/get_all_feedback",
    tag = "feedback",
    security(("token" = [])),
    responses((status = 200, body = docs::Success<FeedbackList>), docs::Administrators),
)]
pub(crate) async fn get_all_feedback(call: Call) -> Answer {
    call.answer(feedback::list).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FeedbackParameters {
    /// 0 for open feedback only, which is the default; 1 for all.
    all: Option<i64>,
    /// The maximum number of entries, 1 to 1,000; 100 by default.
    limit: Option<i64>,
    /// The `next` of the previous page.
    after: Option<String>,
}

/// Lists open or all feedback, newest first, in pages
#[utoipa::path(
    get,
    path = "/get_feedback",
    tag = "feedback",
    security(("token" = [])),
    params(FeedbackParameters),
    responses((status = 200, body = docs::Success<FeedbackPage>), docs::Administrators, docs::Missing),
)]
pub(crate) async fn get_feedback(call: Call) -> Answer {
    let FeedbackParameters { all, limit, after } = call.parameters()?;
    let all = match all {
        None | Some(0) => false,
        Some(1) => true,
        Some(_) => return Err(Error::BadRequest(Problem::invalid("all", "all is 0 or 1")).into()),
    };
    let query = FeedbackQuery { all, limit, after };
    call.query(move |tidings, caller| feedback::page(tidings, caller, &query)).await
}

/// Marks feedback as done or open
#[utoipa::path(
    get,
    path = "/update_feedback/{feedback_obi}/{activation}",
    tag = "feedback",
    security(("token" = [])),
    params(
        ("feedback_obi" = String, Path, description = "The `_id` of the feedback"),
        ("activation" = i64, Path, description = "0 for done, 1 for open"),
    ),
    responses((status = 200, body = docs::Done), docs::Administrators, docs::Missing),
)]
pub(crate) async fn update_feedback(mut call: Call) -> Answer {
    let [id, activation] = call.ids();
    let activation = number("activation", &activation)?;
    call.answer(move |tidings, caller| feedback::set_activation(tidings, caller, &id, activation)).await
}

#[cfg(test)]
mod tests {
    use tidings_core::account::Caller;
    use tidings_core::notice;

    use crate::testing::{by, json, outcome, post, request, service};

    #[tokio::test]
    async fn get_removes_the_notice_and_post_on_the_same_path_sends_feedback() {
        let service = service();
        let draft = notice::Draft {
            title: Some("Library".into()),
            post: Some("Open.".into()),
            ..notice::Draft::default()
        };
        let id = notice::insert(&service.tidings, &Caller::Operator, &draft).unwrap().id;
        let (member, admin) = (service.member("ann").await, service.admin("boss").await);
        let path = format!("/remove_notice/{id}");
        for (content_type, body) in [
            ("application/json", r#"{"type":"praise","post":"Thank you."}"#),
            ("application/x-www-form-urlencoded", "type=praise&feedback=Thank+you."),
        ] {
            assert_eq!(
                outcome(&service.call(by(&member, post(&path, content_type, body))).await),
                "200 success"
            );
        }
        let list = json(&service.call(by(&admin, request("GET", "/get_all_feedback"))).await);
        for feedback in list["feedback_list"].as_array().unwrap() {
            assert_eq!((&feedback["type"], &feedback["post"]), (&"praise".into(), &"Thank you.".into()));
            assert_eq!((&feedback["notice"], &feedback["activation"]), (&id.to_string().into(), &1.into()));
        }
        assert_eq!(outcome(&service.call(by(&member, request("GET", &path))).await), "200 Not admin");
        assert_eq!(outcome(&service.call(by(&admin, request("GET", &path))).await), "200 success");
        assert_eq!(outcome(&service.call(by(&admin, request("GET", &path))).await), "200 Not found");
    }

    #[tokio::test]
    async fn a_missing_text_is_fail_and_a_malformed_body_is_bad_request() {
        let service = service();
        let token = service.member("ann").await;
        for (body, expected) in [("", "200 fail"), ("{}", "200 fail"), ("{", "400 bad request")] {
            let sent = post("/send_feedback", "application/json", body);
            assert_eq!(outcome(&service.call(by(&token, sent)).await), expected, "{body}");
        }
        let from_guest = post("/send_feedback", "application/json", r#"{"post":"Hello."}"#);
        assert_eq!(outcome(&service.call(from_guest).await), "200 bad request");
    }
}
