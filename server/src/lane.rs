//! Where operations run: off the async threads, a bounded number at a time, in a bounded queue.
//!
//! There are several lanes, so that slow work of one kind (hashing passwords, asking the university) never
//! takes the place of another.

use std::sync::Arc;

use tidings_core::{Error, Result};
use tokio::sync::Semaphore;

/// University members whose system is asked at once, each for up to some seconds.
const UNIVERSITY: usize = 32;
/// Imports that run at once: the database has one writer, so more would only wait.
const IMPORTS: usize = 2;

/// A kind of work, with its bounds.
#[derive(Clone)]
pub(crate) struct Lane {
    /// What may be in the lane, running or waiting.
    places: Arc<Semaphore>,
    /// What may run.
    running: Arc<Semaphore>,
}

/// The lanes of a server.
pub(crate) struct Lanes {
    /// What reads and writes the database.
    pub(crate) store: Lane,
    /// What hashes a password; the core's own queue is as long.
    pub(crate) password: Lane,
    /// What asks the university.
    pub(crate) university: Lane,
    /// Imports.
    pub(crate) import: Lane,
}

impl Lanes {
    /// Lanes for `operations` on the database at once, `queue` waiting, and `hashes` passwords.
    pub(crate) fn new(operations: usize, queue: usize, hashes: usize) -> Self {
        Self {
            store: Lane::new(operations, queue),
            password: Lane::new(hashes, 0),
            university: Lane::new(UNIVERSITY, 0),
            import: Lane::new(IMPORTS, 0),
        }
    }
}

impl Lane {
    fn new(running: usize, waiting: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(running + waiting)),
            running: Arc::new(Semaphore::new(running)),
        }
    }

    /// Runs `work` on a thread that may block, to its end whoever still waits for it.
    ///
    /// # Errors
    /// What `work` answers; `overloaded` at once when the lane is full.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Error::Overloaded)?;
        let turn = Arc::clone(&self.running).acquire_owned().await.map_err(|_| Error::Overloaded)?;
        let done = tokio::task::spawn_blocking(move || {
            // Given back when the work has ended, not when its client has gone.
            let _held = (place, turn);
            work()
        });
        match done.await {
            Ok(result) => result,
            Err(error) if error.is_panic() => Err(Error::Internal("the operation panicked".into())),
            Err(_) => Err(Error::Overloaded),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_full_lane_refuses_at_once_and_the_others_run_on() {
        let lanes = Lanes::new(1, 1, 1);
        let (release, released) = mpsc::channel::<()>();
        let store = lanes.store.clone();
        let running = tokio::spawn(async move {
            store.run(move || released.recv().map_err(|e| Error::Internal(e.into()))).await
        });
        while lanes.store.running.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let store = lanes.store.clone();
        let waiting = tokio::spawn(async move { store.run(|| Ok(2)).await });
        while lanes.store.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(matches!(lanes.store.run(|| Ok(3)).await, Err(Error::Overloaded)));
        assert_eq!(lanes.password.run(|| Ok(4)).await.unwrap(), 4);
        release.send(()).unwrap();
        running.await.unwrap().unwrap();
        assert_eq!(waiting.await.unwrap().unwrap(), 2);
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_frees_nothing_before_the_work_has_ended() {
        let lane = Lane::new(1, 0);
        let (release, released) = mpsc::channel::<()>();
        let (other, ended) = (lane.clone(), mpsc::channel());
        let caller = tokio::spawn(async move {
            other
                .run(move || {
                    let _ = released.recv();
                    ended.0.send(()).unwrap();
                    Ok(())
                })
                .await
        });
        while lane.running.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        caller.abort();
        let _ = caller.await;
        assert!(matches!(lane.run(|| Ok(())).await, Err(Error::Overloaded)));
        release.send(()).unwrap();
        ended.1.recv().unwrap();
        while lane.places.available_permits() == 0 {
            tokio::task::yield_now().await;
        }
        lane.run(|| Ok(())).await.unwrap();
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error_and_frees_the_lane() {
        let lane = Lane::new(1, 0);
        let panicked = lane.run::<()>(|| panic!("a mistake")).await;
        assert_eq!(panicked.unwrap_err().to_string(), "internal error");
        lane.run(|| Ok(())).await.unwrap();
    }
}
