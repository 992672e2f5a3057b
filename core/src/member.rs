//! The operations of administrators and API keys on members. Those of members on their own data are in [`profile`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::{self, EnrolmentCode, MemberFilter, MemberQuery, Members, RosterPage, Sessions};
use crate::config::Config;
use crate::error::{Error, Outcome, Problem, Result};
use crate::id::ObjectId;
use crate::operation::{Access, Failure, Operation, Spec, Work};
use crate::profile::{Lists, UserInfo};
use crate::schema::Switch;
use crate::scope::Scope;
use crate::{Caller, Tidings, admin, profile};

const GROUP: &str = "admin";
const READERS: Access = Access::Admins(Scope::MembersRead);
const ADMINS: Access = Access::Admins(Scope::Members);

/// Lists the members by id
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {
    /// A text that the id, the nickname or the verified name contains; case, width and accents do not matter.
    #[schema(examples("kim"))]
    pub search: Option<String>,
    /// The maximum number of members, 1 to 1,000; 100 by default.
    #[schema(minimum = 1, maximum = 1_000, examples(100))]
    pub limit: Option<i64>,
    /// The `next` of the previous page.
    #[schema(examples("ann"))]
    pub after: Option<String>,
    /// `admins` for administrators only, `blacklisted` for blacklisted members only.
    #[schema(value_type = Option<crate::schema::ListedMembers>)]
    pub only: Option<String>,
}

impl Operation for List {
    type Answer = Members;
    const SPEC: Spec = Spec::get(GROUP, "/get_members", READERS).works(Work::Query);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Members> {
        let Self { search, limit, after, only } = self;
        let only = only.as_deref().map(MemberFilter::parse).transpose()?;
        account::list(tidings, caller, &MemberQuery { search, limit, after, only })
    }
}

/// Returns a member's information
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Get {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
}

impl Operation for Get {
    type Answer = UserInfo;
    const SPEC: Spec = Spec::get(GROUP, "/get_member/{user_id}", READERS).or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<UserInfo> {
        profile::user_info_of(tidings, caller, &self.user_id)
    }
}

/// Returns the lists of a member
///
/// `type_num` is 0 for all lists, 1 for liked posts, 2 for viewed posts, 3 for searches, 4 for opened newsfeeds.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetLists {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
    /// The lists, 0 to 4
    #[schema(value_type = i64, minimum = 0, maximum = 4, examples(1))]
    pub type_num: String,
}

impl Operation for GetLists {
    type Answer = Lists;
    const SPEC: Spec =
        Spec::get(GROUP, "/get_member_lists/{user_id}/{type_num}", READERS).or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Lists> {
        profile::lists_of(tidings, caller, &self.user_id, &self.type_num)
    }
}

/// Changes a member's nickname
///
/// `result` is `success`, or `rewrite_nickname` when the nickname is not valid.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = NicknameFields)]
pub struct ChangeNickname {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
    /// {nickname} characters.
    #[schema(examples("Ann"))]
    pub new_nickname: String,
}

impl Operation for ChangeNickname {
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/change_member_nickname/{user_id}", ADMINS).or(&[Failure::Missing]);

    fn refusals(settings: &Config) -> Vec<Error> {
        let rule = Problem::nickname("new_nickname", settings.nickname_length);
        vec![Outcome::RewriteNickname.because(rule)]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        profile::change_nickname_of(tidings, caller, &self.user_id, &self.new_nickname)
    }
}

/// Sets whether the app signs a member in automatically
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UpdateAutoLogin {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
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

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        profile::update_auto_login_of(tidings, caller, &self.user_id, self.auto_login)
    }
}

/// Resets the measurement of a member's interests
///
/// Removes the lists of viewed posts, searches and opened newsfeeds, and shows hidden posts again. Likes stay, but no
/// longer count.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ResetMeasurement {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
}

impl Operation for ResetMeasurement {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/reset_member_measurement/{user_id}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        profile::reset_measurement_of(tidings, caller, &self.user_id)
    }
}

/// Sets a member's password and signs the member out everywhere
///
/// `result` is `success`, or `wrong user info` when the password is not valid. Only a person sets passwords: an API key
/// cannot.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = MemberPasswordFields)]
pub struct SetPassword {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
    /// The new password, {pw} characters.
    #[schema(examples("another long sentence"))]
    pub new_pw: String,
}

impl Operation for SetPassword {
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/set_member_password/{user_id}", Access::Persons)
        .works(Work::Password)
        .or(&[Failure::Missing]);

    fn refusals(settings: &Config) -> Vec<Error> {
        let rule = Problem::password("new_pw", settings.password_length);
        vec![Outcome::WrongUserInfo.because(rule)]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        account::set_password(tidings, caller, &self.user_id, &self.new_pw)
    }
}

/// Disables the second factor of a member who has lost it
///
/// Only a person does this: an API key cannot.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ResetOtp {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
}

impl Operation for ResetOtp {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/reset_member_otp/{user_id}", Access::Persons).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        account::reset_otp(tidings, caller, &self.user_id)
    }
}

/// Issues a code with which a member sets up a second factor where administrators need one
///
/// The code works once and for an hour, and replaces an earlier one. Administrators cannot issue one to themselves. Only a
/// person does this: an API key cannot.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IssueOtp {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
}

impl Operation for IssueOtp {
    type Answer = EnrolmentCode;
    const SPEC: Spec =
        Spec::get(GROUP, "/issue_member_otp/{user_id}", Access::Persons).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<EnrolmentCode> {
        account::issue_otp(tidings, caller, &self.user_id)
    }
}

/// Lists the roster, the members of the university, by id
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListRoster {
    /// The maximum number of entries, 1 to 1,000; 100 by default.
    #[schema(minimum = 1, maximum = 1_000, examples(100))]
    pub limit: Option<i64>,
    /// The `next` of the previous page.
    #[schema(examples("ann"))]
    pub after: Option<String>,
}

impl Operation for ListRoster {
    type Answer = RosterPage;
    const SPEC: Spec = Spec::get(GROUP, "/get_roster", READERS).works(Work::Query);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<RosterPage> {
        account::roster_page(tidings, caller, self.after.as_deref(), self.limit)
    }
}

/// Removes a member
///
/// `result` is `success`; or `Not admin`, `Not found`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Remove {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
}

impl Operation for Remove {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/admin_remove_user/{user_id}", ADMINS).writes().or(&[Failure::LastAdministrator]);

    fn refusals(_: &Config) -> Vec<Error> {
        let mut refusals: Vec<Error> = Outcome::not_admin(Scope::Members).into();
        refusals.push(Outcome::NotFound.into());
        refusals
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        admin::remove_user(tidings, caller, &self.user_id)
    }
}

/// Lists where a member is signed in
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ListSessions {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
}

impl Operation for ListSessions {
    type Answer = Sessions;
    const SPEC: Spec = Spec::get(GROUP, "/get_member_sessions/{user_id}", READERS).or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Sessions> {
        account::sessions_of(tidings, caller, &self.user_id)
    }
}

/// Signs a member out everywhere
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignOut {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
}

impl Operation for SignOut {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/sign_out_member/{user_id}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        account::sign_out_member(tidings, caller, &self.user_id, None)
    }
}

/// Signs a member out of one session
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignOutSession {
    /// The id of the member
    #[schema(min_length = 1, max_length = 1_000, examples("ann"))]
    pub user_id: String,
    /// The id of the session
    #[schema(value_type = ObjectId)]
    pub session_obi: String,
}

impl Operation for SignOutSession {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/sign_out_member_session/{user_id}/{session_obi}", ADMINS)
        .writes()
        .or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        account::sign_out_member(tidings, caller, &self.user_id, Some(&self.session_obi))
    }
}
