//! The form of a post: its fields of one line, and its text.

use tidings_core::post::{Draft, Insert, PostDetail, Update};

use crate::effect::{Act, Kind, Work};
use crate::keys::Action;
use crate::layout::tab;
use crate::screen::form::{Form, Holds, Mistake, POST, Page, Spec, Typed, filled, leaving, record};
use crate::screen::{Ctx, Question};

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

pub(super) fn of(post: Option<&PostDetail>, ctx: &Ctx) -> Page {
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
