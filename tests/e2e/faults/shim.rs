//! The library between the binary and the disk (`shim/shim.c`), which makes writes fail and keeps a journal of them.
//!
//! It is compiled once for each run of the tests, with the C compiler that the bundled SQLite needs as well, and
//! works with the GNU C library. The binary calls that library for its files, but for the renames of `tempfile`, which are
//! bare system calls: these never fail, and the journal learns of them at the next sync or answer.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// How a change fails.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// The disk is full.
    Full,
    /// The disk is broken.
    Broken,
    /// A write takes half of its bytes; anything else fails as on a full disk.
    Short,
}

/// Which change fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    /// The number of the change, from 1.
    pub(super) at: u64,
    pub(super) how: How,
    /// Whether all later ones fail as well.
    pub(super) lasts: bool,
}

impl Fault {
    /// The change with this number failing in each way.
    pub(super) fn each(at: u64) -> [Self; 6] {
        let of = |how, lasts| Self { at, how, lasts };
        [
            of(How::Full, true),
            of(How::Broken, false),
            of(How::Short, false),
            of(How::Broken, true),
            of(How::Full, false),
            of(How::Short, true),
        ]
    }

    fn variables(self) -> Vec<(&'static str, OsString)> {
        let how = match self.how {
            How::Full => "enospc",
            How::Broken => "eio",
            How::Short => "short",
        };
        let mut variables = vec![("SHIM_FAIL_AT", self.at.to_string().into()), ("SHIM_FAIL", how.into())];
        if self.lasts {
            variables.push(("SHIM_FAIL_LASTS", "1".into()));
        }
        variables
    }
}

/// What the library does to the processes that it is loaded into: variables of their environment.
#[derive(Clone)]
pub(super) struct Shim(Vec<(&'static str, OsString)>);

impl Shim {
    /// Looks at the files in `directory`, and counts what is changed in the file `state`, which is elsewhere.
    pub(super) fn counting(directory: &Path, state: &Path) -> Self {
        Self(vec![
            ("LD_PRELOAD", library().into()),
            ("SHIM_DIR", directory.canonicalize().unwrap().into()),
            ("SHIM_STATE", state.into()),
        ])
    }

    /// The same, and lets a change fail.
    pub(super) fn with(mut self, fault: Option<Fault>) -> Self {
        self.0.extend(fault.into_iter().flat_map(Fault::variables));
        self
    }

    /// Looks at the files in `directory`, and writes a journal to the file `journal`, which is elsewhere.
    pub(super) fn journal(directory: &Path, journal: &Path, syncs: bool) -> Self {
        let mut variables = vec![
            ("LD_PRELOAD", library().into()),
            ("SHIM_DIR", directory.canonicalize().unwrap().into()),
            ("SHIM_JOURNAL", journal.into()),
        ];
        if !syncs {
            variables.push(("SHIM_IGNORE_SYNC", "1".into()));
        }
        Self(variables)
    }

    /// Loads the library into the process that the command starts.
    pub(super) fn load(&self, command: &mut Command) {
        command.envs(self.0.iter().map(|(name, value)| (name, value)));
    }
}

/// The changes that the last process asked for, and those of them that failed.
pub(super) fn counted(state: &Path) -> (u64, u64) {
    let bytes = fs::read(state).unwrap();
    let number = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
    (number(0), number(8))
}

/// The library, compiled when it is first asked for.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/e2e/faults/shim/shim.c");
        // A name of its own, so that tests which run at the same time do not load half a library.
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shim-{}.so", std::process::id()));
        let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
        let arguments = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"];
        let mut compile = Command::new(compiler);
        compile.args(arguments).arg(&made).args([source, "-ldl", "-lpthread"]);
        let output = compile.output().unwrap();
        assert!(output.status.success(), "{compile:?}: {}", String::from_utf8_lossy(&output.stderr));
        let library = made.with_file_name("tidings-shim.so");
        fs::rename(made, &library).unwrap();
        library
    })
}
