//! The form of a post: its fields of one line, and its text.

use tidings_core::post::Draft;

use crate::effect::{Act, PostText};
use crate::keys::Action;
use crate::placing::{NO_TIME, parse, typed};
use crate::screen::form::{Kind, Page, Request, Typed, names};
use crate::screen::{Ctx, Question, leaving};
use crate::widget::fields::{Field, Fields};
use crate::widget::input::Input;

/// With the meaning of an empty field.
const FIELDS: [(&str, &str); 7] = [
    ("Title", ""),
    ("Address", ""),
    ("Topics", "none; separated by commas"),
    ("Tags", "none; separated by commas"),
    ("Image", "none; an address, or a path that begins with /"),
    ("Published", "now"),
    ("Ends", "never"),
];
/// The number of the text, after the fields.
const TEXT: usize = FIELDS.len();

/// A post in the form.
struct PostEditor {
    /// The post that is changed; `None` for a new post.
    target: Option<String>,
}

/// Opens a post, or a new one.
pub(super) fn of(post: Option<&PostText>, ctx: &Ctx) -> Page {
    let texts: [String; FIELDS.len()] = post.map_or_else(Default::default, |post| {
        [
            post.shown.title.clone(),
            post.shown.url.clone(),
            post.topic.join(", "),
            post.tag.join(", "),
            post.shown.img.clone(),
            typed(post.shown.date, ctx),
            post.shown.end_date.map(|end| typed(end, ctx)).unwrap_or_default(),
        ]
    });
    let fields = FIELDS.iter().zip(&texts);
    let fields = fields.map(|((label, hint), text)| Field::new(label, Input::new(text), hint)).collect();
    let editor = PostEditor { target: post.map(|post| post.shown.id.clone()) };
    Page::new(editor, Fields::new(fields), Some(post.map_or("", |post| &post.post)))
}

impl Kind for PostEditor {
    fn names(&self) -> &'static [&'static str] {
        &["title", "url", "topic", "tag", "img", "date", "end_date"]
    }

    fn title(&self) -> String {
        if self.is_new() { "A new post".to_owned() } else { "Edit the post".to_owned() }
    }

    fn hint(&self, _: &Typed<'_>, _: usize, ctx: &Ctx) -> String {
        format!("Times like 2026-12-01 09:00, in {}.", ctx.zone.iana_name().unwrap_or("UTC"))
    }

    fn is_new(&self) -> bool {
        self.target.is_none()
    }

    /// Only the changed fields, or all fields of a new post.
    fn request(&self, typed: &Typed<'_>, ctx: &Ctx) -> Result<Request, (usize, &'static str)> {
        let changed = |field: usize| {
            let all = self.is_new().then_some(typed.texts[field].as_str());
            all.or_else(|| typed.changed(field)).map(str::to_owned)
        };
        let names = |field: usize| changed(field).as_deref().map(names);
        let time = |field: usize| match changed(field).as_deref().map(str::trim) {
            None => Ok(None),
            // A new post is published now, and never ends.
            Some("") if self.is_new() => Ok(None),
            Some("") => Ok(Some(String::new())),
            Some(text) => parse(text, ctx).map(|at| Some(at.to_string())).ok_or((field, NO_TIME)),
        };
        let fields = Draft {
            title: changed(0),
            url: changed(1),
            topic: names(2),
            tag: names(3),
            img: changed(4),
            date: time(5)?,
            end_date: time(6)?,
            post: changed(TEXT),
        };
        let title = typed.texts[0].trim().to_owned();
        Ok(Request::Act(Act::SavePost { target: self.target.clone(), title, fields: Box::new(fields) }))
    }

    fn is_own(&self, act: &Act) -> bool {
        matches!(act, Act::SavePost { target, .. } if *target == self.target)
    }

    fn leaving(&self, typed: &Typed<'_>, _: &Ctx) -> Option<Question> {
        let (save, discard) = match self.target {
            Some(_) => ("save the changes", "discard the changes"),
            None => ("publish it now", "discard it"),
        };
        let choices = [('s', save, Action::Save), ('d', discard, Action::DiscardDraft)];
        let detail = "What you typed is not saved; posts have no drafts.";
        Some(leaving(("post", &typed.texts[0]), detail, &choices))
    }
}
