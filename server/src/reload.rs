//! Changes the settings of a running server.

use std::sync::Arc;

use tidings_core::config::Invalid;

use crate::config::Config;
use crate::state::App;

/// Changes the settings of a [`Server`](crate::Server), also while it serves.
#[derive(Clone)]
pub struct Handle(Arc<App>);

impl Handle {
    /// The names of the settings that [`Handle::reload`] applies.
    pub const SETTINGS: [&str; 4] = ["cors-origin", "rate-limit", "tls-cert", "tls-key"];

    pub(crate) fn new(app: &Arc<App>) -> Self {
        Self(Arc::clone(app))
    }

    /// Applies [`Handle::SETTINGS`] to requests and connections that arrive from now on, and loads the certificate again.
    /// Other settings stay as they are, and so does whether the server speaks TLS.
    ///
    /// # Errors
    /// When a setting is out of bounds, or the certificate cannot be used. Nothing has changed then.
    pub fn reload(&self, config: &Config) -> Result<(), Invalid> {
        config.check()?;
        let app = &self.0;
        let next = match (app.tls.get(), config.tls_files()) {
            (Some(tls), Some(files)) => Some((tls, tls.load_next(files)?)),
            _ => None,
        };
        app.policy.store(Arc::new(app.policy.load().changed(config)));
        if let Some((tls, next)) = next {
            tls.replace(next);
        }
        Ok(())
    }
}
