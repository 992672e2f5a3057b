//! Importing the roster.

use std::io::Write as _;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tidings_tests::{Server, wait_until};

/// Returns the number of entries on the roster.
fn roster_length(server: &Server) -> u64 {
    let roster = server.cli(["--json", "roster", "list"]).succeeded().json();
    roster["roster"].as_array().unwrap().len().try_into().unwrap()
}

#[test]
fn a_roster_without_column_names_is_refused_and_invalid_lines_are_left_out() {
    let server = Server::start();
    let directory = server.cli(["roster", "import", "."]);
    assert_eq!(directory.status, 3, "{directory:?}");
    assert!(directory.stderr.contains("irectory"), "{directory:?}");
    let nameless =
        server.cli_with_input(["roster", "import", "-"], "id,name,pw\ns1,Kim,secret\ns2,Lee,secret\n");
    insta::assert_snapshot!(nameless.stdout, @"0 inserted, 0 updated, 0 already the same, 1 left out");
    insta::assert_snapshot!(nameless.stderr, @r#"
    line 1: the first line names the columns: id,name,major,password, of which major may be left out
    the column "pw" is not known and is not read
    error: nothing was imported: 1 of the lines were left out
    "#);

    let long = "x".repeat(129);
    let roster = format!(
        "id,name,password\nGuest,G,secret\ns\u{200b}1,Kim,secret\n\"s\r\n2\",Lee,secret\n{long},Park,secret\n\
         s3,\u{1},secret\ns4,\" Choi\u{1b} \",secret\n"
    );
    let report = server.cli_with_input(["roster", "import", "-"], roster).succeeded();
    insta::assert_snapshot!(report.stdout, @"1 inserted, 0 updated, 0 already the same, 5 left out");
    insta::assert_snapshot!(report.stderr, @r"
    line 2: id is 1 to 128 characters, none of them a control character or invisible, and not guest or removed
    line 3: id is 1 to 128 characters, none of them a control character or invisible, and not guest or removed
    line 4: id is 1 to 128 characters, none of them a control character or invisible, and not guest or removed
    line 6: id is 1 to 128 characters, none of them a control character or invisible, and not guest or removed
    line 7: name is missing
    ");
    let listed = server.cli(["--json", "roster", "list"]).succeeded().json();
    assert_eq!(listed["roster"], json!([{ "id": "s4", "name": "Choi", "major": "" }]));

    // An error names the line where the record begins.
    let roster = b"ID,Name,Password,Major,Faculty\r\n\r\ns1,\"Kim\nJi-woo\",secret,Art,x\r\n\
                   s2,,secret\r\n\ns3,\xff,secret\r\ns4,Park\r\ns5,Choi,secret,Law\r\n";
    let report = server.cli_with_input(["roster", "import", "-"], roster).succeeded();
    insta::assert_snapshot!(report.stdout, @"2 inserted, 0 updated, 0 already the same, 3 left out");
    insta::assert_snapshot!(report.stderr, @r#"
    line 5: name is missing
    line 7: it is not UTF-8: save the file in that encoding
    line 8: password is missing
    the column "Faculty" is not known and is not read
    "#);
    assert_eq!(roster_length(&server), 3);
}

#[test]
fn a_roster_of_a_spreadsheet_is_read_in_its_encoding() {
    let server = Server::start();
    let korean =
        b"id;name;password;major\r\ns1;\xb1\xe8\xc1\xf6\xbf\xec;secret;\xb9\xb0\xb8\xae\xc7\xd0\r\ns2;\xb1\xe8\xbc\xad\xbf\xec;secret;";
    let report = server.cli_with_input(["roster", "import", "-"], korean).succeeded();
    insta::assert_snapshot!(report.stdout, @"2 inserted, 0 updated, 0 already the same, 0 left out");
    insta::assert_snapshot!(report.stderr, @"the file is not UTF-8, and was read as EUC-KR");
    let listed = server.cli(["--json", "roster", "list"]).succeeded().json();
    assert_eq!(listed["roster"][0], json!({ "id": "s1", "name": "김지우", "major": "물리학" }));
    let wide: Vec<u8> = "\u{feff}id\tname\tpassword\r\ns3\t이서연\tsecret"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let report = server.cli_with_input(["roster", "import", "-"], wide).succeeded();
    insta::assert_snapshot!(report.stdout, @"1 inserted, 0 updated, 0 already the same, 0 left out");
    insta::assert_snapshot!(report.stderr, @"the file is not UTF-8, and was read as UTF-16LE");
}

#[test]
fn an_interrupted_roster_import_resumes_when_repeated() {
    let server = Server::start();
    let mut import = server.command();
    import.args(["--json", "roster", "import", "-"]);
    let mut import =
        import.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = import.stdin.take().unwrap();
    let line = |n: u64| format!("s{n},Kim,secret\n");
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(b"id,name,password\n");
        let mut n = 0;
        // Write until the import stops reading.
        while stdin.write_all(line(n).as_bytes()).is_ok() {
            n += 1;
        }
    });
    wait_until("the first entries are imported", || roster_length(&server) > 0);
    kill_process(Pid::from_child(&import), Signal::INT).unwrap();
    let output = import.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let there = roster_length(&server);
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&outcome["result"], &outcome["inserted"]), (&json!("interrupted"), &json!(there)));
    let input: String = (0..there + 3).map(line).collect();
    let rest = server
        .cli_with_input(["--json", "roster", "import", "-"], format!("id,name,password\n{input}"))
        .succeeded()
        .json();
    assert_eq!((&rest["inserted"], &rest["skipped"]), (&json!(3), &json!(there)));
}
