//! The operations on webhooks.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Deliveries, Draft, EVENT_RULE, Queued, WebhookSecret, Webhooks};
use crate::error::{Error, Result};
use crate::id::ObjectId;
use crate::operation::{Access, Failure, Operation, Spec};
use crate::outbox::Event;
use crate::scope::Scope;
use crate::{Caller, Tidings};

const GROUP: &str = "admin";
const ADMINS: Access = Access::Admins(Scope::Webhooks);

/// Lists the webhooks, without their secrets
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {}

impl Operation for List {
    type Answer = Webhooks;
    const SPEC: Spec = Spec::get(GROUP, "/get_webhooks", ADMINS);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Webhooks> {
        super::list(tidings, caller)
    }
}

/// Adds a webhook: another system that is told about what happens from now on
///
/// The secret, with which the receiver verifies signatures, is not shown again.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = WebhookFields)]
pub struct Add {
    /// What the webhook is for, 1 to 50 characters on one line. No two webhooks have the same name.
    #[schema(min_length = 1, max_length = 50, examples("chat"))]
    pub name: String,
    /// The address of the receiver, which begins with `https://`.
    #[schema(max_length = 1_000, examples("https://chat.example.org/hooks/news"))]
    pub url: String,
    /// What the receiver is told about, at least one: `notice.published` or `feedback.created`.
    #[schema(value_type = Vec<Event>, min_items = 1, max_items = 100)]
    pub events: Vec<String>,
}

impl Add {
    fn draft(self) -> Result<Draft> {
        let Self { name, url, events } = self;
        let events = events.iter().map(|name| name.parse().map_err(|_| Error::BadRequest(EVENT_RULE)));
        Ok(Draft { events: events.collect::<Result<_>>()?, name, url })
    }
}

impl Operation for Add {
    type Answer = WebhookSecret;
    const SPEC: Spec = Spec::post(GROUP, "/add_webhook", ADMINS);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<WebhookSecret> {
        match self.draft() {
            Ok(draft) => super::add(tidings, caller, &draft),
            // A caller who may not add webhooks learns nothing about them.
            Err(error) => super::list(tidings, caller).and(Err(error)),
        }
    }
}

/// Removes a webhook and what it has not been told yet
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Remove {
    /// The id of the webhook, or its name
    #[schema(min_length = 1, max_length = 1_000, examples("chat"))]
    pub webhook_obi: String,
}

impl Operation for Remove {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/remove_webhook/{webhook_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::remove(tidings, caller, &self.webhook_obi)
    }
}

/// Gives a webhook a new secret; the one before also signs for 24 hours
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Rotate {
    /// The id of the webhook, or its name
    #[schema(min_length = 1, max_length = 1_000, examples("chat"))]
    pub webhook_obi: String,
}

impl Operation for Rotate {
    type Answer = WebhookSecret;
    const SPEC: Spec =
        Spec::get(GROUP, "/rotate_webhook/{webhook_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<WebhookSecret> {
        super::rotate(tidings, caller, &self.webhook_obi)
    }
}

/// Queues a delivery of the event `ping` to a webhook
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Test {
    /// The id of the webhook, or its name
    #[schema(min_length = 1, max_length = 1_000, examples("chat"))]
    pub webhook_obi: String,
}

impl Operation for Test {
    type Answer = Queued;
    const SPEC: Spec =
        Spec::get(GROUP, "/test_webhook/{webhook_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Queued> {
        super::test(tidings, caller, &self.webhook_obi)
    }
}

/// Lists the deliveries of webhooks that wait or were given up, latest first
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListDeliveries {}

impl Operation for ListDeliveries {
    type Answer = Deliveries;
    const SPEC: Spec = Spec::get(GROUP, "/get_webhook_deliveries", ADMINS);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<Deliveries> {
        super::deliveries(tidings, caller)
    }
}

/// Sends a delivery of a webhook again that waits or was given up
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Retry {
    /// The id of the delivery
    #[schema(value_type = ObjectId)]
    pub delivery_obi: String,
}

impl Operation for Retry {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/retry_webhook_delivery/{delivery_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<()> {
        super::retry(tidings, caller, &self.delivery_obi)
    }
}
