// Generated from the OpenAPI document by scripts/generate.mjs. Do not edit.

import type { Answer, CallOptions, Input, LiveEvents, Operation } from "./types.js";

/** The methods of all operations. */
export abstract class Operations {
    /** Calls an operation. */
    protected abstract call<O extends Operation>(
        operation: O,
        input: Input<O> | undefined,
        options: CallOptions | undefined,
    ): Answer<O>;

    /** Listens to live events. */
    protected abstract listen(input: Input<"events"> | undefined, options: CallOptions | undefined): LiveEvents;

    /** Sign up a member. No token needed. `POST /sign_up` */
    signUp(input: Input<"signUp">, options?: CallOptions): Answer<"signUp"> {
        return this.call("signUp", input, options);
    }

    /** Sign up with an invitation. No token needed. `POST /sign_up_invited` */
    signUpInvited(input: Input<"signUpInvited">, options?: CallOptions): Answer<"signUpInvited"> {
        return this.call("signUpInvited", input, options);
    }

    /** Sign in. No token needed. `POST /sign_in` */
    signIn(input: Input<"signIn">, options?: CallOptions): Answer<"signIn"> {
        return this.call("signIn", input, options);
    }

    /** Sign in a university member. No token needed. `POST /sign_in_up` */
    signInUp(input: Input<"signInUp">, options?: CallOptions): Answer<"signInUp"> {
        return this.call("signInUp", input, options);
    }

    /** Change the password. For members. `POST /change_pw` */
    changePw(input: Input<"changePw">, options?: CallOptions): Answer<"changePw"> {
        return this.call("changePw", input, options);
    }

    /** Sign out everywhere. For members. `GET /sign_out_all` */
    signOutAll(options?: CallOptions): Answer<"signOutAll"> {
        return this.call("signOutAll", undefined, options);
    }

    /** List the member's sessions. For members. `GET /get_sessions` */
    getSessions(options?: CallOptions): Answer<"getSessions"> {
        return this.call("getSessions", undefined, options);
    }

    /** Sign out one session. For members. `GET /sign_out_session/{session_obi}` */
    signOutSession(input: Input<"signOutSession">, options?: CallOptions): Answer<"signOutSession"> {
        return this.call("signOutSession", input, options);
    }

    /** Request a password reset. No token needed. `POST /request_pw_reset` */
    requestPwReset(input: Input<"requestPwReset">, options?: CallOptions): Answer<"requestPwReset"> {
        return this.call("requestPwReset", input, options);
    }

    /** Reset a forgotten password. No token needed. `POST /reset_pw` */
    resetPw(input: Input<"resetPw">, options?: CallOptions): Answer<"resetPw"> {
        return this.call("resetPw", input, options);
    }

    /** Get the e-mail address. For members. `GET /get_email` */
    getEmail(options?: CallOptions): Answer<"getEmail"> {
        return this.call("getEmail", undefined, options);
    }

    /** Set the e-mail address. For members. `POST /set_email` */
    setEmail(input: Input<"setEmail">, options?: CallOptions): Answer<"setEmail"> {
        return this.call("setEmail", input, options);
    }

    /** Confirm an e-mail address. No token needed; an invalid token is ignored. `POST /confirm_email` */
    confirmEmail(input: Input<"confirmEmail">, options?: CallOptions): Answer<"confirmEmail"> {
        return this.call("confirmEmail", input, options);
    }

    /** Sign in with single sign-on. No token needed. `POST /sign_in_oidc` */
    signInOidc(input: Input<"signInOidc">, options?: CallOptions): Answer<"signInOidc"> {
        return this.call("signInOidc", input, options);
    }

    /** Link a single sign-on. For members. `POST /link_oidc` */
    linkOidc(input: Input<"linkOidc">, options?: CallOptions): Answer<"linkOidc"> {
        return this.call("linkOidc", input, options);
    }

    /** Unlink the single sign-on. For members. `POST /unlink_oidc` */
    unlinkOidc(input: Input<"unlinkOidc">, options?: CallOptions): Answer<"unlinkOidc"> {
        return this.call("unlinkOidc", input, options);
    }

    /** Begin adding a passkey. For members. `POST /begin_passkey` */
    beginPasskey(input: Input<"beginPasskey">, options?: CallOptions): Answer<"beginPasskey"> {
        return this.call("beginPasskey", input, options);
    }

    /** Add a passkey. For members. `POST /add_passkey` */
    addPasskey(input: Input<"addPasskey">, options?: CallOptions): Answer<"addPasskey"> {
        return this.call("addPasskey", input, options);
    }

    /** List the member's passkeys. For members. `GET /get_passkeys` */
    getPasskeys(options?: CallOptions): Answer<"getPasskeys"> {
        return this.call("getPasskeys", undefined, options);
    }

    /** Remove a passkey. For members. `GET /remove_passkey/{passkey_obi}` */
    removePasskey(input: Input<"removePasskey">, options?: CallOptions): Answer<"removePasskey"> {
        return this.call("removePasskey", input, options);
    }

    /** Begin a passkey sign-in. No token needed. `GET /begin_passkey_sign_in` */
    beginPasskeySignIn(options?: CallOptions): Answer<"beginPasskeySignIn"> {
        return this.call("beginPasskeySignIn", undefined, options);
    }

    /** Sign in with a passkey. No token needed. `POST /sign_in_passkey` */
    signInPasskey(input: Input<"signInPasskey">, options?: CallOptions): Answer<"signInPasskey"> {
        return this.call("signInPasskey", input, options);
    }

    /** Get two-factor status. For members. `GET /get_otp` */
    getOtp(options?: CallOptions): Answer<"getOtp"> {
        return this.call("getOtp", undefined, options);
    }

    /** Begin two-factor enrolment. For members. `POST /begin_otp` */
    beginOtp(input: Input<"beginOtp">, options?: CallOptions): Answer<"beginOtp"> {
        return this.call("beginOtp", input, options);
    }

    /** Enable the second factor. For members. `POST /enable_otp` */
    enableOtp(input: Input<"enableOtp">, options?: CallOptions): Answer<"enableOtp"> {
        return this.call("enableOtp", input, options);
    }

    /** Disable the second factor. For members. `POST /disable_otp` */
    disableOtp(input: Input<"disableOtp">, options?: CallOptions): Answer<"disableOtp"> {
        return this.call("disableOtp", input, options);
    }

    /** Replace the recovery codes. For members. `POST /renew_recovery_codes` */
    renewRecoveryCodes(input: Input<"renewRecoveryCodes">, options?: CallOptions): Answer<"renewRecoveryCodes"> {
        return this.call("renewRecoveryCodes", input, options);
    }

    /** Get the member's information. For members. `GET /get_userinfo` */
    getUserinfo(options?: CallOptions): Answer<"getUserinfo"> {
        return this.call("getUserinfo", undefined, options);
    }

    /** Get the member's lists. For members. `GET /get_specific_userinfo/{type_num}` */
    getSpecificUserinfo(input: Input<"getSpecificUserinfo">, options?: CallOptions): Answer<"getSpecificUserinfo"> {
        return this.call("getSpecificUserinfo", input, options);
    }

    /** Download the member's data. For members. `GET /get_my_data` */
    getMyData(options?: CallOptions): Answer<"getMyData"> {
        return this.call("getMyData", undefined, options);
    }

    /** Change the member's nickname. For members. `POST /change_nickname` */
    changeNickname(input: Input<"changeNickname">, options?: CallOptions): Answer<"changeNickname"> {
        return this.call("changeNickname", input, options);
    }

    /** Set the app's automatic sign-in. For members. `GET /update_auto_login/{auto_login}` */
    updateAutoLogin(input: Input<"updateAutoLogin">, options?: CallOptions): Answer<"updateAutoLogin"> {
        return this.call("updateAutoLogin", input, options);
    }

    /** Reset the measured interests. For members. `GET /reset_user_measurement` */
    resetUserMeasurement(options?: CallOptions): Answer<"resetUserMeasurement"> {
        return this.call("resetUserMeasurement", undefined, options);
    }

    /** Remove the member's own account. For members. `GET /remove_mine` */
    removeMine(options?: CallOptions): Answer<"removeMine"> {
        return this.call("removeMine", undefined, options);
    }

    /** Check for administrator rights. For administrators. `GET /check_admin` */
    checkAdmin(options?: CallOptions): Answer<"checkAdmin"> {
        return this.call("checkAdmin", undefined, options);
    }

    /** List administrators by grant date. For administrators. `GET /get_admins` */
    getAdmins(options?: CallOptions): Answer<"getAdmins"> {
        return this.call("getAdmins", undefined, options);
    }

    /** Grant administrator rights. For administrators. `GET /grant_admin/{user_id}` */
    grantAdmin(input: Input<"grantAdmin">, options?: CallOptions): Answer<"grantAdmin"> {
        return this.call("grantAdmin", input, options);
    }

    /** Revoke administrator rights. For administrators. `GET /revoke_admin/{user_id}` */
    revokeAdmin(input: Input<"revokeAdmin">, options?: CallOptions): Answer<"revokeAdmin"> {
        return this.call("revokeAdmin", input, options);
    }

    /** List the members by id. For administrators. `GET /get_members` */
    getMembers(input?: Input<"getMembers">, options?: CallOptions): Answer<"getMembers"> {
        return this.call("getMembers", input, options);
    }

    /** Get a member's information. For administrators. `GET /get_member/{user_id}` */
    getMember(input: Input<"getMember">, options?: CallOptions): Answer<"getMember"> {
        return this.call("getMember", input, options);
    }

    /** Get a member's lists. For administrators. `GET /get_member_lists/{user_id}/{type_num}` */
    getMemberLists(input: Input<"getMemberLists">, options?: CallOptions): Answer<"getMemberLists"> {
        return this.call("getMemberLists", input, options);
    }

    /** Download a member's data. For administrators. `GET /get_member_data/{user_id}` */
    getMemberData(input: Input<"getMemberData">, options?: CallOptions): Answer<"getMemberData"> {
        return this.call("getMemberData", input, options);
    }

    /** Change a member's nickname. For administrators. `POST /change_member_nickname/{user_id}` */
    changeMemberNickname(input: Input<"changeMemberNickname">, options?: CallOptions): Answer<"changeMemberNickname"> {
        return this.call("changeMemberNickname", input, options);
    }

    /** Set a member's automatic sign-in. For administrators. `GET /update_member_auto_login/{user_id}/{auto_login}` */
    updateMemberAutoLogin(input: Input<"updateMemberAutoLogin">, options?: CallOptions): Answer<"updateMemberAutoLogin"> {
        return this.call("updateMemberAutoLogin", input, options);
    }

    /** Reset a member's measured interests. For administrators. `GET /reset_member_measurement/{user_id}` */
    resetMemberMeasurement(input: Input<"resetMemberMeasurement">, options?: CallOptions): Answer<"resetMemberMeasurement"> {
        return this.call("resetMemberMeasurement", input, options);
    }

    /** Set a member's password. For administrators. `POST /set_member_password/{user_id}` */
    setMemberPassword(input: Input<"setMemberPassword">, options?: CallOptions): Answer<"setMemberPassword"> {
        return this.call("setMemberPassword", input, options);
    }

    /** Issue a password reset code. For administrators. `GET /issue_pw_reset/{user_id}` */
    issuePwReset(input: Input<"issuePwReset">, options?: CallOptions): Answer<"issuePwReset"> {
        return this.call("issuePwReset", input, options);
    }

    /** Get a member's ways to sign in. For administrators. `GET /get_member_sign_ins/{user_id}` */
    getMemberSignIns(input: Input<"getMemberSignIns">, options?: CallOptions): Answer<"getMemberSignIns"> {
        return this.call("getMemberSignIns", input, options);
    }

    /** Get a member's role. For administrators, and for members about themselves. `GET /get_member_role/{user_id}` */
    getMemberRole(input: Input<"getMemberRole">, options?: CallOptions): Answer<"getMemberRole"> {
        return this.call("getMemberRole", input, options);
    }

    /** Set a member's role; idempotent. For administrators. `POST /set_member_role/{user_id}` */
    setMemberRole(input: Input<"setMemberRole">, options?: CallOptions): Answer<"setMemberRole"> {
        return this.call("setMemberRole", input, options);
    }

    /** Disable a member's second factor. For administrators. `GET /reset_member_otp/{user_id}` */
    resetMemberOtp(input: Input<"resetMemberOtp">, options?: CallOptions): Answer<"resetMemberOtp"> {
        return this.call("resetMemberOtp", input, options);
    }

    /** Remove a member's other sign-ins. For administrators. `GET /reset_member_sign_ins/{user_id}` */
    resetMemberSignIns(input: Input<"resetMemberSignIns">, options?: CallOptions): Answer<"resetMemberSignIns"> {
        return this.call("resetMemberSignIns", input, options);
    }

    /** Issue an enrolment code. For administrators. `GET /issue_member_otp/{user_id}` */
    issueMemberOtp(input: Input<"issueMemberOtp">, options?: CallOptions): Answer<"issueMemberOtp"> {
        return this.call("issueMemberOtp", input, options);
    }

    /** List the roster by id. For administrators. `GET /get_roster` */
    getRoster(input?: Input<"getRoster">, options?: CallOptions): Answer<"getRoster"> {
        return this.call("getRoster", input, options);
    }

    /** Import members. For administrators. `POST /import_members` */
    importMembers(input: Input<"importMembers">, options?: CallOptions): Answer<"importMembers"> {
        return this.call("importMembers", input, options);
    }

    /** Import acts of members. For administrators. `POST /import_acts` */
    importActs(input: Input<"importActs">, options?: CallOptions): Answer<"importActs"> {
        return this.call("importActs", input, options);
    }

    /** Import the university roster. For administrators. `POST /import_roster` */
    importRoster(input: Input<"importRoster">, options?: CallOptions): Answer<"importRoster"> {
        return this.call("importRoster", input, options);
    }

    /** Remove a member. For administrators. `GET /admin_remove_user/{user_id}` */
    adminRemoveUser(input: Input<"adminRemoveUser">, options?: CallOptions): Answer<"adminRemoveUser"> {
        return this.call("adminRemoveUser", input, options);
    }

    /** List blacklisted members. For administrators. `GET /get_blacklist` */
    getBlacklist(options?: CallOptions): Answer<"getBlacklist"> {
        return this.call("getBlacklist", undefined, options);
    }

    /** Blacklist a member. For administrators. `GET /push_blacklist/{user_id}` */
    pushBlacklist(input: Input<"pushBlacklist">, options?: CallOptions): Answer<"pushBlacklist"> {
        return this.call("pushBlacklist", input, options);
    }

    /** Remove from the blacklist. For administrators. `GET /pop_blacklist/{user_id}` */
    popBlacklist(input: Input<"popBlacklist">, options?: CallOptions): Answer<"popBlacklist"> {
        return this.call("popBlacklist", input, options);
    }

    /** List a member's sessions. For administrators. `GET /get_member_sessions/{user_id}` */
    getMemberSessions(input: Input<"getMemberSessions">, options?: CallOptions): Answer<"getMemberSessions"> {
        return this.call("getMemberSessions", input, options);
    }

    /** Sign a member out everywhere. For administrators. `GET /sign_out_member/{user_id}` */
    signOutMember(input: Input<"signOutMember">, options?: CallOptions): Answer<"signOutMember"> {
        return this.call("signOutMember", input, options);
    }

    /** Sign out a member's session. For administrators. `GET /sign_out_member_session/{user_id}/{session_obi}` */
    signOutMemberSession(input: Input<"signOutMemberSession">, options?: CallOptions): Answer<"signOutMemberSession"> {
        return this.call("signOutMemberSession", input, options);
    }

    /** List invitations. For administrators. `GET /get_invitations` */
    getInvitations(options?: CallOptions): Answer<"getInvitations"> {
        return this.call("getInvitations", undefined, options);
    }

    /** Add an invitation. For administrators. `POST /add_invitation` */
    addInvitation(input: Input<"addInvitation">, options?: CallOptions): Answer<"addInvitation"> {
        return this.call("addInvitation", input, options);
    }

    /** Remove an invitation. For administrators. `GET /remove_invitation/{invitation_obi}` */
    removeInvitation(input: Input<"removeInvitation">, options?: CallOptions): Answer<"removeInvitation"> {
        return this.call("removeInvitation", input, options);
    }

    /** List API keys. For administrators. `GET /get_keys` */
    getKeys(options?: CallOptions): Answer<"getKeys"> {
        return this.call("getKeys", undefined, options);
    }

    /** Add an API key. For administrators. `POST /add_key` */
    addKey(input: Input<"addKey">, options?: CallOptions): Answer<"addKey"> {
        return this.call("addKey", input, options);
    }

    /** Revoke an API key. For administrators. `GET /remove_key/{key_obi}` */
    removeKey(input: Input<"removeKey">, options?: CallOptions): Answer<"removeKey"> {
        return this.call("removeKey", input, options);
    }

    /** List webhooks. For administrators. `GET /get_webhooks` */
    getWebhooks(options?: CallOptions): Answer<"getWebhooks"> {
        return this.call("getWebhooks", undefined, options);
    }

    /** Add a webhook. For administrators. `POST /add_webhook` */
    addWebhook(input: Input<"addWebhook">, options?: CallOptions): Answer<"addWebhook"> {
        return this.call("addWebhook", input, options);
    }

    /** Delete a webhook. For administrators. `GET /remove_webhook/{webhook_obi}` */
    removeWebhook(input: Input<"removeWebhook">, options?: CallOptions): Answer<"removeWebhook"> {
        return this.call("removeWebhook", input, options);
    }

    /** Rotate a webhook's secret. For administrators. `GET /rotate_webhook/{webhook_obi}` */
    rotateWebhook(input: Input<"rotateWebhook">, options?: CallOptions): Answer<"rotateWebhook"> {
        return this.call("rotateWebhook", input, options);
    }

    /** Queue a `ping` delivery. For administrators. `GET /test_webhook/{webhook_obi}` */
    testWebhook(input: Input<"testWebhook">, options?: CallOptions): Answer<"testWebhook"> {
        return this.call("testWebhook", input, options);
    }

    /** List pending and failed deliveries. For administrators. `GET /get_webhook_deliveries` */
    getWebhookDeliveries(options?: CallOptions): Answer<"getWebhookDeliveries"> {
        return this.call("getWebhookDeliveries", undefined, options);
    }

    /** Retry a webhook delivery. For administrators. `GET /retry_webhook_delivery/{delivery_obi}` */
    retryWebhookDelivery(input: Input<"retryWebhookDelivery">, options?: CallOptions): Answer<"retryWebhookDelivery"> {
        return this.call("retryWebhookDelivery", input, options);
    }

    /** List pending and failed mail. For administrators. `GET /get_mails` */
    getMails(options?: CallOptions): Answer<"getMails"> {
        return this.call("getMails", undefined, options);
    }

    /** Retry a mail. For administrators. `GET /retry_mail/{mail_obi}` */
    retryMail(input: Input<"retryMail">, options?: CallOptions): Answer<"retryMail"> {
        return this.call("retryMail", input, options);
    }

    /** Send a test mail. For administrators. `POST /test_mail` */
    testMail(input: Input<"testMail">, options?: CallOptions): Answer<"testMail"> {
        return this.call("testMail", input, options);
    }

    /** List sources. For administrators. `GET /get_sources` */
    getSources(options?: CallOptions): Answer<"getSources"> {
        return this.call("getSources", undefined, options);
    }

    /** Get a source. For administrators. `GET /get_source/{source_obi}` */
    getSource(input: Input<"getSource">, options?: CallOptions): Answer<"getSource"> {
        return this.call("getSource", input, options);
    }

    /** Add a source. For administrators. `POST /add_source` */
    addSource(input: Input<"addSource">, options?: CallOptions): Answer<"addSource"> {
        return this.call("addSource", input, options);
    }

    /** Change a source. For administrators. `POST /update_source/{source_obi}` */
    updateSource(input: Input<"updateSource">, options?: CallOptions): Answer<"updateSource"> {
        return this.call("updateSource", input, options);
    }

    /** Remove a source. For administrators. `GET /remove_source/{source_obi}` */
    removeSource(input: Input<"removeSource">, options?: CallOptions): Answer<"removeSource"> {
        return this.call("removeSource", input, options);
    }

    /** Pause a source. For administrators. `GET /pause_source/{source_obi}` */
    pauseSource(input: Input<"pauseSource">, options?: CallOptions): Answer<"pauseSource"> {
        return this.call("pauseSource", input, options);
    }

    /** Resume a source. For administrators. `GET /resume_source/{source_obi}` */
    resumeSource(input: Input<"resumeSource">, options?: CallOptions): Answer<"resumeSource"> {
        return this.call("resumeSource", input, options);
    }

    /** Fetch a source now. For administrators. `GET /fetch_source/{source_obi}` */
    fetchSource(input: Input<"fetchSource">, options?: CallOptions): Answer<"fetchSource"> {
        return this.call("fetchSource", input, options);
    }

    /** Find a page's feeds. For administrators. `POST /discover_sources` */
    discoverSources(input: Input<"discoverSources">, options?: CallOptions): Answer<"discoverSources"> {
        return this.call("discoverSources", input, options);
    }

    /** Import sources from OPML. For administrators. `POST /import_sources` */
    importSources(input: Input<"importSources">, options?: CallOptions): Answer<"importSources"> {
        return this.call("importSources", input, options);
    }

    /** Export sources as OPML. For administrators. `GET /export_sources` */
    exportSources(options?: CallOptions): Answer<"exportSources"> {
        return this.call("exportSources", undefined, options);
    }

    /** List audit records, latest first. For administrators. `GET /get_audit` */
    getAudit(input?: Input<"getAudit">, options?: CallOptions): Answer<"getAudit"> {
        return this.call("getAudit", input, options);
    }

    /** Verify the audit trail. For administrators. `GET /verify_audit` */
    verifyAudit(input?: Input<"verifyAudit">, options?: CallOptions): Answer<"verifyAudit"> {
        return this.call("verifyAudit", input, options);
    }

    /** Export the audit trail. For administrators. `GET /export_audit` */
    exportAudit(options?: CallOptions): Answer<"exportAudit"> {
        return this.call("exportAudit", undefined, options);
    }

    /** List all notices, newest first. No token needed; an invalid token is ignored. `GET /get_all_notice` */
    getAllNotice(input?: Input<"getAllNotice">, options?: CallOptions): Answer<"getAllNotice"> {
        return this.call("getAllNotice", input, options);
    }

    /** List notices of a page. No token needed; an invalid token is ignored. `GET /get_notices` */
    getNotices(input?: Input<"getNotices">, options?: CallOptions): Answer<"getNotices"> {
        return this.call("getNotices", input, options);
    }

    /** Get a notice. No token needed; an invalid token is ignored. `GET /get_notice/{notice_obi}` */
    getNotice(input: Input<"getNotice">, options?: CallOptions): Answer<"getNotice"> {
        return this.call("getNotice", input, options);
    }

    /** Publish a notice. For administrators. `POST /insert_notice` */
    insertNotice(input: Input<"insertNotice">, options?: CallOptions): Answer<"insertNotice"> {
        return this.call("insertNotice", input, options);
    }

    /** Change a notice. For administrators. `POST /update_notice/{notice_obi}` */
    updateNotice(input: Input<"updateNotice">, options?: CallOptions): Answer<"updateNotice"> {
        return this.call("updateNotice", input, options);
    }

    /** Remove a notice. For administrators. `GET /remove_notice/{notice_obi}` */
    removeNotice(input: Input<"removeNotice">, options?: CallOptions): Answer<"removeNotice"> {
        return this.call("removeNotice", input, options);
    }

    /** Send feedback on a notice. For members. `POST /remove_notice/{notice_obi}` */
    noticeFeedback(input: Input<"noticeFeedback">, options?: CallOptions): Answer<"noticeFeedback"> {
        return this.call("noticeFeedback", input, options);
    }

    /** List notice drafts, latest first. For administrators. `GET /get_notice_drafts` */
    getNoticeDrafts(options?: CallOptions): Answer<"getNoticeDrafts"> {
        return this.call("getNoticeDrafts", undefined, options);
    }

    /** Save a notice draft. For administrators. `POST /save_notice_draft` */
    saveNoticeDraft(input: Input<"saveNoticeDraft">, options?: CallOptions): Answer<"saveNoticeDraft"> {
        return this.call("saveNoticeDraft", input, options);
    }

    /** Publish and remove a draft. For administrators. `GET /publish_notice_draft/{draft_obi}` */
    publishNoticeDraft(input: Input<"publishNoticeDraft">, options?: CallOptions): Answer<"publishNoticeDraft"> {
        return this.call("publishNoticeDraft", input, options);
    }

    /** Remove a draft. For administrators. `GET /remove_notice_draft/{draft_obi}` */
    removeNoticeDraft(input: Input<"removeNoticeDraft">, options?: CallOptions): Answer<"removeNoticeDraft"> {
        return this.call("removeNoticeDraft", input, options);
    }

    /** Count a notice's daily reads. For administrators. `GET /get_notice_reads/{notice_obi}` */
    getNoticeReads(input: Input<"getNoticeReads">, options?: CallOptions): Answer<"getNoticeReads"> {
        return this.call("getNoticeReads", input, options);
    }

    /** Get the front page lines. No token needed. `GET /get_main_info` */
    getMainInfo(options?: CallOptions): Answer<"getMainInfo"> {
        return this.call("getMainInfo", undefined, options);
    }

    /** Change the front page lines. For administrators. `POST /update_main_info` */
    updateMainInfo(input: Input<"updateMainInfo">, options?: CallOptions): Answer<"updateMainInfo"> {
        return this.call("updateMainInfo", input, options);
    }

    /** Send feedback. For members. `POST /send_feedback` */
    sendFeedback(input: Input<"sendFeedback">, options?: CallOptions): Answer<"sendFeedback"> {
        return this.call("sendFeedback", input, options);
    }

    /** List all feedback, newest first. For administrators. `GET /get_all_feedback` */
    getAllFeedback(options?: CallOptions): Answer<"getAllFeedback"> {
        return this.call("getAllFeedback", undefined, options);
    }

    /** Page through feedback, newest first. For administrators. `GET /get_feedback` */
    getFeedback(input?: Input<"getFeedback">, options?: CallOptions): Answer<"getFeedback"> {
        return this.call("getFeedback", input, options);
    }

    /** Mark feedback done or open. For administrators. `GET /update_feedback/{feedback_obi}/{activation}` */
    updateFeedback(input: Input<"updateFeedback">, options?: CallOptions): Answer<"updateFeedback"> {
        return this.call("updateFeedback", input, options);
    }

    /** Get a post. No token needed. `GET /get_post/{post_obi}` */
    getPost(input: Input<"getPost">, options?: CallOptions): Answer<"getPost"> {
        return this.call("getPost", input, options);
    }

    /** List categories, largest first. No token needed. `GET /get_categories` */
    getCategories(options?: CallOptions): Answer<"getCategories"> {
        return this.call("getCategories", undefined, options);
    }

    /** List posts. No token needed. `GET /get_posts` */
    getPosts(input?: Input<"getPosts">, options?: CallOptions): Answer<"getPosts"> {
        return this.call("getPosts", input, options);
    }

    /** Export posts. For administrators. `GET /export_posts` */
    exportPosts(options?: CallOptions): Answer<"exportPosts"> {
        return this.call("exportPosts", undefined, options);
    }

    /** View a post. No token needed; an invalid token is ignored. `GET /post_view/{post_obi}` */
    postView(input: Input<"postView">, options?: CallOptions): Answer<"postView"> {
        return this.call("postView", input, options);
    }

    /** Like a post; idempotent. For members. `GET /post_like/{post_obi}` */
    postLike(input: Input<"postLike">, options?: CallOptions): Answer<"postLike"> {
        return this.call("postLike", input, options);
    }

    /** Remove a like; idempotent. For members. `GET /post_unlike/{post_obi}` */
    postUnlike(input: Input<"postUnlike">, options?: CallOptions): Answer<"postUnlike"> {
        return this.call("postUnlike", input, options);
    }

    /** Hide a post from recommendations. For members. `GET /post_hide/{post_obi}` */
    postHide(input: Input<"postHide">, options?: CallOptions): Answer<"postHide"> {
        return this.call("postHide", input, options);
    }

    /** Show a hidden post again. For members. `GET /post_unhide/{post_obi}` */
    postUnhide(input: Input<"postUnhide">, options?: CallOptions): Answer<"postUnhide"> {
        return this.call("postUnhide", input, options);
    }

    /** Publish a post. For administrators. `POST /insert_post` */
    insertPost(input: Input<"insertPost">, options?: CallOptions): Answer<"insertPost"> {
        return this.call("insertPost", input, options);
    }

    /** Change a post. For administrators. `POST /update_post/{post_obi}` */
    updatePost(input: Input<"updatePost">, options?: CallOptions): Answer<"updatePost"> {
        return this.call("updatePost", input, options);
    }

    /** Remove a post. For administrators. `GET /remove_post/{post_obi}` */
    removePost(input: Input<"removePost">, options?: CallOptions): Answer<"removePost"> {
        return this.call("removePost", input, options);
    }

    /** Import posts. For administrators. `POST /import_posts` */
    importPosts(input: Input<"importPosts">, options?: CallOptions): Answer<"importPosts"> {
        return this.call("importPosts", input, options);
    }

    /** Record a search. No token needed; an invalid token is ignored. `POST /search_logging` */
    searchLogging(input: Input<"searchLogging">, options?: CallOptions): Answer<"searchLogging"> {
        return this.call("searchLogging", input, options);
    }

    /** Search posts. No token needed. `POST /priority_search/{num}` */
    prioritySearch(input: Input<"prioritySearch">, options?: CallOptions): Answer<"prioritySearch"> {
        return this.call("prioritySearch", input, options);
    }

    /** Search a category. No token needed. `POST /category_search/{category_name}/{num}` */
    categorySearch(input: Input<"categorySearch">, options?: CallOptions): Answer<"categorySearch"> {
        return this.call("categorySearch", input, options);
    }

    /** Search web sites. No token needed. `POST /domain_search` */
    domainSearch(input: Input<"domainSearch">, options?: CallOptions): Answer<"domainSearch"> {
        return this.call("domainSearch", input, options);
    }

    /** List the member's recent searches. For members. `GET /get_user_lately_search/{num}` */
    getUserLatelySearch(input: Input<"getUserLatelySearch">, options?: CallOptions): Answer<"getUserLatelySearch"> {
        return this.call("getUserLatelySearch", input, options);
    }

    /** Get similar words. No token needed. `POST /get_similarity_words` */
    getSimilarityWords(input: Input<"getSimilarityWords">, options?: CallOptions): Answer<"getSimilarityWords"> {
        return this.call("getSimilarityWords", input, options);
    }

    /** Get recommended posts. No token needed; an invalid token is ignored. `GET /get_recommendation_newsfeed` */
    getRecommendationNewsfeed(input?: Input<"getRecommendationNewsfeed">, options?: CallOptions): Answer<"getRecommendationNewsfeed"> {
        return this.call("getRecommendationNewsfeed", input, options);
    }

    /** Get popular posts. No token needed; an invalid token is ignored. `GET /get_popularity_newsfeed` */
    getPopularityNewsfeed(input?: Input<"getPopularityNewsfeed">, options?: CallOptions): Answer<"getPopularityNewsfeed"> {
        return this.call("getPopularityNewsfeed", input, options);
    }

    /** Get a topic's newest posts. No token needed; an invalid token is ignored. `GET /get_newsfeed_of_topic/{category_name}` */
    getNewsfeedOfTopic(input: Input<"getNewsfeedOfTopic">, options?: CallOptions): Answer<"getNewsfeedOfTopic"> {
        return this.call("getNewsfeedOfTopic", input, options);
    }

    /** Get a source's newest posts. No token needed; an invalid token is ignored. `GET /get_newsfeed_of_source/{source_obi}` */
    getNewsfeedOfSource(input: Input<"getNewsfeedOfSource">, options?: CallOptions): Answer<"getNewsfeedOfSource"> {
        return this.call("getNewsfeedOfSource", input, options);
    }

    /** Get a topic's posts (v1). No token needed; an invalid token is ignored. `GET /get_topic_newsfeed/{newsfeed_name}` @deprecated */
    getTopicNewsfeed(input: Input<"getTopicNewsfeed">, options?: CallOptions): Answer<"getTopicNewsfeed"> {
        return this.call("getTopicNewsfeed", input, options);
    }

    /** Get the feed's weights. For administrators. `GET /get_feed_weights` */
    getFeedWeights(options?: CallOptions): Answer<"getFeedWeights"> {
        return this.call("getFeedWeights", undefined, options);
    }

    /** Learn the feed's weights now. For administrators. `GET /learn_feed_weights` */
    learnFeedWeights(options?: CallOptions): Answer<"learnFeedWeights"> {
        return this.call("learnFeedWeights", undefined, options);
    }

    /** Get the most frequent searches. No token needed. `GET /get_search_realtime` */
    getSearchRealtime(options?: CallOptions): Answer<"getSearchRealtime"> {
        return this.call("getSearchRealtime", undefined, options);
    }

    /** List bursts of searches. No token needed. `GET /get_search_bursts` */
    getSearchBursts(options?: CallOptions): Answer<"getSearchBursts"> {
        return this.call("getSearchBursts", undefined, options);
    }

    /** Get a period's access log. For administrators. `GET /get_log_date/{months}/{days}/{hours}/{limit}` */
    getLogDate(input: Input<"getLogDate">, options?: CallOptions): Answer<"getLogDate"> {
        return this.call("getLogDate", input, options);
    }

    /** Get a member's access log. For administrators, and for members about themselves. `GET /get_log_user/{user_id}/{limit}` */
    getLogUser(input: Input<"getLogUser">, options?: CallOptions): Answer<"getLogUser"> {
        return this.call("getLogUser", input, options);
    }

    /** Get a member's dated log. For administrators, and for members about themselves. `GET /get_log_user_date/{user_id}/{months}/{days}/{hours}/{limit}` */
    getLogUserDate(input: Input<"getLogUserDate">, options?: CallOptions): Answer<"getLogUserDate"> {
        return this.call("getLogUserDate", input, options);
    }

    /** Page through the access log. For administrators. `GET /get_log` */
    getLog(input?: Input<"getLog">, options?: CallOptions): Answer<"getLog"> {
        return this.call("getLog", input, options);
    }

    /** Get the figures of days. For administrators. `GET /get_analysis_of_days/{first}/{last}` */
    getAnalysisOfDays(input: Input<"getAnalysisOfDays">, options?: CallOptions): Answer<"getAnalysisOfDays"> {
        return this.call("getAnalysisOfDays", input, options);
    }

    /** Get the service status. For administrators. `GET /get_status` */
    getStatus(options?: CallOptions): Answer<"getStatus"> {
        return this.call("getStatus", undefined, options);
    }

    /** Get the overall totals. No token needed. `GET /get_analysis` */
    getAnalysis(options?: CallOptions): Answer<"getAnalysis"> {
        return this.call("getAnalysis", undefined, options);
    }

    /** List daily figures, oldest first. No token needed; an invalid token is ignored. `GET /get_everyday_analysis_days_ago/{days}` */
    getEverydayAnalysisDaysAgo(input: Input<"getEverydayAnalysisDaysAgo">, options?: CallOptions): Answer<"getEverydayAnalysisDaysAgo"> {
        return this.call("getEverydayAnalysisDaysAgo", input, options);
    }

    /** Get one day's figures. No token needed; an invalid token is ignored. `GET /get_everyday_analysis_specific_days/{year}/{month}/{day}` */
    specificDays(input: Input<"specificDays">, options?: CallOptions): Answer<"specificDays"> {
        return this.call("specificDays", input, options);
    }

    /** Count a device. No token needed. `GET /insert_device/{device}` */
    insertDevice(input: Input<"insertDevice">, options?: CallOptions): Answer<"insertDevice"> {
        return this.call("insertDevice", input, options);
    }

    /** Get the device counts. No token needed. `GET /get_device` */
    getDevice(options?: CallOptions): Answer<"getDevice"> {
        return this.call("getDevice", undefined, options);
    }

    /** Get a period's report. No token needed. `GET /get_report` */
    getReport(input?: Input<"getReport">, options?: CallOptions): Answer<"getReport"> {
        return this.call("getReport", input, options);
    }

    /** Show a report page. No token needed. `GET /reports` */
    reports(input?: Input<"reports">, options?: CallOptions): Answer<"reports"> {
        return this.call("reports", input, options);
    }

    /** Get a report as CSV. No token needed. `GET /reports/{file}` */
    reportsFile(input: Input<"reportsFile">, options?: CallOptions): Answer<"reportsFile"> {
        return this.call("reportsFile", input, options);
    }

    /** Receive live events. No token needed; an invalid token is ignored. `GET /events` */
    events(input?: Input<"events">, options?: CallOptions): LiveEvents {
        return this.listen(input, options);
    }

    /** Check liveness. No token needed. `GET /healthz` */
    healthz(options?: CallOptions): Answer<"healthz"> {
        return this.call("healthz", undefined, options);
    }

    /** Check readiness. No token needed. `GET /readyz` */
    readyz(options?: CallOptions): Answer<"readyz"> {
        return this.call("readyz", undefined, options);
    }

    /** See what runs here. No token needed. `GET /` */
    home(options?: CallOptions): Answer<"home"> {
        return this.call("home", undefined, options);
    }

    /** Get this document. No token needed. `GET /openapi.json` */
    openapiJson(options?: CallOptions): Answer<"openapiJson"> {
        return this.call("openapiJson", undefined, options);
    }

    /** Show the API page. No token needed. `GET /docs` */
    docs(options?: CallOptions): Answer<"docs"> {
        return this.call("docs", undefined, options);
    }
}
