use std::rc::Rc;

use data_encoding::BASE64;
use url::Url;

use crate::decode;
use crate::entry::{self, Address, LinkKind, Markup, Text};
use crate::namespace::Namespace::{Atom, Plain, Rdf};
use crate::xml::{self, Part, Tag};
use crate::{EntryFault, Fault, Feed, Source};

mod capture;
mod fields;

use capture::{Capture, Field, Form};
use fields::is_opaque;

pub(crate) fn read(text: &str, source: &Source<'_>) -> Result<Feed, Fault> {
    let text = xml::repaired(text);
    let mut reader = Reader::new(xml::Parts::new(&text), source.address);
    let cut = reader.read()?;
    reader.finish(cut)
}

struct Reader<'t, 's> {
    parts: xml::Parts<'t>,
    source: Option<&'s Url>,
    feed: Feed,
    title: Option<Text>,
    links: Vec<Address>,
    /// Open elements within the root of the feed; 0 before it is found.
    root_depth: usize,
    is_feed: bool,
    /// A text without a type is plain, as in Atom.
    is_atom: bool,
    is_rdf: bool,
    /// With the number of open elements within the entry.
    entry: Option<(entry::Parts, usize)>,
    entries: Vec<Result<entry::Parts, EntryFault>>,
    capture: Option<Capture>,
    /// Open elements within an element that is skipped.
    skipped: Option<usize>,
    /// The bases that `xml:base` declares, each with the number of open elements within its element.
    bases: Vec<(usize, Rc<Url>)>,
}

impl<'t, 's> Reader<'t, 's> {
    fn new(parts: xml::Parts<'t>, source: Option<&'s Url>) -> Self {
        Self {
            parts,
            source,
            feed: Feed::default(),
            title: None,
            links: Vec::new(),
            root_depth: 0,
            is_feed: false,
            is_atom: false,
            is_rdf: false,
            entry: None,
            entries: Vec::new(),
            capture: None,
            skipped: None,
            bases: Vec::new(),
        }
    }

    /// Returns whether the file is cut off.
    fn read(&mut self) -> Result<bool, Fault> {
        let mut first: Option<(u64, String)> = None;
        loop {
            match self.parts.next() {
                Part::Start(tag) => {
                    if first.is_none() {
                        first = Some((self.parts.line(), tag.name.clone()));
                    }
                    self.start(&tag);
                }
                Part::End(name) => self.end(&name),
                Part::Text(text) => {
                    if let Some(capture) = &mut self.capture {
                        capture.add(&text);
                    }
                }
                Part::Eof { is_cut } => {
                    if self.is_feed {
                        return Ok(is_cut || self.parts.depth() >= self.root_depth);
                    }
                    let (line, reason) = match &first {
                        Some((line, name)) if name == "html" => (*line, "it is an HTML page, and no feed"),
                        Some((line, _)) => (*line, "its first element is not that of an RSS or Atom feed"),
                        None => (1, "it is no RSS, Atom or JSON feed that can be read"),
                    };
                    return Err(Fault { line, reason });
                }
            }
        }
    }

    fn finish(mut self, is_cut: bool) -> Result<Feed, Fault> {
        if is_cut {
            let line = self.parts.line();
            if let Some((entry, _)) = self.entry.take() {
                let reason = "the file ends within it".to_owned();
                self.entries.push(Err(EntryFault { line: entry.line, reason }));
            }
            let root = if self.is_rdf {
                "rdf:RDF"
            } else if self.is_atom {
                "feed"
            } else {
                "rss"
            };
            let warning =
                format!("the file ends in line {line}, before the end of <{root}>: the rest is missing");
            self.feed.warnings.push(warning);
        }
        self.feed.title = self.title.as_ref().map(Text::title).unwrap_or_default();
        self.feed.link = self.links.iter().find_map(|link| link.resolve(self.source));
        if self.entries.is_empty() && self.feed.title.is_empty() && self.feed.link.is_none() {
            return Err(Fault {
                line: 1,
                reason: "it has no title, no address and no entries: it is no feed",
            });
        }
        let base = self.feed.link.clone().or_else(|| self.source.cloned());
        let finish = |parts: Result<entry::Parts, _>| parts.map(|parts| parts.finish(base.as_ref()));
        self.feed.entries = self.entries.into_iter().map(finish).collect();
        Ok(self.feed)
    }

    fn start(&mut self, tag: &Tag) {
        let depth = self.parts.depth();
        if let Some(base) = tag.attribute("xml:base") {
            let outer = self.base();
            if let Some(base) = entry::absolute(base, outer.as_deref().or(self.source)) {
                self.bases.push((depth, Rc::new(base)));
            }
        }
        let is_plain = matches!(tag.namespace, Plain | Atom);
        if let Some(capture) = &mut self.capture {
            if !capture.is_ended_by(tag, is_plain) {
                capture.add_tag(tag);
                return;
            }
            self.end_capture();
        }
        let is_entry = is_plain && matches!(&*tag.name, "item" | "entry");
        if self.skipped.is_some() && !is_entry {
            return;
        }
        match &*tag.name {
            "rdf" if matches!(tag.namespace, Rdf | Plain) => self.root(tag),
            "rss" | "feed" | "channel" if is_plain && self.entry.is_none() => self.root(tag),
            "entry" if tag.namespace == Atom && depth == 1 => {
                self.root(tag);
                self.is_atom = true;
                self.start_entry(tag, depth);
            }
            _ if is_entry && (self.is_feed || self.is_rdf) => self.start_entry(tag, depth),
            _ if self.is_feed && !self.field(tag, depth) && is_opaque(tag) => self.skipped = Some(depth),
            _ => {}
        }
    }

    fn root(&mut self, tag: &Tag) {
        if self.root_depth == 0 || self.parts.depth() <= self.root_depth {
            self.root_depth = self.parts.depth();
            self.is_atom = tag.name == "feed";
            self.is_rdf = tag.name == "rdf";
        }
        // Other files than feeds are RDF too.
        self.is_feed |= tag.name != "rdf";
    }

    fn start_entry(&mut self, tag: &Tag, depth: usize) {
        // An entry within an entry: the end of the first is missing.
        if let Some((entry, _)) = self.entry.take() {
            self.entries.push(Ok(entry));
        }
        (self.is_feed, self.skipped) = (true, None);
        let mut parts = entry::Parts { line: self.parts.line(), ..entry::Parts::default() };
        if let Some(about) = tag.attribute("rdf:about") {
            parts.links.push((LinkKind::About, self.address(about)));
            parts.id = Some(about.trim().to_owned()).filter(|id| !id.is_empty());
        }
        self.entry = Some((parts, depth));
    }

    fn end(&mut self, name: &str) {
        let depth = self.parts.depth();
        if self.capture.as_ref().is_some_and(|capture| depth < capture.depth) {
            self.end_capture();
        } else if let Some(capture) = &mut self.capture {
            capture.add_end(name);
        }
        if self.skipped.is_some_and(|skipped| depth < skipped) {
            self.skipped = None;
        }
        if let Some((entry, _)) = self.entry.take_if(|(_, entry)| depth < *entry) {
            self.entries.push(Ok(entry));
        }
        while self.bases.last().is_some_and(|(base, _)| depth < *base) {
            self.bases.pop();
        }
    }

    fn base(&self) -> Option<Rc<Url>> {
        self.bases.last().map(|(_, base)| Rc::clone(base))
    }

    fn address(&self, text: &str) -> Address {
        Address { text: text.to_owned(), base: self.base() }
    }

    /// Returns whether the element is one that is read.
    fn field(&mut self, tag: &Tag, depth: usize) -> bool {
        let field = if self.entry.is_some() { self.entry_field(tag) } else { self.feed_field(tag) };
        let Some(field) = field else { return false };
        self.capture = Some(Capture {
            field,
            depth,
            text: String::new(),
            form: self.form(tag, field),
            is_base64: self.is_base64(tag, field),
            base: self.base(),
            name: tag.name.clone(),
        });
        true
    }

    fn end_capture(&mut self) {
        let Some(Capture { field, mut text, form, is_base64, base, .. }) = self.capture.take() else {
            return;
        };
        if is_base64 {
            text.retain(|c| !c.is_whitespace());
            let bytes = BASE64.decode(text.as_bytes()).unwrap_or_default();
            text = String::from_utf8(bytes).unwrap_or_default();
        }
        if text.trim().is_empty() {
            return;
        }
        let text = decode::undoubled(text);
        let markup = if form == Form::Plain { Markup::None } else { Markup::Html };
        let plain = text.trim().to_owned();
        let Some((entry, _)) = &mut self.entry else {
            match field {
                Field::Title(_) => {
                    self.title = self.title.take().or(Some(Text { source: text, markup, base }));
                }
                Field::Link(_) => self.links.push(Address { text: plain, base }),
                Field::Ttl => self.feed.ttl = plain.parse().ok(),
                Field::Hour => self.feed.skip_hours.extend(plain.parse().ok().map(|hour: u8| hour % 24)),
                _ => {}
            }
            return;
        };
        match field {
            Field::Title(rank) => entry.titles.push((rank, Text { source: text, markup, base })),
            Field::Text(rank) => entry.texts.push((rank, Text { source: text, markup, base })),
            Field::Link(kind) => entry.links.push((kind, Address { text: plain, base })),
            Field::Id { is_permanent, may_be_relative } => {
                entry.id.get_or_insert_with(|| plain.clone());
                let is_path = may_be_relative || is_permanent && plain.starts_with('/');
                if is_path || plain.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http")) {
                    let kind = if is_permanent { LinkKind::PermanentId } else { LinkKind::Id };
                    entry.links.push((kind, Address { text: plain, base }));
                }
            }
            Field::Date(rank) => entry.dates.push((rank, plain)),
            Field::Tag => entry.tags.push(plain),
            Field::Tags => entry.tags.extend(plain.split(',').map(str::to_owned)),
            Field::Image(kind) => {
                let address = plain.split_whitespace().next().unwrap_or_default().to_owned();
                entry.images.push((kind, Address { text: address, base }));
            }
            Field::Ttl | Field::Hour => {}
        }
    }
}
