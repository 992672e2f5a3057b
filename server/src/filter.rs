//! The steps that every request passes, the parts of a request that operations read, and their responses.

pub(crate) mod accept;
pub(crate) mod caching;
pub(crate) mod client;
pub(crate) mod coding;
pub(crate) mod cors;
pub(crate) mod download;
pub(crate) mod fields;
pub(crate) mod forms;
pub(crate) mod lane;
pub(crate) mod limit;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod right;
pub(crate) mod security;
pub(crate) mod shares;
pub(crate) mod target;
pub(crate) mod upload;
