//! Single sign-on: the way of a browser to the issuer and back, and the operations of the app that it returns to.

use http::header::{ACCEPT, CONTENT_SECURITY_POLICY, COOKIE, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use tidings_core::account::oidc::{self, PATH, RETURN_PATH, Redirect};
use tidings_core::error::Error;
use tidings_core::operation::{Access, Rate, Spec};

use super::home::{POLICY, STYLE};
use crate::filter::accept;
use crate::filter::reply::{Answer, Refusal, Reply};
use crate::filter::request::Call;
use crate::route::{NoFields, Route};

/// The form with which an issuer sends a browser back, in bytes.
const FORM_MAX: usize = 16 * 1024;

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::raw(Spec::get("", PATH, Access::Open).counts(), begin),
        Route::raw(Spec::get("", RETURN_PATH, Access::Open).counts().unrecorded(), finish),
        Route::raw(Spec::post("", RETURN_PATH, Access::Open).limited(Rate::General).unrecorded(), read_form),
    ]
}

async fn begin(call: Call, _: NoFields) -> Answer {
    let (query, app) = (call.query().to_owned(), page_of_app(&call));
    let begin = move |tidings: &_, _: &_, _| oidc::begin(tidings, &query);
    // It waits for the issuer as sign_in_up does for the university.
    redirect(call.run_in(|lanes| &lanes.university, begin).await, app, PATH)
}

async fn finish(call: Call, _: NoFields) -> Answer {
    let (query, app) = (call.query().to_owned(), page_of_app(&call));
    let cookies = call.headers().get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let cookies: Vec<String> = cookies.map(str::to_owned).collect();
    let client = Some(call.address().into());
    let finish = move |tidings: &_, _: &_, _| {
        let cookies: Vec<&str> = cookies.iter().map(String::as_str).collect();
        oidc::finish(tidings, &query, &cookies, client)
    };
    redirect(call.run_in(|lanes| &lanes.university, finish).await, app, RETURN_PATH)
}

/// Sends a browser that comes with a form (OAuth 2.0 Form Post Response Mode) to the same address with a query: with a form of
/// another site, it sends no cookie of a flow.
async fn read_form(mut call: Call, _: NoFields) -> Answer {
    let (form, _held) = call.bytes(FORM_MAX).await?;
    Ok(Reply::redirect(StatusCode::SEE_OTHER, header(format!("?{}", oidc::query_of_form(&form)))?))
}

fn header(text: String) -> Result<HeaderValue, Error> {
    HeaderValue::try_from(text).map_err(|error| Error::Internal(error.into()))
}

/// For a browser that shows pages to a person.
fn page_of_app(call: &Call) -> Option<String> {
    let is_html = |(name, _): (&str, f32)| name.eq_ignore_ascii_case("text/html");
    let is_browser = accept::ranges(call.headers(), &ACCEPT).any(is_html);
    is_browser.then(|| call.tidings().config().oidc.pages.first().cloned().unwrap_or_default())
}

/// A failure is shown on a page with a link to this page of the app.
fn redirect(to: Result<Redirect, Refusal>, app: Option<String>, path: &str) -> Answer {
    match (to, app) {
        (Ok(Redirect { location, cookie }), _) => {
            Ok(Reply::redirect(StatusCode::SEE_OTHER, header(location)?).with(SET_COOKIE, header(cookie)?))
        }
        (Err(Refusal::Operation(error)), Some(app)) => {
            let app = app.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
            let page = include_str!("oidc.html").replace("{style}", STYLE);
            let page = page.replace("{reason}", &error.message()).replace("{app}", &app);
            Ok(Reply::page_of(&error.into(), path, page).with(CONTENT_SECURITY_POLICY, POLICY))
        }
        (Err(refusal), _) => Err(refusal),
    }
}

#[cfg(test)]
mod tests {
    use tidings_core::config::{Config, Oidc};

    use super::*;
    use crate::testing::{header, outcome, post, request, service, service_with, with};

    #[tokio::test]
    async fn a_form_of_the_issuer_becomes_a_query() {
        let service = service();
        let form =
            "code=a%2Bb%26c&state=s%22%0d%0a&user=%7B%7D&iss=https%3A%2F%2Flogin.example&session_state=7";
        let answer = service.call(post(RETURN_PATH, "application/x-www-form-urlencoded", form)).await;
        assert_eq!(answer.status(), 303);
        let query = "?code=a%2Bb%26c&state=s%22%0D%0A&iss=https%3A%2F%2Flogin.example";
        assert_eq!(header(&answer, "location"), query);
        let long =
            service.call(post(RETURN_PATH, "application/x-www-form-urlencoded", "a".repeat(FORM_MAX + 1)));
        assert_eq!(outcome(&long.await), "413 payload too large");
    }

    #[tokio::test]
    async fn a_person_gets_a_page_and_a_program_data() {
        let oidc = Oidc { pages: vec!["https://app.example/?a=\"b\"&c".into()], ..Oidc::default() };
        let service = service_with(Config { oidc, ..Config::default() });
        let path = format!("{RETURN_PATH}?state=0123456789abcdef&code=x");
        let page = service.call(with(request("GET", &path), "accept", "text/html,*/*;q=0.8")).await;
        assert_eq!((page.status().as_u16(), header(&page, "tidings-result")), (400, "bad request"));
        assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
        let html = str::from_utf8(page.body()).unwrap();
        let back = "<a href=\"https://app.example/?a=&quot;b&quot;&amp;c\">Back to the app</a>";
        assert!(html.contains("there is no single sign-on here") && html.contains(back), "{html}");
        for accept in ["*/*", "application/json"] {
            let data = service.call(with(request("GET", &path), "accept", accept)).await;
            assert_eq!(outcome(&data), "400 bad request", "{accept}");
        }
        let begin = with(request("GET", &format!("{PATH}?page=x")), "accept", "text/html");
        assert_eq!(header(&service.call(begin).await, "content-type"), "text/html; charset=utf-8");
    }
}
