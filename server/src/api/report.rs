//! The report of a period: as JSON, as a page for people, and as CSV.

use std::sync::Arc;

use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY};
use tidings_core::Error;
use tidings_core::answer::Encoded;
use tidings_core::api::{GetReportPage, GetReportTable};
use tidings_report::{Place, Table};

use crate::filter::forms::Forms as _;
use crate::filter::reply::{Answer, HTML};
use crate::filter::request::Call;
use crate::route::Route;

const CSV: HeaderValue = HeaderValue::from_static("text/csv; charset=utf-8");
/// Nothing is loaded or run, only the page's own style applies, and its form leads to this server. A test compares the hash.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'sha256-zFJeNA3jWZsJfB+cDxnD6spo5krfxuF1UzsX2q8LX9s='; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);

pub(crate) fn handlers() -> Vec<Route> {
    vec![Route::stream::<GetReportPage, _>(page), Route::stream::<GetReportTable, _>(table)]
}

async fn page(call: Call, GetReportPage { report: asked }: GetReportPage) -> Answer {
    let page = call.document_in(
        |lanes| &lanes.query,
        HTML,
        move |tidings, caller| {
            let report = tidings.call(caller, asked)?;
            Ok(Arc::clone(report.encoded().page(|| tidings_report::page(&report.fields(), Place::Server))))
        },
    );
    Ok(page.await?.described(CONTENT_SECURITY_POLICY, POLICY))
}

async fn table(call: Call, GetReportTable { file, report: asked }: GetReportTable) -> Answer {
    let table = Table::of_file_name(&file).ok_or(Error::NotFound)?;
    let csv = call.document_in(
        |lanes| &lanes.query,
        CSV,
        move |tidings, caller| {
            let report = tidings.call(caller, asked)?.fields();
            Ok(Arc::new(Encoded::new(table.csv(&report))))
        },
    );
    let name = format!("attachment; filename=\"{}\"", table.file_name());
    let name = HeaderValue::try_from(name).expect("the name of a table is ASCII");
    Ok(csv.await?.described(CONTENT_DISPOSITION, name))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::testing::{by, header, json, outcome, request, service, with};

    #[test]
    fn the_policy_names_the_style_of_the_page() {
        let hash = format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(tidings_report::STYLE)));
        assert!(POLICY.to_str().unwrap().contains(&hash), "{hash}");
    }

    #[tokio::test]
    async fn a_guest_gets_the_page_and_asks_again_with_its_tag() {
        let service = service();
        let ask =
            async |tag: &str| service.call(with(request("GET", "/reports"), "if-none-match", tag)).await;
        let page = service.call(with(request("GET", "/reports"), "user-agent", "Firefox/141.0")).await;
        assert_eq!(page.status(), 200);
        assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
        assert_eq!(header(&page, "content-security-policy"), POLICY);
        let again = ask(header(&page, "etag")).await;
        assert_eq!(again.status(), 200, "the first request was a visit");
        let unchanged = ask(header(&again, "etag")).await;
        assert_eq!((unchanged.status().as_u16(), unchanged.body().is_empty()), (304, true));
        for answer in [page, unchanged] {
            assert_eq!(header(&answer, "cache-control"), "public, max-age=0, s-maxage=5, must-revalidate");
            assert_eq!(header(&answer, "vary"), "accept-encoding, authorization");
        }
    }

    #[tokio::test]
    async fn no_cache_stores_the_page_of_a_member() {
        let service = service();
        let ann = service.member("ann").await;
        for path in ["/reports", "/reports/days.csv", "/get_report"] {
            let page = service.call(by(&ann, request("GET", path))).await;
            assert_eq!((page.status().as_u16(), header(&page, "cache-control")), (200, "no-store"), "{path}");
            assert_eq!(header(&page, "vary"), "accept-encoding, authorization");
            assert!(!page.headers().contains_key("etag"), "{path}");
        }
    }

    #[tokio::test]
    async fn every_table_is_a_file_and_every_link_of_the_page_leads_somewhere() {
        let service = service();
        let page = service.get("/reports?from=2026-11-01&to=2026-11-20").await;
        let page = str::from_utf8(page.body()).unwrap();
        let links: Vec<_> =
            page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(links.len(), Table::ALL.len() + 1);
        for link in links {
            let file = service.get(&format!("/{}", link.replace("&amp;", "&"))).await;
            assert_eq!(file.status(), 200, "{link}");
            if link.starts_with("reports/") {
                assert_eq!(header(&file, "content-type"), "text/csv; charset=utf-8");
                assert!(header(&file, "content-disposition").starts_with("attachment; filename=\""));
            } else {
                let report = json(&file);
                assert_eq!([&report["from"], &report["to"]], ["2026-11-01", "2026-11-20"]);
            }
        }
        for path in ["/reports?from=2026-02-29", "/reports/days.csv?to=x", "/get_report?from=2020-01-01"] {
            assert_eq!(outcome(&service.get(path).await), "400 bad request", "{path}");
        }
    }
}
