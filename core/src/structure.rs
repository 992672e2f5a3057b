//! The structure that `docs/ARCHITECTURE.md` promises: modules do not depend on each other in cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the files of Rust below a directory, without those of tests.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if matches!(&*name, "tests" | "testing" | "structure") {
        } else if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns the first names of paths that begin with `crate::`, also those of a group in braces.
fn named(source: &str) -> BTreeSet<String> {
    let code: String = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let mut names = BTreeSet::new();
    for path in code.split("crate::").skip(1) {
        match path.strip_prefix('{') {
            None => {
                names.insert(name(path));
            }
            Some(group) => {
                let mut depth = 0;
                let end = group.find(|c| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    depth < 0
                });
                let mut rest = &group[..end.unwrap()];
                while !rest.is_empty() {
                    names.insert(name(rest.trim_start()));
                    let mut depth = 0;
                    let next = rest.find(|c| {
                        depth += i32::from(c == '{') - i32::from(c == '}');
                        depth == 0 && c == ','
                    });
                    rest = next.map_or("", |next| &rest[next + 1..]);
                }
            }
        }
    }
    names
}

/// Returns the modules of this crate that depend on each other in cycles, or on such modules.
fn in_cycles(mut uses: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    for (module, used) in &mut uses {
        used.retain(|name| name != module && modules.contains(name));
    }
    while let Some(lowest) = uses.iter().find(|(_, used)| used.is_empty()).map(|(module, _)| module.clone()) {
        uses.remove(&lowest);
        for used in uses.values_mut() {
            used.remove(&lowest);
        }
    }
    uses
}

#[test]
fn modules_do_not_depend_on_each_other_in_cycles() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files(&src) {
        let inside = file.strip_prefix(&src).unwrap();
        let module = Path::new(inside.iter().next().unwrap()).file_stem().unwrap().to_str().unwrap();
        // The parent of all modules has the handle that they take.
        if module != "lib" {
            let source = fs::read_to_string(&file).unwrap();
            let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
            uses.entry(module.to_owned()).or_default().extend(named(code));
        }
    }
    assert!(uses.len() > 40 && uses["notice"].contains("store"), "{uses:?}");
    assert_eq!(in_cycles(uses), BTreeMap::new());
}

#[test]
fn paths_are_found_and_cycles_are_detected() {
    let names = |source| named(source).into_iter().collect::<Vec<_>>();
    assert_eq!(names("use crate::a;\n// crate::b\nfn f() { crate::c::d() }"), ["a", "c"]);
    assert_eq!(names("use crate::{a::{b, c}, d, e::{f::{g}}};\nuse crate::h::{i, j};"), ["a", "d", "e", "h"]);

    let uses = |all: &[(&str, &str)]| {
        all.iter().map(|(module, used)| (module.to_string(), BTreeSet::from([used.to_string()]))).collect()
    };
    assert!(in_cycles(uses(&[("a", "b"), ("b", "c"), ("c", "c")])).is_empty());
    let found = in_cycles(uses(&[("a", "b"), ("b", "c"), ("c", "b"), ("d", "e"), ("e", "f")]));
    assert_eq!(found.into_keys().collect::<Vec<_>>(), ["a", "b", "c"]);
}
