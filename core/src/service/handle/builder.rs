use std::sync::Arc;

use crate::account::credential::verify::Verifier;
use crate::audit::trail::Surface;
use crate::base::clock::Clock;
use crate::base::config::Config;
use crate::base::location::Location;
use crate::record::error::Result;
use crate::record::jobs::Jobs;
use crate::service::handle::{Inner, Tidings, full_or};
use crate::service::retention::Retention;
use crate::store::Store;
use crate::transfer::backup;
use crate::{account, analysis, newsfeed, notice, post, profile, source, words};

/// Opens or starts a [`Tidings`] with other settings.
pub struct Builder {
    location: Location,
    config: Config,
    clock: Clock,
    verifier: Option<Box<dyn Verifier>>,
    operator: Option<Arc<str>>,
}

impl Builder {
    pub(crate) fn new(location: Location) -> Self {
        Self { location, config: Config::default(), clock: Clock::system(), verifier: None, operator: None }
    }

    /// Sets the settings.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets a university verifier, which replaces the one in the settings.
    #[must_use]
    pub fn verifier(mut self, verifier: impl Verifier + 'static) -> Self {
        self.verifier = Some(Box::new(verifier));
        self
    }

    /// Sets the name of the person who runs the program, such as their account on this machine. The audit trail has it with
    /// what the operator does.
    #[must_use]
    pub fn operator(mut self, name: &str) -> Self {
        self.operator = Some(name.into());
        self
    }

    /// Opens the database, for a program that runs a few operations and ends.
    ///
    /// Each operation loads the data that it needs; no thread runs in the background.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`](crate::Error::InvalidSetting) when a setting is out of bounds, and the errors of
    /// [`Tidings::open`].
    pub fn open(self) -> Result<Tidings> {
        let location = self.location.clone();
        self.opened().map_err(|error| full_or(&location, error))
    }

    /// Opens the database and starts the background work of a service: the feed index, the word model, analytics and
    /// retention. It also removes incomplete copies that killed restores have left next to the database.
    ///
    /// Returns once the posts are loaded. The background work stops when the last clone of the handle is dropped.
    ///
    /// # Errors
    /// The errors of [`Builder::open`]; when the database cannot be written, or the system refuses a thread.
    pub fn start(self) -> Result<Tidings> {
        if let Some(file) = self.location.file() {
            backup::remove_strays(file);
        }
        let tidings = self.open()?;
        tidings.start_background()?;
        Ok(tidings)
    }

    fn opened(self) -> Result<Tidings> {
        let Self { location, config, clock, verifier, operator } = self;
        config.check()?;
        let store = Arc::new(Store::open(&location)?);
        let clock = store.clock_ahead().map_or(clock.clone(), |ahead| clock.corrected(ahead));
        post::reindex::complete_index(&store)?;
        let account = account::State::open(&config, &location, &store, &clock, verifier)?;
        let words = Arc::new(words::ModelCache::new(Arc::clone(&store), config.words.clone(), clock.clone()));
        let feeds =
            newsfeed::Feeds::new(Arc::clone(&store), Arc::clone(&words), config.feed.clone(), clock.clone());
        let analysis = analysis::State::open(&store, &config.analysis, &clock)?;
        let inner = Inner {
            post: post::State::new(&store, &analysis.calendar),
            profile: profile::State::new(&store),
            jobs: Jobs::new(&store, &clock),
            webhook_counters: Arc::default(),
            sources: Arc::new(source::Reader::new(&store, &clock, &config)),
            feeds,
            retention: Retention::new(Arc::clone(&store)),
            analysis,
            words,
            notice: notice::Shared::new(&store),
            store,
            account,
            config,
            clock,
            location,
            operator,
        };
        Ok(Tidings(Arc::new(inner), Surface::default()))
    }
}
