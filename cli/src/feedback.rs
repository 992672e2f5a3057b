use tidings_client::{Error, Service};
use tidings_core::feedback::{
    self, FeedbackList, FeedbackPage, FeedbackState, LIST_MAX, Mark, Message, SendGeneral, SendOnNotice,
};

use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(crate) enum Feedback {
    /// Send feedback as a member
    #[command(after_help = "Example: tidings --as ann feedback send --type idea \"Open on Sundays\"")]
    Send {
        /// The type, one line of up to 50 characters [default: general]
        #[arg(long = "type", value_name = "T", allow_hyphen_values = true)]
        kind: Option<String>,
        /// The notice that it refers to [default: none]
        #[arg(long, value_name = "ID", add = ids(Kind::Notice))]
        notice: Option<String>,
        /// The text, up to 5,000 characters
        text: String,
    },
    /// List the open feedback, newest first
    #[command(after_help = "Example: tidings feedback list --all")]
    List {
        /// Include done feedback
        #[arg(long)]
        all: bool,
    },
    /// Mark feedback as done
    #[command(after_help = "Example: tidings feedback done 6560c1a2ffeeddccbbaa0001")]
    Done {
        /// The feedback
        #[arg(add = ids(Kind::Feedback))]
        id: String,
        /// Mark it as open again
        #[arg(long)]
        undo: bool,
    },
}

pub(crate) fn run(session: &Session, command: &Feedback) -> Exit {
    match command {
        Feedback::Send { kind, notice, text } => {
            let message = Message { kind: kind.clone(), post: Some(text.clone()), feedback: None };
            let service = &session.acting_member()?.service;
            match notice {
                Some(notice) => service.call(SendOnNotice { notice_obi: notice.clone(), message })?,
                None => service.call(SendGeneral { message })?,
            }
            session.done("The feedback is sent.")
        }
        Feedback::List { all } => list(session, *all),
        Feedback::Done { id, undo } => {
            let (state, done) =
                if *undo { (FeedbackState::Open, "open again") } else { (FeedbackState::Done, "done") };
            let mark = Mark { feedback_obi: id.clone(), activation: state.activation() };
            session.change("feedback", id, mark, format!("The feedback is {done}."))
        }
    }
}

fn list(Session { service, out }: &Session, all: bool) -> Exit {
    if out.streams() {
        return stream_pages(None, None, |after, _| {
            let page = page_of(service, all, after)?;
            Ok((page.feedback, page.next))
        });
    }
    let FeedbackPage { feedback, next } = page_of(service, all, None)?;
    let list = FeedbackList { feedback_list: feedback };
    out.answer(&list, |page| {
        for (place, feedback) in list.feedback_list.iter().enumerate() {
            if place > 0 {
                page.line("");
            }
            entry(page, feedback);
        }
        if list.feedback_list.is_empty() {
            page.note(if all { "There is no feedback." } else { "There is no open feedback." });
        }
        if next.is_some() {
            page.note("There are more: --ndjson prints them all");
        }
    })
}

pub(crate) fn page_of(service: &Service, all: bool, after: Option<String>) -> Result<FeedbackPage, Error> {
    service.call(feedback::List { all: Some(all.into()), limit: Some(LIST_MAX), after })
}

fn entry(page: &mut Page, feedback: &feedback::Feedback) {
    let (state, style) = match feedback.activation {
        FeedbackState::Open => ("open", Style::Strong),
        FeedbackState::Done => ("done", Style::Faint),
    };
    page.styled(style, format!("{}  {state}", feedback.id));
    page.line(format!("{}, by {}", feedback.kind, feedback.author));
    page.line(local(feedback.date));
    if !feedback.notice.is_empty() {
        page.line(format!("on notice {}", feedback.notice));
    }
    page.indented(&feedback.post);
}
