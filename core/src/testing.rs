//! What the slices' unit tests share: a service on a database of its own, and a clock that stands still.

use tempfile::TempDir;

use crate::Tidings;
use crate::account::{self, Caller, Operator, SignUp};
use crate::admin;
use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::id::PostKey;

/// 2026-11-20T08:36:00Z, when tests take place.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_795_163_760_000);

/// The proof that the operator acts.
pub(crate) fn operator() -> Operator {
    Caller::Operator.operator().unwrap()
}

/// Returns the keys of posts.
pub(crate) fn posts(keys: impl IntoIterator<Item = i64>) -> Vec<PostKey> {
    keys.into_iter().map(PostKey::new).collect()
}

/// A service whose database goes when it is dropped.
pub(crate) struct Service {
    pub(crate) tidings: Tidings,
    // Dropped after the service has closed it.
    pub(crate) dir: TempDir,
}

impl std::ops::Deref for Service {
    type Target = Tidings;

    fn deref(&self) -> &Tidings {
        &self.tidings
    }
}

/// A new service with default settings.
pub(crate) fn service() -> Service {
    service_with(Config::default())
}

/// A new service with these settings.
pub(crate) fn service_with(config: Config) -> Service {
    service_at(NOW, config)
}

/// A new service at some time with these settings.
pub(crate) fn service_at(now: Timestamp, config: Config) -> Service {
    let dir = tempfile::tempdir().unwrap();
    let builder = Tidings::builder(dir.path().join("test.db")).config(config).clock(Clock::fixed(now));
    Service { tidings: builder.open().unwrap(), dir }
}

impl Service {
    /// The same database at the same time, opened by another process: nothing in memory is older than it.
    pub(crate) fn reopened(self) -> Self {
        let Self { tidings, dir } = self;
        let (config, clock) = (tidings.config().clone(), tidings.clock().clone());
        drop(tidings);
        let builder = Tidings::builder(dir.path().join("test.db")).config(config).clock(clock);
        Self { tidings: builder.open().unwrap(), dir }
    }

    /// The database file.
    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("test.db")
    }

    /// A new member, by the right of a token.
    pub(crate) fn member(&self, id: &str) -> Caller {
        let pw = format!("password of {id}");
        let form = SignUp { id: id.into(), pw: pw.clone(), pw_check: pw, nickname: id.into() };
        Caller::token(account::sign_up(self, &form).unwrap().access_token)
    }

    /// A new member who is an administrator, by the right of a token.
    pub(crate) fn admin(&self, id: &str) -> Caller {
        let caller = self.member(id);
        admin::grant(self, &Caller::Operator, id).unwrap();
        caller
    }
}
