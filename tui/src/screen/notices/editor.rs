//! The form of a notice: its title, when, where and to whom it is visible, and its text.

use tidings_core::notice::{Draft, Visibility};

use super::row::Row;
use crate::effect::{Act, NoticeEdit};
use crate::keys::Action;
use crate::placing::{NO_TIME, Placing};
use crate::reach::Reach;
use crate::screen::form::{Kind, Page, Request, Typed};
use crate::screen::{Ctx, Question, leaving};
use crate::widget::fields::{Field, Fields, YES};
use crate::widget::input::Input;

/// The names of the fields in a response that refuses one.
const NAMES: [&str; 7] =
    ["title", "visible_from", "visible_until", "topic", "pinned", "members_only", "activation"];
/// The index of the text, after the fields.
const TEXT: usize = NAMES.len();

struct NoticeEditor {
    /// `None` for a new notice.
    notice: Option<String>,
    shared: Option<String>,
    /// When and where the notice is visible before the change.
    placed: Placing,
}

pub(super) fn of(row: Option<&Row>, ctx: &Ctx) -> Page {
    let base = row.and_then(|row| row.notice.as_ref());
    let draft = row.and_then(|row| row.draft.as_ref());
    let notice = base.map(|notice| notice.id).or(draft.and_then(|draft| draft.notice));
    let editor = NoticeEditor {
        notice: notice.map(|notice| notice.to_string()),
        shared: draft.map(|draft| draft.id.to_string()),
        placed: base.map(|notice| Placing::of(&notice.placement, ctx)).unwrap_or_default(),
    };
    let (shown, placing) = row.map_or((true, Placing::default()), |row| row.placing(ctx));
    let title = row.and_then(Row::written_title).unwrap_or_default();
    let text = |label, text: &str, hint| Field::new(label, Input::new(text), hint);
    let fields = vec![
        text("Title", title, ""),
        text("Visible from", &placing.from, "at once"),
        text("Visible until", &placing.until, "for ever"),
        text("Topic", &placing.topic, "the general page"),
        Field::toggle("Pinned", placing.pinned),
        Field::toggle("Members only", placing.members_only),
        Field::toggle("Shown", shown),
    ];
    let page = Page::new(editor, Fields::new(fields).at_column(15), Some(row.map_or("", Row::post)));
    if row.is_some() { page.at_the_end() } else { page }
}

/// Returns whether the notice is shown once it is saved, and when, where and to whom it is visible.
fn placing(typed: &Typed<'_>) -> (bool, Placing) {
    let [_, from, until, topic, pinned, members_only, shown, ..] = &typed.texts[..] else {
        unreachable!("there are as many fields as names");
    };
    let placing = Placing {
        from: from.clone(),
        until: until.clone(),
        topic: topic.clone(),
        pinned: pinned == YES,
        members_only: members_only == YES,
    };
    (shown == YES, placing)
}

fn reach(typed: &Typed<'_>, ctx: &Ctx) -> Reach {
    let (shown, placing) = placing(typed);
    Reach::of_typed(shown, &placing, ctx)
}

impl NoticeEditor {
    /// If a time cannot be read, also returns the name of its field; the edit then lacks that field and the later ones.
    fn edit(&self, typed: &Typed<'_>, ctx: &Ctx) -> (Box<NoticeEdit>, Option<&'static str>) {
        let (shown, placing) = placing(typed);
        let mut fields = Draft {
            title: Some(typed.texts[0].clone()),
            post: Some(typed.texts[TEXT].clone()),
            activation: Some(Visibility::shown_if(shown).activation()),
            ..Draft::default()
        };
        let wrong = placing.set(&self.placed, &mut fields, ctx).err();
        let (target, shared) = (self.notice.clone(), self.shared.clone());
        (Box::new(NoticeEdit { target, shared, fields, reach: reach(typed, ctx) }), wrong)
    }
}

impl Kind for NoticeEditor {
    fn names(&self) -> &'static [&'static str] {
        &NAMES
    }

    fn enters_text(&self) -> bool {
        true
    }

    fn title(&self) -> String {
        let title = match (&self.shared, &self.notice) {
            (Some(_), _) => "A draft of all administrators",
            (None, Some(_)) => "Edit the notice",
            (None, None) => "A new notice",
        };
        title.to_owned()
    }

    fn hint(&self, typed: &Typed<'_>, _: usize, ctx: &Ctx) -> String {
        let zone = ctx.zone.iana_name().unwrap_or("UTC");
        format!("{} · Times like 2026-12-01 09:00, in {zone}.", reach(typed, ctx).state())
    }

    /// An opened draft is published even if nothing was changed.
    fn is_new(&self) -> bool {
        self.notice.is_none() || self.shared.is_some()
    }

    fn request(&self, typed: &Typed<'_>, ctx: &Ctx) -> Result<Request, (usize, &'static str)> {
        match self.edit(typed, ctx) {
            (edit, None) => Ok(Request::Act(Act::SaveNotice(edit))),
            (_, wrong) => {
                let field = NAMES.iter().position(|name| Some(*name) == wrong);
                Err((field.unwrap_or_default(), NO_TIME))
            }
        }
    }

    fn is_own(&self, act: &Act) -> bool {
        matches!(act, Act::SaveNotice(edit) | Act::ShareDraft(edit)
            if edit.target == self.notice && edit.shared == self.shared)
    }

    fn leaving(&self, typed: &Typed<'_>, ctx: &Ctx) -> Option<Question> {
        let save = reach(typed, ctx).save(self.notice.is_none());
        let is_new = self.notice.is_none() && self.shared.is_none();
        let discard = if is_new { "discard it" } else { "discard the changes" };
        let choices = [
            ('s', save, Action::Save),
            ('a', "keep it as a draft of all administrators", Action::ShareDraft),
            ('d', discard, Action::DiscardDraft),
        ];
        Some(leaving(("notice", &typed.texts[0]), "What you typed is not published.", &choices))
    }

    fn draft(&self, typed: &Typed<'_>, ctx: &Ctx) -> Option<Box<NoticeEdit>> {
        let (mut edit, _) = self.edit(typed, ctx);
        // Empty texts are not part of the draft.
        edit.fields.title = edit.fields.title.filter(|title| !title.is_empty());
        edit.fields.post = edit.fields.post.filter(|post| !post.is_empty());
        Some(edit)
    }
}
