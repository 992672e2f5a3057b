//! Helpers of the unit tests: a service with a temporary database and a fixed clock.

use std::time::{Duration, Instant};

use proptest::test_runner::Config as Cases;
use tidings_cluster::{Engine, Scratch};

use crate::Tidings;
use crate::account::{AccessToken, Caller, Client, ClientInfo, Operator, SignIn, SignInUp, SignUp, key};
use crate::admin;
use crate::audit::{self, AuditRecord};
use crate::base::clock::{Clock, Timestamp};
use crate::base::config::{Config, Secret, Zone};
use crate::import::{Import as _, Report, to_the_end};
use crate::member;
use crate::notice;
use crate::post::{self, Draft};
use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::record::operation::Operation;
use crate::record::scope::Scope;
use crate::search::{Find, FindInCategory, PostPage, SearchResult};
use crate::store::{Dialect, Isolation, Store, StoreError};
use crate::transfer::roster_import::ImportRoster;

pub(crate) mod signer;

/// 2026-11-20T08:36:00Z.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_795_163_760_000);

/// Each case of a property needs a database. PostgreSQL gets fewer cases, because it takes longer to make one and SQLite runs
/// all.
pub(crate) fn cases(count: u32) -> Cases {
    Cases::with_cases(if Engine::chosen() == Engine::Postgres { count.div_ceil(4) } else { count })
}

pub(crate) fn operator() -> Operator {
    Caller::Operator.operator().unwrap()
}

pub(crate) fn posts(keys: impl IntoIterator<Item = i64>) -> Vec<PostKey> {
    keys.into_iter().map(PostKey::new).collect()
}

pub(crate) fn draft(title: impl Into<String>, url: impl Into<String>) -> Draft {
    Draft { title: Some(title.into()), url: Some(url.into()), ..Draft::default() }
}

impl Draft {
    pub(crate) fn with_topic(self, topic: &str) -> Self {
        Self { topic: Some(vec![topic.into()]), ..self }
    }

    pub(crate) fn dated(self, date: Timestamp) -> Self {
        Self { date: Some(date.to_string()), ..self }
    }
}

/// Returns the draft of a notice that everybody sees.
pub(crate) fn notice(title: impl Into<String>) -> notice::Draft {
    notice::Draft { title: Some(title.into()), post: Some("Text".into()), ..notice::Draft::default() }
}

pub(crate) fn publish(tidings: &Tidings, draft: Draft) -> String {
    tidings.call(&Caller::Operator, post::Insert { draft }).unwrap().id.to_string()
}

pub(crate) fn like(tidings: &Tidings, member: &Caller, posts: &[String]) {
    for id in posts {
        post::like(tidings, member, id).wait().unwrap();
    }
}

/// Waits until `what` holds, for at most a minute.
#[track_caller]
pub(crate) fn eventually(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !what() {
        assert!(Instant::now() < end, "the condition did not hold in time");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) trait RunFor: Operation {
    fn run_for(self, tidings: &Tidings, caller: &Caller, client: ClientInfo) -> Result<Self::Answer> {
        tidings.call_from(caller, &client, self)
    }
}

impl<O: Operation> RunFor for O {}

impl From<Option<Client>> for ClientInfo {
    fn from(client: Option<Client>) -> Self {
        Self { address: client.map(Client::address), ..Self::default() }
    }
}

/// Returns the form with which somebody becomes a member, with the password `password of ID`.
pub(crate) fn sign_up_form(id: &str) -> SignUp {
    let pw = format!("password of {id}");
    SignUp { id: id.into(), pw: pw.clone(), pw_check: pw, nickname: id.into(), email: None }
}

pub(crate) fn sign_in(
    tidings: &Tidings,
    id: &str,
    pw: &str,
    client: impl Into<ClientInfo>,
) -> Result<AccessToken> {
    SignIn { id: id.into(), pw: pw.into(), otp: None }.run_for(tidings, &Caller::Guest, client.into())
}

pub(crate) fn sign_in_with(tidings: &Tidings, id: &str, otp: &str) -> String {
    let form = SignIn { id: id.into(), pw: format!("password of {id}"), otp: Some(otp.into()) };
    form.run_for(tidings, &Caller::Guest, ClientInfo::default()).unwrap().access_token
}

pub(crate) fn sign_in_up(
    tidings: &Tidings,
    id: &str,
    pw: &str,
    client: impl Into<ClientInfo>,
) -> Result<AccessToken> {
    let form = SignIn { id: id.into(), pw: pw.into(), otp: None };
    SignInUp { form }.run_for(tidings, &Caller::Guest, client.into())
}

pub(crate) fn import_roster(tidings: &Tidings, csv: &str) -> Report {
    ImportRoster {}.import(tidings, &Caller::Operator, csv.as_bytes(), &mut to_the_end).unwrap()
}

pub(crate) fn search(tidings: &Tidings, search: &str, num: i64) -> Result<SearchResult> {
    tidings.call(&Caller::Guest, Find { num, search: search.into(), page: PostPage::default() })
}

pub(crate) fn search_in(tidings: &Tidings, category: &str, search: &str, num: i64) -> Result<SearchResult> {
    let (category_name, search, page) = (category.into(), search.into(), PostPage::default());
    tidings.call(&Caller::Guest, FindInCategory { category_name, num, search, page })
}

/// Writes no file for the key.
pub(crate) fn open_at(location: &str) -> Tidings {
    let key = Secret(b"a key for tests, long enough for a signature".to_vec().into());
    let config = Config { token_key: Some(key), ..Config::default() };
    Tidings::builder(location).config(in_utc(config)).open().unwrap()
}

/// A service whose database is removed when it is dropped.
pub(crate) struct Service {
    pub(crate) tidings: Tidings,
    // Declared last, so that the service closes the database before it is removed.
    pub(crate) database: Scratch,
}

impl std::ops::Deref for Service {
    type Target = Tidings;

    fn deref(&self) -> &Tidings {
        &self.tidings
    }
}

pub(crate) fn service() -> Service {
    service_with(Config::default())
}

pub(crate) fn service_with(config: Config) -> Service {
    service_at(NOW, config)
}

pub(crate) fn service_at(now: Timestamp, config: Config) -> Service {
    let database = Scratch::with_tables(|url| drop(Store::open(&url.into()).unwrap()));
    let builder = Tidings::builder(database.location()).config(in_utc(config)).clock(Clock::fixed(now));
    Service { tidings: builder.open().unwrap(), database }
}

/// The time zone of this machine must not decide a test.
fn in_utc(mut config: Config) -> Config {
    let zone = &mut config.analysis.timezone;
    *zone = zone.take().or_else(|| Some(Zone::default()));
    config
}

pub(crate) fn again(caller: &Caller) -> Caller {
    match caller {
        Caller::Token(token) => Caller::token(token.text()),
        other => other.clone(),
    }
}

impl Service {
    /// Opens the database again at the same time with the same settings, so that all caches are empty.
    pub(crate) fn reopened(self) -> Self {
        let Self { tidings, database } = self;
        let (config, clock) = (tidings.config().clone(), tidings.clock().clone());
        drop(tidings);
        let builder = Tidings::builder(database.location()).config(config).clock(clock);
        Self { tidings: builder.open().unwrap(), database }
    }

    /// Returns another server on the same database, at the same time and with the same settings.
    pub(crate) fn beside(&self) -> Tidings {
        let builder = Tidings::builder(self.location()).config(self.config().clone());
        builder.clock(self.clock().clone()).open().unwrap()
    }

    pub(crate) fn location(&self) -> String {
        self.database.location()
    }

    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.database.path()
    }

    /// Runs a statement that another program could, and returns the number of rows.
    pub(crate) fn run(&self, sql: &str) -> u64 {
        let sql = sql.to_owned();
        self.store().write(Isolation::Alone, move |tx| tx.run(&sql, &[])).unwrap()
    }

    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.store().read(|tx| tx.one(sql, &[])?.take(0)).unwrap()
    }

    pub(crate) fn texts(&self, sql: &str) -> Vec<String> {
        let rows = self.store().read(|tx| tx.rows(sql, &[])).unwrap();
        rows.into_iter().map(|mut row| row.take(0).unwrap()).collect()
    }

    pub(crate) fn trail(&self) -> Vec<AuditRecord> {
        self.call(&Caller::Operator, audit::List::default()).unwrap().audit
    }

    pub(crate) fn blacklist(&self, id: &str) {
        self.call(&Caller::Operator, admin::PushBlacklist { user_id: id.into() }).unwrap();
    }

    pub(crate) fn remove_member(&self, id: &str) {
        self.call(&Caller::Operator, member::Remove { user_id: id.into() }).unwrap();
    }

    /// Makes a commit fail after all its writes, with [`StoreError::Dangling`].
    pub(crate) fn fail_a_commit(&self) {
        let failed = self.store().write(Isolation::Alone, |tx| {
            let (defer, insert) = match tx.dialect() {
                Dialect::Sqlite => (
                    "PRAGMA defer_foreign_keys = ON",
                    "INSERT INTO label (name, post, topic) VALUES ('sea', 999, 1)",
                ),
                #[cfg(feature = "postgres")]
                Dialect::Postgres => (
                    "ALTER TABLE label ADD CONSTRAINT of_post FOREIGN KEY (post) REFERENCES post (key)
                     DEFERRABLE INITIALLY DEFERRED NOT VALID",
                    "INSERT INTO label (name, post, topic) VALUES ('sea', 999, 1)",
                ),
            };
            tx.run(defer, &[])?;
            tx.run(insert, &[])
        });
        assert!(matches!(failed, Err(StoreError::Dangling)), "{failed:?}");
    }

    pub(crate) fn member(&self, id: &str) -> Caller {
        Caller::token(self.call(&Caller::Guest, sign_up_form(id)).unwrap().access_token)
    }

    pub(crate) fn admin(&self, id: &str) -> Caller {
        let caller = self.member(id);
        self.call(&Caller::Operator, admin::Grant { user_id: id.into() }).unwrap();
        caller
    }

    pub(crate) fn member_with(&self, id: &str, scopes: &[Scope]) -> Caller {
        let caller = self.member(id);
        let scopes = scopes.iter().map(ToString::to_string).collect();
        self.call(&Caller::Operator, member::SetRole { user_id: id.into(), scopes }).unwrap();
        caller
    }

    pub(crate) fn key(&self, scope: Scope) -> Caller {
        self.named_key(scope.name(), &[scope])
    }

    pub(crate) fn named_key(&self, name: &str, scopes: &[Scope]) -> Caller {
        let scopes = scopes.iter().map(ToString::to_string).collect();
        let add = key::Add { name: name.into(), scopes, expires: None };
        Caller::token(self.call(&Caller::Operator, add).unwrap().key.as_str())
    }
}

#[test]
fn the_suite_passes_on_postgresql() {
    tidings_cluster::suite_on_postgres();
}
