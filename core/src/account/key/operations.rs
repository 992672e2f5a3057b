use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    EXPIRED, EXPIRES_RULE, KEYS_MAX, KeyHash, Keys, NAME, NAME_RULE, NAME_TAKEN, NO_SCOPE, NewKey, Scope,
    Scopes, TOO_MANY, generate, sql,
};
use crate::account::{Admin, Identity, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::base::clock::Timestamp;
use crate::base::text;
use crate::record::error::{Error, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Spec};
use crate::store::{StoreError, Tx};

const GROUP: &str = "admin";

/// List API keys
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {}

impl Transaction for List {
    type By = Admin<'static>;
    type Answer = Keys;
    const SPEC: Spec = Spec::get(GROUP, "/get_keys", Access::Persons);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<Keys> {
        Ok(Keys { keys: sql::list(tx, admin)? })
    }
}

/// Add an API key
///
/// A program sends it in place of a token. The key is not shown again. Only administrators make keys: no API key and no role allows
/// it.
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

impl Transaction for Add {
    type By = Admin<'static>;
    type Answer = NewKey;
    const SPEC: Spec = Spec::post(GROUP, "/add_key", Access::Persons);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<NewKey> {
        let now = identity.now();
        let expires = self.expires.as_deref().filter(|text| !text.is_empty());
        let expiry = |text| Timestamp::parse(text).ok_or(Error::BadRequest(EXPIRES_RULE));
        let expires = expires.map(expiry).transpose()?;
        let scopes = Scopes::parse(&self.scopes).map_err(Error::BadRequest)?;
        let name = text::name(self.name.trim(), NAME).ok_or(Error::BadRequest(NAME_RULE))?;
        let names = scopes.stored().ok_or(Error::BadRequest(NO_SCOPE))?;
        if expires.is_some_and(|end| end <= now) {
            return Err(Error::BadRequest(EXPIRED));
        }
        if sql::count(tx)? >= KEYS_MAX {
            return Err(Error::BadRequest(TOO_MANY));
        }
        let (id, key) = (ObjectId::at(now), generate());
        let hash = KeyHash::of(&key).ok_or_else(|| Error::Internal("a new key has another form".into()))?;
        match sql::insert(tx, admin, &id.to_string(), &name, hash, &names, now, expires) {
            Err(StoreError::Duplicate) => return Err(Error::BadRequest(NAME_TAKEN)),
            inserted => inserted?,
        }
        admin.record(tx, Entry::new(Action::KeyAdd).on(&name).after(&names))?;
        Ok(NewKey { id, key })
    }
}

/// Revoke an API key
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Revoke {
    /// The id of the key, or its name
    #[schema(min_length = 1, max_length = 1_000, examples("importer"))]
    pub key_obi: String,
}

impl Transaction for Revoke {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/remove_key/{key_obi}", Access::Persons).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let name = sql::remove(tx, admin, &self.key_obi)?.ok_or(Error::NotFound)?;
        Ok(admin.record(tx, Entry::new(Action::KeyRevoke).on(&name))?)
    }
}
