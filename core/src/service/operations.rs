//! The list of all operations, in the order of the documentation.

use crate::account::{self, invitation, key};
use crate::record::operation::{Operation, Stream};
use crate::service::{api, status};
use crate::transfer::{act, member_import, roster_import};
use crate::{
    admin, analysis, audit, feedback, lookup, main_info, member, member_data, newsfeed, notice, post,
    profile, search, source, webhook, words,
};

/// A visitor of all operations.
pub trait Visitor {
    /// Visits an operation that answers with one object.
    fn visit<O: Operation>(&mut self);
    /// Visits an operation with a stream.
    fn stream<S: Stream>(&mut self);
}

/// Visits all operations.
#[expect(clippy::too_many_lines, reason = "one line for each operation")]
pub fn each(visitor: &mut impl Visitor) {
    visitor.visit::<account::SignUp>();
    visitor.visit::<account::SignUpInvited>();
    visitor.visit::<account::SignIn>();
    visitor.visit::<account::SignInUp>();
    visitor.visit::<account::ChangePassword>();
    visitor.visit::<account::SignOutAll>();
    visitor.visit::<account::ListSessions>();
    visitor.visit::<account::SignOutSession>();
    visitor.visit::<account::ResetPassword>();
    visitor.visit::<account::GetOtp>();
    visitor.visit::<account::BeginOtp>();
    visitor.visit::<account::EnableOtp>();
    visitor.visit::<account::DisableOtp>();
    visitor.visit::<account::RenewRecoveryCodes>();
    visitor.visit::<profile::Get>();
    visitor.visit::<profile::GetLists>();
    visitor.stream::<member_data::GetMine>();
    visitor.visit::<profile::ChangeNickname>();
    visitor.visit::<profile::UpdateAutoLogin>();
    visitor.visit::<profile::ResetMeasurement>();
    visitor.visit::<profile::Remove>();
    visitor.visit::<admin::Check>();
    visitor.visit::<admin::List>();
    visitor.visit::<admin::Grant>();
    visitor.visit::<admin::Revoke>();
    visitor.visit::<member::List>();
    visitor.visit::<member::Get>();
    visitor.visit::<member::GetLists>();
    visitor.stream::<member_data::GetOf>();
    visitor.visit::<member::ChangeNickname>();
    visitor.visit::<member::UpdateAutoLogin>();
    visitor.visit::<member::ResetMeasurement>();
    visitor.visit::<member::SetPassword>();
    visitor.visit::<member::IssueReset>();
    visitor.visit::<member::GetRole>();
    visitor.visit::<member::SetRole>();
    visitor.visit::<member::ResetOtp>();
    visitor.visit::<member::IssueOtp>();
    visitor.visit::<member::ListRoster>();
    visitor.stream::<member_import::ImportMembers>();
    visitor.stream::<act::ImportActs>();
    visitor.stream::<roster_import::ImportRoster>();
    visitor.visit::<member::Remove>();
    visitor.visit::<admin::GetBlacklist>();
    visitor.visit::<admin::PushBlacklist>();
    visitor.visit::<admin::PopBlacklist>();
    visitor.visit::<member::ListSessions>();
    visitor.visit::<member::SignOut>();
    visitor.visit::<member::SignOutSession>();
    visitor.visit::<invitation::List>();
    visitor.visit::<invitation::Add>();
    visitor.visit::<invitation::Remove>();
    visitor.visit::<key::List>();
    visitor.visit::<key::Add>();
    visitor.visit::<key::Revoke>();
    visitor.visit::<webhook::List>();
    visitor.visit::<webhook::Add>();
    visitor.visit::<webhook::Remove>();
    visitor.visit::<webhook::Rotate>();
    visitor.visit::<webhook::Test>();
    visitor.visit::<webhook::ListDeliveries>();
    visitor.visit::<webhook::Retry>();
    visitor.visit::<source::List>();
    visitor.visit::<source::Get>();
    visitor.visit::<source::Add>();
    visitor.visit::<source::Update>();
    visitor.visit::<source::Remove>();
    visitor.visit::<source::Pause>();
    visitor.visit::<source::Resume>();
    visitor.visit::<source::Fetch>();
    visitor.visit::<source::Discover>();
    visitor.visit::<source::Import>();
    visitor.visit::<source::Export>();
    visitor.visit::<audit::List>();
    visitor.visit::<audit::Verify>();
    visitor.stream::<audit::ExportTrail>();
    visitor.visit::<notice::List>();
    visitor.visit::<notice::ListFull>();
    visitor.visit::<notice::Get>();
    visitor.visit::<notice::Insert>();
    visitor.visit::<notice::Update>();
    visitor.visit::<notice::Remove>();
    visitor.visit::<feedback::SendOnNotice>();
    visitor.visit::<notice::ListDrafts>();
    visitor.visit::<notice::SaveDraft>();
    visitor.visit::<notice::PublishDraft>();
    visitor.visit::<notice::RemoveDraft>();
    visitor.visit::<notice::GetReads>();
    visitor.visit::<main_info::Get>();
    visitor.visit::<main_info::Update>();
    visitor.visit::<feedback::SendGeneral>();
    visitor.visit::<feedback::ListAll>();
    visitor.visit::<feedback::List>();
    visitor.visit::<feedback::Mark>();
    visitor.visit::<post::Get>();
    visitor.visit::<post::ListCategories>();
    visitor.visit::<post::List>();
    visitor.stream::<post::ExportPosts>();
    visitor.visit::<post::View>();
    visitor.visit::<post::Like>();
    visitor.visit::<post::Unlike>();
    visitor.visit::<post::Hide>();
    visitor.visit::<post::Unhide>();
    visitor.visit::<post::Insert>();
    visitor.visit::<post::Update>();
    visitor.visit::<post::Remove>();
    visitor.stream::<post::ImportPosts>();
    visitor.visit::<lookup::FindIds>();
    visitor.visit::<search::Log>();
    visitor.visit::<search::Find>();
    visitor.visit::<search::FindInCategory>();
    visitor.visit::<search::FindSites>();
    visitor.visit::<search::ListRecent>();
    visitor.visit::<words::FindSimilar>();
    visitor.visit::<newsfeed::ListRecommended>();
    visitor.visit::<newsfeed::ListPopular>();
    visitor.visit::<newsfeed::ListTopic>();
    visitor.visit::<newsfeed::ListSource>();
    visitor.visit::<newsfeed::ListTopicV1>();
    visitor.visit::<newsfeed::GetWeights>();
    visitor.visit::<newsfeed::LearnWeights>();
    visitor.visit::<newsfeed::PinWeights>();
    visitor.visit::<newsfeed::UnpinWeights>();
    visitor.visit::<analysis::GetRealtime>();
    visitor.visit::<analysis::GetBursts>();
    visitor.visit::<analysis::GetLogDate>();
    visitor.visit::<analysis::GetLogUser>();
    visitor.visit::<analysis::GetLogUserDate>();
    visitor.visit::<analysis::GetLog>();
    visitor.visit::<analysis::GetPeriod>();
    visitor.visit::<status::Get>();
    visitor.visit::<analysis::GetSummary>();
    visitor.visit::<analysis::GetDaysAgo>();
    visitor.visit::<analysis::GetDay>();
    visitor.visit::<analysis::InsertDevice>();
    visitor.visit::<analysis::GetDevices>();
    visitor.visit::<analysis::GetReport>();
    visitor.stream::<api::GetReportPage>();
    visitor.stream::<api::GetReportTable>();
    visitor.stream::<api::Listen>();
    visitor.stream::<api::Healthz>();
    visitor.stream::<api::Readyz>();
    visitor.stream::<api::GetHome>();
    visitor.stream::<api::GetDocument>();
    visitor.stream::<api::GetPage>();
}
