//! HTTP/2 streams that end when their client does not read the response.
//! A stream with an empty flow-control window keeps its response in memory while the connection lives, and PINGs keep
//! the connection alive. So each stream has a timeout that only progress of its own response extends.

use std::sync::Arc;
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::timeout;

use crate::connection::registry::Connections;
use crate::connection::state::{Connection, StreamState};

/// In addition to the response: the request, the tasks and the state in h2.
pub(crate) const STREAM_COST: usize = 16 * 1024;
/// A stream that was reset may still hold its response for this time.
const RESET_TIME: Duration = Duration::from_secs(5);

tokio::task_local! {
    static STREAM: Arc<StreamState>;
}

/// `None` in HTTP/1.
pub(crate) fn current() -> Option<Arc<StreamState>> {
    STREAM.try_with(Arc::clone).ok()
}

#[derive(Clone)]
pub(crate) struct StreamExecutor {
    connection: Arc<Connection>,
    connections: Arc<Connections>,
    idle: Duration,
}

impl StreamExecutor {
    pub(crate) fn new(connection: &Arc<Connection>, connections: &Arc<Connections>, idle: Duration) -> Self {
        Self { connection: Arc::clone(connection), connections: Arc::clone(connections), idle }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, stream: F) {
        let Self { connection, connections, idle } = self.clone();
        // If there is no memory for the stream, it is dropped, which resets it.
        let Some(charge) = connections.charge(&connection, STREAM_COST, None) else { return };
        let state = Arc::<StreamState>::default();
        tokio::spawn(STREAM.scope(Arc::clone(&state), async move {
            let _charge = charge;
            // The future is boxed so that it can be dropped first, which resets the stream and frees its memory.
            let mut stream = Box::pin(stream);
            let is_stalled = tokio::select! {
                biased;
                () = &mut stream => false,
                () = state.stalled(idle) => true,
            };
            drop(stream);
            if state.taken.get() == 0 && connection.abandon() {
                tracing::debug!("closing a connection: the client resets most of its requests");
                connection.close();
                return;
            }
            // h2 may still hold the last frames for a window that does not open.
            let time = if is_stalled { RESET_TIME } else { idle };
            if timeout(time, state.all_released()).await.is_err() {
                tracing::debug!("closing a connection: the client does not read its response");
                connection.close();
            }
        }));
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Mutex;

    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::config::Config;
    use crate::connection::state::Count;
    use crate::connection::unsent::Charge;

    const IDLE: Duration = Duration::from_secs(75);
    const NEARLY_IDLE: Duration = Duration::from_secs(74);

    fn executor() -> (StreamExecutor, Arc<Connection>, Arc<Count>) {
        let (connection, connections) = (Connection::new(), Connections::new(&Config::default(), 10));
        let executor = StreamExecutor::new(&connection, &connections, IDLE);
        (executor, connection, Arc::clone(&connections.unsent))
    }

    struct Dropped(Arc<Mutex<Option<Instant>>>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(Instant::now());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_only_when_its_client_stops_reading_the_response() {
        let (executor, connection, total) = executor();
        let (began, ended) = (Instant::now(), Arc::default());
        let dropped = Dropped(Arc::clone(&ended));
        executor.execute(async move {
            let _dropped = dropped;
            let stream = current().unwrap();
            // The request runs for longer than a response may go without progress.
            sleep(3 * IDLE).await;
            for _ in 0..3 {
                stream.taken.add(1);
                sleep(NEARLY_IDLE).await;
            }
            pending::<()>().await;
        });
        sleep(20 * IDLE).await;
        let took = ended.lock().unwrap().unwrap() - began;
        assert!((5 * IDLE..=8 * IDLE).contains(&took), "{took:?}");
        assert_eq!((total.get(), connection.unsent.get(), connection.is_closing()), (0, 0, false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_closes_when_its_client_resets_most_requests() {
        let (executor, connection, _) = executor();
        for n in 0..300 {
            drop(connection.begin(true));
            let is_answered = n % 2 == 0;
            executor.execute(async move {
                if is_answered {
                    current().unwrap().taken.add(1);
                }
            });
            sleep(Duration::from_millis(1)).await;
        }
        assert!(!connection.is_closing(), "half of them were answered");
        drop(connection.begin(true));
        executor.execute(async {});
        sleep(Duration::from_millis(1)).await;
        assert!(connection.is_closing());
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_left_in_memory_after_its_stream_closes_the_connection() {
        let (executor, connection, total) = executor();
        let charge = Arc::new(Mutex::new(None));
        let (held, connection_of, total_of) =
            (Arc::clone(&charge), Arc::clone(&connection), Arc::clone(&total));
        executor.execute(async move {
            let stream = current().unwrap();
            *held.lock().unwrap() = Some(Charge::new(&total_of, &connection_of, 1_000, Some(stream)));
        });
        sleep(NEARLY_IDLE).await;
        assert!(!connection.is_closing());
        sleep(Duration::from_secs(2)).await;
        assert!(connection.is_closing());
        drop(charge.lock().unwrap().take());
        assert_eq!((total.get(), connection.unsent.get()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_read_after_its_stream_has_ended_closes_nothing() {
        let (executor, connection, total) = executor();
        let (connection_of, total_of) = (Arc::clone(&connection), Arc::clone(&total));
        executor.execute(async move {
            let stream = current().unwrap();
            stream.taken.add(1);
            let charge = Charge::new(&total_of, &connection_of, 1_000, Some(stream));
            tokio::spawn(async move {
                sleep(IDLE / 2).await;
                drop(charge);
            });
        });
        sleep(2 * IDLE).await;
        assert_eq!((total.get(), connection.unsent.get(), connection.is_closing()), (0, 0, false));
    }
}
