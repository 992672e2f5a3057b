//! What commands read: files, or standard input.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::failure::Failure;

/// Opens a file, or standard input for `-`.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn open(file: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let input: Box<dyn Read> = if file.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        let opened = File::open(file);
        Box::new(opened.map_err(|e| Failure::system(format!("cannot read {}: {e}", file.display())))?)
    };
    Ok(Box::new(BufReader::with_capacity(1 << 18, input)))
}
