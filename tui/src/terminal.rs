//! The terminal: taken over at the start, and given back whatever happens.

use std::io::{self, Stdout, Write as _, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::style::Print;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

/// Whether the terminal is ours now.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Reports of clicks and of the wheel, not of every move.
const MOUSE_ON: &str = "\u{1b}[?1000h\u{1b}[?1006h";
const MOUSE_OFF: &str = "\u{1b}[?1006l\u{1b}[?1000l";

/// The terminal while it is ours.
pub(crate) struct TerminalGuard {
    pub(crate) terminal: Terminal<CrosstermBackend<Stdout>>,
    mouse: bool,
}

impl TerminalGuard {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When it is none, or has gone.
    pub(crate) fn enter(mouse: bool) -> io::Result<Self> {
        give_back_on_panic();
        take(mouse)?;
        match Terminal::new(CrosstermBackend::new(stdout())) {
            Ok(terminal) => Ok(Self { terminal, mouse }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Gives the terminal to the shell, stops the process, and takes the terminal again when it goes on.
    ///
    /// # Errors
    /// When the terminal has gone.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        give_back();
        #[cfg(unix)]
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.restore()
    }

    /// Takes the terminal as it was, whatever others have made of it.
    ///
    /// # Errors
    /// When it has gone.
    pub(crate) fn restore(&mut self) -> io::Result<()> {
        // Whoever stopped the process may have set the terminal to something else meanwhile.
        let _ = disable_raw_mode();
        take(self.mouse)?;
        self.terminal.clear()
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

/// Gives the terminal back as it was. A terminal that has gone needs nothing back.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(stdout(), Print(MOUSE_OFF), DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = stdout().flush();
        let _ = disable_raw_mode();
    }
}

/// Sees to it that a panic is read on the terminal as it was. Effects that panic say so on the screen instead.
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
