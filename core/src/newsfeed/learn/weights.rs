//! The weights in use: those learned from the store's acts, or the settings'.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::recent;
use super::{LEARNED, Learned};
use crate::account::Call;
use crate::audit::trail::{Action, Entry};
use crate::base::config::Feed;
use crate::newsfeed::signal::popularity::PopularityInUse;
use crate::newsfeed::signal::{Scoring, SignalWeights, Weights};
use crate::newsfeed::stored;
use crate::record::error::{Error, Result};
use crate::record::operation::{Access, Operation, Spec, Work};
use crate::record::schema::WeightsInUse;
use crate::record::scope::Scope;
use crate::store::{Isolation, StoreError, Tx};

const GROUP: &str = "newsfeed";
const ADMINS: Access = Access::Admins(Scope::Posts);

impl Scoring {
    pub(crate) fn current(tx: &mut dyn Tx, config: &Feed) -> Result<Self, StoreError> {
        let learned = learned(tx)?.filter(|learned| config.learn && learned.is_better);
        Ok(learned.map_or_else(|| Self::of(config), |learned| Self::learned(learned.weights, config)))
    }
}

/// The weights of the recommended feed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct FeedWeights {
    /// Which of them are in use: `learned` or `settings`.
    #[schema(value_type = WeightsInUse)]
    pub in_use: Cow<'static, str>,
    /// The weights in use.
    #[schema(value_type = SignalWeights)]
    pub weights: Weights,
    /// The weights of the settings.
    #[schema(value_type = SignalWeights)]
    pub settings: Weights,
    /// What was learned from the acts of the members, whether or not it is in use; `None` if there are too few.
    pub learned: Option<Learned>,
    /// How popularity is measured.
    pub popularity: PopularityInUse,
}

/// Get the feed's weights
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetWeights {}

impl Operation for GetWeights {
    type Answer = FeedWeights;
    const SPEC: Spec = Spec::get(GROUP, "/get_feed_weights", ADMINS);

    fn run(self, call: &Call<'_>) -> Result<FeedWeights> {
        let (identity, config) = (call.authority(), &call.tidings().config().feed);
        call.store().read(|tx| {
            let _admin = identity.admin(tx)?;
            let learned = learned(tx)?;
            let in_use = match &learned {
                Some(learned) if config.learn && learned.is_better => LEARNED,
                _ => "settings",
            };
            let weights = Scoring::current(tx, config)?.weights;
            let (settings, popularity) = (Weights::of(config), PopularityInUse::read(tx, config)?);
            Ok(FeedWeights { in_use: in_use.into(), weights, settings, learned, popularity })
        })
    }
}

/// Learn the feed's weights now
///
/// Learns them from the acts of the members, which may take minutes. `overloaded` means that imports run, or that others are
/// learning: try again later.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct LearnWeights {}

impl Operation for LearnWeights {
    type Answer = FeedWeights;
    const SPEC: Spec = Spec::get(GROUP, "/learn_feed_weights", ADMINS).writes().works(Work::Long);

    fn run(self, call: &Call<'_>) -> Result<FeedWeights> {
        // Checks the authority first, because learning is slow.
        call.tidings().call(call.caller(), GetWeights {})?;
        let identity = call.authority();
        let index = call.tidings().feeds().index()?;
        let (store, config) = (call.store(), Feed { learn: true, ..call.tidings().config().feed.clone() });
        let acts = recent::acts(store, config.posts)?;
        let before = store.read(learned)?;
        let lessons = super::learn_all(store, &index, &acts, &config, before, call.now(), &|| false)?;
        store.write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx)?;
            lessons.store(tx)?;
            let result = match lessons.weights.as_ref().map(|learned| learned.is_better) {
                Some(true) => "better than the settings",
                Some(false) => "not better than the settings",
                None => "too few acts",
            };
            Ok::<_, Error>(admin.record(tx, Entry::new(Action::FeedLearn).after(result))?)
        })?;
        call.tidings().feeds().shared.update_scoring()?;
        call.tidings().call(call.caller(), GetWeights {})
    }
}

pub(crate) fn learned(tx: &mut dyn Tx) -> Result<Option<Learned>, StoreError> {
    stored::read(tx, LEARNED)
}
