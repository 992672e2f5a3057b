//! A pool of read connections, opened on demand and reused.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{ServerError, StoreError};

/// The interval of attempts to open a connection on a server that has none free.
const REOPEN: Duration = Duration::from_millis(200);

/// Long reads may use some of the connections.
pub(super) struct Pool<C> {
    size: usize,
    limits: WaitLimits,
    connections: Mutex<Connections<C>>,
    long: Mutex<usize>,
    long_ended: Condvar,
}

/// Reads beyond the limits fail.
#[derive(Clone, Copy)]
pub(super) struct WaitLimits {
    pub(super) time: Duration,
    pub(super) reads: usize,
}

impl WaitLimits {
    pub(super) const NONE: Self = Self { time: Duration::from_secs(86_400), reads: usize::MAX };
}

struct Connections<C> {
    idle: Vec<C>,
    open: usize,
    queue: VecDeque<oneshot::Sender<Place<C>>>,
}

enum Place<C> {
    Connection(C),
    /// The right to open a connection, which is counted as open.
    Free,
}

impl<C> Connections<C> {
    fn hand_on(&mut self, mut place: Place<C>) {
        while let Some(waiting) = self.queue.pop_front() {
            match waiting.send(place) {
                Ok(()) => return,
                Err(refused) => place = refused.into_inner(),
            }
        }
        match place {
            Place::Connection(connection) => self.idle.push(connection),
            Place::Free => self.open -= 1,
        }
    }
}

impl<C> Pool<C> {
    pub(super) fn new(size: usize, limits: WaitLimits) -> Self {
        Self {
            size,
            limits,
            connections: Mutex::new(Connections { idle: Vec::new(), open: 0, queue: VecDeque::new() }),
            long: Mutex::default(),
            long_ended: Condvar::new(),
        }
    }

    pub(super) fn has_idle(&self) -> bool {
        self.connections.try_lock().is_ok_and(|all| !all.idle.is_empty())
    }

    /// Waits for a connection if all are in use, if some are and `may_open` returns false, or if the server has none free. Reads
    /// wait in turn; beyond the limits they get [`StoreError::Overloaded`].
    pub(super) fn lease(
        &self,
        may_open: impl Fn() -> bool,
        mut open: impl FnMut() -> Result<C, StoreError>,
    ) -> Result<Lease<'_, C>, StoreError> {
        let began = Instant::now();
        let lease = |connection| Ok(Lease { pool: self, connection: Some(connection) });
        let mut crowded = None;
        let mut is_refused = false;
        let mut all = self.lock();
        loop {
            // A new read does not overtake those that wait, unless they wait for the server.
            let may_take = all.queue.is_empty() || crowded.is_some();
            let place = match is_refused {
                true => all.idle.pop().map(Place::Connection),
                false if may_take => self.place(&mut all, &may_open),
                false => None,
            };
            is_refused = false;
            let place = if place.is_some() {
                drop(all);
                place
            } else {
                let left = self.limits.time.saturating_sub(began.elapsed());
                if left.is_zero() || all.queue.len() >= self.limits.reads {
                    return Err(crowded.unwrap_or(StoreError::Overloaded));
                }
                self.wait(all, if crowded.is_some() { left.min(REOPEN) } else { left })
            };
            match place {
                Some(Place::Connection(connection)) => return lease(connection),
                Some(Place::Free) => {
                    // Dropping it without a connection gives the place to the next read.
                    let mut opened = Lease { pool: self, connection: None };
                    match open() {
                        Ok(connection) => {
                            opened.connection = Some(connection);
                            return Ok(opened);
                        }
                        Err(error @ StoreError::Server(ServerError::TooManyConnections { .. })) => {
                            (crowded, is_refused) = (Some(error), true);
                            std::mem::forget(opened);
                            all = self.lock();
                            all.open -= 1;
                        }
                        Err(error) => return Err(error),
                    }
                }
                None => all = self.lock(),
            }
        }
    }

    fn place(&self, all: &mut Connections<C>, may_open: impl Fn() -> bool) -> Option<Place<C>> {
        if let Some(connection) = all.idle.pop() {
            return Some(Place::Connection(connection));
        }
        let is_free = all.open < self.size && (all.open == 0 || may_open());
        is_free.then(|| {
            all.open += 1;
            Place::Free
        })
    }

    fn wait(&self, mut all: MutexGuard<'_, Connections<C>>, time: Duration) -> Option<Place<C>> {
        let (sender, receiver) = oneshot::channel();
        all.queue.push_back(sender);
        drop(all);
        let place = receiver.recv_timeout(time);
        // Places are handed on under the lock, so none is lost between this look and the end of the receiver.
        let mut all = self.lock();
        let place = place.ok().or_else(|| receiver.try_recv().ok());
        drop(receiver);
        all.queue.retain(|waiting| !waiting.is_closed());
        place
    }

    /// Long reads use at most half of the connections.
    pub(super) fn begin_long(&self) -> Result<LongRead<'_, C>, StoreError> {
        let running = self.long.lock().unwrap_or_else(PoisonError::into_inner);
        let may_not = |running: &mut usize| *running >= self.size / 2;
        let waited = self.long_ended.wait_timeout_while(running, self.limits.time, may_not);
        let (mut all, result) = waited.unwrap_or_else(PoisonError::into_inner);
        if result.timed_out() {
            return Err(StoreError::Overloaded);
        }
        *all += 1;
        Ok(LongRead(self))
    }

    pub(super) fn take_idle(&self) -> Vec<C> {
        let mut all = self.lock();
        all.open -= all.idle.len();
        std::mem::take(&mut all.idle)
    }

    fn lock(&self) -> MutexGuard<'_, Connections<C>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct LongRead<'p, C>(&'p Pool<C>);

impl<C> Drop for LongRead<'_, C> {
    fn drop(&mut self) {
        *self.0.long.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.long_ended.notify_one();
    }
}

/// Dropping it returns the connection to the pool, or closes it during a panic.
pub(super) struct Lease<'p, C> {
    pool: &'p Pool<C>,
    connection: Option<C>,
}

impl<C> Lease<'_, C> {
    pub(super) fn connection(&mut self) -> &mut C {
        self.connection.as_mut().expect("a lease has a connection until it ends")
    }

    #[cfg(feature = "postgres")]
    pub(super) fn close(mut self) {
        self.connection = None;
    }
}

impl<C> Drop for Lease<'_, C> {
    fn drop(&mut self) {
        let place = match self.connection.take() {
            Some(connection) if !std::thread::panicking() => Place::Connection(connection),
            _ => Place::Free,
        };
        self.pool.lock().hand_on(place);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn pool(size: usize, milliseconds: u64, reads: usize) -> Arc<Pool<usize>> {
        Arc::new(Pool::new(size, WaitLimits { time: Duration::from_millis(milliseconds), reads }))
    }

    fn crowded() -> StoreError {
        ServerError::TooManyConnections { message: "sorry".into() }.into()
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(20), "it never comes");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn reads_get_returned_connections_in_the_order_in_which_they_came() {
        let pool = pool(1, 60_000, 8);
        let first = pool.lease(|| true, || Ok(1)).unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..4)
            .map(|n| {
                let (waiting, order) = (Arc::clone(&pool), Arc::clone(&order));
                let thread = thread::spawn(move || {
                    let _lease = waiting.lease(|| true, || Ok(9)).unwrap();
                    order.lock().unwrap().push(n);
                });
                wait_until(|| pool.lock().queue.len() == n + 1);
                thread
            })
            .collect();
        drop(first);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
        let all = pool.lock();
        assert_eq!((all.open, all.idle.len()), (1, 1));
    }

    #[test]
    fn a_read_beyond_the_limits_of_waiting_fails() {
        let pool = pool(1, 20, 1);
        let first = pool.lease(|| true, || Ok(1)).unwrap();
        let waiting = Arc::clone(&pool);
        let is_overloaded =
            |result: Result<Lease<'_, usize>, StoreError>| matches!(result, Err(StoreError::Overloaded));
        assert!(is_overloaded(waiting.lease(|| true, || Ok(2))), "the time is over");
        let no_places = Pool::new(1, WaitLimits { time: Duration::from_secs(60), reads: 0 });
        let _other = no_places.lease(|| true, || Ok(1)).unwrap();
        assert!(is_overloaded(no_places.lease(|| true, || Ok(2))), "no other read may wait");
        drop(first);
        assert_eq!(*pool.lease(|| true, || Ok(3)).unwrap().connection(), 1);
        let long = pool.begin_long();
        assert!(matches!(long, Err(StoreError::Overloaded)), "half of one connection is none");
    }

    #[test]
    fn a_read_waits_while_the_server_has_no_free_connection() {
        let pool = pool(4, 60_000, 8);
        let first = pool.lease(|| true, || Ok(1)).unwrap();
        let (waiting, tries) = (Arc::clone(&pool), Arc::new(AtomicUsize::new(0)));
        let counter = Arc::clone(&tries);
        let thread = thread::spawn(move || {
            let open = || {
                counter.fetch_add(1, Ordering::SeqCst);
                Err(crowded())
            };
            *waiting.lease(|| true, open).unwrap().connection()
        });
        wait_until(|| tries.load(Ordering::SeqCst) > 0 && pool.lock().queue.len() == 1);
        drop(first);
        assert_eq!(thread.join().unwrap(), 1, "the connection of another read is free first");
        // Without another read the server may have a free connection later.
        drop(pool.take_idle());
        let tries = AtomicUsize::new(0);
        let mut lease = pool
            .lease(|| true, || if tries.fetch_add(1, Ordering::SeqCst) < 2 { Err(crowded()) } else { Ok(7) });
        assert_eq!(*lease.as_mut().unwrap().connection(), 7);
        drop(lease);
        assert_eq!(pool.lock().open, 1);
    }

    #[test]
    fn a_server_that_never_has_a_free_connection_is_the_error() {
        let pool: Arc<Pool<usize>> = pool(4, 250, 8);
        let error = pool.lease(|| true, || Err(crowded())).err();
        assert!(
            matches!(error, Some(StoreError::Server(ServerError::TooManyConnections { .. }))),
            "{error:?}"
        );
        assert_eq!(pool.lock().open, 0);
    }
}
