//! Lists of sources in OPML, in which feed readers exchange their subscriptions. Source: OPML 2.0, <http://opml.org/spec2.opml>,
//! section "Subscription lists".

use std::collections::HashMap;
use std::fmt::Write as _;

use quick_xml::Reader;
use quick_xml::escape::escape;
use quick_xml::events::{BytesStart, Event};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::operations::{ADMINS, GROUP, Given, add};
use super::{SOURCES_MAX, Source, address, sql};
use crate::account::Call;
use crate::audit::trail::{Action, Entry};
use crate::base::text::visible_line;
use crate::import::ERRORS_MAX;
use crate::post::{self, NAMES_MAX};
use crate::record::answer::LineError;
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Operation, Spec};
use crate::store::{Isolation, Topic};

/// The maximum size of a list in bytes.
pub const OPML_MAX: usize = 1 << 20;

const NO_OPML: Problem = Problem::new(
    Code::InvalidValue,
    "opml is a list of feeds in OPML: an <opml> element with <outline xmlUrl=\"…\">",
)
.of("opml");
const TOO_LONG: Problem = Problem::new(Code::InvalidValue, "opml is at most 1 MiB").of("opml");
const NO_ADDRESS: Problem = Problem::new(Code::InvalidValue, "it is a feed without an address (xmlUrl)");
const CUT: Problem =
    Problem::new(Code::InvalidValue, "the list ends before the end of <opml>: the rest is missing");

/// Returns the text of a list in the encoding that its bytes or its XML declaration tell.
pub fn opml_text(bytes: &[u8]) -> String {
    tidings_feeds::decode(bytes, None).text.into_owned()
}

/// Export sources as OPML
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Export {}

/// A list of sources.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Opml {
    /// The list in OPML 2.0.
    #[schema(max_length = 100_000_000, examples("<opml version=\"2.0\">…</opml>"))]
    pub opml: String,
}

impl Operation for Export {
    type Answer = Opml;
    const SPEC: Spec = Spec::get(GROUP, "/export_sources", ADMINS);

    fn run(self, call: &Call<'_>) -> Result<Opml> {
        let sources = call.tidings().call(call.caller(), super::List {})?.sources;
        Ok(Opml { opml: write(&sources) })
    }
}

fn write(sources: &[Source]) -> String {
    let mut opml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n  <head><title>Sources</title></head>\n  <body>\n",
    );
    for Source { name, url, home, topic, tag, .. } in sources {
        opml.push_str("    <outline");
        let mut attribute = |name: &str, value: &str| {
            // XML has no such characters, but a title of a feed may.
            let is_xml = |c: &char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
            let value: String = value.chars().filter(is_xml).collect();
            write!(opml, " {name}=\"{}\"", escape(&value)).expect("writing to a string does not fail");
        };
        attribute("type", "rss");
        attribute("text", name);
        attribute("xmlUrl", url);
        if let Some(home) = home {
            attribute("htmlUrl", home);
        }
        // Topics begin with a slash, as the specification writes categories.
        let categories: Vec<String> =
            topic.iter().map(|name| format!("/{name}")).chain(tag.iter().cloned()).collect();
        if !categories.is_empty() {
            attribute("category", &categories.join(","));
        }
        opml.push_str("/>\n");
    }
    opml.push_str("  </body>\n</opml>\n");
    opml
}

/// Import sources from OPML
///
/// Sources that exist stay as they are. A folder becomes a topic of the sources in it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Import {
    /// The list, at most 1 MiB.
    #[schema(max_length = 1_048_576, examples("<opml version=\"2.0\">…</opml>"))]
    pub opml: String,
}

/// The answer to importing sources.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportedSources {
    /// The number of new sources.
    #[schema(minimum = 0, examples(12))]
    pub inserted: u64,
    /// The number of sources that were there.
    #[schema(minimum = 0, examples(0))]
    pub skipped: u64,
    /// The entries that were left out, by their numbers from 1.
    #[schema(max_items = 1_000)]
    pub errors: Vec<LineError>,
}

impl Operation for Import {
    type Answer = ImportedSources;
    const SPEC: Spec = Spec::post(GROUP, "/import_sources", ADMINS);

    fn run(self, call: &Call<'_>) -> Result<ImportedSources> {
        let (identity, now, clock) = (call.authority(), call.now(), call.tidings().clock().clone());
        let allows_private = call.tidings().config().private_addresses;
        let read = if self.opml.len() > OPML_MAX { Err(TOO_LONG) } else { read(&self.opml).ok_or(NO_OPML) };
        call.store().write_long(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx)?;
            let outlines = read.as_ref().map_err(|rule| Error::BadRequest(*rule))?;
            let merged = merged(outlines);
            let mut imported = ImportedSources::default();
            imported.skipped += (outlines.len() - merged.len()) as u64;
            for (line, outline) in &merged {
                let settings = outline.as_ref().map_err(|rule| *rule).and_then(|outline| {
                    let Outline { name, url, topic, tag } = outline;
                    Given { url, name, topic, tag, every: 0 }.check(allows_private)
                });
                let added = settings.map_err(Error::BadRequest).and_then(|settings| {
                    if sql::find(tx, &admin, &settings.url)?.is_some() {
                        imported.skipped += 1;
                        return Ok(());
                    }
                    add(tx, &admin, &ObjectId::new(&clock).to_string(), &settings, now)?;
                    imported.inserted += 1;
                    Ok(())
                });
                match added {
                    Err(Error::BadRequest(rule)) if imported.errors.len() < ERRORS_MAX => {
                        imported.errors.push(LineError { line: *line, reason: rule.message().into_owned() });
                    }
                    Ok(()) | Err(Error::BadRequest(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            tx.touch(Topic::Sources);
            let count = imported.inserted.to_string();
            admin.record(tx, Entry::new(Action::SourceImport).after(&count))?;
            Ok(imported)
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outline {
    name: String,
    url: String,
    topic: Vec<String>,
    tag: Vec<String>,
}

/// Numbers the feeds. A feed that is there several times, as in several folders, gets the topics and tags of all.
fn merged(outlines: &[Result<Outline, Problem>]) -> Vec<(u64, Result<Outline, Problem>)> {
    let (mut merged, mut places) = (Vec::<(u64, Result<Outline, Problem>)>::new(), HashMap::new());
    for (line, outline) in (1..).zip(outlines) {
        if let Ok(outline) = outline {
            let place = *places.entry(address::named(&outline.url)).or_insert(merged.len());
            if let Some((_, Ok(first))) = merged.get_mut(place) {
                for (to, more) in [(&mut first.topic, &outline.topic), (&mut first.tag, &outline.tag)] {
                    let more: Vec<_> = more.iter().filter(|name| !to.contains(name)).cloned().collect();
                    to.extend(more.into_iter().take(NAMES_MAX.saturating_sub(to.len())));
                }
                continue;
            }
        }
        merged.push((line, outline.clone()));
    }
    merged
}

/// `None` if the text is no list. A part that cannot be read has the reason in its place.
fn read(opml: &str) -> Option<Vec<Result<Outline, Problem>>> {
    let opml = tidings_feeds::repaired(opml);
    let mut reader = Reader::from_str(&opml);
    let config = reader.config_mut();
    (config.allow_dangling_amp, config.allow_unmatched_ends, config.check_end_names) = (true, true, false);
    let (mut outlines, mut folders, mut is_opml, mut is_cut) = (Vec::new(), Vec::new(), false, true);
    while outlines.len() < SOURCES_MAX + ERRORS_MAX {
        match reader.read_event() {
            Ok(Event::Start(tag)) if is_outline(&tag) => {
                let (outline, label) = outline(&tag, &folders);
                outlines.extend(outline);
                folders.push(label);
            }
            Ok(Event::Empty(tag)) if is_outline(&tag) => outlines.extend(outline(&tag, &folders).0),
            Ok(Event::Start(tag)) => is_opml |= tag.local_name().as_ref().eq_ignore_ascii_case("opml"),
            Ok(Event::End(tag)) if tag.local_name().as_ref().eq_ignore_ascii_case("outline") => {
                folders.pop();
            }
            Ok(Event::End(tag)) => is_cut &= !tag.local_name().as_ref().eq_ignore_ascii_case("opml"),
            Ok(Event::Eof) | Err(_) => {
                outlines.extend(is_cut.then_some(Err(CUT)));
                break;
            }
            Ok(_) => {}
        }
    }
    is_opml.then_some(outlines)
}

fn is_outline(tag: &BytesStart<'_>) -> bool {
    tag.local_name().as_ref().eq_ignore_ascii_case("outline")
}

/// Returns the feed of an element, if it is one, and the label that the element has as a folder.
fn outline(tag: &BytesStart<'_>, folders: &[String]) -> (Option<Result<Outline, Problem>>, String) {
    let mut found = Outline::default();
    let [mut text, mut title, mut categories, mut kind] = [const { String::new() }; 4];
    for attribute in tag.html_attributes().with_checks(false).flatten() {
        let value = tidings_feeds::resolved(&attribute.value);
        let to = match &*attribute.key.local_name().as_ref().to_ascii_lowercase() {
            "text" => &mut text,
            "title" => &mut title,
            "xmlurl" => &mut found.url,
            "category" => &mut categories,
            "type" => &mut kind,
            _ => continue,
        };
        *to = value.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let names = [text, title].map(|name| visible_line(&name, super::NAME.max));
    let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    let is_feed = ["rss", "atom"].iter().any(|known| kind.eq_ignore_ascii_case(known));
    if found.url.is_empty() {
        return (is_feed.then_some(Err(NO_ADDRESS)), name);
    }
    found.topic = folders.iter().filter(|folder| !folder.is_empty()).cloned().collect();
    for category in categories.split(',') {
        let (names, category) = match category.trim().strip_prefix('/') {
            Some(topic) => (&mut found.topic, topic),
            None => (&mut found.tag, category),
        };
        names.extend(Some(visible_line(category, post::NAME.max)).filter(|name| !name.is_empty()));
    }
    // Excess topics do not prevent the import of a feed.
    found.topic.truncate(NAMES_MAX);
    found.tag.truncate(NAMES_MAX);
    found.name = name;
    (Some(Ok(found)), String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_feed_readers_are_read() {
        let opml = r#"<?xml version="1.0"?><opml version="1.0"><head><title>Mine</title></head><body>
            <outline text="Tech &amp; science"><outline type="rss" text="A" xmlUrl="https://a.example/f?a=1&amp;b=2"/>
            <outline title="B" XMLURL='https://b.example/' category="/x/y,news"></outline></outline>
            <outline text="none"/><outline text="C" xmlUrl="https://c.example/"/></body></opml>"#;
        let found: Vec<Outline> = read(opml).unwrap().into_iter().flatten().collect();
        let texts = |list: &[String]| list.join("|");
        let shown: Vec<_> =
            found.iter().map(|o| (&*o.name, &*o.url, texts(&o.topic), texts(&o.tag))).collect();
        let row = |name, url, topic: &str, tag: &str| (name, url, topic.to_owned(), tag.to_owned());
        assert_eq!(
            shown,
            [
                row("A", "https://a.example/f?a=1&b=2", "Tech & science", ""),
                row("B", "https://b.example/", "Tech & science|x/y", "news"),
                row("C", "https://c.example/", "", ""),
            ]
        );
        for wrong in ["", "text", "<rss><channel/></rss>", "{}"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn lists_with_faults_are_read_as_far_as_they_make_sense() {
        let read_all = |opml: &str| -> Vec<String> {
            let shown = |outline: Result<Outline, Problem>| match outline {
                Ok(outline) => format!("{} {} {}", outline.name, outline.url, outline.topic.join("|")),
                Err(problem) => problem.message().into_owned(),
            };
            read(opml).unwrap().into_iter().map(shown).collect()
        };
        let cut = "the list ends before the end of <opml>: the rest is missing";
        let zero = "\u{200b}";
        let long = "x".repeat(120);
        for (body, expected) in [
            (
                "<outline text='A' xmlUrl='https://a.example/f?a=1&b=2'/>",
                &["A https://a.example/f?a=1&b=2 "][..],
            ),
            (
                "<outline text='R&D &eacute; < 5' xmlUrl='u'/></outline> x < y & z <outline text=B xmlUrl=v>",
                &["R&D é < 5 u ", "B v "],
            ),
            (
                "<outline text='F'><outline type='rss' text='A'/><outline type=rss xmlUrl=w /></outline>",
                &["it is a feed without an address (xmlUrl)", " w F"],
            ),
            (
                "<outline text='F'><outline text='G'></outline><outline xmlUrl='u'/></outline><outline xmlUrl='v'/>",
                &[" u F", " v "],
            ),
            (
                &*format!("<outline text='{zero}' title='T\u{202e}' xmlUrl='u' category='/{zero},{zero}'/>"),
                &["T u "],
            ),
            (
                &*format!("<outline text='{long}'><outline xmlUrl='u'/></outline>"),
                &[&*format!(" u {}…", "x".repeat(99))],
            ),
            (&*"<outline>".repeat(60), &[]),
        ] {
            assert_eq!(read_all(&format!("<opml><body>{body}</body></opml>")), expected, "{body}");
        }
        let whole = "<opml><body><outline xmlUrl='u'/></body>";
        for end in [whole.len(), whole.len() - 3, whole.len() - 7] {
            assert_eq!(read_all(&whole[..end]), [" u ", cut]);
        }
        assert_eq!(read_all("<opml><body><outline xmlUrl='u'/><outl"), [" u ", cut]);
        let korean = encoding_rs::EUC_KR.encode(
            "<?xml version='1.0' encoding='euc-kr'?><opml><outline text='도서관 안내' xmlUrl='u'/></opml>",
        );
        assert_eq!(read_all(&opml_text(&korean.0)), ["도서관 안내 u "]);
    }
}
