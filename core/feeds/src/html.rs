//! The text and the first image of HTML.

use encoding_rs::WINDOWS_1252;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

const HIDDEN: [&str; 7] = ["iframe", "noembed", "noframe", "noframes", "script", "style", "title"];

const INLINE: &str = "\
    a abbr acronym area audio b base bdi bdo big body button canvas cite code col colgroup data datalist \
    del dfn em embed font head html i input ins kbd label link map mark meta meter nobr noscript object \
    optgroup output param picture progress q rp rt ruby s samp select slot small source span strike \
    strong sub sup svg template textarea time track tt u var video wbr";

const PARAGRAPHS: &str = "\
    article aside blockquote dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p \
    pre section table ul xmp";

const LINES: &str = "\
    address caption center dd details dir div dt figcaption legend li menu option summary tbody tfoot \
    thead tr";

#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) text: String,
    /// The first image that is more than a pixel.
    pub(crate) image: Option<String>,
}

/// Block elements separate lines. A text without any element of HTML is plain, as some feeds have it: then its line breaks stay,
/// and a tag of another name, such as `Vec<T>`, is text. Its references, such as `&amp;`, are still those of HTML.
pub(crate) fn read(html: &str) -> Content {
    let mut reader = Reader::default();
    reader.read(html, false);
    if reader.is_html {
        return Content { text: reader.text.finish(), image: reader.image };
    }
    plain(html)
}

/// In a title, a tag of an unknown name is text.
pub(crate) fn title(html: &str) -> String {
    let mut reader = Reader::default();
    reader.read(html, true);
    reader.text.finish()
}

fn plain(html: &str) -> Content {
    let mut reader = Reader::default();
    reader.text.preformatted = 1;
    reader.read(html, true);
    Content { text: reader.text.finish(), image: None }
}

#[derive(Default)]
struct Reader {
    text: Text,
    image: Option<String>,
    is_html: bool,
    /// The open element whose content is no text.
    hidden: Option<&'static str>,
    tag: Tag,
}

#[derive(Default)]
struct Tag {
    name: String,
    attribute: String,
    alt: String,
    source: String,
    /// The image is an emoji, or a pixel that counts readers.
    is_minor: bool,
}

impl Reader {
    fn read(&mut self, html: &str, keeps_unknown: bool) {
        let (mut from, mut tag_begin) = (0, 0);
        while let Some(rest) = html.get(from..) {
            let handle = |event: CallbackEvent<'_>, span: Span<usize>| -> Option<usize> {
                if matches!(event, CallbackEvent::OpenStartTag { .. } | CallbackEvent::EndTag { .. }) {
                    tag_begin = span.start;
                }
                let raw = rest.get(tag_begin..span.end).unwrap_or_default();
                self.event(&event, raw, keeps_unknown).then_some(span.end)
            };
            let mut emitter = CallbackEmitter::new(handle);
            emitter.naively_switch_states(true);
            match Tokenizer::new_with_emitter(rest, emitter).next() {
                Some(Ok(end)) => from += end,
                None => return,
            }
        }
    }

    /// Returns whether the content of an element is to be read as that of any other.
    fn event(&mut self, event: &CallbackEvent<'_>, raw: &str, keeps_unknown: bool) -> bool {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = Tag { name: String::from_utf8_lossy(name).into_owned(), ..Tag::default() };
            }
            CallbackEvent::AttributeName { name } => {
                self.tag.attribute = String::from_utf8_lossy(name).into_owned();
            }
            CallbackEvent::AttributeValue { value } => self.tag.set(&String::from_utf8_lossy(value)),
            CallbackEvent::CloseStartTag { self_closing } => {
                return self.start(*self_closing, raw, keeps_unknown);
            }
            CallbackEvent::EndTag { name } => self.end(&String::from_utf8_lossy(name), raw, keeps_unknown),
            CallbackEvent::String { value } if self.hidden.is_none() => {
                self.text.push(&String::from_utf8_lossy(value));
            }
            _ => {}
        }
        false
    }

    fn start(&mut self, self_closing: bool, raw: &str, keeps_unknown: bool) -> bool {
        let tag = std::mem::take(&mut self.tag);
        let name = tag.name.as_str();
        if self.hidden.is_some() {
            return false;
        }
        if let Some(hidden) = HIDDEN.iter().find(|hidden| **hidden == name) {
            self.is_html = true;
            // As in XML, where such a tag has no content.
            self.hidden = (!self_closing).then_some(*hidden);
            return self_closing;
        }
        match name {
            "br" => self.text.line_break(),
            "td" | "th" => self.text.space(),
            "img" => {
                self.text.space();
                self.text.push(&tag.alt);
                self.text.space();
                if !tag.is_minor && !tag.source.is_empty() {
                    self.image.get_or_insert(tag.source);
                }
            }
            _ if is_in(INLINE, name) => {}
            _ if is_in(PARAGRAPHS, name) => {
                self.text.separate(2);
                if name == "pre" || name == "xmp" {
                    self.text.preformatted += 1;
                    self.text.begins_preformatted = true;
                }
            }
            _ if is_in(LINES, name) => self.text.separate(1),
            _ if keeps_unknown => {
                self.text.push(raw);
                return false;
            }
            _ => return false,
        }
        self.is_html = true;
        name == "noscript"
    }

    fn end(&mut self, name: &str, raw: &str, keeps_unknown: bool) {
        if self.hidden.is_some() {
            self.hidden = self.hidden.filter(|hidden| *hidden != name);
        } else if is_in(PARAGRAPHS, name) {
            self.text.separate(2);
            if name == "pre" || name == "xmp" {
                self.text.preformatted = self.text.preformatted.saturating_sub(1);
            }
        } else if is_in(LINES, name) {
            self.text.separate(1);
        } else if matches!(name, "td" | "th") {
            self.text.space();
        } else if keeps_unknown && name != "br" && !is_in(INLINE, name) {
            self.text.push(raw);
        }
    }
}

impl Tag {
    fn set(&mut self, value: &str) {
        match self.attribute.as_str() {
            "alt" => value.clone_into(&mut self.alt),
            "src" if !value.trim_start().starts_with("data:") => value.clone_into(&mut self.source),
            // Pages that load images later have the address here, and none or a drawing in `src`.
            "data-src" | "data-original" | "data-lazy-src" if self.source.is_empty() => {
                value.clone_into(&mut self.source);
            }
            "width" | "height" if matches!(value.trim(), "0" | "1" | "0px" | "1px") => self.is_minor = true,
            "class" if value.contains("emoji") || value.contains("smiley") => self.is_minor = true,
            _ => {}
        }
    }
}

fn is_in(names: &str, name: &str) -> bool {
    names.split(' ').any(|other| other == name)
}

/// White space that HTML does not show is left out.
#[derive(Default)]
struct Text {
    written: String,
    /// Before the next text.
    breaks: usize,
    has_space: bool,
    /// Open elements whose white space is text.
    preformatted: usize,
    /// Such an element has just begun: HTML ignores a line break there.
    begins_preformatted: bool,
}

impl Text {
    fn push(&mut self, text: &str) {
        if self.preformatted > 0 {
            let begins = std::mem::take(&mut self.begins_preformatted);
            self.flush();
            self.written.push_str(text.strip_prefix('\n').filter(|_| begins).unwrap_or(text));
            return;
        }
        for (number, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            self.has_space |= number > 0;
            if !word.is_empty() {
                self.flush();
                self.written.push_str(word);
            }
        }
    }

    fn flush(&mut self) {
        let (breaks, has_space) = (std::mem::take(&mut self.breaks), std::mem::take(&mut self.has_space));
        if breaks > 0 {
            self.written.truncate(self.written.trim_end_matches('\n').len());
        }
        if self.written.is_empty() {
            return;
        }
        for _ in 0..breaks {
            self.written.push('\n');
        }
        if breaks == 0 && has_space {
            self.written.push(' ');
        }
    }

    fn space(&mut self) {
        self.has_space = true;
    }

    fn line_break(&mut self) {
        if self.preformatted > 0 {
            self.written.push('\n');
        } else {
            self.breaks = (self.breaks + 1).min(2);
        }
    }

    fn separate(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
    }

    fn finish(self) -> String {
        visible(&self.written)
    }
}

/// Removes control characters, and white space at the ends. Control characters above 127 are those of windows-1252, as in HTML.
pub(crate) fn visible(text: &str) -> String {
    let is_visible = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let meant = |c: char| match u8::try_from(c) {
        Ok(byte @ 0x80..0xa0) => {
            WINDOWS_1252.decode_without_bom_handling(&[byte]).0.chars().next().unwrap_or(c)
        }
        _ => c,
    };
    text.trim().chars().map(meant).filter(is_visible).collect()
}
