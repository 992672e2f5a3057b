//! The foundation of the slices: settings, files, text and other small tools. Some of them belong to the store, which is below.

pub mod atomic_file;
pub(crate) mod client;
pub mod config;
pub(crate) mod host;
pub(crate) mod keyed;
pub(crate) mod lock;
pub(crate) mod sized_lru;
pub(crate) mod text;
pub(crate) mod zone;

pub(crate) use tidings_store::{cancel, files, random, step};
pub use tidings_store::{clock, location, text_file, tls};
