//! Sources: the feeds of other sites that the service fetches by itself, how their fetches went, and fetching one now.

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::Line;
use serde_json::{Value, json};
use tidings_client::shown::number::{count, number};
use tidings_client::shown::source::{facts, is_failing, state};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;
use tidings_core::source::{Source, SourceState};

use crate::effect::{Act, Answer, Changed, Query};
use crate::keys::{self, Action, Table};
use crate::screen::browse::{Browse, Listing, SETTLING, any_holds, listing};
use crate::screen::{Ctx, Out, Question, reading};
use crate::theme::Theme;
use crate::widget::table::{Cell, Column};

mod form;

#[derive(Default)]
pub(crate) struct Sources {
    base: Listing<Source>,
}

const COLUMNS: [Column; 6] = [
    Column::new("State", 9),
    Column::new("Name", 0),
    Column::new("Posts", 6).right(),
    Column::new("Last result", 20).from(56),
    Column::new("Next fetch", 14).from(70),
    Column::new("Last fetch", 14).from(90),
];

/// With the sign of the state.
fn marked(source: &Source, ctx: &Ctx) -> (String, Style) {
    let (sign, style) = match source.state {
        _ if is_failing(source) => ("✗", ctx.theme.bad()),
        SourceState::Active => ("●", ctx.theme.good()),
        SourceState::Paused => ("○", Theme::faint()),
        SourceState::Ended => ("×", ctx.theme.attention()),
    };
    (format!("{sign} {}", state(source)), style)
}

/// Empty before the first fetch.
fn result(source: &Source) -> &str {
    match (&source.error, source.last_fetch) {
        (Some(error), _) => error,
        (None, None) => "",
        (None, fetched) if source.last_news >= fetched => "new posts",
        (None, _) => "nothing new",
    }
}

fn remove(source: Source) -> Question {
    Question::yes_or_no(
        format!("Remove the source “{}”?", source.name),
        format!("It is not fetched any more; its {} stay.", count(source.posts, "post")),
        "remove it",
        Act::RemoveSource { id: source.id, name: source.name },
    )
}

impl Browse for Sources {
    listing!(Source, ());

    const KEYS: &'static Table = &keys::SOURCES;
    const COLUMNS: &'static [Column] = &COLUMNS;
    const EXPORTED: (&'static str, &'static [&'static str]) = (
        "sources",
        &[
            "_id",
            "name",
            "url",
            "home",
            "topic",
            "tag",
            "every",
            "state",
            "date",
            "posts",
            "next_fetch",
            "last_fetch",
            "last_success",
            "last_news",
            "failures",
            "failing_since",
            "error",
            "hub",
            "subscribed_until",
        ],
    );
    const FILTERS: bool = true;

    fn id(source: &Source) -> &str {
        &source.id
    }

    fn keeps(&self, source: &Source, text: &str) -> bool {
        let Source { name, url, topic, tag, .. } = source;
        any_holds(&[name, url, state(source), result(source), &topic.join(", "), &tag.join(", ")], text)
    }

    fn query(&mut self, _: Option<()>, _: &Ctx) -> Option<Query> {
        Some(Query::Sources)
    }

    fn versions(changes: &Changes) -> [i64; 3] {
        [changes.sources, 0, 0]
    }

    /// Every fetch changes the sources.
    fn is_due(&mut self, has_changed: bool, _: &Changes, ctx: &Ctx) -> bool {
        has_changed && self.base.is_time(ctx)
    }

    fn text(&self, source: &Source, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        // The state is below the name.
        let facts = facts(source, |at| ctx.stamp(at)).into_iter().filter(|(name, _)| *name != "State");
        let lines: Vec<String> = facts.map(|(name, fact)| format!("{name}: {fact}")).collect();
        reading(&source.name, &marked(source, ctx).0, &lines.join("\n"), columns)
    }

    // The columns need more room than the facts.
    fn list_width(width: u16) -> u16 {
        width * 3 / 5
    }

    fn own_action(&mut self, action: Action, source: Option<Source>, _: &Ctx, out: &mut Out) -> bool {
        match (action, source) {
            (Action::New, _) => self.base.open(form::of(None)),
            (Action::Edit | Action::Fetch | Action::Toggle | Action::Remove, _)
                if self.base.to_select.is_some() =>
            {
                out.say(SETTLING);
            }
            (Action::Edit, Some(source)) => self.base.open(form::of(Some(source))),
            (Action::Fetch, Some(Source { id, name, .. })) => out.act(Act::FetchSource { id, name }),
            (Action::Toggle, Some(Source { id, name, state, .. })) => {
                out.act(Act::PauseSource { id, name, on: state == SourceState::Active });
            }
            (Action::Remove, Some(source)) => out.question = Some(remove(source)),
            _ => return false,
        }
        true
    }

    fn values(&self, source: &Source, ctx: &Ctx) -> Value {
        let at = |at: Option<Timestamp>| at.map(|at| ctx.stamp(at));
        json!([
            source.id,
            source.name,
            source.url,
            source.home,
            source.topic.join(", "),
            source.tag.join(", "),
            source.every,
            source.state.name(),
            ctx.stamp(source.date),
            source.posts,
            at(source.next_fetch),
            at(source.last_fetch),
            at(source.last_success),
            at(source.last_news),
            source.failures,
            at(source.failing_since),
            source.error,
            source.hub,
            at(source.subscribed_until)
        ])
    }

    fn copied(source: &Source) -> (&'static str, String) {
        ("the address", source.url.clone())
    }

    fn loaded(&mut self, answer: Answer, _: &Ctx, _: &mut Out) {
        if let Answer::Sources(sources) = answer {
            self.add(sources, None);
        }
    }

    fn changed(&mut self, act: &Act, result: Changed, ctx: &Ctx, out: &mut Out) {
        match (act, result) {
            (Act::SaveSource { target, fields }, Ok(Some(id))) => {
                self.base.to_select = Some(id.to_owned());
                if target.is_none() {
                    let (id, name) = (id.to_owned(), fields.url.clone());
                    out.act(Act::FetchSource { id, name });
                }
            }
            (Act::FetchSource { .. }, Ok(Some(brought))) => out.done(brought),
            (Act::FetchSource { .. } | Act::PauseSource { .. } | Act::RemoveSource { .. }, _) => {}
            _ => return,
        }
        self.reload(ctx, out);
    }

    fn cells(&self, source: &Source, _: Option<&Source>, ctx: &Ctx) -> Vec<Cell> {
        let (state, style) = marked(source, ctx);
        let at = |at: Option<Timestamp>| Cell::faint(at.map_or_else(String::new, |at| ctx.moment(at)));
        let result_style = if source.error.is_some() { ctx.theme.bad() } else { Theme::faint() };
        vec![
            Cell::styled(state, style),
            source.name.as_str().into(),
            number(source.posts).into(),
            Cell::styled(result(source), result_style),
            at(source.next_fetch),
            at(source.last_fetch),
        ]
    }

    fn head(&self, _: &Ctx) -> String {
        let sources = count(self.base.rows.len(), "source");
        match self.base.rows.iter().filter(|source| is_failing(source)).count() {
            0 => sources,
            failing => format!("{sources}, {} failing", number(failing)),
        }
    }

    fn empty(&self) -> Cow<'static, str> {
        "There are no sources. n adds one: a feed of another site, whose entries become posts.".into()
    }
}
