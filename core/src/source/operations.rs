use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

use super::sql::{self, Settings};
use super::{
    EVERY, EVERY_RULE, Fetched, MINUTE_MS, NAME, NAME_RULE, SOURCES_MAX, SourceDetail, Sources, TOO_MANY,
    URL_TAKEN, address,
};
use crate::Tidings;
use crate::account::{Admin, Call, Identity, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::base::clock::Timestamp;
use crate::base::text;
use crate::post::{arrive, tags, topics};
use crate::record::activation::is_on;
use crate::record::answer::Inserted;
use crate::record::error::{Error, Problem, Result};
use crate::record::id::{ObjectId, SourceKey};
use crate::record::operation::{Access, Failure, Operation, Spec, Work};
use crate::record::schema::Switch;
use crate::record::scope::Scope;
use crate::store::{Isolation, StoreError, Topic, Tx};

pub(super) const GROUP: &str = "admin";
pub(super) const ADMINS: Access = Access::Admins(Scope::Sources);
const REMOVED_AT_ONCE: usize = 100;
const ADOPT_RULE: Problem = Problem::invalid("adopt", "adopt is 0 or 1");
const WITH_POSTS_RULE: Problem = Problem::invalid("with_posts", "with_posts is 0 or 1");
/// A new source waits for the thread of the service: the administrator who adds it usually fetches it at once.
const FIRST_FETCH_MS: i64 = 5_000;

/// List sources
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {}

impl Operation for List {
    type Answer = Sources;
    const SPEC: Spec = Spec::get(GROUP, "/get_sources", ADMINS);

    fn run(self, call: &Call<'_>) -> Result<Sources> {
        let identity = call.authority();
        let mut sources = call.store().read(|tx| {
            let admin = identity.admin(tx)?;
            Ok::<_, Error>(sql::list_all(tx, &admin)?)
        })?;
        sources.sort_by_cached_key(|source| (source.name.to_lowercase(), source.url.clone()));
        Ok(Sources { sources })
    }
}

/// Get a source
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Get {
    /// The id of the source, or its address
    #[schema(min_length = 1, max_length = 1_000, examples("6560c1a2ffeeddccbbaa0001"))]
    pub source_obi: String,
}

impl Transaction for Get {
    type By = Admin<'static>;
    type Answer = SourceDetail;
    const SPEC: Spec = Spec::get(GROUP, "/get_source/{source_obi}", ADMINS).or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<SourceDetail> {
        let key = sql::find(tx, admin, &address::named(&self.source_obi))?.ok_or(Error::NotFound)?;
        Ok(SourceDetail { source: sql::get(tx, key)? })
    }
}

pub(super) struct Given<'g> {
    pub(super) url: &'g str,
    pub(super) name: &'g str,
    pub(super) topic: &'g [String],
    pub(super) tag: &'g [String],
    /// In minutes; 0 for as often as suits the source.
    pub(super) every: i64,
}

impl Given<'_> {
    pub(super) fn check(&self, allows_private: bool) -> Result<Settings, Problem> {
        let every = (self.every != 0).then_some(self.every);
        let is_in_bounds =
            |every: i64| usize::try_from(every).is_ok_and(|every| (EVERY.min..=EVERY.max).contains(&every));
        if every.is_some_and(|every| !is_in_bounds(every)) {
            return Err(EVERY_RULE);
        }
        let name = match self.name.trim() {
            "" => String::new(),
            name => text::name(name, NAME).ok_or(NAME_RULE)?,
        };
        Ok(Settings {
            url: address::parse(self.url, allows_private)?.into(),
            plain: address::plain(self.url),
            name,
            topic: topics(self.topic)?,
            tag: tags(self.tag)?,
            every: every.map(|minutes| minutes * MINUTE_MS),
        })
    }
}

/// Add a source
///
/// From then on, the server fetches this feed. The running service fetches it within seconds; `fetch_source` does so at once and
/// says what has arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = SourceFields)]
pub struct Add {
    /// The address of an RSS, Atom or JSON feed, which begins with `https://` or `http://`.
    #[schema(max_length = 1_000, examples("https://news.example.org/feed.xml"))]
    pub url: String,
    /// The name of the source, at most 100 characters on one line; by default the title of the feed.
    #[schema(max_length = 100, examples("Campus news"))]
    pub name: Option<String>,
    /// The topics that its posts get, {post-names}, each of {post-name} characters.
    #[schema(examples("news"))]
    pub topic: Option<Vec<String>>,
    /// The tags that its posts get beside those of the feed, {post-names}, each of {post-name} characters.
    #[schema(examples("campus"))]
    pub tag: Option<Vec<String>>,
    /// The minutes between two fetches, 1 to 10,080; 0, the default, for as often as suits the source.
    #[schema(minimum = 0, maximum = 10_080, examples(60))]
    pub every: Option<i64>,
}

impl Operation for Add {
    type Answer = Inserted;
    const SPEC: Spec = Spec::post(GROUP, "/add_source", ADMINS);

    fn run(self, call: &Call<'_>) -> Result<Inserted> {
        let (identity, now, id) = (call.authority(), call.now(), ObjectId::new(call.tidings().clock()));
        let given = Given {
            url: &self.url,
            name: self.name.as_deref().unwrap_or_default(),
            topic: self.topic.as_deref().unwrap_or_default(),
            tag: self.tag.as_deref().unwrap_or_default(),
            every: self.every.unwrap_or_default(),
        };
        let settings = given.check(call.tidings().config().private_addresses);
        call.store().write(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx)?;
            // A caller who may not add sources learns nothing about them.
            let settings = settings.as_ref().map_err(|rule| Error::BadRequest(*rule))?;
            add(tx, &admin, &id.to_string(), settings, now)?;
            tx.touch(Topic::Sources);
            Ok::<_, Error>(admin.record(tx, Entry::new(Action::SourceAdd).on(&settings.url))?)
        })?;
        Ok(Inserted { id })
    }
}

/// Fails if there are too many sources, or one with this address.
pub(super) fn add(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    id: &str,
    settings: &Settings,
    now: Timestamp,
) -> Result<()> {
    if sql::find(tx, admin, &settings.url)?.is_some() {
        return Err(Error::BadRequest(URL_TAKEN));
    }
    if sql::count(tx, admin)? >= SOURCES_MAX {
        return Err(Error::BadRequest(TOO_MANY));
    }
    Ok(sql::insert(tx, admin, id, settings, now, now + FIRST_FETCH_MS)?)
}

/// Change a source
///
/// The fields that are left out stay. With another address it is fetched at once, and its posts stay.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Update {
    /// The id of the source, or its address
    #[schema(min_length = 1, max_length = 1_000, examples("6560c1a2ffeeddccbbaa0001"))]
    pub source_obi: String,
    /// The address of an RSS, Atom or JSON feed, which begins with `https://` or `http://`.
    #[schema(max_length = 1_000, examples("https://news.example.org/feed.xml"))]
    pub url: Option<String>,
    /// The name of the source, at most 100 characters on one line; `""` for the title of the feed.
    #[schema(max_length = 100, examples("Campus news"))]
    pub name: Option<String>,
    /// The topics that its new posts get, {post-names}, each of {post-name} characters.
    #[schema(examples("news"))]
    pub topic: Option<Vec<String>>,
    /// The tags that its new posts get beside those of the feed, {post-names}, each of {post-name} characters.
    #[schema(examples("campus"))]
    pub tag: Option<Vec<String>>,
    /// The minutes between two fetches, 1 to 10,080; 0 for as often as suits the source.
    #[schema(minimum = 0, maximum = 10_080, examples(60))]
    pub every: Option<i64>,
    /// 1: it also gets the posts without a source whose addresses are on the host of its feed; its entries then change them.
    #[schema(value_type = Option<Switch>)]
    pub adopt: Option<i64>,
}

impl Operation for Update {
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/update_source/{source_obi}", ADMINS).or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<()> {
        let (identity, now) = (call.authority(), call.now());
        let allows_private = call.tidings().config().private_addresses;
        call.store().write_long(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx)?;
            let (key, old) = found(tx, &admin, &self.source_obi)?;
            let adopts = is_on(self.adopt, ADOPT_RULE)?;
            let set = sql::settings(tx, key)?;
            let given = Given {
                url: self.url.as_ref().unwrap_or(&set.url),
                name: self.name.as_ref().unwrap_or(&set.name),
                topic: self.topic.as_ref().unwrap_or(&set.topic),
                tag: self.tag.as_ref().unwrap_or(&set.tag),
                every: self.every.unwrap_or(set.every.unwrap_or_default() / MINUTE_MS),
            };
            let settings = given.check(allows_private).map_err(Error::BadRequest)?;
            match sql::update(tx, &admin, key, &set, &settings, now, adopts) {
                Err(StoreError::Duplicate) => return Err(Error::BadRequest(URL_TAKEN)),
                updated => updated?,
            }
            if adopts {
                let admin = identity.with_scope(tx, Scope::Posts)?;
                arrive::adopt(tx, &admin, key, &settings.url)?;
            }
            tx.touch(Topic::Sources);
            Ok::<_, Error>(admin.record(tx, Entry::new(Action::SourceUpdate).on(&old).after(&settings.url))?)
        })
    }
}

fn found(tx: &mut dyn Tx, admin: &Admin<'_>, source: &str) -> Result<(SourceKey, String)> {
    let key = sql::find(tx, admin, &address::named(source))?.ok_or(Error::NotFound)?;
    Ok((key, sql::settings(tx, key)?.url))
}

/// Remove a source
///
/// Its posts stay unless `with_posts` is 1.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Remove {
    /// The id of the source, or its address
    #[schema(min_length = 1, max_length = 1_000, examples("6560c1a2ffeeddccbbaa0001"))]
    pub source_obi: String,
    /// 1: its posts are removed, too.
    #[schema(value_type = Option<Switch>)]
    pub with_posts: Option<i64>,
}

impl Operation for Remove {
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/remove_source/{source_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<()> {
        let has_posts = is_on(self.with_posts, WITH_POSTS_RULE)?;
        // In several steps, so that other writes wait only for a moment.
        while !self.remove(call, has_posts)? {}
        Ok(())
    }
}

impl Remove {
    /// Removes the source, or some of its posts. Returns whether the source is removed.
    fn remove(&self, call: &Call<'_>, has_posts: bool) -> Result<bool> {
        let (identity, source) = (call.authority(), self.source_obi.clone());
        call.store().write_long(Isolation::Alone, move |tx| {
            let admin = identity.admin(tx)?;
            let (key, url) = found(tx, &admin, &source)?;
            if has_posts {
                let admin = identity.with_scope(tx, Scope::Posts)?;
                if arrive::remove(tx, &admin, key, REMOVED_AT_ONCE)? == REMOVED_AT_ONCE {
                    return Ok(false);
                }
            }
            sql::remove(tx, &admin, key)?;
            tx.touch(Topic::Sources);
            let entry = Entry::new(Action::SourceRemove).on(&url);
            admin.record(tx, if has_posts { entry.after("with its posts") } else { entry })?;
            Ok(true)
        })
    }
}

/// Pause a source
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Pause {
    /// The id of the source, or its address
    #[schema(min_length = 1, max_length = 1_000, examples("6560c1a2ffeeddccbbaa0001"))]
    pub source_obi: String,
}

impl Transaction for Pause {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/pause_source/{source_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        set_next(tx, admin, &self.source_obi, None, Action::SourcePause)
    }
}

/// Resume a source
///
/// Fetches a source again that was paused or has ended; its failures are forgotten.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Resume {
    /// The id of the source, or its address
    #[schema(min_length = 1, max_length = 1_000, examples("6560c1a2ffeeddccbbaa0001"))]
    pub source_obi: String,
}

impl Transaction for Resume {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec =
        Spec::get(GROUP, "/resume_source/{source_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<()> {
        set_next(tx, admin, &self.source_obi, Some(identity.now()), Action::SourceResume)
    }
}

/// `source` is an id or an address.
fn set_next(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    source: &str,
    next: Option<Timestamp>,
    action: Action,
) -> Result<()> {
    let (key, url) = found(tx, admin, source)?;
    sql::set_next(tx, admin, key, next)?;
    tx.touch(Topic::Sources);
    Ok(admin.record(tx, Entry::new(action).on(&url))?)
}

/// Fetch a source now
///
/// A fetch that fails is an answer with an `error`, and the service tries again later.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Fetch {
    /// The id of the source, or its address
    #[schema(min_length = 1, max_length = 1_000, examples("6560c1a2ffeeddccbbaa0001"))]
    pub source_obi: String,
}

impl Operation for Fetch {
    type Answer = Fetched;
    const SPEC: Spec = Spec::get(GROUP, "/fetch_source/{source_obi}", ADMINS)
        .writes()
        .works(Work::Remote)
        .or(&[Failure::Missing]);

    fn run(self, call: &Call<'_>) -> Result<Fetched> {
        let identity = call.authority();
        let key = call.store().read(|tx| {
            let admin = identity.admin(tx)?;
            sql::find(tx, &admin, &address::named(&self.source_obi))?.ok_or(Error::NotFound)
        })?;
        call.tidings().sources().fetch(key, |tx| identity.admin(tx).map(drop))
    }
}

pub(super) fn page(url: &str, tidings: &Tidings) -> Result<Url> {
    address::parse(url, tidings.config().private_addresses).map_err(Error::BadRequest)
}
