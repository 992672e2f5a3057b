//! The structure that `docs/ARCHITECTURE.md` promises: the layers of the core and of the server, and no cycles of modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

mod size;

/// A crate whose modules are in layers.
struct Layered {
    directory: &'static str,
    /// From the lowest layer to the highest. A module without a directory of a layer has its own name.
    layers: &'static [&'static [&'static str]],
    /// The layer of modules that no layer names.
    others: usize,
    /// Modules within modules that are on their own: what is below or above the rest of the module.
    own: &'static [&'static str],
    /// What every module may use, although it is at the top: the state of the service that operations take.
    handle: &'static [&'static str],
    /// The names under which modules use other crates, which are below all of them.
    crates: &'static [&'static str],
}

const CORE: Layered = Layered {
    directory: "core/src",
    layers: &[&["base/"], &["record/"], &[], &["transfer/"], &["service/"]],
    others: 2,
    own: &[
        "audit/trail",
        "mail/address",
        "mail/letter",
        "mail/limit",
        "mail/outbox",
        "webhook/outbox",
        "transfer/backup/last",
    ],
    handle: &["Tidings", "Call", "Caller", "ClientInfo"],
    crates: &[
        "store",
        "base/cancel",
        "base/clock",
        "base/files",
        "base/location",
        "base/random",
        "base/step",
        "base/text_file",
        "base/tls",
    ],
};

const SERVER: Layered = Layered {
    directory: "server/src",
    layers: &[
        &["config"],
        &["connection"],
        &["filter/"],
        &["syndication"],
        &["route"],
        &["events", "metrics"],
        &["api/"],
        &["openapi"],
        &["routes"],
        &["router"],
        &["connection/listen", "fuzzing", "service"],
    ],
    others: usize::MAX,
    own: &["connection/listen"],
    handle: &["state"],
    crates: &[],
};

impl Layered {
    /// Returns the module of a path: the first segment, the first two in a directory of a layer, or one that is on its own.
    fn module(&self, path: &[String]) -> String {
        let own = self
            .own
            .iter()
            .find(|own| path.iter().map(String::as_str).take(own.split('/').count()).eq(own.split('/')));
        if let Some(own) = own {
            return (*own).to_owned();
        }
        let is_layer = |name: &String| self.layers.iter().any(|layer| layer.contains(&&*format!("{name}/")));
        path[..if is_layer(&path[0]) { path.len().min(2) } else { 1 }].join("/")
    }

    fn layer(&self, module: &str) -> usize {
        let is_in = |layer: &&&[&str]| {
            layer.iter().any(|name| *name == module || (name.ends_with('/') && module.starts_with(name)))
        };
        self.layers.iter().position(|layer| is_in(&layer)).unwrap_or(self.others)
    }

    /// Returns the modules, each with those that it uses and the files in which it does.
    fn uses(&self) -> BTreeMap<String, BTreeSet<(String, PathBuf)>> {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(self.directory);
        let mut uses: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for file in files(&src) {
            let inside = file.strip_prefix(&src).unwrap().with_extension("");
            let path: Vec<String> = inside.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
            // The root, and a layer as a whole, only list their modules.
            if path == ["lib"]
                || self
                    .layers
                    .iter()
                    .any(|layer| path.len() == 1 && layer.contains(&&*format!("{}/", path[0])))
            {
                continue;
            }
            let source = fs::read_to_string(&file).unwrap();
            let code = source.split("mod tests {").next().unwrap();
            let found = paths(code).into_iter().map(|path| (self.module(&path), inside.clone()));
            uses.entry(self.module(&path)).or_default().extend(found);
        }
        let handle: BTreeSet<String> = self.handle.iter().map(|name| (*name).to_owned()).collect();
        uses.retain(|module, _| !handle.contains(module));
        for (module, used) in &mut uses {
            used.retain(|(name, _)| {
                name != module && !handle.contains(name) && !self.crates.contains(&&**name)
            });
        }
        uses
    }

    fn check(&self) {
        let uses = self.uses();
        assert!(uses.len() > 15, "{uses:?}");
        let mut wrong = Vec::new();
        for (module, used) in &uses {
            for (name, file) in used {
                if !uses.contains_key(name) || self.layer(name) > self.layer(module) {
                    wrong.push(format!("{} uses {name}", file.display()));
                }
            }
        }
        assert!(
            wrong.is_empty(),
            "{}: a module uses what is above it:\n{}",
            self.directory,
            wrong.join("\n")
        );
        let names = |used: &BTreeSet<(String, PathBuf)>| used.iter().map(|(name, _)| name.clone()).collect();
        let cycles = in_cycles(uses.iter().map(|(module, used)| (module.clone(), names(used))).collect());
        assert_eq!(cycles, BTreeMap::new(), "{}", self.directory);
    }
}

/// Returns the files of Rust below a directory, without those of tests.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if matches!(path.file_stem().unwrap().to_str().unwrap(), "tests" | "testing") {
        } else if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns the paths that begin with `crate::`, without `crate`.
fn paths(code: &str) -> BTreeSet<Vec<String>> {
    paths_after(code, "crate::")
}

/// Returns the paths that begin with these names, without them. A group in braces is a path for each of its names.
fn paths_after(code: &str, names: &str) -> BTreeSet<Vec<String>> {
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut found = BTreeSet::new();
    // A macro names its crate with a dollar, for those who use it.
    for rest in code.replace("$crate::", "").split(names).skip(1) {
        path(&mut rest.chars().peekable(), &mut Vec::new(), &mut found);
    }
    found
}

/// Adds the path that begins here, or each of its group, to `found`.
fn path(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    before: &mut Vec<String>,
    found: &mut BTreeSet<Vec<String>>,
) {
    let length = before.len();
    loop {
        let mut name = String::new();
        while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
        }
        if !name.is_empty() {
            before.push(name);
        }
        if rest.next_if_eq(&'{').is_some() {
            while rest.next_if_eq(&'}').is_none() && rest.peek().is_some() {
                if rest.next_if(|c| c.is_whitespace() || *c == ',').is_none() {
                    path(rest, before, found);
                }
            }
            break;
        }
        if rest.next_if_eq(&':').is_none() || rest.next_if_eq(&':').is_none() {
            found.insert(before.clone());
            // The rest of an entry such as `name as other`.
            while rest.next_if(|c| !matches!(c, ',' | '}' | ';')).is_some() && length > 0 {}
            break;
        }
    }
    before.truncate(length);
}

/// Returns the modules that depend on each other in cycles, or on such modules.
fn in_cycles(mut uses: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    while let Some(lowest) = uses.iter().find(|(_, used)| used.is_empty()).map(|(module, _)| module.clone()) {
        uses.remove(&lowest);
        for used in uses.values_mut() {
            used.remove(&lowest);
        }
    }
    uses
}

#[test]
fn modules_use_only_what_is_below_them() {
    CORE.check();
    SERVER.check();
}

#[test]
fn paths_are_found_and_cycles_are_detected() {
    let names = |code| paths(code).into_iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(names("use crate::a;\n// crate::b\nfn f() { crate::c::d(), e::f() }"), ["a", "c::d"]);
    let groups = "use crate::{a::{b, c as x}, d, e::{self, f::{g}}};\nuse crate::h::{i, j};";
    assert_eq!(names(groups), ["a::b", "a::c", "d", "e::f::g", "e::self", "h::i", "h::j"]);

    let uses = |all: &[(&str, &str)]| {
        all.iter().map(|(module, used)| (module.to_string(), BTreeSet::from([used.to_string()]))).collect()
    };
    let found = in_cycles(uses(&[("a", "b"), ("b", "c"), ("c", "b"), ("d", "e"), ("e", "f")]));
    assert_eq!(found.into_keys().collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
}

#[test]
fn a_module_is_the_first_name_or_the_first_two_in_a_layer() {
    let module = |path: &str| CORE.module(&path.split('/').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(module("notice/list"), "notice");
    assert_eq!(module("base/text/shown"), "base/text");
    assert_eq!(module("audit/trail/Entry"), "audit/trail");
    assert_eq!(
        ["base/text", "record/error", "notice", "transfer/copy", "service/handle"].map(|m| CORE.layer(m)),
        [0, 1, 2, 3, 4]
    );
}
