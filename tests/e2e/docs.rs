//! The documentation: its commands run, its tables match the program, and the files that it names exist.

mod examples;
mod page;
mod shell;
mod tour;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;
use tidings_tests::{command, only_on_sqlite, run};

use crate::cli::describe::commands as commands_of;
use crate::programs::{root, sources};
use page::{Page, code_spans, pages, table_rows};
use shell::Shell;

/// The maximum number of lines of the README.
const README_LINES_MAX: usize = 200;
/// The maximum number of lines of any other page.
const PAGE_LINES_MAX: usize = 400;

#[test]
fn the_commands_of_the_documents_run_as_they_are_written() {
    only_on_sqlite!("the documents' commands use a file");
    let pages = pages();
    let mut blocks = pages.iter().flat_map(Page::shell_blocks);
    let serve = blocks.next().unwrap();
    let shell = Shell::start(&serve);
    let (status, shown) = shell.run(&blocks.collect::<Vec<_>>().join("\n"));
    assert_eq!(status, 0, "{shown}");
}

#[test]
fn no_page_is_too_long() {
    for page in pages() {
        let maximum = if page.name() == "README.md" { README_LINES_MAX } else { PAGE_LINES_MAX };
        let lines = page.text.lines().count();
        assert!(lines <= maximum, "{} has {lines} lines, more than {maximum}", page.name());
    }
}

#[test]
fn the_readme_names_the_minimum_version_of_rust() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let version = manifest.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    let readme = Page::named("README.md").text;
    assert!(readme.contains(&format!("[Rust](https://rustup.rs) {version} or later")), "{version}");
}

#[test]
fn the_table_of_routes_has_every_route_and_who_may_call_it() {
    let openapi = printed(&["openapi"]);
    let document: Value = serde_json::from_str(&openapi).unwrap();
    let mut served = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let needs_token =
                operation["security"].as_array().is_some_and(|ways| !ways.contains(&serde_json::json!({})));
            served.insert(format!("{} {path}", method.to_uppercase()), needs_token);
        }
    }
    let mut documented = BTreeMap::new();
    for cells in pages().iter().flat_map(|page| table_rows(&page.text)) {
        let route = cells[0].trim_matches('`').to_owned();
        if route.starts_with("GET /") || route.starts_with("POST /") {
            let needs_token = match &*cells[1] {
                "anyone" => false,
                "member" => true,
                caller if caller.starts_with("admin") => true,
                // The table of the server's own routes has no column for the caller.
                _ => served.get(&route).copied().unwrap_or_default(),
            };
            assert_eq!(documented.insert(route.clone(), needs_token), None, "{route} is listed twice");
        }
    }
    assert_eq!(documented, served);
}

#[test]
fn the_table_of_commands_has_every_command_and_all_flags_in_the_documents_exist() {
    let mut helps = BTreeMap::new();
    collect_helps(&mut Vec::new(), &mut helps);
    let page = Page::named("docs/command-line.md");
    let (_, commands) = page.text.split_once("\n## Commands\n").unwrap();
    let (commands, _) = commands.split_once("\n## ").unwrap();
    let mut documented = BTreeSet::new();
    for cells in table_rows(commands).into_iter().filter(|cells| cells[0].starts_with('`')) {
        let mut spans = code_spans(&cells[0]).into_iter();
        let name = spans.next().unwrap();
        let help = helps.get(&name).unwrap_or_else(|| panic!("there is no command {name}"));
        for flag in spans.flat_map(|span| flags(&span)) {
            assert!(help.contains(&flag), "{name} does not take {flag}");
        }
        assert!(documented.insert(name.clone()), "{name} is listed twice");
    }
    assert!(documented.iter().eq(helps.keys()), "{documented:?} {:?}", helps.keys());

    let offered: BTreeSet<String> = helps.values().flat_map(|help| flags(help)).collect();
    let mut missing = Vec::new();
    for page in pages() {
        // A code span that begins with another word is a command, perhaps of another program.
        let spans = page.text.lines().flat_map(code_spans).filter(|span| span.starts_with("--"));
        let unknown = spans.flat_map(|span| flags(&span)).filter(|flag| !offered.contains(flag));
        missing.extend(unknown.map(|flag| format!("{}: {flag}", page.name())));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn links_and_paths_in_the_documents_exist() {
    let mut missing = Vec::new();
    for page in pages() {
        for link in page.links() {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { page.path.clone() } else { page.directory().join(file) };
            let has_anchor =
                || std::fs::read_to_string(&target).is_ok_and(|text| page::has_anchor(&text, anchor));
            if !target.exists() || (!anchor.is_empty() && !has_anchor()) {
                missing.push(format!("{}: link to {link}", page.name()));
            }
        }
        // The changelog names files of earlier versions.
        if page.name() == "CHANGELOG.md" {
            continue;
        }
        for path in page.named_paths() {
            if !root().join(&path).exists() {
                missing.push(format!("{}: {path}", page.name()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_tests_that_answer_a_security_standard_exist() {
    let page = Page::named("docs/security.md");
    let (_, section) = page.text.split_once("\n## OWASP ASVS 5\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let named: BTreeSet<String> = table_rows(section)
        .into_iter()
        .skip(1)
        .filter_map(|cells| cells[2].strip_prefix('`')?.strip_suffix('`').map(str::to_owned))
        .collect();
    assert!(named.len() > 20, "{named:?}");
    let mut found = BTreeSet::new();
    for file in ["core/src", "core/store/src", "server/src", "tests/e2e"]
        .iter()
        .flat_map(|folder| sources(&root().join(folder)))
    {
        let text = fs::read_to_string(file).unwrap();
        let tests = text.lines().filter_map(|line| line.trim().strip_prefix("fn ")?.strip_suffix("() {"));
        found.extend(tests.map(str::to_owned));
    }
    let missing: Vec<_> = named.difference(&found).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn printed(args: &[&str]) -> String {
    let mut tidings = command();
    tidings.args(args);
    run(tidings, "").succeeded().stdout
}

/// Adds the help of all commands below the command `path` by their names, except command groups.
fn collect_helps(path: &mut Vec<String>, helps: &mut BTreeMap<String, String>) {
    let words: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
    let help = printed(&words);
    let inner = commands_of(&help);
    if inner.is_empty() {
        helps.insert(path.join(" "), help);
    }
    for name in inner {
        path.push(name);
        collect_helps(path, helps);
        path.pop();
    }
}

fn flags(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| word.starts_with("--") && word.len() > 2).map(str::to_owned).collect()
}
