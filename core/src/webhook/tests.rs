//! Tests of webhooks, with a receiver in memory.

use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::operations::URL_RULE;
use super::outbox::PING;
use super::queue::Queue;
use super::send::Outgoing;
use super::*;
use crate::Tidings;
use crate::account::Caller;
use crate::base::clock::SECOND_MS;
use crate::base::config::Config;
use crate::feedback;
use crate::notice;
use crate::record::error::Error;
use crate::record::jobs::{DELAYS, Failed, Transport, Worker};
use crate::store::Isolation;
use crate::store::StoreError;
use crate::testing::{self, NOW, Service, service, service_with};

/// What a receiver got: the URL, the body and the number of secrets.
type Received = (String, Value, usize);

/// Receivers that accept all requests, except those to URLs that contain `down`.
#[derive(Default)]
struct Receivers(Mutex<Vec<Received>>);

impl Transport<Outgoing> for Receivers {
    fn send(&self, outgoing: &Outgoing) -> Result<(), Failed> {
        let Outgoing { url, secrets, body, .. } = outgoing;
        if url.contains("down") {
            return Err("status 503".into());
        }
        let body = serde_json::from_str(body).unwrap();
        self.0.lock().unwrap().push((url.clone(), body, secrets.len()));
        Ok(())
    }
}

impl Receivers {
    fn take(&self) -> Vec<Received> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn texts(&self) -> Vec<String> {
        let text = |(_, body, _): Received| {
            let data = &body["data"];
            let text = data.get("title").or_else(|| data.get("post")).or_else(|| data.get("webhook"));
            format!("{} {}", body["type"].as_str().unwrap(), text.unwrap().as_str().unwrap())
        };
        self.take().into_iter().map(text).collect()
    }
}

fn worker(tidings: &Tidings) -> (Worker<Queue>, Arc<Receivers>) {
    let receivers = Arc::new(Receivers::default());
    let queue = Queue::new(Arc::<Receivers>::clone(&receivers), &Arc::default());
    (Worker::new(&tidings.0.store, tidings.clock(), queue), receivers)
}

fn hook(tidings: &Tidings, name: &str) -> WebhookSecret {
    let events = Event::ALL.iter().map(|event| event.name().to_owned()).collect();
    let url = format!("https://{name}.example.org/");
    tidings.call(&Caller::Operator, Add { name: name.into(), url, events }).unwrap()
}

fn publish(tidings: &Tidings, title: &str, change: impl FnOnce(&mut notice::Draft)) -> String {
    let mut draft = testing::notice(title);
    change(&mut draft);
    tidings.call(&Caller::Operator, notice::Insert { draft }).unwrap().id.to_string()
}

fn test(tidings: &Tidings, name: &str) -> Result<()> {
    tidings.call(&Caller::Operator, Test { webhook_obi: name.into() }).map(drop)
}

fn remove(tidings: &Tidings, name: &str) -> Result<()> {
    tidings.call(&Caller::Operator, Remove { webhook_obi: name.into() })
}

fn edit(tidings: &Tidings, id: &str, activation: i64) {
    let draft = notice::Draft { activation: Some(activation), ..notice::Draft::default() };
    tidings.call(&Caller::Operator, notice::Update { notice_obi: id.into(), draft }).unwrap();
}

fn send_feedback(service: &Service, caller: &Caller, text: &str) {
    let message = feedback::Message { kind: None, post: Some(text.into()), feedback: None };
    service.call(caller, feedback::SendGeneral { message }).unwrap();
}

fn waiting(tidings: &Tidings) -> Vec<(String, DeliveryState, i64)> {
    let listed = tidings.call(&Caller::Operator, ListDeliveries {}).unwrap().deliveries.into_iter();
    listed.map(|delivery| (delivery.event, delivery.state, delivery.attempts)).collect()
}

fn refusal<T>(result: Result<T>) -> String {
    let error = result.err().unwrap();
    if matches!(error, Error::BadRequest(_)) { error.message().into_owned() } else { error.to_string() }
}

#[test]
fn a_notice_arrives_once_as_it_is_read() {
    let service = service();
    publish(&service, "Before", |_| {});
    let (mut worker, receivers) = worker(&service);
    hook(&service, "one");
    worker.settle();
    assert_eq!(receivers.texts(), [] as [String; 0], "it happened before the webhook was added");

    let id = publish(&service, "Library", |draft| draft.topic = Some("sea".into()));
    worker.settle();
    let received = receivers.take();
    assert_eq!((received.len(), received[0].0.as_str(), received[0].2), (1, "https://one.example.org/", 1));
    assert_eq!(
        received[0].1,
        serde_json::json!({
            "type": "notice.published",
            "timestamp": NOW.to_string(),
            "data": {
                "_id": id, "title": "Library", "post": "Text", "view": 0, "date": NOW.to_string(), "activation": 1,
                "visible_from": null, "visible_until": null, "pinned": 0, "topic": "sea", "members_only": 0,
            },
        })
    );
    worker.settle();
    assert!(receivers.take().is_empty() && waiting(&service).is_empty());
}

#[test]
fn a_notice_is_announced_when_guests_see_it_for_the_first_time() {
    let service = service();
    let (mut worker, receivers) = worker(&service);
    hook(&service, "one");
    let later = (NOW + 60_000).to_string();
    publish(&service, "Later", |draft| draft.visible_from = Some(later.clone()));
    publish(&service, "Never", |draft| {
        draft.visible_from = Some(later);
        draft.visible_until = Some((NOW + 61_000).to_string());
        draft.activation = Some(0);
    });
    publish(&service, "Members", |draft| draft.members_only = Some(1));
    let hidden = publish(&service, "Hidden", |draft| draft.activation = Some(0));
    worker.settle();
    assert!(receivers.texts().is_empty());
    edit(&service, &hidden, 1);
    edit(&service, &hidden, 0);
    edit(&service, &hidden, 1);
    worker.settle();
    assert_eq!(receivers.texts(), ["notice.published Hidden"]);
    service.clock().advance(60_000);
    worker.settle();
    worker.settle();
    assert_eq!(receivers.texts(), ["notice.published Later"]);
    // Saved drafts publish too.
    let draft = notice::SaveDraft { draft: None, notice: None, fields: testing::notice("Draft") };
    let draft = service.call(&Caller::Operator, draft).unwrap();
    service.call(&Caller::Operator, notice::PublishDraft { draft_obi: draft.id.to_string() }).unwrap();
    let (mut other, received) = self::worker(&service);
    other.settle();
    assert_eq!(received.texts(), ["notice.published Draft"]);
}

#[test]
fn two_servers_send_a_delivery_once() {
    let service = service();
    let beside = service.beside();
    hook(&service, "one");
    let later = (NOW + 1_000).to_string();
    publish(&service, "Later", |draft| draft.visible_from = Some(later));
    publish(&beside, "Now", |_| {});
    let ((mut one, first), (mut two, second)) = (worker(&service), worker(&beside));
    one.pass().unwrap();
    two.pass().unwrap();
    assert!(second.take().is_empty(), "the other one has the lease");
    one.settle();
    one.release();
    service.clock().advance(5_000);
    two.settle();
    one.settle();
    let mut texts = [first.texts(), second.texts()].concat();
    texts.sort_unstable();
    assert_eq!(texts, ["notice.published Later", "notice.published Now"]);
}

#[test]
fn a_receiver_that_fails_is_tried_again_and_given_up() {
    let service = service();
    let (mut worker, receivers) = worker(&service);
    hook(&service, "down");
    hook(&service, "up");
    publish(&service, "Library", |_| {});
    worker.settle();
    assert_eq!(receivers.texts(), ["notice.published Library"]);
    for (attempts, seconds) in (1..).zip(DELAYS) {
        let listed = service.call(&Caller::Operator, ListDeliveries {}).unwrap().deliveries;
        let wait = listed[0].next_attempt.unwrap() - service.now();
        assert!(
            (seconds * SECOND_MS..=seconds * SECOND_MS * 6 / 5).contains(&wait),
            "{seconds} s: {wait} ms"
        );
        assert_eq!(waiting(&service), [("notice.published".into(), DeliveryState::Pending, attempts)]);
        assert_eq!((listed[0].webhook.as_str(), listed[0].error.as_deref()), ("down", Some("status 503")));
        service.clock().advance(wait - 1);
        worker.settle();
        assert_eq!(waiting(&service)[0].2, attempts, "it is not due yet");
        service.clock().advance(1);
        worker.settle();
    }
    assert_eq!(waiting(&service), [("notice.published".into(), DeliveryState::Dead, 8)]);
    let listed = service.call(&Caller::Operator, List {}).unwrap().webhooks;
    assert_eq!((listed[0].name.as_str(), listed[0].pending, listed[0].dead), ("down", 0, 1));
    let dead = service.call(&Caller::Operator, ListDeliveries {}).unwrap().deliveries.remove(0);
    assert_eq!(dead.next_attempt, None);
}

#[test]
fn a_delivery_that_the_database_could_not_read_is_sent_later() {
    let service = service();
    let (mut worker, receivers) = worker(&service);
    hook(&service, "one");
    send_feedback(&service, &service.member("ann"), "Too loud");
    service.run("ALTER TABLE feedback RENAME TO moved");
    assert!(worker.pass().is_err());
    service.run("ALTER TABLE moved RENAME TO feedback");
    worker.settle();
    assert_eq!(receivers.texts(), ["feedback.created Too loud"]);
}

#[test]
fn an_attempt_for_a_removed_webhook_does_not_end_a_later_delivery() {
    let service = service();
    let (mut worker, receivers) = worker(&service);
    hook(&service, "one");
    publish(&service, "First", |_| {});
    worker.pass().unwrap();
    worker.receive();
    // The row of the next delivery has the key of the removed one.
    remove(&service, "one").unwrap();
    hook(&service, "two");
    publish(&service, "Second", |_| {});
    worker.settle();
    assert_eq!(receivers.texts(), ["notice.published First", "notice.published Second"]);
}

#[test]
fn if_too_many_wait_the_oldest_is_given_up() {
    let service = service();
    let hook = hook(&service, "down");
    let insert = move |tx: &mut dyn crate::store::Tx| {
        for n in 0..outbox::PENDING_MAX + 2 {
            // The same event twice.
            for _ in 0..2 {
                outbox::insert(tx, &hook.id, PING, &n.to_string(), Some("{}"), NOW)?;
            }
        }
        Ok::<_, StoreError>(())
    };
    service.store().write(Isolation::Alone, insert).unwrap();
    let hook = &service.call(&Caller::Operator, List {}).unwrap().webhooks[0];
    assert_eq!((hook.pending, hook.dead), (outbox::PENDING_MAX, 2));
}

#[test]
fn a_replaced_secret_also_signs_for_a_day() {
    let service = service();
    let (mut worker, receivers) = worker(&service);
    let first = hook(&service, "one");
    let second = service.call(&Caller::Operator, Rotate { webhook_obi: "one".into() }).unwrap();
    assert_eq!(first.id, second.id);
    assert_ne!(*first.secret, *second.secret);
    let mut secrets = || {
        test(&service, "one").unwrap();
        worker.settle();
        receivers.take()[0].2
    };
    assert_eq!(secrets(), 2);
    service.clock().advance(DAY_MS);
    assert_eq!(secrets(), 1);
    assert!(!format!("{:?}", service.trail()).contains("whsec_"));
}

#[test]
fn feedback_of_a_removed_member_does_not_name_them() {
    let service = service();
    let (mut worker, receivers) = worker(&service);
    let ann = service.member("ann");
    hook(&service, "one");
    send_feedback(&service, &ann, "Too loud");
    service.remove_member("ann");
    worker.settle();
    assert_eq!(receivers.take()[0].1["data"]["author"], "removed");
}

#[test]
fn webhooks_have_rules() {
    let service = service();
    let draft = |name: &str, url: &str, events: &[Event]| {
        let events = events.iter().map(|event| event.name().to_owned()).collect();
        Add { name: name.into(), url: url.into(), events }
    };
    let added = |draft: Add| service.call(&Caller::Operator, draft);
    let (url, all) = ("https://example.org/", Event::ALL);
    assert_eq!(refusal(added(draft("", url, all))), NAME_RULE.message());
    assert_eq!(refusal(added(draft("one", "nowhere", all))), URL_RULE.message());
    assert!(refusal(added(draft("one", "http://example.org/", all))).contains("private-addresses"));
    assert_eq!(refusal(added(draft("one", url, &[]))), NO_EVENT.message());
    for n in 0..WEBHOOKS_MAX {
        added(draft(&format!("hook {n}"), url, all)).unwrap();
        assert!(n > 0 || refusal(added(draft("hook 0", url, all))).contains("another webhook"));
    }
    assert_eq!(refusal(added(draft("one more", url, all))), TOO_MANY.message());
    remove(&service, "hook 0").unwrap();
    let rotate = service.call(&Caller::Operator, Rotate { webhook_obi: "hook 0".into() });
    for refused in [remove(&service, "hook 0"), rotate.map(drop), test(&service, "hook 0")] {
        assert_eq!(refusal(refused), "Not found");
    }
    let allowed = service_with(Config { private_addresses: true, ..Config::default() });
    allowed.call(&Caller::Operator, draft("one", "http://10.0.0.1/", all)).unwrap();
}

#[test]
fn a_change_that_fails_announces_nothing() {
    let service = service();
    let (mut worker, receivers) = worker(&service);
    hook(&service, "one");
    let bad = notice::Draft { title: Some("T".into()), ..notice::Draft::default() };
    assert!(service.call(&Caller::Operator, notice::Insert { draft: bad }).is_err());
    let id = publish(&service, "Hidden", |draft| draft.activation = Some(0));
    let bad = notice::Draft {
        activation: Some(1),
        visible_from: Some(NOW.to_string()),
        visible_until: Some((NOW - 1).to_string()),
        ..notice::Draft::default()
    };
    assert!(service.call(&Caller::Operator, notice::Update { notice_obi: id, draft: bad }).is_err());
    worker.settle();
    assert!(receivers.take().is_empty());
}
