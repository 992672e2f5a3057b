//! Webhooks.

use serde::Serialize;
use tidings_core::webhook::{self, Deliveries, Draft, Event, Queued, WebhookSecret, Webhooks};

use crate::Service;
use crate::error::Result;

impl Service {
    /// Adds a webhook.
    ///
    /// # Errors
    /// Those of [`webhook::add`].
    pub fn add_webhook(&self, draft: &Draft) -> Result<WebhookSecret> {
        #[derive(Serialize)]
        struct Form<'a> {
            name: &'a str,
            url: &'a str,
            events: &'a [Event],
        }
        let Draft { name, url, events } = draft;
        self.run(
            |tidings, caller| webhook::add(tidings, caller, draft),
            |server| server.post(&["add_webhook"], &Form { name, url, events }),
        )
    }

    /// Returns the webhooks.
    ///
    /// # Errors
    /// Those of [`webhook::list`].
    pub fn webhooks(&self) -> Result<Webhooks> {
        self.run(webhook::list, |server| server.get(&["get_webhooks"], &[]))
    }

    /// Removes a webhook, by its name or its id.
    ///
    /// # Errors
    /// Those of [`webhook::remove`].
    pub fn remove_webhook(&self, webhook: &str) -> Result<()> {
        self.run(
            |tidings, caller| webhook::remove(tidings, caller, webhook),
            |server| server.done(&["remove_webhook", webhook]),
        )
    }

    /// Gives a webhook a new secret.
    ///
    /// # Errors
    /// Those of [`webhook::rotate`].
    pub fn rotate_webhook(&self, webhook: &str) -> Result<WebhookSecret> {
        self.run(
            |tidings, caller| webhook::rotate(tidings, caller, webhook),
            |server| server.act(&["rotate_webhook", webhook]),
        )
    }

    /// Queues a test of a webhook.
    ///
    /// # Errors
    /// Those of [`webhook::test`].
    pub fn test_webhook(&self, webhook: &str) -> Result<Queued> {
        self.run(
            |tidings, caller| webhook::test(tidings, caller, webhook),
            |server| server.act(&["test_webhook", webhook]),
        )
    }

    /// Returns the deliveries that no receiver has accepted.
    ///
    /// # Errors
    /// Those of [`webhook::deliveries`].
    pub fn webhook_deliveries(&self) -> Result<Deliveries> {
        self.run(webhook::deliveries, |server| server.get(&["get_webhook_deliveries"], &[]))
    }

    /// Sends a delivery again.
    ///
    /// # Errors
    /// Those of [`webhook::retry`].
    pub fn retry_webhook_delivery(&self, delivery: &str) -> Result<()> {
        self.run(
            |tidings, caller| webhook::retry(tidings, caller, delivery),
            |server| server.done(&["retry_webhook_delivery", delivery]),
        )
    }
}
