//! Systems without a service manager that passes sockets and is told.

use std::net::TcpListener;

use tidings_core::Tidings;

use crate::failure::Failure;

#[expect(clippy::unnecessary_wraps, reason = "as on other systems")]
pub(super) fn listener() -> Result<Option<TcpListener>, Failure> {
    Ok(None)
}

pub(super) fn ready(_: &str) {}

pub(super) fn stopping() {}

pub(super) fn watch(_: Tidings) {}
