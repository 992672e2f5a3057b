use std::time::{Duration, Instant};

use tidings_vectors::{Cancelled, Model, Origin, Progress, Source};

use super::Shared;
use crate::post::texts;
use crate::record::background::log_failure;
use crate::record::error::{Error, Result};
use crate::store::{StoreError, Topic, version_in};

/// Of the database.
const CHECK: Duration = Duration::from_secs(1);
/// The maximum number of checks to wait while posts keep changing: the model is learned once an import is complete.
const CHECKS_MAX: u32 = 60;
/// Changes of words before the first model is learned.
const CHANGES_MIN: i64 = 20;

impl Shared {
    /// A model learned from the posts, or, if the current model was loaded, the same vectors with neighbours among the words that
    /// posts now contain.
    fn next(&self, progress: Progress<'_>) -> Result<Model> {
        match self.current.load_full().filter(|current| current.model.origin.source == Source::File) {
            None => self.learn(progress),
            Some(current) => {
                let (corpus, at) = self.read_posts(progress)?;
                let (words, vectors) = (current.model.words().to_vec(), current.model.vectors().clone());
                Ok(tidings_vectors::adopt(words, vectors, &corpus, at))
            }
        }
    }

    pub(super) fn run(&self) {
        // With the priority of the others, because members' feeds wait for the model.
        self.look_once();
        lower_priority();
        let versions = self.store.versions();
        let mut debounce = Debounce::default();
        loop {
            self.look();
            if let Some(current) = self.current.load_full() {
                current.model.complete();
            }
            match self.catch_up(&mut debounce) {
                Err(_) if self.is_stopped() => break,
                // Another server has the lease, or another process has stored a model.
                Ok(()) | Err(Error::Overloaded) => {}
                Err(error) => log_failure(&error, "the word model cannot be learned"),
            }
            if !versions.sleep(CHECK, || self.is_stopped()) {
                break;
            }
        }
        if let Err(error) = self.lease.release() {
            tracing::debug!(%error, "the lease of learning words ends later");
        }
    }

    pub(super) fn look_once(&self) {
        self.looked.call_once(|| self.look());
    }

    /// Another process may have replaced the model.
    fn look(&self) {
        if let Err(error) = self.adopt_stored() {
            tracing::debug!(cause = error.detail(), "the word model cannot be read");
        }
    }

    fn catch_up(&self, debounce: &mut Debounce) -> Result<()> {
        let version = self.store.version(Topic::Posts);
        if debounce.version.is_some_and(|read| version <= read) && !debounce.is_due {
            return Ok(());
        }
        // The number of changes is read as a whole, so a late commit is in the next number.
        let (changes, version) = self.store.read(|tx| {
            let version = version_in(tx, Topic::Posts)?;
            Ok::<_, StoreError>((texts::changes(tx)?, version))
        })?;
        debounce.version = Some(version);
        let origin = self.current.load_full().map(|current| current.model.origin.clone());
        debounce.is_due = self.is_due(origin.as_ref(), changes);
        if !debounce.is_due || !debounce.is_over(changes) {
            return Ok(());
        }
        if !self.lease.hold()? {
            return Ok(());
        }
        let started = Instant::now();
        // A failure is logged once, not at every check. The next change triggers another attempt.
        debounce.is_due = false;
        let model = self.next(&mut |_| {
            // A lease that cannot be renewed ends, while other servers cannot take it either.
            let goes_on = !self.is_stopped() && self.lease.hold().unwrap_or(true);
            if goes_on { Ok(()) } else { Err(Cancelled) }
        })?;
        let (words, posts) = (model.words().len(), model.origin.posts);
        self.publish(model)?;
        tracing::info!(words, posts, seconds = started.elapsed().as_secs_f32(), "the word model was updated");
        Ok(())
    }

    fn is_due(&self, origin: Option<&Origin>, changes: i64) -> bool {
        let share = self.config.retrain_after;
        let Some(origin) = origin else { return share > 0.0 && changes >= CHANGES_MIN };
        let otherwise = match &origin.source {
            Source::Posts(recipe) => *recipe != self.recipe(),
            Source::File => false,
        };
        let more = changes.abs_diff(origin.changes);
        #[expect(clippy::cast_precision_loss, reason = "an approximate number suffices")]
        let enough = more > 0 && more as f64 >= share * f64::from(origin.posts);
        share > 0.0 && (otherwise || enough)
    }
}

/// Delays learning while posts keep changing.
#[derive(Default)]
struct Debounce {
    /// At the last check.
    version: Option<i64>,
    is_due: bool,
    changes: i64,
    checks: u32,
}

impl Debounce {
    /// Returns whether nothing has changed since the last check, or the delay has reached its maximum.
    fn is_over(&mut self, changes: i64) -> bool {
        let quiet = changes == self.changes;
        self.changes = changes;
        self.checks += 1;
        let over = quiet || self.checks >= CHECKS_MAX;
        if over {
            self.checks = 0;
        }
        over
    }
}

fn lower_priority() {
    // Other systems have no priority per thread, or rustix does not support it.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(19) {
        tracing::debug!(%error, "the thread that learns words keeps its priority");
    }
}

#[cfg(test)]
impl Shared {
    /// Does what the thread does within a few checks.
    pub(super) fn step_until_quiet(&self) {
        let mut debounce = Debounce::default();
        for _ in 0..3 {
            self.adopt_stored().unwrap();
            assert!(self.catch_up(&mut debounce).is_ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::{self, Config};
    use crate::testing::{self, draft, publish};

    /// Returns whether a model is due after this number of changes. With `made`, a model of 100 posts exists since change 1,000.
    fn due(retrain_after: f64, made: bool, changes: i64) -> bool {
        let words = config::WordModel { retrain_after, ..config::WordModel::default() };
        let service = testing::service_with(Config { words, ..Config::default() });
        let shared = &service.words().shared;
        let source = Source::Posts(shared.recipe());
        shared.is_due(made.then_some(&Origin { source, posts: 100, changes: 1_000, made: 0 }), changes)
    }

    #[test]
    fn a_model_is_due_when_enough_has_changed() {
        assert!(!due(0.1, false, CHANGES_MIN - 1) && due(0.1, false, CHANGES_MIN));
        assert!(!due(0.1, true, 1_000) && !due(0.1, true, 1_009) && due(0.1, true, 1_010));
        assert!(due(0.1, true, 0), "an older database replaced this one");
        assert!(!due(0.0, false, 1_000_000) && !due(0.0, true, 1_000_000), "a setting of 0 turns it off");
    }

    #[test]
    fn the_posts_are_looked_at_again_while_a_change_may_become_visible_late() {
        let service = testing::service();
        let shared = &service.words().shared;
        let mut debounce = Debounce::default();
        let mut looked = || {
            assert!(shared.catch_up(&mut debounce).is_ok());
            debounce.version
        };
        let late = service.store().hold_horizon();
        let horizon = service.store().read(|tx| tx.horizon()).unwrap();
        let draft = |n: &str| draft("One", format!("https://a.example/{n}"));
        publish(&service, draft("1"));
        assert_eq!(looked(), Some(horizon));
        service.store().write_late(late, || publish(&service, draft("2")));
        assert_eq!(looked(), Some(horizon));
        service.store().release_horizon();
        assert_eq!(looked(), Some(service.store().version(Topic::Posts)));
    }
}
