//! The server counts and logs the requests of this program like all others, so a program that watches the figures must know
//! which changes it has caused itself by reading.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tidings_core::operation::{Method, QUERY, REST, Spec};

pub(crate) struct Request {
    pub(crate) path: Vec<String>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: Option<Map<String, Value>>,
}

impl Request {
    pub(crate) fn new(spec: &Spec, fields: Value) -> Self {
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

/// The server writes a change of the figures within a fifth of a second, and looks for changes twice a second.
const TOLD_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    running: usize,
    answered: Option<Instant>,
}

/// The request runs until this is dropped.
pub(crate) struct Running<'r>(&'r Requests);

impl Requests {
    pub(crate) fn begin(&self) -> Running<'_> {
        self.state().running += 1;
        Running(self)
    }

    /// A change of the figures that is reported now may come from a request of this program.
    pub(crate) fn may_have_changed(&self) -> bool {
        let state = self.state();
        state.running > 0 || state.answered.is_some_and(|answered| answered.elapsed() < TOLD_AFTER)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running -= 1;
        state.answered = Some(Instant::now());
    }
}

#[cfg(test)]
impl Requests {
    pub(crate) fn forget(&self) {
        self.state().answered = None;
    }
}
