//! Whether a server is ready.

use std::time::Duration;

use serde::de::IgnoredAny;
use tidings_core::api::Readyz;

use crate::error::Result;
use crate::http::Server;

/// A server answers at once unless it hangs.
const PATIENCE: Duration = Duration::from_secs(10);

impl Server {
    /// Asks the server whether it can take requests: it runs, reads its database, and its last commit succeeded.
    ///
    /// # Errors
    /// When it is not ready, or does not answer within 10 seconds.
    pub fn ready(&self) -> Result<()> {
        let response = self.send_within("GET", &self.request_of(&Readyz {})?.path(), &[], None, PATIENCE)?;
        self.decode::<IgnoredAny>(&self.read(response)?).map(|_| ())
    }
}
