//! The form of a source: its address, and what its posts get.

use tidings_core::source::{Add, Source, Update};

use crate::effect::{Act, Kind, Work};
use crate::layout::tab;
use crate::screen::Ctx;
use crate::screen::form::{Form, Holds, Mistake, Page, Spec, Typed, filled, record};

const SPECS: [Spec; 5] = [
    Spec::new("url", "Address", Holds::Text, ""),
    Spec::new("name", "Name", Holds::Text, "the title of the feed"),
    Spec::new("topic", "Topics", Holds::Names, "none; separated by commas"),
    Spec::new("tag", "Tags", Holds::Names, "those of the feed; others are separated by commas"),
    Spec::new("every", "Every", Holds::Number, "as often as suits it; in minutes"),
];

/// The id of the source that is changed; `None` for a new one.
struct SourceForm(Option<String>);

pub(super) fn of(source: Option<&Source>, ctx: &Ctx) -> Page {
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
