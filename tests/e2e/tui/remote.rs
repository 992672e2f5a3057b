//! The terminal UI on a server, in a real terminal.

use super::*;

const ALL: &str = "notices,posts,feedback,members,sources,analytics:read,audit:read";

/// The terminal UI on a running server.
pub(super) struct Remote {
    pub(super) terminal: Tmux,
    pub(super) server: Server,
}

impl Remote {
    /// Opens it with an API key that has these scopes.
    pub(super) fn open(server: Server, scopes: &str) -> Self {
        let key = server.cli(["--json", "key", "add", "screens", "--scope", scopes]).succeeded();
        let key = key.json()["key"].as_str().unwrap().to_owned();
        Self::open_with_token(server, &key)
    }

    fn open_with_token(server: Server, token: &str) -> Self {
        Self::open_at(server, "", token)
    }

    fn open_at(server: Server, path: &str, token: &str) -> Self {
        let terminal = Tmux::open(100, 30);
        let binary = command().get_program().to_string_lossy().into_owned();
        let address = server.address();
        terminal.runs(&format!("export TIDINGS_SERVER_KEY={token} XDG_STATE_HOME=$PWD/state; clear"));
        terminal.runs(&format!("{binary} --server http://{address}{path} tui; echo ended: $?"));
        terminal.waits_for(&address.to_string());
        Self { terminal, server }
    }
}

#[test]
fn every_screen_opens_on_a_server() {
    let server = Server::start();
    let (admin, ann) = (server.admin(), server.member("ann"));
    let _ = admin.post("/insert_notice", sample::notice("도서관 👍")).succeeded();
    let _ = admin.post("/insert_post", sample::post("A first post")).succeeded();
    let _ = ann.post("/send_feedback", json!({ "type": "bug", "post": "the door is closed" })).succeeded();
    let token = admin.token().to_owned();
    let Remote { terminal, server: _server } = Remote::open_with_token(server, &token);
    terminal.waits_for("· admin");
    terminal.waits_for("● live");
    for (key, text) in [
        ("1", "Visitors by the hour"),
        ("2", "도서관 👍"),
        ("3", "the door is closed"),
        ("4", "★ admin"),
        ("5", "A first post"),
        ("6", "Hour    Visitors"),
        ("7", "/send_feedback"),
        ("8", "notice.insert"),
        ("9", "There are no sources."),
    ] {
        terminal.press(&[key]);
        terminal.waits_for(text);
    }
    terminal.resize(40, 12);
    terminal.press(&["2"]);
    terminal.waits_for("1  2 Notices  3");
    terminal.waits_for("도서관 👍");
    terminal.waits_for("· admin");
    terminal.press(&["q"]);
    terminal.waits_for("ended: 0");
}

#[test]
fn changes_on_the_server_are_made_and_seen_and_looking_is_no_news() {
    let Remote { terminal, server } = Remote::open(Server::start(), ALL);
    terminal.waits_for("· API key");
    terminal.waits_for("● live");
    let (admin, ann) = (server.admin(), server.member("ann"));
    let id = admin.post("/insert_notice", sample::notice("Library")).succeeded().text("/_id");
    terminal.press(&["2"]);
    terminal.waits_for("0 ● shown");
    let lines = || {
        let log = admin.get("/get_log_date/0/1/0/1000").succeeded();
        log.list("log").iter().filter(|line| line["path"] == "/get_notices").count()
    };
    let before = lines();
    for _ in 0..3 {
        let _ = server.anyone().get(&format!("/get_notice/{id}")).succeeded();
    }
    terminal.waits_for("3 ● shown");
    let looks = lines() - before;
    // A slow server tells of each view by itself, and an earlier look may still be on its way.
    assert!((1..=4).contains(&looks), "{looks} looks for three views");

    terminal.press(&["n"]);
    terminal.types("도서관 hours");
    terminal.press(&["Enter"]);
    terminal.types("Open until ten. 👍");
    terminal.press(&["C-s"]);
    terminal.waits_for("Published “도서관 hours”.");
    assert_eq!(notices(&server.anyone())[0]["title"], "도서관 hours");
    let _ = ann.post("/send_feedback", json!({ "type": "bug", "post": "the door is closed" })).succeeded();
    terminal.waits_for("3 Feedback 1!");
    terminal.press(&["x"]);
    terminal.waits_for(&format!("Question · {}", server.address()));
    terminal.press(&["y"]);
    terminal.waits_for("Removed “도서관 hours”.");
}

#[test]
fn a_server_that_went_away_is_not_empty_and_the_screens_recover_when_it_is_back() {
    let Remote { terminal, mut server } = Remote::open(Server::start(), ALL);
    terminal.waits_for("● live");
    terminal.press(&["2"]);
    terminal.waits_for("There are no notices.");
    server.kill();
    terminal.waits_for("✗ not reachable since");
    for key in ["4", "5", "8"] {
        terminal.press(&[key]);
        terminal.waits_for("The server cannot be reached");
        let shown = terminal.screen();
        assert!(!shown.contains("There are no") && !shown.contains("There is no"), "{shown}");
    }
    terminal.press(&["2"]);
    server.restart_here();
    let _ = server.admin().post("/insert_notice", sample::notice("from afar")).succeeded();
    terminal.waits_for("from afar");
    terminal.waits_for("● live");
    terminal.press(&["8"]);
    terminal.waits_for("notice.insert");
}

#[test]
fn what_a_key_lacks_is_told_on_the_screens_that_need_it() {
    let Remote { terminal, server } = Remote::open(Server::start(), "notices");
    terminal.waits_for("○ every 10 seconds");
    // The first screen is one that the caller may see.
    terminal.waits_for("There are no notices.");
    terminal.press(&["1"]);
    terminal.waits_for("This needs an API key or a role with the scope analytics:read.");
    terminal.press(&["2"]);
    terminal.waits_for("There are no notices.");
    terminal.press(&["3"]);
    terminal.waits_for("This needs an API key or a role with the scope feedback.");
    terminal.press(&["2"]);
    let _ = server.admin().post("/insert_notice", sample::notice("from afar")).succeeded();
    terminal.waits_for("from afar");
    let _ = server.cli(["key", "revoke", "screens"]).succeeded();
    terminal.waits_for("✗ not signed in");
    terminal.press(&["3"]);
    terminal.waits_for("The server does not accept the sign-in or the key");
}

#[test]
fn a_server_that_lacks_an_operation_is_told_to_be_older() {
    // No operation has a path below this one.
    let server = Server::start();
    let token = server.admin().token().to_owned();
    let Remote { terminal, server: _server } = Remote::open_at(server, "/older", &token);
    terminal.press(&["9"]);
    terminal.waits_for("The server does not know this operation: it is older than this program.");
    terminal.press(&["n"]);
    terminal.types("https://news.example.org/feed");
    terminal.press(&["Enter"]);
    terminal.waits_for("✗ The server does not know this operation");
    terminal.press(&["q"]);
}

#[test]
fn quitting_does_not_wait_for_a_server_that_does_not_answer() {
    // It accepts connections, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let terminal = Tmux::open(100, 30);
    let binary = command().get_program().to_string_lossy().into_owned();
    let address = silent.local_addr().unwrap();
    terminal.runs(&format!("{binary} --server http://{address} tui; echo ended: $?"));
    terminal.waits_for("loading … Esc cancels");
    terminal.press(&["C-c"]);
    terminal.waits_for("ended: 0");
}
