//! Helpers of the unit tests: a service on its own database, and requests without a connection.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tidings_cluster::Scratch;
use tidings_core::account::Caller;
use tidings_core::{Tidings, notice, post as posts};
use tower::ServiceExt as _;

use crate::config::Config;
use crate::router::Router;
use crate::state::App;

/// A service with its own database, which is removed when the service is dropped.
pub(crate) struct Service {
    pub(crate) tidings: Tidings,
    // Dropped after the database is closed.
    _database: Scratch,
}

pub(crate) fn service() -> Service {
    service_with(tidings_core::config::Config::default())
}

pub(crate) fn service_with(config: tidings_core::config::Config) -> Service {
    let database = Scratch::new();
    let tidings = Tidings::builder(database.location()).config(config).open().unwrap();
    Service { tidings, _database: database }
}

impl Service {
    pub(crate) fn app(&self, config: Config) -> Arc<App> {
        App::new(self.tidings.clone(), config)
    }

    pub(crate) async fn answer(&self, config: &Config, request: Request<Full<Bytes>>) -> Response<Bytes> {
        self.answer_of(&self.app(config.clone()), request).await
    }

    pub(crate) async fn answer_of(&self, app: &Arc<App>, request: Request<Full<Bytes>>) -> Response<Bytes> {
        let service = Router::new(app).service();
        let (head, body) = service.oneshot(request).await.unwrap().into_parts();
        Response::from_parts(head, body.collect().await.unwrap().to_bytes())
    }

    pub(crate) async fn call(&self, request: Request<Full<Bytes>>) -> Response<Bytes> {
        self.answer(&Config::default(), request).await
    }

    pub(crate) async fn get(&self, path: &str) -> Response<Bytes> {
        self.call(request("GET", path)).await
    }

    /// Returns the token of a new member.
    pub(crate) async fn member(&self, id: &str) -> String {
        let form = format!("id={id}&pw=password&pw_check=password&nickname={id}");
        let answer = self.call(post("/sign_up", "application/x-www-form-urlencoded", form)).await;
        json(&answer)["access_token"].as_str().unwrap().to_owned()
    }

    /// Returns the token of a new administrator.
    pub(crate) async fn admin(&self, id: &str) -> String {
        let token = self.member(id).await;
        self.tidings.call(&Caller::Operator, tidings_core::admin::Grant { user_id: id.into() }).unwrap();
        token
    }

    /// Returns the id of a new notice.
    pub(crate) fn insert_notice(&self, title: &str, text: &str) -> String {
        let (title, text) = (Some(title.to_owned()), Some(text.to_owned()));
        let draft = notice::Draft { title, post: text, ..notice::Draft::default() };
        self.tidings.call(&Caller::Operator, notice::Insert { draft }).unwrap().id.to_string()
    }

    /// Returns the id of a new post.
    pub(crate) fn insert_post(&self, n: usize, topic: &str) -> String {
        let draft = posts::Draft {
            title: Some(format!("Post {n}")),
            url: Some(format!("https://a.example/{n}")),
            topic: Some(vec![topic.into()]),
            ..posts::Draft::default()
        };
        self.tidings.call(&Caller::Operator, posts::Insert { draft }).unwrap().id.to_string()
    }
}

pub(crate) fn by<B>(token: &str, request: Request<B>) -> Request<B> {
    with(request, "authorization", &format!("Bearer {token}"))
}

pub(crate) fn request(method: &str, path: &str) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri(path).body(Full::default()).unwrap()
}

pub(crate) fn post(path: &str, content_type: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let request = Request::builder().method("POST").uri(path).header("content-type", content_type);
    request.body(Full::new(body.into())).unwrap()
}

pub(crate) fn with<B>(mut request: Request<B>, name: &'static str, value: &str) -> Request<B> {
    request.headers_mut().append(name, value.parse().unwrap());
    request
}

/// Returns a header of a response, or `""`.
pub(crate) fn header<'a>(answer: &'a Response<Bytes>, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

pub(crate) fn json(answer: &Response<Bytes>) -> Value {
    serde_json::from_slice(answer.body()).unwrap()
}

/// Returns the status and `result` of a response.
pub(crate) fn outcome(answer: &Response<Bytes>) -> String {
    format!("{} {}", answer.status().as_u16(), json(answer)["result"].as_str().unwrap())
}

#[test]
fn the_suite_passes_on_postgresql() {
    tidings_cluster::suite_on_postgres();
}
