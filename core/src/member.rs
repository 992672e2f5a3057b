//! The operations of administrators and API keys on members. Those of members on their own data are in [`crate::profile`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use crate::account::credential::otp::{IssueOtp, ResetOtp};
pub use crate::account::credential::reset::IssueReset;
use crate::account::credential::{email, oidc, otp, passkey};
pub use crate::account::members::{List, ResetSignIns, SetPassword};
pub use crate::account::role::{GetRole, SetRole};
pub use crate::account::roster::ListRoster;
use crate::account::{self, Admin, Identity, Sessions, Transaction, find, sessions};
use crate::audit::trail::{Action, Entry};
use crate::base::config::Config;
use crate::mail::{self, Mail};
pub use crate::profile::of_member::{ChangeNickname, Get, GetLists, ResetMeasurement, UpdateAutoLogin};
use crate::record::error::{Error, Outcome, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Spec};
use crate::record::schema::Switch;
use crate::record::scope::Scope;
use crate::removal;
use crate::store::Tx;

const GROUP: &str = "admin";
const READERS: Access = Access::Admins(Scope::MembersRead);
const ADMINS: Access = Access::Admins(Scope::Members);

/// Remove a member
///
/// `result` is `success`; or `Not admin`, `Not found`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Remove {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for Remove {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/admin_remove_user/{user_id}", ADMINS)
        .writes()
        .or(&[Failure::LastAdministrator])
        .refused_with(Outcome::NotAdmin);

    fn documented_refusals(_: &Config) -> Vec<Error> {
        vec![Outcome::NotFound.into()]
    }

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let member = account::find(tx, &self.user_id)?.ok_or(Outcome::NotFound)?;
        admin.record(tx, Entry::new(Action::MemberRemove).on_member(member.key))?;
        removal::remove(tx, &admin.act_for(member))
    }
}

/// The ways in which a member can sign in and be reached.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignIns {
    /// Whether the member has a confirmed e-mail address, 0 or 1.
    #[schema(value_type = Switch)]
    pub email: u8,
    /// Whether the member has enabled the second factor, 0 or 1.
    #[schema(value_type = Switch)]
    pub otp: u8,
    /// The number of the member's passkeys.
    #[schema(minimum = 0, maximum = 20, examples(1))]
    pub passkeys: usize,
    /// Whether a person of single sign-on is linked, 0 or 1.
    #[schema(value_type = Switch)]
    pub oidc: u8,
    /// The latest mail to the member that was not sent; null if there is none.
    pub mail: Option<Mail>,
}

/// Get a member's ways to sign in
///
/// It tells why a member cannot sign in or gets no mail; addresses and the names of devices stay with the member.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetSignIns {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for GetSignIns {
    type By = Admin<'static>;
    type Answer = SignIns;
    const SPEC: Spec = Spec::get(GROUP, "/get_member_sign_ins/{user_id}", READERS).or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<SignIns> {
        let key = find(tx, &self.user_id)?.ok_or(Error::NotFound)?.key;
        Ok(SignIns {
            email: u8::from(email::confirmed(tx, key)?.is_some()),
            otp: u8::from(otp::is_enabled(tx, key)?),
            passkeys: passkey::list(tx, key)?.len(),
            oidc: u8::from(oidc::linked(tx, key)?.is_some()),
            mail: mail::latest(tx, admin, key)?,
        })
    }
}

/// List a member's sessions
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ListSessions {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for ListSessions {
    type By = Admin<'static>;
    type Answer = Sessions;
    const SPEC: Spec = Spec::get(GROUP, "/get_member_sessions/{user_id}", READERS).or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, _: &Admin<'_>, identity: &Identity) -> Result<Sessions> {
        let member = find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
        Ok(Sessions { sessions: sessions::sql::list(tx, member.key, identity.session(), identity.now())? })
    }
}

/// Sign a member out everywhere
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignOut {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
}

impl Transaction for SignOut {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/sign_out_member/{user_id}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let member = find(tx, &self.user_id)?.ok_or(Error::NotFound)?;
        let entry = Entry::new(Action::MemberSignOut).on_member(member.key).after("everywhere");
        account::sign_out(tx, &admin.act_for(member))?;
        Ok(admin.record(tx, entry)?)
    }
}

/// Sign out a member's session
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignOutSession {
    /// The id of the member
    #[schema(min_length = 1, examples("ann"))]
    pub user_id: String,
    /// The id of the session
    #[schema(value_type = ObjectId)]
    pub session_obi: String,
}

impl Transaction for SignOutSession {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/sign_out_member_session/{user_id}/{session_obi}", ADMINS)
        .writes()
        .or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let key = find(tx, &self.user_id)?.ok_or(Error::NotFound)?.key;
        if !sessions::end_one(tx, key, &self.session_obi.to_ascii_lowercase(), None)? {
            return Err(Error::NotFound);
        }
        Ok(admin.record(tx, Entry::new(Action::MemberSignOut).on_member(key).after("one session"))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::tests::{Mailing, config, text};
    use crate::mail::{Kind, State};
    use crate::store::Isolation;

    #[test]
    fn the_ways_to_sign_in_are_those_that_are_confirmed_and_the_mail_is_the_latest_that_waits() {
        let mut mailing = Mailing::new(config());
        let admin = mailing.service.admin("admin");
        mailing.member_at("ann", "ann@example.org");
        mailing.member_at("ben", "ben@example.org");
        let get = |mailing: &Mailing, id: &str| mailing.call(&admin, GetSignIns { user_id: id.to_owned() });
        let confirmed = SignIns { email: 1, otp: 0, passkeys: 0, oidc: 0, mail: None };
        assert_eq!(get(&mailing, "Ann").unwrap(), confirmed);
        for sql in [
            "INSERT INTO second_factor (member, secret, last_step) SELECT key, '', 0 FROM member",
            "UPDATE second_factor SET enabled = 1 WHERE member = (SELECT key FROM member WHERE id = 'ann')",
            "INSERT INTO passkey (credential, id, member, handle, name, public_key, state, gave_code, date)
             SELECT 'c', 'i', key, 'h', 'n', 'p', 's', 0, 1 FROM member WHERE id = 'ann'",
            "INSERT INTO oidc_identity (member, issuer, subject, date, names)
             SELECT key, 'https://id.example', 's', 1, 0 FROM member WHERE id = 'ann'",
        ] {
            mailing.service.store().write(Isolation::Alone, move |tx| tx.run(sql, &[])).unwrap();
        }
        assert_eq!(get(&mailing, "ben").unwrap(), confirmed, "a factor counts once it is enabled");
        let all = SignIns { otp: 1, passkeys: 1, oidc: 1, ..confirmed };
        assert_eq!(get(&mailing, "ann").unwrap(), all);
        let mail = |kind: &str, date: i64, id: &str| {
            let sql = format!(
                "INSERT INTO mail (id, kind, member, date, next_attempt)
                 SELECT '{id}', '{kind}', key, {date}, {date} FROM member WHERE id = 'ann'"
            );
            mailing.service.store().write(Isolation::Alone, move |tx| tx.run(&sql, &[])).unwrap();
        };
        mail("confirm", 1, "a");
        mail("password_changed", 2, "b");
        let latest = get(&mailing, "ann").unwrap().mail.unwrap();
        assert_eq!((latest.kind, latest.state, &*latest.id), (Kind::PasswordChanged, State::Pending, "b"));
        assert_eq!(text(get(&mailing, "nobody")), "Not found");
    }
}
