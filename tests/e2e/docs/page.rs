//! A page of the documentation and its contents.

use std::fs;
use std::path::{Path, PathBuf};

use crate::programs::root;

/// The lines that mark the next block of commands as not run by the tests.
const NOT_RUN: [&str; 3] = ["<!-- not run -->", "<!-- the test command -->", TOUR];
/// The line before the tour, which runs on its own.
const TOUR: &str = "<!-- the tour -->";
/// The beginning and the end of the line that names the file of which the next block is a part.
const PART_OF: [&str; 2] = ["<!-- from ", " -->"];
const DIRECTORIES: [&str; 10] =
    ["client/", "clients/", "core/", "server/", "cli/", "tui/", "tests/", "docs/", ".ci/", ".github/"];

pub(super) struct Page {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// Reads all pages: the README first, then the API guide, whose first steps continue it, then the rest by name.
pub(super) fn pages() -> Vec<Page> {
    let mut paths: Vec<PathBuf> = [root().to_owned(), root().join("docs")]
        .iter()
        .flat_map(|directory| fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    let first = ["README.md", "docs/api.md"];
    let place = |path: &Path| first.iter().position(|name| path.ends_with(name)).unwrap_or(first.len());
    paths.sort_by_key(|path| (place(path), path.clone()));
    paths.into_iter().map(Page::read).collect()
}

impl Page {
    pub(super) fn named(path: &str) -> Self {
        Self::read(root().join(path))
    }

    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        Self { path, text }
    }

    pub(super) fn name(&self) -> &str {
        self.path.strip_prefix(root()).unwrap().to_str().unwrap()
    }

    pub(super) fn directory(&self) -> &Path {
        self.path.parent().unwrap()
    }

    /// Returns the blocks of commands, except those that are marked as not run or as parts of files.
    pub(super) fn shell_blocks(&self) -> Vec<String> {
        let is_run = |before: &str| !NOT_RUN.contains(&before) && part_of(before).is_none();
        let blocks = self.blocks().into_iter();
        let run = blocks.filter(|(before, language, _)| *language == "sh" && is_run(before));
        run.map(|(_, _, block)| block).collect()
    }

    pub(super) fn tour(&self) -> String {
        let blocks = self.blocks().into_iter();
        blocks.filter(|(before, ..)| *before == TOUR).map(|(_, _, block)| block).collect()
    }

    /// Returns the blocks that are parts of files, each with the path of its file below the root.
    pub(super) fn parts_of_files(&self) -> Vec<(&str, String)> {
        let blocks = self.blocks().into_iter();
        blocks.filter_map(|(before, _, block)| Some((part_of(before)?, block))).collect()
    }

    /// Returns each block with the line before it and the language.
    fn blocks(&self) -> Vec<(&str, &str, String)> {
        let mut blocks = Vec::new();
        let mut before = "";
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                blocks.push((before, language, block.join("\n")));
            }
            before = line;
        }
        blocks
    }

    pub(super) fn links(&self) -> Vec<String> {
        let targets = self.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
    }

    /// Returns the files and directories of the repository that the page names in code spans.
    ///
    /// Paths with a name in capital letters, such as `TARGET`, are placeholders and left out.
    pub(super) fn named_paths(&self) -> Vec<String> {
        let is_path = |span: &String| {
            DIRECTORIES.iter().any(|directory| span.starts_with(directory))
                && !span.contains([' ', '{', '*', '…'])
                && !span.split('/').any(|name| name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase()))
        };
        self.text.lines().flat_map(code_spans).filter(is_path).collect()
    }
}

/// Returns the file that a line names as the source of the next block.
fn part_of(line: &str) -> Option<&str> {
    line.strip_prefix(PART_OF[0])?.strip_suffix(PART_OF[1])
}

pub(super) fn code_spans(line: &str) -> Vec<String> {
    line.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the cells of each table row of a text. A `\|` is part of its cell.
pub(super) fn table_rows(text: &str) -> Vec<Vec<String>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    rows.map(|row| {
        let row = row.replace("\\|", "\u{0}");
        row.split('|').map(|cell| cell.replace('\u{0}', "|").trim().to_owned()).collect()
    })
    .collect()
}

pub(super) fn has_anchor(text: &str, anchor: &str) -> bool {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let mut anchors = headings.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let letters = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        letters.collect::<String>().replace(' ', "-")
    });
    anchors.any(|found| found == anchor)
}
