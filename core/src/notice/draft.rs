//! Drafts of notices: the input of the operations that insert and change them, and the rule of each field.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Audience, POST, Pin, Placement, TITLE, Visibility};

use crate::base::clock::Timestamp;
use crate::base::text;
use crate::post::NAME;
use crate::record::error::{BrokenRule, Code, Problem, Result};
use crate::record::schema::Switch;

const TITLE_RULE: Problem = Problem::invalid("title", "title is one line of 1 to 200 characters");
const POST_RULE: Problem = Problem::invalid(
    "post",
    "post has 1 to 20,000 characters and no control characters except tabs and line breaks",
);
const TITLE_MISSING: Problem = Problem::missing("title", "title and post must be given");
const POST_MISSING: Problem = Problem::missing("post", "title and post must be given");
const FROM_RULE: Problem = Problem::invalid(
    "visible_from",
    "visible_from is written like 2026-11-20T08:36:00Z, or \"\" for no limit",
);
const UNTIL_RULE: Problem = Problem::invalid(
    "visible_until",
    "visible_until is written like 2026-11-20T08:36:00Z, or \"\" for no limit",
);
const ORDER_RULE: Problem = Problem::invalid("visible_until", "visible_until is after visible_from");
const PINNED_RULE: Problem = Problem::invalid("pinned", "pinned is 0 or 1");
const TOPIC_RULE: Problem =
    Problem::invalid("topic", "topic is one line of 1 to 100 characters, or \"\" for none");
const MEMBERS_ONLY_RULE: Problem = Problem::invalid("members_only", "members_only is 0 or 1");
const NOTHING: Problem = Problem::new(Code::NothingGiven, "no field of the notice is given");

/// Fields of a notice. Each may be missing or invalid: the operations check them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Draft {
    /// The title, 1 to 200 characters on one line.
    #[schema(required = true, min_length = 1, max_length = 200, examples("Closed on Monday"))]
    pub title: Option<String>,
    /// The text, 1 to 20,000 characters.
    #[schema(
        required = true,
        min_length = 1,
        max_length = 20_000,
        examples("The library opens again on Tuesday.")
    )]
    pub post: Option<String>,
    /// 1 shown, 0 hidden; a new notice is shown by default.
    #[schema(required = true, value_type = Option<Switch>)]
    pub activation: Option<i64>,
    /// The time from which the notice is visible, in RFC 3339 format; `""` for no limit.
    #[schema(required = true, max_length = 100, examples("2026-11-20T08:36:00Z"))]
    pub visible_from: Option<String>,
    /// The time from which the notice is no longer visible, after `visible_from`; `""` for no limit.
    #[schema(required = true, max_length = 100, examples("2026-11-20T08:36:00Z"))]
    pub visible_until: Option<String>,
    /// 1 to list the notice before the others; a new notice is not pinned by default.
    #[schema(required = true, value_type = Option<Switch>)]
    pub pinned: Option<i64>,
    /// The topic on whose page the notice is, 1 to 100 characters; `""` for the general page.
    #[schema(required = true, max_length = 100, examples("science"))]
    pub topic: Option<String>,
    /// 1 to show the notice to members only; a new notice is for all callers by default.
    #[schema(required = true, value_type = Option<Switch>)]
    pub members_only: Option<i64>,
}

/// The new value of a field that may be empty.
#[derive(Clone, Debug)]
struct Set<T>(Option<T>);

#[derive(Clone, Debug)]
pub(super) struct Change {
    title: Option<String>,
    post: Option<String>,
    activation: Option<Visibility>,
    visible_from: Option<Set<Timestamp>>,
    visible_until: Option<Set<Timestamp>>,
    pinned: Option<Pin>,
    topic: Option<Set<Arc<str>>>,
    members_only: Option<Audience>,
}

pub(super) struct Content {
    pub(super) title: String,
    pub(super) post: String,
    pub(super) activation: Visibility,
    pub(super) placement: Placement,
}

impl Content {
    /// One line, for the audit trail.
    pub(super) fn summary(&self) -> String {
        let Self { title, post, activation, placement } = self;
        let Placement { visible_from, visible_until, pinned, topic, members_only } = placement;
        let state = if *activation == Visibility::Shown { "shown" } else { "hidden" };
        let mut facts = vec![state.to_owned(), format!("{} characters", post.chars().count())];
        facts.extend(visible_from.map(|from| format!("from {from}")));
        facts.extend(visible_until.map(|until| format!("until {until}")));
        facts.extend((*pinned == Pin::Pinned).then(|| "pinned".to_owned()));
        facts.extend(topic.as_ref().map(|topic| format!("on {topic}")));
        facts.extend((*members_only == Audience::Members).then(|| "for members".to_owned()));
        format!("{title} ({})", facts.join(", "))
    }
}

impl Change {
    pub(super) fn parse(draft: &Draft) -> Result<Self, BrokenRule> {
        let change = Self {
            activation: checked(
                draft.activation.as_ref(),
                |n| Visibility::from_activation(*n),
                crate::record::activation::RULE,
            )?,
            title: checked(draft.title.as_ref(), |t| text::line(t, TITLE), TITLE_RULE)?,
            post: checked(draft.post.as_ref(), |t| text::block(t, POST), POST_RULE)?,
            visible_from: checked(draft.visible_from.as_ref(), |t| set(t, Timestamp::parse), FROM_RULE)?,
            visible_until: checked(draft.visible_until.as_ref(), |t| set(t, Timestamp::parse), UNTIL_RULE)?,
            pinned: checked(draft.pinned.as_ref(), |n| Pin::from_activation(*n), PINNED_RULE)?,
            topic: checked(draft.topic.as_ref(), |t| set(t, topic), TOPIC_RULE)?,
            members_only: checked(
                draft.members_only.as_ref(),
                |n| Audience::from_activation(*n),
                MEMBERS_ONLY_RULE,
            )?,
        };
        // A draft that breaks this rule by itself is refused before anything is read.
        if let (Some(Set(Some(from))), Some(Set(Some(until)))) = (&change.visible_from, &change.visible_until)
        {
            check_order(*from, *until)?;
        }
        Ok(change)
    }

    pub(super) fn require_any(&self) -> Result<(), BrokenRule> {
        let Self { title, post, activation, visible_from, visible_until, pinned, topic, members_only } = self;
        let is_empty = [title, post].into_iter().all(Option::is_none)
            && [visible_from, visible_until].into_iter().all(Option::is_none)
            && activation.is_none()
            && pinned.is_none()
            && topic.is_none()
            && members_only.is_none();
        if is_empty { Err(BrokenRule(NOTHING)) } else { Ok(()) }
    }

    pub(super) fn of_new(&self) -> Result<Content, BrokenRule> {
        let new = Content {
            title: self.title.clone().ok_or(BrokenRule(TITLE_MISSING))?,
            post: self.post.clone().ok_or(BrokenRule(POST_MISSING))?,
            activation: Visibility::Shown,
            placement: Placement::default(),
        };
        self.onto(new)
    }

    pub(super) fn onto(&self, old: Content) -> Result<Content, BrokenRule> {
        let Content { title, post, activation, placement: before } = old;
        let placement = Placement {
            visible_from: self.visible_from.as_ref().map_or(before.visible_from, |set| set.0),
            visible_until: self.visible_until.as_ref().map_or(before.visible_until, |set| set.0),
            pinned: self.pinned.unwrap_or(before.pinned),
            topic: self.topic.clone().map_or(before.topic, |set| set.0),
            members_only: self.members_only.unwrap_or(before.members_only),
        };
        if let (Some(from), Some(until)) = (placement.visible_from, placement.visible_until) {
            check_order(from, until)?;
        }
        Ok(Content {
            title: self.title.clone().unwrap_or(title),
            post: self.post.clone().unwrap_or(post),
            activation: self.activation.unwrap_or(activation),
            placement,
        })
    }
}

fn checked<F, T>(
    field: Option<&F>,
    check: impl FnOnce(&F) -> Option<T>,
    rule: Problem,
) -> Result<Option<T>, BrokenRule> {
    field.map(|field| check(field).ok_or(BrokenRule(rule))).transpose()
}

/// `Set(None)` for an empty text; `None` if `parse` fails.
fn set<T>(text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<Set<T>> {
    if text.is_empty() { Some(Set(None)) } else { parse(text).map(|value| Set(Some(value))) }
}

/// Has the same form as the topics of posts.
pub(super) fn topic(name: &str) -> Option<Arc<str>> {
    text::name(name.trim(), NAME).map(Into::into)
}

fn check_order(from: Timestamp, until: Timestamp) -> Result<(), BrokenRule> {
    if from < until { Ok(()) } else { Err(BrokenRule(ORDER_RULE)) }
}
