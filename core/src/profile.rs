//! A member's data: names, the four lists, and the measurement of interest. `of_member` has the operations of administrators
//! on the data of any member.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::Authority;
use crate::account::{self, Call, Identity, Member, Transaction};
use crate::base::clock::Timestamp;
use crate::base::config::{Config, NICKNAME_LENGTH};
use crate::record::answer::{self, Encoded, Ready};
use crate::record::error::{Error, Outcome, Pending, Problem, Result};
use crate::record::operation::{Access, Failure, Operation, Spec, Work};
use crate::record::schema::Switch;
use crate::removal;
use crate::store::{GatheredReads, Isolation, Store, StoreError, Topic, Tx};

pub(crate) mod history;
pub(crate) mod likes;
mod list_cache;
mod listed;
pub(crate) mod of_member;
mod record_cache;
mod records;

pub(crate) use list_cache::ListCache;
pub(crate) use listed::Listed;

pub use records::{JsonList, NewsfeedAccess, PostRecord, SearchRecord, TokenList};

const GROUP: &str = "account";

pub(crate) struct State {
    pub(crate) user_infos: UserInfos,
    pub(crate) lists: Arc<ListCache>,
    pub(crate) recent_likes: likes::RecentLikes,
}

impl State {
    pub(crate) fn new(store: &Arc<Store>) -> Self {
        let lists = Arc::default();
        Self { user_infos: UserInfos::new(store, &lists), lists, recent_likes: likes::RecentLikes::default() }
    }
}

/// The maximum number of entries of each list. Older entries are deleted, except likes, which are only not returned.
pub const LIST_MAX: i64 = 300;

/// Tokens of a liked post in [`UserInfo`], which apps request often; those of the title come first. [`GetLists`] has all of them.
const TOKENS_SHOWN: usize = 32;

/// The answer of `get_userinfo`.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct UserInfo {
    /// The id as registered.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub user_id: String,
    /// The name that the university verified; the nickname of a member who never verified.
    #[schema(max_length = 1_000_000, examples("Ann Miller"))]
    pub user_name: String,
    /// The subject that the university verified, or `""`.
    #[schema(max_length = 128, examples("Physics"))]
    pub user_major: String,
    /// The nickname.
    #[schema(max_length = 1_000_000, examples("Ann"))]
    pub nickname: String,
    /// The nickname again, under the name that existing clients read.
    #[schema(max_length = 1_000_000, examples("Ann"))]
    pub user_nickname: String,
    /// The liked posts, newest first, at most 300, each with the first 32 of its tokens.
    pub user_fav_list: Vec<PostRecord>,
    /// Whether the app signs the member in automatically: 0 or 1.
    #[schema(value_type = Switch)]
    pub auto_login: i64,
    /// Whether the member is an administrator: 0 or 1.
    #[schema(value_type = Switch)]
    pub admin: i64,
}

/// Get the member's information
///
/// `result` is `success`; or `not found` for a missing or invalid token.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Get {}

impl Operation for Get {
    type Answer = Ready<UserInfo>;
    const SPEC: Spec = Spec::get(GROUP, "/get_userinfo", Access::Members).works(Work::Few).tagged();

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::UserNotFound.into()]
    }

    fn run(self, call: &Call<'_>) -> Result<Ready<UserInfo>> {
        call.tidings().profile().user_infos.0.submit(call.authority()).wait()
    }

    /// On a database server, many of these reads run together.
    fn start(self, call: &Call<'_>) -> Result<Pending<Ready<UserInfo>>, Self> {
        let tidings = call.tidings();
        if tidings.is_on_server() {
            Ok(tidings.profile().user_infos.0.submit(call.authority()))
        } else {
            Err(self)
        }
    }

    fn shared(answer: &Ready<UserInfo>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }
}

pub(crate) struct UserInfos(GatheredReads<Authority, Ready<UserInfo>, Error>);

impl UserInfos {
    pub(crate) fn new(store: &Arc<Store>, lists: &Arc<ListCache>) -> Self {
        let lists = Arc::clone(lists);
        Self(GatheredReads::new(store, move |tx, identities| {
            let callers: Vec<&Identity> =
                identities.iter().map(|authority: &Authority| &**authority).collect();
            let members = Identity::ask_visitors(tx, callers)?.answer(tx)?;
            let found: Vec<&Member<'_>> = members.iter().flatten().collect();
            let mut infos = user_infos(tx, &found, &lists)?.into_iter();
            Ok(members
                .iter()
                .map(|member| member.as_ref().and_then(|_| infos.next()).ok_or(Outcome::UserNotFound.into()))
                .collect())
        }))
    }
}

fn user_infos(
    tx: &mut dyn Tx,
    members: &[&Member<'_>],
    lists: &ListCache,
) -> Result<Vec<Ready<UserInfo>>, StoreError> {
    const LISTS: [Listed; 1] = [Listed::Favourites];
    let (infos, acts): (Vec<_>, _) = sql::user_infos(tx, members)?.into_iter().unzip();
    let versions = lists.versions(tx, acts, &LISTS)?;
    let answers = members.iter().zip(versions).zip(infos).map(|((member, versions), info)| {
        lists.answer(tx, member, versions, answer::success(&info), &LISTS).map(Ready::new)
    });
    answers.collect()
}

/// The requested lists of a member.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Lists {
    /// The id as registered.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub user_id: String,
    /// Liked posts, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fav_list: Option<Vec<PostRecord>>,
    /// Viewed posts, each once, the most recently viewed first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view_list: Option<Vec<PostRecord>>,
    /// Searches, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_list: Option<Vec<SearchRecord>>,
    /// Opened newsfeeds, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newsfeed_list: Option<Vec<NewsfeedAccess>>,
}

/// The rule of `type_num`.
pub const TYPE_RULE: Problem = Problem::invalid("type_num", "type_num is 0 to 4");

/// Get the member's lists
///
/// `type_num` is 0 for all lists, 1 for liked posts, 2 for viewed posts, 3 for searches, 4 for opened newsfeeds.
/// `result` is `success`; or `bad request` for any other value and for a missing or invalid token.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetLists {
    /// The lists, 0 to 4
    // A text, because existing clients read every error of this number with status 200.
    #[schema(value_type = i64, minimum = 0, maximum = 4, examples(1))]
    pub type_num: String,
}

impl Operation for GetLists {
    type Answer = Ready<Lists>;
    const SPEC: Spec = Spec::get(GROUP, "/get_specific_userinfo/{type_num}", Access::Members)
        .tagged()
        .refused_with(Outcome::BadRequest);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::BadRequest.because(TYPE_RULE)]
    }

    fn run(self, call: &Call<'_>) -> Result<Ready<Lists>> {
        let identity = call.authority();
        let wanted = Wanted::parse(&self.type_num).ok_or(Outcome::BadRequest.because(TYPE_RULE))?;
        call.store().read(|tx| {
            let member = identity.member(tx)?;
            wanted.read(tx, &member, &call.tidings().profile().lists)
        })
    }

    fn shared(answer: &Ready<Lists>) -> Option<&Arc<Encoded>> {
        Some(answer.encoded())
    }
}

#[derive(Clone, Copy)]
struct Wanted(u8);

impl Wanted {
    fn parse(type_num: &str) -> Option<Self> {
        type_num.parse().ok().filter(|n| *n <= 4).map(Self)
    }

    fn read(self, tx: &mut dyn Tx, member: &Member<'_>, lists: &ListCache) -> Result<Ready<Lists>> {
        let wants = |list: u8| self.0 == 0 || self.0 == list;
        let frame = Lists {
            user_id: member.id.clone(),
            fav_list: wants(1).then(Vec::new),
            view_list: wants(2).then(Vec::new),
            search_list: wants(3).then(Vec::new),
            newsfeed_list: wants(4).then(Vec::new),
        };
        let listed = [(1, Listed::Liked), (2, Listed::Viewed), (3, Listed::Searched), (4, Listed::Opened)];
        let listed: Vec<Listed> =
            listed.into_iter().filter(|(list, _)| wants(*list)).map(|(_, listed)| listed).collect();
        Ok(Ready::new(lists.of_member(tx, member, answer::success(&frame), &listed)?))
    }
}

/// Change the member's nickname
///
/// `result` is `success`; or `No member` for a missing or invalid token, `rewrite_nickname` when the nickname is not valid.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = NicknameFields)]
pub struct ChangeNickname {
    /// {nickname} characters.
    #[schema(examples("Ann"))]
    pub new_nickname: String,
}

impl Transaction for ChangeNickname {
    type By = Member<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/change_nickname", Access::Members).refused_with(Outcome::NoMember);
    // Its commit changes one row, to a value that does not depend on the row.
    const ISOLATION: Isolation = Isolation::Concurrent;

    fn documented_refusals(_: &Config) -> Vec<Error> {
        let rule = Problem::nickname("new_nickname", NICKNAME_LENGTH);
        vec![Outcome::RewriteNickname.because(rule)]
    }
    fn run(&self, tx: &mut dyn Tx, member: &Member<'_>, _: &Identity) -> Result<()> {
        set_nickname(tx, member, &self.new_nickname)
    }
}

fn set_nickname(tx: &mut dyn Tx, member: &Member<'_>, nickname: &str) -> Result<()> {
    let rule = || Outcome::RewriteNickname.because(Problem::nickname("new_nickname", NICKNAME_LENGTH));
    sql::set_nickname(tx, member, &account::nickname(nickname).ok_or_else(rule)?);
    Ok(())
}

/// Set the app's automatic sign-in
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct UpdateAutoLogin {
    /// 0 off, 1 on
    #[schema(value_type = Switch)]
    pub auto_login: i64,
}

impl Transaction for UpdateAutoLogin {
    type By = Member<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/update_auto_login/{auto_login}", Access::Members).writes();
    // Its commit changes one row, to a value that does not depend on the row.
    const ISOLATION: Isolation = Isolation::Concurrent;
    fn run(&self, tx: &mut dyn Tx, member: &Member<'_>, _: &Identity) -> Result<()> {
        set_auto_login(tx, member, self.auto_login)
    }
}

fn set_auto_login(tx: &mut dyn Tx, member: &Member<'_>, auto_login: i64) -> Result<()> {
    if !matches!(auto_login, 0 | 1) {
        return Err(Error::BadRequest(Problem::invalid("auto_login", "auto_login is 0 or 1")));
    }
    sql::set_auto_login(tx, member, auto_login);
    Ok(())
}

/// Reset the measured interests
///
/// Removes the lists of viewed posts, searches and opened newsfeeds, and shows hidden posts again. Likes stay, but no
/// longer count. `result` is `success`; or `Not found` for a missing or invalid token.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ResetMeasurement {}

impl Transaction for ResetMeasurement {
    type By = Member<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/reset_user_measurement", Access::Members).writes().refused_with(Outcome::NotFound);

    fn run(&self, tx: &mut dyn Tx, member: &Member<'_>, identity: &Identity) -> Result<()> {
        reset(tx, member, identity.now())
    }
}

fn reset(tx: &mut dyn Tx, member: &Member<'_>, now: Timestamp) -> Result<()> {
    history::forget(tx, member)?;
    // Likes with the current millisecond were given before the reset.
    sql::set_measured(tx, member, now + 1)?;
    history::acted(tx, member);
    Ok(())
}

/// Remove the member's own account
///
/// `result` is `success`; or `Not found` for a missing or invalid token.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Remove {}

impl Transaction for Remove {
    type By = Member<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/remove_mine", Access::Members)
        .writes()
        .or(&[Failure::LastAdministrator])
        .refused_with(Outcome::NotFound);

    fn run(&self, tx: &mut dyn Tx, member: &Member<'_>, _: &Identity) -> Result<()> {
        removal::remove(tx, member)
    }
}

mod sql {
    use super::{Member, StoreError, Topic, Tx, UserInfo};
    use crate::base::clock::Timestamp;
    use crate::store::{Row, Value, row_each};

    /// Without likes; also the revisions of the members' acts.
    pub(super) fn user_infos(
        tx: &mut dyn Tx,
        members: &[&Member<'_>],
    ) -> Result<Vec<(UserInfo, i64)>, StoreError> {
        let sql = "SELECT name, major, nickname, auto_login,
                          coalesce((SELECT revision FROM member_acts WHERE member = $1), 0)
                   FROM member WHERE key = $1";
        let keys: Vec<_> = members.iter().map(|member| [member.key.into()]).collect();
        let info = |(member, row): (&&Member<'_>, Option<Row>)| {
            // The transaction has found the member.
            let mut row = row.ok_or_else(|| StoreError::other("a member has no row"))?;
            let (name, major): (Option<String>, Option<String>) = (row.take(0)?, row.take(1)?);
            let nickname: String = row.take(2)?;
            let info = UserInfo {
                user_id: member.id.clone(),
                user_name: name.unwrap_or_else(|| nickname.clone()),
                user_major: major.unwrap_or_default(),
                user_nickname: nickname.clone(),
                nickname,
                user_fav_list: Vec::new(),
                auto_login: row.take(3)?,
                admin: member.admin.into(),
            };
            Ok((info, row.take(4)?))
        };
        members.iter().zip(row_each(tx, sql, &keys)?).map(info).collect()
    }

    pub(super) fn set_nickname(tx: &mut dyn Tx, member: &Member<'_>, nickname: &str) {
        let sql = "UPDATE member SET nickname = $2 WHERE key = $1";
        tx.set_at_commit(sql, member.key.as_i64(), Value::Text(nickname.to_owned()));
        tx.touch(Topic::Members);
    }

    pub(super) fn set_auto_login(tx: &mut dyn Tx, member: &Member<'_>, auto_login: i64) {
        let sql = "UPDATE member SET auto_login = $2 WHERE key = $1";
        tx.set_at_commit(sql, member.key.as_i64(), Value::Integer(auto_login));
    }

    pub(super) fn set_measured(
        tx: &mut dyn Tx,
        member: &Member<'_>,
        measured: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE member SET measured_since = $2 WHERE key = $1";
        tx.run(sql, &[member.key.into(), measured.into()])?;
        Ok(())
    }
}
