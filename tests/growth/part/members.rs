//! Members: sign-in, and the lists of members.

use tidings_core::account::{Caller, SignIn};
use tidings_core::member::List;
use tidings_core::profile;

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
    add(
        "sign_in",
        Flat,
        cost::each(|| {
            let form = SignIn { id: ANN.into(), pw: PASSWORD.into(), otp: None };
            tidings.call(&Caller::Guest, form)
        }),
    );
    add("get_userinfo", Flat, cost::each(|| tidings.call(&ann(), profile::Get {})));
    let list = |query: List| cost::each(|| tidings.call(&operator, query.clone()));
    let after = Some(format!("member{:09}", rows.size / 2));
    add("a page of the list, in the middle", Flat, list(List { after, ..List::default() }));
    let search = Some("nobody's name".to_owned());
    add("search for a name", NLogN, list(List { search, ..List::default() }));
    Ok(())
}
