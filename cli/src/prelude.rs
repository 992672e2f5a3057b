//! What most commands use.

pub(crate) use clap::{Args, Subcommand};
pub(crate) use tidings_client::shown::number::{count, number};

pub(crate) use crate::complete::{Kind, MemberId, ids};
pub(crate) use crate::failure::{Exit, Failure};
pub(crate) use crate::output::{Page, Style, Table, dated, local};
pub(crate) use crate::session::{Session, unknown};
