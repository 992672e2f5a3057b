use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::{Entry, Format, Outline, Text, updated};

pub(super) fn document(outline: &Outline, entries: &[Entry], next: Option<&str>) -> Vec<u8> {
    let mut xml = Writer::new(Vec::with_capacity(1_024 * (entries.len() + 1)));
    write(&mut xml, outline, entries, next).expect("writing to memory does not fail");
    xml.into_inner()
}

fn write(
    xml: &mut Writer<Vec<u8>>,
    outline: &Outline,
    entries: &[Entry],
    next: Option<&str>,
) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
    let feed = xml.create_element("feed").with_attribute(("xmlns", "http://www.w3.org/2005/Atom"));
    feed.write_inner_content(|xml| {
        element(xml, "id", &outline.id)?;
        element(xml, "title", &outline.title)?;
        element(xml, "updated", &updated(entries).to_string())?;
        let author = xml.create_element("author");
        author.write_inner_content(|xml| element(xml, "name", outline.author()))?;
        let own = outline.address();
        for (relation, address) in [("self", Some(own.as_str())), ("next", next)] {
            let Some(address) = address else { continue };
            let link = [("rel", relation), ("type", Format::Atom.media_type()), ("href", address)];
            xml.create_element("link").with_attributes(link).write_empty()?;
        }
        entries.iter().try_for_each(|entry| write_entry(xml, entry))
    })?;
    Ok(())
}

fn write_entry(xml: &mut Writer<Vec<u8>>, entry: &Entry) -> io::Result<()> {
    let date = entry.date.to_string();
    xml.create_element("entry").write_inner_content(|xml| {
        element(xml, "id", &entry.id)?;
        element(xml, "title", &entry.title)?;
        element(xml, "published", &date)?;
        element(xml, "updated", &date)?;
        if let Some(url) = &entry.url {
            let link = [("rel", "alternate".into()), ("href", Cow::Owned(iri(url)))];
            let link = link.iter().map(|(name, value): &(_, Cow<'_, str>)| (*name, &**value));
            xml.create_element("link").with_attributes(link).write_empty()?;
        }
        for label in &entry.labels {
            xml.create_element("category").with_attribute(("term", &*allowed(label))).write_empty()?;
        }
        match &entry.text {
            Text::Summary(text) if text.is_empty() => Ok(()),
            Text::Summary(text) => element(xml, "summary", text),
            Text::Whole(text) => element(xml, "content", text),
        }
    })?;
    Ok(())
}

/// Plain text is the default type of texts.
fn element(xml: &mut Writer<Vec<u8>>, name: &str, text: &str) -> io::Result<()> {
    xml.create_element(name).write_text_content(BytesText::new(&allowed(text)))?;
    Ok(())
}

/// Escapes the characters that no IRI contains. A post has its address as written. Source: RFC 3987 section 2.2.
fn iri(url: &str) -> String {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let path = url[authority..].find(['/', '?', '#', '\\']).map_or(url.len(), |at| authority + at);
    let (before, path) = url.split_at(path);
    let mut iri = before.to_owned();
    for c in allowed(path).chars() {
        // The host may be an IPv6 address in brackets.
        if c.is_ascii_control() || " \"<>[]\\^`{|}".contains(c) {
            write!(iri, "%{:02X}", u32::from(c)).expect("writing to memory does not fail");
        } else {
            iri.push(c);
        }
    }
    iri
}

/// Replaces the characters that XML cannot contain, not even escaped. Source: XML 1.0 section 2.2.
fn allowed(text: &str) -> Cow<'_, str> {
    let is_forbidden = |c: char| matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    if text.contains(is_forbidden) {
        Cow::Owned(text.replace(is_forbidden, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_escapes_where_an_iri_needs_them() {
        for (url, expected) in [
            (r"https://a.example/[x]?q={y}\|^", "https://a.example/%5Bx%5D?q=%7By%7D%5C%7C%5E"),
            ("https://a.example/\"><script>", "https://a.example/%22%3E%3Cscript%3E"),
            ("https://[::1]:8080/a?b=%20&c#d", "https://[::1]:8080/a?b=%20&c#d"),
            ("https://한국.kr/서울", "https://한국.kr/서울"),
            ("https://a.example", "https://a.example"),
        ] {
            assert_eq!(iri(url), expected);
        }
    }
}
