//! The operations on newsfeeds and on the weights of the recommended one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{FeedWeights, SignalWeights};
use crate::error::Result;
use crate::operation::{Access, Operation, Spec, Work};
use crate::scope::Scope;
use crate::{Caller, Tidings};

const GROUP: &str = "newsfeed";
const ADMINS: Access = Access::Admins(Scope::Posts);

/// Returns the weights of the signals of the recommended feed
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetWeights {}

impl Operation for GetWeights {
    type Answer = FeedWeights;
    const SPEC: Spec = Spec::get(GROUP, "/get_feed_weights", ADMINS);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<FeedWeights> {
        super::weights(tidings, caller)
    }
}

/// Learns the weights from the acts of the members now, which may take minutes
///
/// `overloaded` means that imports run, or that others are learning: try again later.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct LearnWeights {}

impl Operation for LearnWeights {
    type Answer = FeedWeights;
    const SPEC: Spec = Spec::get(GROUP, "/learn_feed_weights", ADMINS).writes().works(Work::Long);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<FeedWeights> {
        super::learn_weights(tidings, caller)
    }
}

/// Pins the weights in use, with some changes
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = WeightFields)]
pub struct PinWeights {
    /// The weights to pin, each from 0 to 1,000, by the names of their signals. The weights in use of other signals are
    /// pinned with them.
    #[schema(value_type = SignalWeights)]
    pub weights: BTreeMap<String, f64>,
}

impl Operation for PinWeights {
    type Answer = FeedWeights;
    const SPEC: Spec = Spec::post(GROUP, "/pin_feed_weights", ADMINS);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<FeedWeights> {
        let weights: Vec<_> = self.weights.into_iter().collect();
        super::pin_weights(tidings, caller, &weights)
    }
}

/// Unpins the weights, so that those learned or those of the settings are used
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UnpinWeights {}

impl Operation for UnpinWeights {
    type Answer = FeedWeights;
    const SPEC: Spec = Spec::get(GROUP, "/unpin_feed_weights", ADMINS).writes();

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<FeedWeights> {
        super::unpin_weights(tidings, caller)
    }
}
