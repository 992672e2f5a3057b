//! Files that commands write: only a complete file replaces an existing one, and none replaces the database.

use std::fs;

use tidings_tests::{Server, only_on_sqlite, sample};

/// Starts a server with posts and a trained word model.
fn with_words() -> Server {
    let server = Server::with(|serve| {
        serve.args(["--words-retrain-after", "0"]);
    });
    let _ = server.cli_with_input(["post", "import", "-"], sample::RUST_BLOG).succeeded();
    let _ = server.cli(["words", "train"]).succeeded();
    server
}

#[test]
fn an_export_never_overwrites_the_databases_files() {
    only_on_sqlite!("it is about the database file");
    let server = with_words();
    let database = server.database().file_name().unwrap().to_str().unwrap();
    let beside = |end: &str| format!("{database}{end}");
    let linked = server.database().with_file_name("linked.txt");
    fs::hard_link(server.database(), linked).unwrap();
    let before = server.dump();
    let places = ["", "-wal", "-shm", "-journal", ".key", ".words"].map(beside);
    let others = ["linked.txt".to_owned(), format!("./{database}"), server.database().display().to_string()];
    for place in places.iter().chain(&others) {
        let read = || fs::read(server.database().with_file_name(place)).ok();
        let bytes = read();
        for kind in ["post", "words"] {
            let refused = server.cli([kind, "export", place]);
            assert_eq!(refused.status, 2, "{place}: {refused:?}");
            let message = "is the database itself, or one of its files: name another file";
            assert!(refused.stderr.contains(message), "{place}: {refused:?}");
        }
        let written_meanwhile = ["-wal", "-shm"].iter().any(|end| place.ends_with(end));
        assert!(written_meanwhile || read() == bytes, "{place} has changed");
    }
    assert_eq!(server.dump(), before);
    assert_eq!(server.integrity(), "ok");
    for kind in ["post", "words"] {
        let _ = server.cli([kind, "export", "another.txt"]).succeeded();
    }
}

#[test]
fn an_export_without_a_model_leaves_the_existing_file() {
    let server = Server::start();
    let file = server.database().with_file_name("vectors.txt");
    fs::write(&file, "before").unwrap();
    let refused = server.cli(["words", "export", "vectors.txt"]);
    insta::assert_snapshot!(refused.stderr, @"error: Not found: there are no words yet: tidings words train");
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
}
