//! The form of a source: its address, and what its posts get.

use tidings_core::source::{Add, Source};

use crate::effect::Act;
use crate::screen::Ctx;
use crate::screen::form::{Kind, Page, Request, Typed, names};
use crate::widget::fields::{Field, Fields};
use crate::widget::input::Input;

/// With the meaning of an empty field.
const FIELDS: [(&str, &str); 5] = [
    ("Address", ""),
    ("Name", "the title of the feed"),
    ("Topics", "none; separated by commas"),
    ("Tags", "those of the feed; others are separated by commas"),
    ("Every", "as often as suits it; in minutes"),
];
/// The numbers of the first and the last field.
const ADDRESS: usize = 0;
const EVERY: usize = FIELDS.len() - 1;

/// A source in the form.
struct SourceForm {
    /// The source that is changed; `None` for a new one.
    target: Option<String>,
}

/// Opens a source, or a new one.
pub(super) fn of(source: Option<Source>) -> Page {
    let target = source.as_ref().map(|source| source.id.clone());
    let texts: [String; FIELDS.len()] = source.map_or_else(Default::default, |source| {
        let Source { url, name, topic, tag, every, .. } = source;
        let every = every.map_or_else(String::new, |every| every.to_string());
        [url, name, topic.join(", "), tag.join(", "), every]
    });
    let fields = FIELDS.iter().zip(&texts);
    let fields = fields.map(|((label, hint), text)| Field::new(label, Input::new(text), hint)).collect();
    Page::new(SourceForm { target }, Fields::new(fields), None)
}

impl Kind for SourceForm {
    fn names(&self) -> &'static [&'static str] {
        &["url", "name", "topic", "tag", "every"]
    }

    fn title(&self) -> String {
        match &self.target {
            Some(_) => "Edit the source".to_owned(),
            None => "A new source: an RSS, Atom or JSON feed".to_owned(),
        }
    }

    fn is_new(&self) -> bool {
        self.target.is_none()
    }

    fn request(&self, typed: &Typed<'_>, _: &Ctx) -> Result<Request, (usize, &'static str)> {
        let changed = |field: usize| typed.changed(field).map(str::trim);
        let every = match changed(EVERY) {
            Some("") => Some(Ok(0)),
            text => text.map(str::parse),
        };
        let every = every.transpose().map_err(|_| (EVERY, "Type a number, or nothing."))?;
        let fields = Add {
            url: typed.texts[ADDRESS].trim().to_owned(),
            name: changed(1).map(str::to_owned),
            topic: changed(2).map(names),
            tag: changed(3).map(names),
            every,
        };
        Ok(Request::Act(Act::SaveSource { target: self.target.clone(), fields: Box::new(fields) }))
    }

    fn is_own(&self, act: &Act) -> bool {
        matches!(act, Act::SaveSource { target, .. } if *target == self.target)
    }
}
