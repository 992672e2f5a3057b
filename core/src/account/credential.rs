//! What members prove who they are with, and the codes that stand in for it.

pub(crate) mod attempt;
pub(crate) mod code;
pub(crate) mod email;
pub mod invitation;
pub mod oidc;
pub(crate) mod otp;
pub mod passkey;
pub(crate) mod password;
pub(crate) mod reset;
pub(crate) mod sign_in;
pub(crate) mod throttle;
pub(crate) mod verify;
