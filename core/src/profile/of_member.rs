//! The data of any member, for administrators and API keys. Changes are in the audit trail.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Lists, TYPE_RULE, UserInfo, Wanted, reset, set_auto_login, set_nickname, user_infos};
use crate::account::{Admin, Call, Identity, Member, Transaction, find};
use crate::audit::trail::{Action, Entry};
use crate::base::config::{Config, NICKNAME_LENGTH};
use crate::record::answer::{Encoded, Ready};
use crate::record::error::{Error, Outcome, Problem, Result};
use crate::record::operation::{Access, Failure, Operation, Spec};
use crate::record::schema::Switch;
use crate::record::scope::Scope;
use crate::store::{StoreError, Tx};

const GROUP: &str = "admin";
const READERS: Access = Access::Admins(Scope::MembersRead);
const ADMINS: Access = Access::Admins(Scope::Members);

/// Get a member's information
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Get {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Operation for Get {
    type Answer = Ready<UserInfo>;
    const SPEC: Spec = Spec::get(GROUP, "/get_member/{user_id}", READERS).or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<Ready<UserInfo>> {
        let identity = call.authority();
        call.store().read(|tx| {
            let admin = identity.admin(tx)?;
            let member = of_member(tx, &admin, &self.user_id)?;
            let info = user_infos(tx, &[&member], &call.tidings().profile().lists)?.pop();
            Ok(info.ok_or_else(|| StoreError::other("a member has no row"))?)
        })
    }

    fn shared(answer: &Ready<UserInfo>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }
}

/// Get a member's lists
///
/// `type_num` is 0 for all lists, 1 for liked posts, 2 for viewed posts, 3 for searches, 4 for opened newsfeeds.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetLists {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
    /// The lists, 0 to 4
    #[schema(value_type = i64, minimum = 0, maximum = 4, examples(1))]
    pub type_num: String,
}

impl Operation for GetLists {
    type Answer = Ready<Lists>;
    const SPEC: Spec =
        Spec::get(GROUP, "/get_member_lists/{user_id}/{type_num}", READERS).or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<Ready<Lists>> {
        let identity = call.authority();
        call.store().read(|tx| {
            let admin = identity.admin(tx)?;
            let wanted = Wanted::parse(&self.type_num).ok_or(Error::BadRequest(TYPE_RULE))?;
            let member = of_member(tx, &admin, &self.user_id)?;
            wanted.read(tx, &member, &call.tidings().profile().lists)
        })
    }

    fn shared(answer: &Ready<Lists>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }
}

/// Change a member's nickname
///
/// `result` is `success`, or `rewrite_nickname` when the nickname is not valid.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = NicknameFields)]
pub struct ChangeNickname {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
    /// {nickname} characters.
    #[schema(examples("Ann"))]
    pub new_nickname: String,
}

impl Transaction for ChangeNickname {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/change_member_nickname/{user_id}", ADMINS).or(&[Failure::Missing]);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        let rule = Problem::nickname("new_nickname", NICKNAME_LENGTH);
        vec![Outcome::RewriteNickname.because(rule)]
    }

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let member = of_member(tx, admin, &self.user_id)?;
        set_nickname(tx, &member, &self.new_nickname)?;
        // The audit trail does not have nicknames: they are names of people.
        Ok(admin.record(tx, Entry::new(Action::MemberNickname).on_member(member.key))?)
    }
}

/// Set a member's automatic sign-in
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UpdateAutoLogin {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
    /// 0 off, 1 on
    #[schema(value_type = Switch)]
    pub auto_login: i64,
}

impl Transaction for UpdateAutoLogin {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/update_member_auto_login/{user_id}/{auto_login}", ADMINS)
        .writes()
        .or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let member = of_member(tx, admin, &self.user_id)?;
        set_auto_login(tx, &member, self.auto_login)?;
        let entry = Entry::new(Action::MemberAutoLogin).on_member(member.key);
        Ok(admin.record(tx, entry.after(if self.auto_login == 1 { "1" } else { "0" }))?)
    }
}

/// Reset a member's measured interests
///
/// Removes the lists of viewed posts, searches and opened newsfeeds, and shows hidden posts again. Likes stay, but no
/// longer count.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ResetMeasurement {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for ResetMeasurement {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/reset_member_measurement/{user_id}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<()> {
        let member = of_member(tx, admin, &self.user_id)?;
        reset(tx, &member, identity.now())?;
        Ok(admin.record(tx, Entry::new(Action::MemberReset).on_member(member.key))?)
    }
}

fn of_member<'tx>(tx: &mut dyn Tx, admin: &Admin<'tx>, user_id: &str) -> Result<Member<'tx>> {
    Ok(admin.act_for(find(tx, user_id)?.ok_or(Error::NotFound)?))
}
