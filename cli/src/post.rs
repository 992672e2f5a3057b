use std::io::BufRead as _;

use clap::ValueEnum;
use tidings_core::account::key::Scope;
use tidings_core::post::{
    self, Draft, ExportPosts, Get, Hide, ImportPosts, Insert, LIST_MAX, Like, List, ListCategories, Remove,
    Unhide, Unlike, Update, View,
};

use crate::atomic_file::Readers;
use crate::export;
use crate::imported::{self, Strictness};
use crate::input::{self, Text};
use crate::output::typed_time;
use crate::prelude::*;
use crate::progress::Watch;

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
        format: Option<Format>,
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
    List(Filter),
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

#[derive(Debug, Args)]
pub(crate) struct PostId {
    /// The post
    #[arg(add = ids(Kind::Post))]
    id: String,
}

#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only posts of this topic or tag
    #[arg(long, value_name = "T", allow_hyphen_values = true, add = ids(Kind::Topic))]
    topic: Option<String>,
    /// The maximum number, 1 to 1000 [default: 100, with --ndjson all]
    #[arg(long, value_name = "N")]
    limit: Option<i64>,
    /// Continue after the page that returned this as its next
    #[arg(long, value_name = "X")]
    next: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Fields {
    /// The title, one line of up to 300 characters
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    title: Option<String>,
    /// The address, unique among all posts
    #[arg(long, value_name = "U")]
    url: Option<String>,
    #[command(flatten)]
    post: Text,
    /// The address of an image; empty for none
    #[arg(long, value_name = "U")]
    img: Option<String>,
    /// A category; may be repeated; empty for none
    #[arg(long, value_name = "T", allow_hyphen_values = true, add = ids(Kind::Topic))]
    topic: Option<Vec<String>>,
    /// A tag; may be repeated; empty for none
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    tag: Option<Vec<String>>,
    /// The time of publication, such as "2026-12-05 09:00" or 2026-12-05, in the zone of the database [default for a new post: now]
    #[arg(long, value_name = "D")]
    date: Option<String>,
    /// The time from which the post is no longer shown; empty for none
    #[arg(long, value_name = "D")]
    end_date: Option<String>,
}

impl Fields {
    /// Requires a title and an address, which a new post needs.
    fn whole_draft(&self) -> Result<Draft, Failure> {
        for (argument, text) in [("--title", &self.title), ("--url", &self.url)] {
            if text.is_none() {
                let needs = "a post needs a title and an address";
                return Err(Failure::usage(format!("{argument} is missing: {needs}")));
            }
        }
        self.draft()
    }

    fn draft(&self) -> Result<Draft, Failure> {
        let names = |list: &Option<Vec<String>>| {
            let given = |list: &Vec<String>| list.iter().filter(|name| !name.is_empty()).cloned().collect();
            list.as_ref().map(given)
        };
        Ok(Draft {
            title: self.title.clone(),
            post: self.post.read()?,
            url: self.url.clone(),
            img: self.img.clone(),
            topic: names(&self.topic),
            tag: names(&self.tag),
            date: self.date.as_deref().map(typed_time),
            end_date: self.end_date.as_deref().map(typed_time),
        })
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object per line, or one JSON array
    Jsonl,
    /// Comma-separated values after a line with the names of the fields
    Csv,
    /// RSS, Atom or JSON Feed
    Feed,
}

impl From<Format> for post::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Jsonl => Self::Json,
            Format::Csv => Self::Csv,
            Format::Feed => Self::Feed,
        }
    }
}

pub(crate) fn run(session: &Session, command: &Post) -> Exit {
    let Session { service, out } = session;
    match command {
        Post::Add(fields) => {
            let inserted = service.call(Insert { draft: fields.whole_draft()? })?;
            out.answer(&inserted, |page| page.line(inserted.id.to_string()))
        }
        Post::Edit { post: PostId { id }, fields } => {
            let update = Update { post_obi: id.clone(), draft: fields.draft()? };
            session.change("post", id, update, "The post is changed.")
        }
        Post::Import { file, format, strictness } => import(session, file, *format, *strictness),
        Post::Export { file } => export::run(
            session,
            file,
            ("posts", Readers::Umask),
            |take| service.export_lines(&ExportPosts {}, take),
            |posts| format!("{} posts exported", number(posts)),
        ),
        Post::List(filter) => list(session, filter),
        Post::Categories => {
            let found = service.as_reader().call(ListCategories {})?;
            out.table(&found, &found.categories, "No post has a topic.", |table| {
                table
                    .text("Category", |category| category.category_name.clone())
                    .number("Posts", |category| number(category.posts))
            })
        }
        Post::Show(PostId { id }) => show(session, id),
        Post::Remove { post: PostId { id }, yes } => {
            // The command asks only if the caller may remove the post.
            service.check_right(Scope::Posts)?;
            let found = session.as_reader().call_on("post", id, Get { post_obi: id.clone() })?;
            session.confirm(*yes, &format!("remove the post \"{}\"", found.post.shown.title))?;
            session.change("post", id, Remove { post_obi: id.clone() }, "The post is removed.")
        }
        Post::View(PostId { id }) => {
            session.as_reader().change("post", id, View { post_obi: id.clone() }, "The view is counted.")
        }
        Post::Like(PostId { id }) => {
            session.acting_member()?.change("post", id, Like { post_obi: id.clone() }, "The post is liked.")
        }
        Post::Unlike(PostId { id }) => session.acting_member()?.change(
            "post",
            id,
            Unlike { post_obi: id.clone() },
            "The like is taken back.",
        ),
        Post::Hide { post: PostId { id }, undo: false } => {
            let done = "The post is hidden from the recommended feed.";
            session.acting_member()?.change("post", id, Hide { post_obi: id.clone() }, done)
        }
        Post::Hide { post: PostId { id }, undo: true } => session.acting_member()?.change(
            "post",
            id,
            Unhide { post_obi: id.clone() },
            "The post is not hidden.",
        ),
    }
}

fn import(session: &Session, file: &Path, format: Option<Format>, strictness: Strictness) -> Exit {
    let watch = Watch::start("posts");
    let mut input = watch.open(file)?;
    let format = if let Some(format) = format {
        format.into()
    } else {
        match input.fill_buf() {
            Ok(head) => post::Format::of(&file.to_string_lossy(), head),
            // The import below fails in the same way and reports the interruption.
            Err(_) if watch.is_interrupted() => post::Format::Json,
            Err(error) => return Err(input::unreadable(file, &error)),
        }
    };
    imported::read(session, &watch, input, strictness, ImportPosts { format, charset: None })
}

pub(crate) fn table<T>(items: &[T], post: impl Fn(&T) -> &post::Post) -> Table<'_, T> {
    Table::of(items)
        .whole("ID", |item| post(item).id.clone())
        .text("Title", |item| post(item).title.clone())
        .optional_number("Views", |item| number(post(item).view))
        .optional_number("Likes", |item| number(post(item).fav_cnt))
        .optional_whole(dated("Date"), |item| local(post(item).date))
        .optional_text("Address", |item| post(item).url.clone())
}

fn list(session: &Session, options: &Filter) -> Exit {
    let Session { service, out } = session;
    let (service, topic) = (service.as_reader(), &options.topic);
    if out.streams() {
        return stream_pages(options.limit, options.next.clone(), |next, left| {
            let list = List { topic: topic.clone(), limit: Some(left.min(LIST_MAX)), next };
            let page = service.call(list)?;
            Ok((page.posts, page.next))
        });
    }
    let list = List { topic: topic.clone(), limit: options.limit, next: options.next.clone() };
    let posts = service.call(list)?;
    out.answer(&posts, |page| {
        let none = if topic.is_some() { "No post has this topic." } else { "There are no posts." };
        page.table(&table(&posts.posts, |post| post), none);
        if let Some(next) = &posts.next {
            page.note(&format!("There are more: --next {next}"));
        }
    })
}

fn show(session: &Session, id: &str) -> Exit {
    let found = session.as_reader().call_on("post", id, Get { post_obi: id.to_owned() })?;
    session.out.answer(&found, |page| {
        let (shown, detail) = (&found.post.shown, &found.post);
        page.styled(Style::Strong, &shown.title);
        page.line(&shown.url);
        let (views, likes) = (count(shown.view, "view"), count(shown.fav_cnt, "like"));
        page.styled(Style::Faint, format!("{}, {views}, {likes}", local(shown.date)));
        let (topics, tags) = (detail.topic.texts().join(", "), detail.tag.texts().join(", "));
        let end = shown.end_date.map(local).unwrap_or_default();
        let fields = [("Topics", topics), ("Tags", tags), ("Image", shown.img.clone()), ("Shown until", end)];
        let given: Vec<_> = fields.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        page.fields(&given);
        if !detail.post.is_empty() {
            page.line("");
            page.block(&detail.post);
        }
    })
}
