use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::fetch::Failure;
use super::run::{Asked, Reader, ask_record};
use super::sql::{self, Record};
use super::{MINUTE_MS, websub};
use crate::Tidings;
use crate::base::clock::Timestamp;
use crate::record::background::log_failure;
use crate::record::error::{Error, Result};
use crate::record::id::SourceKey;
use crate::record::jobs::{self, Work};
use crate::record::outgoing;
use crate::store::{Isolation, Store, StoreError, Topic, Tx};

/// Until a source whose fetch could not be stored is fetched again.
const HELD_MS: i64 = MINUTE_MS;

struct Queue {
    reader: Arc<Reader>,
    /// The sources whose fetches could not be stored, each with the end of its wait.
    held: HashMap<SourceKey, Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Job {
    Fetch(SourceKey),
    Subscribe(SourceKey),
}

enum Outcome {
    Fetched(Box<(Record, Result<Asked, Failure>)>),
    Subscribed(SourceKey, Result<(), Failure>),
}

pub(crate) fn start(tidings: &Tidings) -> Result<()> {
    tidings.sources().http()?;
    tidings.jobs().start(|| Ok(Queue::new(&tidings.0.sources)))
}

impl Queue {
    fn new(reader: &Arc<Reader>) -> Self {
        Self { reader: Arc::clone(reader), held: HashMap::new() }
    }
}

impl jobs::Queue for Queue {
    type Job = Job;
    type Outcome = Outcome;

    const LEASE: &'static str = "sources";
    const TOPIC: Topic = Topic::Sources;
    const THREADS: [&'static str; 2] = ["tidings-sources", "tidings-source"];
    const AT_ONCE: usize = 8;
    /// A receiver is a host.
    const PER_RECEIVER: usize = 2;
    const FAILURE: &'static str = "sources cannot be fetched yet";
    /// A fetch that is lost is repeated.
    const STOP_TIME: Duration = Duration::ZERO;

    fn look(&mut self, tx: &mut dyn Tx, now: Timestamp) -> Result<jobs::Due<Job>, StoreError> {
        self.held.retain(|_, until| *until > now);
        let has_address = self.reader.public_url().is_some();
        let hubs = if has_address { websub::due(tx, now)? } else { Vec::new() };
        let next_hub = if has_address { websub::next_request(tx, now)? } else { None };
        let host = |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let due = sql::due(tx, now)?.into_iter().filter(|(source, _)| !self.held.contains_key(source));
        let due = due.map(|(source, url)| (Job::Fetch(source), url));
        let due = due.chain(hubs.into_iter().map(|(source, hub)| (Job::Subscribe(source), hub)));
        Ok(jobs::Due {
            jobs: due.map(|(job, url)| (job, host(&url).unwrap_or_default())).collect(),
            next: self.held.values().copied().chain(sql::next_fetch(tx, now)?).chain(next_hub).min(),
        })
    }

    fn begin(&self, store: &Store, job: &Job, now: Timestamp) -> Result<Option<Work<Outcome>>> {
        let http = self.reader.http()?;
        match *job {
            Job::Fetch(source) => {
                let record = match self.reader.record(source) {
                    Err(Error::NotFound) => return Ok(None),
                    record => record?,
                };
                let host = outgoing::origin(&record.source.url);
                tracing::debug!(source = source.as_i64(), host, "a source is fetched");
                Ok(Some(Box::new(move || {
                    let asked = ask_record(&http, &record, now);
                    Outcome::Fetched(Box::new((record, asked)))
                })))
            }
            Job::Subscribe(source) => {
                let begun = store.write(Isolation::Alone, move |tx| websub::begin(tx, source, now))?;
                let (Some(subscription), Some(own)) = (begun, self.reader.public_url().cloned()) else {
                    return Ok(None);
                };
                tracing::debug!(source = source.as_i64(), "a hub is asked for a subscription");
                Ok(Some(Box::new(move || Outcome::Subscribed(source, subscription.ask(&http, &own)))))
            }
        }
    }

    fn end(&mut self, _: &Store, outcomes: &mut Vec<Outcome>, now: Timestamp) -> Result<()> {
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::Fetched(fetched) => {
                    let (record, asked) = *fetched;
                    match self.reader.take_in(&record, asked) {
                        // The source was removed, or has another address, meanwhile.
                        Ok(_) | Err(Error::NotFound) => {}
                        Err(error) => {
                            self.held.insert(record.key, now + HELD_MS);
                            log_failure(&error, "the outcome of a fetch cannot be stored");
                        }
                    }
                }
                Outcome::Subscribed(_, Ok(())) => {}
                Outcome::Subscribed(source, Err(failure)) => {
                    let (source, error) = (source.as_i64(), failure.reason);
                    tracing::info!(source, error, "a hub cannot be asked");
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Add;
    use super::*;
    use crate::account::Caller;
    use crate::record::jobs::Worker;
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
            Worker::new(&tidings.0.store, tidings.clock(), Queue::new(&tidings.0.sources))
        };
        let [mut one, mut two] = others.each_ref().map(worker);
        one.pass().unwrap();
        two.pass().unwrap();
        assert_eq!((one.running(), two.running()), (2, 0));
        // The lease of a server that was killed ends.
        service.clock().advance(16_000);
        two.pass().unwrap();
        assert_eq!(two.running(), 2);
    }
}
