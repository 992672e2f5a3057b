//! The root of the API, for people who open the address of the server and for programs, and the health checks.

use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_SECURITY_POLICY};
use http::{HeaderMap, HeaderValue};
use tidings_core::Error;
use tidings_core::answer::{self, Encoded};
use tidings_core::api::{GetHome, Healthz, Home, Readyz};
use tidings_core::operation::Stream as _;

use crate::config::Config;
use crate::filter::accept;
use crate::filter::reply::{Answer, HTML, JSON, Refusal, Reply};
use crate::filter::request::Call;
use crate::route::Route;

pub(super) const STYLE: &str = "\
    :root{color-scheme:light dark;font:1.05rem/1.6 system-ui,sans-serif}\
    body{max-width:34rem;margin:12vh auto;padding:0 1.5rem}\
    h1{margin:0 0 .5rem}\
    a{color:light-dark(#0b57d0,#8ab4f8)}\
    p.version{color:light-dark(#5f6368,#9aa0a6)}";
/// Nothing is loaded or run, and only the page's own style applies. A test compares the hash.
pub(super) const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'sha256-3C+bgWW13BJ3uhV2gzgQbkyEoreo4Bc1hEry7+IxRBQ='; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);

fn page(home: &Home) -> String {
    let Home { name, version, reports, docs, openapi } = home;
    let link = |path: Option<&str>, text| {
        path.map_or(String::new(), |path| format!("<li><a href=\"{path}\">{text}</a></li>\n"))
    };
    let links = link(*docs, "The API page: read about the operations and try them")
        + &link(*openapi, "The OpenAPI document: generate a client from it")
        + &link(Some(reports), "The report: visitors, devices, topics and posts of the last 30 days");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{name}</title>\n<style>{STYLE}</style>\n\
         <h1>{name}</h1>\n\
         <p>This server runs {name}: accounts, notices, feedback, posts, search, newsfeeds and analytics for apps, \
         over HTTP.</p>\n<ul>\n{links}</ul>\n<p class=\"version\">Version {version}</p>\n</html>\n"
    )
}

pub(crate) fn handlers(config: &Config) -> Vec<Route> {
    // Relative paths are right for any base path, and also behind a proxy that removes a prefix.
    let if_served = |path| (!config.no_docs).then_some(path);
    let home = Home {
        name: "tidings",
        version: env!("CARGO_PKG_VERSION"),
        reports: "reports",
        docs: if_served("docs/"),
        openapi: if_served("openapi.json"),
    };
    let page = Arc::new(Encoded::new(page(&home)));
    let json = Arc::new(Encoded::new(answer::success(&home)));
    let answer = move |call, _| self::home(call, Arc::clone(&page), Arc::clone(&json));
    vec![
        Route::stream::<GetHome, _>(answer),
        Route::stream::<Healthz, _>(|_, _| async { Ok(Reply::success(&())) }),
        Route::stream::<Readyz, _>(readyz),
    ]
}

/// No rate limit applies to a health check.
pub(crate) fn is_health(path: &str) -> bool {
    path == Healthz::SPEC.path || path == Readyz::SPEC.path
}

async fn readyz(call: Call, _: Readyz) -> Answer {
    if call.app().is_leaving() {
        return Err(Error::Overloaded.into());
    }
    call.answer_in(|lanes| &lanes.read, |tidings, _| tidings.ready()).await.map_err(|refusal| match refusal {
        Refusal::Operation(error @ (Error::Store(_) | Error::Internal(_))) => {
            tracing::warn!(cause = error.detail(), "not ready");
            Error::Overloaded.into()
        }
        refusal => refusal,
    })
}

async fn home(call: Call, page: Arc<Encoded>, json: Arc<Encoded>) -> Answer {
    if prefers_json(call.headers()) {
        return call.file(&json, JSON).await;
    }
    Ok(call.file(&page, HTML).await?.described(CONTENT_SECURITY_POLICY, POLICY))
}

/// By weight, then by how exactly the client names the type. Source: RFC 9110 section 12.5.1.
fn prefers_json(headers: &HeaderMap) -> bool {
    let preference = |names: [&str; 3]| {
        let given = accept::ranges(headers, &ACCEPT).filter_map(|(name, weight)| {
            let at = names.iter().position(|one| name.eq_ignore_ascii_case(one))?;
            Some((names.len() - at, weight))
        });
        // The most exact range applies.
        given
            .max_by_key(|(exactness, _)| *exactness)
            .map_or((0.0, 0), |(exactness, weight)| (weight, exactness))
    };
    preference(["application/json", "application/*", "*/*"]) > preference(["text/html", "text/*", "*/*"])
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::testing::{header, json, request, service, with};

    #[tokio::test]
    async fn a_person_gets_a_page_that_links_to_the_documentation() {
        let service = service();
        let page = service.call(with(request("GET", "/"), "accept", "text/html,*/*;q=0.8")).await;
        assert_eq!(page.status(), 200);
        assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
        assert_eq!(header(&page, "vary"), "accept, accept-encoding, authorization");
        let html = str::from_utf8(page.body()).unwrap();
        assert!(html.contains(env!("CARGO_PKG_VERSION")) && !html.contains("<script"), "{html}");
        for link in ["docs/", "openapi.json", "reports"] {
            assert!(html.contains(&format!("href=\"{link}\"")), "{html}");
            assert_eq!(service.get(&format!("/{link}")).await.status(), 200, "{link}");
        }
        let style = html.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        let hash = format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(style)));
        assert!(header(&page, "content-security-policy").contains(&hash), "{hash}");
    }

    #[tokio::test]
    async fn a_page_without_documentation_links_to_the_report_only() {
        let (service, config) = (service(), Config { no_docs: true, ..Config::default() });
        let page = service.answer(&config, request("GET", "/")).await;
        let links: Vec<_> = str::from_utf8(page.body()).unwrap().split("href=").skip(1).collect();
        assert!(page.status() == 200 && links.len() == 1 && links[0].starts_with("\"reports\""), "{links:?}");
        let home = service.answer(&config, with(request("GET", "/"), "accept", "application/json")).await;
        let expected = serde_json::json!({
            "result": "success",
            "name": "tidings",
            "version": env!("CARGO_PKG_VERSION"),
            "reports": "reports",
        });
        assert_eq!(json(&home), expected);
    }

    #[test]
    fn json_is_for_clients_that_prefer_it() {
        let prefers = |accept: &'static str| {
            prefers_json(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]))
        };
        for (accept, expected) in [
            ("application/json, text/plain, */*", true),
            ("application/*", true),
            ("Application/JSON; q=0.5, text/html;q=0.2", true),
            ("text/html;q=0, */*", true),
            ("", false),
            ("*/*", false),
            ("text/html, application/json", false),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false),
            ("application/json;q=0.5, text/*", false),
            ("application/json;q=0, */*", false),
        ] {
            assert_eq!(prefers(accept), expected, "{accept}");
        }
        assert!(!prefers_json(&HeaderMap::new()));
    }
}
