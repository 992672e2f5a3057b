//! The size of each crate, and circles of files: neither grows unless `tests/structure.toml` says so in the same commit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{files, paths_after};

/// The lines by which a crate may be smaller than the table says.
const SLACK: usize = 100;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the directories of crates with code that is not of tests.
fn crates() -> Vec<String> {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap().iter();
    let members = members.map(|member| member.as_str().unwrap().to_owned());
    members.filter(|member| !member.starts_with("tests")).collect()
}

/// Returns the number of lines that belong to no item under `#[cfg(test)]`.
fn lines_without_tests(source: &str) -> usize {
    let lines: Vec<&str> = source.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (mut count, mut at) = (0, 0);
    while at < lines.len() {
        let line = lines[at].trim_start();
        if !(line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test"))
            || line.contains("not(test")
        {
            (count, at) = (count + 1, at + 1);
            continue;
        }
        let ends = |line: &&str| {
            let (text, code) = (line.trim(), line.trim_end());
            let closes = text.starts_with(['}', ')', ']'])
                && text.trim_end_matches([';', ',', '}', ')', ']']).is_empty();
            indent(line) == indent(lines[at])
                && (code.ends_with([';', '}']) || closes)
                && !text.starts_with(['#', '/'])
        };
        let length = lines[at + 1..].iter().position(ends).map_or(lines.len(), |length| length + 1);
        at += 1 + length;
    }
    count
}

/// The sources of a crate by the path of their module.
fn modules(directory: &str) -> BTreeMap<Vec<String>, String> {
    let src = root().join(directory).join("src");
    let source = |file: PathBuf| {
        let inside = file.strip_prefix(&src).unwrap().with_extension("");
        let path = inside.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
        (path, fs::read_to_string(file).unwrap())
    };
    files(&src).into_iter().map(source).collect()
}

/// Returns the circles of files that use each other. A module and what is in it may use each other.
fn circles(modules: &BTreeMap<Vec<String>, String>) -> Vec<BTreeSet<Vec<String>>> {
    let file_of = |path: &[String]| {
        let prefixes = (1..=path.len()).rev().map(|length| &path[..length]);
        prefixes.into_iter().find_map(|prefix| modules.get_key_value(prefix)).map(|(path, _)| path)
    };
    let mut uses: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> = BTreeMap::new();
    for (path, source) in modules {
        let mut code = source.split("mod tests {").next().unwrap().to_owned();
        let mut named = paths_after(&code, "crate::");
        for above in (1..=path.len()).rev() {
            let (base, supers) = (&path[..path.len() - above], "super::".repeat(above));
            named.extend(paths_after(&code, &supers).into_iter().map(|path| [base, &path[..]].concat()));
            code = code.replace(&supers, "");
        }
        let found = named.iter().filter_map(|path| file_of(path));
        let apart = found.filter(|other| !other.starts_with(path) && !path.starts_with(other));
        uses.entry(path).or_default().extend(apart);
    }
    let reached = |from: &Vec<String>| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(file) = next.pop() {
            next.extend(uses[file].iter().filter(|used| reached.insert((**used).clone())));
        }
        reached
    };
    let reached: BTreeMap<_, _> = uses.keys().map(|path| ((*path).clone(), reached(path))).collect();
    let circle = |(path, all): (&Vec<String>, &BTreeSet<Vec<String>>)| {
        all.iter().filter(|other| reached[*other].contains(path)).cloned().collect::<BTreeSet<_>>()
    };
    let circles: BTreeSet<_> = reached.iter().map(circle).filter(|circle| circle.len() > 1).collect();
    circles.into_iter().collect()
}

#[test]
fn neither_crates_nor_circles_of_files_grow_unnoticed() {
    let table: toml::Table =
        fs::read_to_string(root().join("tests/structure.toml")).unwrap().parse().unwrap();
    let number = |value: &toml::Value| usize::try_from(value.as_integer().unwrap()).unwrap();
    let (mut wrong, mut found) = (Vec::new(), Vec::new());
    for name in crates() {
        let modules = modules(&name);
        let lines: usize = modules.values().map(|source| lines_without_tests(source)).sum();
        let stated = table["lines"].get(&name).map_or(0, number);
        if lines > stated || lines + SLACK < stated {
            wrong.push(format!("{name} = {lines} (tests/structure.toml: {stated})"));
        }
        found.extend(circles(&modules).into_iter().map(|circle| {
            let files: Vec<_> = circle.iter().map(|path| path.join("/")).collect();
            format!("{name}: {}", files.join(", "))
        }));
    }
    if found.len() != number(&table["circles"]) {
        wrong.push(format!("circles = {}\n{}", found.len(), found.join("\n")));
    }
    assert!(wrong.is_empty(), "correct tests/structure.toml in the same commit:\n{}", wrong.join("\n"));
}

#[test]
fn lines_of_tests_and_circles_are_recognised() {
    let source = "use a;\n#[cfg(test)]\nmod tests;\nfn f() {\n}\n\n#[cfg(test)]\nmod more {\n    fn g() {}\n}\nfn h() {}\n";
    assert_eq!(lines_without_tests(source), 5);

    let path = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
    let sources = [
        ("a", "use a::b::c;\n"),
        ("a/b", "use super::{d::e, Own};\n"),
        ("a/d", "use crate::f::g;\n"),
        ("f", "use crate::a::b;\n"),
        ("h", "use super::a;\n"),
    ];
    let found = circles(&sources.map(|(name, source)| (path(name), source.to_owned())).into());
    assert_eq!(found, [["a/b", "a/d", "f"].map(path).into()]);
}
