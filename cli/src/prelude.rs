pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::ExitCode;

pub(crate) use clap::{Args, Subcommand};
pub(crate) use tidings_client::shown::number::{count, number};

pub(crate) use crate::complete::{Kind, MemberId, ids};
pub(crate) use crate::failure::{Exit, Failure};
pub(crate) use crate::global::Global;
pub(crate) use crate::output::{Output, Page, Style, Table, dated, local, stream_pages};
pub(crate) use crate::session::{Session, unknown};
