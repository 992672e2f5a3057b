use std::io::IsTerminal as _;

use tempfile::NamedTempFile;
use tidings_core::Error;
use tidings_core::account::key::Scope;
use tidings_core::id::ObjectId;
use tidings_core::notice::{self, Audience, Pin, State, Visibility};

use crate::input::Text;
use crate::output::{is_interactive, note, typed_time};
use crate::prelude::*;

mod draft;
mod list;

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
    fields: Fields,
}

/// The fields of a notice or a draft beside its title.
#[derive(Debug, Args)]
pub(crate) struct Fields {
    #[command(flatten)]
    post: Text,
    /// 1 to show it to all readers, 0 to hide it
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(i64).range(0..=1))]
    activation: Option<i64>,
    #[command(flatten)]
    placing: Placing,
}

impl Fields {
    fn draft(&self, title: Option<&String>) -> Result<notice::Draft, Failure> {
        let (title, post) = (title.cloned(), self.post.read()?);
        Ok(notice::Draft { title, post, activation: self.activation, ..self.placing.draft() })
    }
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Placing {
    /// The time from which it is visible, such as "2026-12-05 09:00" or 2026-12-05, in the zone of the database; empty for no limit
    #[arg(long, value_name = "D")]
    from: Option<String>,
    /// The time from which it is no longer visible; empty for no limit
    #[arg(long, value_name = "D")]
    until: Option<String>,
    /// List it before the others
    #[arg(long, conflicts_with = "unpinned")]
    pinned: bool,
    /// List it in the order of dates
    #[arg(long)]
    unpinned: bool,
    /// Show it to members only
    #[arg(long, conflicts_with = "for_everyone")]
    members_only: bool,
    /// Show it to guests too
    #[arg(long)]
    for_everyone: bool,
    /// The topic on whose page it is; empty for the general page
    #[arg(long, value_name = "T", allow_hyphen_values = true, add = ids(Kind::Topic))]
    topic: Option<String>,
}

impl Placing {
    fn draft(&self) -> notice::Draft {
        let pinned = self.pinned.then_some(Pin::Pinned.activation());
        let members = self.members_only.then_some(Audience::Members.activation());
        notice::Draft {
            visible_from: self.from.as_deref().map(typed_time),
            visible_until: self.until.as_deref().map(typed_time),
            pinned: pinned.or(self.unpinned.then_some(Pin::Unpinned.activation())),
            topic: self.topic.clone(),
            members_only: members.or(self.for_everyone.then_some(Audience::Everyone.activation())),
            ..notice::Draft::default()
        }
    }
}

pub(crate) fn run(session: &Session, command: &Notice) -> Exit {
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
            session.change("notice", id, notice::Remove { notice_obi: id.clone() }, "The notice is removed.")
        }
    }
}

impl Add {
    fn run(&self, session: &Session) -> Exit {
        let Session { service, out } = session;
        let draft = notice::Draft {
            title: self.title.clone(),
            post: self.post.read()?,
            activation: self.hidden.then_some(Visibility::Hidden.activation()),
            ..self.placing.draft()
        };
        if draft.post.is_none() && has_editor(session) {
            // A command that would be refused must not open the editor.
            service.check_right(Scope::Notices)?;
            return write_in_editor(session, draft);
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
    fn run(&self, session: &Session) -> Exit {
        let Self { id, title, fields } = self;
        let draft = fields.draft(title.as_ref())?;
        if draft != notice::Draft::default() {
            session.call_on("notice", id, notice::Update { notice_obi: id.clone(), draft })?;
            return session.out.answer(&(), |page| changed(page, session, id));
        }
        edit_in_editor(session, &find(session, id)?)
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
    session.service.check_right(Scope::Notices)?;
    let notices = session.service.call(notice::List::default())?;
    let found = notices.notices().iter().find(|notice| notice.id.to_string().eq_ignore_ascii_case(id));
    found.cloned().ok_or_else(|| unknown(Error::NotFound.into(), "notice", id))
}

fn has_editor(session: &Session) -> bool {
    !session.out.is_for_programs() && is_interactive() && std::io::stdout().is_terminal()
}

fn write_in_editor(session: &Session, draft: notice::Draft) -> Exit {
    let (file, [title, post]) = edited(draft.title.as_deref().unwrap_or_default(), "")?;
    if title.is_empty() && post.is_empty() {
        return Err(Failure::declined("the text is empty: nothing was published"));
    }
    let inserted = session
        .service
        .call(notice::Insert { draft: notice::Draft { title: Some(title), post: Some(post), ..draft } });
    let inserted = inserted.inspect_err(|_| keep(file))?;
    session.out.answer(&inserted, |page| published(page, session, inserted.id))
}

fn edit_in_editor(session: &Session, notice: &notice::Notice) -> Exit {
    if !has_editor(session) {
        let hint = "say what to change, such as --title, --post-file or --until; an editor needs a terminal";
        return Err(Failure::usage(hint));
    }
    let (file, [title, post]) = edited(&notice.title, &notice.post)?;
    let draft = notice::Draft {
        title: Some(title).filter(|title| **title != *notice.title),
        post: Some(post).filter(|post| *post != notice.post.trim_matches(['\r', '\n'])),
        ..notice::Draft::default()
    };
    if draft == notice::Draft::default() {
        return session.done("Nothing was changed.");
    }
    let id = notice.id.to_string();
    session.service.call(notice::Update { notice_obi: id.clone(), draft }).inspect_err(|_| keep(file))?;
    session.out.answer(&(), |page| changed(page, session, &id))
}

/// Returns the file, and the title and the text that were written: the title on the first line, the text after an empty line.
fn edited(title: &str, post: &str) -> Result<(NamedTempFile, [String; 2]), Failure> {
    note("The first line is the title; the text follows after an empty line.");
    let edited = tidings_tui::edited(&format!("{title}\n\n{post}\n"));
    let (file, written) =
        edited.map_err(|error| Failure::declined(format!("{error}: nothing was changed")))?;
    let (title, post) = written.split_once('\n').unwrap_or((&written, ""));
    // Editors add a line break at the end.
    let parts = [title.trim_end_matches('\r'), post.trim_matches(['\r', '\n'])].map(str::to_owned);
    Ok((file, parts))
}

fn keep(file: NamedTempFile) {
    match file.keep() {
        Ok((_, path)) => note(&format!("What you wrote is kept in {}", path.display())),
        Err(error) => note(&format!("What you wrote is lost: {}", error.error)),
    }
}
