use tidings_core::notice::{Draft, Insert, PublishDraft, SaveDraft, Update};

use super::reach::Reach;
use super::row::{self, Row};
use crate::effect::{Act, Kind, Work};
use crate::keys::Action;
use crate::layout::tab;
use crate::screen::form::{Form, Holds, Mistake, POST, Page, Spec, Typed, filled, leaving, record};
use crate::screen::{Ctx, Question};

const SPECS: [Spec; 8] = [
    Spec::new("title", "Title", Holds::Text, ""),
    Spec::new("visible_from", "Visible from", Holds::Time, "at once"),
    Spec::new("visible_until", "Visible until", Holds::Time, "for ever"),
    Spec::new("topic", "Topic", Holds::Text, "the general page"),
    Spec::new("pinned", "Pinned", Holds::Switch, ""),
    Spec::new("members_only", "Members only", Holds::Switch, ""),
    Spec::new("activation", "Shown", Holds::Switch, ""),
    POST,
];
/// Sent although they were not changed.
const ALWAYS: [&str; 3] = ["title", "activation", "post"];

struct NoticeEditor {
    notice: Option<String>,
    /// The draft of all administrators.
    shared: Option<String>,
}

pub(super) fn of(row: Option<&Row>, ctx: &Ctx) -> Page {
    let base = row.and_then(|row| row.notice.as_ref());
    let draft = row.and_then(|row| row.draft.as_ref());
    let notice = base.map(|notice| notice.id).or(draft.and_then(|draft| draft.notice));
    let editor = NoticeEditor {
        notice: notice.map(|notice| notice.to_string()),
        shared: draft.map(|draft| draft.id.to_string()),
    };
    let (stored, shown) = (base.map(record).unwrap_or_default(), row.map_or_else(row::new, Row::record));
    let page = Page::new(editor, SPECS, &stored, &shown, ctx);
    if row.is_some() { page.at_the_end() } else { page }
}

fn reach(typed: &Typed<'_>, ctx: &Ctx) -> Reach {
    Reach::of(&typed.fields(&SPECS.map(|spec| spec.name), ctx).0, ctx)
}

impl Form for NoticeEditor {
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

    fn request(&self, typed: &Typed<'_>, ctx: &Ctx) -> Result<Act, Mistake> {
        let (fields, result) = typed.fields(&ALWAYS, ctx);
        result?;
        let (title, draft): (_, Draft) = (&typed.texts[0], filled(fields));
        let done = match self.notice {
            Some(_) => format!("Saved “{title}”."),
            None => reach(typed, ctx).published(title),
        };
        let (notice, shared) = (self.notice.clone(), self.shared.clone());
        let work = Work::new(|sources| {
            let service = &sources.service;
            Ok(Some(match (shared, notice) {
                (Some(shared), notice) => {
                    service.call(SaveDraft { draft: Some(shared.clone()), notice, fields: draft })?;
                    service.call(PublishDraft { draft_obi: shared })?.id.to_string()
                }
                (None, Some(id)) => {
                    service.call(Update { notice_obi: id.clone(), draft })?;
                    id
                }
                (None, None) => service.call(Insert { draft })?.id.to_string(),
            }))
        });
        Ok(Act::new(tab::NOTICES, Kind::Save, done, work))
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

    fn draft(&self, typed: &Typed<'_>, ctx: &Ctx) -> Option<Act> {
        let (mut fields, _) = typed.fields(&ALWAYS, ctx);
        // Empty texts are not part of the draft.
        fields.retain(|name, value| !(matches!(&**name, "title" | "post") && value == ""));
        let (draft, notice) = (self.shared.clone(), self.notice.clone());
        let work = Work::call(SaveDraft { draft, notice, fields: filled(fields) });
        let done = "Saved as a draft of all administrators.".to_owned();
        Some(Act::new(tab::NOTICES, Kind::ShareDraft, done, work.map(|saved| Some(saved.id.to_string()))))
    }
}

#[cfg(test)]
mod tests {
    use tidings_core::clock::Timestamp;
    use tidings_core::notice::{Pin, Placement};

    use super::*;
    use crate::screen::form::Record;

    #[test]
    fn only_changed_fields_are_set_and_emptied_ones_are_removed() {
        let placement = Placement {
            visible_from: Timestamp::parse("2026-12-01T00:00:00.500Z"),
            visible_until: Timestamp::parse("2026-12-24T09:00:00Z"),
            topic: Some("Sea".into()),
            pinned: Pin::Pinned,
            ..Placement::default()
        };
        let (ctx, stored) = (Ctx::of_tests(Timestamp::MIN), record(&placement));
        let page = |shown: &Record| {
            let editor = NoticeEditor { notice: None, shared: None };
            Page::new(editor, SPECS, &stored, shown, &ctx)
        };
        let set = |page: &Page| page.typed().fields(&[], &ctx);
        let before = page(&stored);
        assert_eq!(before.typed().texts[1..3], ["2026-12-01T00:00:00.500Z", "2026-12-24 18:00"]);
        assert_eq!(set(&before), (Record::new(), Ok(())));
        let changed = Draft {
            visible_until: Some(String::new()),
            topic: Some(String::new()),
            members_only: Some(1),
            ..Draft::default()
        };
        let mut shown = stored.clone();
        shown.extend(record(&changed).into_iter().filter(|(_, value)| !value.is_null()));
        let (fields, result) = set(&page(&shown));
        assert_eq!((filled::<Draft>(fields), result), (changed, Ok(())));
        shown.insert("visible_from".to_owned(), "soon".into());
        assert_eq!(set(&page(&shown)).1.map_err(|(field, _)| SPECS[field].name), Err("visible_from"));
    }
}
