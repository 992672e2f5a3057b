//! The purposes of the elements of entries and feeds.

use super::Reader;
use super::capture::{Field, Form};
use crate::entry::{Address, ImageKind, LinkKind};
use crate::namespace::Namespace::{Atom, Content, Dc, Itunes, Media, Other, Plain, Xhtml};
use crate::xml::Tag;

impl Reader<'_, '_> {
    /// Handles an element that has no text.
    pub(super) fn entry_field(&mut self, tag: &Tag) -> Option<Field> {
        let base = self.base();
        let (entry, _) = self.entry.as_mut()?;
        let address = |text: &str| Address { text: text.to_owned(), base: base.clone() };
        let attribute = |name: &str| tag.attribute(name);
        let field = match (tag.namespace, &*tag.name) {
            (Plain | Atom, "title") => Field::Title(0),
            (Dc | Media | Itunes, "title") => Field::Title(1),
            (Plain | Atom, "link") => {
                let Some(href) = attribute("href") else { return Some(Field::Link(LinkKind::Page)) };
                let kind = match attribute("rel").unwrap_or("alternate") {
                    "alternate" if attribute("type").is_some_and(|of| of.contains("html")) => LinkKind::Html,
                    "alternate" if attribute("type").is_none() => LinkKind::Page,
                    "enclosure" => {
                        let media_type = attribute("type").unwrap_or_default();
                        entry.add_file(address(href), ImageKind::Enclosure, "", media_type);
                        return None;
                    }
                    "alternate" | "related" | "via" | "canonical" => LinkKind::Other,
                    _ => return None,
                };
                entry.links.push((kind, address(href)));
                return None;
            }
            (Plain | Atom, "guid") => {
                let says =
                    |value: &str| attribute("ispermalink").is_some_and(|is| is.eq_ignore_ascii_case(value));
                Field::Id { is_permanent: !says("false"), may_be_relative: says("true") }
            }
            (Plain | Atom, "id") => Field::Id { is_permanent: false, may_be_relative: false },
            // The text is elsewhere.
            (Plain | Atom, "content") if attribute("src").is_some() => return None,
            (Plain | Atom, "description" | "summary" | "content")
            | (Content, "encoded")
            | (Plain | Xhtml, "body")
            | (Plain, "fullitem") => Field::Text(0),
            (Itunes, "summary") | (Media, "description") | (Dc, "description" | "abstract") => Field::Text(1),
            (Itunes, "subtitle") | (Media, "text") => Field::Text(2),
            (Plain | Atom, "pubdate" | "published" | "issued") | (Dc, "issued") => Field::Date(0),
            (Plain | Dc, "date") => Field::Date(1),
            (Plain | Atom | Dc, "created") => Field::Date(2),
            (Plain | Atom | Dc, "updated" | "modified") => Field::Date(3),
            (Plain | Atom | Media | Itunes, "category") => {
                let names = ["label", "term", "text"];
                let Some(name) = names.into_iter().find_map(attribute) else { return Some(Field::Tag) };
                entry.tags.push(name.to_owned());
                return None;
            }
            (Dc, "subject") | (Plain, "keywords") => Field::Tag,
            (Media | Itunes, "keywords") => Field::Tags,
            (Media, "thumbnail") => {
                let Some(url) = attribute("url") else { return Some(Field::Image(ImageKind::Thumbnail)) };
                entry.images.push((ImageKind::Thumbnail, address(url)));
                return None;
            }
            (Media, "content") | (Plain | Atom, "enclosure") => {
                let url = attribute("url").or_else(|| attribute("href"))?;
                let (medium, media_type) =
                    (attribute("medium").unwrap_or_default(), attribute("type").unwrap_or_default());
                let kind = if tag.namespace == Media { ImageKind::Media } else { ImageKind::Enclosure };
                entry.add_file(address(url), kind, medium, media_type);
                return None;
            }
            (Plain | Itunes, "image") => {
                let kind = if tag.namespace == Itunes { ImageKind::Podcast } else { ImageKind::Plain };
                let Some(url) = attribute("href").or_else(|| attribute("url")) else {
                    return Some(Field::Image(kind));
                };
                entry.images.push((kind, address(url)));
                return None;
            }
            _ => return None,
        };
        Some(field)
    }

    /// Handles an element that has no text.
    pub(super) fn feed_field(&mut self, tag: &Tag) -> Option<Field> {
        if !matches!(tag.namespace, Plain | Atom | Dc) {
            return None;
        }
        match &*tag.name {
            "title" => Some(Field::Title(0)),
            "ttl" => Some(Field::Ttl),
            "hour" => Some(Field::Hour),
            "link" => {
                let Some(href) = tag.attribute("href") else { return Some(Field::Link(LinkKind::Page)) };
                let address = self.address(href);
                let resolved = address.resolve(self.source);
                match tag.attribute("rel").unwrap_or("alternate") {
                    "alternate" => self.links.push(address),
                    "hub" => self.feed.hubs.extend(resolved),
                    "self" => self.feed.self_address = self.feed.self_address.take().or(resolved),
                    _ => {}
                }
                None
            }
            _ => None,
        }
    }

    /// Atom has Base64 for all content that is neither text nor XML.
    pub(super) fn is_base64(&self, tag: &Tag, field: Field) -> bool {
        let media_type = tag.attribute("type").unwrap_or_default().to_ascii_lowercase();
        let is_other =
            media_type.contains('/') && !media_type.starts_with("text/") && !media_type.ends_with("xml");
        let is_binary = is_other && self.is_atom || tag.attribute("mode") == Some("base64");
        is_binary && matches!(field, Field::Title(_) | Field::Text(_))
    }

    pub(super) fn form(&self, tag: &Tag, field: Field) -> Form {
        if !matches!(field, Field::Title(_) | Field::Text(_)) {
            return Form::Plain;
        }
        if tag.namespace == Xhtml {
            return Form::Xhtml;
        }
        let media_type = tag.attribute("type").unwrap_or_default().to_ascii_lowercase();
        let is_atom = tag.namespace == Atom || tag.namespace == Plain && self.is_atom;
        match &*media_type {
            // In Atom 0.3, an attribute besides the type says how the text is written.
            "text/html" | "application/xhtml+xml" if tag.attribute("mode") == Some("escaped") => Form::Html,
            "text/html" if tag.attribute("mode") == Some("xml") => Form::Xhtml,
            "" if is_atom => Form::Plain,
            "text/html" | "html" | "" => Form::Html,
            other if other == "xhtml" || other.ends_with("/xml") || other.ends_with("+xml") => Form::Xhtml,
            _ => Form::Plain,
        }
    }
}

/// The content belongs neither to the entry nor to the feed.
pub(super) fn is_opaque(tag: &Tag) -> bool {
    let is_other = matches!(
        &*tag.name,
        "author" | "contributor" | "source" | "image" | "textinput" | "owner" | "comments"
    );
    tag.namespace == Other || is_other && tag.namespace != Media
}
