//! feedback.
