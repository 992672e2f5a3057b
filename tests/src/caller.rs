//! The HTTP client of the tests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::http::header::CONTENT_TYPE;

use crate::{Answer, contract};

/// The password of every member that [`Server`](crate::Server) signs up.
pub const PASSWORD: &str = "correct horse";

/// The timeout of a request: longer than any request takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The maximum size of a response body, in bytes; far larger than any response of the service.
const ANSWER_MAX: u64 = 256 << 20;

/// The address of the server, shared with its callers because a restart changes it.
pub(crate) type Address = Arc<Mutex<SocketAddr>>;

/// An HTTP client of a server, with or without an access token.
#[derive(Clone)]
pub struct Caller {
    agent: Agent,
    address: Address,
    id: String,
    token: Option<String>,
    headers: Vec<(String, String)>,
}

impl Caller {
    /// Returns a caller, who is not signed in, of the server at this address.
    pub fn to(address: SocketAddr) -> Self {
        Self::new(Arc::new(Mutex::new(address)))
    }

    pub(crate) fn new(address: Address) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .allow_non_standard_methods(true)
            .proxy(None)
            .timeout_global(Some(TIMEOUT))
            .build();
        Self { agent: config.new_agent(), address, id: String::new(), token: None, headers: Vec::new() }
    }

    /// Returns a caller that sends `token`, the token of the member `id`.
    #[must_use]
    pub fn with_token(&self, id: &str, token: impl Into<String>) -> Self {
        Self { id: id.into(), token: Some(token.into()), ..self.clone() }
    }

    /// Returns a caller that also sends this header with every request.
    #[must_use]
    pub fn with_header(&self, name: &str, value: &str) -> Self {
        let mut with = self.clone();
        with.headers.push((name.into(), value.into()));
        with
    }

    /// Returns the member's id, `""` if the caller is not signed in.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the access token, `""` if the caller is not signed in.
    pub fn token(&self) -> &str {
        self.token.as_deref().unwrap_or_default()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path).send()
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers write `post(path, json!({ … }))` without a borrow"
    )]
    pub fn post(&self, path: &str, body: Value) -> Answer {
        self.request("POST", path).json(&body).send()
    }

    pub fn form(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        let form = form.finish().into_bytes();
        self.request("POST", path).body("application/x-www-form-urlencoded", form).send()
    }

    /// Starts building a request with any method; `path` must already be percent-encoded.
    pub fn request(&self, method: &str, path: &str) -> Request<'_> {
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut request = Request {
            caller: self,
            method: method.into(),
            path: path.into(),
            headers,
            body: None,
            chunked: false,
        };
        if let Some(token) = &self.token {
            request = request.header("Authorization", &format!("Bearer {token}"));
        }
        request
    }
}

pub struct Request<'c> {
    caller: &'c Caller,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    chunked: bool,
}

impl Request<'_> {
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body and its `Content-Type`; an empty type sends no such header.
    #[must_use]
    pub fn body(mut self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        if content_type.is_empty() { self } else { self.header(CONTENT_TYPE.as_str(), content_type) }
    }

    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    /// Sends the body with chunked transfer encoding instead of a `Content-Length`.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    #[track_caller]
    pub fn send(self) -> Answer {
        let what = format!("{} {}", self.method, self.path);
        self.try_send().unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    pub fn try_send(self) -> Result<Answer, ureq::Error> {
        let Self { caller, method, path, headers, body, chunked } = self;
        let address = *caller.address.lock().unwrap();
        let mut request =
            ureq::http::Request::builder().method(&*method).uri(format!("http://{address}{path}"));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let answer = match body {
            None => caller.agent.run(request.body(())?),
            Some(body) if chunked => {
                let body = ureq::SendBody::from_owned_reader(std::io::Cursor::new(body));
                caller.agent.run(request.body(body)?)
            }
            Some(body) => caller.agent.run(request.body(body)?),
        };
        let (head, mut body) = answer?.into_parts();
        let bytes = body.with_config().limit(ANSWER_MAX).read_to_vec()?;
        let answer = Answer::new(head.status, head.headers, bytes);
        contract::check(&method, &path, answer.status, &answer.headers, &answer.body);
        Ok(answer)
    }
}
