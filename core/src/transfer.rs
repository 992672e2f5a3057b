//! Data in and out beyond one domain: imports of members, rosters and acts, backups, copies, checks and the demo data.

pub mod act;
pub mod backup;
pub mod check;
pub mod copy;
#[cfg(feature = "demo")]
pub mod demo;
pub mod member_import;
pub mod roster_import;
