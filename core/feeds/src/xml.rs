//! The elements and texts of a file that is meant to be XML. No fault of the markup stops the reading before the end: a `<` or `&`
//! that begins nothing is text, and tags need not match.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::memchr;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::entities::Entities;
use crate::namespace::Namespace;

/// Deeper elements are left out, with their namespaces, but not their texts.
const DEPTH_MAX: usize = 256;

#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) namespace: Namespace,
    /// Without its prefix, in lower case.
    pub(crate) name: String,
    /// Names are in lower case and otherwise as written.
    pub(crate) attributes: Vec<(String, String)>,
}

impl Tag {
    /// Without white space at its ends; `None` if it is empty.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let (_, value) = self.attributes.iter().find(|(key, _)| key == name)?;
        Some(value.trim()).filter(|value| !value.is_empty())
    }
}

#[derive(Debug)]
pub(crate) enum Part<'t> {
    Start(Tag),
    /// The end of the innermost open element, with its name like that of a tag.
    End(String),
    /// With the characters that its references mean.
    Text(Cow<'t, str>),
    /// Perhaps within markup.
    Eof {
        is_cut: bool,
    },
}

struct Open {
    /// As written.
    name: String,
    /// The number of namespaces that were declared before.
    declared: usize,
}

pub(crate) struct Parts<'t> {
    text: &'t str,
    reader: Reader<&'t [u8]>,
    entities: Entities,
    open: Vec<Open>,
    /// Each with its meaning before the declaration.
    declared: Vec<(String, Option<Namespace>)>,
    namespaces: HashMap<String, Namespace>,
    /// The number of elements to end before the next part is read.
    ends: usize,
    line: (usize, u64),
}

impl<'t> Parts<'t> {
    /// `text` is the result of [`repaired`].
    pub(crate) fn new(text: &'t str) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.allow_dangling_amp = true;
        config.allow_unmatched_ends = true;
        config.check_end_names = false;
        Self {
            text,
            reader,
            entities: Entities::default(),
            open: Vec::new(),
            declared: Vec::new(),
            namespaces: HashMap::new(),
            ends: 0,
            line: (0, 1),
        }
    }

    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// From 1.
    pub(crate) fn line(&mut self) -> u64 {
        let at = usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX).min(self.text.len());
        let (before, line) = self.line;
        let passed = memchr::memchr_iter(b'\n', &self.text.as_bytes()[before.min(at)..at]).count();
        self.line = (at, line + passed as u64);
        self.line.1
    }

    pub(crate) fn next(&mut self) -> Part<'t> {
        loop {
            if self.ends > 0 {
                self.ends -= 1;
                if let Some(name) = self.close() {
                    return Part::End(name);
                }
            }
            match self.reader.read_event() {
                Ok(Event::Start(tag)) => {
                    if self.open.len() < DEPTH_MAX {
                        return Part::Start(self.start(&tag));
                    }
                }
                Ok(Event::Empty(tag)) => {
                    if self.open.len() < DEPTH_MAX {
                        self.ends = 1;
                        return Part::Start(self.start(&tag));
                    }
                }
                // An end closes all elements in it that have none; the end of an element that is not open means nothing.
                Ok(Event::End(tag)) => {
                    let is_same = |open: &Open| open.name.eq_ignore_ascii_case(tag.name().0);
                    self.ends = self.open.iter().rev().position(is_same).map_or(0, |inner| inner + 1);
                }
                Ok(Event::Text(text)) => return Part::Text(text.into_inner()),
                Ok(Event::CData(text)) => return Part::Text(text.into_inner()),
                Ok(Event::GeneralRef(name)) => {
                    let meaning = self.entities.meaning(&name);
                    return Part::Text(meaning.map_or_else(|| format!("&{};", &*name).into(), Cow::Owned));
                }
                Ok(Event::DocType(declarations)) => self.entities.declare(&declarations),
                Ok(Event::Comment(_) | Event::PI(_) | Event::Decl(_)) => {}
                Ok(Event::Eof) => return Part::Eof { is_cut: false },
                // The reader fails only where the file ends within markup.
                Err(_) => return Part::Eof { is_cut: true },
            }
        }
    }

    fn start(&mut self, tag: &BytesStart<'t>) -> Tag {
        let declared = self.declared.len();
        let tag_name = tag.name();
        let (prefix, name) = split(tag_name.0);
        let mut attributes = Vec::new();
        for attribute in tag.html_attributes().flatten() {
            let (key, value) = (attribute.key.0, self.entities.resolved(&attribute.value));
            let (space, local) = key.split_once(':').unwrap_or((key, ""));
            if space == "xmlns" {
                let namespace = Namespace::of(&value, local.is_empty());
                // Some files of RSS have the default namespace of Atom.
                let is_rss = local.is_empty() && matches!(name.as_str(), "rss" | "rdf");
                let namespace = if is_rss { Namespace::Plain } else { namespace };
                let before = self.namespaces.insert(local.to_owned(), namespace);
                self.declared.push((local.to_owned(), before));
            } else {
                attributes.push((key.to_ascii_lowercase(), value.into_owned()));
            }
        }
        let known = self.namespaces.get(prefix).copied();
        let namespace = known.unwrap_or_else(|| Namespace::of_prefix(prefix));
        self.open.push(Open { name: tag_name.0.to_owned(), declared });
        Tag { namespace, name, attributes }
    }

    fn close(&mut self) -> Option<String> {
        let open = self.open.pop()?;
        for (prefix, before) in self.declared.drain(open.declared..).rev() {
            match before {
                Some(namespace) => self.namespaces.insert(prefix, namespace),
                None => self.namespaces.remove(&prefix),
            };
        }
        Some(split(&open.name).1)
    }
}

/// The rest is in lower case.
fn split(name: &str) -> (&str, String) {
    let (prefix, name) = name.split_once(':').unwrap_or(("", name));
    (prefix, name.to_ascii_lowercase())
}

/// Returns a text in which each `<` that begins no markup is written as a reference.
pub fn repaired(text: &str) -> Cow<'_, str> {
    let (mut repaired, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(found) = memchr(b'<', &text.as_bytes()[at..]) {
        let begin = at + found;
        let rest = &text.as_bytes()[begin..];
        let begins =
            |start: &[u8]| rest.len() >= start.len() && rest[..start.len()].eq_ignore_ascii_case(start);
        let end_of =
            |end: &str, from: usize| text.get(begin + from..)?.find(end).map(|found| begin + from + found);
        let is_name =
            |at: usize| rest.get(at).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_' || *b >= 0x80);
        let end = match rest.get(1) {
            _ if rest.starts_with(b"<!--") => end_of("-->", 4),
            _ if rest.starts_with(b"<![CDATA[") => end_of("]]>", 9),
            _ if begins(b"<!DOCTYPE") => end_of(">", 9).and_then(|end| {
                let has_declarations = text[begin..end].contains('[');
                if has_declarations {
                    end_of("]", 9).and_then(|end| Some(end + text[end..].find('>')?))
                } else {
                    Some(end)
                }
            }),
            Some(b'?') => end_of("?>", 2),
            Some(b'/') if is_name(2) => Some(begin + 1),
            _ if is_name(1) => Some(begin),
            _ => {
                repaired.push_str(&text[copied..begin]);
                repaired.push_str("&lt;");
                copied = begin + 1;
                Some(begin)
            }
        };
        // Markup without an end goes to the end of the file.
        let Some(end) = end else { break };
        at = end + 1;
    }
    if copied == 0 {
        return text.into();
    }
    repaired.push_str(&text[copied..]);
    repaired.into()
}
