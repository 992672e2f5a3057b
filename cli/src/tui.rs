use std::io::IsTerminal as _;

use tidings_client::Service;
use tidings_core::account::Caller;
use tidings_core::{Location, Surface};
use tidings_tui::Options;

use crate::global::Color;
use crate::output;
use crate::prelude::*;

#[derive(Debug, Args)]
pub(crate) struct Screens {
    /// Leave the mouse to the terminal, for selecting text
    #[arg(long, env = "TIDINGS_NO_MOUSE", num_args = 0..=1, default_missing_value = "true")]
    no_mouse: Option<bool>,
}

pub(crate) fn run(global: &Global, screens: &Screens) -> Exit {
    if global.json || global.ndjson {
        return Err(Failure::usage("the terminal UI is for people: leave --json and --ndjson out"));
    }
    if global.acting.is_some() {
        return Err(Failure::usage("the terminal UI is for the operator: leave --as out"));
    }
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        let hint = "the terminal UI needs a terminal: run tidings tui in one, or see tidings --help for the commands \
                    that scripts use";
        return Err(Failure::usage(hint));
    }
    let has_colours = global.color != Color::Never && output::colours(global.color, true);
    let Session { service, .. } = Session::open(global)?;
    let (service, name, read) = match (service.database(), service.server()) {
        // The database is opened without background work, which the screens do not need, so the first frame does not wait
        // for the posts to load.
        (Some((tidings, _)), _) => {
            let settings = global.settings()?;
            let location = global.location(&settings);
            let service = Service::on_database(tidings.clone().through(Surface::Tui), Caller::Operator);
            (service, name(&location), Some(tidings_tui::read_beside(&location.stem())))
        }
        (None, server) => {
            let read = server.and_then(|server| tidings_tui::read_of_server(server.address()));
            (service, String::new(), read)
        }
    };
    let options = Options { database: name, read, mouse: !screens.no_mouse.unwrap_or(false), has_colours };
    tidings_tui::run(&service, &options)
        .map_err(|error| Failure::system(format!("the terminal failed: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// The absolute path of a file, or a URL without its password.
fn name(location: &Location) -> String {
    let path = location.file().and_then(|path| std::path::absolute(path).ok());
    path.map_or_else(|| location.to_string(), |path| path.display().to_string())
}
