use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;
use tidings_core::account::key::Scope;
use tidings_core::account::{AccessToken, ListSessions, SignIn, SignOutAll, SignOutSession};
use tidings_core::clock::Timestamp;
use tidings_core::error::Code;
use tidings_core::member;
use zeroize::Zeroizing;

use crate::Service;
use crate::error::Result;
use crate::http::Server;
use crate::request::Request;

pub struct SignedIn {
    /// Its operations are called as this member.
    pub server: Server,
    pub token: Zeroizing<String>,
    /// As at the sign-up.
    pub id: String,
    pub is_admin: bool,
    /// Without being an administrator.
    pub scopes: Vec<Scope>,
    /// Whether the rights of administrators need a second factor, and the sign-in has given none.
    pub needs_otp: bool,
}

impl SignedIn {
    pub fn new(server: &Server, form: &SignIn) -> Result<Self> {
        let AccessToken { access_token } = server.as_guest().call(form)?;
        let token = Zeroizing::new(access_token);
        let server = server.signed_in(token.clone(), Some(&form.id));
        let info = Service::on_server(server.clone()).user_info(&form.id)?;
        let is_admin = info.admin == 1;
        let checked = is_admin.then(|| Service::on_server(server.clone()).check_admin());
        let needs_otp = matches!(checked, Some(Err(error)) if error.code() == Some(Code::SecondFactorNeeded));
        // An earlier server knows no roles.
        let role = server.call(&member::GetRole { user_id: info.user_id.clone() });
        let scopes = role.map(|role| role.scopes).unwrap_or_default();
        Ok(Self { server, token, id: info.user_id, is_admin, scopes, needs_otp })
    }
}

/// Guests may call these too, and their effect depends on the caller: the server ignores a token that it does not accept.
const GUESTS_TOO: [&str; 8] = [
    "get_all_notice",
    "get_newsfeed_of_topic",
    "get_notice",
    "get_notices",
    "get_popularity_newsfeed",
    "get_recommendation_newsfeed",
    "post_view",
    "search_logging",
];

impl Server {
    /// Whatever its scopes are. An access token of an administrator passes too.
    pub fn check_key(&self) -> Result<()> {
        match self.call(&member::List { limit: Some(1), ..Default::default() }) {
            // The server looks a key up before it checks the scopes.
            Err(error) if error.code() == Some(Code::MissingScope) => Ok(()),
            answer => answer.map(|_| ()),
        }
    }

    /// Once, before an operation that guests may call too. Other failures are those of the operation itself.
    pub(crate) fn require_accepted(&self, request: &Request) -> Result<()> {
        let is_for_guests = request.path.first().is_some_and(|operation| GUESTS_TOO.contains(&&**operation));
        if is_for_guests && self.token().is_some() && self.is_accepted.get().is_none() {
            match self.check_key() {
                Err(error) if error.code() == Some(Code::BadToken) => return Err(error),
                _ => self.is_accepted.get_or_init(|| ()),
            };
        }
        Ok(())
    }

    /// A token that the server no longer accepts is no error.
    pub fn sign_out(&self) -> Result<()> {
        let ended = self.call(&ListSessions {}).and_then(|sessions| {
            match sessions.sessions.iter().find(|session| session.current == 1) {
                Some(session) => self.call(&SignOutSession { session_obi: session.id.clone() }),
                // The disk of the server was full at the sign-in, so the token ends only with all others.
                None => self.call(&SignOutAll {}),
            }
        });
        match ended {
            Err(error) if error.code() == Some(Code::BadToken) => Ok(()),
            ended => ended,
        }
    }
}

/// `None` if the token does not tell. The token is not verified.
pub fn expiry(token: &str) -> Option<Timestamp> {
    #[derive(Deserialize)]
    struct Claims {
        exp: i64,
    }
    let claims = BASE64URL_NOPAD.decode(token.split('.').nth(1)?.as_bytes()).ok()?;
    let Claims { exp } = serde_json::from_slice(&claims).ok()?;
    Some(Timestamp::from_millis(exp.checked_mul(1_000)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expiry_of_a_token_is_among_its_claims() {
        let token = |claims: &str| format!("e30.{}.c2ln", BASE64URL_NOPAD.encode(claims.as_bytes()));
        let expires = Timestamp::from_millis(1_795_459_104_000);
        assert_eq!(expiry(&token(r#"{"sub":"ann","exp":1795459104}"#)), Some(expires));
        for other in [
            token(r#"{"sub":"ann"}"#),
            token(r#"{"exp":9223372036854775807}"#),
            "tidings_00".into(),
            "a.?.c".into(),
        ] {
            assert_eq!(expiry(&other), None, "{other}");
        }
    }
}
