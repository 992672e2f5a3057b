//! Runs a target on many inputs.

use std::any::Any;
use std::cell::RefCell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use tidings_vectors::Random;

use crate::mutate::input;
use crate::targets::Target;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub iterations: u64,
    pub time: Duration,
    /// The maximum processor time of an input per started MiB; `None`: unlimited.
    pub slow: Option<Duration>,
    pub threads: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    pub inputs: u64,
    pub accepted: u64,
}

#[derive(Debug)]
pub struct Failure {
    pub input: Vec<u8>,
    /// The file name: the target, the seed and the number of the input, or the name of the regression.
    pub name: String,
    pub reason: String,
}

impl Failure {
    pub fn write(&self, directory: &Path) -> std::io::Result<PathBuf> {
        fs::create_dir_all(directory)?;
        let file = directory.join(&self.name);
        fs::write(&file, &self.input)?;
        Ok(file)
    }
}

/// Runs a target on the saved regressions, then the examples, then mutated inputs. The error is the first input that fails.
pub fn run(target: &Target, seed: u64, limits: Limits) -> Result<Report, Box<Failure>> {
    quiet();
    let examples = target.examples();
    let mut report = Report::default();
    for (name, input) in regressions(target.name).into_iter().chain(numbered(&examples)) {
        report.inputs += 1;
        report.accepted += u64::from(attempt(target, &input, limits.slow).map_err(|reason| {
            Box::new(Failure { name: format!("{}-{name}", target.name), input, reason })
        })?);
    }
    let made = |number: u64| {
        let mut random = Random::new(seed ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93));
        input(&mut random, &examples, target.dictionary)
    };
    let (began, over) = (Instant::now(), AtomicBool::new(false));
    let (tried, accepted) = (AtomicU64::new(0), AtomicU64::new(0));
    let failed: Mutex<Option<Box<Failure>>> = Mutex::default();
    std::thread::scope(|scope| {
        for thread in 0..limits.threads {
            let (made, over, tried, accepted, failed) = (&made, &over, &tried, &accepted, &failed);
            scope.spawn(move || {
                let mut number = thread;
                while number < limits.iterations
                    && began.elapsed() < limits.time
                    && !over.load(Ordering::Relaxed)
                {
                    let input = made(number);
                    match attempt(target, &input, limits.slow) {
                        Ok(was_accepted) => accepted.fetch_add(u64::from(was_accepted), Ordering::Relaxed),
                        Err(reason) => {
                            over.store(true, Ordering::Relaxed);
                            let name = format!("{}-{seed}-{number}", target.name);
                            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                            failed.get_or_insert(Box::new(Failure { input, name, reason }));
                            0
                        }
                    };
                    tried.fetch_add(1, Ordering::Relaxed);
                    number += limits.threads;
                }
            });
        }
    });
    if let Some(failure) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(failure);
    }
    report.inputs += tried.into_inner();
    report.accepted += accepted.into_inner();
    Ok(report)
}

fn attempt(target: &Target, input: &[u8], slow: Option<Duration>) -> Result<bool, String> {
    let began = processor_time();
    PLACE.set(Some(String::new()));
    let accepted = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let place = PLACE.take().unwrap_or_default();
    let accepted = accepted.map_err(|panic| format!("it panicked{place}: {}", message(&*panic)))?;
    let took = processor_time().saturating_sub(began);
    let shares = u32::try_from(1 + (input.len() >> 20)).unwrap_or(u32::MAX);
    match slow.map(|slow| slow.saturating_mul(shares)).filter(|most| took > *most) {
        Some(most) => Err(format!("it took {took:?} of at most {most:?}, with {} bytes", input.len())),
        None => Ok(accepted),
    }
}

/// Returns the processor time of this thread, which other load on the machine does not affect.
fn processor_time() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let part = |number: i64| u64::try_from(number).unwrap_or_default();
        Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
    }
    #[cfg(not(unix))]
    {
        // Without such a clock, no input counts as slow.
        Duration::ZERO
    }
}

thread_local! {
    /// While this thread runs a target, the location of its panic.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Silences the panic messages of targets, which would fill standard error, and not those of tests.
fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map(|place| format!(" at {place}")).unwrap_or_default();
            if PLACE.with_borrow_mut(|at| at.as_mut().map(|at| *at = place)).is_none() {
                others(info);
            }
        }));
    });
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
}

fn numbered(examples: &[Vec<u8>]) -> impl Iterator<Item = (String, Vec<u8>)> {
    (0..).zip(examples).map(|(number, example): (u32, _)| (format!("example-{number}"), example.clone()))
}

fn regressions(target: &str) -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(target);
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut inputs: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((format!("regression-{name}"), fs::read(entry.path()).ok()?))
        })
        .collect();
    inputs.sort();
    inputs
}
