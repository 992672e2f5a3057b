//! Output in a terminal: tables that fit its width, colours, confirmations, passwords and the editor.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use tidings_tests::{PASSWORD, Terminal};

use super::fixture::{Fixture, RELEASE, with_redactions};
use crate::faults::through;

/// Runs a command in a terminal of this width, and returns what the terminal shows.
fn shown(mut command: Command, cells: u16) -> String {
    command.env("TZ", "Asia/Seoul");
    Terminal::start(command, cells).end().1
}

#[test]
fn tables_fit_the_terminal_and_are_coloured_there_and_on_request() {
    let fixture = Fixture::new();
    for cells in [80, 40] {
        let commands: [&[&str]; 9] = [
            &["member", "list"],
            &["member", "show", "s2026001"],
            &["notice", "list", "--all"],
            &["feedback", "list"],
            &["post", "list"],
            &["post", "show", RELEASE],
            &["feed", "popular"],
            &["search", "run", "release 도서관"],
            &["analysis", "days", "1"],
        ];
        let text: String = commands.map(|args| shown(fixture.command(args), cells) + "\n").concat();
        with_redactions(|| insta::assert_snapshot!(format!("{cells}"), text));
    }

    let coloured = |text: &str| text.contains('\u{1b}');
    let at_terminal = |args: &[&str], no_color: Option<&str>| {
        let mut command = fixture.command(args);
        command.env_remove("NO_COLOR");
        command.envs(no_color.map(|value| ("NO_COLOR", value)));
        shown(command, 80)
    };
    let list = ["notice", "list"];
    assert!(coloured(&at_terminal(&list, None)) && coloured(&at_terminal(&list, Some(""))));
    assert!(!coloured(&at_terminal(&list, Some("1"))));
    assert!(coloured(&at_terminal(&["notice", "list", "--color", "always"], Some("1"))));
    assert!(!coloured(&at_terminal(&["--color", "never", "notice", "list"], None)));
    assert!(coloured(&at_terminal(&["notice", "show", "x"], None)), "failures are coloured");
    for args in [&["notice", "--help"][..], &["notice", "list", "--colour"], &["notice", "nothing"]] {
        assert!(coloured(&at_terminal(args, None)), "{args:?}");
        assert!(!coloured(&at_terminal(args, Some("1"))), "{args:?}");
        assert!(!coloured(&at_terminal(&[&["--color", "never"], args].concat(), None)), "{args:?}");
        assert!(coloured(&at_terminal(&[&["--color=always"], args].concat(), Some("1"))), "{args:?}");
    }
    assert!(coloured(&fixture.stdout(&["notice", "list", "--color=always"])));
    let mut piped = fixture.command(&list);
    piped.env_remove("NO_COLOR");
    assert!(!coloured(&tidings_tests::run(piped, "").stdout));
}

#[test]
fn destructive_commands_name_the_loss_and_ask() {
    let fixture = Fixture::new();
    let ask = |answer: &str| {
        let command = fixture.command(&["notice", "remove", &fixture.notice]);
        Terminal::start(command, 80).answer("[y/N] ", answer).end()
    };
    for no in ["", "n", "what?"] {
        let (status, text) = ask(no);
        assert_eq!(status, 1, "{text}");
        assert!(text.contains("remove the notice \"Library\"? [y/N]"), "{text}");
    }
    assert!(fixture.stdout(&["notice", "list"]).contains("Library"));
    let asking = Terminal::start(fixture.command(&["notice", "remove", &fixture.notice]), 80);
    let (_, text) = asking.press("[y/N] ", "\u{4}").end();
    assert!(text.contains("[y/N] \nerror: ") && text.contains("nothing was changed"), "{text:?}");
    assert_eq!(ask("YES").0, 0);
    assert!(!fixture.stdout(&["notice", "list"]).contains("Library"));
    // With `--json` the command asks no question.
    let command = fixture.command(&["--json", "member", "remove", "ann"]);
    assert_eq!(Terminal::start(command, 80).end().0, 2);
}

#[test]
fn a_password_is_asked_for_twice_when_it_is_new_and_never_shown() {
    let fixture = Fixture::new();
    for more in [&[][..], &["--password-stdin"]] {
        let terminal = |args: &[&str]| Terminal::start(fixture.command(&[args, more].concat()), 80);
        let (status, text) = terminal(&["member", "password", "ann"])
            .answer("Password: ", "battery staple")
            .answer("again: ", "battery staple")
            .end();
        assert!(status == 0 && !text.contains("battery"), "{text}");
        let (rule, asked) = (text.find("8 to 128 characters"), text.find("Password: "));
        assert!(rule.is_some() && rule < asked, "the rule comes before the question: {text}");
        let (status, text) =
            terminal(&["member", "sign-in", "ann"]).answer("Password: ", "battery staple").end();
        assert!(status == 0 && text.contains("eyJ") && !text.contains("battery"), "{text}");
    }
    let terminal = Terminal::start(fixture.command(&["member", "password", "ann"]), 80);
    let (status, text) = terminal.answer("Password: ", PASSWORD).answer("again: ", "x").end();
    assert!(status == 2 && text.contains("the passwords differ"), "{text}");
}

#[test]
fn an_interrupt_at_a_prompt_changes_nothing_and_restores_the_terminal() {
    let fixture = Fixture::new();
    // The shell continues in the same terminal after the interrupt.
    let tidings = fixture.command(&[]);
    let line = format!(
        "trap : INT; \"{}\" member password ann; echo \"status $?\"; stty -a | tr ' ;' '\\n\\n' | grep -x -e -*echo",
        tidings.get_program().display()
    );
    let shell = || Terminal::start(through(&tidings, &["sh", "-c", &line]), 80);
    let (_, text) = shell().answer("Password: ", "\u{3}").end();
    assert!(text.contains("status 130\necho\n"), "{text}");
    // A signal, as from Ctrl-C before the prompt reads the keys.
    let (_, text) = shell().interrupt("Password: ").end();
    assert!(text.contains("status 130\necho\n"), "{text}");
    let signed_in = fixture.with_input(&["member", "sign-in", "ann", "--password-stdin"], PASSWORD);
    assert_eq!(signed_in.status, 0, "{signed_in:?}");
}

/// Runs a command in a terminal with an editor that runs `script` on the file `$1` and records the permissions of the file;
/// temporary files are in `tmp`.
fn with_editor(fixture: &Fixture, variable: &str, args: &[&str], script: &str) -> (i32, String) {
    let (editor, temporary) = (fixture.directory().join("editor.sh"), fixture.directory().join("tmp"));
    std::fs::create_dir_all(&temporary).unwrap();
    std::fs::write(&editor, format!("#!/bin/sh\nstat -c %a \"$1\" > rights\n{script}\n")).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = fixture.command(args);
    command.env_remove("VISUAL").env("EDITOR", "false").env(variable, editor).env("TMPDIR", temporary);
    Terminal::start(command, 80).end()
}

fn temporary_files(fixture: &Fixture) -> usize {
    std::fs::read_dir(fixture.directory().join("tmp")).unwrap().count()
}

#[test]
fn a_notice_is_edited_in_an_editor() {
    let fixture = Fixture::new();
    let edit = |script: &str| with_editor(&fixture, "EDITOR", &["notice", "edit", &fixture.notice], script);
    let (status, text) = edit("cat \"$1\" > seen; sed -i 's/^Library$/Libraries/; s/ten/eleven/' \"$1\"");
    assert!(status == 0 && text.contains("The notice is changed."), "{text}");
    let read = |name: &str| std::fs::read_to_string(fixture.directory().join(name)).unwrap();
    assert_eq!(read("seen"), "Library\n\nOpen until ten.\nNot on Sundays.\n");
    assert_eq!(read("rights"), "600\n");
    let shown = fixture.stdout(&["notice", "show", &fixture.notice]);
    assert!(
        shown.starts_with("Libraries\n") && shown.ends_with("Open until eleven.\nNot on Sundays.\n"),
        "{shown}"
    );

    let (status, text) = edit("true");
    assert!(status == 0 && text.contains("Nothing was changed."), "{text}");
    let (status, text) = edit("exit 3");
    assert!(status == 1 && text.contains("nothing was changed"), "{text}");
    assert_eq!(temporary_files(&fixture), 0);
    // A text that the command refuses is kept in a file.
    let (status, text) = edit("printf '\\n\\nA long text' > \"$1\"");
    assert!(status == 1 && text.contains("kept in"), "{text}");
    assert_eq!(temporary_files(&fixture), 1);
    assert_eq!(fixture.stdout(&["notice", "show", &fixture.notice]).lines().next(), Some("Libraries"));
}

#[test]
fn a_notice_without_a_text_is_written_in_an_editor() {
    let fixture = Fixture::new();
    let write = |args: &[&str], script: &str| {
        with_editor(&fixture, "VISUAL", &[&["notice", "add"], args].concat(), script)
    };
    let titles = || fixture.run(&["notice", "list", "--json"]).succeeded().json();
    let before = titles();
    let (status, text) = write(
        &["--title", "Canteen", "--hidden"],
        "cat \"$1\" > seen; printf 'Open again.\\n\\nFrom noon.\\n' >> \"$1\"",
    );
    let id = text.lines().last().unwrap_or_default().trim();
    assert!(status == 0 && id.len() == 24, "{text}");
    assert!(text.contains("The first line is the title"), "{text}");
    let read = |name: &str| std::fs::read_to_string(fixture.directory().join(name)).unwrap();
    assert_eq!((read("seen").trim_end(), read("rights").as_str()), ("Canteen", "600\n"));
    let shown = fixture.stdout(&["notice", "show", id]);
    assert!(shown.starts_with("Canteen\n") && shown.ends_with("Open again.\n\nFrom noon.\n"), "{shown}");
    assert!(!fixture.stdout(&["notice", "list"]).contains("Canteen"), "it is hidden");
    let _ = fixture.run(&["notice", "remove", id, "--yes"]).succeeded();

    // An empty title or text publishes nothing; what was written is kept.
    for (script, part, kept) in [
        ("true", "the text is empty: nothing was published", 0),
        ("echo 'Only a title' > \"$1\"", "1 to 20,000 characters", 1),
        ("printf '\\n\\nOnly a text' > \"$1\"", "1 to 200 characters", 2),
        ("exit 3", "the editor", 2),
    ] {
        let (status, text) = write(&[], script);
        assert!(status == 1 && text.contains(part), "{text}");
        assert_eq!((temporary_files(&fixture), titles()), (kept, before.clone()), "{script}");
    }
    // Without a terminal there is no editor.
    let refused = fixture.run(&["notice", "add", "--title", "Canteen"]);
    assert!(refused.status == 2 && refused.stderr.contains("--post"), "{refused:?}");
}
