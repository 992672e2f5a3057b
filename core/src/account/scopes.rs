use std::collections::BTreeSet;

use crate::record::error::Problem;
use crate::record::scope::Scope;

/// The scopes of an API key, or of a member with a role: each once, in the order of [`Scope::ALL`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scopes(Vec<Scope>);

impl Scopes {
    pub(crate) fn parse(names: &[String]) -> Result<Self, Problem> {
        let parse = |name: &String| name.parse().map_err(|_| SCOPE_RULE);
        Ok(Self(Vec::from_iter(names.iter().map(parse).collect::<Result<BTreeSet<Scope>, Problem>>()?)))
    }

    /// A scope of a newer program allows nothing here.
    pub(crate) fn of_stored(names: Option<&str>) -> Self {
        let names = names.unwrap_or_default().split_whitespace();
        Self(names.filter_map(|name| name.parse().ok()).collect())
    }

    pub(crate) fn stored(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.0.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(" "))
    }

    pub(crate) fn filtered(&self, is_kept: impl Fn(Scope) -> bool) -> Self {
        Self(self.0.iter().copied().filter(|scope| is_kept(*scope)).collect())
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn allow(&self, scope: Scope) -> bool {
        self.0.iter().any(|own| own.allows(scope))
    }
}

impl From<Scopes> for Vec<Scope> {
    fn from(scopes: Scopes) -> Self {
        scopes.0
    }
}

/// The problem of a scope that does not exist.
pub const SCOPE_RULE: Problem = Problem::invalid(
    "scopes",
    "a scope is notices, posts, posts:import, acts:import, feedback, members, members:read, front, analytics:read, \
     audit:read, sources or webhooks",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_stored_in_their_order_and_unknown_ones_are_ignored() {
        let scopes = Scopes::parse(&["webhooks", "notices", "webhooks"].map(String::from)).unwrap();
        assert_eq!(scopes.stored().as_deref(), Some("notices webhooks"));
        assert_eq!(Scopes::of_stored(Some("notices later:scope webhooks")), scopes);
        assert!(scopes.allow(Scope::Notices) && !scopes.allow(Scope::Posts));
        let posts = Scopes::parse(&["posts".into()]).unwrap();
        assert!(posts.allow(Scope::PostsImport) && !posts.allow(Scope::ActsImport));
        let none = Scopes::parse(&[]).unwrap();
        assert_eq!((none.stored(), Scopes::of_stored(None)), (None, none));
        assert_eq!(Scopes::parse(&["admin".into()]), Err(SCOPE_RULE));
    }
}
