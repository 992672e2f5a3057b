use std::collections::BTreeMap;

use tidings_core::Error;
use tidings_core::clock::Timestamp;
use tidings_core::notice::{self, SavedDraft};

use super::Fields;
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(crate) enum Draft {
    /// Save a draft of a new notice, or of a change of one
    #[command(
        after_help = "Examples:\n  tidings notice draft save --title Library --post \"Open until ten.\"\n  \
                      tidings notice draft save --notice 6560c1a2ffeeddccbbaa0001 --until 2026-12-24"
    )]
    Save(Save),
    /// List the drafts, the one that was saved last first
    #[command(after_help = "Example: tidings notice draft list")]
    List,
    /// Show a draft
    #[command(after_help = "Example: tidings notice draft show 6560c1a2ffeeddccbbaa0001")]
    Show(DraftId),
    /// Remove a draft
    #[command(after_help = "Example: tidings notice draft remove 6560c1a2ffeeddccbbaa0001 --yes")]
    Remove {
        #[command(flatten)]
        draft: DraftId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Publish a draft and remove it
    #[command(after_help = "Example: tidings notice draft publish 6560c1a2ffeeddccbbaa0001")]
    Publish(DraftId),
}

#[derive(Debug, Args)]
pub(crate) struct DraftId {
    /// The draft
    #[arg(add = ids(Kind::Draft))]
    id: String,
}

#[derive(Debug, Args)]
pub(crate) struct Save {
    /// The draft to replace; a new one by default
    #[arg(long, value_name = "ID", add = ids(Kind::Draft))]
    draft: Option<String>,
    /// The notice that the draft changes; a new one by default
    #[arg(long, value_name = "ID", add = ids(Kind::Notice))]
    notice: Option<String>,
    /// The title, one line of up to 200 characters
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    title: Option<String>,
    #[command(flatten)]
    fields: Fields,
}

pub(super) fn run(session: &Session, command: &Draft) -> Exit {
    let Session { service, out } = session;
    match command {
        Draft::Save(Save { draft, notice, title, fields }) => {
            let fields = fields.draft(title.as_ref())?;
            let saved =
                service.call(notice::SaveDraft { draft: draft.clone(), notice: notice.clone(), fields })?;
            out.answer(&saved, |page| page.line(saved.id.to_string()))
        }
        Draft::List => {
            let found = service.call(notice::ListDrafts {})?;
            out.table(&found, &found.drafts, "There are no drafts.", |table| {
                table
                    .whole("ID", |draft| draft.id.to_string())
                    .text("Title", |draft| title(draft).to_owned())
                    .optional_whole("Notice", |draft| {
                        draft.notice.map_or_else(|| "new".to_owned(), |notice| notice.to_string())
                    })
                    .optional_whole(dated("Saved"), |draft| local(draft.date))
            })
        }
        Draft::Show(DraftId { id }) => show(session, id),
        Draft::Remove { draft: DraftId { id }, yes } => {
            let draft = find(session, id)?;
            session.confirm(*yes, &format!("remove the draft \"{}\"", title(&draft)))?;
            let remove = notice::RemoveDraft { draft_obi: id.clone() };
            session.change("notice draft", id, remove, "The draft is removed.")
        }
        Draft::Publish(DraftId { id }) => {
            let publish = notice::PublishDraft { draft_obi: id.clone() };
            let published = session.call_on("notice draft", id, publish)?;
            out.answer(&published, |page| super::published(page, session, published.id))
        }
    }
}

fn show(session: &Session, id: &str) -> Exit {
    let draft = find(session, id)?;
    session.out.answer(&BTreeMap::from([("draft", &draft)]), |page| {
        let notice::Draft {
            title,
            post,
            activation,
            visible_from,
            visible_until,
            pinned,
            topic,
            members_only,
        } = &draft.fields;
        let number = |n: &Option<i64>| n.map(|n| n.to_string());
        let time = |text: &Option<String>| {
            text.as_ref().map(|text| Timestamp::parse(text).map_or_else(|| text.clone(), local))
        };
        let fields = [
            ("Notice", draft.notice.map(|notice| notice.to_string())),
            ("Saved", Some(local(draft.date))),
            ("Title", title.clone()),
            ("Activation", number(activation)),
            ("From", time(visible_from)),
            ("Until", time(visible_until)),
            ("Pinned", number(pinned)),
            ("Topic", topic.clone()),
            ("Members only", number(members_only)),
        ];
        let given = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
        page.fields(&given.collect::<Vec<_>>());
        if let Some(post) = post {
            page.line("");
            page.block(post);
        }
    })
}

fn title(draft: &SavedDraft) -> &str {
    draft.fields.title.as_deref().unwrap_or("(no title)")
}

fn find(session: &Session, id: &str) -> Result<SavedDraft, Failure> {
    let drafts = session.service.call(notice::ListDrafts {})?.drafts;
    let found = drafts.into_iter().find(|draft| draft.id.to_string().eq_ignore_ascii_case(id));
    found.ok_or_else(|| unknown(Error::NotFound.into(), "notice draft", id))
}
