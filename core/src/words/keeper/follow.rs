//! The thread that keeps the model up with the posts, and with what other processes make.

use std::time::{Duration, Instant};

use tidings_words::{Go, Model, Origin, Source, Stopped, part};

use super::{Ended, READING, Shared};
use crate::post::texts;
use crate::store::Topic;

/// How often the thread looks for a newer file and for changed posts.
const LOOK: Duration = Duration::from_secs(1);
/// For how many looks changes that still come are waited for: an import is learned from once it is over.
const LOOKS_MAX: u32 = 60;
/// Changes of posts' words before a first model is learned of its own accord.
const CHANGES_MIN: i64 = 20;
impl Shared {
    /// The model that comes after the present one: learned anew, or, where that was loaded, with the neighbours that
    /// now stand in posts.
    fn next(&self, go: Go<'_>) -> Result<Model, Ended> {
        match self.current.load_full().filter(|current| current.model.origin.source == Source::File) {
            None => self.learn(go),
            Some(current) => {
                let (corpus, at) = self.read_posts(&mut part(go, 0.0, READING))?;
                let (words, vectors) = (current.model.words().to_vec(), current.model.vectors().clone());
                Ok(tidings_words::adopt(words, vectors, &corpus, at, &mut part(go, READING, 1.0))?)
            }
        }
    }

    /// Keeps the model up with files and posts until the store closes.
    pub(super) fn keep(&self) {
        lower_priority();
        let versions = self.store.versions();
        let mut patience = Patience::default();
        self.looked.call_once(|| self.look());
        loop {
            self.look();
            match self.catch_up(&mut patience) {
                Ok(()) => {}
                Err(Ended::Stopped) => return,
                Err(Ended::Failed(error)) => {
                    tracing::error!(cause = error.detail(), "the word model cannot be learned");
                }
            }
            if !versions.sleep(LOOK, || self.is_stopped()) {
                return;
            }
        }
    }

    /// Makes the next model when the posts have changed enough since the present one.
    fn catch_up(&self, patience: &mut Patience) -> Result<(), Ended> {
        let version = self.store.version(Topic::Posts);
        if patience.looked_at == Some(version) && !patience.waits {
            return Ok(());
        }
        let changes = self.store.read(|tx| texts::changes(tx))?;
        patience.looked_at = Some(version);
        let origin = self.current.load_full().map(|current| current.model.origin.clone());
        patience.waits = self.is_due(origin.as_ref(), changes);
        if !patience.waits || !patience.is_over(changes) {
            return Ok(());
        }
        let Some(_turn) = self.turn() else { return Ok(()) };
        let started = Instant::now();
        // A failure is told once, not with each look: the next change brings the next try.
        patience.waits = false;
        let model = self.next(&mut |_| if self.is_stopped() { Err(Stopped) } else { Ok(()) })?;
        let (words, posts) = (model.words().len(), model.origin.posts);
        if let Err(error) = self.write(&model) {
            tracing::warn!(path = %self.path.display(), %error, "the word model cannot be written");
        }
        self.swap(model);
        tracing::info!(words, posts, seconds = started.elapsed().as_secs_f32(), "the word model is new");
        Ok(())
    }

    /// Whether the posts have changed enough since a model was made.
    fn is_due(&self, origin: Option<&Origin>, changes: i64) -> bool {
        let share = self.config.retrain_after;
        let Some(origin) = origin else { return share > 0.0 && changes >= CHANGES_MIN };
        let otherwise = match &origin.source {
            Source::Posts(recipe) => *recipe != self.recipe(),
            Source::File => false,
        };
        let more = changes.abs_diff(origin.changes);
        #[expect(clippy::cast_precision_loss, reason = "a change more or less in many")]
        let enough = more > 0 && more as f64 >= share * f64::from(origin.posts);
        share > 0.0 && (otherwise || enough)
    }
}

/// How long changes that still come are waited for.
#[derive(Default)]
struct Patience {
    /// The version of the posts at the last look.
    looked_at: Option<i64>,
    /// Whether a model is due.
    waits: bool,
    changes: i64,
    looks: u32,
}

impl Patience {
    /// Whether no more changes came since the last look, or this was asked often enough.
    fn is_over(&mut self, changes: i64) -> bool {
        let quiet = changes == self.changes;
        self.changes = changes;
        self.looks += 1;
        let over = quiet || self.looks >= LOOKS_MAX;
        if over {
            self.looks = 0;
        }
        over
    }
}

/// Lets all others go first.
fn lower_priority() {
    // Elsewhere a thread has no priority of its own, or the crate does not reach it.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(19) {
        tracing::debug!(%error, "the thread that learns words keeps its priority");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Config};
    use crate::testing;

    /// Whether a model is due after so many changes, where one of 100 posts was made after 1,000 changes or none
    /// was made yet.
    fn due(retrain_after: f64, made: bool, changes: i64) -> bool {
        let words = config::Words { retrain_after, ..config::Words::default() };
        let service = testing::service_with(Config { words, ..Config::default() });
        let shared = &service.words().shared;
        let source = Source::Posts(shared.recipe());
        shared.is_due(made.then_some(&Origin { source, posts: 100, changes: 1_000, made: 0 }), changes)
    }

    #[test]
    fn a_model_is_due_when_enough_has_changed() {
        assert!(!due(0.1, false, CHANGES_MIN - 1) && due(0.1, false, CHANGES_MIN));
        assert!(!due(0.1, true, 1_000) && !due(0.1, true, 1_009) && due(0.1, true, 1_010));
        assert!(due(0.1, true, 0), "an older database was put in its place");
    }

    #[test]
    fn who_does_not_want_to_learn_does_not() {
        assert!(!due(0.0, false, 1_000_000) && !due(0.0, true, 1_000_000));
    }
}
