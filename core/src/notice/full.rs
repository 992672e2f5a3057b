use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Notice, Placement, State};

use crate::base::clock::Timestamp;
use crate::record::answer::{self, Encoded};
use crate::record::error::Result;

/// A notice with all fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FullNotice {
    /// The notice.
    #[serde(flatten)]
    pub notice: Notice,
    /// When, where and to whom it is visible.
    #[serde(flatten)]
    pub placement: Placement,
}

impl FullNotice {
    /// Returns whether the notice is visible at a time, and if not, why.
    pub fn state(&self, now: Timestamp) -> State {
        State::of(self.notice.activation, &self.placement, now)
    }
}

impl Deref for FullNotice {
    type Target = Notice;

    fn deref(&self) -> &Notice {
        &self.notice
    }
}

#[derive(Clone, Copy)]
pub(super) struct ListQuery<'a> {
    /// The topic whose notices are listed besides those without a topic.
    pub(super) topic: Option<&'a str>,
    pub(super) html: bool,
}

/// Several notices with all fields. Cheap to clone.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FullList {
    /// The notices: pinned ones first, then the newest first.
    #[schema(value_type = Vec<FullNotice>)]
    notice_list: Arc<[FullNotice]>,
    #[serde(skip)]
    answer: Arc<Encoded>,
}

impl FullList {
    pub(super) fn new(notice_list: Arc<[FullNotice]>) -> Self {
        #[derive(Serialize)]
        struct Body<'a> {
            notice_list: &'a [FullNotice],
        }
        let answer = answer::success(&Body { notice_list: &notice_list });
        Self { notice_list, answer: Arc::new(Encoded::new(answer)) }
    }

    /// Returns the notices.
    pub fn notices(&self) -> &[FullNotice] {
        &self.notice_list
    }

    /// Returns the complete answer, `{"result":"success","notice_list":[…]}`. Callers with the same rights share it until
    /// a change or a view.
    pub fn answer(&self) -> &Arc<Encoded> {
        &self.answer
    }
}

impl<'de> Deserialize<'de> for FullList {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Body {
            notice_list: Arc<[FullNotice]>,
        }
        Ok(Self::new(Body::deserialize(deserializer)?.notice_list))
    }
}
