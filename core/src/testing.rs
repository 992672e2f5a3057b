//! Helpers of the unit tests: a service with a temporary database and a fixed clock.

use tempfile::TempDir;

use crate::Tidings;
use crate::account::{self, Caller, Operator, SignUp};
use crate::admin;
use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::id::PostKey;

/// The time in tests: 2026-11-20T08:36:00Z.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_795_163_760_000);

/// Returns the authority of the operator.
pub(crate) fn operator() -> Operator {
    Caller::Operator.operator().unwrap()
}

/// Returns the keys of posts.
pub(crate) fn posts(keys: impl IntoIterator<Item = i64>) -> Vec<PostKey> {
    keys.into_iter().map(PostKey::new).collect()
}

/// A service whose database is removed when it is dropped.
pub(crate) struct Service {
    pub(crate) tidings: Tidings,
    // Declared last, so that the service closes the database before the directory is removed.
    pub(crate) dir: TempDir,
}

impl std::ops::Deref for Service {
    type Target = Tidings;

    fn deref(&self) -> &Tidings {
        &self.tidings
    }
}

/// Returns a new service with default settings.
pub(crate) fn service() -> Service {
    service_with(Config::default())
}

/// Returns a new service with these settings.
pub(crate) fn service_with(config: Config) -> Service {
    service_at(NOW, config)
}

/// Returns a new service at the time `now` with these settings.
pub(crate) fn service_at(now: Timestamp, config: Config) -> Service {
    let dir = tempfile::tempdir().unwrap();
    let builder = Tidings::builder(dir.path().join("test.db")).config(config).clock(Clock::fixed(now));
    Service { tidings: builder.open().unwrap(), dir }
}

impl Service {
    /// Closes the database and opens it again at the same time with the same settings, so that all caches are empty.
    pub(crate) fn reopened(self) -> Self {
        let Self { tidings, dir } = self;
        let (config, clock) = (tidings.config().clone(), tidings.clock().clone());
        drop(tidings);
        let builder = Tidings::builder(dir.path().join("test.db")).config(config).clock(clock);
        Self { tidings: builder.open().unwrap(), dir }
    }

    /// Returns the path of the database.
    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("test.db")
    }

    /// Creates a member and returns them as a caller with a token.
    pub(crate) fn member(&self, id: &str) -> Caller {
        let pw = format!("password of {id}");
        let form = SignUp { id: id.into(), pw: pw.clone(), pw_check: pw, nickname: id.into() };
        Caller::token(account::sign_up(self, &form).unwrap().access_token)
    }

    /// Creates an administrator and returns them as a caller with a token.
    pub(crate) fn admin(&self, id: &str) -> Caller {
        let caller = self.member(id);
        admin::grant(self, &Caller::Operator, id).unwrap();
        caller
    }
}
