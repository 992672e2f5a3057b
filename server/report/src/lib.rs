//! The report of a period for people to read: one HTML page, and tables as CSV.
//!
//! The page has no script and loads nothing: its style and its charts, which are SVG, are part of it. It adapts to dark
//! screens, narrow screens and paper. Every chart has its figures as a table, and says what it counts and what it leaves
//! out.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("tidings-report-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! use tidings_core::{Caller, Tidings, analysis};
//! use tidings_report::{Place, Table, page};
//!
//! let tidings = Tidings::open(directory.join("campus.db"))?;
//! let report = tidings.call(&Caller::Guest, analysis::GetReport::default())?.fields();
//! let html = page(&report, Place::File);
//! assert!(html.starts_with("<!DOCTYPE html>") && !html.contains("<script"));
//! let csv = Table::Days.csv(&report);
//! assert!(csv.starts_with("date,visitors,visits,views,likes,searches,communications\r\n"));
//! # drop(tidings);
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok(())
//! # }
//! ```

mod chart;
mod csv;
mod format;
mod page;
#[cfg(test)]
mod tests;

pub use self::csv::Table;
pub use page::{Place, STYLE, page};
