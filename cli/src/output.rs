//! The one door through which answers leave: for programs as JSON, encoded where HTTP's answers are, for people as
//! a page that fits the terminal.
//!
//! Answers go to standard output and nothing else does; what is said beside them goes to standard error. A reader
//! that has gone away (`| head -1`) wants no more, which is no failure.

use std::io::{BufWriter, ErrorKind, IsTerminal as _, StdoutLock, Write as _};
use std::process::ExitCode;

use serde::Serialize;
use tidings_core::answer;
use tidings_tui::escape;

use crate::failure::{self, Failure};
use crate::global::{Color, Global};

mod bar;
mod page;
mod table;

pub(crate) use page::{Page, dated, local, zone};
pub(crate) use table::{Column, Table};

/// Where answers go, and in which form.
pub(crate) struct Output {
    form: Form,
    colour: bool,
    colour_errors: bool,
    /// Cells of the terminal's lines; `None` where nobody sees it.
    width: Option<usize>,
}

/// For whom an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// For people.
    Page,
    /// For programs: one object.
    Json,
    /// For programs: the elements of a list, one object a line.
    Lines,
}

/// How a word or a line stands out, in the terminal's own colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Strong,
    Faint,
    Bad,
}

impl Output {
    /// The output that the options ask for.
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

    /// Whether programs read the answer: nobody is there to be asked.
    pub(crate) fn is_for_programs(&self) -> bool {
        self.form != Form::Page
    }

    /// Whether one object is wanted.
    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// Whether a list is wanted element by element, all of it: [`stream`].
    pub(crate) fn streams(&self) -> bool {
        self.form == Form::Lines
    }

    /// Prints an operation's answer: for programs the object that HTTP would answer, for people what `people` writes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn answer<T: Serialize>(
        &self,
        body: &T,
        people: impl FnOnce(&mut Page),
    ) -> Result<ExitCode, Failure> {
        match self.form {
            Form::Page => self.page(people),
            Form::Json | Form::Lines => self.object(&answer::success(body)),
        }
    }

    /// As [`Output::answer`], of an operation whose result is `result` and not success.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn answer_otherwise<T: Serialize>(
        &self,
        result: &str,
        body: &T,
        people: impl FnOnce(&mut Page),
    ) -> Result<ExitCode, Failure> {
        match self.form {
            Form::Page => self.page(people)?,
            Form::Json | Form::Lines => self.object(&answer::with_result(result, body))?,
        };
        Ok(ExitCode::from(failure::REFUSED))
    }

    /// As [`Output::answer`], of a body whose list `items` is printed element by element where that is asked for.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn list<T: Serialize, I: Serialize>(
        &self,
        body: &T,
        items: &[I],
        people: impl FnOnce(&mut Page),
    ) -> Result<ExitCode, Failure> {
        if !self.streams() {
            return self.answer(body, people);
        }
        stream(|lines| {
            for item in items {
                if !lines.item(item)? {
                    break;
                }
            }
            Ok(())
        })
    }

    /// As [`Output::answer`], of an answer that is encoded already.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn encoded(&self, json: &[u8], people: impl FnOnce(&mut Page)) -> Result<ExitCode, Failure> {
        match self.form {
            Form::Page => self.page(people),
            Form::Json | Form::Lines => self.object(json),
        }
    }

    /// Prints an object for programs; for people, nothing.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn object(&self, json: &[u8]) -> Result<ExitCode, Failure> {
        if self.is_for_programs() {
            print(json)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Reports a failure: programs get its object on standard output, people its message on standard error.
    pub(crate) fn failed(&self, failure: &Failure) -> ExitCode {
        // When the object cannot be written, the message still can.
        let _ = self.object(failure.json());
        let name = paint("tidings:", Style::Bad, self.colour_errors);
        note(&format!("{name} {}", escape::block(failure.message())));
        ExitCode::from(failure.status())
    }

    fn page(&self, people: impl FnOnce(&mut Page)) -> Result<ExitCode, Failure> {
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

/// Prints a list element by element, as `produce` hands them on.
///
/// # Errors
/// What `produce` answers; when it cannot be written.
pub(crate) fn stream(produce: impl FnOnce(&mut Lines) -> Result<(), Failure>) -> Result<ExitCode, Failure> {
    let mut lines = Lines { out: BufWriter::with_capacity(1 << 16, std::io::stdout().lock()) };
    let produced = produce(&mut lines);
    kept(lines.out.flush())?;
    produced?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a list that comes in pages element by element: as many as `limit` says, all where it does not.
/// `fetch` reads a page of at most so many elements from where it is told, and says where the next begins.
///
/// # Errors
/// What `fetch` answers; when it cannot be written.
pub(crate) fn stream_pages<I: Serialize, P>(
    limit: Option<i64>,
    from: Option<P>,
    mut fetch: impl FnMut(Option<P>, i64) -> Result<(Vec<I>, Option<P>), Failure>,
) -> Result<ExitCode, Failure> {
    stream(|lines| {
        let (mut left, mut from) = (limit.unwrap_or(i64::MAX), from);
        loop {
            let (items, next) = fetch(from, left)?;
            for item in items.into_iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
                if !lines.item(&item)? {
                    return Ok(());
                }
                left -= 1;
            }
            if next.is_none() || left <= 0 {
                return Ok(());
            }
            from = next;
        }
    })
}

/// The lines of a list that is printed element by element.
pub(crate) struct Lines {
    out: BufWriter<StdoutLock<'static>>,
}

impl Lines {
    /// Prints one element; false when nobody reads any more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn item<T: Serialize>(&mut self, item: &T) -> Result<bool, Failure> {
        let written = serde_json::to_writer(&mut self.out, item).map_err(std::io::Error::from);
        kept(written.and_then(|()| self.out.write_all(b"\n")))
    }
}

/// Prints a line to standard output.
///
/// # Errors
/// When it cannot be written, as on a full disk.
pub(crate) fn print(line: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    kept(out.write_all(line).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush())).map(|_| ())
}

/// Says something on standard error; `text` is fit for a terminal already.
pub(crate) fn note(text: &str) {
    // There is nowhere left to say that this cannot be said.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// `text` so that it stands out, where there is colour.
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

/// Whether somebody is there to be asked.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether to use colours on something that is a terminal, or is none.
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

/// Whether what was written is read; false when the reader has gone away.
pub(crate) fn kept(written: std::io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Failure::system(format!("cannot write the answer: {e}"))),
    }
}
