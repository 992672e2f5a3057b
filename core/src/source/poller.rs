//! The thread that fetches the sources that are due.
//!
//! Of several servers of a database one fetches, by lease. Other threads wait for the network, without a connection to the
//! database, so that a slow server delays no other source, and no end of the service; there are few of them, and fewer to one
//! host. This thread writes the results.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use url::Url;

use super::fetch::Failure;
use super::run::{Asked, Reader, ask_record};
use super::sql::{self, Record};
use super::websub;
use crate::base::clock::{Clock, Timestamp};
use crate::base::config::Config;
use crate::record::background::{Background, Stop, log_failure};
use crate::record::error::{Error, Result};
use crate::record::id::SourceKey;
use crate::record::lease::Lease;
use crate::store::{Isolation, Store, StoreError, Topic};

const AT_ONCE: usize = 8;
const PER_HOST: usize = 2;
/// Until the next look if nothing happens.
const INTERVAL: Duration = Duration::from_secs(60);
/// Until the next look while fetches run, so that the lease is renewed, and while another server has the lease.
const SHORT_INTERVAL: Duration = Duration::from_secs(1);
/// Until the next look after a failure of the store, and until a source whose fetch could not be stored is fetched again.
const FAILURE_INTERVAL: Duration = Duration::from_secs(60);

pub(crate) struct Poller {
    shared: Arc<Shared>,
    thread: Background,
}

struct Shared {
    reader: Reader,
    stop: Stop,
}

enum Outcome {
    Fetched(Box<(Record, Result<Asked, Failure>)>),
    Subscribed(SourceKey, Result<(), Failure>),
}

struct Worker {
    shared: Arc<Shared>,
    lease: Lease,
    /// The sources that are being fetched or subscribed to, each with the host that is asked.
    running: HashMap<SourceKey, String>,
    /// The sources whose fetches could not be stored, each with the end of its wait.
    held: HashMap<SourceKey, Instant>,
    ended: (mpsc::Sender<Outcome>, mpsc::Receiver<Outcome>),
    /// The number of outcomes in the channel.
    waiting: Arc<AtomicUsize>,
}

impl Poller {
    /// Does not start the thread.
    pub(crate) fn new(store: &Arc<Store>, clock: &Clock, config: &Config) -> Self {
        let stop = Stop::default();
        let shared = Shared { reader: Reader::new(store, clock, config), stop: stop.clone() };
        Self { shared: Arc::new(shared), thread: Background::new(Arc::clone(store), stop) }
    }

    /// Does nothing if the thread is running.
    pub(crate) fn start(&self) -> Result<()> {
        self.shared.reader.http()?;
        let worker = Worker::new(Arc::clone(&self.shared));
        self.thread.start("tidings-sources", || Ok(move || worker.run()))
    }

    pub(super) fn reader(&self) -> &Reader {
        &self.shared.reader
    }
}

impl Worker {
    fn new(shared: Arc<Shared>) -> Self {
        let Reader { store, clock, .. } = &shared.reader;
        let lease = Lease::reaching_out(Arc::clone(store), clock.clone(), "sources");
        let (running, held) = (HashMap::new(), HashMap::new());
        Self { shared, lease, running, held, ended: mpsc::channel(), waiting: Arc::default() }
    }

    fn run(mut self) {
        let store = Arc::clone(&self.shared.reader.store);
        let versions = store.versions();
        while !self.shared.stop.is_set() {
            let version = store.version(Topic::Sources);
            let pause = self.pass().unwrap_or_else(|error| {
                log_failure(&error, "sources cannot be fetched yet");
                FAILURE_INTERVAL
            });
            let has_outcome = || self.waiting.load(Ordering::Acquire) > 0;
            let stopped = || self.shared.stop.is_set() || has_outcome();
            versions.wait_for(Topic::Sources, version, pause, stopped);
        }
        if let Err(error) = self.lease.release() {
            tracing::debug!(%error, "the lease of fetching sources ends later");
        }
    }

    /// Returns the time until the next look, unless something changes before.
    fn pass(&mut self) -> Result<Duration> {
        self.collect();
        let reader = &self.shared.reader;
        let now = reader.clock.now();
        let has_address = reader.public_url.is_some();
        let (due, hubs, next) = reader.store.read(|tx| {
            let hubs = if has_address { websub::sql::due(tx, now)? } else { Vec::new() };
            let next_hub = if has_address { websub::sql::next_request(tx, now)? } else { None };
            let next = [sql::next_fetch(tx, now)?, next_hub].into_iter().flatten().min();
            Ok::<_, StoreError>((sql::due(tx, now)?, hubs, next))
        })?;
        self.held.retain(|_, until| *until > Instant::now());
        if due.is_empty() && hubs.is_empty() && self.running.is_empty() {
            self.lease.release()?;
            return Ok(until(next, now).min(INTERVAL));
        }
        if !self.lease.hold()? {
            return Ok(SHORT_INTERVAL);
        }
        for (source, url) in due {
            self.fetch(source, &url)?;
        }
        for (source, hub) in hubs {
            self.subscribe(source, &hub)?;
        }
        Ok(until(next, now).min(SHORT_INTERVAL))
    }

    fn collect(&mut self) {
        while let Ok(outcome) = self.ended.1.try_recv() {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            let (record, asked) = match outcome {
                Outcome::Fetched(fetched) => *fetched,
                Outcome::Subscribed(source, asked) => {
                    self.running.remove(&source);
                    if let Err(failure) = asked {
                        tracing::info!(
                            source = source.as_i64(),
                            error = failure.reason,
                            "a hub cannot be asked"
                        );
                    }
                    continue;
                }
            };
            self.running.remove(&record.key);
            match self.shared.reader.take_in(&record, asked) {
                // The source was removed, or has another address, meanwhile.
                Ok(_) | Err(Error::NotFound) => {}
                Err(error) => {
                    self.held.insert(record.key, Instant::now() + FAILURE_INTERVAL);
                    log_failure(&error, "the outcome of a fetch cannot be stored");
                }
            }
        }
    }

    /// Does nothing if the source is being fetched, or too many are.
    fn fetch(&mut self, source: SourceKey, url: &str) -> Result<()> {
        let Some(host) = self.room(source, url) else { return Ok(()) };
        let reader = &self.shared.reader;
        let record = match reader.record(source) {
            Err(Error::NotFound) => return Ok(()),
            record => record?,
        };
        let (http, now) = (reader.http()?, reader.clock.now());
        tracing::debug!(source = source.as_i64(), host, "a source is fetched");
        self.begin(source, host, move || {
            let asked = ask_record(&http, &record, now);
            Outcome::Fetched(Box::new((record, asked)))
        })
    }

    fn subscribe(&mut self, source: SourceKey, hub: &str) -> Result<()> {
        let (Some(own), Some(host)) = (self.shared.reader.public_url.clone(), self.room(source, hub)) else {
            return Ok(());
        };
        let reader = &self.shared.reader;
        let (http, now) = (reader.http()?, reader.clock.now());
        let begun = reader.store.write(Isolation::Alone, move |tx| websub::sql::begin(tx, source, now))?;
        let Some(subscription) = begun else { return Ok(()) };
        tracing::debug!(source = source.as_i64(), host, "a hub is asked for a subscription");
        self.begin(source, host, move || Outcome::Subscribed(source, subscription.ask(&http, &own)))
    }

    /// Returns the host of an address, if it may be asked for a source now.
    fn room(&self, source: SourceKey, url: &str) -> Option<String> {
        let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let of_host = self.running.values().filter(|other| **other == host).count();
        let is_busy = self.running.len() >= AT_ONCE || of_host >= PER_HOST;
        let waits = self.running.contains_key(&source) || self.held.contains_key(&source);
        (!is_busy && !waits).then_some(host)
    }

    fn begin(
        &mut self,
        source: SourceKey,
        host: String,
        request: impl FnOnce() -> Outcome + Send + 'static,
    ) -> Result<()> {
        let versions = self.shared.reader.store.versions();
        let (ended, waiting) = (self.ended.0.clone(), Arc::clone(&self.waiting));
        let run = move || {
            let outcome = request();
            // Before `send`, because the number is subtracted as soon as the outcome is taken.
            waiting.fetch_add(1, Ordering::AcqRel);
            // Nobody receives it if the service has stopped.
            let _ = ended.send(outcome);
            versions.wake();
        };
        let thread = std::thread::Builder::new().name("tidings-source".into()).spawn(run);
        thread.map_err(|error| Error::Internal(error.into()))?;
        self.running.insert(source, host);
        Ok(())
    }
}

fn until(next: Option<Timestamp>, now: Timestamp) -> Duration {
    next.map_or(INTERVAL, |next| Duration::from_millis(u64::try_from(next - now).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::super::Add;
    use super::*;
    use crate::Tidings;
    use crate::account::Caller;
    use crate::testing;

    #[test]
    fn only_the_server_with_the_lease_fetches_and_another_takes_over() {
        let service = testing::service();
        for url in ["https://source.invalid/1", "https://source.invalid/2"] {
            service.call(&Caller::Operator, Add { url: url.into(), ..Add::default() }).unwrap();
        }
        service.clock().advance(6_000);
        let others = [(); 2].map(|()| service.beside());
        let worker = |tidings: &Tidings| {
            Worker::new(Poller::new(&tidings.0.store, tidings.clock(), tidings.config()).shared)
        };
        let [mut one, mut two] = others.each_ref().map(worker);
        one.pass().unwrap();
        two.pass().unwrap();
        assert_eq!((one.running.len(), two.running.len()), (2, 0));
        // The lease of a server that was killed ends.
        service.clock().advance(16_000);
        two.pass().unwrap();
        assert_eq!(two.running.len(), 2);
    }
}
