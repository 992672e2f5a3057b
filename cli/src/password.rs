//! Passwords for commands: from a prompt without echo, from standard input or from a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, IsTerminal as _, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tidings_client::Service;
use tidings_core::text_file;
use zeroize::Zeroizing;

use crate::failure::{Failure, INTERRUPTED};
use crate::output::{Output, is_interactive, note};

/// The source of a password when the command cannot ask. No argument takes a password, because other users can read
/// the arguments of a process.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Password {
    /// Read the password from standard input, up to the end of its first line
    #[arg(long)]
    password_stdin: bool,
    /// Read the password from a file, up to the end of its first line
    #[arg(long, value_name = "F")]
    pub(crate) password_file: Option<PathBuf>,
}

/// More than four for each character of the longest one.
const BYTES_MAX: u64 = 64 << 10;

pub(crate) fn present(args: &Password) -> Result<Zeroizing<String>, Failure> {
    given(args)?.map_or_else(|| prompt("Password: "), Ok)
}

pub(crate) fn code(args: &Password) -> Result<Zeroizing<String>, Failure> {
    given(args)?.map_or_else(|| prompt("Code: "), Ok)
}

pub(crate) fn code_and_present(args: &Password) -> Result<[Zeroizing<String>; 2], Failure> {
    both(args, ["code", "password"])?.map_or_else(|| Ok([prompt("Code: ")?, prompt("Password: ")?]), Ok)
}

/// Without a file, the key is on standard input, unless that is a terminal.
pub(crate) fn key(file: Option<&Path>) -> Result<Zeroizing<String>, Failure> {
    read(file.is_none(), file, "the API key", first_line)?.map_or_else(|| prompt("API key: "), Ok)
}

/// Asks twice if `args` name no source, after saying the rule of passwords if the service tells it.
pub(crate) fn new(args: &Password, service: &Service) -> Result<Zeroizing<String>, Failure> {
    given(args)?.map_or_else(|| chosen(["Password: ", "Password again: "], service), Ok)
}

/// A proof of who the member is, such as the current password, and a new password, or asks for them like [`new`].
pub(crate) fn change(
    proof: &str,
    args: &Password,
    service: &Service,
) -> Result<[Zeroizing<String>; 2], Failure> {
    if let Some(both) = both(args, [&proof.to_lowercase(), "new password"])? {
        return Ok(both);
    }
    let current = prompt(&format!("{proof}: "))?;
    Ok([current, chosen(["New password: ", "New password again: "], service)?])
}

fn chosen(prompts: [&str; 2], service: &Service) -> Result<Zeroizing<String>, Failure> {
    if std::io::stdin().is_terminal()
        && let Some(rule) = service.password_rule()
    {
        note(&rule);
    }
    let password = prompt(prompts[0])?;
    if *prompt(prompts[1])? == *password {
        return Ok(password);
    }
    Err(Failure::usage("the passwords differ"))
}

/// The first two lines of standard input or of the file in `args`.
fn both(args: &Password, names: [&str; 2]) -> Result<Option<[Zeroizing<String>; 2]>, Failure> {
    let lines = read(args.password_stdin, args.password_file.as_deref(), "the passwords", lines)?;
    let [first, second] = names;
    let missing = format!("write the {first} on the first line, and the {second} on the second");
    lines.map(|lines| lines.ok_or_else(|| Failure::usage(missing))).transpose()
}

fn given(args: &Password) -> Result<Option<Zeroizing<String>>, Failure> {
    read(args.password_stdin, args.password_file.as_deref(), "the password", first_line)
}

/// `None` if there is no source, or if it is a terminal. `what` names the secrets in messages.
fn read<T>(
    stdin: bool,
    file: Option<&Path>,
    what: &str,
    take: impl FnOnce(&mut dyn BufRead) -> io::Result<T>,
) -> Result<Option<T>, Failure> {
    let of = |input: &mut dyn Read, name: &str| {
        let input = BufReader::new(input.take(BYTES_MAX));
        let taken = text_file::skip_mark(input).and_then(|mut input| take(&mut input));
        taken.map(Some).map_err(|e| Failure::system(format!("cannot read {what} from {name}: {e}")))
    };
    if stdin {
        if std::io::stdin().is_terminal() {
            // On a terminal it would be visible, so the command asks for it.
            return Ok(None);
        }
        return of(&mut io::stdin().lock(), "standard input");
    }
    let Some(path) = file else { return Ok(None) };
    let name = path.display().to_string();
    let mut file = File::open(path).map_err(|e| Failure::system(format!("cannot read {name}: {e}")))?;
    of(&mut file, &name)
}

fn prompt(text: &str) -> Result<Zeroizing<String>, Failure> {
    // The prompt goes to the terminal itself, even if standard error is redirected.
    if !std::io::stdin().is_terminal() {
        let hint = "there is no terminal to ask for the password: use --password-stdin or --password-file";
        return Err(Failure::usage(hint));
    }
    delay_interrupt();
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::Interrupted => Failure::interrupted("interrupted: nothing was changed"),
        _ => Failure::system(format!("cannot read the password: {e}")),
    };
    #[cfg(unix)]
    let _echo_off = echo::off().map_err(failed)?;
    rpassword::prompt_password(text).map(Zeroizing::new).map_err(failed)
}

/// The prompt ends the program on Ctrl-C; this ends it if the signal comes before the prompt reads the keys.
fn delay_interrupt() {
    const MOMENT: Duration = Duration::from_millis(500);
    let ended = ctrlc::set_handler(|| {
        std::thread::sleep(MOMENT);
        #[cfg(unix)]
        let _terminal = echo::restored();
        std::process::exit(INTERRUPTED.into());
    });
    // A handler installed earlier, such as by a previous prompt, also ends the program.
    drop(ended);
}

/// Turns the echo of the terminal off during a prompt, from before it, so that keys typed early are not visible.
#[cfg(unix)]
mod echo {
    use std::fs::File;
    use std::io;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    static TERMINAL: Mutex<Option<(File, Termios)>> = Mutex::new(None);

    pub(super) struct Off(());

    pub(super) fn off() -> io::Result<Off> {
        let mut terminal = TERMINAL.lock().unwrap_or_else(PoisonError::into_inner);
        let file = File::open("/dev/tty")?;
        let before = tcgetattr(&file)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&file, OptionalActions::Now, &silent)?;
        *terminal = Some((file, before));
        Ok(Off(()))
    }

    /// No prompt changes the terminal again while the guard exists.
    pub(super) fn restored() -> MutexGuard<'static, Option<(File, Termios)>> {
        let mut terminal = TERMINAL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((file, before)) = terminal.take() {
            // A terminal that is gone need not be restored.
            let _ = tcsetattr(&file, OptionalActions::Now, &before);
        }
        terminal
    }

    impl Drop for Off {
        fn drop(&mut self) {
            drop(restored());
        }
    }
}

pub(crate) fn ask_if_possible(out: &Output, question: &str) -> Result<Option<String>, Failure> {
    if is_interactive() && !out.is_for_programs() { ask(question) } else { Ok(None) }
}

/// The answer is visible while it is typed; `None` if it is empty.
pub(crate) fn ask(prompt: &str) -> Result<Option<String>, Failure> {
    let failed = |e: std::io::Error| Failure::system(format!("cannot ask: {e}"));
    let mut asking = std::io::stderr();
    write!(asking, "{prompt}").and_then(|()| asking.flush()).map_err(failed)?;
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).map_err(failed)? == 0 {
        // After Ctrl-D the cursor is still on the line of the question.
        writeln!(asking).map_err(failed)?;
    }
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

fn first_line(input: &mut dyn BufRead) -> io::Result<Zeroizing<String>> {
    let mut line = Zeroizing::new(String::new());
    input.read_line(&mut line)?;
    let end = line.trim_end_matches(['\r', '\n']).len();
    line.truncate(end);
    Ok(line)
}

fn lines(input: &mut dyn BufRead) -> io::Result<Option<[Zeroizing<String>; 2]>> {
    let first = first_line(input)?;
    let has_second = !input.fill_buf()?.is_empty();
    let second = first_line(input)?;
    Ok(has_second.then_some([first, second]))
}
