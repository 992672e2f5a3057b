//! Server processes on one database.

use std::fs::DirEntry;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tidings_tests::{Caller, command};

/// A server process.
pub(crate) struct Server {
    child: Child,
    caller: Caller,
    log: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    /// Starts a server whose clock is some seconds ahead of that of the machine, and waits until it listens. All servers of
    /// a folder share the key that signs tokens.
    ///
    /// # Errors
    /// When it does not start: its log.
    pub(crate) fn try_start(folder: &Path, url: &str, ahead_s: i64) -> Result<Self, String> {
        let mut serve = command();
        serve.current_dir(folder).env("PGPASSWORD", super::world::PASSWORD);
        serve.args(["--db", url, "serve", "--listen", "127.0.0.1:0", "--client-limits", "off"]);
        if ahead_s != 0 {
            let library = faketime().expect("the case has looked for it");
            serve.env("LD_PRELOAD", library).env("FAKETIME", format!("{ahead_s:+}s"));
            // A monotonic clock is never set.
            serve.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::<Mutex<Vec<u8>>>::default();
        let (mut errors, collected) = (child.stderr.take().unwrap(), Arc::clone(&log));
        let collector = thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(count @ 1..) = errors.read(&mut buffer) {
                collected.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let Some(Ok(line)) = lines.next() else {
            let _ = child.wait();
            let _ = collector.join();
            return Err(String::from_utf8_lossy(&log.lock().unwrap()).into_owned());
        };
        thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let address = line.strip_prefix("listening on http://").and_then(|rest| rest.split('/').next());
        let address: SocketAddr =
            address.and_then(|address| address.trim().parse().ok()).expect("an address");
        Ok(Self { child, caller: Caller::to(address), log })
    }

    /// Returns a caller that is not signed in.
    pub(crate) fn anyone(&self) -> &Caller {
        &self.caller
    }

    /// Kills the process with SIGKILL.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Suspends the process.
    pub(crate) fn suspend(&self) {
        kill_process(Pid::from_child(&self.child), Signal::STOP).unwrap();
    }

    /// Continues the suspended process.
    pub(crate) fn resume(&self) {
        kill_process(Pid::from_child(&self.child), Signal::CONT).unwrap();
    }

    /// Returns everything that it has written to standard error.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&self.log.lock().unwrap()).into_owned()
    }
}

/// Returns the library that changes the time of a process, of the package faketime, if it is installed.
pub(crate) fn faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    let library = |folder: DirEntry| folder.path().join("faketime/libfaketimeMT.so.1");
    folders.map(library).find(|library| library.exists())
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
