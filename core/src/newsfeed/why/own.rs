//! The acts of a member that sentences name.

use std::cmp::Reverse;

use super::super::features::{Feature, Kind, Number, feature};
use super::super::interest::{numbered, unit, unit_of};
use super::super::item::Item;
use super::super::near;
use super::super::scoring_context::ScoringContext;
use super::super::signals::Signal;
use super::named;
use crate::base::clock::Timestamp;
use crate::base::config::Interest;
use crate::profile::SearchRecord;
use crate::profile::history::Acts;
use crate::record::id::PostKey;

/// The acts of a member, as sentences name them.
pub(super) struct OwnActs<'m> {
    moment: &'m ScoringContext<'m>,
    /// The posts that the member liked or viewed and has not hidden, the latest act first.
    posts: Vec<OwnPost>,
    /// The topics of these posts and the names of opened feeds as topics, sorted.
    topics: Vec<Feature>,
    /// The names of opened feeds as tags, sorted.
    opened_tags: Vec<Feature>,
    /// The searches as they were written, with their words, tags and topics, the latest first.
    searched: Vec<(&'m str, Vec<(Number, f32)>)>,
    /// The factor from a product of word vectors to a cosine.
    word_unit: f32,
    /// The vector of the post in question, by the numbers of features; 0 between two questions.
    vector: Vec<f32>,
}

/// A post that the member liked or viewed.
struct OwnPost {
    key: PostKey,
    position: u32,
    is_liked: bool,
    at: Timestamp,
}

impl<'m> OwnActs<'m> {
    /// Gathers the acts of a member. `searched` has the searches of `acts` as they were written, in the same order.
    pub(super) fn new(
        moment: &'m ScoringContext<'m>,
        acts: &Acts,
        searched: &'m [SearchRecord],
        config: &Interest,
    ) -> Self {
        let (index, features) = (moment.index, moment.index.features());
        let is_hidden = |key: &PostKey| acts.hidden.iter().any(|(hidden, _)| hidden == key);
        let own = |(key, at): &(PostKey, Timestamp), is_liked| {
            let position = index.position(*key).filter(|_| !is_hidden(key))?;
            Some(OwnPost { key: *key, position, is_liked, at: *at })
        };
        let liked = acts.liked.iter().filter_map(|act| own(act, true));
        let mut posts: Vec<OwnPost> =
            liked.chain(acts.viewed.iter().filter_map(|act| own(act, false))).collect();
        // Of a view and a like of a post, the like stays.
        posts.sort_by_key(|own| (own.key, !own.is_liked));
        posts.dedup_by_key(|own| own.key);
        posts.sort_by_key(|own| Reverse((own.at, own.key)));
        let opened = |kind| acts.opened.iter().map(move |(name, _)| feature(kind, name));
        let of_posts = posts.iter().flat_map(|own| &index.item(own.position).about.topic);
        let topics = of_posts.map(|name| feature(Kind::Topic, name)).chain(opened(Kind::Topic));
        let words_of = |search: &SearchRecord| -> Vec<(Number, f32)> {
            let words = search.tokenizer_split.iter().chain(search.similarity_split.iter());
            let named: Vec<Feature> =
                words.flat_map(|word| Kind::ALL.map(|kind| feature(kind, word))).collect();
            numbered(features, &unit(features, &named))
        };
        Self {
            moment,
            topics: sorted(topics.collect()),
            opened_tags: sorted(opened(Kind::Tag).collect()),
            searched: searched.iter().map(|search| (search.original.as_str(), words_of(search))).collect(),
            word_unit: unit_of(Kind::Word, config),
            vector: vec![0.0; features.len()],
            posts,
        }
    }

    /// Returns the sentence of a signal that depends on the member's acts, about the post at a position; `None` if no act
    /// of the member can be named.
    pub(super) fn sentence(&mut self, signal: Signal, position: u32) -> Option<String> {
        let index = self.moment.index;
        for (number, weight) in index.features().vector(position) {
            self.vector[*number as usize] += weight;
        }
        let item = index.item(position);
        let sentence = match signal {
            Signal::Topic => {
                read(&item.about.topic, Kind::Topic, &self.topics).or_else(|| self.search(&[Kind::Topic]))
            }
            Signal::Tag => {
                let of_posts = self.post(signal, position).or_else(|| self.search(&[Kind::Tag]));
                of_posts.or_else(|| read(&item.about.tag, Kind::Tag, &self.opened_tags))
            }
            Signal::Word => self.post(signal, position).or_else(|| self.search(&[Kind::Word])),
            Signal::Meaning => self.post(signal, position).or_else(|| self.search(&Kind::ALL)),
            Signal::Near | Signal::CoVisits => self.post(signal, position),
            Signal::Novel | Signal::Recent | Signal::Fresh | Signal::Popular => None,
        };
        for (number, _) in index.features().vector(position) {
            self.vector[*number as usize] = 0.0;
        }
        sentence
    }

    /// Returns the sentence that names the own post nearest to the one at a position; `None` if none is like it. Of
    /// equally near ones, a liked one goes first, then the latest.
    fn post(&self, signal: Signal, position: u32) -> Option<String> {
        let key = self.moment.index.key(position);
        let mut nearest: Option<(f32, &OwnPost)> = None;
        let latest = if signal == Signal::Near { near::OWN_MAX } else { self.posts.len() };
        // The member may have viewed the post after the page was ranked.
        for own in self.posts.iter().take(latest).filter(|own| own.key != key) {
            let similarity = self.similarity(signal, own, position);
            let is_nearer = |(most, other): (f32, &OwnPost)| {
                similarity > most || (similarity >= most && own.is_liked && !other.is_liked)
            };
            if similarity > 0.0 && nearest.is_none_or(is_nearer) {
                nearest = Some((similarity, own));
            }
        }
        let (_, own) = nearest?;
        let verb = if own.is_liked { "liked" } else { "viewed" };
        Some(format!("because you {verb} “{}”", named(&title(self.moment.index.item(own.position)))))
    }

    /// Returns the similarity of an own post to the one at a position. It can only be compared within a signal.
    fn similarity(&self, signal: Signal, own: &OwnPost, position: u32) -> f32 {
        let meaning = || {
            let meanings = self.moment.index.meanings();
            meanings.map(|meanings| meanings.cosine(position, own.position).max(0.0))
        };
        match signal {
            Signal::Tag => self.product(Kind::Tag, own.position),
            Signal::Word => self.product(Kind::Word, own.position),
            Signal::Meaning => meaning().unwrap_or_default(),
            Signal::Near => {
                let words = self.word_unit * self.product(Kind::Word, own.position);
                meaning().map_or(words, |meaning| f32::midpoint(words, meaning))
            }
            Signal::CoVisits => {
                let (key, similar) = (self.moment.index.key(position), self.moment.others.similar(own.key));
                similar.iter().find(|(other, _)| *other == key).map_or(0.0, |(_, similarity)| *similarity)
            }
            Signal::Topic | Signal::Novel | Signal::Recent | Signal::Fresh | Signal::Popular => 0.0,
        }
    }

    /// Returns the product of the features of a kind of the post in question and of the one at a position.
    fn product(&self, kind: Kind, position: u32) -> f32 {
        let features = self.moment.index.features();
        let of_kind = features.numbers(kind);
        let vector = features.vector(position).iter();
        let of_kind = vector.filter(|(number, _)| of_kind.contains(&(*number as usize)));
        of_kind.map(|(number, weight)| weight * self.vector[*number as usize]).sum()
    }

    /// Returns the sentence that names the search with most of the features of these kinds that the post in question has;
    /// `None` if no search has any.
    fn search(&self, kinds: &[Kind]) -> Option<String> {
        let features = self.moment.index.features();
        let is_of_kinds =
            |number: Number| kinds.iter().any(|kind| features.numbers(*kind).contains(&(number as usize)));
        let mut best: Option<(f32, &str)> = None;
        for (search, words) in &self.searched {
            let words = words.iter().filter(|(number, _)| is_of_kinds(*number));
            let product: f32 = words.map(|(number, weight)| weight * self.vector[*number as usize]).sum();
            if product > best.map_or(0.0, |(most, _)| most) {
                best = Some((product, search));
            }
        }
        best.map(|(_, search)| format!("because you searched for “{}”", named(search)))
    }
}

/// Returns the sentence that names the first of the topics or tags of a post that the member has read; `None` if there is
/// none. `known` are those that the member has read, sorted.
fn read(names: &[impl AsRef<str>], kind: Kind, known: &[Feature]) -> Option<String> {
    let is_known = |name: &&str| known.binary_search(&feature(kind, name)).is_ok();
    let name = names.iter().map(AsRef::as_ref).find(is_known)?;
    Some(format!("more in {}, which you read", named(name)))
}

fn title(item: &Item) -> String {
    item.post().title
}

fn sorted(mut features: Vec<Feature>) -> Vec<Feature> {
    features.sort_unstable();
    features.dedup();
    features
}
