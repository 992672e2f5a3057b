use ratatui::text::Line;
use serde_json::{Value, json};
use tidings_core::changes::Changes;
use tidings_core::clock::Timestamp;
use tidings_core::post::{Draft, Insert, Post, PostDetail, Remove, Update};

use crate::effect::query::{self, PostRow};
use crate::effect::{Act, Change, Changed, Kind, Work};
use crate::keys::{self, Action, Table};
use crate::layout::tab;
use crate::screen::browse::{Browse, ColumnOf, Listing, listing};
use crate::screen::form::{Form, Holds, Mistake, POST, Page, Spec, Typed, filled, leaving, record};
use crate::screen::{Ctx, Loaded, Out, Question, reading};
use crate::theme::Theme;
use crate::widget::cursor::Cursor;
use crate::widget::input::Input;
use crate::widget::table::{Cell, Column};
use tidings_client::shown::number::{count, number};

/// A filter chooses the list: `#` and the name of a topic, or the words of a search.
#[derive(Default)]
pub(crate) struct Posts {
    base: Listing<PostRow>,
    /// Without a filter, the newest posts are listed, and not the popular feed.
    newest: bool,
    listed: (bool, String),
    post: Option<PostDetail>,
    /// The form opens when the text of this post is loaded.
    to_edit: Option<String>,
    /// Until the feed, which follows within a second, is loaded again.
    saved_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed<'l> {
    Popular,
    Newest,
    Topic(&'l str),
    Found(&'l str),
}

impl<'l> Listed<'l> {
    fn of(newest: bool, filter: &'l str) -> Self {
        match filter.strip_prefix(TOPIC) {
            Some(topic) if !topic.trim().is_empty() => Self::Topic(topic.trim()),
            None if !filter.is_empty() => Self::Found(filter),
            _ if newest => Self::Newest,
            _ => Self::Popular,
        }
    }

    fn query(self) -> Work<Vec<PostRow>> {
        match self {
            Self::Popular => query::popular(),
            Self::Newest => query::newest(None),
            Self::Topic(topic) => query::newest(Some(topic.to_owned())),
            Self::Found(text) => query::find_posts(text.to_owned()),
        }
    }

    /// Returns the columns, and the names of an export and of its first column.
    const fn names(self) -> (&'static [ColumnOf<Posts>], &'static str, &'static str) {
        match self {
            Self::Popular => (&FEED, "popular", "rank"),
            Self::Newest | Self::Topic(_) => (&NEWEST, "posts", "number"),
            Self::Found(_) => (&FOUND, "posts", "fit"),
        }
    }
}

const TOPIC: char = '#';

const FEED: [ColumnOf<Posts>; 6] = [
    (Column::new("Rank", 4).right(), |_, row, _, _| Cell::faint(row.place.to_string())),
    (Column::new("Title", 0), |_, row, _, _| row.post.title.as_str().into()),
    (Column::new("Views", 8).right(), |_, row, _, _| number(row.post.view).into()),
    (Column::new("Likes", 6).right().from(50), |_, row, _, _| number(row.post.fav_cnt).into()),
    (Column::new("Date", 10).from(64), |_, row, _, ctx| Cell::faint(ctx.day(row.post.date))),
    (Column::new("State", 7).from(76), |_, row, _, ctx| Cell::styled(state(row, ctx), ctx.theme.attention())),
];
const NEWEST: [ColumnOf<Posts>; 5] = [FEED[1], FEED[2], FEED[3], FEED[4], FEED[5]];
const FIT: ColumnOf<Posts> =
    (Column::new("Fit", 4).right(), |_, row, _, _| Cell::faint(format!("{}%", row.place)));
const FOUND: [ColumnOf<Posts>; 6] = [FIT, FEED[1], FEED[2], FEED[3], FEED[4], FEED[5]];
/// The feed shows a saved post after this time.
const FEED_FOLLOWS_MS: i64 = 1_500;

impl Posts {
    fn chosen(&self) -> (bool, String) {
        (self.newest, self.base.list.filter.text().trim().to_owned())
    }

    fn what(&self) -> Listed<'_> {
        Listed::of(self.listed.0, &self.listed.1)
    }

    fn next_feed(&mut self, ctx: &Ctx, out: &mut Out) {
        self.newest ^= self.base.list.filter.is_empty();
        self.base.list.filter = Input::default();
        self.base.list.cursor = Cursor::default();
        self.load(None, ctx, out);
    }
}

fn remove(row: PostRow, out: &mut Out) {
    let Post { id: post_obi, title, view, fav_cnt, .. } = row.post;
    let (views, likes) = (count(view, "view"), count(fav_cnt, "like"));
    let detail = format!(
        "It leaves every feed and list; its {views} and {likes} stay counted. It cannot be brought back."
    );
    let act = Act::call(tab::POSTS, Kind::Remove, format!("Removed “{title}”."), Remove { post_obi });
    out.ask(format!("Remove the post “{title}”?"), detail, "remove it", act);
}

fn state(row: &PostRow, ctx: &Ctx) -> &'static str {
    if row.post.end_date.is_some_and(|end| end <= ctx.now) { "× ended" } else { "" }
}

impl Browse for Posts {
    listing!(PostRow, (), Vec<PostRow>, PostDetail);

    const TAB: usize = tab::POSTS;
    const KEYS: &'static Table = &keys::POSTS;
    const ID: fn(&PostRow) -> String = |row| row.post.id.clone();
    const VERSIONS: fn(&Changes) -> [i64; 3] = |changes| [changes.posts, 0, 0];
    const COPIED: (&'static str, fn(&PostRow) -> String) = ("the address", |row| row.post.url.clone());
    const SETTLES: &'static [Action] = &[Action::Remove, Action::Edit];
    const LOADS_ABOVE: bool = true;

    fn query(&mut self, _: Option<()>, _: &Ctx) -> Option<Work<Vec<PostRow>>> {
        self.listed = self.chosen();
        Some(self.what().query())
    }

    fn is_due(&mut self, has_changed: bool, _: &Changes, ctx: &Ctx) -> bool {
        let follows = self.saved_at.take_if(|at| ctx.now - *at >= FEED_FOLLOWS_MS).is_some();
        let is_first = self.base.seen.is_none();
        // Every like changes the posts.
        follows || is_first || (has_changed && self.base.is_time(ctx)) || self.chosen() != self.listed
    }

    fn detail(&self, id: &str) -> Option<(Work<PostDetail>, bool)> {
        Some((query::post(id.to_owned()), self.post.as_ref().is_some_and(|post| post.shown.id == id)))
    }

    fn text(&self, row: &PostRow, columns: usize, ctx: &Ctx) -> Vec<Line<'static>> {
        let mut facts = vec![
            count(row.post.view, "view"),
            count(row.post.fav_cnt, "like"),
            ctx.stamp(row.post.date),
            state(row, ctx).to_owned(),
        ];
        facts.retain(|fact| !fact.is_empty());
        let post = self.post.as_ref().filter(|post| post.shown.id == row.post.id);
        let text = match (post, self.base.detail.settled_problem()) {
            (Some(post), _) => post.post.clone(),
            (None, Some(problem)) => format!("✗ {}", problem.text),
            (None, None) => "…".to_owned(),
        };
        let mut lines = reading(&row.post.title, &facts.join(" · "), &text, columns);
        let end = row.post.end_date.map(|end| ctx.stamp(end)).unwrap_or_default();
        let mut more = vec![
            ("url", row.post.url.clone()),
            ("id", row.post.id.clone()),
            ("why in the feed", row.why.clone()),
            ("ends", end),
        ];
        if let Some(post) = post {
            more.push(("topics", post.topic.texts().join(", ")));
            more.push(("tags", post.tag.texts().join(", ")));
            more.push(("image", post.shown.img.clone()));
        }
        let more = more.into_iter().filter(|(_, value)| !value.is_empty());
        let more = more.flat_map(|(name, value)| crate::text::wrap(&format!("{name}: {value}"), columns));
        let at = lines.len() - crate::text::wrap(&text, columns).len();
        lines.splice(at..at, more.map(|line| Line::styled(line, Theme::faint())).chain([Line::default()]));
        lines
    }

    fn own_action(&mut self, action: Action, row: Option<PostRow>, ctx: &Ctx, out: &mut Out) -> bool {
        match (action, row) {
            (Action::Remove, Some(row)) => remove(row, out),
            (Action::New, _) => self.base.form = Some(editor(None, ctx)),
            // The shown text may be out of date, so the form opens when the post is loaded again.
            (Action::Edit, Some(row)) => {
                out.effect(self.base.detail.request(ctx.now, query::post(row.post.id.clone())));
                self.to_edit = Some(row.post.id);
            }
            (Action::Kind, _) => self.next_feed(ctx, out),
            (Action::GoTo, _) => {
                self.base.list.filter = Input::new(&TOPIC.to_string());
                self.base.list.type_filter();
                self.load(None, ctx, out);
            }
            _ => return false,
        }
        true
    }

    fn exported(&self) -> (&'static str, Vec<&'static str>) {
        let (_, name, place) = self.what().names();
        (name, vec![place, "_id", "title", "url", "date", "view", "fav_cnt"])
    }

    fn values(&self, row: &PostRow, ctx: &Ctx) -> Value {
        let Post { id, title, url, date, view, fav_cnt, .. } = &row.post;
        json!([row.place, id, title, url, ctx.stamp(*date), view, fav_cnt])
    }

    fn loaded(&mut self, rows: Vec<PostRow>, _: &Ctx, _: &mut Out) {
        self.add(rows, None);
    }

    fn detail_loaded(&mut self, post: PostDetail, ctx: &Ctx) {
        if self.to_edit.take_if(|id| *id == post.shown.id).is_some() {
            self.base.form = Some(editor(Some(&post), ctx));
        }
        self.post = Some(post);
    }

    fn settled(&mut self, _: u64, _: &mut Loaded, out: &mut Out) {
        if let Some(problem) = self.base.detail.settled_problem()
            && self.to_edit.take().is_some()
        {
            out.error(problem);
        }
    }

    fn changed(&mut self, change: &Change, result: Changed, ctx: &Ctx, _: &mut Out) {
        if let (Kind::Save, Ok(_)) = (&change.kind, result) {
            self.saved_at = Some(ctx.now);
        }
    }

    fn cancelled(&mut self) {
        self.to_edit = None;
    }

    fn columns(&self, _: &Ctx) -> &'static [ColumnOf<Self>] {
        self.what().names().0
    }

    fn head(&self, _: &Ctx) -> String {
        let n = self.base.rows.len();
        match self.what() {
            Listed::Popular => format!("The popular feed · the first {n}"),
            Listed::Newest => format!("All posts, newest first · the first {n}"),
            Listed::Topic(_) => format!("{n} of the topic or tag, newest first"),
            Listed::Found(_) => format!("{n} found, best first"),
        }
    }

    fn empty(&self) -> &'static str {
        match self.what() {
            Listed::Popular | Listed::Newest => "There are no posts. tidings post import FILE imports some.",
            Listed::Topic(_) => "No post has this topic or tag. Esc clears the filter.",
            Listed::Found(_) => "No post has these words. Esc clears the filter.",
        }
    }
}

const SPECS: [Spec; 8] = [
    Spec::new("title", "Title", Holds::Text, ""),
    Spec::new("url", "Address", Holds::Text, ""),
    Spec::new("topic", "Topics", Holds::Names, "none; separated by commas"),
    Spec::new("tag", "Tags", Holds::Names, "none; separated by commas"),
    Spec::new("img", "Image", Holds::Text, "none; an address, or a path that begins with /"),
    Spec::new("date", "Published", Holds::Time, "now"),
    Spec::new("end_date", "Ends", Holds::Time, "never"),
    POST,
];

/// The id of the post that is changed; `None` for a new post.
struct PostEditor(Option<String>);

fn editor(post: Option<&PostDetail>, ctx: &Ctx) -> Page {
    let stored = post.map(record).unwrap_or_default();
    Page::new(PostEditor(post.map(|post| post.shown.id.clone())), SPECS, &stored, &stored, ctx)
}

impl Form for PostEditor {
    fn title(&self) -> String {
        if self.is_new() { "A new post".to_owned() } else { "Edit the post".to_owned() }
    }

    fn hint(&self, _: &Typed<'_>, _: usize, ctx: &Ctx) -> String {
        format!("Times like 2026-12-01 09:00, in {}.", ctx.zone.iana_name().unwrap_or("UTC"))
    }

    fn is_new(&self) -> bool {
        self.0.is_none()
    }

    fn request(&self, typed: &Typed<'_>, ctx: &Ctx) -> Result<Act, Mistake> {
        let always = if self.is_new() { &["title", "url"][..] } else { &[] };
        let (fields, result) = typed.fields(always, ctx);
        result?;
        let (title, draft): (_, Draft) = (typed.texts[0].trim(), filled(fields));
        let (done, work) = match self.0.clone() {
            None => ("Added", Work::call(Insert { draft }).map(|added| Some(added.id.to_string()))),
            Some(id) => ("Saved", Work::call(Update { post_obi: id.clone(), draft }).map(|()| Some(id))),
        };
        Ok(Act::new(tab::POSTS, Kind::Save, format!("{done} “{title}”."), work))
    }

    fn leaving(&self, typed: &Typed<'_>, _: &Ctx) -> Option<Question> {
        let (save, discard) = match self.0 {
            Some(_) => ("save the changes", "discard the changes"),
            None => ("publish it now", "discard it"),
        };
        let choices = [('s', save, Action::Save), ('d', discard, Action::DiscardDraft)];
        let detail = "What you typed is not saved; posts have no drafts.";
        Some(leaving(("post", &typed.texts[0]), detail, &choices))
    }
}
