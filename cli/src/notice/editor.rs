//! Writing and editing a notice in a text editor: the title on the first line, the text after an empty line.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode};

use tempfile::NamedTempFile;
use tidings_core::notice::{Draft, Insert, Notice, Update};
use tidings_core::text_file;

use crate::failure::Failure;
use crate::output::{is_interactive, note};
use crate::session::Session;

/// Returns whether a command may open an editor.
pub(super) fn is_possible(session: &Session) -> bool {
    !session.out.is_for_programs() && is_interactive() && std::io::stdout().is_terminal()
}

/// Opens the editor with the title of a new notice, if it is given, and publishes what was written.
///
/// # Errors
/// A refusal if the title or the text is empty. When the editor fails or a text breaks a rule; the failure then names the file
/// that still has the text.
pub(super) fn write(session: &Session, draft: Draft) -> Result<ExitCode, Failure> {
    let (file, written) = edited(draft.title.as_deref().unwrap_or_default(), "")?;
    let (title, post) = parts(&written);
    if title.trim().is_empty() || post.trim().is_empty() {
        let missing = if title.trim().is_empty() { "title" } else { "text" };
        if !written.trim().is_empty() {
            note(&keep(file));
        }
        return Err(Failure::declined(format!("the {missing} is empty: nothing was published")));
    }
    let draft = Draft { title: Some(title.to_owned()), post: Some(post.to_owned()), ..draft };
    match session.service.call(Insert { draft }) {
        Ok(inserted) => session.out.answer(&inserted, |page| super::published(page, session, inserted.id)),
        Err(error) => {
            note(&keep(file));
            Err(error.into())
        }
    }
}

/// Opens `notice` in the editor and saves the changes.
///
/// # Errors
/// A usage failure without a terminal. When the editor fails or the new text breaks a rule; the failure then names
/// the file that still has the text.
pub(super) fn edit(session: &Session, notice: &Notice) -> Result<ExitCode, Failure> {
    if !is_possible(session) {
        let hint = "say what to change, such as --title, --post-file or --until; an editor needs a terminal";
        return Err(Failure::usage(hint));
    }
    let (file, written) = edited(&notice.title, &notice.post)?;
    let draft = changes(notice, &written);
    if draft.title.is_none() && draft.post.is_none() {
        return session.out.answer(&(), |page| page.line("Nothing was changed."));
    }
    match session.service.call(Update { notice_obi: notice.id.to_string(), draft }) {
        Ok(()) => session.out.answer(&(), |page| super::changed(page, session, &notice.id.to_string())),
        Err(error) => {
            note(&keep(file));
            Err(error.into())
        }
    }
}

/// Opens a title and a text in the editor. Returns the file, and what was written.
fn edited(title: &str, post: &str) -> Result<(NamedTempFile, String), Failure> {
    let cannot = |e: std::io::Error| Failure::system(format!("cannot write a file for the editor: {e}"));
    // The file is private, as the notice may be hidden.
    let mut file = tempfile::Builder::new().prefix("notice-").suffix(".txt").tempfile().map_err(cannot)?;
    writeln!(file, "{title}\n\n{post}").and_then(|()| file.flush()).map_err(cannot)?;
    note("The first line is the title; the text follows after an empty line.");
    open(file.path())?;
    let written = text_file::read(file.path());
    let written = written.map_err(|e| Failure::system(format!("cannot read what the editor wrote: {e}")))?;
    Ok((file, written))
}

/// Returns the title and the text of what was written.
fn parts(written: &str) -> (&str, &str) {
    let (title, post) = written.split_once('\n').unwrap_or((written, ""));
    (title.trim_end_matches('\r'), trimmed(post))
}

/// Returns a text without the line breaks around it: editors add one at the end.
fn trimmed(post: &str) -> &str {
    post.trim_matches(['\r', '\n'])
}

/// Opens `file` in the editor that the environment names, and waits until it ends.
fn open(file: &Path) -> Result<(), Failure> {
    let named = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| String::from("vi"));
    // The variable is a shell command such as `code --wait`.
    let ended = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(Failure::declined(format!("the editor {editor:?} ended with {status}: nothing was changed")))
        }
        Err(e) => {
            Err(Failure::system(format!("cannot start the editor {editor:?}: {e}; name one with EDITOR")))
        }
    }
}

/// Returns the changes that `written` makes to a notice.
fn changes(notice: &Notice, written: &str) -> Draft {
    let (title, post) = parts(written);
    let same = post == trimmed(&notice.post);
    Draft {
        title: (title != &*notice.title).then(|| title.to_owned()),
        post: (!same).then(|| post.to_owned()),
        ..Draft::default()
    }
}

/// Makes the editor's file permanent. Returns a message with its path.
fn keep(file: NamedTempFile) -> String {
    match file.keep() {
        Ok((_, path)) => format!("What you wrote is kept in {}", path.display()),
        Err(error) => format!("What you wrote is lost: {}", error.error),
    }
}
