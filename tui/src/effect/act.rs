//! Changes to the data of the service or to files.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use tidings_client::Service;
use tidings_client::shown::source::brought;
use tidings_core::account::key::Scope;
use tidings_core::account::{BeginOtp, EnableOtp};
use tidings_core::feedback::{FeedbackState, Mark};
use tidings_core::notice::{self, Draft, Visibility};
use tidings_core::{admin, member, post, source};

use super::{Sources, panicked};
use crate::problem::Problem;
use crate::reach::Reach;
use crate::sheet::{self, Sheet};

/// The id of the saved notice, draft, post or source, the secret or code for the second factor or a new password, or the result
/// of a fetch; `None` for other changes.
pub(crate) type Saved = Option<String>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NoticeEdit {
    /// `None` for a new notice.
    pub(crate) target: Option<String>,
    /// The draft on the server that is published or saved.
    pub(crate) shared: Option<String>,
    pub(crate) fields: Draft,
    /// Once the notice is saved.
    pub(crate) reach: Reach,
}

/// A post, notice or source without a `target` is a new one. `ShareDraft` saves a draft on the server. `ReadFeedback` records on
/// this machine which feedback was read. `BeginOtp` creates a secret for the second factor of the member who has signed in; its
/// enrolment code is empty if there is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    SaveNotice(Box<NoticeEdit>),
    ShareDraft(Box<NoticeEdit>),
    PublishShared { id: String, title: String, reach: Reach },
    RemoveShared { id: String, title: String },
    ShowNotice { id: String, title: String, shown: bool, reach: Reach },
    RemoveNotice { id: String, title: String },
    FeedbackDone { id: String, done: bool },
    SavePost { target: Option<String>, title: String, fields: Box<post::Draft> },
    RemovePost { id: String, title: String },
    SaveSource { target: Option<String>, fields: Box<source::Add> },
    FetchSource { id: String, name: String },
    PauseSource { id: String, name: String, on: bool },
    RemoveSource { id: String, name: String },
    ReadFeedback { id: String },
    SetPassword { id: String, pw: Secret },
    IssueReset { id: String },
    Blacklist { id: String, on: bool },
    Administrate { id: String, on: bool },
    SetRole { id: String, scopes: Vec<Scope> },
    ResetMember { id: String },
    RemoveMember { id: String },
    BeginOtp { pw: Secret, code: Secret },
    EnableOtp { otp: Secret },
    Export { path: PathBuf, sheet: Arc<Sheet>, replace: bool },
}

pub(crate) type Changed<'r> = Result<Option<&'r str>, &'r Problem>;

/// No log and no message shows a password.
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
    /// Shown while the change runs.
    pub(crate) const fn doing(&self) -> &'static str {
        match self {
            Self::RemoveNotice { .. }
            | Self::RemoveShared { .. }
            | Self::RemovePost { .. }
            | Self::RemoveSource { .. }
            | Self::RemoveMember { .. } => "removing",
            Self::FetchSource { .. } => "fetching",
            Self::ShareDraft(_) => "saving the draft",
            Self::Export { .. } => "exporting",
            _ => "saving",
        }
    }

    /// `None` when the screen itself shows the result.
    pub(crate) fn done(&self) -> Option<String> {
        Some(match self {
            Self::SaveNotice(edit) => {
                let title = edit.fields.title.as_deref().unwrap_or_default();
                match edit.target {
                    Some(_) => format!("Saved “{title}”."),
                    None => edit.reach.published(title),
                }
            }
            Self::ShareDraft(_) => "Saved as a draft of all administrators.".to_owned(),
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
            Self::SaveSource { target: None, fields } => format!("Added {}.", fields.url),
            Self::SaveSource { fields, .. } => format!("Saved {}.", fields.url),
            Self::PauseSource { name, on: true, .. } => format!("“{name}” is paused."),
            Self::PauseSource { name, .. } => format!("“{name}” is fetched again."),
            Self::RemoveSource { name, .. } => format!("Removed “{name}”; its posts stay."),
            Self::SetPassword { id, .. } => format!("{id} has a new password and is signed out everywhere."),
            Self::Blacklist { id, on: true } => format!("{id} is blacklisted and signed out everywhere."),
            Self::Blacklist { id, .. } => format!("{id} may sign in again."),
            Self::Administrate { id, on: true } => format!("{id} is an administrator."),
            Self::Administrate { id, .. } => format!("{id} is no longer an administrator."),
            Self::SetRole { id, scopes } if scopes.is_empty() => format!("{id} has no role any more."),
            Self::SetRole { id, .. } => format!("{id} has a new role."),
            Self::ResetMember { id } => format!("Reset the measured interest of {id}."),
            Self::RemoveMember { id } => format!("Removed the member {id}."),
            Self::EnableOtp { .. } => "The second factor is enabled.".to_owned(),
            Self::FetchSource { .. }
            | Self::ReadFeedback { .. }
            | Self::IssueReset { .. }
            | Self::BeginOtp { .. } => {
                return None;
            }
        })
    }

    /// A panic is returned as a problem.
    pub(crate) fn run(&self, sources: &Sources) -> Result<Saved, Problem> {
        let result = catch_unwind(AssertUnwindSafe(|| self.change(sources)));
        result.unwrap_or_else(|panic| Err(panicked(&*panic)))
    }

    fn change(&self, sources: &Sources) -> Result<Saved, Problem> {
        let Sources { service, read } = sources;
        match self {
            Self::SaveNotice(edit) | Self::ShareDraft(edit) => {
                let NoticeEdit { target, shared, fields, .. } = &**edit;
                let (target, shared, fields) = (target.clone(), shared.clone(), fields.clone());
                let save = |draft, notice, fields| service.call(notice::SaveDraft { draft, notice, fields });
                let id = match (self, shared, target) {
                    (Self::ShareDraft(_), shared, target) => save(shared, target, fields)?.id.to_string(),
                    (_, Some(shared), target) => {
                        save(Some(shared.clone()), target, fields)?;
                        service.call(notice::PublishDraft { draft_obi: shared })?.id.to_string()
                    }
                    (_, None, Some(id)) => {
                        service.call(notice::Update { notice_obi: id.clone(), draft: fields })?;
                        id
                    }
                    (_, None, None) => service.call(notice::Insert { draft: fields })?.id.to_string(),
                };
                return Ok(Some(id));
            }
            Self::PublishShared { id, .. } => {
                let published = service.call(notice::PublishDraft { draft_obi: id.clone() })?;
                return Ok(Some(published.id.to_string()));
            }
            Self::RemoveShared { id, .. } => service.call(notice::RemoveDraft { draft_obi: id.clone() })?,
            Self::ShowNotice { id, shown, .. } => {
                let activation = Some(Visibility::shown_if(*shown).activation());
                let draft = Draft { activation, ..Draft::default() };
                service.call(notice::Update { notice_obi: id.clone(), draft })?;
            }
            Self::RemoveNotice { id, .. } => service.call(notice::Remove { notice_obi: id.clone() })?,
            Self::FeedbackDone { id, done } => {
                let state = if *done { FeedbackState::Done } else { FeedbackState::Open };
                service.call(Mark { feedback_obi: id.clone(), activation: state.activation() })?;
            }
            Self::SavePost { target, fields, .. } => {
                let draft = post::Draft::clone(fields);
                let id = match target.clone() {
                    None => service.call(post::Insert { draft })?.id.to_string(),
                    Some(id) => {
                        service.call(post::Update { post_obi: id.clone(), draft })?;
                        id
                    }
                };
                return Ok(Some(id));
            }
            Self::ReadFeedback { id } => read.add(id)?,
            Self::SetPassword { id, pw } => {
                service.call(member::SetPassword { user_id: id.clone(), new_pw: pw.0.clone() })?;
            }
            Self::IssueReset { id } => {
                return Ok(Some(service.call(member::IssueReset { user_id: id.clone() })?.code));
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
            Self::SaveSource { target, fields } => {
                return save_source(service, target.clone(), source::Add::clone(fields));
            }
            Self::FetchSource { id, name } => return fetch_source(service, id, name),
            Self::PauseSource { id, on, .. } => {
                let source_obi = id.clone();
                if *on {
                    service.call(source::Pause { source_obi })?;
                } else {
                    service.call(source::Resume { source_obi })?;
                }
            }
            Self::RemoveSource { id, .. } => {
                service.call(source::Remove { source_obi: id.clone(), with_posts: None })?;
            }
            Self::Blacklist { id, on: true } => {
                service.call(admin::PushBlacklist { user_id: id.clone() }).map(drop)?;
            }
            Self::Blacklist { id, .. } => service.call(admin::PopBlacklist { user_id: id.clone() })?,
            Self::Administrate { id, on: true } => service.call(admin::Grant { user_id: id.clone() })?,
            Self::Administrate { id, .. } => service.call(admin::Revoke { user_id: id.clone() })?,
            Self::SetRole { id, scopes } => {
                let scopes = scopes.iter().map(ToString::to_string).collect();
                service.call(member::SetRole { user_id: id.clone(), scopes })?;
            }
            Self::ResetMember { id } => service.reset_measurement(id)?,
            Self::RemoveMember { id } => service.remove_member(id)?,
            Self::Export { path, sheet, replace } => sheet::write(path, sheet, *replace)?,
        }
        Ok(None)
    }
}

fn fetch_source(service: &Service, id: &str, name: &str) -> Result<Saved, Problem> {
    let fetched = service.call(source::Fetch { source_obi: id.to_owned() })?;
    if let Some(error) = &fetched.error {
        return Err(Problem::new(format!("“{name}” could not be fetched: {error}.")));
    }
    let unread = match fetched.errors.len() {
        0 => String::new(),
        unread => format!(", {unread} unreadable"),
    };
    Ok(Some(format!("{}{unread} in “{name}”.", brought(&fetched))))
}

fn save_source(service: &Service, target: Option<String>, fields: source::Add) -> Result<Saved, Problem> {
    let Some(id) = target else { return Ok(Some(service.call(fields)?.id.to_string())) };
    let source::Add { url, name, topic, tag, every } = fields;
    let url = Some(url);
    let source_obi = id.clone();
    service.call(source::Update { source_obi, url, name, topic, tag, every, adopt: None })?;
    Ok(Some(id))
}
