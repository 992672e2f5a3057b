//! Prints the entries of a feed, one JSON object per line: `cargo run -p tidings-feeds --example read < feed.xml`.
#![expect(clippy::print_stdout, reason = "it prints the entries")]

use std::error::Error;
use std::io::{Read as _, stdin};

use serde_json::json;
use tidings_feeds::{Source, read};

fn main() -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::new();
    stdin().read_to_end(&mut bytes)?;
    let feed = read(&bytes, &Source::default())?;
    for warning in &feed.warnings {
        eprintln!("{warning}");
    }
    for entry in &feed.entries {
        match entry {
            Ok(entry) => println!(
                "{}",
                json!({
                    "line": entry.line, "url": entry.url, "title": entry.title, "text": entry.text,
                    "image": entry.image, "tags": entry.tags, "date": entry.date, "date_fault": entry.date_fault,
                })
            ),
            Err(fault) => eprintln!("line {}: {}", fault.line, fault.reason),
        }
    }
    Ok(())
}
