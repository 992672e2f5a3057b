//! Random bytes for ids, keys and salts.

/// Panics when the operating system's random source fails: without it, ids and keys would be predictable.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has a random source");
    bytes
}
