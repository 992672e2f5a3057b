//! What terminals do differently: answers that never come, and an end without a goodbye.

use std::process::Command;
use std::time::{Duration, Instant};

use tidings_tests::Terminal;

use super::*;

/// Opens the terminal UI on the database of a server in a terminal that answers no questions.
fn silent(server: &Server) -> Command {
    let mut screens = command();
    screens.arg("--db").arg(location(server.database())).arg("tui");
    screens
}

#[test]
fn redrawing_asks_the_terminal_nothing() {
    let server = Server::start();
    let terminal = Terminal::start(silent(&server), 100);
    let terminal = terminal.press("Visitors by the hour", "\u{c}5");
    // The form of a post is open.
    let terminal = terminal.press("There are no posts.", "n").press("A new post", "\u{c}\u{1b}\u{1b}");
    let (status, shown) = terminal.press("There are no posts.", "q").end();
    assert_eq!(status, 0, "{shown}");
    assert!(!shown.contains("\u{1b}[6n"), "the position of the cursor is asked for");
}

const AT_ONCE: Duration = Duration::from_secs(6);

#[test]
fn the_screens_end_with_the_input_even_if_no_signal_tells() {
    let server = Server::start();
    let mut ignoring = Command::new("sh");
    ignoring.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(command().get_program());
    ignoring.arg("--db").arg(location(server.database())).arg("tui");
    for screens in [silent(&server), ignoring] {
        let terminal = Terminal::start(screens, 100);
        let terminal = terminal.press("Visitors by the hour", "2");
        let begin = Instant::now();
        assert_eq!(terminal.hang_up("There are no notices."), 0);
        assert!(begin.elapsed() < AT_ONCE, "{:?}", begin.elapsed());
    }
}
