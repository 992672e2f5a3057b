//! Writing and editing a notice in a text editor: the title on the first line, the text after an empty line.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use tempfile::NamedTempFile;
use tidings_core::notice::{Draft, Insert, Notice, Update};

use crate::failure::Failure;
use crate::output::{is_interactive, note};
use crate::session::Session;

pub(super) fn is_possible(session: &Session) -> bool {
    !session.out.is_for_programs() && is_interactive() && std::io::stdout().is_terminal()
}

pub(super) fn write(session: &Session, draft: Draft) -> Result<ExitCode, Failure> {
    let (file, [title, post]) = edited(draft.title.as_deref().unwrap_or_default(), "")?;
    if title.is_empty() && post.is_empty() {
        return Err(Failure::declined("the text is empty: nothing was published"));
    }
    let inserted =
        session.service.call(Insert { draft: Draft { title: Some(title), post: Some(post), ..draft } });
    let inserted = inserted.inspect_err(|_| keep(file))?;
    session.out.answer(&inserted, |page| super::published(page, session, inserted.id))
}

pub(super) fn edit(session: &Session, notice: &Notice) -> Result<ExitCode, Failure> {
    if !is_possible(session) {
        let hint = "say what to change, such as --title, --post-file or --until; an editor needs a terminal";
        return Err(Failure::usage(hint));
    }
    let (file, [title, post]) = edited(&notice.title, &notice.post)?;
    let draft = Draft {
        title: Some(title).filter(|title| **title != *notice.title),
        post: Some(post).filter(|post| *post != notice.post.trim_matches(['\r', '\n'])),
        ..Draft::default()
    };
    if draft == Draft::default() {
        return session.out.answer(&(), |page| page.line("Nothing was changed."));
    }
    let id = notice.id.to_string();
    session.service.call(Update { notice_obi: id.clone(), draft }).inspect_err(|_| keep(file))?;
    session.out.answer(&(), |page| super::changed(page, session, &id))
}

/// Returns the file, and the title and the text that were written.
fn edited(title: &str, post: &str) -> Result<(NamedTempFile, [String; 2]), Failure> {
    note("The first line is the title; the text follows after an empty line.");
    let edited = tidings_tui::edited(&format!("{title}\n\n{post}\n"));
    let (file, written) =
        edited.map_err(|error| Failure::declined(format!("{error}: nothing was changed")))?;
    let (title, post) = written.split_once('\n').unwrap_or((&written, ""));
    // Editors add a line break at the end.
    let parts = [title.trim_end_matches('\r'), post.trim_matches(['\r', '\n'])].map(str::to_owned);
    Ok((file, parts))
}

/// Keeps a text that was not saved, and says where it is.
fn keep(file: NamedTempFile) {
    match file.keep() {
        Ok((_, path)) => note(&format!("What you wrote is kept in {}", path.display())),
        Err(error) => note(&format!("What you wrote is lost: {}", error.error)),
    }
}
