//! Members: signing in, and operations that members do on their own accounts and administrators on any.

use serde::Serialize;
use tidings_core::account::{self, AccessToken, Caller, Sessions, SignIn, SignUp};
use tidings_core::profile::{self, Lists, UserInfo};
use tidings_core::{Outcome, Tidings, admin, member};

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
        self.call_on(id, profile::Get {}, member::Get { user_id: id.to_owned() })
    }

    /// Returns a member's lists: all (0), likes (1), views (2), searches (3) or opened newsfeeds (4).
    ///
    /// # Errors
    /// Those of [`Service::registered`].
    pub fn lists(&self, id: &str, kind: u8) -> Result<Lists> {
        let (user_id, type_num) = (id.to_owned(), kind.to_string());
        let own = profile::GetLists { type_num: type_num.clone() };
        self.call_on(id, own, member::GetLists { user_id, type_num })
    }

    /// Resets a member's measured interest.
    ///
    /// # Errors
    /// Those of [`Service::registered`].
    pub fn reset_measurement(&self, id: &str) -> Result<()> {
        let user_id = id.to_owned();
        self.call_on(id, profile::ResetMeasurement {}, member::ResetMeasurement { user_id })
    }

    /// Changes a member's nickname.
    ///
    /// # Errors
    /// Those of [`Service::registered`] and of [`profile::change_nickname`].
    pub fn change_nickname(&self, id: &str, nickname: &str) -> Result<()> {
        let (user_id, new_nickname) = (id.to_owned(), nickname.to_owned());
        let own = profile::ChangeNickname { new_nickname: new_nickname.clone() };
        self.call_on(id, own, member::ChangeNickname { user_id, new_nickname })
    }

    /// Sets whether apps sign a member in automatically, 0 or 1.
    ///
    /// # Errors
    /// Those of [`Service::registered`].
    pub fn update_auto_login(&self, id: &str, auto_login: i64) -> Result<()> {
        let user_id = id.to_owned();
        let own = profile::UpdateAutoLogin { auto_login };
        self.call_on(id, own, member::UpdateAutoLogin { user_id, auto_login })
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
        self.call_on(id, profile::Remove {}, member::Remove { user_id: id.to_owned() })
    }

    /// Checks that the caller is an administrator, so that a command that will be refused does not ask questions. An API key
    /// passes, because its scopes decide about each operation.
    ///
    /// # Errors
    /// `Not admin`.
    pub fn check_admin(&self) -> Result<()> {
        let has_key = self.server().is_some_and(|server| server.member().is_none());
        if has_key { Ok(()) } else { self.call(admin::Check {}) }
    }

    /// Checks that a member is an administrator.
    ///
    /// # Errors
    /// `Not admin`, and those of [`Service::registered`].
    pub fn check_admin_of(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| admin::check(tidings, &caller.on_behalf_of(tidings, id)?),
            |_| match self.user_info(id)?.admin {
                1 => Ok(()),
                _ => Err(Outcome::NotAdmin.into()),
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
