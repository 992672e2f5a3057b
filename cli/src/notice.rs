//! `tidings notice`: the administrators' announcements.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use tidings_core::Error;
use tidings_core::account::key::Scope;
use tidings_core::id::ObjectId;
use tidings_core::notice::{self, State, Visibility};

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::input::Text;
use crate::output::{Page, local};
use crate::session::{Session, unknown};

mod draft;
mod editor;
mod fields;
mod list;

use fields::Placing;

#[derive(Debug, Subcommand)]
pub(crate) enum Notice {
    /// Publish a notice; without a text, in $VISUAL or $EDITOR
    #[command(after_help = "Examples:\n  tidings notice add --title Library --post \"Open until ten.\"\n  \
                      tidings notice add --title Library --post-file - --hidden < library.txt\n  \
                      tidings notice add --title Exams --post \"In hall 1.\" --from 2026-12-01 --until 2026-12-20\n  \
                      EDITOR=nano tidings notice add --hidden")]
    Add(Add),
    /// List the notices: pinned ones first, then the newest first
    #[command(
        after_help = "Examples:\n  tidings notice list --all\n  tidings notice list --topic Library --details"
    )]
    List(list::List),
    /// Read a notice, which counts as a view
    #[command(after_help = "Example: tidings notice show 6560c1a2ffeeddccbbaa0001")]
    Show(list::Show),
    /// Change a notice; without fields, in $VISUAL or $EDITOR
    #[command(after_help = "Examples:\n  tidings notice edit 6560c1a2ffeeddccbbaa0001 --activation 0\n  \
                      EDITOR=nano tidings notice edit 6560c1a2ffeeddccbbaa0001")]
    Edit(Edit),
    /// Remove a notice; feedback on it stays
    #[command(after_help = "Example: tidings notice remove 6560c1a2ffeeddccbbaa0001 --yes")]
    Remove {
        /// The notice
        #[arg(add = ids(Kind::Notice))]
        id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Show how often a notice was read on each of the last days
    #[command(after_help = "Example: tidings notice reads 6560c1a2ffeeddccbbaa0001 --days 7")]
    Reads(list::Reads),
    /// Save, list, show, remove and publish drafts
    #[command(subcommand)]
    Draft(draft::Draft),
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The title, one line of up to 200 characters
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    title: Option<String>,
    #[command(flatten)]
    post: Text,
    /// Show it to administrators only
    #[arg(long)]
    hidden: bool,
    #[command(flatten)]
    placing: Placing,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The notice
    #[arg(add = ids(Kind::Notice))]
    id: String,
    /// The new title
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    title: Option<String>,
    #[command(flatten)]
    post: Text,
    /// 1 to show it to all readers, 0 to hide it
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(i64).range(0..=1))]
    activation: Option<i64>,
    #[command(flatten)]
    placing: Placing,
}

pub(crate) fn run(session: &Session, command: &Notice) -> Result<ExitCode, Failure> {
    let Session { service, out } = session;
    match command {
        Notice::Add(add) => add.run(session),
        Notice::List(list) => list.run(session),
        Notice::Show(show) => show.run(session),
        Notice::Reads(reads) => reads.run(session),
        Notice::Draft(command) => draft::run(session, command),
        Notice::Edit(edit) => edit.run(session),
        Notice::Remove { id, yes } => {
            let notice = find(session, id)?;
            session.confirm(*yes, &format!("remove the notice \"{}\"", notice.title))?;
            service
                .call(notice::Remove { notice_obi: id.clone() })
                .map_err(|error| unknown(error, "notice", id))?;
            out.answer(&(), |page| page.line("The notice is removed."))
        }
    }
}

impl Add {
    fn run(&self, session: &Session) -> Result<ExitCode, Failure> {
        let Session { service, out } = session;
        let draft = notice::Draft {
            title: self.title.clone(),
            post: self.post.read()?,
            activation: self.hidden.then_some(Visibility::Hidden.activation()),
            ..self.placing.draft()
        };
        if draft.post.is_none() && editor::is_possible(session) {
            // A command that would be refused must not open the editor.
            service.check_right(Scope::Notices)?;
            return editor::write(session, draft);
        }
        if draft.title.is_none() {
            return Err(Failure::usage("--title is missing: a notice needs a title"));
        }
        if draft.post.is_none() {
            return Err(Failure::usage("--post or --post-file is missing: a notice needs a text"));
        }
        let inserted = service.call(notice::Insert { draft })?;
        out.answer(&inserted, |page| published(page, session, inserted.id))
    }
}

impl Edit {
    fn run(&self, session: &Session) -> Result<ExitCode, Failure> {
        let Session { service, out } = session;
        let Self { title, activation, placing, .. } = self;
        let id = &self.id;
        let (title, post) = (title.clone(), self.post.read()?);
        let draft = notice::Draft { title, post, activation: *activation, ..placing.draft() };
        if draft != notice::Draft::default() {
            let update = notice::Update { notice_obi: id.clone(), draft };
            service.call(update).map_err(|error| unknown(error, "notice", id))?;
            return out.answer(&(), |page| changed(page, session, id));
        }
        // A command that would be refused must not open the editor.
        editor::edit(session, &find(session, id)?)
    }
}

fn published(page: &mut Page, session: &Session, id: ObjectId) {
    page.line(id.to_string());
    name_ended(page, session, &id.to_string());
}

fn changed(page: &mut Page, session: &Session, id: &str) {
    page.line("The notice is changed.");
    name_ended(page, session, id);
}

fn name_ended(page: &mut Page, session: &Session, id: &str) {
    // The change is done: a list that cannot be read is no failure.
    let Ok(all) = session.service.call(notice::ListFull::default()) else { return };
    let notice = all.notices().iter().find(|notice| notice.id.to_string().eq_ignore_ascii_case(id));
    let ended = notice.filter(|notice| notice.state(session.service.now()) == State::Ended);
    if let Some((notice, until)) = ended.and_then(|notice| Some((notice, notice.placement.visible_until?))) {
        let (title, until) = (&notice.title, local(until));
        page.note(&format!("The notice {title:?} ended at {until}, so nobody sees it: change --until"));
    }
}

/// Does not count a view.
fn find(session: &Session, id: &str) -> Result<notice::Notice, Failure> {
    let Session { service, .. } = session;
    service.check_right(Scope::Notices)?;
    let notices = service.call(notice::List::default())?;
    let found = notices.notices().iter().find(|notice| notice.id.to_string().eq_ignore_ascii_case(id));
    found.cloned().ok_or_else(|| unknown(Error::NotFound.into(), "notice", id))
}
