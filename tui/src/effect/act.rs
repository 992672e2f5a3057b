//! Changes to the database or to files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use tidings_core::account::Caller;
use tidings_core::clock::Timestamp;
use tidings_core::feedback::FeedbackState;
use tidings_core::notice::Visibility;
use tidings_core::{admin, feedback, notice, post, profile};

use super::{Service, panicked};
use crate::draft::SavedDraft;
use crate::problem::Problem;
use crate::sheet::{self, Sheet};

/// A change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    SaveNotice {
        target: Option<String>,
        draft: String,
        title: String,
        post: String,
        shown: bool,
        at: Timestamp,
    },
    ShowNotice {
        id: String,
        title: String,
        shown: bool,
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
    RemovePost {
        id: String,
        title: String,
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
    Export {
        path: PathBuf,
        sheet: Arc<Sheet>,
        replace: bool,
    },
}

impl Act {
    /// Returns a description of the change, which is shown while it runs.
    pub(crate) const fn doing(&self) -> &'static str {
        match self {
            Self::SaveNotice { .. }
            | Self::ShowNotice { .. }
            | Self::FeedbackDone { .. }
            | Self::Blacklist { .. }
            | Self::Administrate { .. }
            | Self::ResetMember { .. } => "saving",
            Self::RemoveNotice { .. } | Self::RemovePost { .. } | Self::RemoveMember { .. } => "removing",
            Self::SaveDraft(_) | Self::DiscardDraft { .. } => "saving the draft",
            Self::Export { .. } => "exporting",
        }
    }

    /// Returns the message for a successful change; `None` when the screen itself shows the result.
    pub(crate) fn done(&self) -> Option<String> {
        Some(match self {
            Self::SaveNotice { target: None, title, shown: true, .. } => format!("Published “{title}”."),
            Self::SaveNotice { target: None, title, .. } => format!("Saved “{title}”, hidden."),
            Self::SaveNotice { title, .. } => format!("Saved “{title}”."),
            Self::ShowNotice { title, shown: true, .. } => format!("“{title}” is shown to everybody."),
            Self::ShowNotice { title, .. } => format!("“{title}” is hidden."),
            Self::RemoveNotice { title, .. } | Self::RemovePost { title, .. } => {
                format!("Removed “{title}”.")
            }
            Self::FeedbackDone { done: true, .. } => "Done.".to_owned(),
            Self::FeedbackDone { .. } => "Open again.".to_owned(),
            Self::Export { path, sheet, .. } => {
                format!("Wrote {} rows to {}.", sheet.rows.len(), path.display())
            }
            Self::Blacklist { id, on: true } => {
                format!("{id} is blacklisted and signed out everywhere.")
            }
            Self::Blacklist { id, .. } => format!("{id} may sign in again."),
            Self::Administrate { id, on: true } => format!("{id} is an administrator."),
            Self::Administrate { id, .. } => format!("{id} is no longer an administrator."),
            Self::ResetMember { id } => format!("Reset the measured interest of {id}."),
            Self::RemoveMember { id } => format!("Removed the member {id}."),
            Self::SaveDraft(_) | Self::DiscardDraft { .. } => return None,
        })
    }
}

impl Act {
    /// Makes the change. A panic is returned as a problem.
    pub(crate) fn run(&self, service: &Service) -> Result<(), Problem> {
        let result = catch_unwind(AssertUnwindSafe(|| self.change(service)));
        result.unwrap_or_else(|panic| Err(panicked(&*panic)))
    }

    fn change(&self, service: &Service) -> Result<(), Problem> {
        let (tidings, operator) = (&service.tidings, &Caller::Operator);
        match self {
            Self::SaveNotice { target, draft, title, post, shown, at } => {
                let new = notice::Draft {
                    title: Some(title.clone()),
                    post: Some(post.clone()),
                    activation: Some(Visibility::shown_if(*shown).activation()),
                    ..notice::Draft::default()
                };
                match target {
                    Some(id) => notice::update(tidings, operator, id, &new)?,
                    None => drop(notice::insert(tidings, operator, &new)?),
                }
                service.drafts.remove(draft, *at)
            }
            Self::ShowNotice { id, shown, .. } => {
                let change = notice::Draft {
                    activation: Some(Visibility::shown_if(*shown).activation()),
                    ..notice::Draft::default()
                };
                Ok(notice::update(tidings, operator, id, &change)?)
            }
            Self::RemoveNotice { id, .. } => Ok(notice::remove(tidings, operator, id)?),
            Self::SaveDraft(kept) => service.drafts.keep(kept),
            Self::DiscardDraft { key, at } => service.drafts.remove(key, *at),
            Self::FeedbackDone { id, done } => {
                let state = if *done { FeedbackState::Done } else { FeedbackState::Open };
                Ok(feedback::set_activation(tidings, operator, id, state.activation())?)
            }
            Self::RemovePost { id, .. } => Ok(post::remove(tidings, operator, id)?),
            Self::Blacklist { id, on: true } => Ok(admin::push_blacklist(tidings, operator, id)?),
            Self::Blacklist { id, .. } => Ok(admin::pop_blacklist(tidings, operator, id)?),
            Self::Administrate { id, on: true } => Ok(admin::grant(tidings, operator, id)?),
            Self::Administrate { id, .. } => Ok(admin::revoke(tidings, operator, id)?),
            Self::ResetMember { id } => {
                Ok(profile::reset_measurement(tidings, &operator.on_behalf_of(tidings, id)?)?)
            }
            Self::RemoveMember { id } => Ok(admin::remove_user(tidings, operator, id)?),
            Self::Export { path, sheet, replace } => sheet::write(path, sheet, *replace),
        }
    }
}
