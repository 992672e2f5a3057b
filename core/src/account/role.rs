//! Roles: what members may administer without being administrators. The role of a member is a set of scopes, which allow what they
//! allow an API key. It is read with the member's row, so a change counts from the next transaction on. An administrator may have
//! a role; it has no effect until the rights of administrators are revoked.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Scopes, find, fold};

use crate::account::{Admin, Call, Identity, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::record::error::{Error, Result};
use crate::record::operation::{Access, Failure, Operation, Spec};
use crate::record::scope::Scope;
use crate::store::Tx;

#[cfg(test)]
mod tests;

const GROUP: &str = "admin";

/// The role of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Role {
    /// What the member may do besides what every member may; empty without a role. An administrator may do everything,
    /// whatever the role is.
    #[schema(value_type = Vec<Scope>, max_items = 100)]
    pub scopes: Vec<Scope>,
}

/// Get a member's role
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetRole {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Operation for GetRole {
    type Answer = Role;
    const SPEC: Spec = Spec::get(GROUP, "/get_member_role/{user_id}", Access::Own(Scope::MembersRead))
        .or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<Role> {
        let identity = call.authority();
        call.store().read(|tx| {
            identity.admin_or_own(tx, &fold(&self.user_id))?;
            let member = find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
            Ok(Role { scopes: member.scopes.into() })
        })
    }
}

/// Set a member's role; idempotent
///
/// The member may then do what the scopes allow an API key, from the next request on, also with an earlier token. Only
/// administrators do this: no key and no role allows it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = RoleFields)]
pub struct SetRole {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
    /// What the member may do besides what every member may: names of scopes. None remove the role.
    #[schema(value_type = Vec<Scope>, max_items = 100)]
    pub scopes: Vec<String>,
}

impl Transaction for SetRole {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::post(GROUP, "/set_member_role/{user_id}", Access::Persons).or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let scopes = Scopes::parse(&self.scopes);
        let scopes = scopes.as_ref().map_err(|rule| Error::BadRequest(*rule))?;
        let member = find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
        if member.scopes == *scopes {
            return Ok(());
        }
        sql::set(tx, member.key, scopes)?;
        let (before, after) = (member.scopes.stored(), scopes.stored());
        let entry = Entry::new(Action::MemberRole).on_member(member.key);
        Ok(admin.record(tx, entry.change(before.as_deref(), after.as_deref()))?)
    }
}

pub(crate) mod sql {
    use super::Scopes;
    use crate::record::id::MemberKey;
    use crate::store::{StoreError, Topic, Tx};

    pub(crate) fn set(tx: &mut dyn Tx, key: MemberKey, scopes: &Scopes) -> Result<(), StoreError> {
        let stored = scopes.stored();
        tx.run("UPDATE member SET scopes = $2 WHERE key = $1", &[key.into(), stored.as_ref().into()])?;
        tx.touch(Topic::Members);
        Ok(())
    }
}
