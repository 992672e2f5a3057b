//! The foundation of the store: the clock, settings, files, text and other small tools.

pub mod atomic_file;
pub(crate) mod cancel;
pub(crate) mod client;
pub mod clock;
pub mod config;
pub(crate) mod files;
pub(crate) mod host;
pub(crate) mod keyed;
pub mod location;
pub(crate) mod random;
pub(crate) mod sized_lru;
pub(crate) mod step;
pub(crate) mod text;
pub mod text_file;
pub mod tls;
pub(crate) mod zone;
