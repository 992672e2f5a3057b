//! Server processes: started, located by their ready line, and stopped when dropped.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

use crate::Result;

/// The text that a server prints before its address when it is ready.
const READY: &str = "listening on http://";

/// A running server process, killed when dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    /// Starts a server, writes its standard input, and waits for its ready line.
    ///
    /// # Errors
    /// When it cannot be started, or ends before it is ready.
    pub(crate) fn start(mut command: Command, input: &[u8]) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let ready = give(&mut child, input).and_then(|()| read_address(&mut child));
        match ready {
            Ok(address) => Ok(Self { child, address }),
            Err(error) => {
                end(&mut child);
                Err(error)
            }
        }
    }

    /// Returns the id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns a value in kB from `/proc/PID/status`, by its name.
    pub(crate) fn memory_kb(&self, name: &str) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let figure = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        figure.ok_or_else(|| format!("no {name} in the status of the process").into())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    // The process may have ended already.
    let _ = child.kill();
    let _ = child.wait();
}

fn give(child: &mut Child, input: &[u8]) -> Result<()> {
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    Ok(())
}

fn read_address(child: &mut Child) -> Result<SocketAddr> {
    let stdout = child.stdout.take().ok_or("the standard output of the server is not piped")?;
    let mut lines = BufReader::new(stdout);
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        if let Some((_, address)) = line.trim_end().split_once(READY) {
            let address = address.trim_end_matches('/').parse()?;
            drain(lines);
            return Ok(address);
        }
        line.clear();
    }
    Err("the server ended before it was ready".into())
}

/// Reads the rest of the output so that the pipe never fills.
fn drain(mut lines: BufReader<ChildStdout>) {
    thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
}
