//! `tidings notice`: the administrators' announcements.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use tidings_core::account::Caller;
use tidings_core::notice::{self, Draft, Visibility};
use tidings_core::{Error, admin};
use tidings_tui::number::{count, number};

use crate::failure::Failure;
use crate::input::Text;
use crate::output::{Column, Style, Table, dated, local, zone};
use crate::session::{Session, unknown};

mod editor;

#[derive(Debug, Subcommand)]
pub(crate) enum Notice {
    /// Publish a notice
    #[command(after_help = "Examples:\n  tidings notice add --title Library --post \"Open until ten.\"\n  \
                      tidings notice add --title Library --post-file - --hidden < library.txt")]
    Add {
        /// The title, one line of up to 200 characters
        #[arg(long, value_name = "T", allow_hyphen_values = true)]
        title: String,
        #[command(flatten)]
        post: Text,
        /// Show it to administrators only
        #[arg(long)]
        hidden: bool,
    },
    /// List the notices, newest first
    #[command(after_help = "Example: tidings notice list --all")]
    List {
        /// Include hidden notices
        #[arg(long)]
        all: bool,
    },
    /// Read a notice, which counts as a view
    #[command(after_help = "Example: tidings notice show 6560c1a2ffeeddccbbaa0001")]
    Show {
        /// The notice
        id: String,
    },
    /// Change a notice; without fields, in $VISUAL or $EDITOR
    #[command(after_help = "Examples:\n  tidings notice edit 6560c1a2ffeeddccbbaa0001 --activation 0\n  \
                      EDITOR=nano tidings notice edit 6560c1a2ffeeddccbbaa0001")]
    Edit(Edit),
    /// Remove a notice; feedback on it stays
    #[command(after_help = "Example: tidings notice remove 6560c1a2ffeeddccbbaa0001 --yes")]
    Remove {
        /// The notice
        id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The notice
    id: String,
    /// The new title
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    title: Option<String>,
    #[command(flatten)]
    post: Text,
    /// 1 to show it to all readers, 0 to hide it
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(i64).range(0..=1))]
    activation: Option<i64>,
}

pub(crate) fn run(session: &Session, command: &Notice) -> Result<ExitCode, Failure> {
    let Session { tidings, out, caller } = session;
    match command {
        Notice::Add { title, post, hidden } => {
            let post = post.read()?;
            if post.is_none() {
                return Err(Failure::usage("a notice has a text: give it with --post or --post-file"));
            }
            let draft = Draft {
                title: Some(title.clone()),
                post,
                activation: hidden.then_some(Visibility::Hidden.activation()),
            };
            let inserted = notice::insert(tidings, caller, &draft)?;
            out.answer(&inserted, |page| page.line(inserted.id.to_string()))
        }
        Notice::List { all } => list(session, *all),
        Notice::Show { id } => show(session, id),
        Notice::Edit(edit) => edit.run(session),
        Notice::Remove { id, yes } => {
            let notice = find(session, id)?;
            session.confirm(*yes, &format!("remove the notice \"{}\"", notice.title))?;
            notice::remove(tidings, caller, id).map_err(|error| unknown(error, "notice", id))?;
            out.answer(&(), |page| page.line("The notice is removed."))
        }
    }
}

impl Edit {
    fn run(&self, session: &Session) -> Result<ExitCode, Failure> {
        let Session { tidings, out, caller } = session;
        let Self { id, title, activation, .. } = self;
        let draft = Draft { title: title.clone(), post: self.post.read()?, activation: *activation };
        if draft.title.is_some() || draft.post.is_some() || draft.activation.is_some() {
            notice::update(tidings, caller, id, &draft).map_err(|error| unknown(error, "notice", id))?;
            return out.answer(&(), |page| page.line("The notice is changed."));
        }
        // A command that would be refused must not open the editor.
        editor::edit(session, &find(session, id)?)
    }
}

/// Returns a notice for an administrator to edit, without counting a view.
fn find(session: &Session, id: &str) -> Result<notice::Notice, Failure> {
    let Session { tidings, caller, .. } = session;
    admin::check(tidings, caller)?;
    let notices = notice::list(tidings, caller)?;
    let found = notices.notices().iter().find(|notice| notice.id.to_string().eq_ignore_ascii_case(id));
    found.cloned().ok_or_else(|| unknown(Error::NotFound, "notice", id))
}

fn list(session: &Session, all: bool) -> Result<ExitCode, Failure> {
    let reader = if all { &session.caller } else { &Caller::Guest };
    let notices = notice::list(&session.tidings, reader)?;
    session.out.list(&notices, notices.notices(), |page| {
        let columns = [
            Column::whole("ID"),
            Column::text("Title"),
            Column::number("Views").optional(),
            Column::whole(dated("Date")).optional(),
        ];
        let mut table = Table::new(columns);
        for notice in notices.notices() {
            // The mark is part of the title, because that column is never omitted.
            let (mark, style) = if notice.activation == Visibility::Shown {
                ("", Style::Plain)
            } else {
                ("(hidden) ", Style::Faint)
            };
            let title = format!("{mark}{}", notice.title);
            table.styled_row(style, [notice.id.to_string(), title, number(notice.view), local(notice.date)]);
        }
        page.table(&table, "There are no notices.");
    })
}

fn show(session: &Session, id: &str) -> Result<ExitCode, Failure> {
    let notice = notice::get(&session.tidings, &session.caller, id);
    let notice = notice.map_err(|error| unknown(error, "notice", id))?;
    session.out.answer(&notice, |page| {
        let notice = &notice.notice_list;
        page.styled(Style::Strong, &notice.title);
        let hidden = if notice.activation == Visibility::Shown { "" } else { ", hidden" };
        let (date, views) = (local(notice.date), count(notice.view, "view"));
        page.styled(Style::Faint, format!("{date} ({}), {views}{hidden}", zone()));
        page.line("");
        page.block(&notice.post);
    })
}
