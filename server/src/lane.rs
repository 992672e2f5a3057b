//! Where operations run: off the async threads, a bounded number at a time, in a bounded queue.
//!
//! There are several lanes, so that slow work of one kind (hashing passwords, asking the university) never
//! takes the place of another.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tidings_core::{Error, Result};
use tokio::sync::{Semaphore, oneshot};

/// University members whose system is asked at once, each for up to some seconds.
const UNIVERSITY: usize = 32;
/// Imports that run at once: the database has one writer, so more would only wait.
const IMPORTS: usize = 2;

/// A kind of work, with its bounds.
#[derive(Clone)]
pub(crate) enum Lane {
    /// Work that waits, for the disk or another system: on as many of the runtime's blocking threads as run.
    Waiting {
        /// What may be in the lane, running or waiting.
        places: Arc<Semaphore>,
        /// What may run.
        running: Arc<Semaphore>,
        /// How many places there are beside those that run.
        waiting: usize,
    },
    /// Short work that seldom waits: on one thread for each core, that go on with the next piece without
    /// having slept in between. Waking one of many idle threads each time costs more than the work itself.
    Short(crossbeam_channel::Sender<Job>),
}

/// A piece of work that gives its answer itself.
type Job = Box<dyn FnOnce() + Send>;

/// The lanes of a server.
pub(crate) struct Lanes {
    /// What reads the database and is soon done.
    pub(crate) read: Lane,
    /// What writes to the database, or reads much of it.
    pub(crate) store: Lane,
    /// What hashes a password.
    pub(crate) password: Lane,
    /// What asks the university.
    pub(crate) university: Lane,
    /// Imports.
    pub(crate) import: Lane,
}

impl Lanes {
    /// Lanes for `operations` on the database at once and `queue` waiting, and for `hash_queue` passwords that
    /// wait to be hashed.
    pub(crate) fn new(operations: usize, queue: usize, hash_queue: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            read: Lane::short(cores, queue),
            store: Lane::waiting(operations, queue),
            // The core hashes one password for each core; as many others read or write around their hash.
            password: Lane::waiting(2 * cores, hash_queue),
            university: Lane::waiting(UNIVERSITY, 0),
            import: Lane::waiting(IMPORTS, 0),
        }
    }

    /// How much waits for its turn in each lane.
    pub(crate) fn waiting(&self) -> [(&'static str, usize); 5] {
        let Self { read, store, password, university, import } = self;
        let lanes = [
            ("read", read),
            ("store", store),
            ("password", password),
            ("university", university),
            ("import", import),
        ];
        lanes.map(|(name, lane)| (name, lane.depth()))
    }
}

impl Lane {
    /// How much waits for its turn.
    fn depth(&self) -> usize {
        match self {
            Self::Waiting { places, running, waiting } => {
                (waiting + running.available_permits()).saturating_sub(places.available_permits())
            }
            Self::Short(jobs) => jobs.len(),
        }
    }

    fn waiting(running: usize, waiting: usize) -> Self {
        let places = Arc::new(Semaphore::new(running + waiting));
        Self::Waiting { places, running: Arc::new(Semaphore::new(running)), waiting }
    }

    fn short(threads: usize, queue: usize) -> Self {
        let (jobs, next) = crossbeam_channel::bounded::<Job>(queue.max(1));
        for _ in 0..threads {
            let next = next.clone();
            // It ends with the last sender, that is with the server.
            std::thread::spawn(move || next.iter().for_each(|job| job()));
        }
        Self::Short(jobs)
    }

    /// Runs `work` off the async threads, to its end whoever still waits for it.
    ///
    /// # Errors
    /// What `work` answers; `overloaded` at once when the lane is full.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self {
            Self::Waiting { places, running, .. } => {
                let place = Arc::clone(places).try_acquire_owned().map_err(|_| Error::Overloaded)?;
                let turn = Arc::clone(running).acquire_owned().await.map_err(|_| Error::Overloaded)?;
                let done = tokio::task::spawn_blocking(move || {
                    // Given back when the work has ended, not when its client has gone.
                    let _held = (place, turn);
                    work()
                });
                match done.await {
                    Ok(result) => result,
                    Err(error) if error.is_panic() => Err(panicked()),
                    Err(_) => Err(Error::Overloaded),
                }
            }
            Self::Short(jobs) => {
                let (answer, answered) = oneshot::channel();
                let job = Box::new(move || {
                    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()));
                    let _ = answer.send(result);
                });
                jobs.try_send(job).map_err(|_| Error::Overloaded)?;
                answered.await.unwrap_or(Err(Error::Overloaded))
            }
        }
    }
}

fn panicked() -> Error {
    Error::Internal("the operation panicked".into())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// The places that are free in a lane, and of those that run.
    fn free(lane: &Lane) -> (usize, usize) {
        match lane {
            Lane::Waiting { places, running, .. } => {
                (places.available_permits(), running.available_permits())
            }
            Lane::Short(_) => panic!("threads have no permits"),
        }
    }

    #[tokio::test]
    async fn a_full_lane_refuses_at_once_and_the_others_run_on() {
        let lanes = Lanes::new(1, 1, 1);
        let (release, released) = mpsc::channel::<()>();
        let store = lanes.store.clone();
        let running = tokio::spawn(async move {
            store.run(move || released.recv().map_err(|e| Error::Internal(e.into()))).await
        });
        while free(&lanes.store).1 > 0 {
            tokio::task::yield_now().await;
        }
        let store = lanes.store.clone();
        let waiting = tokio::spawn(async move { store.run(|| Ok(2)).await });
        while free(&lanes.store).0 > 0 {
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
        let lane = Lane::waiting(1, 0);
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
        while free(&lane).1 > 0 {
            tokio::task::yield_now().await;
        }
        caller.abort();
        let _ = caller.await;
        assert!(matches!(lane.run(|| Ok(())).await, Err(Error::Overloaded)));
        release.send(()).unwrap();
        ended.1.recv().unwrap();
        while free(&lane).0 == 0 {
            tokio::task::yield_now().await;
        }
        lane.run(|| Ok(())).await.unwrap();
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error_and_frees_the_lane() {
        let lane = Lane::waiting(1, 0);
        for lane in [lane, Lane::short(1, 1)] {
            for _ in 0..8 {
                let panicked = lane.run::<()>(|| panic!("a mistake")).await;
                assert_eq!(panicked.unwrap_err().to_string(), "internal error");
                assert_eq!(lane.run(|| Ok(1)).await.unwrap(), 1);
            }
        }
    }

    #[tokio::test]
    async fn short_work_beyond_the_queue_is_refused_at_once() {
        let threads = 2;
        let lane = Lane::short(threads, 1);
        let (started, starts) = mpsc::channel();
        let (release, released) = crossbeam_channel::bounded::<()>(0);
        let hold = || {
            let (lane, started, released) = (lane.clone(), started.clone(), released.clone());
            tokio::spawn(async move {
                lane.run(move || {
                    started.send(()).unwrap();
                    let _ = released.recv();
                    Ok(())
                })
                .await
            })
        };
        for _ in 0..threads {
            hold();
            tokio::task::yield_now().await;
            starts.recv().unwrap();
        }
        let queued = hold();
        tokio::task::yield_now().await;
        assert!(matches!(lane.run(|| Ok(())).await, Err(Error::Overloaded)));
        drop(release);
        queued.await.unwrap().unwrap();
    }
}
