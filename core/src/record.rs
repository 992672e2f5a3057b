//! The parts that all domains share: ids, states, schemas, operations, answers, errors, leases and jobs.

pub(crate) mod activation;
pub mod answer;
pub(crate) mod background;
pub mod error;
pub mod export;
pub mod id;
pub(crate) mod jobs;
pub(crate) mod lease;
pub mod operation;
pub(crate) mod outgoing;
pub mod schema;
pub(crate) mod scope;
