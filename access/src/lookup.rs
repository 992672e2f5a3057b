//! Looking up records by the beginning of their ids.

use tidings_core::lookup::{self, FoundIds, Kind};

use crate::Service;
use crate::error::Result;

impl Service {
    /// Returns the records of a kind that the caller sees and whose ids begin with a prefix.
    ///
    /// # Errors
    /// Those of [`lookup::find`].
    pub fn find_ids(&self, kind: Kind, prefix: &str) -> Result<FoundIds> {
        self.run(
            |tidings, caller| lookup::find(tidings, caller, kind.name(), prefix),
            |server| match kind {
                Kind::Post => server.as_reader().get(&["find_ids", kind.name(), prefix], &[]),
                Kind::Notice | Kind::Feedback => server.get(&["find_ids", kind.name(), prefix], &[]),
            },
        )
    }
}
