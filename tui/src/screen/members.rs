//! Members: searching them, showing their data, and administering them.

use std::borrow::Cow;

use ratatui::text::Line;
use serde_json::{Value, json};
use tidings_core::account::key::Scope;
use tidings_core::account::{MemberEntry, MemberFilter};
use tidings_core::changes::Changes;

use crate::effect::{Act, Answer, Changed, Member, Query};
use crate::keys::{self, Action, Table};
use crate::screen::browse::{Browse, Listing, listing};
use crate::screen::{Ctx, Destination, Out, Question};
use crate::widget::cycle::Cycle as _;
use crate::widget::table::{Cell, Column};
use tidings_client::shown::number::count;

mod detail;
mod password;
mod role;

use detail::View;

#[derive(Default)]
pub(crate) struct Members {
    base: Listing<MemberEntry, String>,
    /// Besides the search; `None` for all members.
    only: Option<MemberFilter>,
    /// The search and the filter; `None` before the first request.
    listed: Option<(String, Option<MemberFilter>)>,
    member: Option<Box<Member>>,
    view: View,
    /// The version of the counters of the members' acts that was seen last.
    counts: i64,
}

const COLUMNS: [Column; 5] = [
    Column::new("Id", 16),
    Column::new("Nickname", 0),
    Column::new("Name", 14).from(76),
    Column::new("Since", 10).from(48),
    Column::new("State", 13),
];

/// Members that are loaded at a time.
const PAGE: usize = 200;
/// Members that are loaded again after a change; a longer list is loaded again on request only.
const PAGES: usize = 1_000;

impl Members {
    fn is_searched(&self) -> bool {
        self.listed.as_ref().is_some_and(|(search, _)| !search.is_empty())
    }

    /// Opens the member if necessary.
    fn show(&mut self, view: View) {
        self.view = view;
        if !self.base.list.reading && self.base.selected().is_some() {
            self.base.list.read();
        }
    }
}

fn question(action: Action, entry: MemberEntry) -> Question {
    let id = entry.user_id;
    let who = if entry.nickname == id { id.clone() } else { format!("{id} ({})", entry.nickname) };
    let (text, detail, label, act) = match action {
        Action::Blacklist if entry.blacklisted == 1 => (
            format!("Remove {who} from the blacklist?"),
            "They can sign in again.",
            "remove them",
            Act::Blacklist { id, on: false },
        ),
        Action::Blacklist => (
            format!("Blacklist {who}?"),
            "They are signed out everywhere and cannot sign in until they are removed from the blacklist.",
            "blacklist them",
            Act::Blacklist { id, on: true },
        ),
        Action::Admin if entry.admin == 1 => (
            format!("Revoke the administrator rights of {who}?"),
            "They stay a member.",
            "revoke",
            Act::Administrate { id, on: false },
        ),
        Action::Admin => (
            format!("Make {who} an administrator?"),
            "They may change notices, posts and members, and read the log.",
            "grant",
            Act::Administrate { id, on: true },
        ),
        Action::ResetCode => (
            format!("Issue a code for {who}?"),
            "They choose a new password with it, within an hour. An earlier code no longer works.",
            "issue it",
            Act::IssueReset { id },
        ),
        Action::Reset => (
            format!("Reset the measured interest of {who}?"),
            "The posts they viewed, their searches and the feeds they opened are deleted; likes stay.",
            "reset it",
            Act::ResetMember { id },
        ),
        _ => (
            format!("Remove the member {who}?"),
            "The account, its lists and its interest are deleted for good. Feedback and log lines stay, by “removed”.",
            "remove them",
            Act::RemoveMember { id },
        ),
    };
    Question::yes_or_no(text, detail, label, act)
}

/// A sign and a word.
fn state(entry: &MemberEntry) -> &'static str {
    match (entry.admin, entry.blacklisted) {
        (_, 1) => "× blacklisted",
        (1, _) => "★ admin",
        _ if !entry.scopes.is_empty() => "◆ role",
        _ => "",
    }
}

fn names(scopes: &[Scope]) -> String {
    scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(", ")
}

impl Browse for Members {
    listing!(MemberEntry, String);

    const KEYS: &'static Table = &keys::MEMBERS;
    const COLUMNS: &'static [Column] = &COLUMNS;
    const EXPORTED: (&'static str, &'static [&'static str]) = (
        "members",
        &["user_id", "nickname", "user_name", "user_major", "admin", "blacklisted", "date", "scopes"],
    );
    const LOADS_ABOVE: bool = true;

    fn id(entry: &MemberEntry) -> &str {
        &entry.user_id
    }

    fn query(&mut self, after: Option<String>, _: &Ctx) -> Option<Query> {
        let (search, only) = (self.base.list.filter.text().trim().to_owned(), self.only);
        let listed = Some((search.clone(), only));
        // As many members as are listed now are loaded, so that the list does not shrink.
        let is_same = after.is_none() && self.listed == listed;
        let limit = if is_same { self.base.rows.len().clamp(PAGE, PAGES) } else { PAGE };
        self.listed = listed;
        Some(Query::Members { search, only, after, limit })
    }

    fn versions(changes: &Changes) -> [i64; 3] {
        [changes.members, 0, 0]
    }

    fn is_due(&mut self, has_changed: bool, changes: &Changes, _: &Ctx) -> bool {
        self.base.stale |= self.counts != changes.counts;
        self.counts = changes.counts;
        self.listed.is_none() || (has_changed && self.base.rows.len() <= PAGES)
    }

    fn detail(&self, id: &str) -> Option<(Query, bool)> {
        Some((Query::Member(id.to_owned()), self.member.as_ref().is_some_and(|member| member.id == id)))
    }

    fn text(&self, entry: &MemberEntry, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let member = self.member.as_ref().filter(|member| member.id == entry.user_id);
        detail::text(
            entry,
            member.map(Box::as_ref),
            self.base.detail.settled_problem(),
            self.view,
            columns,
            ctx,
        )
    }

    /// Requests the next page when the selection is near the end of the list.
    fn selection_changed(&mut self, ctx: &Ctx, out: &mut Out) {
        let behind = self.base.list.selected().map_or(0, |row| self.base.rows.len() - 1 - row);
        if behind < usize::from(ctx.size.1) && !self.base.pending.is_waiting() && self.base.next.is_some() {
            let after = self.base.next.take();
            self.load(after, ctx, out);
        }
    }

    fn own_action(&mut self, action: Action, entry: Option<MemberEntry>, ctx: &Ctx, out: &mut Out) -> bool {
        match (action, entry) {
            (
                Action::Blacklist | Action::Admin | Action::ResetCode | Action::Reset | Action::Remove,
                Some(entry),
            ) => out.question = Some(question(action, entry)),
            (Action::Kind, _) => {
                self.only = match self.only {
                    None => Some(MemberFilter::Admins),
                    Some(MemberFilter::Admins) => Some(MemberFilter::Blacklisted),
                    Some(MemberFilter::Blacklisted) => Some(MemberFilter::Roles),
                    Some(MemberFilter::Roles) => None,
                };
                self.load(None, ctx, out);
            }
            (Action::Password, Some(entry)) => self.base.open(password::of(&entry)),
            (Action::Role, Some(entry)) => self.base.open(role::of(&entry)),
            (Action::NextView, _) => self.show(self.view.next()),
            (Action::PreviousView, _) => self.show(self.view.previous()),
            (Action::GoTo, Some(entry)) => out.go = Some(Destination::Log(entry.user_id)),
            _ => return false,
        }
        true
    }

    fn values(&self, entry: &MemberEntry, ctx: &Ctx) -> Value {
        let MemberEntry { user_id, nickname, user_name, user_major, admin, blacklisted, date, scopes } =
            entry;
        json!([user_id, nickname, user_name, user_major, admin, blacklisted, ctx.stamp(*date), names(scopes)])
    }

    fn copied(entry: &MemberEntry) -> (&'static str, String) {
        ("the id", entry.user_id.clone())
    }

    fn loaded(&mut self, answer: Answer, ctx: &Ctx, out: &mut Out) {
        match answer {
            Answer::Members(page) => {
                self.add(page.members, page.next);
                self.load_detail(ctx, out);
            }
            Answer::Member(member) => self.member = Some(member),
            _ => {}
        }
    }

    fn changed(&mut self, act: &Act, result: Changed, ctx: &Ctx, out: &mut Out) {
        if let (Act::IssueReset { id }, Ok(Some(code))) = (act, result) {
            out.question = Some(Question::told(
                format!("The code for {id}: {code}"),
                "It is not shown again. They give it to the app to choose a new password: POST /reset_pw, or tidings member \
                 new-password.",
            ));
        }
        if let Act::Blacklist { .. }
        | Act::Administrate { .. }
        | Act::SetRole { .. }
        | Act::ResetMember { .. }
        | Act::RemoveMember { .. } = act
        {
            self.reload(ctx, out);
        }
    }

    fn cells(&self, entry: &MemberEntry, _: Option<&MemberEntry>, ctx: &Ctx) -> Vec<Cell> {
        let style = if entry.blacklisted == 1 { ctx.theme.bad() } else { ctx.theme.accent() };
        vec![
            entry.user_id.as_str().into(),
            entry.nickname.as_str().into(),
            entry.user_name.as_str().into(),
            Cell::faint(ctx.day(entry.date)),
            Cell::styled(state(entry), style),
        ]
    }

    fn head(&self, _: &Ctx) -> String {
        let n = self.base.rows.len();
        let more = if self.base.next.is_some() { " and more" } else { "" };
        let kind = match self.only {
            None => "member",
            Some(MemberFilter::Admins) => "administrator",
            Some(MemberFilter::Blacklisted) => "blacklisted member",
            Some(MemberFilter::Roles) => "role holder",
        };
        match (self.is_searched(), self.only) {
            (true, Some(_)) => format!("{}{more} found", count(n, kind)),
            (true, None) => format!("{n} found{more}"),
            (false, _) => format!("{}{more}", count(n, kind)),
        }
    }

    fn empty(&self) -> Cow<'static, str> {
        match self.only {
            Some(_) => "There are none. f lists the next kind of members, or all.".into(),
            None if self.is_searched() => {
                "No member's id or name contains this. Esc lists all members.".into()
            }
            None => "No member has signed up yet.".into(),
        }
    }
}
