//! The operations on API keys.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Draft, Keys, NewKey, SCOPE_RULE};
use crate::error::{Error, Result};
use crate::operation::{Access, Failure, Operation, Spec};
use crate::scope::Scope;
use crate::{Caller, Tidings};

const GROUP: &str = "admin";

/// Lists the API keys, without their secrets
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {}

impl Operation for List {
    type Answer = Keys;
    const SPEC: Spec = Spec::get(GROUP, "/get_keys", Access::Persons);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Keys> {
        super::list(tidings, caller)
    }
}

/// Makes an API key, which a program sends in place of a token
///
/// The key is not shown again. Only a person makes keys: an API key cannot.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = KeyFields)]
pub struct Add {
    /// What the key is for, 1 to 50 characters on one line. No two keys have the same name.
    #[schema(min_length = 1, max_length = 50, examples("importer"))]
    pub name: String,
    /// What the key may do: names of scopes, at least one.
    #[schema(value_type = Vec<Scope>, min_items = 1, max_items = 100)]
    pub scopes: Vec<String>,
    /// The date from which on the key fails, RFC 3339; never by default.
    #[schema(max_length = 100, examples("2036-11-20T00:00:00Z"))]
    pub expires: Option<String>,
}

impl Add {
    fn draft(self) -> Result<Draft> {
        let scopes = self.scopes.iter().map(|name| name.parse().map_err(|_| Error::BadRequest(SCOPE_RULE)));
        let expires =
            self.expires.as_deref().filter(|text| !text.is_empty()).map(super::expiry).transpose()?;
        Ok(Draft { scopes: scopes.collect::<Result<_>>()?, expires, name: self.name })
    }
}

impl Operation for Add {
    type Answer = NewKey;
    const SPEC: Spec = Spec::post(GROUP, "/add_key", Access::Persons);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<NewKey> {
        match self.draft() {
            Ok(draft) => super::add(tidings, caller, &draft),
            // Who may not make keys learns nothing about them.
            Err(error) => super::list(tidings, caller).and(Err(error)),
        }
    }
}

/// Revokes an API key: its next request fails
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Revoke {
    /// The id of the key, or its name
    #[schema(min_length = 1, max_length = 1_000, examples("importer"))]
    pub key_obi: String,
}

impl Operation for Revoke {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/remove_key/{key_obi}", Access::Persons).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::revoke(tidings, caller, &self.key_obi)
    }
}
