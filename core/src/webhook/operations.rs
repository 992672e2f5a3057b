use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Deliveries, EVENT_RULE, Event, LIST_MAX, NAME, NAME_RULE, NAME_TAKEN, NO_EVENT, Queued, ROTATION_MS,
    TOO_MANY, WEBHOOKS_MAX, WebhookSecret, Webhooks, send, sql,
};
use crate::account::{Admin, Call, Identity, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::base::text;
use crate::notice;
use crate::record::error::{Error, Problem, Result};
use crate::record::id::ObjectId;
use crate::record::operation::{Access, Failure, Operation, Spec};
use crate::record::outgoing;
use crate::record::scope::Scope;
use crate::store::{Isolation, StoreError, Topic, Tx};
use crate::webhook::outbox::{self, DELIVERIES, PING};

const GROUP: &str = "admin";
const ADMINS: Access = Access::Admins(Scope::Webhooks);

pub(super) const URL_RULE: Problem = Problem::invalid(
    "url",
    "url is an address that begins with https://, of at most 1,000 characters, without a user and a fragment",
);
const PRIVATE: Problem = Problem::invalid(
    "url",
    "url is a private address, or begins with http://: only the setting private-addresses allows that",
);
const OWN: Problem = Problem::invalid(
    "url",
    "url is an address of this server, but a webhook tells other systems: only the setting private-addresses allows that",
);

/// List webhooks
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {}

impl Transaction for List {
    type By = Admin<'static>;
    type Answer = Webhooks;
    const SPEC: Spec = Spec::get(GROUP, "/get_webhooks", ADMINS);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<Webhooks> {
        Ok(Webhooks { webhooks: sql::list(tx, admin)? })
    }
}

/// Add a webhook
///
/// The server sends it the events that happen from then on. The secret, with which the receiver verifies signatures, is not shown
/// again.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = WebhookFields)]
pub struct Add {
    /// What the webhook is for, 1 to 50 characters on one line. No two webhooks have the same name.
    #[schema(min_length = 1, max_length = 50, examples("chat"))]
    pub name: String,
    /// The address of the receiver, which begins with `https://`.
    #[schema(max_length = 1_000, examples("https://chat.example.org/hooks/news"))]
    pub url: String,
    /// What the receiver is told about, at least one: `notice.published`, `feedback.created` or `source.failing`.
    #[schema(value_type = Vec<Event>, min_items = 1, max_items = 100)]
    pub events: Vec<String>,
}

impl Operation for Add {
    type Answer = WebhookSecret;
    const SPEC: Spec = Spec::post(GROUP, "/add_webhook", ADMINS);

    fn run(self, call: &Call<'_>) -> Result<WebhookSecret> {
        let (identity, now) = (call.authority(), call.now());
        let name = text::name(self.name.trim(), NAME).ok_or(NAME_RULE);
        let url = parse_url(&self.url, call.tidings().config().private_addresses);
        let event = |name: &String| name.parse().map_err(|_| EVENT_RULE);
        let events = self.events.iter().map(event).collect::<Result<BTreeSet<Event>, Problem>>();
        let (id, secret) = (ObjectId::new(call.tidings().clock()).to_string(), send::secret());
        let answer = WebhookSecret { id: id.clone(), secret: secret.clone() };
        call.store().write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx)?;
            // A caller who may not add webhooks learns nothing about them.
            let rule = |rule: &Problem| Error::BadRequest(*rule);
            let events = events.as_ref().map_err(rule)?;
            let name = name.as_ref().map_err(rule)?;
            let url = url.as_ref().map_err(rule)?;
            if events.is_empty() {
                return Err(Error::BadRequest(NO_EVENT));
            }
            if sql::count(tx, &admin)? >= WEBHOOKS_MAX {
                return Err(Error::BadRequest(TOO_MANY));
            }
            // What other webhooks have not been told about yet; this one is not told about it.
            notice::announce(tx, now)?;
            notice::mark_announced(tx, now)?;
            let names = events.iter().map(|event| event.name()).collect::<Vec<_>>().join(" ");
            match sql::insert(tx, &admin, &id, name, url, &names, &secret, now) {
                Err(StoreError::Duplicate) => return Err(Error::BadRequest(NAME_TAKEN)),
                inserted => inserted?,
            }
            tx.touch(Topic::Webhooks);
            let after = format!("{} {names}", outgoing::origin(url));
            Ok(admin.record(tx, Entry::new(Action::WebhookAdd).on(name).after(&after))?)
        })?;
        Ok(answer)
    }
}

/// Delete a webhook
///
/// Deletes its pending deliveries, too.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Remove {
    /// The id of the webhook, or its name
    #[schema(min_length = 1, max_length = 1_000, examples("chat"))]
    pub webhook_obi: String,
}

impl Transaction for Remove {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/remove_webhook/{webhook_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let (id, name) = sql::find(tx, admin, &self.webhook_obi)?.ok_or(Error::NotFound)?;
        sql::remove(tx, admin, &id)?;
        tx.touch(Topic::Webhooks);
        Ok(admin.record(tx, Entry::new(Action::WebhookRemove).on(&name))?)
    }
}

/// Rotate a webhook's secret
///
/// The previous secret also signs for 24 hours.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Rotate {
    /// The id of the webhook, or its name
    #[schema(min_length = 1, max_length = 1_000, examples("chat"))]
    pub webhook_obi: String,
}

impl Transaction for Rotate {
    type By = Admin<'static>;
    type Answer = WebhookSecret;
    const SPEC: Spec =
        Spec::get(GROUP, "/rotate_webhook/{webhook_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<WebhookSecret> {
        let secret = send::secret();
        let (id, name) = sql::find(tx, admin, &self.webhook_obi)?.ok_or(Error::NotFound)?;
        sql::rotate(tx, admin, &id, &secret, identity.now() + ROTATION_MS)?;
        admin.record(tx, Entry::new(Action::WebhookRotate).on(&name))?;
        Ok(WebhookSecret { id, secret })
    }
}

/// Queue a `ping` delivery
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Test {
    /// The id of the webhook, or its name
    #[schema(min_length = 1, max_length = 1_000, examples("chat"))]
    pub webhook_obi: String,
}

impl Transaction for Test {
    type By = Admin<'static>;
    type Answer = Queued;
    const SPEC: Spec =
        Spec::get(GROUP, "/test_webhook/{webhook_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<Queued> {
        #[derive(Serialize)]
        struct Data<'a> {
            webhook: &'a str,
        }
        let now = identity.now();
        let subject = ObjectId::at(identity.now()).to_string();
        let (id, name) = sql::find(tx, admin, &self.webhook_obi)?.ok_or(Error::NotFound)?;
        let body = outbox::body(PING, now, &Data { webhook: &name })?;
        let id = outbox::insert(tx, &id, PING, &subject, Some(&body), now)?;
        admin.record(tx, Entry::new(Action::WebhookTest).on(&name))?;
        Ok(Queued { id })
    }
}

/// List pending and failed deliveries
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListDeliveries {}

impl Transaction for ListDeliveries {
    type By = Admin<'static>;
    type Answer = Deliveries;
    const SPEC: Spec = Spec::get(GROUP, "/get_webhook_deliveries", ADMINS);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<Deliveries> {
        Ok(Deliveries { deliveries: sql::deliveries(tx, admin, LIST_MAX)? })
    }
}

/// Retry a webhook delivery
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Retry {
    /// The id of the delivery
    #[schema(value_type = ObjectId)]
    pub delivery_obi: String,
}

impl Transaction for Retry {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/retry_webhook_delivery/{delivery_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<()> {
        if !DELIVERIES.retry(tx, &self.delivery_obi, identity.now())? {
            return Err(Error::NotFound);
        }
        tx.touch(Topic::Webhooks);
        Ok(admin.record(tx, Entry::new(Action::WebhookRetry).on(&self.delivery_obi))?)
    }
}

fn parse_url(text: &str, allows_private: bool) -> Result<String, Problem> {
    let url = outgoing::parse(text).filter(|url| url.fragment().is_none()).ok_or(URL_RULE)?;
    if allows_private {
        Ok(url.into())
    } else if url.scheme() != "https" || !outgoing::has_public_host(&url) {
        Err(PRIVATE)
    } else if outgoing::has_own_host(&url) {
        Err(OWN)
    } else {
        Ok(url.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::outgoing::origin;

    #[test]
    fn a_private_url_needs_the_setting_in_any_spelling() {
        let texts = "http://example.org/hook https://127.0.0.1/ https://2130706433/ https://0x7f.1/ https://0177.0.0.1/ \
            https://[::1]/ https://[::ffff:7f00:1]/ https://localhost:8443/ https://LOCALHOST/ \
            https://a.localhost/";
        for private in texts.split(' ') {
            assert_eq!(parse_url(private, false), Err(PRIVATE), "{private}");
            assert!(parse_url(private, true).is_ok(), "{private}");
        }
        let long = format!("https://example.org/{}", "a".repeat(1_000));
        let texts = "|example.org|ftp://example.org/|https://example.org/a\nb|https://example.org/a b|file:///etc/passwd\
            |https://|https://ann:pw@example.org/|https://ann@example.org/|https://example.org/#part";
        for wrong in texts.split('|').chain([long.as_str()]) {
            assert_eq!(parse_url(wrong, true), Err(URL_RULE), "{wrong}");
        }
        assert_eq!(parse_url(" https://Example.org ", false).as_deref(), Ok("https://example.org/"));
        assert_eq!(origin("https://example.org/hooks/T0/secret?key=1"), "https://example.org");
    }
}
