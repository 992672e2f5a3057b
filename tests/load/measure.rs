//! Measures a server and its baseline in alternating turns, so that other load on the machine affects both.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use crate::Result;
use crate::bare;
use crate::client::{LoadResult, Script, each, first, get, run, run_to_the_end};
use crate::cost::{self, Costs};
use crate::histogram::Histogram;
use crate::program::Server;

/// The approximate length of a turn. Many short turns vary less than a few long ones, because scheduling differs
/// from turn to turn.
const TURN: Duration = Duration::from_millis(200);
/// The minimum number of turns of a measurement.
const FEWEST_TURNS: u32 = 3;
/// The time for the work that a server does after answering: a deferred write takes up to 200 ms, and replacing the feed
/// index about 400 ms.
const SETTLE: Duration = Duration::from_millis(600);
/// Costs are counted for this part of the time of a measurement.
const COUNTED_PART: u32 = 3;
/// The number of requests that each connection sends before costs are counted, so that caches are filled.
const WARM_UP_REQUESTS: usize = 2;

type Limit<'a> = &'a mut dyn FnMut(Duration) -> Result<LoadResult>;

/// A rate, and the baseline that it is compared with.
pub(crate) struct Measured {
    pub(crate) rate: f64,
    /// The rate of the baseline, and the median of the turns' ratios to it.
    pub(crate) limit: Option<(f64, f64)>,
    pub(crate) latency: Histogram,
    /// The largest share of its processor that the client used, for the server or for the baseline.
    pub(crate) client_busy: f64,
    pub(crate) costs: Costs,
}

/// How to measure: number and length of turns.
#[derive(Clone, Copy)]
pub(crate) struct Turns {
    /// The number of turns in a measurement; odd, so that there is a median.
    count: u32,
    /// The time for which a turn measures the server, and the baseline.
    slice: Duration,
}

impl Turns {
    /// Divides a measurement of `length` into turns.
    pub(crate) fn new(length: Duration) -> Self {
        let count = u32::try_from(length.as_millis() / TURN.as_millis()).unwrap_or(u32::MAX);
        let count = count.max(FEWEST_TURNS) | 1;
        Self { count, slice: length / count }
    }

    pub(crate) fn fewer(self, times: u32) -> Self {
        let count = (self.count / times).max(FEWEST_TURNS) | 1;
        Self { count, slice: self.length() / count }
    }

    /// Returns the whole time of a measurement.
    pub(crate) fn length(self) -> Duration {
        self.slice * self.count
    }

    /// Counts what a request costs; see [`cost::count`].
    pub(crate) fn count(self, server: &Server, work: impl FnOnce() -> Result<u64>) -> Result<Costs> {
        cost::count(server, SETTLE.min(self.length()), work)
    }

    /// Measures a server with the requests of `scripts` and its baseline in turns, then what a request costs.
    pub(crate) fn measure(
        self,
        server: &Server,
        mut limit: Option<Limit<'_>>,
        mut scripts: impl FnMut() -> Vec<Script>,
    ) -> Result<Measured> {
        let (before, mut answered) = (server.processor_time(), 0);
        let (mut latency, mut client_busy) = (Histogram::new(), Vec::new());
        let (mut rates, mut bare_rates, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.count {
            let bare = limit.as_mut().map(|limit| limit(self.slice)).transpose()?;
            let result = one_group(server.address(), scripts(), self.slice)?;
            answered += result.answered;
            client_busy.push(bare.as_ref().map_or(0.0, |bare| bare.client_busy).max(result.client_busy));
            if let Some(bare) = bare {
                bare_rates.push(bare.rate);
                ratios.push(result.rate / bare.rate);
            }
            rates.push(result.rate);
            latency.merge(&result.latency);
        }
        thread::sleep(SETTLE.min(self.length()));
        let used = server.processor_time_since(before);
        let counting = server.counting()?;
        let warm_up = scripts().into_iter().map(|script| first(script, WARM_UP_REQUESTS)).collect();
        run_to_the_end(counting.address(), warm_up)?;
        let costs = self.count(&counting, || {
            Ok(one_group(counting.address(), scripts(), self.length() / COUNTED_PART)?.answered)
        })?;
        Ok(Measured {
            rate: middle(rates),
            limit: limit.map(|_| (middle(bare_rates), middle(ratios))),
            latency,
            client_busy: middle(client_busy),
            costs: costs.with_processor_time(used, answered),
        })
    }

    /// Measures scripts on so many connections against a bare warp server that receives requests with `token`, so that it
    /// reads headers of the same size, and responds with `body`.
    pub(crate) fn against_warp(
        self,
        server: &Server,
        connections: usize,
        (body, token): (&[u8], Option<&str>),
        scripts: impl FnMut() -> Vec<Script>,
    ) -> Result<Measured> {
        let ((_bare, address), request) = (bare::warp_with(body)?, get(bare::PATH, token));
        let mut warp = |slice| one_group(address, each(connections, &request), slice);
        self.measure(server, Some(&mut warp), scripts)
    }
}

pub(crate) fn one_group(address: SocketAddr, scripts: Vec<Script>, length: Duration) -> Result<LoadResult> {
    let [result] = run(address, [scripts], length)?;
    Ok(result)
}

/// Returns the median: the upper one of an even number of figures, 0 if there are none.
pub(crate) fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}
