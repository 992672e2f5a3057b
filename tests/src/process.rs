//! A server process: started, found by its ready line, and killed when it is dropped.

use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::wait::holds_within;

/// The timeout of a start; other tests may keep the machine busy.
const START_MAX: Duration = Duration::from_secs(60);
/// The timeout of a clean stop: the server's grace period of 10 seconds, and time to write to disk.
const STOP_MAX: Duration = Duration::from_secs(20);

/// A running server. Dropping the value kills it.
pub struct Process {
    child: Child,
    log: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
pub struct Stopped {
    pub status: ExitStatus,
    pub log: String,
}

impl Process {
    /// Starts a server, and waits for its ready line. Returns it with the address that it listens on; the error is its log.
    pub fn start(mut serve: Command) -> Result<(Self, SocketAddr), String> {
        serve.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = serve.spawn().unwrap();
        let log = Arc::default();
        let (ready, stdout) = first_line(child.stdout.take().unwrap());
        let stderr = collect(child.stderr.take().unwrap(), Arc::clone(&log));
        let mut process = Self { child, log, readers: vec![stdout, stderr] };
        let Ok(line) = ready.recv_timeout(START_MAX) else {
            return Err(process.kill());
        };
        let address = line.strip_prefix("listening on ").and_then(|url| url.split("://").nth(1));
        let address = address.and_then(|rest| rest.split('/').next());
        let address = address.and_then(|address| address.trim_end().parse().ok());
        Ok((process, address.unwrap_or_else(|| panic!("unexpected ready line: {line:?}"))))
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        String::from_utf8_lossy(&self.log.lock().unwrap()).into_owned()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills the server with SIGKILL, and returns its log. It may have ended already.
    pub fn kill(&mut self) -> String {
        let _ = self.child.kill();
        self.child.wait().unwrap();
        self.end()
    }

    pub(crate) fn stop(mut self) -> Stopped {
        self.signal(Signal::TERM);
        let mut status = None;
        let in_time = holds_within(STOP_MAX, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(in_time, "the server did not stop within {STOP_MAX:?}; its log:\n{}", self.kill());
        Stopped { status: status.unwrap(), log: self.end() }
    }

    fn end(&mut self) -> String {
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        self.log()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends the first line of `output`, then reads the rest, so that the pipe never fills.
fn first_line(output: impl Read + Send + 'static) -> (Receiver<String>, JoinHandle<()>) {
    let (send, receive) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        if let Some(line) = lines.next() {
            // The receiver is gone if the start has timed out.
            let _ = send.send(line);
        }
        drop(send);
        lines.for_each(drop);
    });
    (receive, reader)
}

fn collect(mut output: impl Read + Send + 'static, log: Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            log.lock().unwrap().extend_from_slice(&buffer[..count]);
        }
    })
}
