//! Webhooks, with a receiver on this machine.

use serde_json::json;
use tidings_tests::receiver::Receiver;
use tidings_tests::{Caller, Server, TlsProxy, wait_until};

/// Starts a server that may send to this machine.
fn server() -> Server {
    Server::with(|serve| {
        serve.arg("--private-addresses");
    })
}

/// Adds a webhook for all events, and returns its secret.
fn add(boss: &Caller, name: &str, url: &str) -> String {
    let events = ["notice.published", "feedback.created"];
    let added = boss.post("/add_webhook", json!({ "name": name, "url": url, "events": events }));
    added.succeeded().text("/secret")
}

fn publish(boss: &Caller, title: &str) -> String {
    boss.post("/insert_notice", json!({ "title": title, "post": "Text" })).succeeded().text("/_id")
}

fn waiting(boss: &Caller) -> usize {
    boss.get("/get_webhook_deliveries").succeeded().list("deliveries").len()
}

#[test]
fn a_notice_and_feedback_arrive_once_and_signed() {
    let (server, receiver) = (server(), Receiver::start(200));
    let (boss, ann) = (server.admin(), server.member("ann"));
    let secret = add(&boss, "chat", &receiver.url());
    let notice = publish(&boss, "Library");
    let _ = ann.post("/send_feedback", json!({ "type": "question", "post": "When?" })).succeeded();
    wait_until("both have arrived", || receiver.deliveries().len() == 2 && waiting(&boss) == 0);

    let deliveries = receiver.deliveries();
    let of = |event: &str| deliveries.iter().find(|delivery| delivery.json()["type"] == event).unwrap();
    let (published, feedback) = (of("notice.published"), of("feedback.created"));
    assert!(published.is_signed_with(&secret) && feedback.is_signed_with(&secret));
    assert_ne!(published.header("webhook-id"), feedback.header("webhook-id"));
    let body = published.json();
    assert_eq!((&body["data"]["_id"], &body["data"]["title"]), (&json!(notice), &json!("Library")));
    assert_eq!(feedback.json()["data"], boss.get("/get_all_feedback").succeeded().body["feedback_list"][0]);

    // After a rotation, both secrets sign.
    let rotated = boss.get("/rotate_webhook/chat").succeeded().text("/secret");
    let tested = server.cli(["webhook", "test", "chat"]).succeeded();
    assert!(tested.stdout.contains("waits to be sent"), "{}", tested.stdout);
    wait_until("the test has arrived", || receiver.deliveries().len() == 3);
    let ping = &receiver.deliveries()[2];
    assert_eq!(ping.json()["type"], "ping");
    assert!(ping.is_signed_with(&secret) && ping.is_signed_with(&rotated));

    let shown = server.cli(["webhook", "list"]).succeeded().stdout;
    assert!(shown.contains("chat") && !shown.contains("whsec_"), "{shown}");
    assert!(!format!("{:?}", boss.get("/get_webhooks").body).contains("whsec_"));
    for secret in [&secret, &rotated] {
        assert!(!server.log().contains(secret.as_str()), "the log has no secret");
    }
    let audit = boss.get("/get_audit?action=webhook").succeeded();
    assert_eq!(audit.column("audit", "action"), ["webhook.test", "webhook.rotate", "webhook.add"]);
    let _ = server.cli(["webhook", "remove", "chat"]).succeeded();
    assert_eq!(server.cli(["webhook", "remove", "chat"]).status, 1);
}

#[test]
fn a_receiver_that_fails_is_tried_again_and_does_not_delay_others() {
    let (server, down, up) = (server(), Receiver::start(503), Receiver::start(204));
    let boss = server.admin();
    let _ = (add(&boss, "down", &down.url()), add(&boss, "up", &up.url()));
    let _ = publish(&boss, "Library");
    wait_until("the other receiver has it", || up.deliveries().len() == 1);
    wait_until("the failure is listed", || {
        boss.get("/get_webhook_deliveries").body["deliveries"][0]["error"] == "status 503"
    });
    let listed = boss.get("/get_webhook_deliveries").succeeded();
    let waiting_for = &listed.list("deliveries")[0];
    assert_eq!((&waiting_for["webhook"], &waiting_for["state"]), (&json!("down"), &json!("pending")));
    assert_eq!((listed.list("deliveries").len(), &waiting_for["attempts"]), (1, &json!(1)));
    let shown = server.cli(["webhook", "deliveries"]).succeeded().stdout;
    assert!(shown.contains("status 503"), "{shown}");

    down.answer_with(200);
    let id = listed.text("/deliveries/0/_id");
    let _ = server.cli(["webhook", "retry", &id]).succeeded();
    wait_until("it is accepted", || waiting(&boss) == 0);
    let deliveries = down.deliveries();
    assert_eq!(deliveries.len(), 2);
    assert!(deliveries.iter().all(|delivery| delivery.header("webhook-id") == id));
    assert_eq!(boss.get(&format!("/retry_webhook_delivery/{id}")).outcome(), "404 Not found");
}

#[test]
fn what_was_acknowledged_before_a_kill_arrives_after_the_restart() {
    // Nothing accepts it before the kill.
    let (mut server, receiver) = (server(), Receiver::start(500));
    let boss = server.admin();
    let secret = add(&boss, "chat", &receiver.url());
    let notice = publish(&boss, "Library");
    server.kill();
    receiver.answer_with(200);
    server.restart();
    // It is not tried again for ten seconds if the failure was recorded before the kill.
    for delivery in boss.get("/get_webhook_deliveries").succeeded().column("deliveries", "_id") {
        let _ = boss.get(&format!("/retry_webhook_delivery/{delivery}"));
    }
    wait_until("it has arrived", || waiting(&boss) == 0);
    let deliveries = receiver.deliveries();
    let last = deliveries.last().unwrap();
    assert_eq!(last.json()["data"]["_id"], json!(notice));
    assert!(last.is_signed_with(&secret));
    assert!(deliveries.iter().all(|delivery| delivery.header("webhook-id") == last.header("webhook-id")));
}

#[test]
fn private_addresses_need_the_setting() {
    let (server, receiver) = (Server::start(), Receiver::start(200));
    let hook = json!({ "name": "chat", "url": receiver.url(), "events": ["feedback.created"] });
    let refused = server.admin().post("/add_webhook", hook);
    assert_eq!((refused.outcome().as_str(), &refused.body["field"]), ("400 bad request", &json!("url")));
}

#[test]
fn a_receiver_with_a_private_certificate_needs_the_file_of_its_authority() {
    let receiver = Receiver::start(200);
    let address = receiver.url().trim_start_matches("http://").trim_end_matches("/hook").parse().unwrap();
    let proxy = TlsProxy::before(address);
    let url = format!("{}/hook", proxy.url());
    let authority = proxy.authority();
    let trusting = Server::with(move |serve| {
        serve.arg("--private-addresses").arg("--extra-ca").arg(&authority);
    });
    let boss = trusting.admin();
    add(&boss, "chat", &url);
    publish(&boss, "Library");
    wait_until("the delivery has arrived", || receiver.deliveries().len() == 1 && waiting(&boss) == 0);
}

#[test]
fn the_log_has_no_secret_at_any_level() {
    let receiver = Receiver::start(200);
    let server = Server::with(|serve| {
        serve.args(["--private-addresses", "--log-level", "trace"]).env("RUST_LOG", "trace");
    });
    let boss = server.admin();
    let secret = add(&boss, "chat", &format!("{}/hooks/path-that-is-secret?key=hidden", receiver.url()));
    let key =
        boss.post("/add_key", json!({ "name": "script", "scopes": ["front"] })).succeeded().text("/key");
    let _ = server.anyone().with_token("key", &*key).get("/get_members");
    let _ = publish(&boss, "Library");
    wait_until("it has arrived", || receiver.deliveries().len() == 1);
    let form = json!({ "id": "admin", "pw": "a wrong password of mine" });
    assert_eq!(server.anyone().post("/sign_in", form).outcome(), "200 incorrect pw");
    let log = server.log();
    for secret in
        [&*secret, "path-that-is-secret", "key=hidden", &key, "a wrong password of mine", boss.token()]
    {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}
