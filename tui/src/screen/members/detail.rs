use ratatui::text::{Line, Span};
use tidings_core::account::MemberEntry;
use tidings_core::analysis::{LogEntry, LogLine};
use tidings_core::member::SignIns;
use tidings_core::profile::PostRecord;

use super::{names, state};
use crate::effect::query::Member;
use crate::problem::Problem;
use crate::screen::Ctx;
use crate::text::{self, fit};
use crate::theme::Theme;
use crate::widget::Cycle;
use tidings_client::shown::number::number;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum View {
    #[default]
    Facts,
    Likes,
    Views,
    Searches,
    Feeds,
    Log,
}

impl Cycle for View {
    const ALL: &'static [Self] =
        &[Self::Facts, Self::Likes, Self::Views, Self::Searches, Self::Feeds, Self::Log];
}

impl View {
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

pub(super) fn text(
    entry: &MemberEntry,
    member: Option<&Member>,
    problem: Option<&Problem>,
    view: View,
    columns: usize,
    ctx: &Ctx,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let title = format!("{}  {}", entry.user_id, entry.nickname);
    lines.extend(text::wrap(&title, columns).into_iter().map(|line| Line::styled(line, Theme::strong())));
    // When not all names fit, only the name of the current view is shown.
    let wide: usize = View::ALL.iter().map(|view| view.name().len() + 1).sum();
    let shown = View::ALL.iter().filter(|one| **one == view || wide <= columns);
    let tab = |one: &View| {
        let style = if *one == view { Theme::selected() } else { Theme::faint() };
        [Span::styled(one.name(), style), Span::raw(" ")]
    };
    lines.push(Line::from(shown.flat_map(tab).collect::<Vec<_>>()));
    lines.push(Line::default());
    let rest = match (member, problem) {
        (Some(member), _) => about(entry, member, view, ctx),
        (None, Some(problem)) => vec![(String::new(), format!("✗ {}", problem.text))],
        (None, None) => vec![(String::new(), "…".to_owned())],
    };
    if rest.is_empty() {
        lines.push(Line::styled("nothing", Theme::faint()));
    }
    for (label, value) in rest {
        let indent = text::width(&label);
        for (i, line) in text::wrap(&value, columns.saturating_sub(indent)).into_iter().enumerate() {
            let label = if i == 0 { label.clone() } else { " ".repeat(indent) };
            lines.push(Line::from(vec![Span::styled(label, Theme::faint()), Span::raw(line)]));
        }
    }
    lines
}

fn about(entry: &MemberEntry, member: &Member, view: View, ctx: &Ctx) -> Vec<(String, String)> {
    let lists = &member.lists;
    let when = |at| fit(&ctx.stamp(at), 17, false);
    let posts = |list: &Option<Vec<PostRecord>>| -> Vec<(String, String)> {
        let list = list.iter().flatten();
        list.map(|post| (when(post.date), post.title.clone())).collect()
    };
    match view {
        View::Facts => {
            let latest = match &member.log {
                Ok(log) => {
                    log.first().map_or_else(|| "nothing yet".to_owned(), |line| ctx.stamp(line.entry.date))
                }
                Err(_) => String::new(),
            };
            let mut facts = vec![
                ("name", entry.user_name.clone()),
                ("subject", entry.user_major.clone()),
                ("since", ctx.stamp(entry.date)),
                ("last seen", latest),
                ("state", if state(entry).is_empty() { "member" } else { state(entry) }.to_owned()),
                ("role", names(&entry.scopes)),
                ("sign-in", member.sign_ins.as_ref().map_or_else(String::new, ways)),
                ("unsent mail", member.sign_ins.as_ref().map_or_else(String::new, |ways| unsent(ways, ctx))),
                ("auto login", if member.auto_login { "on" } else { "off" }.to_owned()),
                ("likes", number(lists.fav_list.as_ref().map_or(0, Vec::len))),
                ("views", number(lists.view_list.as_ref().map_or(0, Vec::len))),
                ("searches", number(lists.search_list.as_ref().map_or(0, Vec::len))),
                ("feeds", number(lists.newsfeed_list.as_ref().map_or(0, Vec::len))),
            ];
            facts.retain(|(_, value)| !value.is_empty());
            facts.into_iter().map(|(name, value)| (fit(name, 12, false), value)).collect()
        }
        View::Likes => posts(&lists.fav_list),
        View::Views => posts(&lists.view_list),
        View::Searches => {
            let list = lists.search_list.iter().flatten();
            list.map(|search| (when(search.date), search.original.clone())).collect()
        }
        View::Feeds => {
            let list = lists.newsfeed_list.iter().flatten();
            list.map(|feed| (when(feed.date), feed.newsfeed_name.clone())).collect()
        }
        View::Log => {
            let line = |(i, line): (usize, &LogLine)| {
                let above = i.checked_sub(1).and_then(|i| member.log.as_ref().ok()?.get(i));
                let LogEntry { date, method, path, status, .. } = &line.entry;
                let date = fit(&ctx.dated(*date, above.map(|above| above.entry.date)), 15, false);
                (date, format!("{status} {method} {path}"))
            };
            match &member.log {
                Ok(log) => log.iter().enumerate().map(line).collect(),
                Err(problem) => vec![(String::new(), format!("✗ {}", problem.text))],
            }
        }
    }
}

fn ways(sign_ins: &SignIns) -> String {
    let passkeys = match sign_ins.passkeys {
        0 => String::new(),
        1 => "a passkey".to_owned(),
        several => format!("{several} passkeys"),
    };
    let named = |has: u8, name: &str| if has == 1 { name.to_owned() } else { String::new() };
    let mut ways = vec![
        named(sign_ins.email, "e-mail"),
        named(sign_ins.otp, "second factor"),
        passkeys,
        named(sign_ins.oidc, "single sign-on"),
    ];
    ways.retain(|way| !way.is_empty());
    ways.join(", ")
}

fn unsent(sign_ins: &SignIns, ctx: &Ctx) -> String {
    let Some(mail) = &sign_ins.mail else { return String::new() };
    let error = mail.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
    format!("{} of {}{error}", mail.kind, ctx.stamp(mail.date))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_to_sign_in_are_named() {
        for (email, otp, passkeys, oidc, named) in [
            (0, 0, 0, 0, ""),
            (1, 1, 1, 0, "e-mail, second factor, a passkey"),
            (0, 0, 2, 1, "2 passkeys, single sign-on"),
        ] {
            assert_eq!(ways(&SignIns { email, otp, passkeys, oidc, mail: None }), named);
        }
    }
}
