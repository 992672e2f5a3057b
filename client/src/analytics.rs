//! The figures of the traffic, and the state of the service.

use tidings_core::analysis::{self, Window};
use tidings_core::clock::Timestamp;
use tidings_core::status;

use crate::Service;
use crate::error::Result;

impl Service {
    /// Returns the number of communications of crawlers; `None` if the caller of a server may not see it.
    ///
    /// # Errors
    /// Those of [`analysis::crawled`].
    pub fn crawled(&self) -> Result<Option<i64>> {
        self.run(
            |tidings, _| analysis::crawled(tidings).map(Some),
            |server| Ok(server.call(&status::Get {}).ok().map(|status| status.crawled)),
        )
    }

    /// Returns the name of the time zone in which days are counted; `None` if the caller of a server may not see it.
    pub fn zone(&self) -> Option<String> {
        let zone = self
            .run(|tidings, _| Ok(analysis::zone(tidings)), |server| Ok(server.call(&status::Get {})?.zone));
        zone.ok()
    }

    /// Returns the start of a period that ends now.
    ///
    /// # Errors
    /// Those of [`analysis::since`].
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
}
