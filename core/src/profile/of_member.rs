//! The data of any member, for administrators and API keys. Changes are in the audit trail.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Lists, NewNickname, TYPE_RULE, UserInfo, Wanted, reset, set_auto_login, user_infos};
use crate::account::{Admin, Call, Member, find};
use crate::audit::trail::{Action, Entry};
use crate::base::config::{Config, NICKNAME_LENGTH};
use crate::record::answer::{Encoded, Ready};
use crate::record::error::{Error, Outcome, Problem, Result};
use crate::record::operation::{Access, Failure, Operation, Spec};
use crate::record::schema::Switch;
use crate::record::scope::Scope;
use crate::store::{Isolation, StoreError, Tx};

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

impl Operation for ChangeNickname {
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/change_member_nickname/{user_id}", ADMINS).or(&[Failure::Missing]);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        let rule = Problem::nickname("new_nickname", NICKNAME_LENGTH);
        vec![Outcome::RewriteNickname.because(rule)]
    }

    fn run(self, call: &Call<'_>) -> Result<()> {
        let nickname = NewNickname::parse(&self.new_nickname);
        // The audit trail does not have nicknames: they are names of people.
        let entry = Entry::new(Action::MemberNickname);
        change(call, self.user_id, entry, move |tx, member| nickname.set(tx, member))
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

impl Operation for UpdateAutoLogin {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/update_member_auto_login/{user_id}/{auto_login}", ADMINS)
        .writes()
        .or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<()> {
        let entry = Entry::new(Action::MemberAutoLogin).after(if self.auto_login == 1 { "1" } else { "0" });
        change(call, self.user_id, entry, move |tx, member| set_auto_login(tx, member, self.auto_login))
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

impl Operation for ResetMeasurement {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/reset_member_measurement/{user_id}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<()> {
        let now = call.now();
        change(call, self.user_id, Entry::new(Action::MemberReset), move |tx, member| reset(tx, member, now))
    }
}

fn change(
    call: &Call<'_>,
    user_id: String,
    entry: Entry<'static>,
    change: impl Fn(&mut dyn Tx, &Member<'_>) -> Result<()> + Send + 'static,
) -> Result<()> {
    let identity = call.authority();
    call.store().write(Isolation::Alone, move |tx| {
        let admin = identity.admin(tx)?;
        let member = of_member(tx, &admin, &user_id)?;
        change(tx, &member)?;
        Ok(admin.record(tx, entry.on_member(member.key))?)
    })
}

fn of_member<'tx>(tx: &mut dyn Tx, admin: &Admin<'tx>, user_id: &str) -> Result<Member<'tx>> {
    Ok(admin.act_for(find(tx, user_id)?.ok_or(Error::NotFound)?))
}
