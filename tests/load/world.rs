//! The server under load: a database with posts, notices, and members with views and likes.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tidings_vectors::Random;
use url::form_urlencoded::byte_serialize;

use crate::Result;
use crate::client::{Kind, Script, ask_json, first, get, post, post_json, run_to_the_end};
use crate::data::{self, TOPICS};
use crate::program::{self, Program, Server};

/// The maximum number of posts in a feed response.
pub(crate) const FEED_POSTS: usize = 150;
const NOTICES: u64 = 50;
/// The number of views, and of likes, of a member with a history; half of the liked posts were also viewed.
pub(crate) const HISTORY: usize = 300;
const FAVOURITES: usize = 3;
/// The maximum size of an import request in bytes, well below the limit of 64 MiB.
const IMPORT_BYTES: usize = 48 << 20;
/// The time within which feeds must show an import.
const FOLLOW: Duration = Duration::from_secs(10);

pub(crate) struct World {
    server: Server,
    administrator: String,
    /// The ids of the posts of each topic, newest first.
    topics: Vec<Vec<String>>,
}

impl World {
    pub(crate) fn start(program: &Program, posts: usize) -> Result<Self> {
        let database = program.init()?;
        // The server must not train the word model during a measurement.
        let server = program.serve(&database, &["--words-retrain-after", "0"])?;
        let address = server.address();
        let administrator = program::administrator(address)?;
        import(address, &administrator, &data::posts(posts), posts)?;
        for number in 0..NOTICES {
            let request = post_json("/insert_notice", Some(&administrator), &data::notice(number));
            ask_json(address, &request)?;
        }
        wait_for_feeds(address, posts)?;
        program.train(&database)?;
        let topics = TOPICS.iter().map(|topic| ids_of_topic(address, topic)).collect::<Result<_>>()?;
        Ok(Self { server, administrator, topics })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    pub(crate) fn administrator(&self) -> &str {
        &self.administrator
    }

    /// Returns the ids of all posts in random order.
    pub(crate) fn all_posts(&self) -> Rc<[String]> {
        let mut all: Vec<String> = self.topics.iter().flatten().cloned().collect();
        Random::new(2).shuffle(&mut all);
        all.into()
    }

    pub(crate) fn notices(&self) -> Result<Vec<String>> {
        let answer = ask_json(self.address(), &get("/get_all_notice", None))?;
        Ok(ids(&answer["notice_list"]))
    }

    /// Registers members with the id prefix `name`, and returns their tokens.
    pub(crate) fn members(&self, name: &str, count: usize) -> Result<Vec<String>> {
        (0..count).map(|number| program::sign_up(self.address(), &format!("{name}-{number:03}"))).collect()
    }

    /// Registers members who will like posts, mostly of a few topics.
    pub(crate) fn newcomers(&self, name: &str, count: usize) -> Result<Vec<Reader>> {
        let tokens = self.members(name, count)?.into_iter();
        Ok(tokens.zip(0..).map(|(token, seed)| self.reader(token, seed)).collect())
    }

    /// Registers members as [`World::newcomers`] does, who have also viewed and liked posts.
    pub(crate) fn readers(&self, name: &str, count: usize) -> Result<Vec<Reader>> {
        let readers = self.newcomers(name, count)?;
        run_to_the_end(self.address(), readers.iter().map(Reader::history).collect())?;
        Ok(readers)
    }

    /// Registers members as [`World::readers`] does, who have also recorded searches.
    pub(crate) fn searchers(&self, name: &str, count: usize, searches: usize) -> Result<Vec<Reader>> {
        let readers = self.readers(name, count)?;
        let scripts = readers.iter().zip(1..).map(|(reader, seed)| {
            let mut random = Random::new(seed);
            let token = reader.token.clone();
            let script: Script = Box::new(move |out| {
                out.extend_from_slice(&post_json(
                    "/search_logging",
                    Some(&token),
                    &data::search(&mut random),
                ));
                Some(Kind::Aside)
            });
            first(script, searches)
        });
        run_to_the_end(self.address(), scripts.collect())?;
        Ok(readers)
    }

    fn reader(&self, token: String, seed: u64) -> Reader {
        let mut random = Random::new(3 + seed);
        let mut order: Vec<&Vec<String>> = self.topics.iter().collect();
        random.shuffle(&mut order);
        let mut favourites: Vec<String> = order[..FAVOURITES].iter().copied().flatten().cloned().collect();
        let mut others: Vec<String> = order[FAVOURITES..].iter().copied().flatten().cloned().collect();
        random.shuffle(&mut favourites);
        random.shuffle(&mut others);
        favourites.append(&mut others);
        Reader { token, liked: Rc::new(Cell::new(HISTORY / 2 + HISTORY)), posts: favourites.into() }
    }
}

pub(crate) struct Reader {
    pub(crate) token: String,
    /// The ids of all posts, favourite topics first.
    posts: Rc<[String]>,
    /// The index in `posts` of the next post to like.
    liked: Rc<Cell<usize>>,
}

impl Reader {
    /// Returns a script that views the first posts, and likes posts from the middle of the viewed ones on.
    fn history(&self) -> Script {
        let views = self.posts.iter().take(HISTORY).map(|id| ("view", id));
        let likes = self.posts.iter().skip(HISTORY / 2).take(HISTORY).map(|id| ("like", id));
        let requests =
            views.chain(likes).map(|(act, id)| get(&format!("/post_{act}/{id}"), Some(&self.token)));
        let mut requests = requests.collect::<Vec<_>>().into_iter();
        Box::new(move |out| {
            out.extend_from_slice(&requests.next()?);
            Some(Kind::Aside)
        })
    }

    /// Returns a function that builds a like of a post which this member has neither viewed nor liked.
    pub(crate) fn like_another(&self) -> impl FnMut() -> Option<Vec<u8>> + use<> {
        let (posts, liked, token) = (Rc::clone(&self.posts), Rc::clone(&self.liked), self.token.clone());
        move || {
            let id = posts.get(liked.get())?;
            liked.set(liked.get() + 1);
            Some(get(&format!("/post_like/{id}"), Some(&token)))
        }
    }
}

/// Imports JSON lines over HTTP in as few requests as possible, and returns the total time of the requests.
pub(crate) fn import(address: SocketAddr, token: &str, lines: &str, posts: usize) -> Result<Duration> {
    let mut took = Duration::ZERO;
    let (mut rest, mut inserted) = (lines, 0);
    while !rest.is_empty() {
        let limit = rest.len().min(IMPORT_BYTES);
        let end = rest[..limit].rfind('\n').map_or(limit, |newline| newline + 1);
        let (part, after) = rest.split_at(end);
        let request = post("/import_posts", Some(token), "application/x-ndjson", part.as_bytes());
        let started = Instant::now();
        let answer = ask_json(address, &request)?;
        took += started.elapsed();
        let count = part.lines().count();
        program::imported(&answer, count)?;
        inserted += count;
        rest = after;
    }
    if inserted == posts {
        Ok(took)
    } else {
        Err(format!("{inserted} of {posts} posts were imported").into())
    }
}

/// Waits until the feeds show the imported posts.
pub(crate) fn wait_for_feeds(address: SocketAddr, posts: usize) -> Result<()> {
    let started = Instant::now();
    for path in ["/get_popularity_newsfeed", "/get_recommendation_newsfeed"] {
        while feed_length(address, path)? < posts.min(FEED_POSTS) {
            if started.elapsed() > FOLLOW {
                return Err(format!("{path} does not show the imported posts").into());
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

pub(crate) fn feed_length(address: SocketAddr, path: &str) -> Result<usize> {
    let answer = ask_json(address, &get(path, None))?;
    Ok(ids(&answer["newsfeed"]).len())
}

fn ids_of_topic(address: SocketAddr, topic: &str) -> Result<Vec<String>> {
    let path = format!("/get_newsfeed_of_topic/{topic}?limit=300");
    let (mut all, mut page) = (Vec::new(), String::new());
    loop {
        let answer = ask_json(address, &get(&format!("{path}{page}"), None))?;
        all.append(&mut ids(&answer["newsfeed"]));
        let Some(next) = answer["next"].as_str() else { return Ok(all) };
        page = format!("&next={}", byte_serialize(next.as_bytes()).collect::<String>());
    }
}

fn ids(list: &Value) -> Vec<String> {
    let ids = list.as_array().into_iter().flatten().filter_map(|item| item["_id"].as_str());
    ids.map(ToOwned::to_owned).collect()
}
