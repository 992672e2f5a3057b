use tidings_core::main_info::{Draft, Get, Update};

use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(crate) enum Front {
    /// Show the two lines
    #[command(after_help = "Example: tidings front show")]
    Show,
    /// Change one line or both
    #[command(
        after_help = "Examples:\n  tidings front set --first \"Open until ten\" --second \"Exams begin on Monday\"\n  \
                      tidings front set --second \"\""
    )]
    Set {
        /// The first line, up to 50 characters; empty for none
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        first: Option<String>,
        /// The second line, up to 50 characters; empty for none
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        second: Option<String>,
    },
}

pub(crate) fn run(session: &Session, command: &Front) -> Exit {
    let Session { service, out } = session;
    match command {
        Front::Show => {
            let info = service.as_reader().call(Get {})?;
            out.answer(&info, |page| {
                for line in info.main_info.iter().filter(|line| !line.is_empty()) {
                    page.line(line);
                }
                if info.main_info.iter().all(String::is_empty) {
                    page.note("The front page has no lines: tidings front set --first TEXT");
                }
            })
        }
        Front::Set { first: None, second: None } => {
            Err(Failure::usage("--first or --second is missing: say which line to change"))
        }
        Front::Set { first, second } => {
            let draft = Draft { new_info_1: first.clone(), new_info_2: second.clone() };
            service.call(Update { draft })?;
            session.done("The front page is changed.")
        }
    }
}
