//! Tests of operations of several domains through the service.

mod analysis;
mod feedback;
mod words;
