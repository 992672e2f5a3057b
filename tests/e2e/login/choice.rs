//! Who signs in, when there are several profiles, `--as` and variables.

use serde_json::json;
use tidings_tests::totp::code;
use tidings_tests::{PASSWORD, Server, Terminal, run};

use super::{Home, assert_refused, url, with_admin};

#[test]
fn one_of_several_sign_ins_is_chosen_by_its_profile() {
    let (server, home, url) = with_admin();
    let _ = server.member("boss");
    let _ = server.cli(["admin", "grant", "boss"]).succeeded();
    let _ = home.login(&url, &["admin", "--profile", "one"]).succeeded();
    let second = home.login(&url, &["boss", "--profile", "two"]).succeeded().stdout;
    assert!(second.ends_with("Commands use it with --profile two.\n"), "{second}");
    assert_eq!(home.profiles(), [("one".into(), 1, 1, 0), ("two".into(), 1, 1, 0)]);
    let key = ["key", "add", "k", "--scope", "posts"];
    let refused = home.run([&["--server", &*url], &key[..]].concat());
    assert_refused(&refused, 2, "there are several sign-ins: choose one with --profile: one, two");
    let _ = home.run([&["--profile", "two"], &key[..]].concat()).succeeded();
    let audit = server.cli(["audit", "list", "--json"]).succeeded().json();
    assert_eq!(
        (&audit["audit"][0]["actor"], &audit["audit"][0]["surface"]),
        (&json!("boss"), &json!("http"))
    );
    let _ = home.run(["--profile", "two", "--server", &url, "member", "list"]).succeeded();
    let other = home.run(["--profile", "two", "--server", "https://tidings.example.org", "member", "list"]);
    assert_refused(&other, 2, "the profile two is for http://");
    // A name stands for one sign-in.
    assert_refused(&home.login(&url, &["boss", "--profile", "one"]), 2, "the profile one is for admin");
    assert_refused(&home.run(["--profile", "three", "member", "list"]), 2, "there is no profile \"three\"");
}

#[test]
fn a_member_acts_with_the_sign_in_of_their_own() {
    let (server, home, url) = with_admin();
    let _ = server.member("ann");
    let _ = home.login(&url, &["admin", "--profile", "boss"]).succeeded();
    let recent = ["search", "recent", "--json"];
    let as_ann = [&["--server", &*url, "--as", "Ann"], &recent[..]].concat();
    assert_refused(&home.run(as_ann.clone()), 2, &format!("tidings login --server {url} Ann"));
    let _ = home.login(&url, &["ann"]).succeeded();
    let _ = home.run(as_ann).succeeded();
    let _ = home.run([&["--profile", "boss", "--as", "ann"], &recent[..]].concat()).succeeded();
    assert_refused(&home.run([&["--server", &*url], &recent[..]].concat()), 2, "--as ID");
    let _ = home.run(["--server", &url, "member", "list"]).succeeded();
    assert_refused(&home.run(["--server", &url, "--as", "ann", "member", "list"]), 1, "Not admin");
}

#[test]
fn a_token_in_the_variable_is_that_of_the_acting_member() {
    let (server, home, url) = with_admin();
    let token = server.member("ann").token().to_owned();
    let key = server.cli(["key", "add", "k", "--scope", "members"]).succeeded().stdout;
    let with = |key: &str, args: &[&str]| {
        let mut command = home.command([&["--server", &*url], args].concat());
        command.env("TIDINGS_SERVER_KEY", key);
        run(command, "")
    };
    let _ = with(&token, &["--as", "ANN", "search", "recent"]).succeeded();
    let other = with(&token, &["--as", "admin", "search", "recent"]);
    assert_refused(&other, 2, "TIDINGS_SERVER_KEY has the token of \"ann\", and --as names \"admin\"");
    assert!(!other.stderr.contains(&token));
    let _ = with(&key, &["member", "list"]).succeeded();
    assert_refused(&with(&key, &["--as", "ann", "search", "recent"]), 1, "API key where a member is needed");
    let _ = server.cli(["key", "revoke", "k"]).succeeded();
    assert_refused(&with(&key, &["member", "list"]), 1, "does not accept the key in TIDINGS_SERVER_KEY");
    for text in ["tidings_00", "secret", &key.trim()[1..]] {
        assert_refused(&with(text, &["member", "list"]), 2, "TIDINGS_SERVER_KEY is neither an API key");
    }
    // A profile that is named signs in by itself: the key could be for another server.
    let _ = home.login(&url, &["admin", "--profile", "boss"]).succeeded();
    let mut named = home.command(["--profile", "boss", "member", "list"]);
    named.env("TIDINGS_SERVER_KEY", "tidings_00");
    let _ = run(named, "").succeeded();
}

#[test]
fn an_option_takes_precedence_over_the_variables_of_others() {
    let (_server, home, url) = with_admin();
    let _ = home.login(&url, &["admin", "--profile", "boss"]).succeeded();
    let with = |variables: &[(&str, &str)], args: &[&str]| {
        let mut command = home.command(args);
        command.envs(variables.iter().copied());
        run(command, "")
    };
    let far = "https://tidings.example.org";
    for variables in [[("TIDINGS_SERVER", &*url)], [("TIDINGS_PROFILE", "boss")]] {
        let _ = with(&variables, &["member", "list"]).succeeded();
        assert_refused(&with(&variables, &["member", "list", "--db", "none.db"]), 3, "no database none.db");
    }
    let _ = with(&[("TIDINGS_SERVER", far)], &["member", "list", "--profile", "boss"]).succeeded();
    let _ = with(&[("TIDINGS_PROFILE", "none")], &["member", "list", "--server", &url]).succeeded();
    let _ = with(&[("TIDINGS_DB", "none.db")], &["member", "list", "--server", &url]).succeeded();
    for option in [["--server", &url], ["--profile", "boss"]] {
        let both = with(&[], &[&["--db", "none.db", "member", "list"], &option[..]].concat());
        assert_refused(&both, 2, "names a database, and");
        for command in [&["serve"][..], &["check"], &["backup", "b.db"], &["tui"]] {
            assert_eq!(with(&[], &[&option[..], command].concat()).status, 2, "{command:?}");
        }
    }
}

#[test]
fn a_second_factor_is_given_or_asked_for() {
    let (server, home) = (Server::start(), Home::new());
    let admin = server.admin();
    let secret = admin.post("/begin_otp", json!({ "pw": PASSWORD })).succeeded().text("/secret");
    let enabled = admin.post("/enable_otp", json!({ "otp": code(&secret, -1) })).succeeded();
    let url = url(&server);
    assert_refused(&home.login(&url, &["admin"]), 1, "otp required: give the code");
    assert_refused(&home.login(&url, &["admin", "--otp", "12345"]), 1, "incorrect otp: the code is wrong");
    let recovery = enabled.text("/recovery_codes/0");
    let _ = home.login(&url, &["admin", "--otp", &recovery]).succeeded();

    // At a terminal the command asks for everything.
    let recovery = enabled.text("/recovery_codes/1");
    let (status, shown) = Terminal::start(home.command(["login", "--profile", "asked"]), 100)
        .answer("Server: ", &url)
        .answer("Member: ", "admin")
        .answer("Password: ", PASSWORD)
        .answer("recovery code: ", &recovery)
        .end();
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("admin is signed in at") && !shown.contains(PASSWORD), "{shown}");
    let _ = home.run(["--profile", "asked", "member", "list"]).succeeded();
}

#[test]
fn a_second_factor_is_set_up_and_changed_on_a_server() {
    let server = Server::with(|serve| {
        serve.args(["--require-otp"]);
    });
    let (_, home) = (server.admin(), Home::new());
    let url = url(&server);
    let shown = home.login(&url, &["admin"]).succeeded();
    assert!(shown.stderr.contains("tidings otp enable"), "{}", shown.stderr);
    assert_refused(&home.run(["--server", &url, "member", "list"]), 1, "second factor");
    let enable = |more: &[&str]| {
        let args = ["otp", "enable", "--server", &url, "--password-stdin"];
        run(home.command([&args[..], more].concat()), PASSWORD)
    };
    assert_refused(&enable(&[]), 1, "--enrolment-code");
    let issued = server.cli(["member", "otp", "admin"]).succeeded().stdout;
    assert!(issued.contains('▀') && !issued.contains('\u{1b}'), "a QR code without colours: {issued}");
    let issued = issued.lines().last().unwrap();
    assert_refused(&enable(&["--enrolment-code", "0000"]), 1, "the enrolment code is wrong");
    let begun = enable(&["--enrolment-code", issued, "--json"]).succeeded().json();
    let secret = begun["secret"].as_str().unwrap().to_owned();
    let confirm = |otp: &str| home.run(["otp", "enable", "--server", &url, "--otp", otp]);
    assert_refused(&confirm("12345"), 1, "the code is wrong");
    let confirmed = confirm(&code(&secret, -1)).succeeded().stdout;
    let recovery = |shown: &str, n: usize| shown.lines().rev().nth(n).unwrap().to_owned();
    let _ = home.run(["--server", &url, "member", "list"]).succeeded();
    assert!(home.run(["otp", "status", "--server", &url]).succeeded().stdout.contains("10 recovery codes"));
    let with_code = |command: &str, otp: &str| {
        let args = ["otp", command, "--server", &url, "--password-stdin", "--otp", otp];
        run(home.command(args), PASSWORD)
    };
    let renewed = with_code("renew", &recovery(&confirmed, 0)).succeeded().stdout;
    assert_refused(&with_code("disable", &recovery(&confirmed, 1)), 1, "the code is wrong");
    let _ = with_code("disable", &recovery(&renewed, 0)).succeeded();
    assert_refused(&home.run(["--server", &url, "member", "list"]), 1, "second factor");

    // At a terminal the command shows the code, and asks.
    let issued = server.cli(["member", "otp", "admin"]).succeeded().stdout;
    let terminal = Terminal::start(home.command(["otp", "enable", "--server", &url]), 100)
        .answer("Password: ", PASSWORD)
        .answer("another administrator: ", issued.lines().last().unwrap());
    let shown = terminal.until("The code that the authenticator shows: ");
    let (_, secret) = shown.split_once("Secret: ").unwrap();
    let (status, shown) = terminal.answer("authenticator shows: ", &code(&secret[..32], 0)).end();
    assert!(status == 0 && shown.contains("The second factor is enabled"), "{shown}");
}
