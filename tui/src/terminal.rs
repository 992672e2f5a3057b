use std::io::{self, Stdout, Write as _, stdout};
use std::mem::ManuallyDrop;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::style::Print;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};
use tempfile::{Builder, NamedTempFile};
use tidings_core::text_file;

use crate::KEYS_WAIT;
use crate::problem::Problem;

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Reports clicks and the wheel, but not movements.
const MOUSE_ON: &str = "\u{1b}[?1000h\u{1b}[?1006h";
const MOUSE_OFF: &str = "\u{1b}[?1006l\u{1b}[?1000l";

pub(crate) struct TerminalGuard {
    /// Never dropped: ratatui would report a terminal that is gone on standard error, which may be gone, too.
    pub(crate) terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
    mouse: bool,
}

impl TerminalGuard {
    pub(crate) fn enter(mouse: bool) -> io::Result<Self> {
        give_back_on_panic();
        take(mouse)?;
        match Terminal::new(CrosstermBackend::new(stdout())) {
            Ok(terminal) => Ok(Self { terminal: ManuallyDrop::new(terminal), mouse }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Restores the terminal for the shell, stops the process, and takes the terminal over again when the process continues.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        give_back();
        #[cfg(unix)]
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.restore()
    }

    /// Gives the terminal to the editor that the environment names. Returns what was written.
    pub(crate) fn edit(&mut self, text: &str) -> io::Result<Result<String, Problem>> {
        give_back();
        // Until the thread that reads keys has noticed.
        thread::sleep(KEYS_WAIT);
        let edited = edited(text).map(|(_, written)| written);
        self.restore()?;
        Ok(edited.map_err(|error| Problem::new(format!("The text is not changed: {error}."))))
    }

    /// After another program may have changed its modes.
    pub(crate) fn restore(&mut self) -> io::Result<()> {
        // The shell may have changed the mode of the terminal while the process was stopped.
        let _ = disable_raw_mode();
        take(self.mouse)?;
        // Not ratatui's own clearing, which asks the terminal for the cursor and may get no answer.
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        give_back();
    }
}

fn take(mouse: bool) -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
    if mouse {
        execute!(stdout(), Print(MOUSE_ON))?;
    }
    Ok(())
}

/// The program is neither suspended, nor has it lent the terminal to an editor.
pub(crate) fn is_taken() -> bool {
    TAKEN.load(Ordering::SeqCst)
}

/// Ignores errors of a terminal that is gone.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(stdout(), Print(MOUSE_OFF), DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = stdout().flush();
        let _ = disable_raw_mode();
    }
}

/// The message of a panic follows. A panic in an effect is shown on the screen instead.
fn give_back_on_panic() {
    let drawing: ThreadId = thread::current().id();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if thread::current().id() == drawing {
            give_back();
        }
        if !TAKEN.load(Ordering::SeqCst) {
            before(panic);
        }
    }));
}

/// The terminal of standard input has disappeared. If it `waits`, returns only after that, or when the system cannot tell.
#[cfg(unix)]
pub(crate) fn is_gone(waits: bool) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdin = io::stdin();
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    // The end is always reported.
    let mut input = [PollFd::new(&stdin, PollFlags::empty())];
    loop {
        match poll(&mut input, Some(&at_once).filter(|_| !waits)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => return input[0].revents().intersects(PollFlags::HUP | PollFlags::ERR),
        }
    }
}

/// Here, a key that cannot be read shows that the terminal has disappeared.
#[cfg(not(unix))]
pub(crate) fn is_gone(_: bool) -> bool {
    false
}

/// Opens a text in `$VISUAL`, `$EDITOR` or vi. Returns its file, which only the user can read, and what was written.
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
