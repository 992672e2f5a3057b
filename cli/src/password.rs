//! Passwords for commands: from a prompt without echo, standard input or a file.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write as _};

use zeroize::Zeroizing;

use crate::args::Password;
use crate::output::{Failure, is_interactive};

/// The most bytes of a password that are read: four for each of the most characters, and to spare.
const BYTES_MAX: u64 = 64 << 10;

/// Reads the password as `args` say; asks for it, twice, when they do not.
pub(crate) fn read(args: &Password) -> Result<Zeroizing<String>, Failure> {
    if args.password_stdin {
        return first_line(std::io::stdin().lock(), "standard input");
    }
    if let Some(path) = &args.password_file {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|e| Failure::system(format!("cannot read {name}: {e}")))?;
        return first_line(file, &name);
    }
    if !is_interactive() {
        let hint = "there is no terminal to ask for the password: use --password-stdin or --password-file";
        return Err(Failure::usage(hint));
    }
    let ask = |prompt: &str| {
        let answer = rpassword::prompt_password(prompt);
        answer.map(Zeroizing::new).map_err(|e| Failure::system(format!("cannot read the password: {e}")))
    };
    let password = ask("Password: ")?;
    if *ask("Password again: ")? == *password {
        return Ok(password);
    }
    Err(Failure::usage("the passwords differ"))
}

/// Asks for something that may be seen; `None` when nothing is answered.
pub(crate) fn ask(prompt: &str) -> Result<Option<String>, Failure> {
    let failed = |e: std::io::Error| Failure::system(format!("cannot ask: {e}"));
    eprint!("{prompt}");
    std::io::stderr().flush().map_err(failed)?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(failed)?;
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
