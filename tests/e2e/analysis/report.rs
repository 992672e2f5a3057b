//! The report of a period: figures, page and CSV over HTTP, by the command line on the database, and on a server.

use std::ffi::OsString;
use std::fs;

use serde_json::json;
use tidings_tests::{Output, run};

use super::*;

/// Returns a server with an old post, two posts of 20 November 2026, one of them hostile, and some traffic of today.
fn server() -> Server {
    let server = Server::start();
    let admin = server.admin();
    for (title, topic, date) in [
        ("Old", "moon", "2024-11-19T23:59:59Z"),
        ("<script>alert(1)</script>", "\"><script>", "2024-11-20T00:00:00Z"),
        ("=1+1", "@sum", "2024-11-20T23:59:59Z"),
    ] {
        let post = json!({ "title": title, "url": format!("https://a.example/{}", date.len() + title.len()),
                           "topic": [topic], "date": date });
        let _ = admin.post("/insert_post", post).succeeded();
    }
    let _ = visitor(&server, "one").get("/get_categories");
    search(&visitor(&server, "two"), "eclipse");
    let _ = visitor(&server, "two").get("/insert_device/tablet").succeeded();
    server
}

/// Returns the body of an answer.
fn text(answer: &Answer) -> String {
    String::from_utf8(answer.bytes.clone()).unwrap()
}

/// Runs a command on this running server in place of its database.
fn on_server(server: &Server, args: &[&str]) -> Output {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let mut command = server.command();
    command.args(&args);
    server.sign_in(&mut command, &args);
    run(command, "")
}

#[test]
fn everyone_gets_the_same_figures_from_http_and_both_command_lines_and_a_page_that_is_inert() {
    let server = server();
    let path = "/get_report?from=2024-11-20&to=2024-11-20";
    let report = server.anyone().get(path).succeeded().body;
    assert_eq!(
        (&report["from"], &report["to"], &report["is_final"]),
        (&json!("2024-11-20"), &json!("2024-11-20"), &json!(true))
    );
    assert_eq!((&report["post_count"], &report["topics"].as_array().unwrap().len()), (&json!(2), &2));
    assert!(report.get("terms").is_none() && report["days"].as_array().unwrap().len() == 1);
    assert_eq!(server.member("ann").get(path).succeeded().body, report);
    let args = ["--json", "analysis", "report", "--from", "2024-11-20", "--to", "2024-11-20"];
    for printed in [server.cli(args), on_server(&server, &args)] {
        let printed: Value = serde_json::from_str(&printed.succeeded().stdout).unwrap();
        assert_eq!(printed, report);
    }
    let today = server.anyone().get("/get_report").succeeded().body;
    let days = today["days"].as_array().unwrap();
    let (day, figures) = (&days[29], figures(&server.anyone()));
    assert_eq!((days.len(), &day["visitor"], &day["search"]), (30, &figures["today_visitor"], &json!(1)));
    assert_eq!((&today["devices"]["tablet"], &today["is_final"]), (&json!(1), &json!(false)));
    assert!(today["terms"].is_array() && !today.to_string().contains("ann"), "{today}");

    let page = server.anyone().get("/reports?from=2024-11-01&to=2024-11-20");
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    let policy = page.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    let html = text(&page);
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;alert(1)"), "{html}");
    assert!(html.contains("reports/days.csv?from=2024-11-01&amp;to=2024-11-20"), "{html}");
    let csv = server.anyone().get("/reports/posts.csv?from=2024-11-01&to=2024-11-20");
    assert_eq!(csv.header("content-disposition"), "attachment; filename=\"posts.csv\"");
    assert!(text(&csv).contains(",'=1+1,https://a.example/24,0,0\r\n"), "{}", text(&csv));
    assert_eq!(server.anyone().get("/reports/members.csv").outcome(), "404 Not found");
    assert_eq!(server.anyone().get("/reports?from=2020-01-01").outcome(), "400 bad request");
}

#[test]
fn a_command_writes_the_page_and_the_tables_as_whole_files() {
    let server = server();
    let directory = tempfile::tempdir().unwrap();
    let (html, tables) = (directory.path().join("report.html"), directory.path().join("new/tables"));
    fs::write(&html, "the report of last month").unwrap();
    let (html, tables) = (html.to_str().unwrap(), tables.to_str().unwrap());
    let args = ["analysis", "report", "--to", "2024-11-20", "--html", html, "--csv", tables];
    for write in [server.cli(args), on_server(&server, &args)] {
        let written = write.succeeded().stdout;
        assert!(written.ends_with(&format!("Wrote {html}.\n")) && written.lines().count() == 7, "{written}");
    }
    let page = fs::read_to_string(html).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
    assert!(!page.contains("<form") && !page.contains("<script"), "{page}");
    let mut files: Vec<_> = fs::read_dir(tables).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["days.csv", "devices.csv", "hours.csv", "posts.csv", "terms.csv", "topics.csv"]);
    assert_eq!(fs::read_to_string(format!("{tables}/days.csv")).unwrap().lines().count(), 31);
    let stdout = server.cli(["analysis", "report", "--to", "2024-11-20", "--html", "-"]).succeeded().stdout;
    assert_eq!(stdout, page);
    let table =
        server.cli(["analysis", "report", "--from", "2024-11-19", "--to", "2024-11-20"]).succeeded().stdout;
    assert!(
        table.starts_with("Period    2024-11-19 to 2024-11-20 (UTC)\n") && table.contains("Posts     3\n"),
        "{table}"
    );

    // What cannot be made or written leaves no file.
    let directory = tempfile::tempdir().unwrap();
    let html = directory.path().join("report.html");
    let html = html.to_str().unwrap();
    for (args, status, part) in [
        (&["--from", "2026-02-29"][..], 1, "the first day is a date such as 2026-11-20"),
        (&["--from", "2024-11-20", "--to", "2024-11-19"], 1, "at most 366 days"),
        (&["--html", "-", "--json"], 2, "leave --json out"),
        (&["--html", "/nowhere/report.html"], 3, "cannot write /nowhere/report.html"),
        (&["--html", server.location().to_str().unwrap()], 2, "is the database itself"),
    ] {
        // A database server has no file that a page could replace.
        if part.contains("database") && server.location().to_str().unwrap().contains("://") {
            continue;
        }
        let html = if args.contains(&"--html") { vec![] } else { vec!["--html", html] };
        let refused = server.cli([&["analysis", "report"], args, &html].concat());
        assert_eq!(refused.status, status, "{refused:?}");
        assert!(refused.stderr.contains(part) || refused.stdout.contains(part), "{refused:?}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
