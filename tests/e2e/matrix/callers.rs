//! Every operation, called by everybody.

use std::collections::BTreeMap;

use tidings_tests::{Access, Caller, OPERATIONS, jwt};

use super::{Table, World, said, spends_the_caller};

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Nobody,
    Member,
    OtherMember,
    Administrator,
    Blacklisted,
    Removed,
    Forged,
}

use Who::{Administrator, Blacklisted, Forged, Member, Nobody, OtherMember, Removed};

const EVERYBODY: [Who; 7] = [Nobody, Member, OtherMember, Administrator, Blacklisted, Removed, Forged];

impl Who {
    fn name(self) -> &'static str {
        match self {
            Nobody => "nobody",
            Member => "member",
            OtherMember => "other member",
            Administrator => "administrator",
            Blacklisted => "blacklisted",
            Removed => "removed",
            Forged => "forged",
        }
    }

    fn make(self, world: &World) -> Caller {
        match self {
            Nobody => world.server.anyone(),
            // The one that administrators act on, and another one.
            Member => {
                let target = world.member();
                world.target.replace(target.id().to_owned());
                target
            }
            OtherMember => world.member(),
            Administrator => world.administrator(),
            Blacklisted => {
                let member = world.member();
                let _ = world.boss.get(&format!("/push_blacklist/{}", member.id())).succeeded();
                member
            }
            Removed => {
                let member = world.member();
                let _ = member.get("/remove_mine").succeeded();
                member
            }
            // All of it is right but the key.
            Forged => {
                let claims = jwt::claims(world.boss.token());
                let token = jwt::forge(&claims, "HS256", b"another key, of thirty-two bytes");
                world.server.anyone().with_token(world.boss.id(), token)
            }
        }
    }
}

#[test]
fn every_operation_answers_every_kind_of_caller_as_documented() {
    let world = World::new();
    let mut callers: BTreeMap<_, _> = EVERYBODY.map(|who| (who, who.make(&world))).into();
    let mut table = Table::default();
    for operation in OPERATIONS {
        let mut answers = Vec::new();
        for who in EVERYBODY {
            let answer = world.request(operation, &callers[&who]).send();
            answers.push((who.name().to_owned(), said(operation, who.name(), &answer)));
            if answer.result() == "success" {
                world.restore(operation);
                // Whom administrators have removed or blacklisted, or who has gone.
                if spends_the_caller(operation) {
                    callers.insert(who, who.make(&world));
                } else if who == Administrator && operation.path.ends_with("/{user_id}") {
                    callers.insert(Member, Member.make(&world));
                }
            }
        }
        table.add(&operation.name(), answers);
    }
    table.compare("callers");
    world.check();
}

#[test]
fn refused_callers_change_nothing() {
    let world = World::new();
    let callers = EVERYBODY.map(|who| (who, who.make(&world)));
    for operation in OPERATIONS {
        let refused = |who: Who| match operation.access {
            Access::Anyone => false,
            Access::Members => !matches!(who, Member | OtherMember | Administrator),
            Access::Administrators => who != Administrator,
        };
        for (who, caller) in callers.iter().filter(|(who, _)| refused(*who)) {
            let request = world.request(operation, caller);
            let before = world.server.dump();
            let answer = request.send();
            assert_ne!(answer.result(), "success", "{} by {}", operation.name(), who.name());
            for (name, rows) in world.server.dump() {
                assert_eq!(rows, before[&name], "{} by {} wrote to {name}", operation.name(), who.name());
            }
        }
    }
    world.check();
}
