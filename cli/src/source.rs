use std::io::Read as _;

use tidings_client::shown::source::{brought, facts, state};
use tidings_core::source::{
    self, Add, Discover, Export, Fetch, Fetched, FoundFeed, Import, List, Source, Update,
};

use crate::failure::REFUSED;
use crate::input;
use crate::output::{note, print};
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a source, fetch it, and show what arrived; of a web page, add the feed that it names
    #[command(
        after_help = "Examples:\n  tidings source add https://news.example.org/feed.xml\n  tidings source add https://news.example.org/feed.xml --topic news --every 30"
    )]
    Add {
        /// The address of an RSS, Atom or JSON feed, or of a web page that names one
        url: String,
        #[command(flatten)]
        fields: Fields,
        /// Add it without fetching it: the running server does so within seconds
        #[arg(long)]
        no_fetch: bool,
    },
    /// List the sources
    #[command(after_help = "Example: tidings source list")]
    List,
    /// Show a source
    #[command(after_help = "Example: tidings source show https://news.example.org/feed.xml")]
    Show(Named),
    /// Change a source; what is not given stays
    #[command(after_help = "Example: tidings source edit https://news.example.org/feed.xml --every 60")]
    Edit {
        #[command(flatten)]
        named: Named,
        /// Another address
        #[arg(long)]
        url: Option<String>,
        #[command(flatten)]
        fields: Fields,
        /// Give it the posts without a source whose addresses are on its host; its entries then change them
        #[arg(long)]
        adopt: bool,
    },
    /// Remove a source; its posts stay
    #[command(
        after_help = "Examples:\n  tidings source remove https://news.example.org/feed.xml\n  tidings source remove https://news.example.org/feed.xml --with-posts"
    )]
    Remove {
        #[command(flatten)]
        named: Named,
        /// Remove its posts, too
        #[arg(long)]
        with_posts: bool,
    },
    /// Stop fetching a source, or go on
    #[command(
        after_help = "Examples:\n  tidings source pause https://news.example.org/feed.xml\n  tidings source pause https://news.example.org/feed.xml --undo"
    )]
    Pause {
        #[command(flatten)]
        named: Named,
        /// Fetch it again
        #[arg(long)]
        undo: bool,
    },
    /// Fetch a source now, and show what arrived
    #[command(after_help = "Example: tidings source fetch https://news.example.org/feed.xml")]
    Fetch(Named),
    /// Find the feeds that a web page names
    #[command(after_help = "Example: tidings source discover https://news.example.org/")]
    Discover {
        /// The address of the page
        url: String,
    },
    /// Add the sources of a list in OPML, as feed readers export it
    #[command(after_help = "Example: tidings source import subscriptions.opml")]
    Import {
        /// The file, or - for standard input
        file: PathBuf,
    },
    /// Write the sources as a list in OPML, for feed readers
    #[command(after_help = "Example: tidings source export > sources.opml")]
    Export,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The address of the source, its name, or its id
    #[arg(add = ids(Kind::Source))]
    source: String,
}

#[derive(Debug, Args)]
pub(crate) struct Fields {
    /// The name of the source, instead of the title of the feed
    #[arg(long)]
    name: Option<String>,
    /// A topic that its posts get; may be repeated
    #[arg(long, value_name = "TOPIC", add = ids(Kind::Topic))]
    topic: Option<Vec<String>>,
    /// A tag that its posts get beside those of the feed; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Option<Vec<String>>,
    /// Minutes between two fetches; 0 for as often as suits the source [default: 0]
    #[arg(long, value_name = "MINUTES")]
    every: Option<i64>,
}

pub(crate) fn run(session: &Session, command: Command) -> Exit {
    let Session { service, out } = session;
    match command {
        Command::Add { url, fields: Fields { name, topic, tag, every }, no_fetch } => {
            let add = Add { url, name, topic, tag, every };
            if no_fetch {
                let added = service.call(add)?;
                return out.answer(&added, |page| page.line(added.id.to_string()));
            }
            add_and_fetch(session, add)
        }
        Command::List => list(session),
        Command::Show(named) => {
            let source = named.found(session)?;
            out.answer(&source, |page| {
                let mut fields = vec![("Id", source.id.clone()), ("Name", source.name.clone())];
                fields.extend(facts(&source, local));
                page.fields(&fields);
            })
        }
        Command::Edit { named, url, fields: Fields { name, topic, tag, every }, adopt } => {
            let (source_obi, adopt) = (named.id(session)?, adopt.then_some(1));
            let update = Update { source_obi, url, name, topic, tag, every, adopt };
            session.change("source", &named.source, update, "The source is changed.")
        }
        Command::Remove { named, with_posts } => {
            let remove =
                source::Remove { source_obi: named.id(session)?, with_posts: with_posts.then_some(1) };
            let posts = if with_posts { "are removed, too" } else { "stay" };
            let done = format!("The source is removed; its posts {posts}.");
            session.change("source", &named.source, remove, done)
        }
        Command::Pause { named, undo: true } => {
            let resume = source::Resume { source_obi: named.id(session)? };
            session.change("source", &named.source, resume, "The source is fetched again.")
        }
        Command::Pause { named, undo: false } => {
            let pause = source::Pause { source_obi: named.id(session)? };
            session.change("source", &named.source, pause, "The source is paused.")
        }
        Command::Fetch(named) => {
            let fetch = Fetch { source_obi: named.id(session)? };
            let answer = session.call_on("source", &named.source, fetch)?;
            fetched(session, &answer, "the source could not be fetched")
        }
        Command::Discover { url } => {
            let found = service.call(Discover { url })?;
            let status = out.table(&found, &found.feeds, "The page names no feed.", feeds)?;
            let Some(error) = &found.error else { return Ok(status) };
            out.complain(&format!("the page could not be fetched: {error}"));
            Ok(ExitCode::from(REFUSED))
        }
        Command::Import { file } => import(session, &file),
        Command::Export => {
            let opml = service.call(Export {})?;
            if out.is_json() {
                return out.answer(&opml, |_| {});
            }
            print(opml.opml.trim_end().as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

impl Named {
    /// Or the address.
    fn id(&self, session: &Session) -> Result<String, Failure> {
        if self.source.contains("://") || self.source.starts_with("feed:") {
            return Ok(self.source.clone());
        }
        let sources = session.service.call(List {})?.sources;
        let named = sources.into_iter().find(|source| source.name == self.source);
        Ok(named.map_or_else(|| self.source.clone(), |source| source.id))
    }

    pub(crate) fn found(&self, session: &Session) -> Result<Source, Failure> {
        let get = source::Get { source_obi: self.id(session)? };
        Ok(session.call_on("source", &self.source, get)?.source)
    }
}

/// If the address is a page that names one feed, adds that feed instead. A source that cannot be read is not kept.
fn add_and_fetch(session: &Session, add: Add) -> Exit {
    let Session { service, out } = session;
    let fetch = |add: &Add| {
        let source_obi = service.call(add.clone())?.id.to_string();
        let fetch = service.call(Fetch { source_obi: source_obi.clone() });
        if !fetch.as_ref().is_ok_and(|answer| answer.error.is_none()) {
            service.call(source::Remove { source_obi, with_posts: None })?;
        }
        fetch
    };
    let mut answer = fetch(&add)?;
    if answer.error.is_some() {
        let found = service.call(Discover { url: add.url.clone() })?;
        match &found.feeds[..] {
            [] => {}
            [feed] => {
                if !out.is_for_programs() {
                    note(&format!("The page names the feed {}.", feed.url));
                }
                answer = fetch(&Add { url: feed.url.clone(), ..add })?;
            }
            _ => {
                out.table(&found, &found.feeds, "", feeds)?;
                out.complain("the page names several feeds: add one of them");
                return Ok(ExitCode::from(REFUSED));
            }
        }
    }
    fetched(session, &answer, "the source is not added (--no-fetch adds it anyway)")
}

fn feeds(table: Table<'_, FoundFeed>) -> Table<'_, FoundFeed> {
    table.whole("Address", |feed| feed.url.clone()).text("Title", |feed| feed.title.clone())
}

/// `failed` is the message before the reason of a failure.
fn fetched(session: &Session, answer: &Fetched, failed: &str) -> Exit {
    let status = session.out.answer(answer, |page| {
        for post in &answer.posts {
            page.line(&post.title);
        }
        if answer.error.is_none() {
            page.note(&brought(answer));
        }
        for error in &answer.errors {
            page.note(&format!("line {}: {}", error.line, error.reason));
        }
        for warning in &answer.warnings {
            page.note(warning);
        }
    })?;
    let Some(error) = &answer.error else { return Ok(status) };
    session.out.complain(&format!("{failed}: {error}"));
    Ok(ExitCode::from(REFUSED))
}

fn list(Session { service, out }: &Session) -> Exit {
    let found = service.call(List {})?;
    out.table(&found, &found.sources, "There is no source: tidings source add URL", |table| {
        table
            .text("Name", |source| source.name.clone())
            .text("Address", |source| source.url.clone())
            .number("Posts", |source| number(source.posts))
            .whole("State", |source| state(source).to_owned())
            .optional_whole(dated("Last fetch"), |source| source.last_fetch.map(local).unwrap_or_default())
            .optional_whole(dated("Next"), |source| source.next_fetch.map(local).unwrap_or_default())
            .text("Error", |source| source.error.clone().unwrap_or_default())
            .styled(|source| if source.error.is_some() { Style::Bad } else { Style::Plain })
    })
}

fn import(session: &Session, file: &Path) -> Exit {
    let mut bytes = Vec::new();
    // UTF-16 has twice the bytes.
    let read = input::open(file)?.take(2 * source::OPML_MAX as u64 + 2).read_to_end(&mut bytes);
    read.map_err(|error| input::unreadable(file, &error))?;
    let imported = session.service.call(Import { opml: source::opml_text(&bytes) })?;
    session.out.answer(&imported, |page| {
        page.line(format!(
            "{} added, {} already there",
            count(imported.inserted, "source"),
            number(imported.skipped)
        ));
        for error in &imported.errors {
            page.note(&format!("entry {}: {}", error.line, error.reason));
        }
    })
}
