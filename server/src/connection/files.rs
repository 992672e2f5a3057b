//! The limit of open files. Each connection uses one.

/// For the database, the listeners and everything else that the process opens.
#[cfg(unix)]
const RESERVED: u64 = 256;

/// Raises the limit of open files if `wanted` connections need it. Returns how many connections the limit allows.
#[cfg(unix)]
pub(crate) fn room_for(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let needed = wanted as u64 + RESERVED;
    let before = getrlimit(Resource::Nofile);
    if before.current.is_some_and(|current| current < needed) {
        let current = Some(before.maximum.map_or(needed, |maximum| maximum.min(needed)));
        // The limit that the system granted is read below.
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

/// A small limit leaves three quarters for connections.
#[cfg(unix)]
fn room_of(limit: u64, wanted: usize) -> usize {
    let room = limit - RESERVED.min(limit / 4);
    usize::try_from(room).map_or(wanted, |room| room.clamp(1, wanted))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_are_reserved_for_the_database() {
        assert_eq!(room_of(100_000, 10_000), 10_000);
        assert_eq!(room_of(10_256, 10_000), 10_000);
        assert_eq!(room_of(1_024, 10_000), 768);
        assert_eq!(room_of(256, 10_000), 192);
        assert_eq!(room_of(0, 10_000), 1);
    }
}
