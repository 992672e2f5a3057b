//! A page of the documents, and what stands on it.

use std::fs;
use std::path::{Path, PathBuf};

/// The line before a block of commands that the tests do not run.
const NOT_RUN: [&str; 2] = ["<!-- not run -->", "<!-- the test command -->"];
/// The directories of the repository that documents name files of.
const DIRECTORIES: [&str; 9] =
    ["core/", "server/", "cli/", "tui/", "tests/", "fuzz/", "docs/", ".ci/", ".github/"];

/// A Markdown file of the repository.
pub(super) struct Page {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// The root of the repository.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// All pages: the README first, then the API guide, which continues its tour, then the rest by name.
pub(super) fn pages() -> Vec<Page> {
    let mut paths: Vec<PathBuf> = [root().to_owned(), root().join("docs")]
        .iter()
        .flat_map(|directory| fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    paths.sort_by_key(|path| (!path.ends_with("README.md"), !path.ends_with("docs/api.md"), path.clone()));
    paths.into_iter().map(Page::read).collect()
}

impl Page {
    /// The page at this path below the root.
    pub(super) fn named(path: &str) -> Self {
        Self::read(root().join(path))
    }

    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        Self { path, text }
    }

    /// Its path below the root.
    pub(super) fn name(&self) -> &str {
        self.path.strip_prefix(root()).unwrap().to_str().unwrap()
    }

    pub(super) fn directory(&self) -> &Path {
        self.path.parent().unwrap()
    }

    /// The blocks of commands, except those marked as not run.
    pub(super) fn shell_blocks(&self) -> Vec<String> {
        let mut blocks = Vec::new();
        let mut before = "";
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            if line == "```sh" {
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                if !NOT_RUN.contains(&before) {
                    blocks.push(block.join("\n"));
                }
            }
            before = line;
        }
        blocks
    }

    /// The targets of its links into the repository.
    pub(super) fn links(&self) -> Vec<String> {
        let targets = self.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
    }

    /// The files and directories of the repository that it names in code spans. Names in capital letters, such as `TARGET`,
    /// stand for others.
    pub(super) fn named_paths(&self) -> Vec<String> {
        let is_path = |span: &String| {
            DIRECTORIES.iter().any(|directory| span.starts_with(directory))
                && !span.contains([' ', '{', '*', '…'])
                && !span.split('/').any(|name| name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase()))
        };
        self.text.lines().flat_map(code_spans).filter(is_path).collect()
    }
}

/// The code spans of a line.
pub(super) fn code_spans(line: &str) -> Vec<String> {
    line.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The cells of each row of the tables of a text. A `\|` is part of its cell.
pub(super) fn table_rows(text: &str) -> Vec<Vec<String>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    rows.map(|row| {
        let row = row.replace("\\|", "\u{0}");
        row.split('|').map(|cell| cell.replace('\u{0}', "|").trim().to_owned()).collect()
    })
    .collect()
}

/// Whether a page has a heading with this anchor.
pub(super) fn has_anchor(text: &str, anchor: &str) -> bool {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let mut anchors = headings.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.collect::<String>().replace(' ', "-")
    });
    anchors.any(|found| found == anchor)
}
