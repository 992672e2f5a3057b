use super::key::{KeyHash, Scope};
use super::{Caller, Claim};
use crate::Tidings;
use crate::record::error::Result;

/// The account of a caller: a member, or an API key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Account {
    /// The member with this folded id.
    Member(String),
    /// The bearer of this key.
    Key(KeyHash),
}

impl Caller {
    /// Returns the account that the caller claims, without reading the database: an operation checks whether the token was
    /// revoked. `None` for guests, tokens with an invalid signature, and the operator.
    pub fn account(&self, tidings: &Tidings) -> Option<Account> {
        let identity = self.identify(tidings);
        match identity.claim() {
            Claim::Named { folded, .. } => Some(Account::Member(folded.clone())),
            Claim::Key { key, .. } => Some(Account::Key(*key)),
            Claim::Guest | Claim::Operator => None,
        }
    }
}

/// Checks that the caller is an administrator, the operator, or an API key or a member with this scope.
///
/// A service calls it again during long work for the caller.
///
/// # Errors
/// `bad token`, `Not admin`.
pub fn check_right(tidings: &Tidings, caller: &Caller, scope: Scope) -> Result<()> {
    let identity = caller.identify(tidings);
    tidings.store().read(|tx| identity.with_scope(tx, scope).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::key;
    use crate::record::error::Error;
    use crate::testing::service;

    #[test]
    fn a_right_ends_when_the_key_is_revoked() {
        let service = service();
        let reader = service.key(Scope::AnalyticsRead);
        check_right(&service, &reader, Scope::AnalyticsRead).unwrap();
        let refused = check_right(&service, &reader, Scope::Posts);
        assert!(matches!(refused, Err(Error::MissingScope(_))));
        let id = service.call(&Caller::Operator, key::List {}).unwrap().keys[0].id.clone();
        service.call(&Caller::Operator, key::Revoke { key_obi: id.clone() }).unwrap();
        assert!(matches!(check_right(&service, &reader, Scope::AnalyticsRead), Err(Error::BadToken)));
    }

    #[test]
    fn tokens_of_a_member_have_the_same_account() {
        let service = service();
        let (ann, key) = (service.member("ann"), service.key(Scope::Posts));
        let named = Caller::Member("ANN".into());
        assert_eq!(ann.account(&service), named.account(&service));
        assert_ne!(ann.account(&service), key.account(&service));
        for nobody in [Caller::Guest, Caller::Operator, Caller::token("no.token.at-all")] {
            assert_eq!(nobody.account(&service), None);
        }
    }
}
