//! Compares the schema of a database with the one that this program creates, for [`crate::transfer::check`].

use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// The result of a comparison.
#[derive(Debug)]
pub(crate) enum Comparison {
    /// The faults, none if the schema is right.
    Compared(Vec<SchemaFault>),
    /// The reason why the schemas could not be compared.
    Skipped(&'static str),
}

/// A difference from the schema that this program creates.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SchemaFault {
    /// A description, for people.
    pub(crate) text: String,
    /// The statements that correct it without a loss; empty if none can.
    pub(crate) remedy: Vec<String>,
}

impl SchemaFault {
    /// Returns whether its remedy corrects it without a loss.
    pub(crate) fn is_repairable(&self) -> bool {
        !self.remedy.is_empty()
    }
}

/// The parts of a schema.
pub(super) type Parts = BTreeMap<PartName, Part>;

/// The name of a part. The order of names is one in which parts can be created.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartName {
    pub(super) kind: PartKind,
    /// The table that it belongs to, or its own name.
    pub(super) table: String,
    pub(super) name: String,
}

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PartKind {
    Function,
    Table,
    Column,
    Constraint,
    Index,
    View,
    Trigger,
    /// The rows of a table that always has one.
    Row,
}

/// A part of a schema.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Its definition, without the parts of the same table, in a form that does not depend on how it was written.
    pub(super) definition: String,
    /// The statement that creates it; empty if creating it would not restore what was lost.
    pub(super) create: String,
    /// The statement that removes it; empty if it has data.
    pub(super) remove: String,
    /// Whether it changes or refuses writes to its table.
    pub(super) affects_writes: bool,
}

impl PartKind {
    /// Returns the kind of this name, as the catalogs of both engines write it.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "function" => Self::Function,
            "table" => Self::Table,
            "column" => Self::Column,
            "constraint" => Self::Constraint,
            "index" => Self::Index,
            "view" => Self::View,
            "trigger" => Self::Trigger,
            _ => return None,
        })
    }
}

impl Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, table, name } = self;
        match kind {
            PartKind::Function => write!(f, "the function {name}"),
            PartKind::Table => write!(f, "the table {table}"),
            PartKind::Column => write!(f, "the column {name} of {table}"),
            PartKind::Constraint => write!(f, "the constraint {name} of {table}"),
            PartKind::Index => write!(f, "the index {name} of {table}"),
            PartKind::View => write!(f, "the view {name}"),
            PartKind::Trigger => write!(f, "the trigger {name} of {table}"),
            PartKind::Row => write!(f, "the row of {table}"),
        }
    }
}

/// Compares the parts of a schema with the expected ones. Additional parts are no faults unless they affect writes.
pub(super) fn compare(expected: &Parts, found: &Parts) -> Vec<SchemaFault> {
    let table = |of: &PartName| {
        let name = PartName { kind: PartKind::Table, table: of.table.clone(), name: of.table.clone() };
        (expected.get(&name), found.get(&name))
    };
    let mut faults = Vec::new();
    for (name, part) in expected {
        let remedy = |statements: &[&String]| {
            let is_complete = statements.iter().all(|sql| !sql.is_empty());
            statements.iter().filter(|_| is_complete).map(|sql| (*sql).clone()).collect()
        };
        match found.get(name) {
            // What belongs to a table is lost with it.
            None if name.kind != PartKind::Table
                && matches!(table(name), (Some(table), None) if table.create.is_empty()) => {}
            None => {
                faults.push(SchemaFault {
                    text: format!("{name} is missing"),
                    remedy: remedy(&[&part.create]),
                });
            }
            Some(other) if other.definition != part.definition => {
                let text = format!("{name} {}", difference(&part.definition, &other.definition));
                faults.push(SchemaFault { text, remedy: remedy(&[&other.remove, &part.create]) });
            }
            Some(_) => {}
        }
    }
    let unexpected = found.iter().filter(|(name, part)| {
        part.affects_writes && !expected.contains_key(name) && table(name).0.is_some()
    });
    faults.extend(
        unexpected.map(|(name, _)| SchemaFault {
            text: format!("{name} does not belong there"),
            remedy: Vec::new(),
        }),
    );
    faults
}

/// Describes how a definition differs from the expected one.
fn difference(expected: &str, found: &str) -> String {
    let (expected, found): (Vec<&str>, Vec<&str>) =
        (expected.split(' ').collect(), found.split(' ').collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let begin = same(&mut expected.iter().zip(&found));
    let end = same(&mut expected[begin..].iter().rev().zip(found[begin..].iter().rev()));
    let [expected, found] = [expected, found].map(|words| words[begin..words.len() - end].join(" "));
    match (&*expected, &*found) {
        (lacking, "") => format!("lacks `{lacking}`"),
        ("", more) => format!("has `{more}` in addition"),
        (right, wrong) => format!("has `{wrong}` instead of `{right}`"),
    }
}

/// Returns the tokens of a statement, separated by blanks: without comments, and with names that need no quotes.
pub(super) fn normalised(sql: &str) -> String {
    let mut tokens: Vec<&str> = Vec::new();
    let mut rest = sql.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            '-' if rest.starts_with("--") => {
                rest = rest.split_once('\n').map_or("", |(_, after)| after).trim_start();
                continue;
            }
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            _ if word(first) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        let is_name = |name: &str| !name.is_empty() && name.chars().all(word);
        let name = token.strip_prefix('"').and_then(|token| token.strip_suffix('"'));
        tokens.push(name.filter(|name| is_name(name)).unwrap_or(token));
        rest = after.trim_start();
    }
    tokens.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_differ_in_form_are_equal() {
        let one = "CREATE TABLE \"a\" (\n    b TEXT, -- a comment, with \"quotes\"\n    c INTEGER DEFAULT 'it''s -- here'\n) STRICT";
        assert_eq!(normalised(one), "CREATE TABLE a ( b TEXT , c INTEGER DEFAULT 'it' 's -- here' ) STRICT");
        assert_eq!(normalised("a=\"b c\"--end"), "a = \"b c\"");
        assert_eq!(normalised("(ä.'open"), "( ä . 'open");
    }

    #[test]
    fn a_difference_is_described_by_the_words_that_differ() {
        for (expected, found, text) in [
            ("a b c", "a c", "lacks `b`"),
            ("a c", "a b c", "has `b` in addition"),
            ("a b c", "a d e c", "has `d e` instead of `b`"),
            ("a a", "a", "lacks `a`"),
        ] {
            assert_eq!(difference(expected, found), text);
        }
    }
}
