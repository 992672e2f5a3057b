//! The handle, and the parts that run and observe the service as a whole.

pub mod api;
pub mod changes;
pub mod events;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub(crate) mod handle;
pub mod operations;
pub(crate) mod retention;
pub mod stats;
pub mod status;
