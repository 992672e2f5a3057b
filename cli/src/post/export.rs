//! `tidings post export`: writes every post in a format that import reads.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use tidings_core::post::{self, Exported};
use tidings_tui::number::number;

use crate::failure::Failure;
use crate::output;
use crate::progress::Watch;
use crate::session::Session;
use crate::whole_file::WholeFile;

pub(crate) fn run(session: &Session, file: &Path) -> Result<ExitCode, Failure> {
    if file.as_os_str() == "-" {
        return to_stdout(session);
    }
    let watch = Watch::start("posts");
    let mut whole = WholeFile::beside(&session.tidings, file)?;
    let exported = export_to(session, |lines, posts| whole.append(lines).map(|()| watch.told(posts)))?;
    if !watch.is_interrupted() {
        whole.keep()?;
    }
    watch.answer(&session.out, &exported, |page| {
        page.line(format!("{} posts exported", number(exported.posts)));
    })
}

/// Writes only the posts to standard output.
fn to_stdout(session: &Session) -> Result<ExitCode, Failure> {
    if session.out.is_json() {
        return Err(Failure::usage(
            "the posts and the answer would be mixed: name a file, or leave --json out",
        ));
    }
    let mut out = std::io::stdout().lock();
    // Stop when the reader has closed the pipe.
    let go_on = |read| if read { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    export_to(session, |lines, _| output::has_reader(out.write_all(lines)).map(go_on))?;
    output::has_reader(out.flush())?;
    Ok(ExitCode::SUCCESS)
}

/// Passes the posts, with their count so far, to `write` until it stops.
fn export_to(
    session: &Session,
    mut write: impl FnMut(&[u8], u64) -> Result<ControlFlow<()>, Failure>,
) -> Result<Exported, Failure> {
    let mut failed = None;
    let exported = post::export(&session.tidings, &session.caller, &mut |lines, posts| {
        write(lines, posts).unwrap_or_else(|failure| {
            failed = Some(failure);
            ControlFlow::Break(())
        })
    })?;
    failed.map_or(Ok(exported), Err)
}
