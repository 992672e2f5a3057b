//! The actions that the audit trail records.

macro_rules! actions {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// The texts are stored, so they must not change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Action {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Action {
            pub(crate) const NAMES: &[&str] = &[$($text),+];

            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

actions! {
    /// A member became an administrator.
    AdminGrant = "admin.grant",
    /// An administrator lost the right.
    AdminRevoke = "admin.revoke",
    /// Acts of members were imported.
    ActImport = "act.import",
    /// The trail was exported.
    AuditExport = "audit.export",
    /// Expired records of the trail were removed.
    AuditRetention = "audit.retention",
    /// Feedback was marked as done or open.
    FeedbackUpdate = "feedback.update",
    /// The weights of the recommended feed were learned at the request of an administrator.
    FeedLearn = "feed.learn",
    /// The lines of the front page changed.
    FrontUpdate = "front.update",
    /// An invitation was made.
    InvitationAdd = "invitation.add",
    /// An invitation was removed.
    InvitationRemove = "invitation.remove",
    /// A member signed up with an invitation.
    InvitationUse = "invitation.use",
    /// An API key was made.
    KeyAdd = "key.add",
    /// An API key was revoked.
    KeyRevoke = "key.revoke",
    /// Many lines of the access log were read.
    LogRead = "log.read",
    /// A mail is sent again.
    MailRetry = "mail.retry",
    /// A member was blacklisted.
    MemberBlacklist = "member.blacklist",
    /// The automatic sign-in of a member was set by an administrator.
    MemberAutoLogin = "member.auto_login",
    /// A member has confirmed an e-mail address, or removed theirs.
    MemberEmail = "member.email",
    /// An administrator exported the data of a member.
    MemberExport = "member.export",
    /// Members were imported.
    MemberImport = "member.import",
    /// A member linked their account to a person of single sign-on.
    MemberLink = "member.link",
    /// Many members were listed.
    MemberList = "member.list",
    /// A member got another nickname from an administrator.
    MemberNickname = "member.nickname",
    /// A code was issued with which a member may set up a second factor.
    MemberOtpCode = "member.otp_code",
    /// A member disabled their second factor.
    MemberOtpDisable = "member.otp_disable",
    /// A member enabled their second factor.
    MemberOtpEnable = "member.otp_enable",
    /// A member replaced their recovery codes.
    MemberOtpRenew = "member.otp_renew",
    /// The second factor of a member was disabled, who had lost it.
    MemberOtpReset = "member.otp_reset",
    /// A member added a passkey.
    MemberPasskeyAdd = "member.passkey_add",
    /// A member removed a passkey.
    MemberPasskeyRemove = "member.passkey_remove",
    /// A member got another password from an administrator.
    MemberPassword = "member.password",
    /// A member was removed.
    MemberRemove = "member.remove",
    /// The measurement of a member's interest was restarted by an administrator.
    MemberReset = "member.reset",
    /// A code was issued with which a member who has forgotten their password chooses a new one.
    MemberResetCode = "member.reset_code",
    /// A member chose a new password with a code.
    MemberResetPassword = "member.reset_password",
    /// A member got another role, or lost it.
    MemberRole = "member.role",
    /// The passkeys and the single sign-on of a member were removed.
    MemberSignInsReset = "member.sign_ins_reset",
    /// A member was signed out.
    MemberSignOut = "member.sign_out",
    /// A member removed the link of their account to a person of single sign-on.
    MemberUnlink = "member.unlink",
    /// A member is no longer blacklisted.
    MemberUnblacklist = "member.unblacklist",
    /// A draft of a notice was removed.
    NoticeDraftRemove = "notice.draft_remove",
    /// A draft of a notice was saved.
    NoticeDraftSave = "notice.draft_save",
    /// A notice was inserted.
    NoticeInsert = "notice.insert",
    /// A notice was removed.
    NoticeRemove = "notice.remove",
    /// A notice changed.
    NoticeUpdate = "notice.update",
    /// Posts were imported.
    PostImport = "post.import",
    /// A post was inserted.
    PostInsert = "post.insert",
    /// A post was removed.
    PostRemove = "post.remove",
    /// A post changed.
    PostUpdate = "post.update",
    /// University members were imported.
    RosterImport = "roster.import",
    /// Many entries of the roster were listed.
    RosterList = "roster.list",
    /// A source was added.
    SourceAdd = "source.add",
    /// Sources were imported from a list.
    SourceImport = "source.import",
    /// A source was paused.
    SourcePause = "source.pause",
    /// A source was removed.
    SourceRemove = "source.remove",
    /// A source is fetched again.
    SourceResume = "source.resume",
    /// A source changed.
    SourceUpdate = "source.update",
    /// A backup became the database.
    StoreRestore = "store.restore",
    /// The time zone of the counted days was changed.
    StoreTimezone = "store.timezone",
    /// A webhook was added.
    WebhookAdd = "webhook.add",
    /// A webhook was removed.
    WebhookRemove = "webhook.remove",
    /// A delivery to a webhook is sent again.
    WebhookRetry = "webhook.retry",
    /// A webhook got a new secret.
    WebhookRotate = "webhook.rotate",
    /// A test was sent to a webhook.
    WebhookTest = "webhook.test",
    /// Word vectors were loaded.
    WordsLoad = "words.load",
    /// The word model was learned at an operator's request.
    WordsTrain = "words.train",
}
