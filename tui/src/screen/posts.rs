//! Posts: the popular feed, the newest posts, those of a topic, search results, the figures of a post, and removing one.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;

use crate::effect::{Act, Answer, PostRow, PostText, Query};
use crate::keys::{self, Action, Table};
use crate::number::{count, number};
use crate::pending::Pending;
use crate::problem::Problem;
use crate::screen::browse::Browse;
use crate::screen::form::Form;
use crate::screen::{Ctx, Out, Question, reading};
use crate::sheet::Sheet;
use crate::theme::Theme;
use crate::widget::browser::{Appearance, Browser, Item};
use crate::widget::cycle::Cycle;
use crate::widget::input::Input;
use crate::widget::table::{Cell, Column};

mod editor;

use editor::PostEditor;

impl Item for PostRow {
    fn id(&self) -> &str {
        &self.id
    }

    /// Returns true, because the core has already applied the search.
    fn holds(&self, _: &str) -> bool {
        true
    }
}

/// A list of posts. The filter chooses it if there is one: `#` and the name of a topic, or the words of a search.
#[derive(Debug, Default)]
pub(crate) struct Posts {
    pending: Pending,
    list: Browser<PostRow>,
    /// The list without a filter.
    feed: Feed,
    /// The listed feed and the filter.
    listed: (Feed, String),
    post_pending: Pending,
    post: Option<PostText>,
    /// Whether the shown post may have changed. The old text stays visible until the new text is loaded.
    stale: bool,
    /// The form of a post, while it is open.
    editor: Option<PostEditor>,
    /// The post that the form opens when its text is loaded.
    to_edit: Option<String>,
    /// When a post was saved, until the feed, which follows within a second, is loaded again.
    saved_at: Option<Timestamp>,
    /// The saved post, which is selected when the list is loaded.
    to_select: Option<String>,
    seen: Option<i64>,
    /// When the list was requested last.
    read_at: Timestamp,
}

/// The posts that are listed without a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Feed {
    #[default]
    Popular,
    Newest,
}

impl Cycle for Feed {
    const ALL: &'static [Self] = &[Self::Popular, Self::Newest];
}

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed<'l> {
    Popular,
    Newest,
    Topic(&'l str),
    Found(&'l str),
}

impl<'l> Listed<'l> {
    fn of(feed: Feed, filter: &'l str) -> Self {
        match (filter.strip_prefix(TOPIC), feed) {
            (Some(topic), _) if !topic.trim().is_empty() => Self::Topic(topic.trim()),
            (None, _) if !filter.is_empty() => Self::Found(filter),
            (_, Feed::Popular) => Self::Popular,
            (_, Feed::Newest) => Self::Newest,
        }
    }

    fn query(self) -> Query {
        match self {
            Self::Popular => Query::Popular,
            Self::Newest => Query::Newest(None),
            Self::Topic(topic) => Query::Newest(Some(topic.to_owned())),
            Self::Found(text) => Query::FindPosts(text.to_owned()),
        }
    }

    /// Returns the columns: only the popular feed and a search have an order that the dates do not tell.
    const fn columns(self) -> &'static [Column] {
        match self {
            Self::Popular => &FEED,
            Self::Newest | Self::Topic(_) => &NEWEST,
            Self::Found(_) => &FOUND,
        }
    }
}

/// What a filter begins with that names a topic.
const TOPIC: char = '#';

const FEED: [Column; 6] = [
    Column::new("Rank", 4).right(),
    Column::new("Title", 0),
    Column::new("Views", 8).right(),
    Column::new("Likes", 6).right().from(50),
    Column::new("Date", 10).from(64),
    Column::new("State", 7).from(76),
];
const NEWEST: [Column; 5] = [FEED[1], FEED[2], FEED[3], FEED[4], FEED[5]];
const FOUND: [Column; 6] = [Column::new("Fit", 4).right(), FEED[1], FEED[2], FEED[3], FEED[4], FEED[5]];
/// The minimum time between two requests for the list, because every like changes the posts.
const READ_EVERY_MS: i64 = 900;
/// The same on a server, whose log has every request.
const READ_REMOTE_EVERY_MS: i64 = 10_000;
/// The time after which the feed shows a saved post.
const FEED_FOLLOWS_MS: i64 = 1_500;

impl Posts {
    fn load(&mut self, ctx: &Ctx, out: &mut Out) {
        self.read_at = ctx.now;
        self.listed = self.chosen();
        let query = self.what().query();
        out.effect(self.pending.request(ctx.now, query));
    }

    /// Returns the chosen feed and the filter.
    fn chosen(&self) -> (Feed, String) {
        (self.feed, self.list.filter.text().trim().to_owned())
    }

    fn what(&self) -> Listed<'_> {
        Listed::of(self.listed.0, &self.listed.1)
    }

    /// Lists the other feed, without a filter.
    fn next_feed(&mut self, ctx: &Ctx, out: &mut Out) {
        if self.list.filter.is_empty() {
            self.feed = self.feed.next();
        }
        self.list.filter = Input::default();
        self.list.select_first();
        self.load(ctx, out);
    }

    /// Requests the text of the selected post if it is visible and is missing or stale.
    fn load_post(&mut self, ctx: &Ctx, out: &mut Out) {
        let Some(row) = self.list.selected() else { return };
        let there = self.post.as_ref().is_some_and(|post| post.id == row.id);
        if self.list.areas(ctx.body()).text.width > 0 && (!there || self.stale) {
            self.stale = false;
            let query = Query::Post(row.id.clone());
            out.effect(self.post_pending.request(ctx.now, query));
        }
    }

    /// Returns whether the form contains unsaved changes.
    pub(crate) fn unsaved(&self) -> bool {
        self.editor.as_ref().is_some_and(PostEditor::is_changed)
    }

    /// Requests the selected post, which is then opened in the form: the shown text may be out of date.
    fn edit(&mut self, ctx: &Ctx, out: &mut Out) {
        let Some(row) = self.list.selected() else { return };
        self.to_edit = Some(row.id.clone());
        out.effect(self.post_pending.request(ctx.now, Query::Post(row.id.clone())));
    }

    fn remove(&self, out: &mut Out) {
        let Some(row) = self.list.selected() else { return };
        let (views, likes) = (count(row.view, "view"), count(row.fav, "like"));
        out.question = Some(Question::yes_or_no(
            format!("Remove the post “{}”?", row.title),
            format!(
                "It leaves every feed and list; its {views} and {likes} stay counted. It cannot be brought back."
            ),
            "remove it",
            Act::RemovePost { id: row.id.clone(), title: row.title.clone() },
        ));
    }
}

fn state(row: &PostRow, ctx: &Ctx) -> &'static str {
    if row.end_date.is_some_and(|end| end <= ctx.now) { "× ended" } else { "" }
}

impl Browse for Posts {
    type Item = PostRow;

    const KEYS: &'static Table = &keys::POSTS;

    fn list(&self) -> &Browser<PostRow> {
        &self.list
    }

    fn list_mut(&mut self) -> &mut Browser<PostRow> {
        &mut self.list
    }

    fn text(&self, row: &PostRow, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let mut facts = vec![
            count(row.view, "view"),
            count(row.fav, "like"),
            ctx.stamp(row.date),
            state(row, ctx).to_owned(),
        ];
        facts.retain(|fact| !fact.is_empty());
        let post = self.post.as_ref().filter(|post| post.id == row.id);
        let text = match (post, self.post_pending.problem()) {
            (Some(post), _) => post.post.clone(),
            (None, Some(problem)) if !self.post_pending.is_waiting() => format!("✗ {}", problem.text),
            (None, _) => "…".to_owned(),
        };
        let mut lines = reading(&row.title, &facts.join(" · "), &text, columns);
        let mut more: Vec<(&str, String)> =
            vec![("url", row.url.clone()), ("id", row.id.clone()), ("why in the feed", row.why.clone())];
        if let Some(end) = row.end_date {
            more.push(("ends", ctx.stamp(end)));
        }
        if let Some(post) = post {
            more.push(("topics", post.topic.join(", ")));
            more.push(("tags", post.tag.join(", ")));
            more.push(("image", post.img.clone()));
        }
        let more = more.into_iter().filter(|(_, value)| !value.is_empty());
        let more = more.flat_map(|(name, value)| crate::text::wrap(&format!("{name}: {value}"), columns));
        let at = lines.len() - crate::text::wrap(&text, columns).len();
        lines.splice(at..at, more.map(|line| Line::styled(line, Theme::faint())).chain([Line::default()]));
        lines
    }

    fn load_changed(&mut self, changes: &Changes, ctx: &Ctx, out: &mut Out) {
        let follows = self.saved_at.take_if(|at| ctx.now - *at >= FEED_FOLLOWS_MS).is_some();
        let asked = self.chosen() == self.listed;
        let every = if ctx.is_remote { READ_REMOTE_EVERY_MS } else { READ_EVERY_MS };
        let is_first = self.seen.is_none();
        let has_failed = self.pending.problem().is_some();
        let is_time = has_failed || ctx.now - self.read_at >= every;
        let due = follows || is_first || (self.seen != Some(changes.posts) && is_time);
        if (due || !asked) && !self.pending.is_waiting() {
            self.seen = Some(changes.posts);
            self.stale = true;
            self.load(ctx, out);
        }
        // A failed request is not repeated before something has changed.
        if !self.post_pending.is_waiting() && (self.stale || self.post_pending.problem().is_none()) {
            self.load_post(ctx, out);
        }
    }

    fn reload(&mut self, ctx: &Ctx, out: &mut Out) {
        self.stale = true;
        self.load(ctx, out);
    }

    fn filter_changed(&mut self, ctx: &Ctx, out: &mut Out) {
        self.load(ctx, out);
    }

    fn selection_changed(&mut self, ctx: &Ctx, out: &mut Out) {
        self.load_post(ctx, out);
    }

    fn own_action(&mut self, action: Action, ctx: &Ctx, out: &mut Out) -> bool {
        match action {
            Action::Remove | Action::Edit if self.to_select.is_some() => {
                out.say("One moment: the list is being loaded again.");
            }
            Action::Remove => self.remove(out),
            Action::New => self.editor = Some(PostEditor::of(None, ctx)),
            Action::Edit => self.edit(ctx, out),
            Action::Kind => self.next_feed(ctx, out),
            Action::GoTo => {
                self.list.filter = Input::new(&TOPIC.to_string());
                self.list.type_filter();
                self.load(ctx, out);
            }
            _ => return false,
        }
        true
    }

    fn sheet(&self, ctx: &Ctx) -> Sheet {
        let row = |row: &PostRow| {
            vec![
                row.place.into(),
                row.id.as_str().into(),
                row.title.as_str().into(),
                row.url.as_str().into(),
                ctx.stamp(row.date).into(),
                row.view.into(),
                row.fav.into(),
            ]
        };
        let (name, place) = match self.what() {
            Listed::Popular => ("popular", "rank"),
            Listed::Newest | Listed::Topic(_) => ("posts", "number"),
            Listed::Found(_) => ("posts", "fit"),
        };
        Sheet {
            name: format!("{name}-{}", ctx.day(ctx.now)),
            head: vec![place, "_id", "title", "url", "date", "view", "fav_cnt"],
            rows: self.list.listed().map(row).collect(),
        }
    }

    fn copied(row: &PostRow) -> (&'static str, String) {
        ("the address", row.url.clone())
    }

    fn loaded(&mut self, number: u64, answer: Answer, ctx: &Ctx, out: &mut Out) {
        match answer {
            Answer::Posts(answer) => {
                if let Some(rows) = self.pending.take(number, answer) {
                    // The core returns them in order.
                    self.list.set(rows, |_| true, |_, _| std::cmp::Ordering::Equal);
                    // A new post may be in no feed yet.
                    self.to_select.take().map(|id| self.list.select(&id));
                    self.load_post(ctx, out);
                }
            }
            Answer::Post(answer) => {
                if let Some(post) = self.post_pending.take(number, answer) {
                    if self.to_edit.take_if(|id| *id == post.id).is_some() {
                        self.editor = Some(PostEditor::of(Some(&post), ctx));
                    }
                    self.post = Some(post);
                } else if let Some(problem) =
                    self.post_pending.problem().filter(|_| !self.post_pending.is_waiting())
                    && self.to_edit.take().is_some()
                {
                    out.complain(problem);
                }
            }
            _ => {}
        }
    }

    fn changed(&mut self, act: &Act, result: Result<Option<&str>, &Problem>, ctx: &Ctx, out: &mut Out) {
        match (act, result) {
            (Act::SavePost { .. }, Ok(saved)) => {
                self.to_select = saved.map(str::to_owned);
                self.saved_at = Some(ctx.now);
                self.stale = true;
                self.load(ctx, out);
            }
            (Act::RemovePost { .. }, _) => self.load(ctx, out),
            _ => {}
        }
    }

    fn form(&self) -> Option<&dyn Form> {
        self.editor.as_ref().map(|editor| editor as &dyn Form)
    }

    fn form_mut(&mut self) -> Option<&mut dyn Form> {
        self.editor.as_mut().map(|editor| editor as &mut dyn Form)
    }

    fn close_form(&mut self) {
        self.editor = None;
    }

    fn waits_long(&self, now: Timestamp) -> bool {
        self.pending.is_slow(now) || self.post_pending.is_slow(now)
    }

    fn cancel_pending(&mut self) -> bool {
        (self.to_edit, self.to_select) = (None, None);
        let (list, text) = (self.pending.cancel(), self.post_pending.cancel());
        list || text
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect, ctx: &Ctx) {
        let what = self.what();
        let row = |row: &PostRow, _: Option<&PostRow>| {
            let place = match what {
                Listed::Popular => Some(row.place.to_string()),
                Listed::Found(_) => Some(format!("{}%", row.place)),
                Listed::Newest | Listed::Topic(_) => None,
            };
            let place = place.map(|place| Cell::styled(place, Theme::faint()));
            let cells = [
                row.title.as_str().into(),
                number(row.view).into(),
                number(row.fav).into(),
                Cell::styled(ctx.day(row.date), Theme::faint()),
                Cell::styled(state(row, ctx), ctx.theme.attention()),
            ];
            place.into_iter().chain(cells).collect()
        };
        let n = self.list.listed().count();
        let head = match what {
            _ if self.pending.is_waiting() && n == 0 => "Loading …".to_owned(),
            Listed::Popular => format!("The popular feed · the first {n}"),
            Listed::Newest => format!("All posts, newest first · the first {n}"),
            Listed::Topic(_) => format!("{n} of the topic or tag, newest first"),
            Listed::Found(_) => format!("{n} found, best first"),
        };
        let empty = match what {
            _ if self.pending.is_waiting() => "",
            Listed::Popular | Listed::Newest => "There are no posts. tidings post import FILE imports some.",
            Listed::Topic(_) => "No post has this topic or tag. Esc clears the filter.",
            Listed::Found(_) => "No post has these words. Esc clears the filter.",
        };
        let look = Appearance {
            theme: ctx.theme,
            head,
            problem: self.pending.problem().map(|problem| problem.text.clone()),
            empty,
            columns: what.columns(),
            row: &row,
            text: &|row, columns| self.text(row, columns, ctx),
        };
        self.list.draw(area, frame.buffer_mut(), &look);
    }
}
