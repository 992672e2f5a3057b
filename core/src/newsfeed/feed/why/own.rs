use std::cell::OnceCell;
use std::cmp::Reverse;

use super::named;
use crate::base::clock::Timestamp;
use crate::base::config::Interest;
use crate::base::keyed::OwnMap;
use crate::newsfeed::feed::personal::Personal;
use crate::newsfeed::index::features::{Feature, Kind, Number, feature};
use crate::newsfeed::signal::Signal;
use crate::newsfeed::signal::interest::unit_of;
use crate::newsfeed::signal::near::{self, Postings};
use crate::newsfeed::signal::score::ScoringContext;
use crate::profile::history::Acts;
use crate::record::id::PostKey;

pub(crate) struct OwnActs<'m> {
    moment: &'m ScoringContext<'m>,
    /// The posts that the member liked or viewed and has not hidden, the latest act first.
    posts: Vec<OwnPost>,
    /// Computed on first use.
    by_feature: OnceCell<Postings>,
    /// The topics of these posts and the names of opened feeds as topics, sorted.
    topics: Vec<Feature>,
    /// Sorted.
    opened_tags: Vec<Feature>,
    /// The searches as they were written, the latest first.
    searched: &'m [(String, String)],
    search_features: Vec<Vec<(Feature, Number, f32)>>,
    /// The product of two word vectors times this factor is a cosine.
    word_unit: f32,
}

struct OwnPost {
    key: PostKey,
    position: u32,
    is_liked: bool,
    at: Timestamp,
}

impl<'m> OwnActs<'m> {
    /// Only the acts on posts by which `personal` is ranked. For the searches and opened newsfeeds, see
    /// [`searched_and_opened`](crate::profile::history::searched_and_opened).
    pub(crate) fn new(
        moment: &'m ScoringContext<'m>,
        personal: &Personal,
        acts: &Acts,
        (searched, opened): (&'m [(String, String)], &[String]),
        config: &Interest,
    ) -> Self {
        let index = moment.index;
        let own = |(key, at): &(PostKey, Timestamp), is_liked| {
            let position = index.position(*key).filter(|_| !personal.hidden.contains(key))?;
            Some(OwnPost { key: *key, position, is_liked, at: *at })
        };
        let liked = acts.liked.iter().filter_map(|act| own(act, true));
        let mut posts: Vec<OwnPost> =
            liked.chain(acts.viewed.iter().filter_map(|act| own(act, false))).collect();
        // Of a view and a like of a post, the like stays.
        posts.sort_unstable_by_key(|own| (own.key, !own.is_liked));
        posts.dedup_by_key(|own| own.key);
        posts.sort_unstable_by_key(|own| Reverse((own.at, own.key)));
        let mut of_posts: Vec<_> =
            posts.iter().flat_map(|own| &index.item(own.position).about.topic).collect();
        of_posts.sort_unstable();
        of_posts.dedup();
        let of_posts = of_posts.into_iter().map(|name| feature(Kind::Topic, name));
        let opened = |kind| opened.iter().map(move |name| feature(kind, name));
        Self {
            moment,
            topics: sorted(of_posts.chain(opened(Kind::Topic)).collect()),
            opened_tags: sorted(opened(Kind::Tag).collect()),
            searched,
            search_features: searched.iter().map(|(_, words)| index.features().searched(words)).collect(),
            word_unit: unit_of(Kind::Word, config),
            by_feature: OnceCell::new(),
            posts,
        }
    }

    /// `None` if no act of the member can be named.
    pub(crate) fn sentence(&self, signal: Signal, position: u32) -> Option<String> {
        let about = &self.moment.index.item(position).about;
        let (post, search) = (|| self.post(signal, position), |kinds| self.search(kinds, position));
        match signal {
            Signal::Topic => read(&about.topic, Kind::Topic, &self.topics).or_else(|| search(&[Kind::Topic])),
            Signal::Tag => post()
                .or_else(|| search(&[Kind::Tag]))
                .or_else(|| read(&about.tag, Kind::Tag, &self.opened_tags)),
            Signal::Word => post().or_else(|| search(&[Kind::Word])),
            Signal::Meaning => post().or_else(|| search(&Kind::ALL)),
            Signal::Near | Signal::CoVisits => post(),
            Signal::Novel | Signal::Recent | Signal::Age | Signal::Popular => None,
        }
    }

    /// Names the own post nearest to the one at a position; `None` if none is like it. Of equally near posts, a liked one goes
    /// first, then the latest.
    fn post(&self, signal: Signal, position: u32) -> Option<String> {
        let key = self.moment.index.key(position);
        let mut nearest: Option<(f32, &OwnPost)> = None;
        let similarities = self.similarities(signal, position);
        // The member may have viewed the post after the page was ranked.
        let others = self.posts.iter().zip(similarities).filter(|(own, _)| own.key != key);
        for (own, similarity) in others {
            let is_nearer = |(most, other): (f32, &OwnPost)| {
                similarity > most || (similarity >= most && own.is_liked && !other.is_liked)
            };
            if similarity > 0.0 && nearest.is_none_or(is_nearer) {
                nearest = Some((similarity, own));
            }
        }
        let (_, own) = nearest?;
        let verb = if own.is_liked { "liked" } else { "viewed" };
        Some(format!("because you {verb} “{}”", named(&self.moment.index.item(own.position).post().title)))
    }

    /// By own post. Similarities can only be compared within a signal.
    fn similarities(&self, signal: Signal, position: u32) -> Vec<f32> {
        let index = self.moment.index;
        let mut all = vec![0.0; self.posts.len()];
        match signal {
            Signal::Tag => self.add_products(Kind::Tag, position, &mut all),
            Signal::Word | Signal::Near => self.add_products(Kind::Word, position, &mut all),
            Signal::CoVisits => {
                let key = index.key(position);
                for (similarity, own) in all.iter_mut().zip(&self.posts) {
                    let mut similar = self.moment.others.similar(own.key).iter();
                    *similarity = similar.find(|(other, _)| *other == key).map_or(0.0, |(_, found)| *found);
                }
            }
            Signal::Meaning
            | Signal::Topic
            | Signal::Novel
            | Signal::Recent
            | Signal::Age
            | Signal::Popular => {}
        }
        if signal == Signal::Near {
            all.truncate(near::OWN_MAX);
            for words in &mut all {
                *words *= self.word_unit;
            }
        }
        if let (Signal::Meaning | Signal::Near, Some(meanings)) = (signal, index.meanings()) {
            for (similarity, own) in all.iter_mut().zip(&self.posts) {
                let meaning = meanings.cosine(position, own.position).max(0.0);
                *similarity =
                    if signal == Signal::Near { f32::midpoint(*similarity, meaning) } else { meaning };
            }
        }
        all
    }

    fn add_products(&self, kind: Kind, position: u32, sums: &mut [f32]) {
        let features = self.moment.index.features();
        let of_posts = || Postings::new(features, self.posts.iter().map(|own| own.position));
        self.by_feature.get_or_init(of_posts).add_products(features.of_kind(position, kind), sums);
    }

    /// Names the search with most of the features of these kinds that the post at a position has; `None` if no search has any.
    fn search(&self, kinds: &[Kind], position: u32) -> Option<String> {
        let features = self.moment.index.features();
        let of_post = kinds.iter().flat_map(|kind| features.of_kind(position, *kind));
        let of_post: OwnMap<Number, f32> = of_post.copied().collect();
        let mut best: Option<(f32, &str)> = None;
        for ((search, _), words) in self.searched.iter().zip(&self.search_features) {
            let product: f32 =
                words.iter().filter_map(|(_, number, weight)| Some(weight * of_post.get(number)?)).sum();
            if product > best.map_or(0.0, |(most, _)| most) {
                best = Some((product, search));
            }
        }
        best.map(|(_, search)| format!("because you searched for “{}”", named(search)))
    }
}

/// Names the first of the topics or tags that the member has read; `None` if there is none. `known` are sorted.
fn read(names: &[impl AsRef<str>], kind: Kind, known: &[Feature]) -> Option<String> {
    let is_known = |name: &&str| known.binary_search(&feature(kind, name)).is_ok();
    let name = names.iter().map(AsRef::as_ref).find(is_known)?;
    Some(format!("more in {}, which you read", named(name)))
}

fn sorted(mut features: Vec<Feature>) -> Vec<Feature> {
    features.sort_unstable();
    features.dedup();
    features
}
