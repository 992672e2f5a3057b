//! Importing the roster.

use serde_json::json;
use tidings_tests::Server;

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
    let listed = server.cli(["--json", "roster", "list"]).succeeded().json();
    assert_eq!(listed["roster"].as_array().unwrap().len(), 2);
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
}
