//! Tests of operations of several domains through the service.

mod feedback;
mod words;
