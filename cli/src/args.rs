//! The command line as clap parses it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::settings::Settings;

/// Accounts, notices, feedback, posts and newsfeeds for an app or a campus, over one SQLite file.
#[derive(Debug, Parser)]
#[command(name = "tidings", version, max_term_width = 100, subcommand_required = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The database file [default: ./tidings.db]
    #[arg(long, global = true, env = "TIDINGS_DB", value_name = "PATH")]
    pub(crate) db: Option<PathBuf>,
    /// A TOML file with settings [default: ./tidings.toml, if there is one]
    #[arg(long, global = true, env = "TIDINGS_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print one JSON object, as HTTP would answer it
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make the database, and an administrator
    #[command(after_help = "Example: tidings init --admin ann")]
    Init(Init),
    /// Serve the HTTP API
    #[command(
        after_help = "Example: tidings serve --listen 0.0.0.0:8080 --cors-origin https://app.example.org"
    )]
    Serve(Box<Settings>),
    /// Posts
    #[command(subcommand)]
    Post(Post),
    /// Searches
    #[command(subcommand)]
    Search(Search),
    /// The words of posts, and which are similar
    #[command(subcommand)]
    Words(Words),
    /// Administrators
    #[command(subcommand)]
    Admin(Admin),
    /// What is counted of what happens, and the access log
    #[command(subcommand)]
    Analysis(Analysis),
    /// The university's members, who sign in by its verification
    #[command(subcommand)]
    Roster(Roster),
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Make this member an administrator, signing them up where there is none
    #[arg(long, value_name = "ID")]
    pub(crate) admin: Option<String>,
    #[command(flatten)]
    pub(crate) password: Password,
}

/// Where a password comes from when nobody can be asked: never from an argument, which others could read.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Password {
    /// Read the password from standard input, up to the end of its first line
    #[arg(long)]
    pub(crate) password_stdin: bool,
    /// Read the password from a file, up to the end of its first line
    #[arg(long, value_name = "F")]
    pub(crate) password_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Post {
    /// Import posts, one JSON object a line or one JSON array; the same url updates
    #[command(after_help = "Example: tidings post import posts.jsonl")]
    Import {
        /// The file, or - for standard input
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Search {
    /// Show the words that posts use like those of a search
    #[command(after_help = "Example: tidings search similar \"borrow checker\"")]
    Similar {
        /// What is searched, 1 to 200 characters
        text: String,
    },
    /// What was searched most in the last 24 hours
    #[command(after_help = "Example: tidings search realtime")]
    Realtime,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Words {
    /// Learn the words of the posts now, in the place of what was learned or loaded
    Train,
    /// Write the words and their vectors in word2vec's text form
    #[command(after_help = "Example: tidings words export vectors.txt")]
    Export {
        /// The file
        file: PathBuf,
    },
    /// Load vectors in word2vec's or fastText's text form in the place of what was learned, until words train
    #[command(after_help = "Example: tidings words load cc.ko.300.vec")]
    Load {
        /// The file, or - for standard input
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Admin {
    /// Make a member an administrator
    #[command(after_help = "Example: tidings admin grant ann")]
    Grant {
        /// The member
        id: String,
    },
    /// Make an administrator a member like others
    #[command(after_help = "Example: tidings admin revoke ann")]
    Revoke {
        /// The member
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Roster {
    /// Import the roster: CSV with the header id,name,major,password
    #[command(after_help = "Example: tidings roster import members.csv")]
    Import {
        /// The file, or - for standard input
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Analysis {
    /// The figures over all days
    #[command(after_help = "Example: tidings analysis summary")]
    Summary,
    /// One day
    #[command(after_help = "Example: tidings analysis day 2026-11-20")]
    Day {
        /// The day [default: today]
        #[arg(value_name = "YYYY-MM-DD")]
        date: Option<String>,
    },
    /// Each day from some days ago to today
    #[command(after_help = "Example: tidings analysis days 30")]
    Days {
        /// How many days ago, 0 to 366
        #[arg(value_name = "N")]
        days: i64,
    },
    /// How many of each device apps have reported; or report one
    #[command(after_help = "Example: tidings analysis device mobile")]
    Device {
        /// The device to report
        #[arg(value_parser = ["pc", "tablet", "mobile"])]
        device: Option<String>,
    },
    /// The access log, newest first
    #[command(after_help = "Example: tidings analysis log --member ann --days 7")]
    Log(LogArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Of this member alone; also guest, or removed
    #[arg(long, value_name = "ID")]
    pub(crate) member: Option<String>,
    /// Of the last calendar months
    #[arg(long, value_name = "N", group = "window", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) months: Option<u32>,
    /// Of the last times 24 hours [default: 1]
    #[arg(long, value_name = "N", group = "window", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) days: Option<u32>,
    /// Of the last hours
    #[arg(long, value_name = "N", group = "window", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) hours: Option<u32>,
    /// The most lines; above 1000 is 1000
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: u32,
}
