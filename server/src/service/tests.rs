//! Tests of the service as another program calls it.

use std::num::NonZeroU32;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty, Full};
use tidings_cluster::only_on_sqlite;
use tokio::time::timeout;
use tower::ServiceExt as _;

use super::*;
use crate::testing::{self, outcome, request};

/// Returns the response to a request that the host program passes on.
async fn call<B>(tidings: &Tidings, config: Config, request: Request<B>) -> Response<Bytes>
where
    B: Body<Data: Send, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + Unpin + 'static,
{
    let service = service(tidings.clone(), config).unwrap();
    let (head, body) = service.oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.map_err(Into::<Box<dyn StdError + Send + Sync>>::into).unwrap();
    Response::from_parts(head, body.to_bytes())
}

#[tokio::test]
async fn the_database_closes_when_the_last_service_is_dropped() {
    only_on_sqlite!("it is about the write-ahead log");
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("test.db");
    let insert = request("GET", "/insert_device/pc");
    let answer = call(&Tidings::open(&database).unwrap(), Config::default(), insert).await;
    assert_eq!(outcome(&answer), "200 success");
    let closed = async {
        while dir.path().join("test.db-wal").exists() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), closed).await.unwrap();
}

#[tokio::test]
async fn the_host_says_which_client_a_request_comes_from() {
    let tidings = testing::service();
    let rate_limit = NonZeroU32::new(1);
    let service = service(tidings.tidings.clone(), Config { rate_limit, ..Config::default() }).unwrap();
    let call = async |address: Option<&str>| {
        let mut request = request("GET", "/insert_device/pc");
        if let Some(address) = address {
            request.extensions_mut().insert(PeerAddress(address.parse().unwrap()));
        }
        service.clone().oneshot(request).await.unwrap().status().as_u16()
    };
    assert_eq!(call(Some("192.0.2.1")).await, 200);
    assert_eq!(call(Some("192.0.2.2")).await, 200);
    assert_eq!(call(Some("192.0.2.1")).await, 429);
    assert_eq!((call(None).await, call(None).await), (200, 429));
}

#[tokio::test]
async fn a_body_that_is_not_sync_is_accepted() {
    let tidings = testing::service();
    let body = Full::new(Bytes::from_static(br#"{"id":"ann","pw":"password"}"#)).boxed_unsync();
    let request = Request::post("/sign_in").header("content-type", "application/json").body(body).unwrap();
    assert_eq!(outcome(&call(&tidings.tidings, Config::default(), request).await), "200 No member");
}

#[test]
fn a_setting_out_of_bounds_is_refused() {
    let tidings = testing::service();
    let config = Config { max_connections: 0, ..Config::default() };
    let refused = service::<Empty<Bytes>>(tidings.tidings.clone(), config).err();
    assert!(
        matches!(refused, Some(Error::InvalidSetting(invalid)) if invalid.settings == ["max-connections"])
    );
}
