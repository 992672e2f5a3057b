use bytes::Bytes;
use http_body_util::Full;
use tidings_core::operation::{Access, Spec};

use super::*;
use crate::config::Config;
use crate::filter::limit::Limits;
use crate::route::NoFields;
use crate::testing::{by, json, post, request, service};

#[tokio::test]
async fn every_kind_of_request_counts_towards_its_limit() {
    let service = service();
    let server = service.app(Config::default());
    let (ann, boss) = (service.member("ann").await, service.admin("boss").await);
    let key = by(&boss, post("/add_key", "application/json", r#"{"name":"one","scopes":["members:read"]}"#));
    let key = json(&service.call(key).await)["key"].as_str().unwrap().to_owned();
    let status = async |address: &str, token: &str, request: Request<Full<Bytes>>| {
        let mut request = by(token, request);
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
    let server = service.app(Config::default());
    let panicking = Router::with(&server, Table::new(routes));
    for _ in 0..2 {
        let answer = tower::ServiceExt::oneshot(panicking.clone().service(), request("GET", "/panic"));
        assert_eq!(answer.await.unwrap().status(), 500);
    }
}
