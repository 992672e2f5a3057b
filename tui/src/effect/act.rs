//! Changes to the data of the service or to files.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use tidings_core::account::{BeginOtp, EnableOtp};
use tidings_core::clock::Timestamp;
use tidings_core::feedback::{FeedbackState, Mark};
use tidings_core::notice::{self, Draft, Visibility};
use tidings_core::{admin, member, post};

use super::{Sources, panicked};
use crate::draft::SavedDraft;
use crate::problem::Problem;
use crate::reach::Reach;
use crate::sheet::{self, Sheet};

/// The id of the notice, the draft or the post that a change saved, or what it has made for the second factor; `None` for other
/// changes.
pub(crate) type Saved = Option<String>;

/// A change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    SaveNotice {
        /// The notice that is changed; `None` for a new one.
        target: Option<String>,
        /// The draft on the server that is published.
        shared: Option<String>,
        /// The draft on this machine, which is removed.
        draft: String,
        fields: Box<Draft>,
        /// Who sees the notice then.
        reach: Reach,
        at: Timestamp,
    },
    /// Saves a draft on the server; the fields are those of `SaveNotice`.
    ShareDraft {
        target: Option<String>,
        shared: Option<String>,
        draft: String,
        fields: Box<Draft>,
        at: Timestamp,
    },
    PublishShared {
        id: String,
        title: String,
        reach: Reach,
    },
    RemoveShared {
        id: String,
        title: String,
    },
    ShowNotice {
        id: String,
        title: String,
        shown: bool,
        reach: Reach,
    },
    RemoveNotice {
        id: String,
        title: String,
    },
    SaveDraft(SavedDraft),
    DiscardDraft {
        key: String,
        at: Timestamp,
    },
    FeedbackDone {
        id: String,
        done: bool,
    },
    SavePost {
        /// The post that is changed; `None` for a new one.
        target: Option<String>,
        title: String,
        fields: Box<post::Draft>,
    },
    RemovePost {
        id: String,
        title: String,
    },
    /// Keeps in mind on this machine which feedback was read.
    ReadFeedback {
        ids: Vec<String>,
    },
    SetPassword {
        id: String,
        pw: Secret,
    },
    Blacklist {
        id: String,
        on: bool,
    },
    Administrate {
        id: String,
        on: bool,
    },
    ResetMember {
        id: String,
    },
    RemoveMember {
        id: String,
    },
    /// Makes a secret for the second factor of the member who has signed in.
    BeginOtp {
        pw: Secret,
        /// The enrolment code; empty if there is none.
        code: Secret,
    },
    EnableOtp {
        otp: Secret,
    },
    Export {
        path: PathBuf,
        sheet: Arc<Sheet>,
        replace: bool,
    },
}

/// A password, which no log and no message shows.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl Act {
    /// Returns a description of the change, which is shown while it runs.
    pub(crate) const fn doing(&self) -> &'static str {
        match self {
            Self::SaveNotice { .. }
            | Self::PublishShared { .. }
            | Self::ShowNotice { .. }
            | Self::SavePost { .. }
            | Self::SetPassword { .. }
            | Self::BeginOtp { .. }
            | Self::EnableOtp { .. }
            | Self::ReadFeedback { .. }
            | Self::FeedbackDone { .. }
            | Self::Blacklist { .. }
            | Self::Administrate { .. }
            | Self::ResetMember { .. } => "saving",
            Self::RemoveNotice { .. }
            | Self::RemoveShared { .. }
            | Self::RemovePost { .. }
            | Self::RemoveMember { .. } => "removing",
            Self::ShareDraft { .. } | Self::SaveDraft(_) | Self::DiscardDraft { .. } => "saving the draft",
            Self::Export { .. } => "exporting",
        }
    }

    /// Returns the message for a successful change; `None` when the screen itself shows the result.
    pub(crate) fn done(&self) -> Option<String> {
        Some(match self {
            Self::SaveNotice { target, fields, reach, .. } => {
                let title = fields.title.as_deref().unwrap_or_default();
                match target {
                    Some(_) => format!("Saved “{title}”."),
                    None => reach.published(title),
                }
            }
            Self::ShareDraft { .. } => "Saved as a draft of all administrators.".to_owned(),
            Self::PublishShared { title, reach, .. } => reach.published(title),
            Self::RemoveShared { title, .. } => format!("Removed the draft “{title}”."),
            Self::ShowNotice { title, reach, .. } => reach.toggled(title),
            Self::RemoveNotice { title, .. } | Self::RemovePost { title, .. } => {
                format!("Removed “{title}”.")
            }
            Self::FeedbackDone { done: true, .. } => "Done.".to_owned(),
            Self::FeedbackDone { .. } => "Open again.".to_owned(),
            Self::Export { path, sheet, .. } => {
                format!("Wrote {} rows to {}.", sheet.rows.len(), path.display())
            }
            Self::SavePost { target: None, title, .. } => format!("Added “{title}”."),
            Self::SavePost { title, .. } => format!("Saved “{title}”."),
            Self::SetPassword { id, .. } => {
                format!("{id} has a new password and is signed out everywhere.")
            }
            Self::Blacklist { id, on: true } => {
                format!("{id} is blacklisted and signed out everywhere.")
            }
            Self::Blacklist { id, .. } => format!("{id} may sign in again."),
            Self::Administrate { id, on: true } => format!("{id} is an administrator."),
            Self::Administrate { id, .. } => format!("{id} is no longer an administrator."),
            Self::ResetMember { id } => format!("Reset the measured interest of {id}."),
            Self::RemoveMember { id } => format!("Removed the member {id}."),
            Self::EnableOtp { .. } => "The second factor is enabled.".to_owned(),
            Self::SaveDraft(_)
            | Self::DiscardDraft { .. }
            | Self::ReadFeedback { .. }
            | Self::BeginOtp { .. } => return None,
        })
    }
}

impl Act {
    /// Makes the change. A panic is returned as a problem.
    pub(crate) fn run(&self, sources: &Sources) -> Result<Saved, Problem> {
        let result = catch_unwind(AssertUnwindSafe(|| self.change(sources)));
        result.unwrap_or_else(|panic| Err(panicked(&*panic)))
    }

    fn change(&self, sources: &Sources) -> Result<Saved, Problem> {
        let Sources { service, drafts } = sources;
        match self {
            Self::SaveNotice { target, shared, draft, fields, at, .. } => {
                let id = match (shared, target) {
                    (Some(shared), target) => {
                        let draft = Some(shared.clone());
                        service.call(notice::SaveDraft {
                            draft,
                            notice: target.clone(),
                            fields: Draft::clone(fields),
                        })?;
                        service.call(notice::PublishDraft { draft_obi: shared.clone() })?.id.to_string()
                    }
                    (None, Some(id)) => {
                        service
                            .call(notice::Update { notice_obi: id.clone(), draft: Draft::clone(fields) })?;
                        id.clone()
                    }
                    (None, None) => {
                        service.call(notice::Insert { draft: Draft::clone(fields) })?.id.to_string()
                    }
                };
                // The notice is saved. If its draft stays, it is offered again.
                let _ = drafts.remove(draft, *at);
                return Ok(Some(id));
            }
            Self::ShareDraft { target, shared, draft, fields, at } => {
                let save = notice::SaveDraft {
                    draft: shared.clone(),
                    notice: target.clone(),
                    fields: Draft::clone(fields),
                };
                let id = service.call(save)?.id;
                let _ = drafts.remove(draft, *at);
                return Ok(Some(id.to_string()));
            }
            Self::PublishShared { id, .. } => {
                return Ok(Some(
                    service.call(notice::PublishDraft { draft_obi: id.clone() })?.id.to_string(),
                ));
            }
            Self::RemoveShared { id, .. } => service.call(notice::RemoveDraft { draft_obi: id.clone() })?,
            Self::ShowNotice { id, shown, .. } => {
                let activation = Some(Visibility::shown_if(*shown).activation());
                let change = Draft { activation, ..Draft::default() };
                service.call(notice::Update { notice_obi: id.clone(), draft: change })?;
            }
            Self::RemoveNotice { id, .. } => service.call(notice::Remove { notice_obi: id.clone() })?,
            Self::SaveDraft(kept) => drafts.keep(kept)?,
            Self::DiscardDraft { key, at } => drafts.remove(key, *at)?,
            Self::FeedbackDone { id, done } => {
                let state = if *done { FeedbackState::Done } else { FeedbackState::Open };
                service.call(Mark { feedback_obi: id.clone(), activation: state.activation() })?;
            }
            Self::SavePost { target: None, fields, .. } => {
                return Ok(Some(
                    service.call(post::Insert { draft: post::Draft::clone(fields) })?.id.to_string(),
                ));
            }
            Self::SavePost { target: Some(id), fields, .. } => {
                service.call(post::Update { post_obi: id.clone(), draft: post::Draft::clone(fields) })?;
                return Ok(Some(id.clone()));
            }
            Self::ReadFeedback { ids } => drafts.mark_read(ids)?,
            Self::SetPassword { id, pw } => {
                service.call(member::SetPassword { user_id: id.clone(), new_pw: pw.0.clone() })?;
            }
            Self::BeginOtp { pw, code } => {
                let code = Some(code.0.clone()).filter(|code| !code.trim().is_empty());
                let secret = service.call(BeginOtp { pw: pw.0.clone(), enrolment_code: code })?;
                return Ok(Some(secret.uri.to_string()));
            }
            Self::EnableOtp { otp } => {
                let codes = service.call(EnableOtp { otp: otp.0.clone() })?;
                return Ok(Some(codes.recovery_codes.join("\n")));
            }
            Self::RemovePost { id, .. } => service.call(post::Remove { post_obi: id.clone() })?,
            Self::Blacklist { id, on: true } => {
                service.call(admin::PushBlacklist { user_id: id.clone() })?;
            }
            Self::Blacklist { id, .. } => service.call(admin::PopBlacklist { user_id: id.clone() })?,
            Self::Administrate { id, on: true } => service.call(admin::Grant { user_id: id.clone() })?,
            Self::Administrate { id, .. } => service.call(admin::Revoke { user_id: id.clone() })?,
            Self::ResetMember { id } => service.reset_measurement(id)?,
            Self::RemoveMember { id } => service.remove_member(id)?,
            Self::Export { path, sheet, replace } => sheet::write(path, sheet, *replace)?,
        }
        Ok(None)
    }
}
