//! Somebody who speaks HTTP to a server.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::http::header::CONTENT_TYPE;

use crate::Answer;

/// The password of every member that [`Server`](crate::Server) signs up.
pub const PASSWORD: &str = "correct horse";

/// Longer than anything takes, however busy the machine is.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Of a body or an answer, far beyond what the service sends.
const ANSWER_MAX: u64 = 256 << 20;

/// Where the server listens: it changes with a restart, and its callers follow.
pub(crate) type Address = Arc<Mutex<SocketAddr>>;

/// Somebody who speaks HTTP to a server, signed in or not.
#[derive(Clone)]
pub struct Caller {
    agent: Agent,
    address: Address,
    id: String,
    token: Option<String>,
    headers: Vec<(String, String)>,
}

impl Caller {
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

    /// The same, as the member `id` with this token.
    #[must_use]
    pub fn with_token(&self, id: &str, token: impl Into<String>) -> Self {
        Self { id: id.into(), token: Some(token.into()), ..self.clone() }
    }

    /// The same, sending this header with every request.
    #[must_use]
    pub fn with_header(&self, name: &str, value: &str) -> Self {
        let mut with = self.clone();
        with.headers.push((name.into(), value.into()));
        with
    }

    /// The member's id, `""` of who is not signed in.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The access token, `""` of who is not signed in.
    pub fn token(&self) -> &str {
        self.token.as_deref().unwrap_or_default()
    }

    /// `GET path`.
    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path).send()
    }

    /// `POST path` with a JSON body.
    #[expect(clippy::needless_pass_by_value, reason = "so that it reads `post(path, json!({ … }))`")]
    pub fn post(&self, path: &str, body: Value) -> Answer {
        self.request("POST", path).json(&body).send()
    }

    /// `POST path` with the same fields as a form.
    pub fn form(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        let form = form.finish().into_bytes();
        self.request("POST", path).body("application/x-www-form-urlencoded", form).send()
    }

    /// Begins a request of any method; `path` is sent as it is, percent-encoded already.
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

/// A request that is being put together.
pub struct Request<'c> {
    caller: &'c Caller,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    chunked: bool,
}

impl Request<'_> {
    /// With this header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With this body of this type; a type of `""` is not sent.
    #[must_use]
    pub fn body(mut self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        if content_type.is_empty() { self } else { self.header(CONTENT_TYPE.as_str(), content_type) }
    }

    /// With a JSON body.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    /// With its body in chunks, without a length told before.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// Sends it and reads the answer.
    ///
    /// # Panics
    /// When there is no answer.
    #[track_caller]
    pub fn send(self) -> Answer {
        let what = format!("{} {}", self.method, self.path);
        self.try_send().unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    /// Sends it and reads the answer.
    ///
    /// # Errors
    /// When there is no answer, as from a server that was killed meanwhile.
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
        Ok(Answer::new(head.status, head.headers, bytes))
    }
}
