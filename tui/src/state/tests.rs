//! Tests of the screens from a user's view: they press keys, run effects on a real database with a fixed clock, and
//! check the drawn screen.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use tidings_client::{Service, Watch};
use tidings_cluster::Scratch;
use tidings_core::Tidings;
use tidings_core::account::Caller;
use tidings_core::audit::AuditPage;
use tidings_core::clock::{Clock, Timestamp};
use tidings_core::config::{Config, Zone};
use tidings_core::notice::{FullNotice, ListFull};
use tidings_core::operation::Operation;

use super::*;
use crate::effect::Sources;
use crate::effect::query::{Health, Overview};
use crate::read::{Read, read_beside};
use crate::view;

mod acts;
mod data;
mod drafts;
mod filters;
mod forms;
mod frame;
mod remote;
mod safety;
mod screens;
mod second_factor;
mod shared;
mod sources;
mod svg;

/// 2026-11-20T08:36:00Z, the time of the tests.
const NOW: Timestamp = Timestamp::from_millis(1_795_163_760_000);

/// The name of the database, whose real name differs between runs.
const DATABASE: &str = "/srv/tidings/campus.db";

/// The screens on their own database.
struct Stage {
    state: State,
    sources: Sources,
    tidings: Tidings,
    watch: Watch,
    clock: Clock,
    copied: Vec<String>,
    /// The texts that were opened in the editor of the environment.
    edited: Vec<String>,
    ended: bool,
    suspended: usize,
    /// The effects that are held back while `holds` is set.
    waiting: Vec<Effect>,
    holds: bool,
    database: Scratch,
}

impl Stage {
    /// Opens an empty database at 80 columns and 24 rows.
    fn new() -> Self {
        Self::at(|_, _| {})
    }

    fn campus() -> Self {
        Self::at(data::campus)
    }

    /// Opens the screen of notices with one notice.
    fn with_a_notice() -> Self {
        let mut stage = Self::at(|tidings, _| {
            data::notice(tidings, "Library hours", "Open until ten.", true);
        });
        stage.keys(&["2"]);
        stage
    }

    /// Opens the campus as a server.
    fn remote(link: Link) -> Self {
        let mut stage = Self::campus();
        let look = Look { link, zone: None, ..stage.watch.look() };
        stage.reopen(Title::server("tidings.example.org"), &look);
        stage
    }

    /// Opens a database that `fill` fills.
    fn at(fill: impl FnOnce(&Tidings, &Clock)) -> Self {
        let (clock, database) = (Clock::fixed(NOW), Scratch::new());
        let mut config = Config::default();
        config.analysis.timezone = Some(Zone::default());
        config.private_addresses = true;
        let builder = || Tidings::builder(database.location()).config(config.clone()).clock(clock.clone());
        // A service fills the database. The screens open it afterwards, so they load all of its posts.
        fill(&builder().start().unwrap(), &clock);
        let tidings = builder().open().unwrap();
        let service = Service::on_database(tidings.clone(), Caller::Operator);
        let mut watch = service.watch().unwrap();
        let look = watch.look();
        let mut stage = Self {
            state: State::new(Title::database(DATABASE), true, (80, 24), &look),
            sources: Sources { service, read: Read::at(Some(read_beside(&database.path()))) },
            tidings,
            watch,
            clock,
            copied: Vec::new(),
            edited: Vec::new(),
            ended: false,
            suspended: 0,
            waiting: Vec::new(),
            holds: false,
            database,
        };
        stage.reopen(Title::database(DATABASE), &look);
        stage
    }

    /// Starts the program again.
    fn reopen(&mut self, title: Title, look: &Look) {
        self.state = State::new(title, true, (80, 24), look);
        let first = self.state.start();
        self.perform(first);
    }

    fn call<O: Operation>(&self, operation: O) -> O::Answer {
        self.tidings.call(&Caller::Operator, operation).unwrap()
    }

    fn notices(&self) -> Vec<FullNotice> {
        self.call(ListFull::default()).notices().to_vec()
    }

    /// Performs effects and the effects that follow from them.
    fn perform(&mut self, effects: Vec<Effect>) {
        let mut effects = std::collections::VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                effect @ (Effect::Load { .. } | Effect::Act(_)) if self.holds => self.waiting.push(effect),
                Effect::Load { number, query } => {
                    let answer = query.run(&self.sources);
                    effects.extend(self.state.update(steady(Event::Loaded { number, answer })));
                }
                Effect::Act(Act { change, work }) => {
                    let result = work.run(&self.sources);
                    effects.extend(self.state.update(Event::Acted { change, result }));
                }
                Effect::Copy(text) => self.copied.push(text),
                Effect::Edit(text) => self.edited.push(text),
                Effect::Redraw => {}
                Effect::Suspend => self.suspended += 1,
                Effect::Quit => self.ended = true,
            }
        }
    }

    /// Performs the effects that were held back.
    fn release(&mut self) {
        self.holds = false;
        let waiting = std::mem::take(&mut self.waiting);
        self.perform(waiting);
    }

    fn happens(&mut self, event: Event) {
        let effects = self.state.update(event);
        self.perform(effects);
    }

    /// Lets time pass and ticks.
    fn tick(&mut self, ms: i64) {
        self.clock.advance(ms);
        let look = self.watch.look();
        self.happens(Event::Tick(look));
    }

    /// Presses keys: `Ctrl-S`, `Enter`, `Up`, or each character of another text.
    fn keys(&mut self, keys: &[&str]) -> &mut Self {
        for event in keys.iter().flat_map(|key| pressed(key)) {
            self.happens(Event::Key(event));
        }
        self
    }

    fn click(&mut self, column: u16, row: u16) {
        let kind = MouseEventKind::Down(MouseButton::Left);
        self.happens(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.happens(Event::Resize(columns, rows));
    }

    fn buffer(&self) -> Buffer {
        let (columns, rows) = self.state.ctx.size;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| view::draw(&self.state, frame)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let area = buffer.area;
        for (y, x) in area.rows().flat_map(ratatui::layout::Rect::columns).map(|place| (place.y, place.x)) {
            let next = (x + 1 < area.right()).then(|| buffer[(x + 1, y)].symbol().trim().to_owned());
            let wide = crate::text::width(buffer[(x, y)].symbol()) > 1;
            assert!(!wide || next.as_deref() == Some(""), "a wide character at {x} {y} hides {next:?}");
        }
        buffer
    }

    /// Returns the drawn screen as text.
    fn seen(&self) -> String {
        lines(&self.buffer())
    }

    /// Returns the drawn screen for a snapshot, where one line stands for several empty ones.
    fn drawn(&self) -> String {
        let seen = self.seen();
        let lines: Vec<&str> = seen.lines().collect();
        let parts = lines.chunk_by(|one, other| one.is_empty() && other.is_empty());
        let parts = parts.map(|part| match part {
            [line] => (*line).to_owned(),
            empty => format!("({} empty lines)", empty.len()),
        });
        parts.collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn sees(&self, text: &str) -> &Self {
        assert!(self.seen().contains(text), "{text:?} is not seen in\n{}", self.seen());
        self
    }

    #[track_caller]
    fn sees_not(&self, text: &str) -> &Self {
        assert!(!self.seen().contains(text), "{text:?} is seen in\n{}", self.seen());
        self
    }

    fn file(&self, name: &str) -> PathBuf {
        self.database.folder().join(name)
    }
}

/// Replaces the parts of an answer that differ between runs.
fn steady(mut event: Event) -> Event {
    let Event::Loaded { answer: Ok(answer), .. } = &mut event else { return event };
    if let Some(overview) = answer.downcast_mut::<Overview>() {
        let at = overview.health.at;
        overview.health =
            Health { database_bytes: 12_345_678, wal_bytes: 456_789, waiting: 0, revision: 0, at };
    }
    // Hashes and ids are random, and a narrow column may show a part of an id.
    if let Some(page) = answer.downcast_mut::<AuditPage>() {
        for record in &mut page.audit {
            record.hash = "0123456789abcdef".repeat(4);
            if record.subject.len() == 24 && record.subject.bytes().all(|b| b.is_ascii_hexdigit()) {
                record.subject = "6560c1a2ffeeddccbbaa0001".to_owned();
            }
        }
    }
    event
}

/// Returns a buffer as text, in which a wide character appears once.
fn lines(buffer: &Buffer) -> String {
    let mut text = String::new();
    for row in buffer.area.rows() {
        let (mut line, mut x) = (String::new(), row.x);
        while x < row.right() {
            let symbol = buffer[(x, row.y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(crate::text::width(symbol)).unwrap().max(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    without_ids(&text)
}

/// Replaces every id, which is random, by the same id.
fn without_ids(text: &str) -> String {
    const ID: usize = 24;
    let (mut out, mut run) = (String::new(), String::new());
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_hexdigit() {
            run.push(c);
        } else {
            out.push_str(if run.len() == ID { "65f0a0000000000000000000" } else { &run });
            run.clear();
            out.push(c);
        }
    }
    out.pop();
    out
}

fn pressed(key: &str) -> Vec<KeyEvent> {
    let code = match key {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "Shift-Tab" => KeyCode::BackTab,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "PgDn" => KeyCode::PageDown,
        "End" => KeyCode::End,
        "Backspace" => KeyCode::Backspace,
        "F1" => KeyCode::F(1),
        _ => {
            if let Some(letter) = key.strip_prefix("Ctrl-") {
                let letter = letter.to_lowercase().chars().next().unwrap();
                return vec![KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)];
            }
            if key == "Shift-Left" {
                return vec![KeyEvent::new(KeyCode::Left, KeyModifiers::SHIFT)];
            }
            return key.chars().map(|c| KeyEvent::from(KeyCode::Char(c))).collect();
        }
    };
    vec![KeyEvent::from(code)]
}

#[test]
fn the_suite_passes_on_postgresql() {
    tidings_cluster::suite_on_postgres();
}
