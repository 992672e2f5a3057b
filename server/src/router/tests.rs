use bytes::Bytes;
use http_body_util::Full;
use tidings_core::operation::{Access, Spec};

use super::*;
use crate::config::Config;
use crate::filter::limit::Limits;
use crate::route::NoFields;
use crate::testing::{header, json, outcome, post, request, service, with};

#[tokio::test]
async fn unknown_paths_and_other_methods_are_refused_in_json() {
    let service = service();
    for (method, path, expected) in [
        ("GET", "/nothing", "404 Not found"),
        ("POST", "/", "405 method not allowed"),
        ("GET", "/metrics", "404 Not found"),
        ("POST", "/get_userinfo", "405 method not allowed"),
        ("OPTIONS", "/get_userinfo", "405 method not allowed"),
        ("GET", "/sign_in", "405 method not allowed"),
    ] {
        let answer = service.call(request(method, path)).await;
        assert_eq!(outcome(&answer), expected, "{method} {path}");
        assert_eq!(header(&answer, "content-type"), "application/json; charset=utf-8");
        assert_eq!(header(&answer, "cache-control"), "no-store");
    }
    let answer = service.call(request("DELETE", "/get_userinfo")).await;
    assert_eq!(header(&answer, "allow"), "GET, HEAD");
}

#[tokio::test]
async fn all_paths_are_below_the_base_path() {
    let (service, base) = (service(), "/api/v1");
    let config = Config { base_path: base.parse().unwrap(), ..Config::default() };
    for (path, expected) in [
        ("/api/v1/healthz", "200 success"),
        ("/healthz", "404 Not found"),
        ("/api/v1", "404 Not found"),
        ("/api/v1healthz", "404 Not found"),
        ("/", "404 Not found"),
    ] {
        assert_eq!(outcome(&service.answer(&config, request("GET", path)).await), expected, "{path}");
    }
    let document = service.answer(&config, request("GET", "/api/v1/openapi.json")).await;
    assert_eq!(json(&document)["servers"][0]["url"], base);
}

#[tokio::test]
async fn a_preflight_allows_the_requested_headers() {
    let service = service();
    let preflight = with(request("OPTIONS", "/sign_in"), "origin", "https://app.example.org");
    let preflight = with(preflight, "access-control-request-method", "POST");
    let preflight = with(preflight, "access-control-request-headers", "authorization,content-type");
    let answer = service.call(preflight.clone()).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(header(&answer, "access-control-allow-origin"), "*");
    assert_eq!(header(&answer, "access-control-allow-headers"), "authorization,content-type");
    assert_eq!(header(&answer, "access-control-allow-methods"), "GET,HEAD,POST");
    assert_eq!(header(&answer, "access-control-max-age"), "86400");

    let origin = "https://app.example.org".parse().unwrap();
    let narrow = Config { cors_origins: vec![origin], ..Config::default() };
    let answer = service.answer(&narrow, preflight).await;
    assert_eq!(header(&answer, "access-control-allow-origin"), "https://app.example.org");
    let stranger = with(request("GET", "/healthz"), "origin", "https://evil.example.org");
    let answer = service.answer(&narrow, stranger).await;
    assert_eq!(header(&answer, "access-control-allow-origin"), "");
    assert_eq!(header(&answer, "vary"), "origin");
}

#[tokio::test]
async fn errors_can_be_read_by_other_origins_too() {
    let service = service();
    for path in ["/nowhere", "/sign_in", "/sign_out_all"] {
        let answer = service.call(with(request("GET", path), "origin", "https://a.example")).await;
        assert_eq!(header(&answer, "access-control-allow-origin"), "*", "{path}");
        assert!(header(&answer, "access-control-expose-headers").contains("retry-after"));
    }
}

#[tokio::test]
async fn long_responses_are_compressed_for_clients_that_accept_gzip() {
    let service = service();
    let plain = service.call(request("GET", "/openapi.json")).await;
    let vary = "accept-encoding, authorization";
    assert_eq!((header(&plain, "content-encoding"), header(&plain, "vary")), ("", vary));
    let packed = service.call(with(request("GET", "/openapi.json"), "accept-encoding", "gzip")).await;
    assert_eq!((header(&packed, "content-encoding"), header(&packed, "vary")), ("gzip", vary));
    let mut text = Vec::new();
    let mut unpacked = flate2::read::GzDecoder::new(packed.body().as_ref());
    std::io::Read::read_to_end(&mut unpacked, &mut text).unwrap();
    assert!(text == *plain.body() && packed.body().len() < text.len() / 2);
    let short = service.call(with(request("GET", "/healthz"), "accept-encoding", "gzip")).await;
    assert_eq!((header(&short, "content-encoding"), header(&short, "vary")), ("", ""));
}

#[tokio::test]
async fn a_large_cached_response_is_compressed_like_a_small_one() {
    let service = service();
    let text = "A long notice. ".repeat(1_000);
    let admin = tidings_core::account::Caller::Operator;
    let draft = tidings_core::notice::Draft {
        title: Some("Long".into()),
        post: Some(text.clone()),
        ..tidings_core::notice::Draft::default()
    };
    let id = service.tidings.call(&admin, tidings_core::notice::Insert { draft }).unwrap().id;
    for path in ["/get_all_notice".to_owned(), format!("/get_notice/{id}")] {
        // The first request may have to read the database.
        service.call(request("GET", &path)).await;
        let packed = service.call(with(request("GET", &path), "accept-encoding", "gzip")).await;
        let mut json = String::new();
        let mut unpacked = flate2::read::GzDecoder::new(packed.body().as_ref());
        std::io::Read::read_to_string(&mut unpacked, &mut json).unwrap();
        assert!(json.contains(&text) && header(&packed, "content-encoding") == "gzip", "{path}");
    }
}

#[tokio::test]
async fn personal_responses_are_not_cached() {
    let service = service();
    let token = format!("Bearer {}", service.member("ann").await);
    for path in ["/get_userinfo", "/update_auto_login/1", "/openapi.json"] {
        let answer = service.call(with(request("GET", path), "authorization", &token)).await;
        assert_eq!((answer.status().as_u16(), header(&answer, "cache-control")), (200, "no-store"), "{path}");
    }
    let sign_in = post("/sign_in", "application/json", r#"{"id":"ann","pw":"password"}"#);
    let answer = service.call(sign_in).await;
    assert_eq!((outcome(&answer).as_str(), header(&answer, "cache-control")), ("200 success", "no-store"));
}

#[tokio::test]
async fn a_client_over_the_rate_limit_is_told_when_to_try_again() {
    let service = service();
    let config = Config { rate_limit: std::num::NonZeroU32::new(1), ..Config::default() };
    let server = App::new(service.tidings.clone(), config);
    let call = |address: &str, path: &str| {
        let mut request = request("GET", path);
        request.extensions_mut().insert(PeerAddress(address.parse().unwrap()));
        tower::ServiceExt::oneshot(Router::new(&server).service(), request)
    };
    assert_eq!(call("192.0.2.1", "/get_userinfo").await.unwrap().status(), 200);
    let refused = call("192.0.2.1", "/get_userinfo").await.unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (429, "1"));
    assert_eq!(refused.headers()["ratelimit"], "\"default\";r=0;t=1");
    assert_eq!(refused.headers()["ratelimit-policy"], "\"default\";q=1;w=1");
    assert_eq!(call("192.0.2.2", "/get_userinfo").await.unwrap().status(), 200);
    assert_eq!(call("192.0.2.1", "/healthz").await.unwrap().status(), 200);
}

#[tokio::test]
async fn every_kind_of_request_counts_towards_its_limit() {
    let service = service();
    let server = App::new(service.tidings.clone(), Config::default());
    let (ann, boss) = (service.member("ann").await, service.admin("boss").await);
    let key = with(
        post("/add_key", "application/json", r#"{"name":"one","scopes":["members:read"]}"#),
        "authorization",
        &format!("Bearer {boss}"),
    );
    let key = json(&service.call(key).await)["key"].as_str().unwrap().to_owned();
    let status = async |address: &str, token: &str, request: Request<Full<Bytes>>| {
        let mut request = with(request, "authorization", &format!("Bearer {token}"));
        request.extensions_mut().insert(PeerAddress(address.parse().unwrap()));
        tower::ServiceExt::oneshot(Router::new(&server).service(), request).await.unwrap().status().as_u16()
    };
    let get = |path: &str| request("GET", path);
    let send = |path: &str, body| post(path, "application/json", body);
    let (search, view) = (r#"{"search":"rust"}"#, "/post_view/0123456789abcdef01234567");
    let (here, there) = ("192.0.2.1", "192.0.2.2");
    let renew = || {
        let policy = Policy { limits: Limits::allowing(4), ..Policy::new(&Config::default(), false) };
        server.policy.store(Arc::new(policy));
    };
    renew();
    for expected in [200, 429] {
        for path in ["/priority_search/1", "/category_search/a/1", "/domain_search", "/get_similarity_words"]
        {
            assert_eq!(status(here, &ann, send(path, search)).await, expected, "{path}");
        }
    }
    assert_eq!(status(here, &ann, send("/search_logging", search)).await, 200);
    assert_eq!(status(there, &ann, send("/domain_search", search)).await, 200);

    renew();
    assert_eq!(status(here, "a.b.c", get("/insert_device/pc")).await, 200);
    assert_eq!(status(here, "a.b.c", get(view)).await, 404);
    assert_eq!(status(here, "a.b.c", send("/search_logging", search)).await, 200);
    assert_ne!(status(here, "a.b.c", get("/post_like/0123456789abcdef01234567")).await, 429);
    assert_eq!(status(here, "a.b.c", get("/insert_device/pc")).await, 429);
    assert_eq!(status(here, "a.b.c", get("/get_device")).await, 200, "reads do not count");
    assert_eq!(status(here, &ann, get("/insert_device/pc")).await, 200);
    assert_eq!(status(there, "a.b.c", get("/insert_device/pc")).await, 200);

    for _ in 0..4 {
        assert_eq!(status(here, &ann, send("/send_feedback", r#"{"post":"text"}"#)).await, 200);
    }
    assert_eq!(status(here, &ann, send("/send_feedback", r#"{"post":"text"}"#)).await, 429);

    // The first request of a key shows that it is valid, and only then it has a limit.
    for _ in 0..5 {
        assert_eq!(status(there, &key, get("/get_blacklist")).await, 200);
    }
    assert_eq!(status(there, &key, get("/get_blacklist")).await, 429);

    renew();
    assert_eq!(status(here, &ann, get("/sign_out_all")).await, 200);
    for _ in 0..4 {
        assert_eq!(status(here, &ann, get("/insert_device/pc")).await, 200);
    }
    assert_eq!(status(here, &ann, get("/insert_device/pc")).await, 429, "a revoked token counts as none");
}

#[tokio::test]
async fn a_panic_in_a_handler_is_an_internal_error_and_the_server_goes_on() {
    let service = service();
    let routes =
        [Route::raw(Spec::get("", "/panic", Access::Open), |_, _: NoFields| async { panic!("a mistake") })];
    let server = App::new(service.tidings.clone(), Config::default());
    let panicking = Router::with(&server, Table::new(routes));
    for _ in 0..2 {
        let answer = tower::ServiceExt::oneshot(panicking.clone().service(), request("GET", "/panic"));
        assert_eq!(answer.await.unwrap().status(), 500);
    }
}

#[tokio::test]
async fn a_server_that_shuts_down_is_alive_and_not_ready() {
    let service = service();
    let server = App::new(service.tidings.clone(), Config::default());
    let status = async |path| {
        let answer = tower::ServiceExt::oneshot(Router::new(&server).service(), request("GET", path)).await;
        answer.unwrap().status().as_u16()
    };
    assert_eq!((status("/healthz").await, status("/readyz").await), (200, 200));
    server.stop();
    assert_eq!((status("/healthz").await, status("/readyz").await), (200, 503));
}
