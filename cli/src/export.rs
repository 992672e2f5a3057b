//! Exports: every record of a kind as lines of JSON, to a file or to standard output.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::ControlFlow;

use tidings_client::Result as AccessResult;
use tidings_client::shown::escape;
use tidings_core::export::Take;

use crate::atomic_file::{AtomicFile, Readers};
use crate::output;
use crate::prelude::*;
use crate::progress::Watch;

/// Writes to standard output if `file` is `-`. `what` names the records, and `people` returns the answer for people.
pub(crate) fn run(
    session: &Session,
    file: &Path,
    (what, readers): (&'static str, Readers),
    export: impl FnOnce(Take<'_>) -> AccessResult<u64>,
    people: impl FnOnce(u64) -> String,
) -> Exit {
    if file.as_os_str() == "-" {
        return to_stdout(session, what, export);
    }
    let watch = Watch::whole(what);
    let mut whole = AtomicFile::beside(&session.service, file, readers)?;
    let exported = pass_on(export, |lines, done| whole.append(lines).map(|()| watch.told(done)))?;
    let is_whole = !watch.is_interrupted();
    if is_whole {
        whole.keep()?;
    }
    watch.answer(&session.out, &BTreeMap::from([(what, exported)]), |page| {
        if is_whole {
            page.line(people(exported));
        }
    })
}

fn to_stdout(session: &Session, what: &str, export: impl FnOnce(Take<'_>) -> AccessResult<u64>) -> Exit {
    if session.out.is_json() {
        return Err(Failure::usage(format!(
            "the {what} and the answer would be mixed: name a file, or leave --json out"
        )));
    }
    let mut out = std::io::stdout().lock();
    // Stop when the reader has closed the pipe.
    let go_on = |read| if read { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    // The beginning of a character whose rest comes with the next bytes.
    let mut begun = Vec::new();
    pass_on(export, |bytes, _| {
        begun.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => begun.len(),
        };
        let written = out.write_all(&escape::json(&begun[..whole]));
        begun.drain(..whole);
        output::has_reader(written).map(go_on)
    })?;
    output::has_reader(out.write_all(&begun))?;
    output::has_reader(out.flush())?;
    Ok(ExitCode::SUCCESS)
}

/// Passes the records, with their count so far, to `write` until it stops.
fn pass_on(
    export: impl FnOnce(Take<'_>) -> AccessResult<u64>,
    mut write: impl FnMut(&[u8], u64) -> Result<ControlFlow<()>, Failure>,
) -> Result<u64, Failure> {
    let mut failed = None;
    let exported = export(&mut |lines, done| {
        write(lines, done).unwrap_or_else(|failure| {
            failed = Some(failure);
            ControlFlow::Break(())
        })
    })?;
    failed.map_or(Ok(exported), Err)
}
