//! Passwords for commands: from a prompt without echo, standard input or a file.

use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, IsTerminal as _, Read, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
#[cfg(unix)]
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::failure::{Failure, INTERRUPTED};

/// Where a password comes from when nobody can be asked: never from an argument, which others could read.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Password {
    /// Read the password from standard input, up to the end of its first line
    #[arg(long)]
    password_stdin: bool,
    /// Read the password from a file, up to the end of its first line
    #[arg(long, value_name = "F")]
    password_file: Option<PathBuf>,
}

/// The most bytes of a password that are read: four for each of the most characters, and to spare.
const BYTES_MAX: u64 = 64 << 10;

/// Reads the password that somebody has, as `args` say; asks for it when they do not.
pub(crate) fn present(args: &Password) -> Result<Zeroizing<String>, Failure> {
    given(args)?.map_or_else(|| prompt("Password: "), Ok)
}

/// Reads a password that is to be kept, as `args` say; asks for it, twice, when they do not.
pub(crate) fn new(args: &Password) -> Result<Zeroizing<String>, Failure> {
    if let Some(password) = given(args)? {
        return Ok(password);
    }
    let password = prompt("Password: ")?;
    if *prompt("Password again: ")? == *password {
        return Ok(password);
    }
    Err(Failure::usage("the passwords differ"))
}

/// The password from where `args` say, if they do.
fn given(args: &Password) -> Result<Option<Zeroizing<String>>, Failure> {
    if args.password_stdin {
        if std::io::stdin().is_terminal() {
            // Whoever types it is asked as others are, or it would be seen.
            return Ok(None);
        }
        return first_line(std::io::stdin().lock(), "standard input").map(Some);
    }
    let Some(path) = &args.password_file else { return Ok(None) };
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| Failure::system(format!("cannot read {name}: {e}")))?;
    first_line(file, &name).map(Some)
}

/// Asks for a password, which is not shown as it is typed.
fn prompt(text: &str) -> Result<Zeroizing<String>, Failure> {
    // The question is put to the terminal itself, wherever messages go.
    if !std::io::stdin().is_terminal() {
        let hint = "there is no terminal to ask for the password: use --password-stdin or --password-file";
        return Err(Failure::usage(hint));
    }
    interrupt_gently();
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::Interrupted => Failure::interrupted("interrupted: nothing is done"),
        _ => Failure::system(format!("cannot read the password: {e}")),
    };
    #[cfg(unix)]
    let _unseen = Unseen::begin().map_err(failed)?;
    rpassword::prompt_password(text).map(Zeroizing::new).map_err(failed)
}

/// Leaves a Ctrl-C at the question to the question, which puts the terminal right before it ends; elsewhere it ends
/// the program, a moment later.
fn interrupt_gently() {
    const MOMENT: Duration = Duration::from_millis(500);
    let ended = ctrlc::set_handler(|| {
        std::thread::sleep(MOMENT);
        std::process::exit(INTERRUPTED.into());
    });
    // Whoever was there first, as for the question before this one, ends the program just as well.
    drop(ended);
}

/// A terminal that does not show what is typed: from before the question, or what is typed early would be seen.
#[cfg(unix)]
struct Unseen {
    terminal: File,
    before: Termios,
}

#[cfg(unix)]
impl Unseen {
    fn begin() -> std::io::Result<Self> {
        let terminal = File::open("/dev/tty")?;
        let before = tcgetattr(&terminal)?;
        let mut unseen = before.clone();
        unseen.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Now, &unseen)?;
        Ok(Self { terminal, before })
    }
}

#[cfg(unix)]
impl Drop for Unseen {
    fn drop(&mut self) {
        // A terminal that has gone away has nothing left to put right.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

/// Asks for something that may be seen; `None` when nothing is answered.
pub(crate) fn ask(prompt: &str) -> Result<Option<String>, Failure> {
    let failed = |e: std::io::Error| Failure::system(format!("cannot ask: {e}"));
    let mut asking = std::io::stderr();
    write!(asking, "{prompt}").and_then(|()| asking.flush()).map_err(failed)?;
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).map_err(failed)? == 0 {
        // Ctrl-D leaves what comes next on the line of the question.
        writeln!(asking).map_err(failed)?;
    }
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

fn first_line(input: impl Read, name: &str) -> Result<Zeroizing<String>, Failure> {
    let mut line = Zeroizing::new(String::new());
    let read = BufReader::new(input.take(BYTES_MAX)).read_line(&mut line);
    read.map_err(|e| Failure::system(format!("cannot read the password from {name}: {e}")))?;
    let end = line.trim_end_matches(['\r', '\n']).len();
    line.truncate(end);
    Ok(line)
}
