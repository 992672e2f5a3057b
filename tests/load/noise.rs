//! What else runs on the machine: a turn during which others used its processors says little about tidings.

use std::fs;
use std::process;

use crate::client::whole;

/// Others may use this share of all processors.
const MUCH: f64 = 0.10;
/// The parent of the system's own threads, whose work is mostly done for what is measured here.
const SYSTEM: u32 = 2;

/// Watches the processors from now on, where there is a `/proc` to watch; elsewhere all seems quiet.
pub(crate) struct Watch(Option<Ticks>);

/// Processor time until now, in ticks of the system.
struct Ticks {
    /// Busy or idle, of all processors.
    all: u64,
    /// Used by programs that have nothing to do with this one.
    others: u64,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self(Ticks::now())
    }

    /// Whether others used much of the processors since the start.
    pub(crate) fn disturbed(&self) -> bool {
        let (Some(before), Some(now)) = (&self.0, Ticks::now()) else { return false };
        whole(now.others.saturating_sub(before.others)) > MUCH * whole(now.all.saturating_sub(before.all))
    }
}

impl Ticks {
    fn now() -> Option<Self> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let figures = stat.lines().next()?.split_whitespace().skip(1);
        let figures: Vec<u64> = figures.map_while(|figure| figure.parse().ok()).take(8).collect();
        // The last of the eight was taken by other machines on the same hardware.
        let stolen = figures.get(7)?;
        Some(Self { all: figures.iter().sum(), others: stolen + others()? })
    }
}

/// The ticks of all processes but this one and those that it started.
fn others() -> Option<u64> {
    let me = process::id();
    let mut ticks = 0;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        // What is not named by a number is no process, or this one under another name.
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process may end while it is looked at; then its parent has its ticks.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((parent, used)) = parent_and_ticks(&stat) else { continue };
        if number != me && parent != me && parent != SYSTEM {
            ticks += used;
        }
    }
    Some(ticks)
}

/// What a process's `stat` line tells: who started it, and the ticks of it and of those it started that have ended.
fn parent_and_ticks(stat: &str) -> Option<(u32, u64)> {
    // The name stands in brackets and may itself hold brackets and spaces.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let parent = fields.get(1)?.parse::<u32>().ok()?;
    // Of itself in user and system mode, then the same of the ended ones.
    let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some((parent, ticks))
}
