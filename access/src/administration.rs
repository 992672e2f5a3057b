//! The audit trail.

use tidings_core::audit::{self, AuditPage, AuditQuery, Head, Verification};

use crate::Service;
use crate::error::Result;

impl Service {
    /// Returns a page of the audit trail, latest first.
    ///
    /// # Errors
    /// Those of [`audit::list`].
    pub fn audit(&self, query: &AuditQuery) -> Result<AuditPage> {
        self.run(
            |tidings, caller| audit::list(tidings, caller, query),
            |server| {
                let AuditQuery { before, limit, action, actor, subject } = query.clone();
                let [before, limit] = [before, limit].map(|number| number.map(|number| number.to_string()));
                let query = [
                    ("before", before),
                    ("limit", limit),
                    ("action", action),
                    ("actor", actor),
                    ("subject", subject),
                ];
                server.get(&["get_audit"], &query)
            },
        )
    }

    /// Verifies the audit trail, and that it still has `head`, if given.
    ///
    /// # Errors
    /// Those of [`audit::verify`].
    pub fn verify_audit(&self, head: Option<&Head>) -> Result<Verification> {
        self.run(
            |tidings, caller| audit::verify(tidings, caller, head),
            |server| server.get(&["verify_audit"], &[("head", head.map(ToString::to_string))]),
        )
    }
}
