//! Texts in the editor that the environment names.

use std::io::{self, Write as _};
use std::process::Command;

use tempfile::{Builder, NamedTempFile};
use tidings_core::text_file;

/// Opens a text in `$VISUAL`, `$EDITOR` or vi, and waits until the editor ends. Returns its file, which only the user can read, and
/// what was written.
///
/// # Errors
/// When the file cannot be written or read, or the editor cannot be started or fails.
pub fn edited(text: &str) -> io::Result<(NamedTempFile, String)> {
    let mut file = Builder::new().prefix("notice-").suffix(".txt").tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    let named = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| String::from("vi"));
    // The variable is a shell command such as `code --wait`.
    let mut command = Command::new("sh");
    let status = command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file.path()).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("the editor {editor:?} ended with {status}")));
    }
    let written = text_file::read(file.path())?;
    Ok((file, written))
}
