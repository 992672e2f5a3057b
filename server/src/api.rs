//! The handlers of operations that are more than their operation, and of pages.

pub(crate) mod account_page;
pub(crate) mod data;
pub(crate) mod home;
pub(crate) mod newsfeed;
pub(crate) mod oidc;
pub(crate) mod report;
#[cfg(test)]
mod tests;
pub(crate) mod websub;
