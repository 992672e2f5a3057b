//! An entry while its parts are collected, and the choice among them.

use std::rc::Rc;

use url::Url;

use crate::{Entry, date, html};

/// For files without a media type.
const IMAGES: [&str; 7] = [".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".svg"];

/// In bytes, as for posts. A longer address is ignored, so that another one counts; and many relative addresses to it would fill
/// the memory.
const ADDRESS_MAX: usize = 2_000;

/// As written, with the base that applies to it.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) text: String,
    pub(crate) base: Option<Rc<Url>>,
}

impl Address {
    /// `other_base` is for an address without a base.
    pub(crate) fn resolve(&self, other_base: Option<&Url>) -> Option<Url> {
        absolute(&self.text, self.base.as_deref().or(other_base))
    }
}

/// Only for http and https.
pub(crate) fn absolute(text: &str, base: Option<&Url>) -> Option<Url> {
    let text = text.trim();
    if text.len() > ADDRESS_MAX {
        return None;
    }
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(url::ParseError::RelativeUrlWithoutBase) if !text.is_empty() => match base {
            Some(base) => base.join(text).ok()?,
            None if text.starts_with("//") => Url::parse(&format!("https:{text}")).ok()?,
            None => return None,
        },
        Err(_) => return None,
    };
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    (is_web && url.as_str().len() <= ADDRESS_MAX).then_some(url)
}

/// How well an address suits as that of the entry; the least is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LinkKind {
    /// The page, with its media type.
    Html,
    Page,
    PermanentId,
    About,
    Id,
    Other,
    Enclosure,
    /// An enclosure that is an image: an entry with a sound is not about its cover.
    Cover,
}

/// The least is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ImageKind {
    Thumbnail,
    Media,
    Enclosure,
    Podcast,
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Markup {
    None,
    Html,
}

#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) source: String,
    pub(crate) markup: Markup,
    pub(crate) base: Option<Rc<Url>>,
}

impl Text {
    pub(crate) fn title(&self) -> String {
        let title = match self.markup {
            Markup::None => html::visible(&self.source),
            Markup::Html => html::title(&self.source),
        };
        one_line(&title)
    }
}

/// Ranks and kinds order the parts of one sort: the least is the best.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) line: u64,
    pub(crate) id: Option<String>,
    pub(crate) links: Vec<(LinkKind, Address)>,
    pub(crate) titles: Vec<(u8, Text)>,
    pub(crate) texts: Vec<(u8, Text)>,
    pub(crate) images: Vec<(ImageKind, Address)>,
    pub(crate) tags: Vec<String>,
    pub(crate) dates: Vec<(u8, String)>,
}

impl Parts {
    /// A file counts as an image by its medium, its media type, or its name. An enclosure may stand in for the page.
    pub(crate) fn add_file(&mut self, address: Address, kind: ImageKind, medium: &str, media_type: &str) {
        let path = address.text.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
        let is_image = match (medium, media_type) {
            ("", "" | "application/octet-stream") => IMAGES.iter().any(|end| path.ends_with(end)),
            ("", media_type) => media_type.starts_with("image"),
            (medium, _) => medium == "image",
        };
        if kind == ImageKind::Enclosure {
            let link = if is_image { LinkKind::Cover } else { LinkKind::Enclosure };
            self.links.push((link, address.clone()));
        }
        if is_image {
            self.images.push((kind, address));
        }
    }

    /// `base` is that of addresses without one.
    pub(crate) fn finish(mut self, base: Option<&Url>) -> Entry {
        self.links.sort_by_key(|(kind, _)| *kind);
        self.titles.sort_by_key(|(rank, _)| *rank);
        self.texts.sort_by_key(|(rank, _)| *rank);
        self.images.sort_by_key(|(kind, _)| *kind);
        self.dates.sort_by_key(|(rank, _)| *rank);
        let (text, in_text) = text(&self.texts, base);
        let images = self.images.iter().filter_map(|(_, image)| image.resolve(base));
        let (date, date_fault) = date_of(&self.dates);
        let url = self.links.iter().find_map(|(_, link)| link.resolve(base));
        let is_image = |url: &Url| IMAGES.iter().any(|end| url.path().to_ascii_lowercase().ends_with(end));
        let own = [LinkKind::Enclosure, LinkKind::PermanentId, LinkKind::Id].into_iter().find_map(|kind| {
            let links = self.links.iter().filter(|(of, _)| *of == kind);
            let mut links = links.filter_map(|(_, link)| link.resolve(base));
            links.find(|link| Some(link) != url.as_ref() && !is_image(link))
        });
        Entry {
            line: self.line,
            id: self.id,
            url: url.map(Into::into),
            own_url: own.map(Into::into),
            title: self
                .titles
                .iter()
                .map(|(_, title)| title.title())
                .find(|t| !t.is_empty())
                .unwrap_or_default(),
            text,
            image: images.chain(in_text).next().map(Into::into),
            tags: tags(&self.tags),
            date,
            date_fault,
        }
    }
}

/// Returns the longest text of the best rank that has one, and the first image in a text.
fn text(texts: &[(u8, Text)], base: Option<&Url>) -> (String, Option<Url>) {
    let (mut best, mut best_rank, mut image) = (String::new(), 0, None);
    for (rank, text) in texts {
        let plain = match text.markup {
            Markup::None => html::visible(&text.source),
            Markup::Html => {
                let content = html::read(&text.source);
                let found = content.image.and_then(|found| absolute(&found, text.base.as_deref().or(base)));
                image = image.or(found);
                content.text
            }
        };
        if best.is_empty() || *rank == best_rank && plain.len() > best.len() {
            (best, best_rank) = (plain, *rank);
        }
    }
    (best, image)
}

/// The first date that can be read; if there is none, the reason.
fn date_of(dates: &[(u8, String)]) -> (Option<i64>, Option<String>) {
    let mut fault = None;
    for (_, text) in dates {
        match date::parse(text) {
            Ok(Some(date)) => return (Some(date), None),
            Ok(None) => {}
            Err(()) => {
                let shown: String = one_line(&html::visible(text)).chars().take(60).collect();
                fault.get_or_insert_with(|| format!("its date cannot be read: {shown}"));
            }
        }
    }
    (None, fault)
}

/// Plain texts, of which none differ in case only.
fn tags(names: &[String]) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let names = names.iter().map(|name| one_line(&html::title(name)));
    names.filter(|name| !name.is_empty() && seen.insert(name.to_lowercase())).collect()
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
