use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

use super::fetch::{Answer, Validators};
use super::operations::{ADMINS, GROUP, page};
use super::run::{Asked, GONE, TITLE_MAX, ask};
use crate::account::Call;
use crate::base::text::visible_line;
use crate::record::error::Result;
use crate::record::operation::{Operation, Spec, Work};

const FOUND_MAX: usize = 50;
/// Links that are fetched because their media type does not tell whether they are feeds.
const TRIED_MAX: usize = 5;

/// Find a page's feeds
///
/// A feed itself is found, too. A page that cannot be fetched is an answer with an `error`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Discover {
    /// The address of the page, which begins with `https://` or `http://`.
    #[schema(max_length = 1_000, examples("https://news.example.org/"))]
    pub url: String,
}

/// The feeds of a page.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiscoveredFeeds {
    /// The feeds in the order of the page, at most 50.
    #[schema(max_items = 50)]
    pub feeds: Vec<FoundFeed>,
    /// Why the page could not be fetched; null if it could.
    #[schema(max_length = 1_000, examples("status 503"))]
    pub error: Option<String>,
}

/// A feed of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundFeed {
    /// Its address.
    #[schema(max_length = 10_000, examples("https://news.example.org/feed.xml"))]
    pub url: String,
    /// Its title, `""` if the page gives none.
    #[schema(max_length = 300, examples("Campus news"))]
    pub title: String,
}

impl Operation for Discover {
    type Answer = DiscoveredFeeds;
    const SPEC: Spec = Spec::post(GROUP, "/discover_sources", ADMINS).reads().works(Work::Remote);

    fn run(self, call: &Call<'_>) -> Result<DiscoveredFeeds> {
        let identity = call.authority();
        call.store().read(|tx| identity.admin(tx).map(drop))?;
        let url = page(&self.url, call.tidings())?;
        let (http, now) = (call.tidings().sources().http()?, call.now());
        let answer = http.get(&url, &Validators::default(), now);
        // The right may be gone by now.
        call.store().read(|tx| identity.admin(tx).map(drop))?;
        let failed = |error: String| DiscoveredFeeds { error: Some(error), ..DiscoveredFeeds::default() };
        let (bytes, charset, about) = match answer {
            Ok(Answer::Content { bytes, charset, about, .. }) => (bytes, charset, about),
            Ok(Answer::Gone) => return Ok(failed(GONE.to_owned())),
            Ok(Answer::NotModified(_)) => return Ok(failed("status 304".to_owned())),
            Err(failure) => return Ok(failed(failure.reason)),
        };
        let from = tidings_feeds::Source { charset: charset.as_deref(), address: Some(&about.address) };
        let found = |url: &Url, title: &str| FoundFeed {
            url: url.to_string(),
            title: visible_line(title, TITLE_MAX),
        };
        if let Ok(feed) = tidings_feeds::read(&bytes, &from) {
            return Ok(DiscoveredFeeds { feeds: vec![found(&about.address, &feed.title)], error: None });
        }
        let (mut feeds, mut tried) = (Vec::new(), 0);
        let mut links = tidings_feeds::discover(about.link_elements().as_bytes(), &from);
        links.extend(tidings_feeds::discover(&bytes, &from));
        for link in links {
            let is_known = feeds.iter().any(|feed: &FoundFeed| feed.url == link.url.as_str());
            if is_known || feeds.len() == FOUND_MAX || !link.is_sure && tried == TRIED_MAX {
                continue;
            }
            tried += usize::from(!link.is_sure);
            let asked = || ask(&http, link.url.as_str(), &Validators::default(), now);
            if link.is_sure || matches!(asked(), Ok(Asked::Feed { .. })) {
                feeds.push(found(&link.url, &link.title));
            }
        }
        Ok(DiscoveredFeeds { feeds, error: None })
    }
}
