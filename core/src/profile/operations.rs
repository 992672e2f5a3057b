//! The operations of members on their own data.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Lists, TYPE_RULE, UserInfo};
use crate::config::Config;
use crate::error::{Error, Outcome, Problem, Result};
use crate::operation::{Access, Failure, Operation, Spec, Work};
use crate::schema::Switch;
use crate::{Caller, Tidings};

const GROUP: &str = "account";

/// Returns the member's information
///
/// `result` is `success`; or `not found` when the token fails.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Get {}

impl Operation for Get {
    type Answer = UserInfo;
    const SPEC: Spec = Spec::get(GROUP, "/get_userinfo", Access::Members).works(Work::Few);

    fn refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::UserNotFound.into()]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<UserInfo> {
        super::user_info(tidings, caller)
    }
}

/// Returns the member's lists
///
/// `type_num` is 0 for all lists, 1 for liked posts, 2 for viewed posts, 3 for searches, 4 for opened newsfeeds.
/// `result` is `success`; or `bad request` for any other value, or when the token fails.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetLists {
    /// The lists, 0 to 4
    // A text, because existing clients read every error of this number with status 200.
    #[schema(value_type = i64, minimum = 0, maximum = 4, examples(1))]
    pub type_num: String,
}

impl Operation for GetLists {
    type Answer = Lists;
    const SPEC: Spec = Spec::get(GROUP, "/get_specific_userinfo/{type_num}", Access::Members);

    fn refusals(_: &Config) -> Vec<Error> {
        [TYPE_RULE, Error::BadToken.problem()].map(|reason| Outcome::BadRequest.because(reason)).into()
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Lists> {
        super::lists(tidings, caller, &self.type_num)
    }
}

/// Changes the member's nickname
///
/// `result` is `success`; or `No member` when the token fails, `rewrite_nickname` when the nickname is not valid.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = NicknameFields)]
pub struct ChangeNickname {
    /// {nickname} characters.
    #[schema(examples("Ann"))]
    pub new_nickname: String,
}

impl Operation for ChangeNickname {
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/change_nickname", Access::Members);

    fn refusals(settings: &Config) -> Vec<Error> {
        let rule = Problem::nickname("new_nickname", settings.nickname_length);
        vec![Outcome::RewriteNickname.because(rule), Outcome::NoMember.because(Error::BadToken.problem())]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::change_nickname(tidings, caller, &self.new_nickname)
    }
}

/// Sets whether the app signs the member in automatically
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UpdateAutoLogin {
    /// 0 off, 1 on
    #[schema(value_type = Switch)]
    pub auto_login: i64,
}

impl Operation for UpdateAutoLogin {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/update_auto_login/{auto_login}", Access::Members).writes();

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::update_auto_login(tidings, caller, self.auto_login)
    }
}

/// Resets the measurement of the member's interests
///
/// Removes the lists of viewed posts, searches and opened newsfeeds, and shows hidden posts again. Likes stay, but no
/// longer count. `result` is `success`; or `Not found` when the token fails.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ResetMeasurement {}

impl Operation for ResetMeasurement {
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/reset_user_measurement", Access::Members).writes();

    fn refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::NotFound.because(Error::BadToken.problem())]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::reset_measurement(tidings, caller)
    }
}

/// Removes the member's own account with its lists and interests
///
/// `result` is `success`; or `Not found` when the token fails.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Remove {}

impl Operation for Remove {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/remove_mine", Access::Members).writes().or(&[Failure::LastAdministrator]);

    fn refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::NotFound.because(Error::BadToken.problem())]
    }

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::remove_mine(tidings, caller)
    }
}
