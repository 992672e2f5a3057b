//! The text of an element while it is collected.

use std::rc::Rc;

use url::Url;

use crate::entry::{ImageKind, LinkKind};
use crate::xml::Tag;

pub(super) struct Capture {
    pub(super) field: Field,
    /// The number of open elements when it began, itself included.
    pub(super) depth: usize,
    pub(super) text: String,
    pub(super) form: Form,
    pub(super) is_base64: bool,
    pub(super) base: Option<Rc<Url>>,
    pub(super) name: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    /// The text is HTML, and so are elements in it.
    Html,
    /// The elements are HTML, and the text is not.
    Xhtml,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Title(u8),
    Text(u8),
    Link(LinkKind),
    Id {
        is_permanent: bool,
        /// Whether it says to be an address, so that it is a relative one if it is not complete.
        may_be_relative: bool,
    },
    Date(u8),
    Tag,
    /// Tags with commas between them.
    Tags,
    Image(ImageKind),
    Ttl,
    Hour,
}

impl Capture {
    /// The tag begins another element of the entry, so the end of this one is missing.
    pub(super) fn is_ended_by(&self, tag: &Tag, is_plain: bool) -> bool {
        let is_field = match &*tag.name {
            "item" | "entry" => true,
            "guid" | "pubdate" | "description" | "link" => {
                let has_elements = self.form == Form::Xhtml || matches!(self.field, Field::Image(_));
                tag.attributes.is_empty() && !has_elements
            }
            _ => false,
        };
        is_plain && is_field && tag.name != self.name
    }

    pub(super) fn add(&mut self, text: &str) {
        match self.form {
            Form::Plain | Form::Html => self.text.push_str(text),
            Form::Xhtml => escape(text, &mut self.text),
        }
    }

    pub(super) fn add_tag(&mut self, tag: &Tag) {
        if self.form == Form::Plain {
            // An image may have its address in an element, beside others.
            if matches!(self.field, Field::Image(_)) {
                self.text.push(' ');
            }
            return;
        }
        self.text.push('<');
        self.text.push_str(&tag.name);
        for (name, value) in &tag.attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            escape(value, &mut self.text);
            self.text.push('"');
        }
        self.text.push('>');
    }

    pub(super) fn add_end(&mut self, name: &str) {
        if self.form != Form::Plain {
            self.text.push_str("</");
            self.text.push_str(name);
            self.text.push('>');
        }
    }
}

fn escape(text: &str, to: &mut String) {
    for c in text.chars() {
        match c {
            '<' => to.push_str("&lt;"),
            '&' => to.push_str("&amp;"),
            '"' => to.push_str("&quot;"),
            c => to.push(c),
        }
    }
}
