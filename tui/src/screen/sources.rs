use ratatui::style::Style;
use ratatui::text::Line;
use serde_json::Value;
use tidings_client::shown::number::{count, number};
use tidings_client::shown::source::{brought, facts, is_failing, state};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;
use tidings_core::operation::Operation;
use tidings_core::source::{self, Add, Source, SourceState, Update};

use crate::effect::{Act, Change, Changed, Kind, Work};
use crate::keys::{self, Action, Table};
use crate::layout::tab;
use crate::problem::Problem;
use crate::screen::browse::{Browse, ColumnOf, Listing, any_holds, listing};
use crate::screen::form::{Form, Holds, Mistake, Page, Spec, Typed, filled, record};
use crate::screen::{Ctx, Out, reading};
use crate::sheet;
use crate::theme::Theme;
use crate::widget::table::{Cell, Column};

#[derive(Default)]
pub(crate) struct Sources {
    base: Listing<Source>,
}

fn marked(source: &Source, ctx: &Ctx) -> (String, Style) {
    let (sign, style) = match source.state {
        _ if is_failing(source) => ("✗", ctx.theme.bad()),
        SourceState::Active => ("●", ctx.theme.good()),
        SourceState::Paused => ("○", Theme::faint()),
        SourceState::Ended => ("×", ctx.theme.attention()),
    };
    (format!("{sign} {}", state(source)), style)
}

fn result(source: &Source) -> &str {
    match (&source.error, source.last_fetch) {
        (Some(error), _) => error,
        (None, None) => "",
        (None, fetched) if source.last_news >= fetched => "new posts",
        (None, _) => "nothing new",
    }
}

fn moment(at: Option<Timestamp>, ctx: &Ctx) -> Cell {
    Cell::faint(at.map(|at| ctx.moment(at)).unwrap_or_default())
}

fn change(done: String, operation: impl Operation) -> Act {
    Act::call(tab::SOURCES, Kind::Save, done, operation)
}

fn remove(source: Source, out: &mut Out) {
    let Source { id: source_obi, name, posts, .. } = source;
    let operation = source::Remove { source_obi, with_posts: None };
    out.ask(
        format!("Remove the source “{name}”?"),
        format!("It is not fetched any more; its {} stay.", count(posts, "post")),
        "remove it",
        Act::call(tab::SOURCES, Kind::Remove, format!("Removed “{name}”; its posts stay."), operation),
    );
}

fn fetch(source_obi: String, name: String) -> Act {
    let work = Work::new(move |sources| {
        let fetched = sources.service.call(source::Fetch { source_obi })?;
        if let Some(error) = &fetched.error {
            return Err(Problem::new(format!("“{name}” could not be fetched: {error}.")));
        }
        let unread = match fetched.errors.len() {
            0 => String::new(),
            unread => format!(", {unread} unreadable"),
        };
        Ok(Some(format!("{}{unread} in “{name}”.", brought(&fetched))))
    });
    Act::new(tab::SOURCES, Kind::FetchSource, None, work)
}

impl Browse for Sources {
    listing!(Source, (), source::Sources);

    const TAB: usize = tab::SOURCES;
    const KEYS: &'static Table = &keys::SOURCES;
    /// The columns need more room than the facts.
    const LIST_WIDTH: fn(u16) -> u16 = |width| width * 3 / 5;
    const ID: fn(&Source) -> String = |source| source.id.clone();
    const VERSIONS: fn(&Changes) -> [i64; 3] = |changes| [changes.sources, 0, 0];
    const COPIED: (&'static str, fn(&Source) -> String) = ("the address", |source| source.url.clone());
    const COLUMNS: &'static [ColumnOf<Self>] = &[
        (Column::new("State", 9), |_, source, _, ctx| {
            let (state, style) = marked(source, ctx);
            Cell::styled(state, style)
        }),
        (Column::new("Name", 0), |_, source, _, _| source.name.as_str().into()),
        (Column::new("Posts", 6).right(), |_, source, _, _| number(source.posts).into()),
        (Column::new("Last result", 20).from(56), |_, source, _, ctx| {
            let style = if source.error.is_some() { ctx.theme.bad() } else { Theme::faint() };
            Cell::styled(result(source), style)
        }),
        (Column::new("Next fetch", 14).from(70), |_, source, _, ctx| moment(source.next_fetch, ctx)),
        (Column::new("Last fetch", 14).from(90), |_, source, _, ctx| moment(source.last_fetch, ctx)),
    ];
    const EXPORTED: (&'static str, &'static str) = (
        "sources",
        "_id name url home topic tag every state date posts next_fetch last_fetch last_success last_news failures failing_since error hub subscribed_until",
    );
    const SETTLES: &'static [Action] = &[Action::Edit, Action::Fetch, Action::Toggle, Action::Remove];
    const FILTERS: bool = true;

    fn keeps(&self, source: &Source, text: &str) -> bool {
        let Source { name, url, topic, tag, .. } = source;
        any_holds(&[name, url, state(source), result(source), &topic.join(", "), &tag.join(", ")], text)
    }

    fn query(&mut self, _: Option<()>, _: &Ctx) -> Option<Work<source::Sources>> {
        Some(Work::call(source::List {}))
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

    fn own_action(&mut self, action: Action, source: Option<Source>, ctx: &Ctx, out: &mut Out) -> bool {
        match (action, source) {
            (Action::New, _) => self.base.form = Some(form(None, ctx)),
            (Action::Edit, Some(source)) => self.base.form = Some(form(Some(&source), ctx)),
            (Action::Fetch, Some(Source { id, name, .. })) => out.act(fetch(id, name)),
            (Action::Toggle, Some(Source { id: source_obi, name, state, .. })) => out.act(match state {
                SourceState::Active => change(format!("“{name}” is paused."), source::Pause { source_obi }),
                _ => change(format!("“{name}” is fetched again."), source::Resume { source_obi }),
            }),
            (Action::Remove, Some(source)) => remove(source, out),
            _ => return false,
        }
        true
    }

    fn values(&self, source: &Source, ctx: &Ctx) -> Value {
        sheet::values(Self::EXPORTED.1, &record(source), ctx)
    }

    fn loaded(&mut self, list: source::Sources, _: &Ctx, _: &mut Out) {
        self.add(list.sources, None);
    }

    fn changed(&mut self, change: &Change, result: Changed, _: &Ctx, out: &mut Out) {
        if let (Kind::AddSource(url), Ok(Some(id))) = (&change.kind, result) {
            out.act(fetch(id.to_owned(), url.clone()));
        }
    }

    fn head(&self, _: &Ctx) -> String {
        let sources = count(self.base.rows.len(), "source");
        match self.base.rows.iter().filter(|source| is_failing(source)).count() {
            0 => sources,
            failing => format!("{sources}, {} failing", number(failing)),
        }
    }

    fn empty(&self) -> &'static str {
        "There are no sources. n adds one: a feed of another site, whose entries become posts."
    }
}

const SPECS: [Spec; 5] = [
    Spec::new("url", "Address", Holds::Text, ""),
    Spec::new("name", "Name", Holds::Text, "the title of the feed"),
    Spec::new("topic", "Topics", Holds::Names, "none; separated by commas"),
    Spec::new("tag", "Tags", Holds::Names, "those of the feed; others are separated by commas"),
    Spec::new("every", "Every", Holds::Number, "as often as suits it; in minutes"),
];

/// The id of the source that is changed; `None` for a new one.
struct SourceForm(Option<String>);

fn form(source: Option<&Source>, ctx: &Ctx) -> Page {
    let stored = source.map(record).unwrap_or_default();
    Page::new(SourceForm(source.map(|source| source.id.clone())), SPECS, &stored, &stored, ctx)
}

impl Form for SourceForm {
    fn title(&self) -> String {
        match &self.0 {
            Some(_) => "Edit the source".to_owned(),
            None => "A new source: an RSS, Atom or JSON feed".to_owned(),
        }
    }

    fn is_new(&self) -> bool {
        self.0.is_none()
    }

    fn request(&self, typed: &Typed<'_>, ctx: &Ctx) -> Result<Act, Mistake> {
        let (mut fields, result) = typed.fields(&["url"], ctx);
        result?;
        let url = typed.texts[0].trim().to_owned();
        let Some(id) = self.0.clone() else {
            let work = Work::call(filled::<Add>(fields)).map(|added| Some(added.id.to_string()));
            return Ok(Act::new(tab::SOURCES, Kind::AddSource(url.clone()), format!("Added {url}."), work));
        };
        fields.insert("source_obi".to_owned(), id.clone().into());
        let work = Work::call(filled::<Update>(fields)).map(|()| Some(id));
        Ok(Act::new(tab::SOURCES, Kind::Save, format!("Saved {url}."), work))
    }
}
