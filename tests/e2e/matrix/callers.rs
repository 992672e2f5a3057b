//! Calls every operation as every kind of caller.

use std::collections::BTreeMap;

use tidings_core::account::key::Scope;
use tidings_tests::{Access, Caller, OPERATIONS, jwt};

use super::{Fixture, Table, invalidates_the_token, outcome};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CallerKind {
    Guest,
    Member,
    OtherMember,
    Administrator,
    Blacklisted,
    Removed,
    Forged,
    Key,
    /// An API key with a scope that only one operation of the table needs.
    WeakKey,
    Role,
    /// A member whose role has a scope that only one operation of the table needs.
    WeakRole,
}

use CallerKind::{
    Administrator, Blacklisted, Forged, Guest, Key, Member, OtherMember, Removed, Role, WeakKey, WeakRole,
};

const CALLER_KINDS: [CallerKind; 11] =
    [Guest, Member, OtherMember, Administrator, Blacklisted, Removed, Forged, Key, WeakKey, Role, WeakRole];

impl CallerKind {
    fn name(self) -> &'static str {
        match self {
            Guest => "guest",
            Member => "member",
            OtherMember => "other member",
            Administrator => "administrator",
            Blacklisted => "blacklisted",
            Removed => "removed",
            Forged => "forged",
            Key => "key",
            WeakKey => "weak key",
            Role => "role",
            WeakRole => "weak role",
        }
    }

    fn create(self, fixture: &Fixture) -> Caller {
        match self {
            Guest => fixture.server.anyone(),
            // `Member` is the target of administrators, `OtherMember` is not.
            Member => {
                let target = fixture.member();
                fixture.target.replace(target.id().to_owned());
                target
            }
            OtherMember => fixture.member(),
            Administrator => fixture.administrator(),
            Blacklisted => {
                let member = fixture.member();
                let _ = fixture.boss.get(&format!("/push_blacklist/{}", member.id())).succeeded();
                member
            }
            Removed => {
                let member = fixture.member();
                let _ = member.get("/remove_mine").succeeded();
                member
            }
            Key => fixture.server.anyone().with_token("key", fixture.key(&scopes()).1),
            WeakKey => fixture.server.anyone().with_token("weak key", fixture.key(&["acts:import"]).1),
            Role => fixture.role(&scopes()),
            WeakRole => fixture.role(&["acts:import"]),
            // The claims are valid, but the signing key is not the server's.
            Forged => {
                let claims = jwt::claims(fixture.boss.token());
                let token = jwt::forge(&claims, "HS256", b"another key, of thirty-two bytes");
                fixture.server.anyone().with_token(fixture.boss.id(), token)
            }
        }
    }
}

fn scopes() -> Vec<&'static str> {
    Scope::ALL.iter().map(|scope| scope.name()).collect()
}

#[test]
fn every_operation_answers_every_kind_of_caller_as_documented() {
    let fixture = Fixture::new();
    let mut callers: BTreeMap<_, _> = CALLER_KINDS.map(|kind| (kind, kind.create(&fixture))).into();
    let mut table = Table::default();
    for operation in OPERATIONS.iter() {
        let mut answers = Vec::new();
        for kind in CALLER_KINDS {
            let answer = fixture.request(operation, &callers[&kind]).send();
            answers.push((kind.name().to_owned(), outcome(operation, kind.name(), &answer)));
            if answer.result() == "success" {
                fixture.restore(operation);
                // Replaces a caller whose token is invalid, and a member whom the administrator changed.
                if invalidates_the_token(operation) {
                    callers.insert(kind, kind.create(&fixture));
                } else if matches!(kind, Administrator | Key | Role) && operation.path.contains("/{user_id}")
                {
                    callers.insert(Member, Member.create(&fixture));
                }
            }
        }
        table.add(&operation.name(), answers);
    }
    table.compare("callers");
    fixture.check();
}

#[test]
fn a_key_and_a_role_need_the_scope_that_an_operation_declares() {
    let fixture = Fixture::new();
    check_scopes(&fixture, |scopes| fixture.server.anyone().with_token("key", fixture.key(scopes).1));
    check_scopes(&fixture, |scopes| fixture.role(scopes));
    fixture.check();
}

/// Checks that callers `with` a scope may use the operations that declare it, and that callers with all others may not.
fn check_scopes(fixture: &Fixture, with: impl Fn(&[&str]) -> Caller) {
    for scope in Scope::ALL {
        let others = Scope::ALL.iter().filter(|other| !other.allows(*scope)).map(|other| other.name());
        let others: Vec<_> = others.collect();
        let (with, without) = (with(&[scope.name()]), with(&others));
        let mut operations = OPERATIONS.iter().filter(|operation| operation.scope == Some(*scope)).peekable();
        assert!(operations.peek().is_some(), "{scope:?}");
        for operation in operations {
            let refused = fixture.request(operation, &without).send();
            assert_eq!(refused.body["code"], "missing_scope", "{}: {refused:?}", operation.name());
            let allowed = fixture.request(operation, &with).send();
            assert!(allowed.status < 500 && allowed.status != 401 && allowed.status != 403, "{allowed:?}");
            assert_ne!(allowed.body["code"], "missing_scope", "{}: {allowed:?}", operation.name());
            // A member whom the caller has changed or removed is replaced.
            if operation.path.contains("/{user_id}") {
                fixture.target.replace(fixture.member().id().to_owned());
            }
        }
    }
}

#[test]
fn refused_callers_change_nothing() {
    let fixture = Fixture::new();
    let callers = CALLER_KINDS.map(|kind| (kind, kind.create(&fixture)));
    for operation in OPERATIONS.iter() {
        let refused = |kind: CallerKind| match operation.access {
            Access::Anyone => false,
            // A key with all scopes may do what needs one of them.
            Access::Members | Access::Administrators if kind == Key => operation.scope.is_none(),
            Access::Members => !matches!(kind, Member | OtherMember | Administrator | Role | WeakRole),
            Access::Administrators if kind == Role => operation.scope.is_none(),
            Access::Administrators if matches!(kind, WeakKey | WeakRole) => operation.path != "/import_acts",
            Access::Administrators => kind != Administrator,
        };
        for (kind, caller) in callers.iter().filter(|(kind, _)| refused(*kind)) {
            let request = fixture.request(operation, caller);
            let before = fixture.server.dump();
            let answer = request.send();
            assert_ne!(answer.result(), "success", "{} by {}", operation.name(), kind.name());
            for (name, rows) in fixture.server.dump() {
                assert_eq!(rows, before[&name], "{} by {} wrote to {name}", operation.name(), kind.name());
            }
        }
    }
    fixture.check();
}
