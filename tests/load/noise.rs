//! Detects other load on the machine, which would make a turn meaningless.

use std::fs;
use std::process;

use crate::client::whole;

/// The share of all processor time that other programs may use.
const MUCH: f64 = 0.10;
/// The parent process of the kernel's threads, which mostly work for the programs measured here.
const SYSTEM: u32 = 2;

/// Measures the processor time of other programs from now on. Without `/proc` it reports none.
pub(crate) struct Watch(Option<Ticks>);

/// Processor time so far, in clock ticks.
struct Ticks {
    /// Busy and idle time of all processors.
    all: u64,
    /// The time used by programs unrelated to this one.
    others: u64,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self(Ticks::now())
    }

    /// Returns whether other programs used too much processor time since the start.
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
        // The last of the eight is the time stolen by other virtual machines on the same hardware.
        let stolen = figures.get(7)?;
        Some(Self { all: figures.iter().sum(), others: stolen + others()? })
    }
}

/// Returns the ticks of all processes except this one and its descendants.
fn others() -> Option<u64> {
    let me = process::id();
    let mut ticks = 0;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        // Entries without a numeric name are not processes, or are `self`.
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process may exit during the scan; its parent then has its ticks.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((parent, used)) = parent_and_ticks(&stat) else { continue };
        if number != me && parent != me && parent != SYSTEM {
            ticks += used;
        }
    }
    Some(ticks)
}

/// Reads a process's `stat` line: its parent, and the ticks of the process and of its children that have exited.
fn parent_and_ticks(stat: &str) -> Option<(u32, u64)> {
    // The process name is in parentheses and may itself contain parentheses and spaces.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let parent = fields.get(1)?.parse::<u32>().ok()?;
    // User and system time of the process, then of its exited children.
    let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some((parent, ticks))
}
