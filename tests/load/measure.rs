//! Comparing a server with its limits, in turns, so that a busy moment of the machine meets both.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::bare;
use crate::client::{Script, Tally, each, run};
use crate::histogram::Histogram;
use crate::noise::Watch;

/// A turn takes about so long: many turns tell more than long ones, as threads and processors find each other
/// anew in each, and sometimes better.
const TURN: Duration = Duration::from_millis(200);
/// The fewest turns of a measurement.
const FEWEST_TURNS: u32 = 3;
/// Until a disturbed turn is tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// A measure of a limit, for that much time.
pub(crate) type Limit<'a> = &'a mut dyn FnMut(Duration) -> Result<Tally>;

/// A rate and the limits it is measured against.
pub(crate) struct Measured {
    pub(crate) rate: f64,
    pub(crate) limits: Vec<Against>,
    /// Of all answers of the turns that were kept.
    pub(crate) latency: Histogram,
    /// The greatest share of its processor that the client used, for the server or for a limit.
    pub(crate) client_busy: f64,
}

/// A limit, and which part of it the measured rate is.
///
/// The part is the middle one of the turns' own parts, so it differs a little from one middle rate over the other.
#[derive(Clone, Copy)]
pub(crate) struct Against {
    pub(crate) rate: f64,
    pub(crate) ratio: f64,
}

/// How measurements are made: how long, and how often again when other programs disturb them.
#[derive(Clone)]
pub(crate) struct Turns {
    /// How many turns a measurement has; odd, so that there is a middle one.
    count: u32,
    /// How long a turn measures one thing.
    slice: Duration,
    /// The time left for trying disturbed turns again.
    patience: Rc<Cell<Duration>>,
    /// Turns that were disturbed and kept nevertheless.
    disturbed: Rc<Cell<u32>>,
}

impl Turns {
    /// Turns that take so long, all of one measurement together.
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

    /// Fewer and longer ones, for what is seldom done in a second; patience is shared.
    pub(crate) fn fewer(&self, times: u32) -> Self {
        let count = (self.count / times).max(FEWEST_TURNS) | 1;
        Self { count, slice: self.slice * self.count / count, ..self.clone() }
    }

    /// How many disturbed turns were kept since this was last asked.
    pub(crate) fn take_disturbed(&self) -> u32 {
        self.disturbed.take()
    }

    /// Measures once, and again while other programs disturb it and patience lasts.
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

    /// Measures a rate and its limits in turns.
    pub(crate) fn measure(
        &self,
        limits: &mut [Limit<'_>],
        mut measured: impl FnMut(Duration) -> Result<Tally>,
    ) -> Result<Measured> {
        let mut latency = Histogram::new();
        let mut rates = Vec::new();
        let mut busy = Vec::new();
        let mut found = vec![(Vec::new(), Vec::new()); limits.len()];
        for _ in 0..self.count {
            let (bare, tally) = self.undisturbed(|| {
                let bare = limits.iter_mut().map(|limit| limit(self.slice)).collect::<Result<Vec<_>>>()?;
                Ok((bare, measured(self.slice)?))
            })?;
            let all = bare.iter().chain([&tally]);
            busy.push(all.map(|tally| tally.client_busy).fold(0.0, f64::max));
            for ((bare_rates, ratios), bare) in found.iter_mut().zip(bare) {
                bare_rates.push(bare.rate);
                ratios.push(tally.rate / bare.rate);
            }
            rates.push(tally.rate);
            latency.merge(&tally.latency);
        }
        let limits =
            found.into_iter().map(|(rates, ratios)| Against { rate: middle(rates), ratio: middle(ratios) });
        let limits = limits.collect();
        Ok(Measured { rate: middle(rates), limits, latency, client_busy: middle(busy) })
    }

    /// Measures scripts against a bare warp that is asked `request`, of which the server's answer is `body`.
    pub(crate) fn against_warp(
        &self,
        connections: usize,
        (request, body): (&[u8], &[u8]),
        address: SocketAddr,
        mut scripts: impl FnMut() -> Vec<Script>,
    ) -> Result<Measured> {
        let server = bare::warp_with(body)?;
        let mut warp = |slice| one_group(server.address, each(connections, request), slice);
        self.measure(&mut [&mut warp], |slice| one_group(address, scripts(), slice))
    }

    /// Runs groups of connections beside each other for the whole length.
    pub(crate) fn together<const GROUPS: usize>(
        &self,
        address: SocketAddr,
        mut groups: impl FnMut() -> [Vec<Script>; GROUPS],
    ) -> Result<[Tally; GROUPS]> {
        self.undisturbed(|| run(address, groups(), self.slice * self.count))
    }
}

/// Runs one group of connections.
pub(crate) fn one_group(address: SocketAddr, scripts: Vec<Script>, length: Duration) -> Result<Tally> {
    let [tally] = run(address, [scripts], length)?;
    Ok(tally)
}

/// The middle one of some figures; of an even number the upper middle one, of none 0.
pub(crate) fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}
