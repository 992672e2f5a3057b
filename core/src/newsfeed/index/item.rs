use std::collections::{HashMap, HashSet};
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use serde::Deserialize;

use super::features::{Feature, Features, Kind, feature};
use super::story::{self, Sketch};
use crate::base::clock::Timestamp;
use crate::base::keyed::Unkeyed;
use crate::post::Post;
use crate::post::feed_rows::FeedRow;
use crate::record::id::{PostKey, SourceKey};

/// Tags that the history of a member records for an opened topic feed.
const COMMONEST_TAGS: usize = 10;

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) key: PostKey,
    pub(crate) json: Box<str>,
    pub(crate) end_date: Option<Timestamp>,
    /// See [`crate::post::heat`].
    pub(crate) heat: Option<f64>,
    pub(crate) about: Arc<About>,
}

/// Views and likes do not change it.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) id: Box<str>,
    pub(crate) date: Timestamp,
    pub(crate) topic: Box<[Arc<str>]>,
    pub(crate) tag: Box<[Arc<str>]>,
    pub(crate) features: Features,
    pub(crate) sketch: Sketch,
    pub(crate) source: Option<Arc<str>>,
    /// Hashes of the title and of the site.
    title: Feature,
    site: Feature,
    /// Hashes of the topics, and of the source or the site, which the diversity of feeds is based on.
    pub(crate) labels: Box<[Feature]>,
    /// A hash of the row, to detect changes.
    fingerprint: u64,
}

impl About {
    fn new(row: &FeedRow, fingerprint: u64, names: &mut Names) -> Self {
        let [topics, tags] = [&row.topic, &row.tag].map(|names| names.iter().map(String::as_str));
        let features = Features::new(topics, tags, &row.keyword);
        Self {
            sketch: Sketch::new(&features),
            features,
            title: feature(Kind::Word, &row.title),
            site: feature(Kind::Word, row.host.strip_prefix("www.").unwrap_or(&row.host)),
            labels: labels(row),
            source: row.source.map(|source| names.get(&origin(source))),
            topic: row.topic.iter().map(|name| names.get(name)).collect(),
            tag: row.tag.iter().map(|name| names.get(name)).collect(),
            id: row.id.as_str().into(),
            date: row.date,
            fingerprint,
        }
    }

    /// Compares words. Posts of one site must be equal, because the posts of a series share most of their words.
    pub(crate) fn tells_the_same(&self, other: &Self) -> bool {
        let is_copy = || self.title == other.title && self.features.words() == other.features.words();
        story::tell_the_same(&self.features, &other.features) && (self.site != other.site || is_copy())
    }
}

impl Item {
    /// Shares `about` with the previous item of the post if that part is unchanged.
    pub(crate) fn new(row: FeedRow, before: Option<&Self>, names: &mut Names) -> Self {
        // The hash is only compared with an earlier one of the same post, so a collision affects that post only.
        let mut hasher = Unkeyed::default();
        (&row.title, &row.url, &row.host, &row.img, row.date).hash(&mut hasher);
        (&row.topic, &row.tag, &row.keyword, row.source).hash(&mut hasher);
        let fingerprint = hasher.finish();
        let FeedRow { key, end_date, heat, .. } = row;
        let about = match before.filter(|before| before.about.fingerprint == fingerprint) {
            Some(before) => Arc::clone(&before.about),
            None => Arc::new(About::new(&row, fingerprint, names)),
        };
        let post = Post {
            id: row.id,
            title: row.title,
            date: row.date,
            img: row.img,
            fav_cnt: row.fav,
            view: row.view,
            url: row.url,
            end_date,
        };
        Self { key, json: to_json(&post), end_date, heat, about }
    }

    pub(crate) fn post(&self) -> Post {
        #[derive(Deserialize)]
        struct Fields {
            title: String,
            img: String,
            fav_cnt: i64,
            view: i64,
            url: String,
        }
        let Fields { title, img, fav_cnt, view, url } =
            serde_json::from_str(&self.json).expect("the JSON object is that of a post");
        let About { id, date, .. } = &*self.about;
        Post { id: id.to_string(), title, date: *date, img, fav_cnt, view, url, end_date: self.end_date }
    }

    pub(crate) fn with_likes(&self, fav_cnt: i64) -> Self {
        let post = Post { fav_cnt, ..self.post() };
        Self { json: to_json(&post), about: Arc::clone(&self.about), ..*self }
    }

    pub(crate) fn has_ended(&self, now: Timestamp) -> bool {
        self.end_date.is_some_and(|end| end <= now)
    }
}

fn to_json(post: &Post) -> Box<str> {
    serde_json::to_string(post).expect("a post has text keys and serialises without errors").into()
}

/// The source or the site is a word, so a topic with the name of a site is a different label.
fn labels(row: &FeedRow) -> Box<[Feature]> {
    let topics = row.topic.iter().map(|name| feature(Kind::Topic, name));
    let from = row.source.map_or_else(|| row.host.clone(), origin);
    topics.chain([feature(Kind::Word, &from)]).collect()
}

/// No topic or tag has this name, because they cannot contain this character.
pub(crate) fn origin(source: SourceKey) -> String {
    format!("\0{}", source.as_i64())
}

/// The most common first, ties by name.
pub(crate) fn commonest_tags<'i>(items: impl Iterator<Item = &'i Item>) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for tag in items.flat_map(|item| &item.about.tag) {
        *counts.entry(tag).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|(tag, count)| (std::cmp::Reverse(*count), *tag));
    counts.into_iter().take(COMMONEST_TAGS).map(|(tag, _)| tag.to_owned()).collect()
}

/// Many posts share a topic or a tag.
#[derive(Default)]
pub(crate) struct Names(HashSet<Arc<str>>);

impl Names {
    fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(name) = self.0.get(name) {
            return Arc::clone(name);
        }
        let name: Arc<str> = name.into();
        self.0.insert(Arc::clone(&name));
        name
    }
}
