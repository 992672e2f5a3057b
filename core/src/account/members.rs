//! Administrators' operations on members: listing them, acting as or for a member, and setting a member's password.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::credential::{email, oidc, passkey};
use super::{Caller, check_new_password, find, fold, revoke_tokens};

use crate::Tidings;
use crate::account::Call;
use crate::audit::trail::{Action, Entry};
use crate::base::clock::Timestamp;
use crate::base::config::Config;
use crate::mail::outbox::Kind;
use crate::record::answer;
use crate::record::error::{Error, Outcome, Problem, Result};
use crate::record::operation::{Access, Failure, Operation, Spec, Work};
use crate::record::schema::{Switch, one_of, schemas};
use crate::record::scope::Scope;
use crate::store::Isolation;

#[cfg(test)]
mod tests;

/// The maximum number of members on a page of the list.
pub const MEMBERS_MAX: i64 = 1_000;
const MEMBERS: i64 = 100;
/// The largest page that is not recorded as mass reading: what a screen shows at first.
pub(super) const READING: i64 = 200;

impl Caller {
    /// Returns the caller that acts as the member `id`, with exactly that member's rights. The program that embeds the
    /// service decides who may do this; in the command line it is the operator.
    ///
    /// # Errors
    /// `Not found` if no member has this id; `blacklist user` if the member is blacklisted.
    pub fn acting_as(tidings: &Tidings, id: &str) -> Result<Self> {
        tidings.store().read(|tx| match find(tx, id)? {
            None => Err(Error::NotFound),
            Some(member) if member.blacklisted => Err(Outcome::BlacklistUser.into()),
            Some(member) => Ok(Self::Member(member.id)),
        })
    }

    /// Resolves the caller of an operation on the account of the member `id`. The operator may act on any account,
    /// including a blacklisted member's; a member only on their own.
    ///
    /// # Errors
    /// `Not found` if the operator names an unknown member; `Not admin` if a member names another account; `bad token` for
    /// every other caller.
    pub fn on_behalf_of(&self, tidings: &Tidings, id: &str) -> Result<Self> {
        let identity = self.identify(tidings);
        tidings.store().read(|tx| {
            let acting = if identity.is_operator() { None } else { Some(identity.member(tx)?.key) };
            let member = find(tx, id)?;
            if acting.is_some() && acting != member.as_ref().map(|member| member.key) {
                return Err(Error::Forbidden);
            }
            Ok(Self::Member(member.ok_or(Error::NotFound)?.id))
        })
    }
}

/// The members that [`List`] is restricted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberFilter {
    /// Administrators, including blacklisted ones.
    Admins,
    /// Blacklisted members.
    Blacklisted,
    /// Members with a role, including administrators and blacklisted members.
    Roles,
}

schemas! {
    MemberFilter = one_of(MemberFilter::ALL.map(MemberFilter::as_str));
}

impl MemberFilter {
    /// All filters.
    pub const ALL: [Self; 3] = [Self::Admins, Self::Blacklisted, Self::Roles];

    /// Returns its text in a request.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admins => "admins",
            Self::Blacklisted => "blacklisted",
            Self::Roles => "roles",
        }
    }

    fn parse(text: &str) -> Result<Self> {
        const RULE: Problem = Problem::invalid("only", "only is admins, blacklisted or roles");
        let found = Self::ALL.into_iter().find(|only| only.as_str() == text);
        found.ok_or(Error::BadRequest(RULE))
    }
}

/// A page of members.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Members {
    /// The members, by id.
    pub members: Vec<MemberEntry>,
    /// The `after` of the next page; `null` on the last page.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub next: Option<String>,
}

/// A member in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemberEntry {
    /// The id as registered.
    #[schema(max_length = 1_000_000, examples("ann"))]
    pub user_id: String,
    /// The nickname.
    #[schema(max_length = 1_000_000, examples("Ann"))]
    pub nickname: String,
    /// The name that the university verified; the nickname of a member who never verified.
    #[schema(max_length = 1_000_000, examples("Ann Lee"))]
    pub user_name: String,
    /// The subject that the university verified, or `""`.
    #[schema(max_length = 128, examples("Physics"))]
    pub user_major: String,
    /// Whether the member is an administrator: 0 or 1.
    #[schema(value_type = Switch)]
    pub admin: i64,
    /// Whether the member is blacklisted: 0 or 1.
    #[schema(value_type = Switch)]
    pub blacklisted: i64,
    /// The date when the member signed up.
    pub date: Timestamp,
    /// The scopes of the member's role; empty without one.
    #[serde(default)]
    #[schema(required, value_type = Vec<Scope>, max_items = 100)]
    pub scopes: Vec<Scope>,
}

/// List the members by id
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
    /// `admins` for administrators only, `blacklisted` for blacklisted members only, `roles` for members with a role only.
    #[schema(value_type = Option<MemberFilter>)]
    pub only: Option<String>,
}

impl Operation for List {
    type Answer = Members;
    const SPEC: Spec =
        Spec::get("admin", "/get_members", Access::Admins(Scope::MembersRead)).works(Work::Query);

    fn run(self, call: &Call<'_>) -> Result<Members> {
        let identity = call.authority();
        let only = self.only.as_deref().map(MemberFilter::parse).transpose()?;
        let limit = self.limit.unwrap_or(MEMBERS);
        let after = self.after.as_deref().map(fold).unwrap_or_default();
        if self.after.is_some() || (READING + 1..=MEMBERS_MAX).contains(&limit) {
            identity.record_reading(call.tidings(), Scope::MembersRead, Action::MemberList)?;
        }
        call.store().read(|tx| {
            let admin = identity.admin(tx)?;
            if !(1..=MEMBERS_MAX).contains(&limit) {
                return Err(Error::BadRequest(Problem::invalid("limit", "limit is 1 to 1,000")));
            }
            // One more than the page has, to detect whether another page follows.
            let mut members = sql::list(tx, &admin, self.search.as_deref(), only, &after, limit + 1)?;
            let next = answer::cut(&mut members, limit).map(|member| member.user_id.clone());
            Ok(Members { members, next })
        })
    }
}

/// Remove a member's other sign-ins
///
/// Removes the passkeys and the single sign-on of the member, and signs the member out everywhere. For an account of which somebody
/// else may have got hold: a new password alone leaves these. The member signs in with the password, and adds them again. Only
/// administrators do this: no API key and no role allows it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ResetSignIns {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Operation for ResetSignIns {
    type Answer = ();
    const SPEC: Spec = Spec::get("admin", "/reset_member_sign_ins/{user_id}", Access::Persons)
        .writes()
        .or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<()> {
        let (identity, note) = (call.authority(), email::Note::new(call.tidings(), Kind::SignInChanged));
        call.store().write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx)?;
            let member = find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
            passkey::remove_all(tx, member.key)?;
            oidc::unlink(tx, member.key)?;
            revoke_tokens(tx, member.key)?;
            note.send(tx, member.key)?;
            Ok(admin.record(tx, Entry::new(Action::MemberSignInsReset).on_member(member.key))?)
        })
    }
}

/// Set a member's password
///
/// Signs the member out everywhere. `result` is `success`, or `wrong user info` when the password is not valid. Only administrators
/// set passwords: no API key and no role allows it.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = MemberPasswordFields)]
pub struct SetPassword {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
    /// The new password, {pw} characters.
    #[schema(examples("another long sentence"))]
    pub new_pw: String,
}

impl Operation for SetPassword {
    type Answer = ();
    const SPEC: Spec = Spec::post("admin", "/set_member_password/{user_id}", Access::Persons)
        .works(Work::Password)
        .or(&[Failure::Missing]);

    fn documented_refusals(settings: &Config) -> Vec<Error> {
        let rule = Problem::password("new_pw", settings.password_length());
        vec![Outcome::WrongUserInfo.because(rule)]
    }

    fn run(self, call: &Call<'_>) -> Result<()> {
        let identity = call.authority();
        // Checked before hashing, which is slow.
        let member = call.store().read(|tx| {
            let _admin = identity.admin(tx)?;
            find(tx, &self.user_id)?.ok_or(Error::NotFound)
        })?;
        check_new_password(call.tidings().config(), "new_pw", &self.new_pw, member.admin)?;
        let password = call.tidings().account().hasher.hash(&self.new_pw)?;
        let note = email::Note::new(call.tidings(), Kind::PasswordChanged);
        call.store().write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx)?;
            if !sql::set_password(tx, &admin, member.key, &password)? {
                return Err(Error::NotFound);
            }
            revoke_tokens(tx, member.key)?;
            note.send(tx, member.key)?;
            Ok(admin.record(tx, Entry::new(Action::MemberPassword).on_member(member.key))?)
        })
    }
}

mod sql {
    use super::{MemberEntry, MemberFilter, fold};
    use crate::account::{Admin, Scopes};
    use crate::record::id::MemberKey;
    use crate::store::{Row, StoreError, Tx};

    const SEARCHED: i64 = 1_000;

    pub(super) fn list(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        search: Option<&str>,
        only: Option<MemberFilter>,
        after: &str,
        limit: i64,
    ) -> Result<Vec<MemberEntry>, StoreError> {
        let columns = "SELECT id, nickname, name, major, admin IS NOT NULL, blacklisted IS NOT NULL, date, scopes FROM member";
        let only = match only {
            None => "",
            Some(MemberFilter::Admins) => "admin IS NOT NULL AND",
            Some(MemberFilter::Blacklisted) => "blacklisted IS NOT NULL AND",
            Some(MemberFilter::Roles) => "scopes IS NOT NULL AND",
        };
        // Neither an id nor a name has this character, which the engines compare in different ways.
        if after.contains('\0') {
            return Ok(Vec::new());
        }
        let sql = format!("{columns} WHERE {only} folded > $1 ORDER BY folded LIMIT $2");
        let member = |mut row: Row| {
            let (user_id, nickname, name): (_, String, Option<String>) =
                (row.take(0)?, row.take(1)?, row.take(2)?);
            Ok(MemberEntry {
                user_id,
                user_name: name.unwrap_or_else(|| nickname.clone()),
                nickname,
                user_major: row.take::<Option<String>>(3)?.unwrap_or_default(),
                admin: row.take(4)?,
                blacklisted: row.take(5)?,
                date: row.take(6)?,
                scopes: Scopes::of_stored(row.take::<Option<String>>(7)?.as_deref()).into(),
            })
        };
        let mut page = |after: &str, limit: i64| -> Result<Vec<MemberEntry>, StoreError> {
            tx.rows(&sql, &[after.into(), limit.into()])?.into_iter().map(member).collect()
        };
        let Some(search) = search else { return page(after, limit) };
        let folded = tidings_tokens::folded(search);
        if folded.is_empty() && !search.is_empty() {
            return Ok(Vec::new());
        }
        let has = |text: &str| tidings_tokens::folded(text).contains(&*folded);
        let (mut found, mut after) = (Vec::new(), after.to_owned());
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        loop {
            let members = page(&after, SEARCHED)?;
            let Some(last) = members.last() else { return Ok(found) };
            after = fold(&last.user_id);
            for member in members {
                if has(&member.user_id) || has(&member.nickname) || has(&member.user_name) {
                    found.push(member);
                    if found.len() == wanted {
                        return Ok(found);
                    }
                }
            }
        }
    }

    pub(super) fn set_password(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        key: MemberKey,
        password: &str,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE member SET password = $2 WHERE key = $1";
        Ok(tx.run(sql, &[key.into(), password.into()])? > 0)
    }
}
