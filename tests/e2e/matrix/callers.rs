//! Calls every operation as every kind of caller.

use std::collections::BTreeMap;

use tidings_core::account::key::Scope;
use tidings_tests::{Access, Caller, OPERATIONS, jwt};

use super::{Fixture, Table, invalidates_the_token, outcome};

/// A weak key and a weak role have a scope that only one operation of the table needs.
const CALLERS: [&str; 11] = [
    "guest",
    "member",
    "other member",
    "administrator",
    "blacklisted",
    "removed",
    "forged",
    "key",
    "weak key",
    "role",
    "weak role",
];

fn create(kind: &str, fixture: &Fixture) -> Caller {
    let key = |scopes: &[&str]| fixture.server.anyone().with_token(kind, fixture.key(scopes).1);
    match kind {
        "guest" => fixture.server.anyone(),
        // This one is the target of administrators, the other member is not.
        "member" => {
            let target = fixture.member();
            fixture.target.replace(target.id().to_owned());
            target
        }
        "other member" => fixture.member(),
        "administrator" => fixture.administrator(),
        "blacklisted" => {
            let member = fixture.member();
            let _ = fixture.boss.get(&format!("/push_blacklist/{}", member.id())).succeeded();
            member
        }
        "removed" => {
            let member = fixture.member();
            let _ = member.get("/remove_mine").succeeded();
            member
        }
        // The claims are valid, but the signing key is not the server's.
        "forged" => {
            let claims = jwt::claims(fixture.boss.token());
            let token = jwt::forge(&claims, "HS256", b"another key, of thirty-two bytes");
            fixture.server.anyone().with_token(fixture.boss.id(), token)
        }
        "key" => key(&scopes()),
        "weak key" => key(&["acts:import"]),
        "role" => fixture.role(&scopes()),
        "weak role" => fixture.role(&["acts:import"]),
        _ => unreachable!("{kind}"),
    }
}

fn scopes() -> Vec<&'static str> {
    Scope::ALL.iter().map(|scope| scope.name()).collect()
}

#[test]
fn every_operation_answers_every_kind_of_caller_as_documented() {
    let fixture = Fixture::new();
    let mut callers: BTreeMap<_, _> = CALLERS.map(|kind| (kind, create(kind, &fixture))).into();
    let mut table = Table::default();
    for operation in OPERATIONS.iter() {
        let mut answers = Vec::new();
        for kind in CALLERS {
            let answer = fixture.request(operation, &callers[kind]).send();
            answers.push((kind.to_owned(), outcome(operation, kind, &answer)));
            if answer.result() == "success" {
                fixture.restore(operation);
                // Replaces a caller whose token is invalid, and a member whom the administrator changed.
                if invalidates_the_token(operation) {
                    callers.insert(kind, create(kind, &fixture));
                } else if ["administrator", "key", "role"].contains(&kind)
                    && operation.path.contains("/{user_id}")
                {
                    callers.insert("member", create("member", &fixture));
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
    let callers = CALLERS.map(|kind| (kind, create(kind, &fixture)));
    for operation in OPERATIONS.iter() {
        let refused = |kind: &str| match operation.access {
            Access::Anyone => false,
            // A key with all scopes may do what needs one of them.
            Access::Members | Access::Administrators if kind == "key" => operation.scope.is_none(),
            Access::Members => {
                !["member", "other member", "administrator", "role", "weak role"].contains(&kind)
            }
            Access::Administrators if kind == "role" => operation.scope.is_none(),
            Access::Administrators if kind.starts_with("weak ") => operation.path != "/import_acts",
            Access::Administrators => kind != "administrator",
        };
        for (kind, caller) in callers.iter().filter(|(kind, _)| refused(kind)) {
            let request = fixture.request(operation, caller);
            let before = fixture.server.dump();
            let answer = request.send();
            assert_ne!(answer.result(), "success", "{} by {kind}", operation.name());
            for (name, rows) in fixture.server.dump() {
                assert_eq!(rows, before[&name], "{} by {kind} wrote to {name}", operation.name());
            }
        }
    }
    fixture.check();
}
