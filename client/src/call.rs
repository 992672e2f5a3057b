//! Calls operations by their declarations.

use serde::Serialize;
use serde_json::{Map, Value};
use tidings_core::account::Caller;
use tidings_core::operation::{Method, Operation, QUERY, REST, Spec, Stream};

use crate::error::Result;
use crate::http::Server;
use crate::{Database, Place, Service};

impl Service {
    /// Calls an operation.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn call<O: Operation>(&self, operation: O) -> Result<O::Answer> {
        match &self.0 {
            Place::Database(database) => Ok(database.tidings.call(&database.caller, operation)?),
            Place::Server(server) => server.call(&operation),
        }
    }

    /// Calls the operation of members on their `own` account if operations are called as the member `id`, otherwise that of
    /// administrators on `any` account.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn call_on<O: Operation>(
        &self,
        id: &str,
        own: O,
        any: impl Operation<Answer = O::Answer>,
    ) -> Result<O::Answer> {
        let acting = match &self.0 {
            Place::Database(database) => match &database.caller {
                Caller::Member(id) => Some(id.as_str()),
                Caller::Guest | Caller::Token(_) | Caller::Operator => None,
            },
            Place::Server(server) => server.member(),
        };
        if acting.is_some_and(|acting| acting.eq_ignore_ascii_case(id)) {
            self.call(own)
        } else {
            self.call(any)
        }
    }

    /// Returns the same service as a guest sees it.
    #[must_use]
    pub fn as_guest(&self) -> Self {
        Self(match &self.0 {
            Place::Database(database) => Place::Database(Box::new(Database {
                caller: Caller::Guest,
                tidings: database.tidings.clone(),
            })),
            Place::Server(server) => Place::Server(server.as_guest()),
        })
    }

    /// Returns the same service as a guest sees it, unless operations are called as a member.
    #[must_use]
    pub fn as_reader(&self) -> Self {
        if self.acts_as_member() { self.clone() } else { self.as_guest() }
    }
}

impl Server {
    pub(crate) fn call<O: Operation>(&self, operation: &O) -> Result<O::Answer> {
        let request = self.request(&O::SPEC, operation)?;
        let (path, query) = (request.path(), request.query());
        let answer = match &request.body {
            Some(body) => self.post_bytes(&path, &query, body)?,
            None if O::SPEC.only_reads() => self.get_bytes(&path, &query)?,
            None => self.act_bytes(&path, &query)?,
        };
        // Only `()` has no size: of an answer that is nothing but success, no field is read.
        self.decode(if size_of::<O::Answer>() == 0 { b"null" } else { &answer })
    }
}

impl Server {
    pub(crate) fn request_of<S: Stream>(&self, operation: &S) -> Result<Request> {
        self.request(&S::SPEC, operation)
    }

    fn request(&self, spec: &Spec, operation: &impl Serialize) -> Result<Request> {
        let fields = serde_json::to_value(operation).map_err(|error| self.unexpected(error))?;
        Ok(Request::new(spec, fields))
    }
}

/// Where the fields of an operation are in its request.
pub(crate) struct Request {
    path: Vec<String>,
    query: Vec<(String, String)>,
    body: Option<Map<String, Value>>,
}

impl Request {
    pub(crate) fn path(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    pub(crate) fn query(&self) -> Vec<(&str, Option<String>)> {
        self.query.iter().map(|(name, value)| (name.as_str(), Some(value.clone()))).collect()
    }

    fn new(spec: &Spec, fields: Value) -> Self {
        let (mut given, mut query) = (Map::new(), Vec::new());
        let Value::Object(fields) = fields else { unreachable!("an operation is a struct") };
        for (name, value) in fields {
            match (&*name, value) {
                (REST, Value::Object(group)) => given.extend(group),
                (QUERY, Value::Object(group)) => query.extend(texts(group)),
                (_, value) => {
                    given.insert(name, value);
                }
            }
        }
        let mut segment = |name: &str| given.remove(name).and_then(text).unwrap_or_default();
        let path = spec.path.split('/').skip(1).map(|part| {
            let name = part.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
            name.map_or_else(|| part.to_owned(), &mut segment)
        });
        let path = path.collect();
        match spec.method {
            Method::Get => {
                query.extend(texts(given));
                Self { path, query, body: None }
            }
            Method::Post => Self { path, query, body: Some(given) },
        }
    }
}

fn texts(fields: Map<String, Value>) -> impl Iterator<Item = (String, String)> {
    fields.into_iter().filter_map(|(name, value)| Some((name, text(value)?)))
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        Value::Array(items) => Some(items.into_iter().filter_map(text).collect::<Vec<_>>().join(",")),
        other => Some(other.to_string()),
    }
}
