//! Members: searching them, showing their data, and administering them.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use tidings_core::account::{MemberEntry, MemberFilter};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::{Act, Answer, Member, Query};
use crate::keys::{self, Action, Table};
use crate::number::count;
use crate::pending::Pending;
use crate::problem::Problem;
use crate::screen::browse::Browse;
use crate::screen::form::Form;
use crate::screen::{Ctx, Destination, Out, Question};
use crate::sheet::Sheet;
use crate::theme::Theme;
use crate::widget::browser::{Appearance, Browser, Item};
use crate::widget::cycle::Cycle as _;
use crate::widget::table::{Cell, Column};

mod detail;
mod password;

use detail::View;
use password::PasswordForm;

impl Item for MemberEntry {
    fn id(&self) -> &str {
        &self.user_id
    }

    /// Returns true, because the core has already applied the filter.
    fn holds(&self, _: &str) -> bool {
        true
    }
}

/// The members.
#[derive(Debug, Default)]
pub(crate) struct Members {
    pending: Pending,
    list: Browser<MemberEntry>,
    /// The members that are listed, besides the search; `None` for all.
    only: Option<MemberFilter>,
    /// The search and the filter of the list; `None` before the first request.
    listed: Option<(String, Option<MemberFilter>)>,
    /// Whether the pending request continues the list.
    further: bool,
    next: Option<String>,
    member_pending: Pending,
    member: Option<Box<Member>>,
    /// Whether the shown member may have changed. The old data stays visible until the new data is loaded.
    stale: bool,
    view: View,
    /// The form for a new password, while it is open.
    password: Option<PasswordForm>,
    /// The versions of the members, and of the counters of their acts, that were requested last.
    seen: (i64, i64),
}

const COLUMNS: [Column; 5] = [
    Column::new("Id", 16),
    Column::new("Nickname", 0),
    Column::new("Name", 14).from(76),
    Column::new("Since", 10).from(48),
    Column::new("State", 13),
];

/// The number of members loaded at a time.
const PAGE: usize = 200;
/// The maximum number of members that are loaded again after a change; a longer list is loaded again on request only.
const PAGES: usize = 1_000;

impl Members {
    fn load(&mut self, after: Option<String>, ctx: &Ctx, out: &mut Out) {
        let listed = (self.list.filter.text().trim().to_owned(), self.only);
        // As many members as are listed now are loaded, so that the list does not shrink.
        let same = after.is_none() && self.listed.as_ref() == Some(&listed);
        let limit = if same { self.list.items().len().clamp(PAGE, PAGES) } else { PAGE };
        self.listed = Some(listed.clone());
        let (search, only) = listed;
        self.further = after.is_some();
        out.effect(self.pending.request(ctx.now, Query::Members { search, only, after, limit }));
    }

    /// Requests the data of the selected member if it is visible and is missing or stale.
    fn load_member(&mut self, ctx: &Ctx, out: &mut Out) {
        let Some(entry) = self.list.selected() else { return };
        let there = self.member.as_ref().is_some_and(|member| member.id == entry.user_id);
        if self.list.areas(ctx.body()).text.width > 0 && (!there || self.stale) {
            self.stale = false;
            let query = Query::Member(entry.user_id.clone());
            out.effect(self.member_pending.request(ctx.now, query));
        }
    }

    /// Requests the next page when the selection is near the end of the list.
    fn load_more(&mut self, ctx: &Ctx, out: &mut Out) {
        let near = self.list.behind() < usize::from(ctx.size.1);
        if near && !self.pending.is_waiting() && self.next.is_some() {
            let after = self.next.take();
            self.load(after, ctx, out);
        }
    }

    /// Shows a view of the selected member, and opens the member if necessary.
    fn show(&mut self, view: View) {
        self.view = view;
        if !self.list.reading() && self.list.selected().is_some() {
            self.list.read();
        }
    }

    fn confirm(&self, action: Action, out: &mut Out) {
        let Some(entry) = self.list.selected() else { return };
        let id = entry.user_id.clone();
        let who = if entry.nickname == id { id.clone() } else { format!("{id} ({})", entry.nickname) };
        out.question = Some(match action {
            Action::Blacklist if entry.blacklisted == 1 => Question::yes_or_no(
                format!("Remove {who} from the blacklist?"),
                "They can sign in again.",
                "remove them",
                Act::Blacklist { id, on: false },
            ),
            Action::Blacklist => Question::yes_or_no(
                format!("Blacklist {who}?"),
                "They are signed out everywhere and cannot sign in until they are removed from the blacklist.",
                "blacklist them",
                Act::Blacklist { id, on: true },
            ),
            Action::Admin if entry.admin == 1 => Question::yes_or_no(
                format!("Revoke the administrator rights of {who}?"),
                "They stay a member.",
                "revoke",
                Act::Administrate { id, on: false },
            ),
            Action::Admin => Question::yes_or_no(
                format!("Make {who} an administrator?"),
                "They may change notices, posts and members, and read the log.",
                "grant",
                Act::Administrate { id, on: true },
            ),
            Action::Reset => Question::yes_or_no(
                format!("Reset the measured interest of {who}?"),
                "The posts they viewed, their searches and the feeds they opened are deleted; likes stay.",
                "reset it",
                Act::ResetMember { id },
            ),
            _ => Question::yes_or_no(
                format!("Remove the member {who}?"),
                "The account, its lists and its interest are deleted for good. Feedback and log lines stay, by “removed”.",
                "remove them",
                Act::RemoveMember { id },
            ),
        });
    }
}

/// Returns a member's special state: a sign and a word.
fn state(entry: &MemberEntry) -> &'static str {
    match (entry.admin, entry.blacklisted) {
        (_, 1) => "× blacklisted",
        (1, _) => "★ admin",
        _ => "",
    }
}

impl Browse for Members {
    type Item = MemberEntry;

    const KEYS: &'static Table = &keys::MEMBERS;

    fn list(&self) -> &Browser<MemberEntry> {
        &self.list
    }

    fn list_mut(&mut self) -> &mut Browser<MemberEntry> {
        &mut self.list
    }

    fn text(&self, entry: &MemberEntry, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let member = self.member.as_ref().filter(|member| member.id == entry.user_id);
        let problem = self.member_pending.problem().filter(|_| !self.member_pending.is_waiting());
        detail::text(entry, member.map(Box::as_ref), problem, self.view, columns, ctx)
    }

    fn load_changed(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        let first = self.listed.is_none();
        let due = self.seen.0 != changes.members && self.list.items().len() <= PAGES;
        if (first || due) && !self.pending.is_waiting() {
            self.seen.0 = changes.members;
            self.stale = true;
            self.load(None, ctx, out);
        }
        if self.seen.1 != changes.counts {
            self.seen.1 = changes.counts;
            self.stale = true;
        }
        // A failed request is not repeated before something has changed.
        if !self.member_pending.is_waiting() && (self.stale || self.member_pending.problem().is_none()) {
            self.load_member(ctx, out);
        }
    }

    fn reload(&mut self, ctx: &Ctx, out: &mut Out) {
        self.stale = true;
        self.load(None, ctx, out);
    }

    fn filter_changed(&mut self, ctx: &Ctx, out: &mut Out) {
        self.load(None, ctx, out);
    }

    fn selection_changed(&mut self, ctx: &Ctx, out: &mut Out) {
        self.load_member(ctx, out);
        self.load_more(ctx, out);
    }

    fn own_action(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        match action {
            Action::Blacklist | Action::Admin | Action::Reset | Action::Remove => self.confirm(action, out),
            Action::Kind => {
                self.only = match self.only {
                    None => Some(MemberFilter::Admins),
                    Some(MemberFilter::Admins) => Some(MemberFilter::Blacklisted),
                    Some(MemberFilter::Blacklisted) => None,
                };
                self.load(None, ctx, out);
            }
            Action::Password => self.password = self.list.selected().map(PasswordForm::of),
            Action::NextView => self.show(self.view.next()),
            Action::PreviousView => self.show(self.view.previous()),
            Action::GoTo => {
                if let Some(entry) = self.list.selected() {
                    out.go = Some(Destination::Log(entry.user_id.clone()));
                }
            }
            _ => return false,
        }
        true
    }

    fn sheet(&self, ctx: &Ctx) -> Sheet {
        let row = |entry: &MemberEntry| {
            vec![
                entry.user_id.as_str().into(),
                entry.nickname.as_str().into(),
                entry.user_name.as_str().into(),
                entry.user_major.as_str().into(),
                entry.admin.into(),
                entry.blacklisted.into(),
                ctx.stamp(entry.date).into(),
            ]
        };
        Sheet {
            name: format!("members-{}", ctx.day(ctx.now)),
            head: vec!["user_id", "nickname", "user_name", "user_major", "admin", "blacklisted", "date"],
            rows: self.list.listed().map(row).collect(),
        }
    }

    fn copied(entry: &MemberEntry) -> (&'static str, String) {
        ("the id", entry.user_id.clone())
    }

    fn loaded(&mut self, number: u64, answer: Answer, ctx: &Ctx, out: &mut Out) {
        match answer {
            Answer::Members(answer) => {
                let Some(page) = self.pending.take(number, answer) else { return };
                let mut entries = if self.further { self.list.items().to_vec() } else { Vec::new() };
                entries.extend(page.members);
                self.next = page.next;
                // The core returns them by id.
                self.list.set(entries, |_| true, |_, _| std::cmp::Ordering::Equal);
                self.load_member(ctx, out);
            }
            Answer::Member(answer) => {
                if let Some(member) = self.member_pending.take(number, answer) {
                    self.member = Some(member);
                }
            }
            _ => {}
        }
    }

    fn changed(&mut self, act: &Act, _: Result<Option<&str>, &Problem>, ctx: &Ctx, out: &mut Out) {
        if let Act::Blacklist { .. }
        | Act::Administrate { .. }
        | Act::ResetMember { .. }
        | Act::RemoveMember { .. } = act
        {
            self.reload(ctx, out);
        }
    }

    fn waits_long(&self, now: Timestamp) -> bool {
        self.pending.is_slow(now) || self.member_pending.is_slow(now)
    }

    fn cancel_pending(&mut self) -> bool {
        let (list, text) = (self.pending.cancel(), self.member_pending.cancel());
        list || text
    }

    fn form(&self) -> Option<&dyn Form> {
        self.password.as_ref().map(|form| form as &dyn Form)
    }

    fn form_mut(&mut self) -> Option<&mut dyn Form> {
        self.password.as_mut().map(|form| form as &mut dyn Form)
    }

    fn close_form(&mut self) {
        self.password = None;
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx) {
        let row = |entry: &MemberEntry, _: Option<&MemberEntry>| {
            let style = if entry.blacklisted == 1 { ctx.theme.bad() } else { ctx.theme.accent() };
            vec![
                Cell::from(entry.user_id.as_str()),
                entry.nickname.as_str().into(),
                entry.user_name.as_str().into(),
                Cell::styled(ctx.day(entry.date), Theme::faint()),
                Cell::styled(state(entry), style),
            ]
        };
        let n = self.list.listed().count();
        let more = if self.next.is_some() { " and more" } else { "" };
        let searched = self.listed.as_ref().is_some_and(|(search, _)| !search.is_empty());
        let kind = match self.only {
            None => "member",
            Some(MemberFilter::Admins) => "administrator",
            Some(MemberFilter::Blacklisted) => "blacklisted member",
        };
        let head = match (self.pending.is_waiting() && n == 0, searched) {
            (true, _) => "Loading …".to_owned(),
            (_, true) if self.only.is_some() => format!("{}{more} found", count(n, kind)),
            (_, true) => format!("{n} found{more}"),
            (_, false) => format!("{}{more}", count(n, kind)),
        };
        let kind = ctx.key(&keys::MEMBERS, Action::Kind);
        let none = format!("There are none. {kind} lists the next kind of members, or all.");
        let look = Appearance {
            theme: ctx.theme,
            head,
            problem: self.pending.problem().map(|problem| problem.text.clone()),
            empty: match (self.pending.is_waiting(), searched) {
                (true, _) => "",
                _ if self.only.is_some() => &none,
                (_, true) => "No member's id or name contains this. Esc lists all members.",
                (_, false) => "No member has signed up yet.",
            },
            columns: &COLUMNS,
            row: &row,
            text: &|entry, columns| self.text(entry, columns, ctx),
        };
        self.list.draw(area, frame.buffer_mut(), &look);
    }
}
