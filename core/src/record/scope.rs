use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::record::schema::{one_of, schemas};

macro_rules! scopes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal: $help:literal,)+) => {
        /// A permission of an API key or a role.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Scope {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Scope {
            /// All scopes.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns its name, which never changes.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// Returns what it allows.
            pub const fn help(self) -> &'static str {
                match self {
                    $(Self::$name => $help,)+
                }
            }
        }
    };
}

scopes! {
    /// Insert, change and remove notices, and read hidden ones.
    Notices = "notices": "insert, change and remove notices, and read hidden ones",
    /// Insert, change, remove, import and export posts, and set the weights of the recommended feed.
    Posts = "posts": "insert, change, remove, import and export posts, and set the weights of the feed",
    /// Import posts.
    PostsImport = "posts:import": "import posts",
    /// Import acts of members.
    ActsImport = "acts:import": "import acts of members",
    /// Read feedback, and mark it as done.
    Feedback = "feedback": "read feedback, and mark it as done",
    /// Read, import, change, remove, blacklist and sign out members; import the roster.
    Members = "members": "read, import, change, remove, blacklist and sign out members; import the roster",
    /// Read members and their lists, administrators, the roster and the blacklist.
    MembersRead = "members:read": "read members and their lists, administrators, the roster and the blacklist",
    /// Change the two lines of the front page.
    Front = "front": "change the two lines of the front page",
    /// Read the access log, reports in full, and the state of the service.
    AnalyticsRead = "analytics:read": "read the access log, reports in full, and the state of the service",
    /// Read, export and verify the audit trail.
    AuditRead = "audit:read": "read, export and verify the audit trail",
    /// Add, change, fetch and remove sources, whose entries become posts.
    Sources = "sources": "add, change, fetch and remove sources, whose entries become posts",
    /// Add and remove webhooks, which receive notices and feedback.
    Webhooks = "webhooks": "add and remove webhooks, which receive notices and feedback",
}

schemas! {
    Scope = one_of(Scope::ALL.iter().map(|one| one.name()));
}

impl Scope {
    /// Returns whether a key or a role with this scope allows what needs `other`.
    pub fn allows(self, other: Self) -> bool {
        self == other
            || matches!((self, other), (Self::Posts, Self::PostsImport) | (Self::Members, Self::MembersRead))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a name that no scope has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownScope;

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, UnknownScope> {
        Self::ALL.iter().copied().find(|scope| scope.name() == name).ok_or(UnknownScope)
    }
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        name.parse().map_err(|_| serde::de::Error::custom("no scope has this name"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_has_the_name_by_which_it_is_found_and_allows_what_it_contains() {
        for scope in Scope::ALL {
            assert_eq!(scope.name().parse(), Ok(*scope));
            assert!(scope.allows(*scope));
        }
        assert_eq!("Notices".parse::<Scope>(), Err(UnknownScope));
        assert!(Scope::Posts.allows(Scope::PostsImport) && !Scope::PostsImport.allows(Scope::Posts));
        assert!(Scope::Members.allows(Scope::MembersRead) && !Scope::Members.allows(Scope::Posts));
    }
}
