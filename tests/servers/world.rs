//! A database on a PostgreSQL server, servers on it, members and posts.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::SocketAddr;
use std::process::Command;
use std::time::Instant;

use serde_json::json;
use tempfile::TempDir;
use tidings_cluster::{Cluster, Connection};
use tidings_tests::{Caller, Process, command, run};

use crate::{Acts, Result, corpus};

/// The number of members who act, of those who only read, and of posts.
const MEMBERS: usize = 48;
const READERS: usize = 8;
const POSTS: usize = 6_000;
const DATABASE: &str = "tidings";
/// The minimum and the maximum number of words of a post that is searched: 84 on average.
const LENGTHS: (f64, f64) = (30.0, 180.0);

pub(crate) struct World {
    // Dropped in this order: the servers first.
    pub(crate) servers: Vec<(Process, SocketAddr)>,
    cluster: Cluster,
    folder: TempDir,
    pub(crate) acts: Acts,
}

impl World {
    pub(crate) fn start(servers: usize) -> Result<Self> {
        let cluster = Cluster::builder().set("autovacuum", "on").start()?;
        cluster.connect().query(&format!("CREATE DATABASE {DATABASE} TEMPLATE template0"), &[]);
        let folder = tempfile::tempdir()?;
        let mut world = Self { servers: Vec::new(), cluster, folder, acts: Acts::default() };
        for _ in 0..servers {
            let mut serve = world.command();
            serve.args(["serve", "--listen", "127.0.0.1:0", "--client-limits", "off"]);
            world.servers.push(Process::start(serve)?);
        }
        world.acts.admin = world.sign_up("boss");
        world.cli(&["admin", "grant", "boss"], "");
        world.acts.members = (0..MEMBERS).map(|number| world.sign_up(&format!("member{number}"))).collect();
        world.acts.readers = (0..READERS).map(|number| world.sign_up(&format!("reader{number}"))).collect();
        let post = |number: usize| {
            let url = format!("https://news.example.org/{number}");
            json!({ "title": format!("Post {number}"), "post": "Text.", "topic": ["all"], "url": url })
                .to_string()
        };
        world.cli(&["post", "import", "-"], &(0..POSTS).map(post).collect::<Vec<_>>().join("\n"));
        let rows = world.connect().query("SELECT id FROM post ORDER BY key", &[]);
        world.acts.posts = rows.into_iter().filter_map(|mut row| row[0].take()).collect();
        Ok(world)
    }

    /// Imports generated posts. Returns the number that was imported in a second, and the size of the search index in MB.
    pub(crate) fn import(&self, posts: u64) -> Result<(f64, u64)> {
        let path = self.folder.path().join("posts.jsonl");
        let mut file = BufWriter::new(File::create(&path)?);
        for number in 0..posts {
            writeln!(file, "{}", corpus::post(number, LENGTHS))?;
        }
        file.into_inner()?.sync_all()?;
        let began = Instant::now();
        self.cli(&["post", "import", path.to_str().ok_or("the path is no text")?], "");
        let rate = f64::from(u32::try_from(posts)?) / began.elapsed().as_secs_f64();
        self.connect().query("VACUUM ANALYZE", &[]);
        let size = "SELECT pg_total_relation_size('post_terms') / 1000000";
        Ok((rate, self.connect().query(size, &[])[0][0].as_ref().map_or(Ok(0), |n| n.parse())?))
    }

    fn command(&self) -> Command {
        let mut tidings = command();
        tidings.current_dir(self.folder.path()).args(["--db", &self.cluster.url(DATABASE)]);
        tidings
    }

    fn cli(&self, args: &[&str], input: &str) {
        let mut tidings = self.command();
        tidings.args(args);
        let _ = run(tidings, input).succeeded();
    }

    /// Signs up a member, and returns the token.
    fn sign_up(&self, id: &str) -> String {
        let pw = "correct horse";
        let form = json!({ "id": id, "pw": pw, "pw_check": pw, "nickname": id });
        Caller::to(self.servers[0].1).post("/sign_up", form).succeeded().text("/access_token")
    }

    fn connect(&self) -> Connection {
        Connection::open(&self.cluster.url(DATABASE)).expect("the cluster runs")
    }

    pub(crate) fn deadlocks(&self) -> u64 {
        let sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
        let rows = self.connect().query(sql, &[]);
        rows[0][0].as_ref().expect("a count is not null").parse().expect("a count is a number")
    }
}
