use std::io::Read;
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tidings_core::account::Caller;
use tidings_core::operation::{Operation, Spec, Stream};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::http::{READ, Server};
use crate::request::Request;
use crate::{Database, Place, Service};

impl Service {
    pub fn call<O: Operation>(&self, operation: O) -> Result<O::Answer> {
        match &self.0 {
            Place::Database(database) => Ok(database.tidings.call(&database.caller, operation)?),
            Place::Server(server) => server.call(&operation),
        }
    }

    /// Calls the operation of members on their `own` account if operations are called as the member `id`, otherwise that of
    /// administrators on `any` account.
    pub fn call_on<O: Operation>(
        &self,
        id: &str,
        own: O,
        any: impl Operation<Answer = O::Answer>,
    ) -> Result<O::Answer> {
        if self.is_own(id) { self.call(own) } else { self.call(any) }
    }

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

    /// As a guest, unless operations are called as a member.
    #[must_use]
    pub fn as_reader(&self) -> Self {
        if self.acts_as_member() { self.clone() } else { self.as_guest() }
    }
}

/// A request that only reads is sent this often to an overloaded server, unless it asks for a longer pause.
const TRIES: u32 = 3;
const PAUSE_MAX_S: u64 = 5;

impl Server {
    pub(crate) fn call<O: Operation>(&self, operation: &O) -> Result<O::Answer> {
        let request = self.request(&O::SPEC, operation)?;
        let body = request.body.as_ref().map(serde_json::to_vec).transpose();
        let body = body.map_err(|error| self.unexpected(error))?.map(Zeroizing::new);
        let mut tries = if body.is_none() && O::SPEC.only_reads() { TRIES } else { 1 };
        let answer = loop {
            let mut json = body.as_ref().map(|body| body.as_slice());
            let json = json.as_mut().map(|json| (json as &mut dyn Read, "application/json"));
            tries -= 1;
            match self.send(&request, json, READ).and_then(|response| self.read(response)) {
                Err(Error::Refused(refusal)) if tries > 0 => match refusal.retry_after_s {
                    Some(pause) if pause <= PAUSE_MAX_S => thread::sleep(Duration::from_secs(pause)),
                    _ => return Err(Error::Refused(refusal)),
                },
                answer => break answer?,
            }
        };
        // Only `()` has no size: of an answer that is nothing but success, no field is read.
        self.decode(if size_of::<O::Answer>() == 0 { b"null" } else { &answer })
    }

    pub(crate) fn request_of<S: Stream>(&self, operation: &S) -> Result<Request> {
        self.request(&S::SPEC, operation)
    }

    fn request(&self, spec: &Spec, operation: &impl Serialize) -> Result<Request> {
        let fields = serde_json::to_value(operation).map_err(|error| self.unexpected(error))?;
        Ok(Request::new(spec, fields))
    }
}
