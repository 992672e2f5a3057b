//! The namespaces of elements that feeds have.

/// All spellings of a namespace are one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// None, any version of RSS, or one that is unknown and has no prefix.
    Plain,
    /// Atom 1.0 and 0.3.
    Atom,
    Rdf,
    /// The RSS module `content`.
    Content,
    /// Dublin Core, elements and terms.
    Dc,
    /// Media RSS.
    Media,
    Itunes,
    Xhtml,
    Other,
}

impl Namespace {
    /// `is_default` if the address has no prefix. Feeds differ in scheme, case and final characters of an address.
    pub(crate) fn of(address: &str, is_default: bool) -> Self {
        let lower = address.trim().to_ascii_lowercase();
        let name = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://")).unwrap_or(&lower);
        let name = name.trim_end_matches(['/', '#']);
        match name.strip_prefix("www.").unwrap_or(name) {
            "w3.org/2005/atom" | "purl.org/atom/ns" => Self::Atom,
            "w3.org/1999/02/22-rdf-syntax-ns" => Self::Rdf,
            "w3.org/1999/xhtml" => Self::Xhtml,
            name if name.starts_with("purl.org/rss/1.0/modules/content") => Self::Content,
            name if name.starts_with("purl.org/dc/") => Self::Dc,
            name if name.ends_with("/mrss") || name.ends_with("/media-rss") => Self::Media,
            name if name.contains("podcast-1.0.dtd") => Self::Itunes,
            name if name.contains("rss") && !name.contains("/modules/") => Self::Plain,
            "" | "my.netscape.com/rdf/simple/0.9" | "channel.netscape.com/rdf/simple/0.9" => Self::Plain,
            _ if is_default => Self::Plain,
            _ => Self::Other,
        }
    }

    /// For a file that does not declare the prefix.
    pub(crate) fn of_prefix(prefix: &str) -> Self {
        match prefix.to_ascii_lowercase().as_str() {
            "" | "rss" => Self::Plain,
            "atom" | "atom10" => Self::Atom,
            "rdf" => Self::Rdf,
            "content" => Self::Content,
            "dc" | "dcterms" => Self::Dc,
            "media" => Self::Media,
            "itunes" => Self::Itunes,
            "xhtml" => Self::Xhtml,
            _ => Self::Other,
        }
    }
}
