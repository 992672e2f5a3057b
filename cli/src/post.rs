//! `tidings post`: posts.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tidings_client::shown::number::number;
use tidings_core::account::key::Scope;
use tidings_core::post::{ExportPosts, Get, Hide, Insert, Like, Remove, Unhide, Unlike, Update, View};

use crate::atomic_file::Readers;
use crate::complete::{Kind, ids};
use crate::export;
use crate::failure::Failure;
use crate::imported::Strictness;
use crate::session::{Session, unknown};

mod fields;
mod import;
mod show;

pub(crate) use show::table;

use fields::Fields;

#[derive(Debug, Subcommand)]
pub(crate) enum Post {
    /// Publish a post
    #[command(
        after_help = "Example: tidings post add --title \"Rust 1.80\" --url https://example.org/rust --topic Rust"
    )]
    Add(Fields),
    /// Change the given fields of a post
    #[command(after_help = "Example: tidings post edit 6560c1a2ffeeddccbbaa0001 --tag release --tag rust")]
    Edit {
        #[command(flatten)]
        post: PostId,
        #[command(flatten)]
        fields: Fields,
    },
    /// Import posts from JSON, CSV or a feed; a post with a known url is updated
    #[command(
        after_help = "Examples:\n  tidings post import posts.jsonl\n  tidings post import posts.csv\n  \
                      curl -s https://blog.rust-lang.org/feed.xml | tidings post import -"
    )]
    Import {
        /// The file, or - for standard input
        file: PathBuf,
        /// The format of the file [default: detected from its name or its beginning]
        #[arg(long, value_name = "FORMAT")]
        format: Option<import::Format>,
        #[command(flatten)]
        strictness: Strictness,
    },
    /// Export every post as a line of JSON, which import can read
    #[command(after_help = "Example: tidings post export posts.jsonl")]
    Export {
        /// The file, or - for standard output
        file: PathBuf,
    },
    /// List the posts, newest first
    #[command(
        after_help = "Examples:\n  tidings post list --topic Rust\n  tidings post list --ndjson | jq .url"
    )]
    List(show::ListOptions),
    /// List the categories, which are the topics of posts, the one with the most posts first
    #[command(after_help = "Example: tidings post categories")]
    Categories,
    /// Show a whole post
    #[command(after_help = "Example: tidings post show 6560c1a2ffeeddccbbaa0001")]
    Show(PostId),
    /// Remove a post
    #[command(after_help = "Example: tidings post remove 6560c1a2ffeeddccbbaa0001 --yes")]
    Remove {
        #[command(flatten)]
        post: PostId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Count a view of a post by a member or a guest
    #[command(after_help = "Example: tidings --as ann post view 6560c1a2ffeeddccbbaa0001")]
    View(PostId),
    /// Like a post as a member
    #[command(after_help = "Example: tidings --as ann post like 6560c1a2ffeeddccbbaa0001")]
    Like(PostId),
    /// Remove a member's like
    #[command(after_help = "Example: tidings --as ann post unlike 6560c1a2ffeeddccbbaa0001")]
    Unlike(PostId),
    /// Hide a post from a member's recommended feed
    #[command(after_help = "Example: tidings --as ann post hide 6560c1a2ffeeddccbbaa0001")]
    Hide {
        #[command(flatten)]
        post: PostId,
        /// Show it again
        #[arg(long)]
        undo: bool,
    },
}

/// A post.
#[derive(Debug, Args)]
pub(crate) struct PostId {
    /// The post
    #[arg(add = ids(Kind::Post))]
    id: String,
}

pub(crate) fn run(session: &Session, command: &Post) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    let missing = |id: &str| {
        let id = id.to_owned();
        move |error| unknown(error, "post", &id)
    };
    match command {
        Post::Add(fields) => {
            let inserted = service.call(Insert { draft: fields.whole_draft()? })?;
            out.answer(&inserted, |page| page.line(inserted.id.to_string()))
        }
        Post::Edit { post: PostId { id }, fields } => {
            let update = Update { post_obi: id.clone(), draft: fields.draft()? };
            service.call(update).map_err(missing(id))?;
            out.answer(&(), |page| page.line("The post is changed."))
        }
        Post::Import { file, format, strictness } => import::run(session, file, *format, *strictness),
        Post::Export { file } => export::run(
            session,
            file,
            ("posts", Readers::Umask),
            |take| service.export_lines(&ExportPosts {}, take),
            |posts| format!("{} posts exported", number(posts)),
        ),
        Post::List(options) => show::list(session, options),
        Post::Categories => show::categories(session),
        Post::Show(PostId { id }) => show::one(session, id),
        Post::Remove { post: PostId { id }, yes } => {
            // The command asks only if the caller may remove the post.
            service.check_right(Scope::Posts)?;
            let found = service.as_reader().call(Get { post_obi: id.clone() }).map_err(missing(id))?;
            session.confirm(*yes, &format!("remove the post \"{}\"", found.post.shown.title))?;
            service.call(Remove { post_obi: id.clone() }).map_err(missing(id))?;
            out.answer(&(), |page| page.line("The post is removed."))
        }
        Post::View(PostId { id }) => {
            service.as_reader().call(View { post_obi: id.clone() }).map_err(missing(id))?;
            out.answer(&(), |page| page.line("The view is counted."))
        }
        Post::Like(PostId { id }) => {
            let service = session.acting_member()?;
            service.call(Like { post_obi: id.clone() }).map_err(missing(id))?;
            out.answer(&(), |page| page.line("The post is liked."))
        }
        Post::Unlike(PostId { id }) => {
            let service = session.acting_member()?;
            service.call(Unlike { post_obi: id.clone() }).map_err(missing(id))?;
            out.answer(&(), |page| page.line("The like is taken back."))
        }
        Post::Hide { post: PostId { id }, undo: false } => {
            let service = session.acting_member()?;
            service.call(Hide { post_obi: id.clone() }).map_err(missing(id))?;
            out.answer(&(), |page| page.line("The post is hidden from the recommended feed."))
        }
        Post::Hide { post: PostId { id }, undo: true } => {
            let service = session.acting_member()?;
            service.call(Unhide { post_obi: id.clone() }).map_err(missing(id))?;
            out.answer(&(), |page| page.line("The post is not hidden."))
        }
    }
}
