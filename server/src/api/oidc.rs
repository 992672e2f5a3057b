//! Single sign-on: the way of a browser to the issuer and back, and the operations of the app that it returns to.

use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderValue, Method};
use tidings_core::account::oidc::{self, PATH, RETURN_PATH, Redirect};
use tidings_core::account::{LinkOidc, SignInOidc, UnlinkOidc};
use tidings_core::error::Error;

use super::account::run;
use crate::filter::reply::{Answer, Reply};
use crate::filter::request::Call;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::raw(Method::GET, PATH, begin),
        Route::raw(Method::GET, RETURN_PATH, finish).unrecorded(),
        Route::of::<SignInOidc>().answered_by(run::<SignInOidc>),
        Route::of::<LinkOidc>().answered_by(run::<LinkOidc>),
        Route::of::<UnlinkOidc>().answered_by(run::<UnlinkOidc>),
    ]
}

async fn begin(call: Call) -> Answer {
    let query = call.query().to_owned();
    let begin = move |tidings: &_, _: &_, _| oidc::begin(tidings, &query);
    // It waits for the issuer as sign_in_up does for the university.
    redirect(call.run_in(|lanes| &lanes.university, begin).await?)
}

async fn finish(call: Call) -> Answer {
    let query = call.query().to_owned();
    let cookies = call.headers().get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let cookies: Vec<String> = cookies.map(str::to_owned).collect();
    let client = call.sign_in_client().client;
    let finish = move |tidings: &_, _: &_, _| {
        let cookies: Vec<&str> = cookies.iter().map(String::as_str).collect();
        oidc::finish(tidings, &query, &cookies, client)
    };
    redirect(call.run_in(|lanes| &lanes.university, finish).await?)
}

fn redirect(Redirect { location, cookie }: Redirect) -> Answer {
    let header = |text: String| HeaderValue::try_from(text).map_err(|error| Error::Internal(error.into()));
    Ok(Reply::see_other(header(location)?).with(SET_COOKIE, header(cookie)?))
}
