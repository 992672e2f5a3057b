//! Output to a closed pipe and to a full disk.

use std::fs::File;
use std::process::Stdio;

use tidings_tests::Engine;

use super::fixture::Fixture;

#[test]
fn a_pipe_closed_before_the_command_writes_ends_it_quietly() {
    let fixture = Fixture::new();
    std::fs::write(fixture.directory().join("vectors.txt"), "2 2\nrelease 1 0\ncrabs 0 1\n").unwrap();
    let commands: &[&[&str]] = &[
        &["--help"],
        &["init"],
        &["member", "list"],
        &["member", "list", "--ndjson"],
        &["notice", "list", "--json"],
        &["notice", "add", "--title", "T", "--post", "P"],
        &["post", "import", "/dev/null"],
        &["feed", "popular"],
        &["backup", "copy.db"],
        &["check"],
        &["config"],
        &["openapi"],
        &["words", "load", "vectors.txt"],
    ];
    // A backup is a copy of the file, and the PostgreSQL server of the tests fails a check: it does not survive a crash.
    let has_file = Engine::chosen() == Engine::Sqlite;
    let is_of_file = |args: &[&str]| matches!(args[0], "backup" | "check");
    for args in commands.iter().copied().filter(|args| has_file || !is_of_file(args)) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = fixture.command(args);
        let child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        drop(command);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && !stderr.contains("panic"),
            "{args:?}: {:?} {stderr}",
            output.status
        );
        assert!(!stderr.contains("pipe"), "{args:?}: {stderr}");
    }
}

#[test]
fn a_closed_standard_error_does_not_panic_and_an_unwritable_output_is_a_failure() {
    let fixture = Fixture::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = fixture.command(&["notice", "show", "x"]);
    let status = command.stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(1));

    for args in [&["notice", "list"][..], &["notice", "list", "--json"], &["member", "list", "--ndjson"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let child = fixture.command(args).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}: {stderr}");
        assert!(stderr.contains("cannot write the answer"), "{args:?}: {stderr}");
    }
}
