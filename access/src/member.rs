//! Members: their accounts, lists and sessions, and the rights of administrators.

use serde::Serialize;
use tidings_core::account::{
    self, AccessToken, Caller, MemberQuery, Members, Roster, Sessions, SignIn, SignUp,
};
use tidings_core::admin::{self, Admins, Blacklist};
use tidings_core::profile::{self, Lists, UserInfo};
use tidings_core::{Outcome, Tidings};

use crate::Service;
use crate::error::Result;
use crate::http::Server;

impl Service {
    /// Signs a member up and in.
    ///
    /// # Errors
    /// Those of [`account::sign_up`].
    pub fn sign_up(&self, form: &SignUp) -> Result<AccessToken> {
        #[derive(Serialize)]
        struct Form<'a> {
            id: &'a str,
            pw: &'a str,
            pw_check: &'a str,
            nickname: &'a str,
        }
        let SignUp { id, pw, pw_check, nickname } = form;
        self.run(
            |tidings, caller| match caller {
                Caller::Operator => account::sign_up_by_operator(tidings, caller, form),
                _ => account::sign_up(tidings, form),
            },
            |server| server.as_guest().post(&["sign_up"], &Form { id, pw, pw_check, nickname }),
        )
    }

    /// Signs a member in.
    ///
    /// # Errors
    /// Those of [`account::sign_in_with`].
    pub fn sign_in(&self, form: &SignIn) -> Result<AccessToken> {
        self.run(
            |tidings, _| account::sign_in_with(tidings, form, None),
            |server| server.sign_in("sign_in", form),
        )
    }

    /// Signs a member of the university in, and up if necessary.
    ///
    /// # Errors
    /// Those of [`account::sign_in_up_with`].
    pub fn sign_in_up(&self, form: &SignIn) -> Result<AccessToken> {
        self.run(
            |tidings, _| account::sign_in_up_with(tidings, form, None),
            |server| server.sign_in("sign_in_up", form),
        )
    }

    /// Returns a page of the members.
    ///
    /// # Errors
    /// Those of [`account::list`].
    pub fn members(&self, query: &MemberQuery) -> Result<Members> {
        self.run(
            |tidings, caller| account::list(tidings, caller, query),
            |server| {
                let MemberQuery { search, limit, after, only } = query.clone();
                let limit = limit.map(|limit| limit.to_string());
                let only = only.map(|only| only.as_str().to_owned());
                let query = [("search", search), ("limit", limit), ("after", after), ("only", only)];
                server.get(&["get_members"], &query)
            },
        )
    }

    /// Returns the id with which a member signed up; `id` may differ in case.
    ///
    /// # Errors
    /// `Not found` if there is no such member; `Not admin` if the caller is another member.
    pub fn registered(&self, id: &str) -> Result<String> {
        Ok(self.user_info(id)?.user_id)
    }

    /// Returns a member's account.
    ///
    /// # Errors
    /// Those of [`Service::registered`].
    pub fn user_info(&self, id: &str) -> Result<UserInfo> {
        self.run(
            |tidings, caller| match own(tidings, caller, id)? {
                Some(member) => profile::user_info(tidings, &member),
                None => profile::user_info_of(tidings, caller, id),
            },
            |server| server.user_info(id),
        )
    }

    /// Returns a member's lists: all (0), likes (1), views (2), searches (3) or opened newsfeeds (4).
    ///
    /// # Errors
    /// Those of [`Service::registered`].
    pub fn lists(&self, id: &str, kind: u8) -> Result<Lists> {
        let kind = kind.to_string();
        self.run(
            |tidings, caller| match own(tidings, caller, id)? {
                Some(member) => profile::lists(tidings, &member, &kind),
                None => profile::lists_of(tidings, caller, id, &kind),
            },
            |server| {
                server.get(
                    server.path_of(id, &["get_specific_userinfo", &kind], &["get_member_lists", id, &kind]),
                    &[],
                )
            },
        )
    }

    /// Resets a member's measured interest.
    ///
    /// # Errors
    /// Those of [`Service::registered`].
    pub fn reset_measurement(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| match own(tidings, caller, id)? {
                Some(member) => profile::reset_measurement(tidings, &member),
                None => profile::reset_measurement_of(tidings, caller, id),
            },
            |server| {
                server.done(server.path_of(
                    id,
                    &["reset_user_measurement"],
                    &["reset_member_measurement", id],
                ))
            },
        )
    }

    /// Changes a member's nickname.
    ///
    /// # Errors
    /// Those of [`Service::registered`] and of [`profile::change_nickname`].
    pub fn change_nickname(&self, id: &str, nickname: &str) -> Result<()> {
        #[derive(Serialize)]
        struct Form<'a> {
            new_nickname: &'a str,
        }
        self.run(
            |tidings, caller| match own(tidings, caller, id)? {
                Some(member) => profile::change_nickname(tidings, &member, nickname),
                None => profile::change_nickname_of(tidings, caller, id, nickname),
            },
            |server| {
                let form = Form { new_nickname: nickname };
                server
                    .posted(server.path_of(id, &["change_nickname"], &["change_member_nickname", id]), &form)
            },
        )
    }

    /// Sets whether apps sign a member in automatically, 0 or 1.
    ///
    /// # Errors
    /// Those of [`Service::registered`].
    pub fn update_auto_login(&self, id: &str, auto_login: i64) -> Result<()> {
        let number = auto_login.to_string();
        self.run(
            |tidings, caller| match own(tidings, caller, id)? {
                Some(member) => profile::update_auto_login(tidings, &member, auto_login),
                None => profile::update_auto_login_of(tidings, caller, id, auto_login),
            },
            |server| {
                server.done(server.path_of(
                    id,
                    &["update_auto_login", &number],
                    &["update_member_auto_login", id, &number],
                ))
            },
        )
    }

    /// Disables a member's second factor.
    ///
    /// # Errors
    /// Those of [`account::reset_otp`].
    pub fn reset_otp(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| account::reset_otp(tidings, caller, id),
            |server| server.done(&["reset_member_otp", id]),
        )
    }

    /// Returns where a member is signed in.
    ///
    /// # Errors
    /// Those of [`account::sessions`] and [`account::sessions_of`].
    pub fn sessions(&self, id: &str) -> Result<Sessions> {
        self.run(
            |tidings, caller| match own(tidings, caller, id)? {
                Some(member) => account::sessions(tidings, &member),
                None => account::sessions_of(tidings, caller, id),
            },
            |server| server.get(server.path_of(id, &["get_sessions"], &["get_member_sessions", id]), &[]),
        )
    }

    /// Signs a member out of a session, or everywhere.
    ///
    /// # Errors
    /// Those of [`account::sign_out_session`] and [`account::sign_out_member`].
    pub fn sign_out(&self, id: &str, session: Option<&str>) -> Result<()> {
        self.run(
            |tidings, caller| match (own(tidings, caller, id)?, session) {
                (Some(member), Some(session)) => account::sign_out_session(tidings, &member, session),
                (Some(member), None) => account::sign_out_all(tidings, &member),
                (None, _) => account::sign_out_member(tidings, caller, id, session),
            },
            |server| match session {
                Some(session) => {
                    let (own, any) =
                        (["sign_out_session", session], ["sign_out_member_session", id, session]);
                    server.done(server.path_of(id, &own, &any))
                }
                None => server.done(server.path_of(id, &["sign_out_all"], &["sign_out_member", id])),
            },
        )
    }

    /// Removes a member: members themselves, administrators any member.
    ///
    /// # Errors
    /// Those of [`profile::remove_mine`] and [`admin::remove_user`].
    pub fn remove_member(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| match own(tidings, caller, id)? {
                Some(member) => profile::remove_mine(tidings, &member),
                None => admin::remove_user(tidings, caller, id),
            },
            |server| server.done(server.path_of(id, &["remove_mine"], &["admin_remove_user", id])),
        )
    }

    /// Checks that the caller is an administrator, so that a command that will be refused does not ask questions. An API key
    /// passes, because its scopes decide about each operation.
    ///
    /// # Errors
    /// `Not admin`.
    pub fn check_admin(&self) -> Result<()> {
        self.run(admin::check, |server| match server.member() {
            Some(_) => server.get::<serde::de::IgnoredAny>(&["check_admin"], &[]).map(|_| ()),
            None => Ok(()),
        })
    }

    /// Checks that a member is an administrator.
    ///
    /// # Errors
    /// `Not admin`, and those of [`Service::registered`].
    pub fn check_admin_of(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| admin::check(tidings, &caller.on_behalf_of(tidings, id)?),
            |server| match server.user_info(id)?.admin {
                1 => Ok(()),
                _ => Err(Outcome::NotAdmin.into()),
            },
        )
    }

    /// Returns the administrators.
    ///
    /// # Errors
    /// Those of [`admin::list`].
    pub fn admins(&self) -> Result<Admins> {
        self.run(admin::list, |server| server.get(&["get_admins"], &[]))
    }

    /// Makes a member an administrator.
    ///
    /// # Errors
    /// Those of [`admin::grant`].
    pub fn grant(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| admin::grant(tidings, caller, id),
            |server| server.done(&["grant_admin", id]),
        )
    }

    /// Revokes a member's administrator rights.
    ///
    /// # Errors
    /// Those of [`admin::revoke`].
    pub fn revoke(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| admin::revoke(tidings, caller, id),
            |server| server.done(&["revoke_admin", id]),
        )
    }

    /// Returns the members who may not sign in.
    ///
    /// # Errors
    /// Those of [`admin::blacklist`].
    pub fn blacklist(&self) -> Result<Blacklist> {
        self.run(admin::blacklist, |server| server.get(&["get_blacklist"], &[]))
    }

    /// Blacklists a member.
    ///
    /// # Errors
    /// Those of [`admin::push_blacklist`].
    pub fn push_blacklist(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| admin::push_blacklist(tidings, caller, id),
            |server| server.done(&["push_blacklist", id]),
        )
    }

    /// Removes a member from the blacklist.
    ///
    /// # Errors
    /// Those of [`admin::pop_blacklist`].
    pub fn pop_blacklist(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| admin::pop_blacklist(tidings, caller, id),
            |server| server.done(&["pop_blacklist", id]),
        )
    }

    /// Returns at most `limit` members of the roster whose ids come after `after`.
    ///
    /// # Errors
    /// Those of [`account::roster`].
    pub fn roster(&self, after: &str, limit: i64) -> Result<Roster> {
        self.run(
            |tidings, caller| account::roster(tidings, caller, after, limit),
            |server| {
                let limit = ("limit", Some(limit.to_string()));
                server.get(&["get_roster"], &[("after", Some(after.to_owned())), limit])
            },
        )
    }
}

impl Server {
    fn sign_in(&self, operation: &str, form: &SignIn) -> Result<AccessToken> {
        #[derive(Serialize)]
        struct Form<'a> {
            id: &'a str,
            pw: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            otp: Option<&'a str>,
        }
        let SignIn { id, pw, otp } = form;
        self.as_guest().post(&[operation], &Form { id, pw, otp: otp.as_deref() })
    }

    fn user_info(&self, id: &str) -> Result<UserInfo> {
        self.get(self.path_of(id, &["get_userinfo"], &["get_member", id]), &[])
    }
}

/// Returns the caller if it is the member `id`, because members manage their own accounts.
fn own(tidings: &Tidings, caller: &Caller, id: &str) -> tidings_core::Result<Option<Caller>> {
    match caller {
        Caller::Member(acting) if acting.eq_ignore_ascii_case(id) => {
            caller.on_behalf_of(tidings, id).map(Some)
        }
        _ => Ok(None),
    }
}
