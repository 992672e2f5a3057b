//! The files that the system lets the process open, of which each connection takes one.

/// Files that are left for the database, the listeners, and what else the process opens.
#[cfg(unix)]
const RESERVED: u64 = 256;

/// Raises the limit of open files as far as `wanted` connections need it, and returns how many there may be.
#[cfg(unix)]
pub(crate) fn room_for(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let needed = wanted as u64 + RESERVED;
    let before = getrlimit(Resource::Nofile);
    if before.current.is_some_and(|current| current < needed) {
        let current = Some(before.maximum.map_or(needed, |maximum| maximum.min(needed)));
        // What is not granted is seen below.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum: before.maximum });
    }
    let room = getrlimit(Resource::Nofile).current.map_or(wanted, |limit| room_of(limit, wanted));
    if room < wanted {
        tracing::warn!(connections = room, wanted, "the limit of open files allows fewer connections");
    }
    room
}

#[cfg(not(unix))]
pub(crate) fn room_for(wanted: usize) -> usize {
    wanted
}

/// How many of `wanted` connections a limit of open files leaves room for; three quarters of a small limit.
#[cfg(unix)]
fn room_of(limit: u64, wanted: usize) -> usize {
    let room = limit - RESERVED.min(limit / 4);
    usize::try_from(room).map_or(wanted, |room| room.clamp(1, wanted))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_database() {
        assert_eq!(room_of(100_000, 10_000), 10_000);
        assert_eq!(room_of(10_256, 10_000), 10_000);
        assert_eq!(room_of(1_024, 10_000), 768);
        assert_eq!(room_of(256, 10_000), 192);
        assert_eq!(room_of(0, 10_000), 1);
    }
}
