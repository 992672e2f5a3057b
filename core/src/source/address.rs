use std::borrow::Cow;

use url::Url;

use super::{PRIVATE, URL_RULE};
use crate::record::error::Problem;
use crate::record::outgoing;

/// Parameters that only tell a site where a reader came from. Source: the parameters that Firefox and Brave remove from copied
/// links, and those of Google Analytics and Matomo.
const TRACKING: &str = "fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid twclid igshid ttclid li_fat_id \
                        mc_cid mc_eid _hsenc _hsmi vero_id mkt_tok oly_anon_id oly_enc_id rb_clickid s_cid \
                        wickedid pk_campaign pk_kwd __s";
const TRACKING_PREFIXES: [&str; 3] = ["utm_", "mtm_", "hsa_"];

const FEED_SCHEMES: [&str; 4] = ["feed:", "itpc:", "pcast:", "rss:"];

/// Returns the address by https, and by http in case that fails.
fn of_web(text: &str) -> (Cow<'_, str>, Option<String>) {
    let text = text.trim();
    let marked = FEED_SCHEMES.iter().find_map(|scheme| {
        let begin = text.get(..scheme.len())?;
        begin.eq_ignore_ascii_case(scheme).then(|| text[scheme.len()..].trim_start_matches('/'))
    });
    match marked {
        None => (text.into(), None),
        Some(rest) if outgoing::parse(rest).is_some() => (rest.into(), None),
        Some(rest) => (format!("https://{rest}").into(), Some(format!("http://{rest}"))),
    }
}

/// Removes the fragment.
pub(super) fn parse(text: &str, allows_private: bool) -> Result<Url, Problem> {
    let mut url = outgoing::parse(&of_web(text).0).ok_or(URL_RULE)?;
    url.set_fragment(None);
    if allows_private || outgoing::has_public_host(&url) { Ok(url) } else { Err(PRIVATE) }
}

/// The address by http of a source whose address has the scheme of a feed reader.
pub(super) fn plain(text: &str) -> Option<String> {
    parse(&of_web(text).1?, true).ok().map(String::from)
}

/// Removes parameters that only track readers, so that the same article of two sources has one address.
pub(super) fn of_article(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else { return address.to_owned() };
    let is_tracking = |name: &str| {
        let name = name.to_ascii_lowercase();
        TRACKING.split(' ').any(|tracking| tracking == name)
            || TRACKING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    // A parameter that stays keeps its spelling.
    if let Some(query) = url.query() {
        let name = |part: &&str| !is_tracking(part.split('=').next().unwrap_or_default());
        let kept: Vec<&str> = query.split('&').filter(name).collect();
        let kept = (!kept.is_empty()).then(|| kept.join("&"));
        url.set_query(kept.as_deref());
    }
    if url.fragment().is_some_and(|fragment| {
        fragment.is_empty() || is_tracking(fragment.split('=').next().unwrap_or_default())
    }) {
        url.set_fragment(None);
    }
    url.into()
}

/// An address in its normal form, an id as it is.
pub(super) fn named(source: &str) -> String {
    parse(source, true).map_or_else(|_| source.to_owned(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_article_has_one_address_however_it_is_linked() {
        for (given, expected) in [
            ("https://a.example/1?utm_source=rss&utm_medium=feed", "https://a.example/1"),
            ("https://a.example/1?id=7&UTM_Source=rss&b=%20x", "https://a.example/1?id=7&b=%20x"),
            ("https://A.example:443/1?fbclid=x#", "https://a.example/1"),
            ("https://a.example/1?gclid#utm_source=rss", "https://a.example/1"),
            ("https://a.example/1?source=rss#part", "https://a.example/1?source=rss#part"),
            ("https://a.example/?p=1", "https://a.example/?p=1"),
            ("no address", "no address"),
        ] {
            assert_eq!(of_article(given), expected, "{given}");
        }
    }

    #[test]
    fn a_source_is_at_a_public_address_unless_the_setting_allows_others() {
        let parsed = |text, allows| parse(text, allows).map(String::from);
        assert_eq!(parsed(" http://A.example#top ", false).as_deref(), Ok("http://a.example/"));
        for private in ["http://127.0.0.1/feed", "https://[::1]/", "http://localhost/", "http://2130706433/"]
        {
            assert_eq!(parsed(private, false), Err(PRIVATE), "{private}");
            assert!(parsed(private, true).is_ok(), "{private}");
        }
        for wrong in ["", "a.example", "ftp://a.example/", "https://ann:pw@a.example/", "file:///etc/passwd"]
        {
            assert_eq!(parsed(wrong, true), Err(URL_RULE), "{wrong}");
        }
    }
}
