//! API keys and the audit trail.

use serde::Serialize;
use tidings_core::account::key::{self, Draft, Keys, NewKey, Scope};
use tidings_core::audit::{self, AuditPage, AuditQuery, Head, Verification};
use tidings_core::clock::Timestamp;

use crate::Service;
use crate::error::Result;

impl Service {
    /// Makes an API key.
    ///
    /// # Errors
    /// Those of [`key::add`].
    pub fn add_key(&self, draft: &Draft) -> Result<NewKey> {
        #[derive(Serialize)]
        struct Form<'a> {
            name: &'a str,
            scopes: &'a [Scope],
            #[serde(skip_serializing_if = "Option::is_none")]
            expires: Option<Timestamp>,
        }
        let Draft { name, scopes, expires } = draft;
        self.run(
            |tidings, caller| key::add(tidings, caller, draft),
            |server| server.post(&["add_key"], &Form { name, scopes, expires: *expires }),
        )
    }

    /// Returns the API keys.
    ///
    /// # Errors
    /// Those of [`key::list`].
    pub fn keys(&self) -> Result<Keys> {
        self.run(key::list, |server| server.get(&["get_keys"], &[]))
    }

    /// Revokes an API key, by its name or its id.
    ///
    /// # Errors
    /// Those of [`key::revoke`].
    pub fn revoke_key(&self, key: &str) -> Result<()> {
        self.run(
            |tidings, caller| key::revoke(tidings, caller, key),
            |server| server.done(&["remove_key", key]),
        )
    }

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
