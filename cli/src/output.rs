//! Programs get JSON, encoded as for HTTP; people get a page that fits the terminal. Only answers go to standard output; messages
//! go to standard error. A reader that closes the pipe (`| head -1`) is not a failure.

use std::io::{BufWriter, ErrorKind, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::json;
use tidings_client::shown::escape;
use tidings_core::answer;
use tidings_core::clock::Clock;

use crate::failure::{self, Exit, Failure};
use crate::global::{Color, Global};

mod page;
mod table;

pub(crate) use page::{Page, dated, local, local_to_second, typed_time, use_zone, zone};
pub(crate) use table::Table;

/// The message of the system about a file that the user may not open.
const DENIED: &str = "Permission denied (os error 13)";

#[derive(Clone)]
pub(crate) struct Output {
    form: Form,
    colour: bool,
    colour_errors: bool,
    /// `None` if standard output is not a terminal.
    width: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Page,
    Json,
    /// The elements of a list, one JSON object a line.
    Lines,
}

/// Styles use the terminal's own colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Strong,
    Faint,
    Bad,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let form = match (global.json, global.ndjson) {
            (true, _) => Form::Json,
            (false, true) => Form::Lines,
            (false, false) => Form::Page,
        };
        let (stdout, stderr) = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
        let width = stdout.then(terminal_size::terminal_size).flatten().map(|(width, _)| width.0.into());
        let (colour, colour_errors) = (colours(global.color, stdout), colours(global.color, stderr));
        Self { form, colour, colour_errors, width }
    }

    /// The command must then not ask questions.
    pub(crate) fn is_for_programs(&self) -> bool {
        self.form != Form::Page
    }

    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// See [`stream_pages`].
    pub(crate) fn streams(&self) -> bool {
        self.form == Form::Lines
    }

    /// Prints an answer: as the object that HTTP would send, or as the page that `people` writes.
    pub(crate) fn answer<T: Serialize>(&self, body: &T, people: impl FnOnce(&mut Page)) -> Exit {
        match self.form {
            Form::Page => self.page(people),
            Form::Json | Form::Lines => self.object(&answer::success(body)),
        }
    }

    /// Like [`Output::answer`], but with a `result` other than success, and exit status 1.
    pub(crate) fn answer_with_result<T: Serialize>(
        &self,
        result: &str,
        body: &T,
        people: impl FnOnce(&mut Page),
    ) -> Exit {
        match self.form {
            Form::Page => self.page(people)?,
            Form::Json | Form::Lines => self.object(&answer::with_result(result, body))?,
        };
        Ok(ExitCode::from(failure::REFUSED))
    }

    /// Like [`Output::answer`], but `--ndjson` prints the elements of `items`.
    pub(crate) fn list<T: Serialize, I: Serialize>(
        &self,
        body: &T,
        items: &[I],
        people: impl FnOnce(&mut Page),
    ) -> Exit {
        if !self.streams() {
            return self.answer(body, people);
        }
        stream_pages(None, None::<()>, |_, _| Ok((items.iter().collect(), None)))
    }

    /// Like [`Output::list`], with a table of the elements for people, or the note `empty` if there are none.
    pub(crate) fn table<T: Serialize, I: Serialize>(
        &self,
        body: &T,
        items: &[I],
        empty: &str,
        columns: impl FnOnce(Table<'_, I>) -> Table<'_, I>,
    ) -> Exit {
        self.list(body, items, |page| page.table(&columns(Table::of(items)), empty))
    }

    /// Like [`Output::answer`], but from encoded JSON.
    pub(crate) fn encoded(&self, json: &[u8], people: impl FnOnce(&mut Page)) -> Exit {
        match self.form {
            Form::Page => self.page(people),
            Form::Json | Form::Lines => self.object(json),
        }
    }

    pub(crate) fn object(&self, json: &[u8]) -> Exit {
        if self.is_for_programs() {
            print(&escape::json(json))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    pub(crate) fn failed(&self, failure: &Failure) -> ExitCode {
        // When the object cannot be written, the message still can.
        let _ = self.object(&failure.json);
        let mut message = failure.message.clone();
        if message.contains(DENIED) {
            let user = whoami::username().unwrap_or_default();
            message = format!("{message}\nhint: it runs as the user {user}");
        }
        note_error(&message, self.colour_errors);
        ExitCode::from(failure.status)
    }

    /// After an answer that has been printed.
    pub(crate) fn complain(&self, message: &str) {
        note_error(message, self.colour_errors);
    }

    fn page(&self, people: impl FnOnce(&mut Page)) -> Exit {
        let mut page = Page::new(self.width, self.colour);
        people(&mut page);
        let (text, notes) = page.into_parts();
        if !text.is_empty() {
            print(text.trim_end_matches('\n').as_bytes())?;
        }
        for text in &notes {
            note(text);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// `limit` elements, or all. `fetch` takes a position and a maximum number, and returns that page and the position of the next.
pub(crate) fn stream_pages<I: Serialize, P>(
    limit: Option<i64>,
    from: Option<P>,
    mut fetch: impl FnMut(Option<P>, i64) -> Result<(Vec<I>, Option<P>), Failure>,
) -> Exit {
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let print_pages = || -> Result<(), Failure> {
        let (mut left, mut from) = (limit.unwrap_or(i64::MAX), from);
        loop {
            let (items, next) = fetch(from, left)?;
            for item in items.into_iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
                let json = serde_json::to_vec(&item).map_err(std::io::Error::from);
                let written = json.and_then(|json| out.write_all(&escape::json(&json)));
                if !has_reader(written.and_then(|()| out.write_all(b"\n")))? {
                    return Ok(());
                }
                left -= 1;
            }
            if next.is_none() || left <= 0 {
                return Ok(());
            }
            from = next;
        }
    };
    let printed = print_pages();
    has_reader(out.flush())?;
    printed.map(|()| ExitCode::SUCCESS)
}

pub(crate) fn print(line: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    has_reader(out.write_all(line).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush())).map(|_| ())
}

/// Whether each line on standard error is JSON, as the log of the server is.
static IS_LOG_JSON: AtomicBool = AtomicBool::new(false);

/// Also applies to the messages of panics.
pub(crate) fn use_json_log() {
    IS_LOG_JSON.store(true, Ordering::Relaxed);
    std::panic::set_hook(Box::new(|panic| write_message("ERROR", &panic.to_string(), "")));
}

/// Prints to standard error. The caller has escaped `text`.
pub(crate) fn note(text: &str) {
    write_message("INFO", text, text);
}

pub(crate) fn note_error(message: &str, colour: bool) {
    let line = format!("{} {}", paint("error:", Style::Bad, colour), escape::block(message));
    write_message("ERROR", message, &line);
}

/// As a line of the JSON log, or as `text`.
fn write_message(level: &str, message: &str, text: &str) {
    let line = if IS_LOG_JSON.load(Ordering::Relaxed) {
        let at = Clock::system().now();
        json!({ "timestamp": at, "level": level, "fields": { "message": message }, "target": "tidings" })
            .to_string()
    } else {
        text.to_owned()
    };
    // An error on standard error cannot be reported anywhere.
    let _ = writeln!(std::io::stderr(), "{line}");
}

pub(crate) fn paint(text: &str, style: Style, colour: bool) -> String {
    use anstyle::{AnsiColor, Style as Ansi};
    let ansi = match style {
        Style::Plain => Ansi::new(),
        Style::Strong => Ansi::new().bold(),
        Style::Faint => Ansi::new().dimmed(),
        Style::Bad => AnsiColor::Red.on_default().bold(),
    };
    if colour { format!("{ansi}{text}{ansi:#}") } else { text.to_owned() }
}

pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

pub(crate) fn colours(when: Color, terminal: bool) -> bool {
    let given = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    match when {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            terminal && given("NO_COLOR").is_none() && given("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// Returns false when the reader has closed the pipe.
pub(crate) fn has_reader(written: std::io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Failure::system(format!("cannot write the answer: {e}"))),
    }
}
