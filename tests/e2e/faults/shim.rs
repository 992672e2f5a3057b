//! The preloaded library (`shim/shim.c`) between the binary and the disk: it makes writes fail and records them in
//! a journal.
//!
//! It is compiled once per test run, with the C compiler that the bundled SQLite also needs, and works with the GNU
//! C library. The binary changes files through that library, except for renames by `tempfile`, which are direct
//! system calls: they never fail, and the journal records them at the next sync or response.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The way in which a change fails.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    Full,
    Broken,
    /// A write stores half of its bytes; other changes fail as on a full disk.
    Short,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    /// The number of the change, starting at 1.
    pub(super) at: u64,
    pub(super) how: How,
    /// Whether all later changes fail, too.
    pub(super) lasts: bool,
}

impl Fault {
    /// Returns the faults of the change with this number, one for each way in which it can fail.
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

/// The settings of the library: environment variables of the processes that load it.
#[derive(Clone)]
pub(super) struct Shim(Vec<(&'static str, OsString)>);

impl Shim {
    /// Counts the changes to files in `directory` in the file `state`, which must be outside of it.
    pub(super) fn counting(directory: &Path, state: &Path) -> Self {
        Self(vec![
            ("LD_PRELOAD", library().into()),
            ("SHIM_DIR", directory.canonicalize().unwrap().into()),
            ("SHIM_STATE", state.into()),
        ])
    }

    pub(super) fn with(mut self, fault: Option<Fault>) -> Self {
        self.0.extend(fault.into_iter().flat_map(Fault::variables));
        self
    }

    /// Records the changes to files in `directory` in the file `journal`, which must be outside of it.
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

    pub(super) fn load(&self, command: &mut Command) {
        command.envs(self.0.iter().map(|(name, value)| (name, value)));
    }
}

/// Returns the number of changes that the last process requested, and how many of them failed.
pub(super) fn counted(state: &Path) -> (u64, u64) {
    let bytes = fs::read(state).unwrap();
    let number = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
    (number(0), number(8))
}

/// Returns the path of the library, which is compiled on first use.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/e2e/faults/shim/shim.c");
        // Compile to a unique name, so that concurrent tests never load an incomplete library.
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
