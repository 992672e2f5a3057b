//! Members: sign-in, and the lists of members.

use tidings_core::account::{self, Caller, MemberQuery};
use tidings_core::{admin, profile};

use super::Range;
use crate::table::Growth::{Flat, NLogN};
use crate::table::Report;
use crate::world::{ANN, PASSWORD, World, ann};
use crate::{Result, cost};

const PART: &str = "members";

pub(super) fn measure(world: &World, rows: Range, report: &mut Report) -> Result<()> {
    world.fill(
        "INSERT INTO member (id, folded, password, generation, nickname, date)
         SELECT printf('Member%09d', n), printf('member%09d', n), '-', n, 'Member ' || n, n FROM number",
        rows.before,
        rows.size,
    )?;
    let mut add = |what, growth, cost| report.add(PART, what, growth, cost);
    let (tidings, operator) = (world.open()?, Caller::Operator);
    add("sign_in", Flat, cost::each(|| account::sign_in(&tidings, ANN, PASSWORD, None)));
    add("get_userinfo", Flat, cost::each(|| profile::user_info(&tidings, &ann())));
    let list = |query: &MemberQuery| cost::each(|| account::list(&tidings, &operator, query));
    add("first page of the list", Flat, list(&MemberQuery::default()));
    let after = Some(format!("member{:09}", rows.size / 2));
    add("a page in the middle", Flat, list(&MemberQuery { after, ..MemberQuery::default() }));
    let search = Some("nobody's name".to_owned());
    add("search for a name", NLogN, list(&MemberQuery { search, ..MemberQuery::default() }));
    add("list of administrators", Flat, cost::each(|| admin::list(&tidings, &operator)));
    add("get_blacklist", Flat, cost::each(|| admin::blacklist(&tidings, &operator)));
    let mut count = 0;
    let rename = || {
        count += 1;
        profile::change_nickname(&tidings, &ann(), &format!("Ann {count}"))
    };
    add("change_nickname", Flat, cost::each(rename));
    Ok(())
}
