//! Editing a notice in a text editor: the title on the first line, the text after an empty line.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode};

use tempfile::NamedTempFile;
use tidings_core::notice::{Draft, Notice};

use crate::failure::Failure;
use crate::output::{is_interactive, note};
use crate::session::Session;

/// Opens `notice` in the editor and saves the changes.
///
/// # Errors
/// A usage failure without a terminal. When the editor fails or the new text breaks a rule; the failure then names
/// the file that still has the text.
pub(super) fn edit(session: &Session, notice: &Notice) -> Result<ExitCode, Failure> {
    if session.out.is_for_programs() || !is_interactive() || !std::io::stdout().is_terminal() {
        let hint = "say what to change, such as --title, --post-file or --until; an editor needs a terminal";
        return Err(Failure::usage(hint));
    }
    let cannot = |e: std::io::Error| Failure::system(format!("cannot write a file for the editor: {e}"));
    // The file is private, as the notice may be hidden.
    let mut file = tempfile::Builder::new().prefix("notice-").suffix(".txt").tempfile().map_err(cannot)?;
    writeln!(file, "{}\n\n{}", notice.title, notice.post).and_then(|()| file.flush()).map_err(cannot)?;
    note("The first line is the title; the text follows after an empty line.");
    open(file.path())?;
    let written = std::fs::read_to_string(file.path());
    let written = written.map_err(|e| Failure::system(format!("cannot read what the editor wrote: {e}")))?;
    let draft = changes(notice, &written);
    if draft.title.is_none() && draft.post.is_none() {
        return session.out.answer(&(), |page| page.line("Nothing was changed."));
    }
    match session.service.update_notice(&notice.id.to_string(), &draft) {
        Ok(()) => session.out.answer(&(), |page| page.line("The notice is changed.")),
        Err(error) => {
            note(&keep(file));
            Err(error.into())
        }
    }
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
    let (title, post) = written.split_once('\n').unwrap_or((written, ""));
    let title = title.trim_end_matches('\r');
    let post = post.trim_start_matches(['\r', '\n']).trim_end_matches(['\r', '\n']);
    // Editors add a line break at the end.
    let same = post == notice.post.trim_start_matches(['\r', '\n']).trim_end_matches(['\r', '\n']);
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
