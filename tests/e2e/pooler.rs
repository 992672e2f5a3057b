//! PgBouncer between the program and PostgreSQL.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tempfile::TempDir;
use tidings_cluster::Cluster;
use tidings_tests::{Server, command, only_on_sqlite, run, sample, wait_until};

use crate::programs::{free_ports, is_installed};

struct Pooler {
    child: Child,
    port: u16,
    _directory: TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Pooler {
    /// Starts a pooler with a mode; `None` if it is not installed.
    fn start(mode: &str) -> Option<Self> {
        if !is_installed("pgbouncer") || !tidings_cluster::is_installed("the tests of poolers") {
            return None;
        }
        let (cluster, directory) =
            (Cluster::shared().expect("it is installed"), tempfile::tempdir().unwrap());
        let [port] = free_ports();
        // Started by root, the pooler continues as the user who may use the socket.
        let owner = fs::metadata(cluster.folder()).unwrap().uid();
        let name = Command::new("id").args(["--name", "--user", &owner.to_string()]).output().unwrap();
        let is_own = owner == rustix::process::geteuid().as_raw();
        let user = if is_own {
            String::new()
        } else {
            format!("user = {}", String::from_utf8(name.stdout).unwrap())
        };
        let settings = format!(
            "[databases]\n* = host={} user=postgres\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = {mode}\ndefault_pool_size = 30\n{user}\n",
            cluster.folder().display(),
        );
        let file = directory.path().join("pgbouncer.ini");
        fs::write(&file, settings).unwrap();
        let mut pgbouncer = Command::new("pgbouncer");
        pgbouncer.arg("--quiet").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let pooler = Self { child: pgbouncer.spawn().unwrap(), port, _directory: directory };
        wait_until("the pooler listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(pooler)
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }
}

#[test]
fn a_service_works_behind_a_pooler_of_sessions() {
    only_on_sqlite!("it has PostgreSQL of its own");
    let Some(pooler) = Pooler::start("session") else { return };
    let mut server = Server::on_postgres_at(|database| pooler.url(database.name()));
    let (admin, ann) = (server.admin(), server.member("ann"));
    let id = admin.post("/insert_post", sample::post("A borrowed crab")).text("/_id");
    wait_until("the feeds show the post", || {
        server.anyone().get("/get_popularity_newsfeed").succeeded().list("newsfeed").len() == 1
    });
    let _ = ann.get(&format!("/post_like/{id}")).succeeded();
    let found = ann.post("/priority_search/5", json!({ "search": "borrowed crabs" })).succeeded();
    assert_eq!(found.text("/search_result/0/_id"), id);
    let report =
        server.cli_with_input(["post", "import", "-", "--json"], sample::RUST_BLOG).succeeded().json();
    assert_eq!(report["inserted"], json!(sample::rust_blog().len()));
    server.cli(["check"]).assert_sound();
    let stopped = server.stop();
    assert!(stopped.status.success() && !stopped.log.contains("ERROR"), "{}", stopped.log);
}

#[test]
fn a_pooler_of_transactions_is_refused() {
    only_on_sqlite!("it has PostgreSQL of its own");
    let Some(pooler) = Pooler::start("transaction") else { return };
    let database = Cluster::shared().expect("it is installed").database();
    for args in [&["init"][..], &["check"], &["serve", "--listen", "127.0.0.1:0"]] {
        let mut tidings = command();
        tidings.args(["--db", &pooler.url(database.name())]).args(args);
        let refused = run(tidings, "");
        assert!(refused.stderr.contains("set its pool_mode to session"), "{args:?}: {}", refused.stderr);
        assert_ne!(refused.status, 0, "{args:?}");
    }
    assert!(database.query("SELECT 1 FROM pg_tables WHERE tablename = 'lane'", &[]).is_empty());
}
