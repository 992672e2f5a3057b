//! The pages to which mail links unless an app has pages of its own: for a new password, and to confirm an address.

use std::sync::Arc;

use http::header::ACCEPT_LANGUAGE;
use http::{HeaderMap, HeaderValue};
use tidings_core::Error;
use tidings_core::answer::Encoded;
use tidings_core::config::{Config as Core, Language};
use tidings_core::operation::{Access, Spec};

use crate::config::Config;
use crate::filter::accept;
use crate::filter::reply::HTML;
use crate::filter::request::Call;
use crate::route::{PageFile, Route};

pub(crate) const FILES: &str = "/account/{file}";
/// Nothing comes from other hosts, and nothing is sent to them. Browsers do not run the texts of a page, which are data.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'",
);
const SCRIPT: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");
const STYLE: HeaderValue = HeaderValue::from_static("text/css; charset=utf-8");

pub(crate) fn handlers(core: &Core, config: &Config) -> Vec<Route> {
    let page = |name, language, text: &str| {
        (name, Some(language), Arc::new(Encoded::new(filled(text, core, config))), HTML)
    };
    let file = |name, text: &'static str, media_type| (name, None, Arc::new(Encoded::new(text)), media_type);
    let files = Arc::new([
        page("password", Language::En, include_str!("account_page/password.en.html")),
        page("password", Language::Ko, include_str!("account_page/password.ko.html")),
        page("email", Language::En, include_str!("account_page/email.en.html")),
        page("email", Language::Ko, include_str!("account_page/email.ko.html")),
        file("page.js", include_str!("account_page/page.js"), SCRIPT),
        file("page.css", include_str!("account_page/page.css"), STYLE),
    ]);
    let of_mail = core.mail.language;
    let answer = move |call: Call, PageFile { file: name }| {
        let files = Arc::clone(&files);
        async move {
            let language = preferred(call.headers(), of_mail);
            let is_it = |file: &str, of: Option<Language>| file == name && of.is_none_or(|of| of == language);
            let found = files.iter().find(|(file, of, ..)| is_it(file, *of)).ok_or(Error::NotFound)?;
            Ok(call.file(&found.2, found.3.clone()).await?.isolated(POLICY))
        }
    };
    // Not cached: a cache would need to know which languages are alike.
    vec![Route::raw(Spec::get("", FILES, Access::Open).unrecorded(), answer)]
}

/// Adds the name of the service, the address of its app, and the lengths of passwords.
fn filled(page: &str, core: &Core, config: &Config) -> String {
    let host = || core.public_url.as_ref().and_then(|url| url.host_str()).unwrap_or("tidings").to_owned();
    let site = Some(core.mail.site()).filter(|site| !site.is_empty()).unwrap_or_else(host);
    // Without an origin of its own, the app is on the same origin as the server.
    let mut origins = config.cors_origins.iter().map(ToString::to_string);
    let app = origins.find(|origin| origin.starts_with("http")).unwrap_or_default();
    page.replace("{app}", &format!("{app}/"))
        .replace("{min}", &core.password_length().min.to_string())
        .replace("{max}", &core.password_length().max.to_string())
        // Last, because a name may have braces.
        .replace("{site}", &site.replace('&', "&amp;").replace('<', "&lt;"))
}

/// Prefers the language of the browser to that of mail, if pages have it.
fn preferred(headers: &HeaderMap, of_mail: Language) -> Language {
    let ranges = accept::ranges(headers, &ACCEPT_LANGUAGE).filter_map(|(range, weight)| {
        let name = range.split('-').next()?;
        let language = Language::ALL.into_iter().find(|one| name.eq_ignore_ascii_case(one.tag()))?;
        (weight > 0.0).then_some((language, weight))
    });
    // Of two with one weight, the first.
    let best = ranges.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map_or(of_mail, |(language, _)| language)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{header, request, service, with};

    #[tokio::test]
    async fn a_page_has_the_language_of_the_browser_or_else_that_of_mail() {
        let service = service();
        let get = |languages: &str| {
            let asked = request("GET", "/account/password");
            if languages.is_empty() { asked } else { with(asked, "accept-language", languages) }
        };
        for (languages, expected) in [
            ("", "en"),
            ("ko", "ko"),
            ("ko-KR,ko;q=0.9,en-US;q=0.8", "ko"),
            ("en-GB, ko;q=0.5", "en"),
            ("en;q=0.2, KO;q=0.5", "ko"),
            ("fr, *;q=0.5", "en"),
            ("en;q=0, ko;q=0", "en"),
        ] {
            let page = service.call(get(languages)).await;
            let html = str::from_utf8(page.body()).unwrap();
            assert!(html.contains(&format!("<html lang=\"{expected}\">")), "{languages}");
            assert_eq!(header(&page, "cache-control"), "no-store");
        }
    }

    #[test]
    fn a_page_names_the_service_and_leads_back_to_its_app() {
        let text = include_str!("account_page/password.en.html");
        let (mut core, mut config) = (Core::default(), Config::default());
        let page = filled(text, &core, &config);
        assert!(page.contains("<a href=\"/\">Back to tidings</a>"), "{page}");
        core.public_url = Some("https://campus.example/api".parse().unwrap());
        config.cors_origins =
            ["capacitor://localhost", "https://app.example"].map(|text| text.parse().unwrap()).into();
        let page = filled(text, &core, &config);
        assert!(page.contains("<a href=\"https://app.example/\">Back to campus.example</a>"), "{page}");
    }

    #[test]
    fn each_page_has_its_landmarks_and_no_open_place() {
        for text in [
            include_str!("account_page/password.en.html"),
            include_str!("account_page/password.ko.html"),
            include_str!("account_page/email.en.html"),
            include_str!("account_page/email.ko.html"),
        ] {
            let page = filled(text, &Core::default(), &Config::default());
            for part in
                ["<html lang=", "name=\"viewport\"", "<main>", "<h1>", "one-time-code", "role=\"status\""]
            {
                assert_eq!(page.matches(part).count(), 1, "{part}");
            }
            let places = ["{app}", "{site}", "{min}", "{max}"];
            assert!(!places.iter().any(|place| page.contains(place)), "{page}");
            let texts = page.split_once("id=\"texts\">").unwrap().1.split_once("</script>").unwrap().0;
            serde_json::from_str::<serde_json::Value>(texts).unwrap();
            assert_eq!(page.contains("new_pw"), page.contains("autocomplete=\"username\""));
        }
    }
}
