//! The administrators' terminal UI of tidings, on the database or on a server. Only this file knows which.
//!
//! `state.rs` decides what follows from an event and uses no terminal, store or clock. `effect.rs` makes all calls to the
//! service, on separate threads that send the answers back. `view.rs` and the screens' `draw` read the state and change nothing.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::Event as Input;
#[cfg(debug_assertions)]
use crossterm::event::KeyCode;
use crossterm::execute;
use tidings_client::{Service, Watch};

mod ctx;
mod effect;
mod keys;
mod layout;
mod pending;
mod problem;
mod read;
mod screen;
mod second_factor;
mod sheet;
mod state;
mod terminal;
mod text;
mod theme;
mod view;
mod widget;

use effect::{Act, Effect, Sources};
use read::Read;
pub use read::{read_beside, read_of_server};
use state::{Event, State, Title};
use terminal::TerminalGuard;
pub use terminal::edited;

/// The core notices the changes of another process within 250 ms, so they are loaded and shown within a second.
const TICK: Duration = Duration::from_millis(500);
/// While a progress indicator is shown.
const QUICK_TICK: Duration = Duration::from_millis(100);
/// The thread that reads keys checks at this interval whether it should stop.
const KEYS_WAIT: Duration = Duration::from_millis(250);
/// The program waits this long for running changes when the system asks it to end, and for changes on a server.
const STOP_MAX: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub struct Options {
    /// In the header; the header of a server shows the server.
    pub database: String,
    /// Which feedback was read; without a file it is not stored.
    pub read: Option<PathBuf>,
    /// Handles clicks and the wheel; otherwise the terminal selects text with the mouse.
    pub mouse: bool,
    pub has_colours: bool,
}

/// Runs until the administrator quits. The terminal is always restored: at the end, on an error, a panic, SIGTERM, SIGHUP and SIGTSTP.
/// Fails when standard input or output is not a terminal, or the terminal is gone.
pub fn run(service: &Service, options: &Options) -> io::Result<()> {
    let (send, events) = channel();
    let mut guard = TerminalGuard::enter(options.mouse)?;
    let _signals = forward_signals(&send)?;
    let keys = KeyReader::start(&send)?;
    watch_terminal(&send, &keys.stop)?;
    let size = guard.terminal.size()?;
    let mut watch = service.watch()?;
    let title = match service.server() {
        Some(server) => Title::server(server.address().host()),
        None => Title::database(&options.database),
    };
    let mut state = State::new(title, options.has_colours, (size.width, size.height), &watch.look());
    state.ctx.password = service.database().map(|(tidings, _)| tidings.config().password_length());
    let sources = Sources { service: service.clone(), read: Read::at(options.read.clone()) };
    let mut app = App { state, sources, watch, send, stop: None, quit: None, stale: true };
    let ended = app.run(&mut guard, &events);
    if ended.is_err() {
        app.save_draft();
    }
    if terminal::is_gone(false) {
        // Nobody sees a message, and the thread that reads keys never ends.
        return Ok(());
    }
    keys.end();
    ended
}

struct App {
    state: State,
    sources: Sources,
    watch: Watch,
    send: Sender<Event>,
    /// The end of the wait for running changes after a signal.
    stop: Option<Instant>,
    /// The end of this wait after the user has quit.
    quit: Option<Instant>,
    stale: bool,
}

impl App {
    fn run(&mut self, guard: &mut TerminalGuard, events: &Receiver<Event>) -> io::Result<()> {
        let first = self.state.start();
        // The frame is visible while the first data loads.
        guard.terminal.draw(|frame| view::draw(&self.state, frame))?;
        if self.perform(first, guard)? {
            return Ok(());
        }
        let mut tick = Instant::now() + TICK;
        loop {
            let wait = if self.state.is_slow() { QUICK_TICK } else { TICK };
            tick = tick.min(Instant::now() + wait);
            let event = match events.recv_timeout(tick.saturating_duration_since(Instant::now())) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => {
                    tick = Instant::now() + wait;
                    Event::Tick(self.watch.look())
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if self.handle(event, guard)? || self.has_waited(Instant::now()) {
                return Ok(());
            }
            // All events that have arrived, such as text pasted key by key, share one drawing.
            while let Ok(event) = events.try_recv() {
                if self.handle(event, guard)? {
                    return Ok(());
                }
            }
            // A terminal that is gone cannot be drawn on.
            if std::mem::take(&mut self.stale) && self.stop.is_none() {
                guard.terminal.draw(|frame| view::draw(&self.state, frame))?;
            }
        }
    }

    fn handle(&mut self, event: Event, guard: &mut TerminalGuard) -> io::Result<bool> {
        if let Event::Key(_) | Event::Paste(_) | Event::Mouse(_) = event {
            self.watch.is_used();
        }
        match event {
            Event::Stop => self.stop = Some(Instant::now() + STOP_MAX),
            Event::Resize(..) => guard.terminal.autoresize()?,
            #[cfg(debug_assertions)]
            Event::Key(key)
                if key.code == KeyCode::F(12) && std::env::var_os("TIDINGS_TEST_PANIC").is_some() =>
            {
                panic!("a panic for the tests")
            }
            _ => {}
        }
        let passes = matches!(event, Event::Tick { .. });
        let seen = |state: &State| {
            let minute = state.ctx.now.as_millis().div_euclid(60_000);
            (minute, state.is_slow(), state.zone_name.clone(), state.title.clone())
        };
        let before = seen(&self.state);
        let effects = self.state.update(event);
        // A tick that changes nothing visible needs no drawing.
        let same = passes && effects.is_empty() && before == seen(&self.state) && !before.1;
        self.stale |= !same;
        self.set_quit(Instant::now());
        self.perform(effects, guard)
    }

    fn set_quit(&mut self, now: Instant) {
        if !self.state.quitting {
            // A draft could not be saved, so the program continues.
            self.quit = None;
        } else if self.quit.is_none() && self.sources.service.server().is_some() {
            // A server may never answer.
            self.quit = Some(now + STOP_MAX);
        }
    }

    fn has_waited(&self, now: Instant) -> bool {
        self.stop.into_iter().chain(self.quit).any(|until| now >= until)
    }

    fn perform(&mut self, effects: Vec<Effect>, guard: &mut TerminalGuard) -> io::Result<bool> {
        for effect in effects {
            match effect {
                Effect::Load { number, query } => {
                    self.spawn(move |sources| Event::Loaded { number, answer: query.run(sources) })?;
                }
                Effect::Act(Act { change, work }) => {
                    self.spawn(move |sources| Event::Acted { change, result: work.run(sources) })?;
                }
                Effect::Copy(text) => execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))?,
                Effect::Edit(text) => {
                    let edited = Event::Edited(guard.edit(&text)?);
                    if self.handle(edited, guard)? {
                        return Ok(true);
                    }
                }
                Effect::Suspend => guard.suspend()?,
                Effect::Redraw => guard.restore()?,
                Effect::Quit => return Ok(true),
            }
        }
        Ok(false)
    }

    fn save_draft(&mut self) {
        for effect in self.state.update(Event::Stop) {
            if let Effect::Act(act) = effect {
                // There is no terminal on which to report a failure.
                let _ = act.work.run(&self.sources);
            }
        }
    }

    fn spawn(&self, effect: impl FnOnce(&Sources) -> Event + Send + 'static) -> io::Result<()> {
        let (sources, send) = (self.sources.clone(), self.send.clone());
        start("tidings-effect", move || {
            // Sending fails when the program has ended, and then the answer is not needed.
            let _ = send.send(effect(&sources));
        })
    }
}

fn start(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(run).map(drop)
}

struct KeyReader {
    stop: Arc<AtomicBool>,
    ended: Receiver<()>,
}

impl KeyReader {
    fn start(send: &Sender<Event>) -> io::Result<Self> {
        let (send, stop) = (send.clone(), Arc::new(AtomicBool::new(false)));
        let (stopped, (end, ended)) = (Arc::clone(&stop), channel());
        let read = move || {
            let _end: Sender<()> = end;
            while !stopped.load(Ordering::Relaxed) {
                if !terminal::is_taken() {
                    // The keys are those of the editor.
                    thread::sleep(KEYS_WAIT);
                    continue;
                }
                let event = match crossterm::event::poll(KEYS_WAIT) {
                    Ok(false) => continue,
                    Ok(true) => crossterm::event::read(),
                    Err(error) => Err(error),
                };
                let event = match event {
                    Ok(Input::Key(key)) => Event::Key(key),
                    Ok(Input::Paste(text)) => Event::Paste(text),
                    Ok(Input::Mouse(mouse)) => Event::Mouse(mouse),
                    Ok(Input::Resize(columns, rows)) => Event::Resize(columns, rows),
                    Ok(Input::FocusGained | Input::FocusLost) => continue,
                    // The terminal is gone.
                    Err(_) => Event::Stop,
                };
                let gone = matches!(event, Event::Stop);
                if send.send(event).is_err() || gone {
                    break;
                }
            }
        };
        start("tidings-keys", read)?;
        Ok(Self { stop, ended })
    }

    /// The keys that follow are those of the shell.
    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.ended.recv_timeout(KEYS_WAIT * 2);
    }
}

/// Reading keys does not notice that the terminal has disappeared: crossterm reads the end of the input again and again.
fn watch_terminal(send: &Sender<Event>, stop: &Arc<AtomicBool>) -> io::Result<()> {
    let (send, stop) = (send.clone(), Arc::clone(stop));
    start("tidings-terminal", move || {
        if terminal::is_gone(true) {
            stop.store(true, Ordering::Relaxed);
            let _ = send.send(Event::Stop);
        }
    })
}

/// The signals become events until the returned value is dropped.
#[cfg(unix)]
fn forward_signals(send: &Sender<Event>) -> io::Result<impl Drop + use<>> {
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
    use signal_hook::iterator::{Handle, Signals};

    struct Followed(Handle);
    impl Drop for Followed {
        fn drop(&mut self) {
            self.0.close();
        }
    }
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGCONT])?;
    let (followed, send) = (Followed(signals.handle()), send.clone());
    let follow = move || {
        for signal in &mut signals {
            let event = match signal {
                // The editor has the terminal.
                SIGTSTP if !terminal::is_taken() => {
                    let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
                    continue;
                }
                SIGINT if !terminal::is_taken() => continue,
                SIGTSTP => Event::Suspend,
                SIGCONT => Event::Resume,
                _ => Event::Stop,
            };
            if send.send(event).is_err() {
                break;
            }
        }
    };
    start("tidings-signals", follow)?;
    Ok(followed)
}

#[cfg(not(unix))]
fn forward_signals(_: &Sender<Event>) -> io::Result<()> {
    Ok(())
}
