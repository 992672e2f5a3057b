//! `tidings feedback`: what members write to the administrators.

use std::process::ExitCode;

use clap::Subcommand;
use tidings_core::feedback::{self, Draft, FeedbackList};
use tidings_core::{Error, Outcome};

use crate::failure::Failure;
use crate::output::{Column, Style, Table, dated, local};
use crate::session::{Session, unknown};

#[derive(Debug, Subcommand)]
pub(crate) enum Feedback {
    /// Send feedback as a member
    #[command(after_help = "Example: tidings --as ann feedback send --type idea \"Open on Sundays\"")]
    Send {
        /// Its type, one line of up to 50 characters [default: general]
        #[arg(long = "type", value_name = "T", allow_hyphen_values = true)]
        kind: Option<String>,
        /// The notice it is on [default: none]
        #[arg(long, value_name = "ID")]
        notice: Option<String>,
        /// Its text, up to 5,000 characters
        text: String,
    },
    /// The open feedback, newest first
    #[command(after_help = "Example: tidings feedback list --all")]
    List {
        /// What is done, too
        #[arg(long)]
        all: bool,
    },
    /// Say that feedback is done
    #[command(after_help = "Example: tidings feedback done 6560c1a2ffeeddccbbaa0001")]
    Done {
        /// The feedback
        id: String,
        /// Say that it is open again
        #[arg(long)]
        undo: bool,
    },
}

pub(crate) fn run(session: &Session, command: &Feedback) -> Result<ExitCode, Failure> {
    let Session { tidings, out, caller } = session;
    match command {
        Feedback::Send { kind, notice, text } => {
            let draft = Draft { kind: kind.clone(), post: Some(text.clone()) };
            let sent = feedback::send(tidings, session.acting_member()?, notice.as_deref(), &draft);
            sent.map_err(|error| match error {
                Error::Documented(Outcome::Fail) => Failure::refused(
                    &error,
                    "a text has 1 to 5,000 characters, a type 1 to 50 on one line, and a notice must be there",
                ),
                error => error.into(),
            })?;
            out.answer(&(), |page| page.line("The feedback is sent."))
        }
        Feedback::List { all } => list(session, *all),
        Feedback::Done { id, undo } => {
            let set = feedback::set_activation(tidings, caller, id, i64::from(*undo));
            set.map_err(|error| unknown(error, "feedback", id))?;
            let state = if *undo { "open again" } else { "done" };
            out.answer(&(), |page| page.line(format!("The feedback is {state}.")))
        }
    }
}

fn list(session: &Session, all: bool) -> Result<ExitCode, Failure> {
    let FeedbackList { mut feedback_list } = feedback::list(&session.tidings, &session.caller)?;
    feedback_list.retain(|feedback| all || feedback.activation == 1);
    let feedback = FeedbackList { feedback_list };
    session.out.list(&feedback, &feedback.feedback_list, |page| {
        let columns = [
            Column::whole("ID"),
            Column::text("Text"),
            Column::text("Type").optional(),
            Column::whole("Author").optional(),
            Column::whole(dated("Date")).optional(),
            Column::whole("Notice").optional(),
        ];
        let mut table = Table::new(columns);
        for feedback in &feedback.feedback_list {
            let style = if feedback.activation == 1 { Style::Plain } else { Style::Faint };
            let cells = [
                feedback.id.clone(),
                feedback.post.clone(),
                feedback.kind.clone(),
                feedback.author.clone(),
                local(feedback.date),
                feedback.notice.clone(),
            ];
            table.styled_row(style, cells);
        }
        page.table(&table, if all { "There is no feedback." } else { "There is no open feedback." });
    })
}
