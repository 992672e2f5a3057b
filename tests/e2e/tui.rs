//! The terminal UI in a real terminal while a server runs on the same database.

mod remote;
mod sources;
mod terminal;

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tidings_tests::{Caller, Server, Tmux, command, location, only_on_sqlite, sample, wait_until};

/// The terminal UI, opened on the database of a running server.
struct Screens {
    terminal: Tmux,
    server: Server,
}

impl Screens {
    fn open() -> Self {
        Self::open_with(Server::start(), "")
    }

    /// Opens the terminal UI with a prefix before the command, such as a variable.
    fn open_with(server: Server, before: &str) -> Self {
        let terminal = Tmux::open(100, 30);
        let screens = Self { terminal, server };
        screens.terminal.runs("stty -a > before; echo before: $?");
        screens.terminal.waits_for("before: 0");
        screens.run(before);
        screens
    }

    fn run(&self, before: &str) {
        let binary = command().get_program().to_string_lossy().into_owned();
        let database = location(self.server.database());
        let database = database.to_str().unwrap();
        // `exec` keeps the process id of the shell, so the file has the id of the program.
        let program = format!("{before} sh -c 'echo $$ > pid; exec {binary} --db {database} tui'");
        // A killed program leaves the cursor within a line, in which the text could wrap.
        self.terminal.runs(&format!("{program}; printf '\\r\\nended: %s\\n' $?"));
        self.terminal.waits_for("Visitors by the hour");
    }

    fn pid(&self) -> Pid {
        let pid = fs::read_to_string(self.terminal.directory().join("pid")).unwrap();
        Pid::from_raw(pid.trim().parse().unwrap()).unwrap()
    }

    /// Waits until the program has ended with `status`, and asserts that it has restored the terminal settings.
    #[track_caller]
    fn assert_ended(&self, status: &str) {
        self.terminal.waits_for(&format!("ended: {status}"));
        self.terminal.waits_until_gone("Overview");
        self.terminal.runs("stty -a > after; echo written: $?");
        self.terminal.waits_for("written: 0");
        let read = |name: &str| fs::read_to_string(self.terminal.directory().join(name)).unwrap();
        assert_eq!(read("after"), read("before"));
    }
}

fn notices(caller: &Caller) -> Vec<Value> {
    caller.get("/get_all_notice").succeeded().body["notice_list"].as_array().unwrap().clone()
}

#[test]
fn a_notice_is_written_hidden_shown_and_removed_and_space_after_saving_changes_no_other() {
    let server = Server::start();
    let mut hidden = sample::notice("Not yet");
    hidden["activation"] = json!(0);
    let admin = server.admin();
    let _ = admin.post("/insert_notice", hidden).succeeded();
    let Screens { terminal, server } = Screens::open_with(server, "");
    terminal.press(&["2"]);
    terminal.waits_for("Not yet");
    terminal.press(&["n"]);
    terminal.waits_for("A new notice");
    terminal.types("도서관 hours");
    terminal.press(&["Enter"]);
    terminal.types("Open until ten. 👍");
    terminal.waits_for("Open until ten.");
    terminal.press(&["C-s"]);
    terminal.waits_for("Published “도서관 hours”.");
    let seen = notices(&server.anyone());
    assert_eq!((&seen[0]["title"], &seen[0]["post"]), (&json!("도서관 hours"), &json!("Open until ten. 👍")));
    // A key that comes before the list is loaded again changes nothing.
    terminal.waits_for("● shown");
    terminal.press(&["Space"]);
    terminal.waits_for("“도서관 hours” is hidden.");
    wait_until("both are hidden", || notices(&server.anyone()).is_empty());
    terminal.press(&["Space"]);
    terminal.waits_for("Show the notice “도서관 hours”?");
    terminal.press(&["Escape"]);
    terminal.waits_until_gone("Show the notice");
    assert!(notices(&server.anyone()).is_empty());
    terminal.press(&["Space"]);
    terminal.waits_for("Show the notice “도서관 hours”?");
    terminal.press(&["y"]);
    terminal.waits_for("“도서관 hours” is shown to everybody.");
    wait_until("the server shows it", || !notices(&server.anyone()).is_empty());
    let seen = notices(&server.anyone());
    assert_eq!((seen.len(), &seen[0]["title"]), (1, &json!("도서관 hours")));
    terminal.press(&["x"]);
    terminal.waits_for("Remove the notice “도서관 hours”?");
    assert_eq!(notices(&admin).len(), 2);
    terminal.press(&["y"]);
    terminal.waits_for("Removed “도서관 hours”.");
    wait_until("the server has removed the notice", || notices(&admin).len() == 1);
}

#[test]
fn a_post_is_added_and_the_password_and_the_role_of_a_member_are_set() {
    let Screens { terminal, server } = Screens::open();
    server.member("ann");
    terminal.press(&["5"]);
    terminal.waits_for("There are no posts.");
    terminal.press(&["n"]);
    terminal.waits_for("A new post");
    terminal.types("도서관 opens");
    terminal.press(&["Enter"]);
    terminal.types("campus.example.org");
    terminal.press(&["C-s"]);
    terminal.waits_for("begins with h");
    terminal.press(&["C-u"]);
    terminal.types("https://campus.example.org/1");
    terminal.press(&["C-s"]);
    terminal.waits_for("Added “도서관 opens”.");
    terminal.press(&["4"]);
    terminal.waits_for("ann");
    terminal.press(&["P"]);
    terminal.waits_for("A password has 8 to 128 characters.");
    terminal.types("a new horse");
    terminal.press(&["Enter"]);
    terminal.types("a new horse");
    terminal.waits_for("•••••••••••");
    terminal.press(&["Enter"]);
    terminal.waits_for("Set a new password for ann?");
    terminal.press(&["y"]);
    terminal.waits_for("ann has a new password");
    let form = json!({ "id": "ann", "pw": "a new horse" });
    let token = server.anyone().post("/sign_in", form).succeeded().text("/access_token");
    let ann = server.anyone().with_token("ann", token);
    terminal.press(&["r"]);
    terminal.waits_for("The role of ann");
    terminal.waits_for("insert, change and remove notices");
    terminal.press(&["Space", "Down", "Down", "Space", "Enter"]);
    terminal.waits_for("ann has a new role.");
    terminal.waits_for("◆ role");
    let role = ann.get("/get_member_role/ann").succeeded();
    assert_eq!(role.body["scopes"], json!(["notices", "posts:import"]));
    terminal.press(&["r", "Space", "Down", "Down", "Space", "Enter"]);
    terminal.waits_for("ann has no role any more.");
    assert_eq!(ann.get("/get_member_role/ann").succeeded().body["scopes"], json!([]));
}

#[test]
fn the_screens_show_changes_made_over_http() {
    let Screens { terminal, server } = Screens::open();
    let (admin, ann) = (server.admin(), server.member("ann"));
    terminal.press(&["2"]);
    let notice = admin.post("/insert_notice", sample::notice("from afar")).succeeded().text("/_id");
    terminal.waits_for("from afar");
    terminal.waits_for("0 ● shown");
    for views in 1..=3 {
        let _ = server.anyone().get(&format!("/get_notice/{notice}")).succeeded();
        terminal.waits_for(&format!("{views} ● shown"));
    }
    let _ = ann.post("/send_feedback", json!({ "type": "bug", "post": "the door is closed" })).succeeded();
    terminal.waits_for("3 Feedback 1!");
    terminal.press(&["3"]);
    terminal.waits_for("the door is closed");
    terminal.press(&["4"]);
    terminal.waits_for("ann");
    server.member("later");
    terminal.waits_for("later");
    terminal.press(&["5"]);
    let _ = admin.post("/insert_post", sample::post("A post from afar")).succeeded();
    terminal.waits_for("A post from afar");
    terminal.press(&["7"]);
    terminal.waits_for("/insert_post");
    let _ = ann.get("/get_userinfo").succeeded();
    terminal.waits_for("/get_userinfo");
    terminal.press(&["1"]);
    terminal.waits_for("/get_userinfo");
}

#[test]
fn the_terminal_is_restored_after_a_signal_and_the_draft_is_kept() {
    let screens = Screens::open();
    screens.terminal.press(&["2", "n"]);
    screens.terminal.types("half a title");
    screens.terminal.waits_for("Title          half a title");
    kill_process(screens.pid(), Signal::TERM).unwrap();
    screens.assert_ended("0");
    screens.terminal.runs("clear");
    screens.run("");
    screens.terminal.press(&["2"]);
    screens.terminal.waits_for("half a title");
    screens.terminal.waits_for("✎ shared");
    kill_process(screens.pid(), Signal::HUP).unwrap();
    screens.assert_ended("0");
}

/// The panic comes from a key that only debug builds have, and only if this variable is set.
#[cfg(debug_assertions)]
#[test]
fn the_terminal_is_restored_after_a_panic() {
    let screens = Screens::open_with(Server::start(), "TIDINGS_TEST_PANIC=1");
    screens.terminal.press(&["F12"]);
    screens.assert_ended("101");
    screens.terminal.waits_for("a panic for the tests");
}

#[test]
fn the_terminal_is_restored_on_quit() {
    let screens = Screens::open();
    screens.terminal.press(&["q"]);
    screens.assert_ended("0");
}

#[test]
fn the_screens_can_be_suspended_and_resumed() {
    let screens = Screens::open();
    for foreground in ["fg", "fg"] {
        screens.terminal.press(&["C-z"]);
        screens.terminal.waits_for("Stopped");
        screens.terminal.runs("stty -a > after; echo written: $?");
        screens.terminal.waits_for("written: 0");
        screens.terminal.runs(&format!("clear; {foreground}"));
        screens.terminal.waits_for("Visitors by the hour");
    }
    let read = |name: &str| fs::read_to_string(screens.terminal.directory().join(name)).unwrap();
    assert_eq!(read("after"), read("before"));
    screens.terminal.press(&["2"]);
    screens.terminal.waits_for("There are no notices.");
}

#[test]
fn a_text_is_written_in_the_editor_of_the_environment() {
    let server = Server::start();
    // What is printed differs from the command, which the terminal shows, too.
    let editor = "VISUAL='printf \"%s: \" Editing; read -r line; echo \"$line\" >'";
    let Screens { terminal, server } = Screens::open_with(server, editor);
    terminal.press(&["2"]);
    terminal.waits_for("There are no notices.");
    terminal.press(&["n"]);
    terminal.waits_for("A new notice");
    terminal.types("Hours");
    terminal.press(&["Enter", "C-o"]);
    terminal.waits_for("Editing:");
    terminal.waits_until_gone("A new notice");
    terminal.types("Open until ten.");
    terminal.press(&["Enter"]);
    terminal.waits_for("A new notice");
    terminal.waits_for("Open until ten.");
    terminal.press(&["C-s"]);
    terminal.waits_for("Published “Hours”.");
    assert_eq!(notices(&server.anyone())[0]["post"], "Open until ten.");
}

#[test]
fn without_a_terminal_there_is_a_hint_and_exit_status_2() {
    let server = Server::start();
    let refused = server.cli(["tui"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("the terminal UI needs a terminal"), "{refused:?}");
    for option in [&["--json"][..], &["--ndjson"], &["--as", "ann"]] {
        let refused = server.cli(["tui"].iter().chain(option));
        assert!(refused.status == 2 && refused.stderr.contains(option[0]), "{refused:?}");
    }
    let help = server.cli(["tui", "--help"]).succeeded();
    assert!(help.stdout.contains("--no-mouse"), "{help:?}");
}

#[test]
fn a_database_that_does_not_open_is_reported_before_the_terminal_is_touched() {
    only_on_sqlite!("it is about the database file");
    let terminal = Tmux::open(100, 30);
    fs::write(terminal.directory().join("no.db"), "This file is a text, not a database.").unwrap();
    let binary = command().get_program().to_string_lossy().into_owned();
    terminal.runs(&format!("{binary} --db no.db tui; echo ended: $?"));
    terminal.waits_for("ended: 3");
    terminal.waits_for("no.db");
}
