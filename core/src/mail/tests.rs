//! Tests of the outbox and of sending, with a mail server in memory.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use super::outbox::{MAILS, NO_MAIL};
use super::queue::Queue;
use super::smtp::Outgoing;
use super::*;
use crate::Tidings;
use crate::account::{Caller, ConfirmEmail, RequestReset, SetEmail, SignUp};
use crate::base::clock::{HOUR_MS, SECOND_MS};
use crate::base::config::{self, Config};
use crate::record::error::Error;
use crate::record::jobs::{DELAYS, Failed, Transport, Worker};
use crate::record::operation::Operation;
use crate::store::{Isolation, StoreError};
use crate::testing::{Service, service_with, sign_up_form};

#[derive(Default)]
struct Server {
    taken: Mutex<Vec<Arrived>>,
    refuses: AtomicU16,
    /// Mail to addresses that begin with `slow` waits for it.
    slow: Mutex<()>,
}

#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) id: String,
    pub(crate) to: String,
    pub(crate) subject: String,
    pub(crate) text: String,
}

impl Arrived {
    pub(crate) fn code(&self) -> String {
        let line = self.text.lines().find_map(|line| line.strip_prefix("    "));
        line.unwrap_or_else(|| panic!("no code: {}", self.text)).to_owned()
    }

    pub(crate) fn linked(&self) -> String {
        let link = self.text.lines().find_map(|line| line.strip_prefix("<https://")).unwrap();
        link.rsplit_once('#').unwrap().1.trim_end_matches('>').to_owned()
    }
}

impl Transport<Outgoing> for Server {
    fn send(&self, outgoing: &Outgoing) -> Result<(), Failed> {
        let code = self.refuses.load(Ordering::Relaxed);
        if code > 0 {
            return Err(Failed {
                reason: format!("the mail server answered {code}"),
                is_permanent: code == 550,
            });
        }
        let Outgoing { id, to, written, .. } = outgoing;
        let _wait = to.starts_with("slow").then(|| self.slow.lock().unwrap());
        let (id, to) = (id.clone(), to.clone());
        let (subject, text) = (written.subject.clone(), written.text.clone());
        self.taken.lock().unwrap().push(Arrived { id, to, subject, text });
        Ok(())
    }
}

pub(crate) struct Mailing {
    pub(crate) service: Service,
    worker: Worker<Queue>,
    server: Arc<Server>,
}

pub(crate) fn config() -> Config {
    let mail = config::Mail {
        server: Some("smtp+plain://127.0.0.1:1".parse().unwrap()),
        from: Some("Campus <no-reply@campus.example>".parse().unwrap()),
        app_url: Some("https://app.example".parse().unwrap()),
        ..config::Mail::default()
    };
    Config { mail, ..Config::default() }
}

impl Mailing {
    pub(crate) fn new(config: Config) -> Self {
        let server = Arc::new(Server::default());
        let service = service_with(config);
        let worker = worker(&service, &server);
        Self { service, worker, server }
    }

    /// Sends all that is due, and returns what has arrived.
    pub(crate) fn arrived(&mut self) -> Vec<Arrived> {
        self.worker.settle();
        std::mem::take(&mut self.server.taken.lock().unwrap())
    }

    pub(crate) fn only(&mut self) -> Arrived {
        let mut arrived = self.arrived();
        assert_eq!(arrived.len(), 1, "{arrived:?}");
        arrived.remove(0)
    }

    fn taken(&self) -> usize {
        self.server.taken.lock().unwrap().len()
    }

    pub(crate) fn two(&mut self) -> [Arrived; 2] {
        let mut arrived = self.arrived();
        arrived.sort_by_key(|mail| mail.to.to_ascii_lowercase());
        arrived.try_into().expect("two mails have arrived")
    }

    pub(crate) fn call<O: Operation>(&self, caller: &Caller, operation: O) -> Result<O::Answer, Error> {
        self.service.call(caller, operation)
    }

    fn sign_up(&self, id: &str, address: &str) -> String {
        let form = SignUp { email: Some(address.into()), ..sign_up_form(id) };
        self.call(&Caller::Guest, form).unwrap().access_token
    }

    /// Signs a member up who has confirmed an address.
    pub(crate) fn member_at(&mut self, id: &str, address: &str) -> Caller {
        let token = self.sign_up(id, address);
        let member = Caller::token(token);
        let code = self.only().code();
        self.call(&member, ConfirmEmail { code }).unwrap();
        member
    }

    pub(crate) fn ask(&self, id: &str) -> String {
        text(self.call(&Caller::Guest, RequestReset { id: id.into() }))
    }
}

fn worker(tidings: &Tidings, server: &Arc<Server>) -> Worker<Queue> {
    let queue = Queue::new(tidings.config().mail.clone(), Arc::<Server>::clone(server)).unwrap();
    Worker::new(&tidings.0.store, tidings.clock(), queue)
}

pub(crate) fn text<T>(result: Result<T, Error>) -> String {
    result.err().map_or_else(|| "success".to_owned(), |error| error.to_string())
}

fn waiting(tidings: &Tidings) -> Vec<(Kind, State, i64, Option<String>)> {
    let mails = tidings.call(&Caller::Operator, List {}).unwrap().mails.into_iter();
    mails.map(|mail| (mail.kind, mail.state, mail.attempts, mail.error)).collect()
}

#[test]
fn a_mail_that_fails_is_tried_again_until_nobody_waits_for_it_and_can_be_sent_later() {
    let mut mailing = Mailing::new(config());
    mailing.member_at("ann", "ann@example.org");
    mailing.server.refuses.store(421, Ordering::Relaxed);
    assert_eq!(mailing.ask("ann"), "success");
    let mut states = Vec::new();
    for delay in DELAYS {
        assert!(mailing.arrived().is_empty());
        let (_, state, tried, error) = waiting(&mailing.service).remove(0);
        assert_eq!(error.as_deref(), Some("the mail server answered 421"));
        states.push((tried, state));
        mailing.service.clock().advance(delay * SECOND_MS);
    }
    // After 2,170 s the next attempt would be beyond the hour.
    states.dedup();
    let pending = (1..=4_i64).map(|tried| (tried, State::Pending));
    assert_eq!(states, pending.chain([(5, State::Dead)]).collect::<Vec<_>>());
    mailing.server.refuses.store(0, Ordering::Relaxed);
    assert!(mailing.arrived().is_empty(), "it was given up");
    let id = mailing.call(&Caller::Operator, List {}).unwrap().mails.remove(0).id;
    mailing.call(&Caller::Operator, Retry { mail_obi: id.clone() }).unwrap();
    let mail = mailing.only();
    assert_eq!((&*mail.id, &*mail.to), (&*id, "ann@example.org"));
    assert_eq!(waiting(&mailing.service), []);
    assert_eq!(text(mailing.call(&Caller::Operator, Retry { mail_obi: id })), "Not found");
}

#[test]
fn a_note_is_tried_for_longer_than_a_code_and_a_missing_mailbox_once() {
    let mut mailing = Mailing::new(config());
    let ann = mailing.member_at("ann", "ann@example.org");
    mailing.server.refuses.store(451, Ordering::Relaxed);
    let none = SetEmail { pw: "password of ann".into(), ..SetEmail::default() };
    mailing.call(&ann, none).unwrap();
    for delay in DELAYS {
        assert!(mailing.arrived().is_empty());
        assert_eq!(waiting(&mailing.service)[0].1, State::Pending, "{delay}");
        mailing.service.clock().advance(delay * SECOND_MS);
    }
    mailing.arrived();
    assert_eq!(waiting(&mailing.service)[0].1, State::Dead);
    let id = mailing.call(&Caller::Operator, List {}).unwrap().mails.remove(0).id;
    mailing.server.refuses.store(550, Ordering::Relaxed);
    mailing.call(&Caller::Operator, Retry { mail_obi: id }).unwrap();
    mailing.arrived();
    let answered = Some("the mail server answered 550".to_owned());
    assert_eq!(waiting(&mailing.service), [(Kind::AddressChanged, State::Dead, 1, answered)]);
}

#[test]
fn unrecorded_mail_is_sent_once_more_with_another_code() {
    let mut mailing = Mailing::new(config());
    mailing.member_at("ann", "ann@example.org");
    mailing.ask("ann");
    let record = "INSERT INTO mail (id, kind, member, date, next_attempt)
        SELECT '6560c1a2ffeeddccbbaa0001', 'reset', key, date, date FROM member";
    let first = mailing.only();
    // As if the server had been killed before the mail was removed.
    mailing.service.run(record);
    let second = mailing.only();
    assert_ne!(first.code(), second.code());
    let new = |code: String| crate::account::ResetPassword {
        code,
        new_pw: "a new sentence".into(),
        new_pw_check: "a new sentence".into(),
    };
    assert_eq!(text(mailing.call(&Caller::Guest, new(second.linked()))), "success");
    assert_eq!(text(mailing.call(&Caller::Guest, new(first.code()))), "incorrect code", "it was withdrawn");
}

#[test]
fn a_slow_recipient_does_not_delay_the_mail_to_others() {
    let mut mailing = Mailing::new(config());
    let server = Arc::clone(&mailing.server);
    let slow = server.slow.lock().unwrap();
    for n in 0..3 {
        mailing.sign_up(&format!("slow{n}"), &format!("slow{n}@example.org"));
    }
    for n in 0..9 {
        mailing.sign_up(&format!("quick{n}"), &format!("quick{n}@example.org"));
    }
    while mailing.taken() < 9 {
        mailing.worker.pass().unwrap();
        std::thread::yield_now();
    }
    assert!(mailing.worker.is_running());
    drop(slow);
    assert_eq!(mailing.arrived().len(), 12);
    assert_eq!(waiting(&mailing.service), []);
}

#[test]
fn mail_of_a_later_program_is_given_up_and_does_not_stay_due() {
    let mut mailing = Mailing::new(config());
    let now = mailing.service.now().as_millis();
    mailing.service.run(&format!(
        "INSERT INTO mail (id, kind, date, next_attempt) VALUES ('6560c1a2ffeeddccbbaa0001', 'later', {now}, {now})"
    ));
    assert!(mailing.arrived().is_empty());
    assert_eq!(mailing.service.number("SELECT count(*) FROM mail WHERE dead IS NULL"), 0);
}

#[test]
fn without_a_mail_server_no_mail_is_asked_for_and_none_is_stored() {
    let service = service_with(Config::default());
    let ann = service.member("ann");
    let refusal = |result: Result<(), Error>| result.unwrap_err().message().into_owned();
    let ask = RequestReset { id: "ann".into() };
    assert_eq!(refusal(service.call(&Caller::Guest, ask)), NO_MAIL.message());
    let (pw, email) = ("password of ann".into(), "ann@example.org".into());
    let set = SetEmail { pw, email, otp: None };
    assert_eq!(refusal(service.call(&ann, set)), NO_MAIL.message());
    assert_eq!(waiting(&service), []);
}

#[test]
fn numbers_of_past_hours_and_mail_of_past_months_are_removed() {
    let mut mailing = Mailing::new(config());
    mailing.member_at("ann", "ann@example.org");
    mailing.server.refuses.store(550, Ordering::Relaxed);
    mailing.ask("ann");
    mailing.arrived();
    let service = &mailing.service;
    let prune = |after_ms| {
        service.clock().advance(after_ms);
        let now = service.now();
        let pruned = service.store().write::<_, StoreError>(Isolation::Alone, move |tx| {
            limit::prune(tx, now, 100)?;
            MAILS.prune(tx, now, 100)
        });
        pruned.unwrap();
        ["mail_limit", "mail"].map(|table| service.number(&format!("SELECT count(*) FROM {table}")))
    };
    assert_eq!(prune(0), [4, 1], "an address and a member, each also of this machine");
    assert_eq!(prune(HOUR_MS), [0, 1]);
    assert_eq!(prune(30 * 24 * HOUR_MS), [0, 0]);
}
