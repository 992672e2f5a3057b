macro_rules! actions {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal,)+) => {
        /// The texts are stored, so they must not change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Action {
            $($(#[doc = $doc])* $name,)+
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
    AdminGrant = "admin.grant",
    AdminRevoke = "admin.revoke",
    ActImport = "act.import",
    AuditExport = "audit.export",
    AuditRetention = "audit.retention",
    FeedbackUpdate = "feedback.update",
    /// The weights of the recommended feed were learned at the request of an administrator.
    FeedLearn = "feed.learn",
    FrontUpdate = "front.update",
    InvitationAdd = "invitation.add",
    InvitationRemove = "invitation.remove",
    InvitationUse = "invitation.use",
    KeyAdd = "key.add",
    KeyRevoke = "key.revoke",
    /// Many lines of the access log were read.
    LogRead = "log.read",
    MailRetry = "mail.retry",
    MemberBlacklist = "member.blacklist",
    /// The automatic sign-in of a member was set by an administrator.
    MemberAutoLogin = "member.auto_login",
    /// A member has confirmed an e-mail address, or removed theirs.
    MemberEmail = "member.email",
    /// An administrator exported the data of a member.
    MemberExport = "member.export",
    MemberImport = "member.import",
    /// A member linked their account to a person of single sign-on.
    MemberLink = "member.link",
    /// Many members were listed.
    MemberList = "member.list",
    /// A member got another nickname from an administrator.
    MemberNickname = "member.nickname",
    /// A code was issued with which a member may set up a second factor.
    MemberOtpCode = "member.otp_code",
    MemberOtpDisable = "member.otp_disable",
    MemberOtpEnable = "member.otp_enable",
    MemberOtpRenew = "member.otp_renew",
    /// The second factor of a member was disabled, who had lost it.
    MemberOtpReset = "member.otp_reset",
    MemberPasskeyAdd = "member.passkey_add",
    MemberPasskeyRemove = "member.passkey_remove",
    /// A member got another password from an administrator.
    MemberPassword = "member.password",
    MemberRemove = "member.remove",
    /// The measurement of a member's interest was restarted by an administrator.
    MemberReset = "member.reset",
    /// A code was issued with which a member who has forgotten their password chooses a new one.
    MemberResetCode = "member.reset_code",
    MemberResetPassword = "member.reset_password",
    MemberRole = "member.role",
    /// The passkeys and the single sign-on of a member were removed.
    MemberSignInsReset = "member.sign_ins_reset",
    MemberSignOut = "member.sign_out",
    MemberUnlink = "member.unlink",
    MemberUnblacklist = "member.unblacklist",
    NoticeDraftRemove = "notice.draft_remove",
    NoticeDraftSave = "notice.draft_save",
    NoticeInsert = "notice.insert",
    NoticeRemove = "notice.remove",
    NoticeUpdate = "notice.update",
    PostImport = "post.import",
    PostInsert = "post.insert",
    PostRemove = "post.remove",
    PostUpdate = "post.update",
    RosterImport = "roster.import",
    /// Many entries of the roster were listed.
    RosterList = "roster.list",
    SourceAdd = "source.add",
    SourceImport = "source.import",
    SourcePause = "source.pause",
    SourceRemove = "source.remove",
    SourceResume = "source.resume",
    SourceUpdate = "source.update",
    /// A backup became the database.
    StoreRestore = "store.restore",
    StoreTimezone = "store.timezone",
    WebhookAdd = "webhook.add",
    WebhookRemove = "webhook.remove",
    WebhookRetry = "webhook.retry",
    WebhookRotate = "webhook.rotate",
    WebhookTest = "webhook.test",
    WordsLoad = "words.load",
    /// The word model was learned at an operator's request.
    WordsTrain = "words.train",
}
