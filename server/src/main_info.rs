//! The two lines of an app's front page.

use serde::Deserialize;
use tidings_core::main_info::{self, Draft, MainInfo};
use utoipa::ToSchema;

use crate::docs;
use crate::limit::Counted;
use crate::reply::Answer;
use crate::request::Call;
use crate::route::Route;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/get_main_info", get_main_info).public(),
        Route::post("/update_main_info", update_main_info).counts_as(Counted::Write),
    ]
}

/// Returns the two lines of an app's front page
#[utoipa::path(
    get,
    path = "/get_main_info",
    tag = "notice",
    responses((status = 200, body = docs::Success<MainInfo>)),
)]
pub(crate) async fn get_main_info(call: Call) -> Answer {
    call.read(|tidings, _| main_info::get(tidings)).await
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct MainInfoFields {
    /// The first line, {info-line} characters.
    new_info_1: Option<String>,
    /// The second line, {info-line} characters.
    new_info_2: Option<String>,
}

/// Changes one or both of the two lines
#[utoipa::path(
    post,
    path = "/update_main_info",
    tag = "notice",
    security(("token" = [])),
    request_body = MainInfoFields,
    responses((status = 200, body = docs::Done), docs::Administrators),
)]
pub(crate) async fn update_main_info(mut call: Call) -> Answer {
    let MainInfoFields { new_info_1, new_info_2 } = call.fields().await?;
    let draft = Draft { new_info_1, new_info_2 };
    call.answer(move |tidings, caller| main_info::update(tidings, caller, &draft)).await
}
