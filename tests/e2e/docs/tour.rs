//! The tour of the README, which a new user pastes into a shell.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use tidings_tests::{Tmux, command, wait_until};

use super::page::Page;
use super::shell::SITE_PORT;
use crate::programs::{free_ports, root, static_binary};

const ADDRESS: &str = "127.0.0.1:8081";

#[test]
fn the_tour_runs_as_it_is_written_and_each_step_has_an_effect() {
    tidings_tests::only_on_sqlite!("the tour uses a file");
    runs(|tidings| symlink(command().get_program(), tidings).unwrap());
}

#[test]
fn the_tour_runs_with_a_static_binary_that_sees_no_other_file() {
    tidings_tests::only_on_sqlite!("the tour uses a file");
    let Some(program) = static_binary() else { return };
    let root = tempfile::tempdir().unwrap();
    fs::copy(program, root.path().join("tidings")).unwrap();
    let chroot = format!("#!/bin/sh\nexec chroot {} /tidings \"$@\"\n", root.path().display());
    runs(|tidings| {
        fs::write(tidings, &chroot).unwrap();
        fs::set_permissions(tidings, fs::Permissions::from_mode(0o755)).unwrap();
        // The shell of the tour is outside that directory, and looks for the database too.
        let outside =
            tidings.ancestors().nth(3).expect("the program is in target/release of the tour's directory");
        symlink(root.path().join("tour.db"), outside.join("tour.db")).unwrap();
    });
    assert!(root.path().join("tour.db").exists(), "the database is in the root of the program");
}

/// Runs the tour. `install` makes the program at its path.
fn runs(install: impl FnOnce(&Path)) {
    let tour = Page::named("README.md").tour();
    let [free, site] = free_ports();
    let terminal = Tmux::open(150, 140);
    let bin = terminal.directory().join("target/release");
    fs::create_dir_all(&bin).unwrap();
    install(&bin.join("tidings"));
    symlink(root().join("tests"), terminal.directory().join("tests")).unwrap();
    // The server ends even if a step fails.
    let tour = tour.replace(ADDRESS, &format!("127.0.0.1:{free}")).replace(SITE_PORT, &site.to_string());
    // Weights that the server learns after half a minute could make another reason the strongest one.
    let script = format!(
        "export TIDINGS_LEARN=off\ntrap 'kill $(jobs -p)' EXIT\n{tour}\necho the first tour ends\n{tour}\n"
    );
    fs::write(terminal.directory().join("tour.sh"), script).unwrap();
    terminal.runs("bash tour.sh; echo ended: $?");
    // It is pasted twice, the second time while the server runs.
    for notices in [1, 2] {
        terminal.waits_for("Visitors by the hour");
        terminal.types("2");
        terminal.waits_for("Open until ten.");
        wait_until("each tour publishes a notice", || terminal.screen().matches("Library").count() > notices);
        terminal.types("q");
        terminal.waits_until_gone("2 Notices");
    }
    terminal.waits_for("ended: 0");
    let shown = terminal.screen();
    let (first, second) = shown.split_once("the first tour ends").unwrap();
    assert!(second.contains("because you liked “") && second.contains("event: notice"), "{second}");
    assert!(!second.contains("error:") && !second.contains("null"), "{second}");
    let shown = first;
    let has = |text: &str| assert!(shown.contains(text), "{text:?} is missing:\n{shown}");
    // The source, and its newest post in a feed.
    has("40 new, 0 changed, 0 already there");
    has("Enabling the next-generation trait solver on nightly");
    // The feed before the like, and after it.
    has(": popular");
    has("because you liked “");
    // The mistyped word, its neighbours, and the notice.
    has("elescope");
    has("observatory 0.");
    has("event: notice");
    has("\"title\":\"Library\"");
}
