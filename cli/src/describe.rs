//! `tidings completions`, `man` and `openapi`: what the program says of itself, for other programs.

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::global::Global;
use crate::output::{self, Output};
use crate::settings::Settings;

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_parser = clap::builder::EnumValueParser::<Shell>::new())]
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory, made where there is none
    dir: PathBuf,
}

/// Prints what a shell has to be told.
pub(crate) fn completions(
    Completions { shell }: &Completions,
    mut command: Command,
) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut command, "tidings", &mut script);
    output::print(script.trim_ascii_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for each command.
pub(crate) fn man(global: &Global, Man { dir }: &Man, command: Command) -> Result<ExitCode, Failure> {
    let written = fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(command, dir));
    written.map_err(|e| Failure::system(format!("cannot write manual pages to {}: {e}", dir.display())))?;
    Output::new(global).answer(&(), |page| {
        page.line(format!("The manual pages are in {0}: man {0}/tidings.1", shown(dir)));
    })
}

/// The directory as `man` takes it for a file and not for the name of a page.
fn shown(dir: &Path) -> String {
    let path = dir.display();
    if dir.is_absolute() || dir.starts_with(".") || dir.starts_with("..") {
        path.to_string()
    } else {
        format!("./{path}")
    }
}

/// Prints the document that the server answers, byte for byte.
pub(crate) fn openapi(global: &Global) -> Result<ExitCode, Failure> {
    let settings = Settings::default().complete(global.config.as_deref())?;
    let mut document = tidings_server::openapi(&settings.server()?.base_path);
    let mut out = std::io::stdout().lock();
    // Only where somebody looks, so that it stays the same bytes elsewhere.
    if out.is_terminal() {
        document.push('\n');
    }
    output::kept(out.write_all(document.as_bytes()).and_then(|()| out.flush()))?;
    Ok(ExitCode::SUCCESS)
}
