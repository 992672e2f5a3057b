//! Measures a server and its baselines in alternating turns, so that other load on the machine affects both.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::bare;
use crate::client::{LoadResult, Script, each, first, run, run_to_the_end};
use crate::cost::{self, Costs};
use crate::histogram::Histogram;
use crate::noise::Watch;
use crate::server::{CountingServer, Server};

/// The approximate length of a turn. Many short turns vary less than a few long ones, because scheduling differs
/// from turn to turn.
const TURN: Duration = Duration::from_millis(200);
/// The minimum number of turns of a measurement.
const FEWEST_TURNS: u32 = 3;
/// The pause before a disturbed turn is repeated.
const PAUSE: Duration = Duration::from_millis(500);

/// The time for the work that a server does after answering: a deferred write takes up to 200 ms, and replacing the feed
/// index about 400 ms.
const SETTLE: Duration = Duration::from_millis(600);
/// Costs are counted for this part of the time of a measurement.
const COUNTED_PART: u32 = 3;
/// The number of requests that each connection sends before costs are counted, so that caches are filled.
const WARM_UP_REQUESTS: usize = 2;

/// A function that measures a baseline for a given time.
pub(crate) type Limit<'a> = &'a mut dyn FnMut(Duration) -> Result<LoadResult>;

/// A rate, and the baselines that it is compared with.
pub(crate) struct Measured {
    pub(crate) rate: f64,
    pub(crate) limits: Vec<Against>,
    /// The latencies of all turns that were kept.
    pub(crate) latency: Histogram,
    /// The largest share of its processor that the client used, for the server or for a baseline.
    pub(crate) client_busy: f64,
    /// What one request costs the server.
    pub(crate) costs: Costs,
}

/// A baseline, and the ratio of the measured rate to it.
///
/// The ratio is the median of the turns' ratios, so it differs slightly from the ratio of the median rates.
#[derive(Clone, Copy)]
pub(crate) struct Against {
    pub(crate) rate: f64,
    pub(crate) ratio: f64,
}

/// How to measure: number and length of turns, and how long to repeat disturbed turns.
#[derive(Clone)]
pub(crate) struct Turns {
    /// The number of turns in a measurement; odd, so that there is a median.
    count: u32,
    /// The time for which a turn measures the server, and each baseline.
    slice: Duration,
    /// The time left for repeating disturbed turns, shared by clones.
    patience: Rc<Cell<Duration>>,
    /// The number of disturbed turns that were kept.
    disturbed: Rc<Cell<u32>>,
}

impl Turns {
    /// Divides a measurement of `length` into turns.
    pub(crate) fn new(length: Duration, patience: Duration) -> Self {
        let count = u32::try_from(length.as_millis() / TURN.as_millis()).unwrap_or(u32::MAX);
        let count = count.max(FEWEST_TURNS) | 1;
        Self {
            count,
            slice: length / count,
            patience: Rc::new(Cell::new(patience)),
            disturbed: Rc::default(),
        }
    }

    /// Returns fewer and longer turns, for work that takes long; the time for repetitions is shared.
    pub(crate) fn fewer(&self, times: u32) -> Self {
        let count = (self.count / times).max(FEWEST_TURNS) | 1;
        Self { count, slice: self.slice * self.count / count, ..self.clone() }
    }

    /// Returns the number of disturbed turns that were kept since the last call.
    pub(crate) fn take_disturbed(&self) -> u32 {
        self.disturbed.take()
    }

    /// Measures once, and repeats it while other programs disturb it and time for repetitions is left.
    pub(crate) fn undisturbed<T>(&self, mut turn: impl FnMut() -> Result<T>) -> Result<T> {
        loop {
            let (started, watch) = (Instant::now(), Watch::start());
            let outcome = turn()?;
            if !watch.disturbed() {
                return Ok(outcome);
            }
            if self.patience.get().is_zero() {
                self.disturbed.set(self.disturbed.get() + 1);
                return Ok(outcome);
            }
            thread::sleep(PAUSE);
            self.patience.set(self.patience.get().saturating_sub(started.elapsed()));
        }
    }

    /// Returns the whole time of a measurement.
    pub(crate) fn length(&self) -> Duration {
        self.slice * self.count
    }

    /// Counts what a request costs; see [`cost::count`].
    pub(crate) fn count<T>(
        &self,
        server: &CountingServer,
        prepare: impl FnOnce(SocketAddr) -> Result<T>,
        work: impl FnOnce(SocketAddr, T) -> Result<u64>,
    ) -> Result<Costs> {
        cost::count(server, SETTLE.min(self.length()), prepare, work)
    }

    /// Measures a server with the requests of `scripts` and its baselines in turns, then what a request costs.
    pub(crate) fn measure(
        &self,
        server: &Server,
        limits: &mut [Limit<'_>],
        mut scripts: impl FnMut() -> Vec<Script>,
    ) -> Result<Measured> {
        let (before, mut answered) = (server.processor_time(), 0);
        let mut latency = Histogram::new();
        let mut rates = Vec::new();
        let mut busy = Vec::new();
        let mut found = vec![(Vec::new(), Vec::new()); limits.len()];
        for _ in 0..self.count {
            let (bare, result) = self.undisturbed(|| {
                let bare = limits.iter_mut().map(|limit| limit(self.slice)).collect::<Result<Vec<_>>>()?;
                let result = one_group(server.address(), scripts(), self.slice)?;
                answered += result.answered;
                Ok((bare, result))
            })?;
            let all = bare.iter().chain([&result]);
            busy.push(all.map(|result| result.client_busy).fold(0.0, f64::max));
            for ((bare_rates, ratios), bare) in found.iter_mut().zip(bare) {
                bare_rates.push(bare.rate);
                ratios.push(result.rate / bare.rate);
            }
            rates.push(result.rate);
            latency.merge(&result.latency);
        }
        let limits =
            found.into_iter().map(|(rates, ratios)| Against { rate: middle(rates), ratio: middle(ratios) });
        let limits = limits.collect();

        thread::sleep(SETTLE.min(self.length()));
        let used = server.processor_time_since(before);
        let warm_up = scripts().into_iter().map(|script| first(script, WARM_UP_REQUESTS)).collect();
        let costs = self.count(
            &server.counting()?,
            |address| run_to_the_end(address, warm_up),
            |address, ()| Ok(one_group(address, scripts(), self.length() / COUNTED_PART)?.answered),
        )?;
        let costs = costs.with_processor_time(used, answered);
        Ok(Measured { rate: middle(rates), limits, latency, client_busy: middle(busy), costs })
    }

    /// Measures scripts against a bare warp server that receives `request` and responds with `body`.
    pub(crate) fn against_warp(
        &self,
        connections: usize,
        (request, body): (&[u8], &[u8]),
        server: &Server,
        scripts: impl FnMut() -> Vec<Script>,
    ) -> Result<Measured> {
        let bare = bare::warp_with(body)?;
        let mut warp = |slice| one_group(bare.address, each(connections, request), slice);
        self.measure(server, &mut [&mut warp], scripts)
    }

    /// Runs groups of connections concurrently for the whole length.
    pub(crate) fn together<const GROUPS: usize>(
        &self,
        address: SocketAddr,
        mut groups: impl FnMut() -> [Vec<Script>; GROUPS],
    ) -> Result<[LoadResult; GROUPS]> {
        self.undisturbed(|| run(address, groups(), self.length()))
    }
}

/// Runs one group of connections.
pub(crate) fn one_group(address: SocketAddr, scripts: Vec<Script>, length: Duration) -> Result<LoadResult> {
    let [result] = run(address, [scripts], length)?;
    Ok(result)
}

/// Returns the median: the upper one of an even number of figures, 0 if there are none.
pub(crate) fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}
