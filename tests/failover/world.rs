//! A primary, a synchronous standby, a proxy in front of each, and servers on them.

use std::fs::DirEntry;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;
use tidings_cluster::{Cluster, Connection};
use tidings_tests::{Caller, Output, Process, command, run, wait_until};

use crate::proxy::Proxy;

const PASSWORD: &str = "of the cluster";
const MEMBER_PASSWORD: &str = "correct horse";
const STANDBY: &str = "standby_1";
const MEMBERS: usize = 6;
const POSTS: usize = 600;
const DATABASE: &str = "tidings";

pub(crate) struct Server {
    pub(crate) process: Process,
    caller: Caller,
}

impl Server {
    /// Returns a caller that is not signed in.
    pub(crate) fn anyone(&self) -> &Caller {
        &self.caller
    }
}

pub(crate) struct World {
    // Dropped in this order: the servers first.
    pub(crate) servers: Vec<Server>,
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) primary: Cluster,
    pub(crate) standby: Option<Cluster>,
    folder: TempDir,
    admin: (String, String),
    members: Vec<(String, String)>,
    pub(crate) posts: Vec<String>,
}

impl World {
    /// Starts a primary, a synchronous standby and `servers` servers, with members and posts, and waits until all are ready.
    pub(crate) fn start(servers: usize) -> Self {
        Self::of(servers, true, true)
    }

    /// Starts a primary without a standby.
    pub(crate) fn without_standby(servers: usize) -> Self {
        Self::of(servers, false, true)
    }

    /// Starts a primary without a standby and without a proxy, which would add to all times.
    pub(crate) fn direct(servers: usize) -> Self {
        Self::of(servers, false, false)
    }

    fn of(servers: usize, has_standby: bool, has_proxies: bool) -> Self {
        let primary =
            Cluster::builder().tcp(PASSWORD).start().expect("the program has looked for PostgreSQL");
        let standby = has_standby.then(|| primary.standby(STANDBY));
        primary.connect().query(&format!("CREATE DATABASE {DATABASE} TEMPLATE template0"), &[]);
        let clusters = [Some(&primary).filter(|_| has_proxies), standby.as_ref()];
        let proxies = clusters.into_iter().flatten().map(|cluster| Proxy::start(cluster.address())).collect();
        let folder = tempfile::tempdir().unwrap();
        let (admin, members) = Default::default();
        let mut world = Self {
            servers: Vec::new(),
            proxies,
            primary,
            standby,
            folder,
            admin,
            members,
            posts: Vec::new(),
        };
        world.fill(servers);
        if has_standby {
            world.primary.wait_for_standby(Some(STANDBY));
        }
        world.wait_until_ready();
        world
    }

    fn fill(&mut self, servers: usize) {
        for _ in 0..servers {
            self.add_server();
        }
        self.admin = self.sign_up("boss");
        self.members = (0..MEMBERS).map(|number| self.sign_up(&format!("member{number}"))).collect();
        let _ = self.cli(["admin", "grant", "boss"], "").succeeded();
        let posts: Vec<_> = (0..POSTS)
            .map(|number| {
                json!({
                    "title": format!("Post {number}"), "post": "Text.", "topic": ["all"],
                    "url": format!("https://news.example.org/{number}"),
                })
                .to_string()
            })
            .collect();
        let _ = self.cli(["post", "import", "-"], &posts.join("\n")).succeeded();
        self.posts = self.query("SELECT id FROM post ORDER BY key");
    }

    fn url(&self) -> String {
        let mut hosts: Vec<_> = self.proxies.iter().map(|proxy| proxy.address().to_string()).collect();
        if hosts.is_empty() {
            hosts.push(self.primary.address().to_string());
        }
        format!("postgres://postgres@{}/{DATABASE}?sslmode=disable", hosts.join(","))
    }

    /// Starts another server.
    pub(crate) fn add_server(&mut self) {
        self.add_server_ahead(0);
    }

    /// Starts another server whose clock is some seconds ahead of that of the machine. All servers of a folder share the key
    /// that signs tokens.
    pub(crate) fn add_server_ahead(&mut self, ahead_s: i64) {
        let mut serve = self.command();
        serve.args(["serve", "--listen", "127.0.0.1:0", "--client-limits", "off"]);
        if ahead_s != 0 {
            let library = faketime().expect("the case has looked for it");
            serve.env("LD_PRELOAD", library).env("FAKETIME", format!("{ahead_s:+}s"));
            // A monotonic clock is never set.
            serve.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        match Process::start(serve) {
            Ok((process, address)) => self.servers.push(Server { process, caller: Caller::to(address) }),
            Err(log) => panic!("the server did not start: {log}"),
        }
    }

    fn command(&self) -> Command {
        let mut tidings = command();
        tidings.current_dir(self.folder.path()).env("PGPASSWORD", PASSWORD).args(["--db", &self.url()]);
        tidings
    }

    pub(crate) fn cli<const N: usize>(&self, args: [&str; N], input: &str) -> Output {
        let mut tidings = self.command();
        tidings.args(args);
        run(tidings, input)
    }

    /// Signs up a member, and returns the id and the token.
    pub(crate) fn sign_up(&self, id: &str) -> (String, String) {
        let form = json!({ "id": id, "pw": MEMBER_PASSWORD, "pw_check": MEMBER_PASSWORD, "nickname": id });
        let answer = self.servers[0].anyone().post("/sign_up", form).succeeded();
        (id.to_owned(), answer.text("/access_token"))
    }

    pub(crate) fn admin(&self, server: usize) -> Caller {
        self.servers[server].anyone().with_token(&self.admin.0, self.admin.1.clone())
    }

    pub(crate) fn member(&self, number: usize, server: usize) -> Caller {
        let (id, token) = &self.members[number % MEMBERS];
        self.servers[server].anyone().with_token(id, token.clone())
    }

    /// Returns the cluster that is the primary.
    fn current(&self) -> &Cluster {
        self.standby.as_ref().filter(|standby| is_primary(standby)).unwrap_or(&self.primary)
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(&self.current().url(DATABASE)).unwrap()
    }

    /// Returns the first column of a query to the current primary.
    pub(crate) fn query(&self, sql: &str) -> Vec<String> {
        self.connect().query(sql, &[]).into_iter().map(|row| row[0].clone().unwrap_or_default()).collect()
    }

    /// Waits until all servers are ready.
    pub(crate) fn wait_until_ready(&self) {
        let is_ready = |server: &Server| server.anyone().get("/readyz").status == 200;
        wait_until("the servers are ready", || self.servers.iter().all(is_ready));
    }

    pub(crate) fn logs(&self) -> String {
        let ends = self.servers.iter().enumerate().map(|(number, server)| {
            let log = server.process.log();
            let lines: Vec<_> = log.lines().rev().take(25).collect();
            format!("-- server {number}\n{}\n", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        });
        ends.collect()
    }
}

fn is_primary(cluster: &Cluster) -> bool {
    cluster.is_running()
        && Connection::open(&cluster.url("postgres"))
            .and_then(|mut connection| connection.try_query("SELECT pg_is_in_recovery()", &[]))
            .is_ok_and(|rows| rows[0][0].as_deref() == Some("f"))
}

/// Returns the library that changes the time of a process, of the package faketime, if it is installed.
pub(crate) fn faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    let library = |folder: DirEntry| folder.path().join("faketime/libfaketimeMT.so.1");
    folders.map(library).find(|library| library.exists())
}
