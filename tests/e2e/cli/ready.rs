//! `tidings ready`: whether a server can take requests.

use tidings_tests::{Server, command, only_on_sqlite, run, wait_until};

use super::without_database;

#[test]
fn a_server_that_runs_is_ready_and_one_that_has_stopped_is_not() {
    let server = Server::with(|serve| {
        serve.args(["--base-path", "/api"]);
    });
    let directory = tempfile::tempdir().unwrap();
    let address = server.address().to_string();
    let url = format!("http://{address}/api");
    let here = ["ready", "--listen", &address, "--base-path", "/api"];
    let shown = without_database(directory.path(), &here).succeeded().stdout;
    assert_eq!(shown, format!("{url} is ready.\n"));
    let shown = without_database(directory.path(), &["--server", &url, "ready", "--json"]).succeeded();
    assert_eq!(shown.json()["server"], url);
    // The settings of a container are variables.
    let mut ready = command();
    ready.current_dir(directory.path()).arg("ready");
    ready
        .env("TIDINGS_LISTEN", format!("0.0.0.0:{}", server.address().port()))
        .env("TIDINGS_BASE_PATH", "/api");
    assert_eq!(run(ready, "").succeeded().stdout, format!("{url} is ready.\n"));

    drop(server);
    let refused = without_database(directory.path(), &here);
    assert_eq!((refused.status, &*refused.stdout), (3, ""), "{refused:?}");
    assert!(refused.stderr.contains(&url), "{refused:?}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "the command creates nothing");
}

#[test]
fn a_server_that_cannot_write_is_not_ready() {
    only_on_sqlite!("the file of the database is removed");
    let server = Server::start();
    let directory = tempfile::tempdir().unwrap();
    std::fs::remove_file(server.database()).unwrap();
    wait_until("the server notices", || server.anyone().get("/readyz").status == 503);
    let refused = without_database(directory.path(), &["ready", "--listen", &server.address().to_string()]);
    assert!(refused.status == 3 && refused.stderr.contains("overloaded"), "{refused:?}");
}
