use std::fs;
use std::io::{self, IsTerminal as _, Write as _};

use clap::Command;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::atomic_file::refuse_stdout;
use crate::complete::VARIABLE;
use crate::output;
use crate::prelude::*;

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_parser = clap::builder::EnumValueParser::<Shell>::new())]
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory; created if it does not exist
    dir: PathBuf,
}

pub(crate) fn completions(Completions { shell }: &Completions) -> Exit {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(&shell.to_string()).expect("clap_complete knows its own shells");
    let written = shell.write_registration(VARIABLE, "tidings", "tidings", "tidings", &mut script);
    written.map_err(|e| Failure::system(format!("cannot write the script: {e}")))?;
    output::print(script.trim_ascii())?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(global: &Global, Man { dir }: &Man, command: Command) -> Exit {
    refuse_stdout(dir)?;
    let written = fs::create_dir_all(dir).and_then(|()| {
        let mut command = command.disable_help_subcommand(true);
        command.build();
        write_pages(&command, dir)
    });
    written.map_err(|e| Failure::system(format!("cannot write manual pages to {}: {e}", dir.display())))?;
    Output::new(global).answer(&(), |page| {
        page.line(format!("The manual pages are in {0}: man {0}/tidings.1", shown(dir)));
    })
}

fn write_pages(command: &Command, dir: &Path) -> io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_pages(inner, dir)?;
    }
    let page = clap_mangen::Man::new(command.clone()).manual("Manual of tidings");
    page.source(concat!("tidings ", env!("CARGO_PKG_VERSION"))).generate_to(dir).map(drop)
}

/// In a form that `man` reads as a path and not as the name of a page.
fn shown(dir: &Path) -> String {
    let path = dir.display();
    if dir.is_absolute() || dir.starts_with(".") || dir.starts_with("..") {
        path.to_string()
    } else {
        format!("./{path}")
    }
}

pub(crate) fn openapi(global: &Global) -> Exit {
    let settings = global.settings()?;
    let mut document = tidings_server::openapi(&settings.core()?, &settings.server()?);
    let mut out = std::io::stdout().lock();
    // A line break is added on a terminal only: files and pipes get exactly the bytes that the server sends.
    if out.is_terminal() {
        document.push('\n');
    }
    output::has_reader(out.write_all(document.as_bytes()).and_then(|()| out.flush()))?;
    Ok(ExitCode::SUCCESS)
}
