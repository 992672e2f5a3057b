//! Commands that run while a server under load uses the same database.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tidings_tests::{Server, sample};

/// The number of notices that commands add while the server is under load; each comes with a view.
const COMMANDS: usize = 25;

#[test]
fn commands_write_beside_a_busy_server_and_nothing_is_lost() {
    let server = Server::start();
    let members: Vec<_> = (0..4).map(|n| server.member(&format!("member{n}"))).collect();
    let _ = server.cli_with_input(["post", "import", "-"], sample::RUST_BLOG).succeeded();
    let posts = server.cli(["post", "list", "--json"]).succeeded().json();
    let post = posts["posts"][0]["_id"].as_str().unwrap();
    let stop = AtomicBool::new(false);
    let mut views = 0;
    std::thread::scope(|scope| {
        let load: Vec<_> = members
            .iter()
            .map(|member| {
                scope.spawn(|| {
                    let mut views = 0_usize;
                    while !stop.load(Ordering::Relaxed) {
                        let _ = member.get(&format!("/post_view/{post}")).succeeded();
                        let _ = member.post("/search_logging", json!({ "search": "load" })).succeeded();
                        views += 1;
                    }
                    views
                })
            })
            .collect();
        for n in 0..COMMANDS {
            let title = format!("Notice {n}");
            let written = server.cli(["notice", "add", "--title", &title, "--post", "Text"]);
            assert_eq!((written.status, written.stderr.as_str()), (0, ""), "{written:?}");
            let viewed = server.cli(["--as", "member0", "post", "view", post]);
            assert_eq!((viewed.status, viewed.stderr.as_str()), (0, ""), "{viewed:?}");
        }
        stop.store(true, Ordering::Relaxed);
        views = load.into_iter().map(|thread| thread.join().unwrap()).sum();
    });
    assert!(views > 0, "the server was under load");
    let shown = server.cli(["post", "show", post, "--json"]).succeeded().json();
    assert_eq!(shown["post"]["view"], views + COMMANDS, "{shown}");
    let titles = server.cli(["notice", "list", "--json"]).succeeded().json();
    let titles = titles["notice_list"].as_array().unwrap().iter().map(|notice| notice["title"].to_string());
    let mut titles: Vec<String> = titles.collect();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), COMMANDS);
    assert_eq!(server.integrity(), "ok");
}
