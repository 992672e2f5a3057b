use tidings_core::account::key::Scope;
use tidings_core::account::{ListSessions, Sessions, SignOutAll, SignOutSession, check_right};
use tidings_core::error::Code;
use tidings_core::profile::{self, Lists, UserInfo};
use tidings_core::{Outcome, admin, member};

use crate::Service;
use crate::error::Result;

impl Service {
    /// In the spelling of the sign-up; `id` may differ in case.
    pub fn registered(&self, id: &str) -> Result<String> {
        Ok(self.user_info(id)?.user_id)
    }

    pub fn user_info(&self, id: &str) -> Result<UserInfo> {
        Ok(self.call_on(id, profile::Get {}, member::Get { user_id: id.to_owned() })?.fields())
    }

    /// All (0), likes (1), views (2), searches (3) or opened newsfeeds (4).
    pub fn lists(&self, id: &str, kind: u8) -> Result<Lists> {
        let (user_id, type_num) = (id.to_owned(), kind.to_string());
        let own = profile::GetLists { type_num: type_num.clone() };
        Ok(self.call_on(id, own, member::GetLists { user_id, type_num })?.fields())
    }

    pub fn reset_measurement(&self, id: &str) -> Result<()> {
        let user_id = id.to_owned();
        self.call_on(id, profile::ResetMeasurement {}, member::ResetMeasurement { user_id })
    }

    pub fn change_nickname(&self, id: &str, nickname: &str) -> Result<()> {
        let (user_id, new_nickname) = (id.to_owned(), nickname.to_owned());
        let own = profile::ChangeNickname { new_nickname: new_nickname.clone() };
        self.call_on(id, own, member::ChangeNickname { user_id, new_nickname })
    }

    /// 0 or 1.
    pub fn update_auto_login(&self, id: &str, auto_login: i64) -> Result<()> {
        let user_id = id.to_owned();
        let own = profile::UpdateAutoLogin { auto_login };
        self.call_on(id, own, member::UpdateAutoLogin { user_id, auto_login })
    }

    pub fn sessions(&self, id: &str) -> Result<Sessions> {
        self.call_on(id, ListSessions {}, member::ListSessions { user_id: id.to_owned() })
    }

    /// Everywhere without a session.
    pub fn sign_out(&self, id: &str, session: Option<&str>) -> Result<()> {
        let user_id = id.to_owned();
        match session.map(str::to_owned) {
            Some(session_obi) => {
                let own = SignOutSession { session_obi: session_obi.clone() };
                self.call_on(id, own, member::SignOutSession { user_id, session_obi })
            }
            None => self.call_on(id, SignOutAll {}, member::SignOut { user_id }),
        }
    }

    pub fn remove_member(&self, id: &str) -> Result<()> {
        self.call_on(id, profile::Remove {}, member::Remove { user_id: id.to_owned() })
    }

    /// An administrator, or a member whose role has this scope, so that a command that will be refused does not ask questions. An API
    /// key passes, because its scopes decide about each operation.
    pub fn check_right(&self, scope: Scope) -> Result<()> {
        let refused = match self.check_admin() {
            Err(error) if error.code() == Some(Code::NotAdmin) => error,
            checked => return checked,
        };
        self.run(
            |tidings, caller| check_right(tidings, caller, scope),
            |server| {
                let user_id = server.member().unwrap_or_default().to_owned();
                // An earlier server knows no roles.
                match server.call(&member::GetRole { user_id }) {
                    Ok(role) if role.scopes.iter().any(|own| own.allows(scope)) => Ok(()),
                    _ => Err(refused),
                }
            },
        )
    }

    /// In person. An API key passes, because the operation itself refuses it.
    pub fn check_admin(&self) -> Result<()> {
        let has_key = self.server().is_some_and(|server| server.member().is_none());
        if has_key { Ok(()) } else { self.call(admin::Check {}) }
    }

    pub fn check_admin_of(&self, id: &str) -> Result<()> {
        self.run(
            |tidings, caller| tidings.call(&caller.on_behalf_of(tidings, id)?, admin::Check {}),
            |_| match self.user_info(id)?.admin {
                1 => Ok(()),
                _ => Err(Outcome::NotAdmin.into()),
            },
        )
    }
}
