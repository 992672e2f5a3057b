//! Tests of temporary servers, which need PostgreSQL.
#![expect(clippy::unwrap_used, reason = "a failed step of a test panics")]

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tidings_cluster::{Cluster, Connection, Value, is_installed};

/// The variable that makes a test the child that is killed.
const CHILD: &str = "TIDINGS_CLUSTER_CHILD";
const PASSWORD: &str = "correct horse";
const PRICE: &str = "CREATE TABLE price (what text, n bigint)";

/// Returns whether these tests can run.
fn can_run() -> bool {
    is_installed("the tests of temporary PostgreSQL servers")
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(60), "still waiting until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn one(connection: &mut Connection, sql: &str) -> String {
    connection.query(sql, &[])[0][0].clone().unwrap()
}

#[test]
fn each_database_is_empty_and_is_removed_when_it_is_dropped() {
    if !can_run() {
        return;
    }
    let cluster = Cluster::shared().unwrap();
    let (one, two) = (cluster.database(), cluster.database());
    one.query(PRICE, &[]);
    let mut connection = one.connect();
    let values = [Value::Text("Müller's $1"), Value::Integer(-3)];
    assert_eq!(connection.try_execute("INSERT INTO price VALUES ($1, $2), (NULL, 4)", &values), Ok(2));
    let rows =
        connection.query("SELECT what, n, n > 0 FROM price WHERE n < $1 ORDER BY n", &[Value::Integer(9)]);
    let text = |text: &str| Some(text.to_owned());
    let expected = [[text("Müller's $1"), text("-3"), text("f")], [None, text("4"), text("t")]];
    assert_eq!(rows, expected);
    let error = two.connect().try_query("SELECT n FROM price", &[]).unwrap_err();
    assert_eq!(error, "42P01 relation \"price\" does not exist");
    let databases = |name: &str| {
        let sql = "SELECT count(*) FROM pg_database WHERE datname = $1";
        cluster.query(sql, &[name.into()])[0][0].clone().unwrap()
    };
    let name = one.name().to_owned();
    assert_eq!(databases(&name), "1");
    drop(one);
    assert_eq!(databases(&name), "0", "an open connection does not keep it");
}

#[test]
fn nothing_remains_of_a_test_process_that_is_killed() {
    if !can_run() {
        return;
    }
    if env::var_os(CHILD).is_some() {
        let cluster = Cluster::shared().unwrap();
        // Not `println!`, which libtest captures.
        writeln!(std::io::stdout(), "\ncluster {} {}", cluster.folder().display(), cluster.pid()).unwrap();
        loop {
            thread::park();
        }
    }
    let name = "nothing_remains_of_a_test_process_that_is_killed";
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", name, "--nocapture"]).env(CHILD, "1").stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find_map(|line| Some(line.strip_prefix("cluster ")?.to_owned())).unwrap();
    let (folder, pid) = line.split_once(' ').unwrap();
    let process = PathBuf::from(format!("/proc/{pid}/cwd"));
    let data = Path::new(folder).join("data");
    assert_eq!((std::fs::read_link(&process).unwrap(), data.exists()), (data, true));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the folder is gone", || !Path::new(folder).exists());
    assert!(std::fs::read_link(&process).is_err(), "the server has ended");
}

#[test]
fn a_server_is_stopped_killed_and_suspended_and_keeps_what_it_has_committed() {
    if !can_run() {
        return;
    }
    let cluster = Cluster::builder().set("log_connections", "on").start().unwrap();
    cluster.query(PRICE, &[]);
    for (n, end) in [Cluster::stop, Cluster::kill].iter().enumerate() {
        let mut open = cluster.connect();
        open.query("INSERT INTO price VALUES ('tea', $1)", &[Value::Integer(n.try_into().unwrap())]);
        end(&cluster);
        assert!(!cluster.is_running());
        open.try_query("SELECT 1", &[]).unwrap_err();
        Connection::open(&cluster.url("postgres")).err().unwrap();
        cluster.start();
        assert!(cluster.is_running());
    }
    let mut open = cluster.connect();
    assert_eq!(one(&mut open, "SELECT count(*) FROM price"), "2");
    cluster.suspend();
    let answer = thread::spawn(move || one(&mut open, "SELECT sum(n) FROM price"));
    thread::sleep(Duration::from_millis(300));
    assert!(!answer.is_finished(), "a suspended server does not answer");
    cluster.resume();
    assert_eq!(answer.join().unwrap(), "1");
    assert!(cluster.log().contains("connection authorized"), "{}", cluster.log());
    let folder = cluster.folder().to_owned();
    cluster.suspend();
    drop(cluster);
    assert!(!folder.exists(), "a suspended server is stopped too");
}

#[test]
fn a_commit_waits_for_the_standby_which_is_promoted() {
    if !can_run() {
        return;
    }
    let primary = Cluster::builder().start().unwrap();
    let standby = primary.standby("second");
    primary.wait_for_standby(Some("second"));
    standby.suspend();
    let mut writer = primary.connect();
    let write = thread::spawn(move || writer.try_execute(PRICE, &[]));
    thread::sleep(Duration::from_millis(300));
    assert!(!write.is_finished(), "a suspended standby acknowledges nothing");
    standby.resume();
    write.join().unwrap().unwrap();
    standby.stop();
    primary.wait_for_standby(None);
    primary.query("INSERT INTO price VALUES ('tea', 3)", &[]);
    standby.start();
    primary.wait_for_standby(Some("second"));
    primary.query("INSERT INTO price VALUES ('sugar', 2)", &[]);
    let mut reader = standby.connect();
    assert_eq!(one(&mut reader, "SELECT pg_is_in_recovery()"), "t");
    let refused = reader.try_query("INSERT INTO price VALUES ('milk', 1)", &[]).unwrap_err();
    assert!(refused.starts_with("25006 "), "{refused}");
    primary.kill();
    standby.promote();
    standby.query("INSERT INTO price VALUES ('milk', 1)", &[]);
    assert_eq!(one(&mut reader, "SELECT string_agg(what, ' ' ORDER BY n) FROM price"), "milk sugar tea");
}

#[test]
fn a_server_with_tcp_asks_for_the_password() {
    if !can_run() {
        return;
    }
    let cluster = Cluster::builder().tcp(PASSWORD).start().unwrap();
    let url = cluster.tcp_url("postgres");
    let with =
        |password: &str| url.replace("postgres@", &format!("postgres:{}@", password.replace(' ', "%20")));
    assert_eq!(one(&mut Connection::open(&with(PASSWORD)).unwrap(), "SELECT 1"), "1");
    let refused = Connection::open(&with("wrong")).err().unwrap();
    assert_eq!(refused, "28P01 password authentication failed for user \"postgres\"");
    Connection::open(&url).err().unwrap();
    cluster.stop();
    cluster.start();
    assert_eq!(one(&mut Connection::open(&with(PASSWORD)).unwrap(), "SELECT 1"), "1");
}
