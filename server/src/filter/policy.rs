//! The rules for requests that a running server can change: the origins that may read responses, and the rate limits.

use crate::config::Config;
use crate::filter::cors::Cors;
use crate::filter::limit::Limits;

/// A request has the rules that were in force when it arrived.
pub(crate) struct Policy {
    pub(crate) cors: Cors,
    pub(crate) limits: Limits,
}

impl Policy {
    pub(crate) fn new(config: &Config) -> Self {
        Self { cors: Cors::new(&config.cors_origins), limits: Limits::new(config) }
    }

    /// Clients keep the used part of a limit that does not change.
    pub(crate) fn changed(&self, config: &Config) -> Self {
        Self { cors: Cors::new(&config.cors_origins), limits: self.limits.changed(config) }
    }
}
