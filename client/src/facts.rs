use std::io::Read as _;

use serde::Deserialize;
use serde_json::Value;
use tidings_core::analysis::{self, Window};
use tidings_core::api::GetDocument;
use tidings_core::clock::Timestamp;
use tidings_core::config::Bounds;
use tidings_core::error::Problem;
use tidings_core::status;

use crate::error::Result;
use crate::http::Server;
use crate::{Place, Service};

/// In bytes: several times the length of today's document.
const DOCUMENT_MAX: u64 = 16 << 20;

impl Service {
    /// `None` if the caller of a server may not see it.
    pub fn crawled(&self) -> Result<Option<i64>> {
        self.run(
            |tidings, _| analysis::crawled(tidings).map(Some),
            |server| Ok(server.call(&status::Get {}).ok().map(|status| status.crawled)),
        )
    }

    /// `None` if the caller of a server may not see it.
    pub fn zone(&self) -> Option<String> {
        self.run(|tidings, _| Ok(analysis::zone(tidings)), |server| Ok(server.call(&status::Get {})?.zone))
            .ok()
    }

    /// The start of a period that ends now.
    pub fn since(&self, window: Window) -> Result<Timestamp> {
        self.run(
            |tidings, _| analysis::since(tidings, window),
            |server| {
                let status = server.call(&status::Get {})?;
                let zone = status.zone.parse().map_err(|_| server.unexpected("an unknown time zone"))?;
                Ok(window.since(&zone, status.now)?)
            },
        )
    }

    /// `None` if the server does not tell it.
    pub fn password_rule(&self) -> Option<String> {
        let bounds = match &self.0 {
            Place::Database(database) => database.tidings.config().password_length(),
            Place::Server(server) => server.password_length().ok()?,
        };
        Some(Problem::password("pw", bounds).message().into_owned())
    }
}

impl Server {
    /// The server tells everyone these bounds in its OpenAPI document.
    fn password_length(&self) -> Result<Bounds> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Length {
            min_length: usize,
            max_length: usize,
        }
        let json = self.as_guest().stream(&self.request_of(&GetDocument {})?)?.take(DOCUMENT_MAX);
        let mut document: Value = serde_json::from_reader(json).map_err(|error| self.unexpected(error))?;
        let schema = document.pointer_mut("/components/schemas/NewPasswordFields/properties/new_pw");
        let length = Length::deserialize(schema.map_or(Value::Null, Value::take));
        let Length { min_length: min, max_length: max } = length.map_err(|error| self.unexpected(error))?;
        Ok(Bounds { min, max })
    }
}
