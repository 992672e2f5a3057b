//! Posts: the popular feed, search results, the figures of a post, and removing one.

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

/// The popular feed, or the results of a search.
#[derive(Debug, Default)]
pub(crate) struct Posts {
    pending: Pending,
    list: Browser<PostRow>,
    /// The search of the list; empty for the popular feed.
    listed: String,
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

const FEED: [Column; 6] = [
    Column::new("Rank", 4).right(),
    Column::new("Title", 0),
    Column::new("Views", 8).right(),
    Column::new("Likes", 6).right().from(50),
    Column::new("Date", 10).from(64),
    Column::new("State", 7).from(76),
];
const FOUND: [Column; 6] = [Column::new("Fit", 4).right(), FEED[1], FEED[2], FEED[3], FEED[4], FEED[5]];
/// The minimum time between two requests for the list, because every like changes the posts.
const READ_EVERY_MS: i64 = 900;
/// The time after which the feed shows a saved post.
const FEED_FOLLOWS_MS: i64 = 1_500;

impl Posts {
    fn load(&mut self, ctx: &Ctx, out: &mut Out) {
        self.read_at = ctx.now;
        self.listed = self.list.filter.text().trim().to_owned();
        let query = match self.listed.as_str() {
            "" => Query::Popular,
            text => Query::FindPosts(text.to_owned()),
        };
        out.effect(self.pending.request(ctx.now, query));
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
        if self.saved_at.is_some_and(|at| ctx.now - at >= FEED_FOLLOWS_MS) {
            self.saved_at = None;
            self.seen = None;
        }
        let asked = self.list.filter.text().trim() == self.listed;
        let due = self.seen != Some(changes.posts) && ctx.now - self.read_at >= READ_EVERY_MS;
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
        let popular = self.listed.is_empty();
        Sheet {
            name: format!("{}-{}", if popular { "popular" } else { "posts" }, ctx.day(ctx.now)),
            head: vec![
                if popular { "rank" } else { "fit" },
                "_id",
                "title",
                "url",
                "date",
                "view",
                "fav_cnt",
            ],
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
        let popular = self.listed.is_empty();
        let row = |row: &PostRow, _: Option<&PostRow>| {
            let place = if popular { row.place.to_string() } else { format!("{}%", row.place) };
            vec![
                Cell::styled(place, Theme::faint()),
                row.title.as_str().into(),
                number(row.view).into(),
                number(row.fav).into(),
                Cell::styled(ctx.day(row.date), Theme::faint()),
                Cell::styled(state(row, ctx), ctx.theme.attention()),
            ]
        };
        let n = self.list.listed().count();
        let head = match (popular, self.pending.is_waiting() && n == 0) {
            (_, true) => "Loading …".to_owned(),
            (true, _) => format!("The popular feed · the first {n}"),
            (false, _) => format!("{n} found, best first"),
        };
        let empty = match (self.pending.is_waiting(), popular) {
            (true, _) => "",
            (_, true) => "There are no posts. tidings post import FILE imports some.",
            (_, false) => "No post has these words. Esc goes back to the popular feed.",
        };
        let look = Appearance {
            theme: ctx.theme,
            head,
            problem: self.pending.problem().map(|problem| problem.text.clone()),
            empty,
            columns: if popular { &FEED } else { &FOUND },
            row: &row,
            text: &|row, columns| self.text(row, columns, ctx),
        };
        self.list.draw(area, frame.buffer_mut(), &look);
    }
}
