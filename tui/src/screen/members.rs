use ratatui::text::Line;
use serde_json::{Value, json};
use tidings_core::account::key::Scope;
use tidings_core::account::{self, MemberEntry, MemberFilter};
use tidings_core::changes::Changes;
use tidings_core::operation::Operation;
use tidings_core::{admin, member};

use crate::effect::query::{self, Member};
use crate::effect::{Act, Kind, Work};
use crate::keys::{self, Action, Table};
use crate::layout::tab;
use crate::screen::browse::{Browse, ColumnOf, Listing, listing};
use crate::screen::{Ctx, Destination, Out};
use crate::widget::Cycle as _;
use crate::widget::table::{Cell, Column};
use tidings_client::shown::number::count;

mod detail;
mod forms;

use detail::View;

#[derive(Default)]
pub(crate) struct Members {
    base: Listing<MemberEntry, String>,
    /// Besides the search; `None` for all members.
    only: Option<MemberFilter>,
    /// The search and the filter; `None` before the first request.
    listed: Option<(String, Option<MemberFilter>)>,
    member: Option<Member>,
    view: View,
    /// The version of the counters of the members' acts that was seen last.
    counts: i64,
}

const PAGE: usize = 200;
/// Members that are loaded again after a change; a longer list is loaded again on request only.
const PAGES: usize = 1_000;

impl Members {
    fn is_searched(&self) -> bool {
        self.listed.as_ref().is_some_and(|(search, _)| !search.is_empty())
    }

    fn show(&mut self, view: View) {
        self.view = view;
        if !self.base.list.reading && self.base.selected().is_some() {
            self.base.list.read();
        }
    }
}

fn change(done: String, operation: impl Operation) -> Act {
    Act::call(tab::MEMBERS, Kind::Save, done, operation)
}

fn ask(action: Action, entry: MemberEntry, out: &mut Out) {
    let (user_id, id) = (entry.user_id.clone(), entry.user_id);
    let who = if entry.nickname == id { id.clone() } else { format!("{id} ({})", entry.nickname) };
    let (text, detail, label, act) = match action {
        Action::Blacklist if entry.blacklisted == 1 => (
            format!("Remove {who} from the blacklist?"),
            "They can sign in again.",
            "remove them",
            change(format!("{id} may sign in again."), admin::PopBlacklist { user_id }),
        ),
        Action::Blacklist => (
            format!("Blacklist {who}?"),
            "They are signed out everywhere and cannot sign in until they are removed from the blacklist.",
            "blacklist them",
            change(
                format!("{id} is blacklisted and signed out everywhere."),
                admin::PushBlacklist { user_id },
            ),
        ),
        Action::Admin if entry.admin == 1 => (
            format!("Revoke the administrator rights of {who}?"),
            "They stay a member.",
            "revoke",
            change(format!("{id} is no longer an administrator."), admin::Revoke { user_id }),
        ),
        Action::Admin => (
            format!("Make {who} an administrator?"),
            "They may change notices, posts and members, and read the log.",
            "grant",
            change(format!("{id} is an administrator."), admin::Grant { user_id }),
        ),
        Action::ResetCode => (
            format!("Issue a code for {who}?"),
            "They choose a new password with it, within an hour. An earlier code no longer works.",
            "issue it",
            Act::new(
                None,
                Kind::IssueReset(id),
                None,
                Work::call(member::IssueReset { user_id }).map(|issued| Some(issued.code)),
            ),
        ),
        Action::Reset => (
            format!("Reset the measured interest of {who}?"),
            "The posts they viewed, their searches and the feeds they opened are deleted; likes stay.",
            "reset it",
            Act::new(
                tab::MEMBERS,
                Kind::Save,
                format!("Reset the measured interest of {id}."),
                Work::new(move |sources| Ok(sources.service.reset_measurement(&id).map(|()| None)?)),
            ),
        ),
        _ => (
            format!("Remove the member {who}?"),
            "The account, its lists and its interest are deleted for good. Feedback and log lines stay, by “removed”.",
            "remove them",
            Act::new(
                tab::MEMBERS,
                Kind::Remove,
                format!("Removed the member {id}."),
                Work::new(move |sources| Ok(sources.service.remove_member(&id).map(|()| None)?)),
            ),
        ),
    };
    out.ask(text, detail, label, act);
}

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
    listing!(MemberEntry, String, account::Members, Member);

    const TAB: usize = tab::MEMBERS;
    const KEYS: &'static Table = &keys::MEMBERS;
    const ID: fn(&MemberEntry) -> String = |entry| entry.user_id.clone();
    const VERSIONS: fn(&Changes) -> [i64; 3] = |changes| [changes.members, 0, 0];
    const COPIED: (&'static str, fn(&MemberEntry) -> String) = ("the id", |entry| entry.user_id.clone());
    const COLUMNS: &'static [ColumnOf<Self>] = &[
        (Column::new("Id", 16), |_, entry, _, _| entry.user_id.as_str().into()),
        (Column::new("Nickname", 0), |_, entry, _, _| entry.nickname.as_str().into()),
        (Column::new("Name", 14).from(76), |_, entry, _, _| entry.user_name.as_str().into()),
        (Column::new("Since", 10).from(48), |_, entry, _, ctx| Cell::faint(ctx.day(entry.date))),
        (Column::new("State", 13), |_, entry, _, ctx| {
            let style = if entry.blacklisted == 1 { ctx.theme.bad() } else { ctx.theme.accent() };
            Cell::styled(state(entry), style)
        }),
    ];
    const EXPORTED: (&'static str, &'static str) =
        ("members", "user_id nickname user_name user_major admin blacklisted date scopes");
    const LOADS_ABOVE: bool = true;

    fn query(&mut self, after: Option<String>, _: &Ctx) -> Option<Work<account::Members>> {
        let (search, only) = (self.base.list.filter.text().trim().to_owned(), self.only);
        let listed = Some((search.clone(), only));
        // As many members as are listed now are loaded, so that the list does not shrink.
        let is_same = after.is_none() && self.listed == listed;
        let limit = if is_same { self.base.rows.len().clamp(PAGE, PAGES) } else { PAGE };
        self.listed = listed;
        let search = Some(search).filter(|search| !search.is_empty());
        let only = only.map(|only| only.as_str().to_owned());
        Some(Work::call(member::List { search, limit: i64::try_from(limit).ok(), after, only }))
    }

    fn is_due(&mut self, has_changed: bool, changes: &Changes, _: &Ctx) -> bool {
        self.base.stale |= self.counts != changes.counts;
        self.counts = changes.counts;
        self.listed.is_none() || (has_changed && self.base.rows.len() <= PAGES)
    }

    fn detail(&self, id: &str) -> Option<(Work<Member>, bool)> {
        Some((query::member(id.to_owned()), self.member.as_ref().is_some_and(|member| member.id == id)))
    }

    fn text(&self, entry: &MemberEntry, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let member = self.member.as_ref().filter(|member| member.id == entry.user_id);
        detail::text(entry, member, self.base.detail.settled_problem(), self.view, columns, ctx)
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
            ) => ask(action, entry, out),
            (Action::Kind, _) => {
                self.only = match self.only {
                    None => Some(MemberFilter::Admins),
                    Some(MemberFilter::Admins) => Some(MemberFilter::Blacklisted),
                    Some(MemberFilter::Blacklisted) => Some(MemberFilter::Roles),
                    Some(MemberFilter::Roles) => None,
                };
                self.load(None, ctx, out);
            }
            (Action::Password, Some(entry)) => self.base.form = Some(forms::password(&entry, ctx)),
            (Action::Role, Some(entry)) => self.base.form = Some(forms::role(&entry, ctx)),
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

    fn loaded(&mut self, page: account::Members, _: &Ctx, _: &mut Out) {
        self.add(page.members, page.next);
    }

    fn detail_loaded(&mut self, member: Member, _: &Ctx) {
        self.member = Some(member);
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

    fn empty(&self) -> &'static str {
        match self.only {
            Some(_) => "There are none. f lists the next kind of members, or all.",
            None if self.is_searched() => "No member's id or name contains this. Esc lists all members.",
            None => "No member has signed up yet.",
        }
    }
}
