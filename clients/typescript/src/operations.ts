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

    /** Register a member and sign them in. Anyone may call it. `POST /sign_up` */
    signUp(input: Input<"signUp">, options?: CallOptions): Answer<"signUp"> {
        return this.call("signUp", input, options);
    }

    /** Register a member who has an invitation, and sign them in. Anyone may call it. `POST /sign_up_invited` */
    signUpInvited(input: Input<"signUpInvited">, options?: CallOptions): Answer<"signUpInvited"> {
        return this.call("signUpInvited", input, options);
    }

    /** Sign a member in. Anyone may call it. `POST /sign_in` */
    signIn(input: Input<"signIn">, options?: CallOptions): Answer<"signIn"> {
        return this.call("signIn", input, options);
    }

    /** Sign a university member in, and register a new member at the first sign-in. Anyone may call it. `POST /sign_in_up` */
    signInUp(input: Input<"signInUp">, options?: CallOptions): Answer<"signInUp"> {
        return this.call("signInUp", input, options);
    }

    /** Change the member's password and revoke all older tokens. For members. `POST /change_pw` */
    changePw(input: Input<"changePw">, options?: CallOptions): Answer<"changePw"> {
        return this.call("changePw", input, options);
    }

    /** Revoke all tokens of the member, including the one of this request. For members. `GET /sign_out_all` */
    signOutAll(options?: CallOptions): Answer<"signOutAll"> {
        return this.call("signOutAll", undefined, options);
    }

    /** List where the member is signed in. For members. `GET /get_sessions` */
    getSessions(options?: CallOptions): Answer<"getSessions"> {
        return this.call("getSessions", undefined, options);
    }

    /** Sign the member out of one session, which may be that of this request. For members. `GET /sign_out_session/{session_obi}` */
    signOutSession(input: Input<"signOutSession">, options?: CallOptions): Answer<"signOutSession"> {
        return this.call("signOutSession", input, options);
    }

    /** Ask for a mail with a code, with which a member who has forgotten their password chooses a new one. Anyone may call it. `POST /request_pw_reset` */
    requestPwReset(input: Input<"requestPwReset">, options?: CallOptions): Answer<"requestPwReset"> {
        return this.call("requestPwReset", input, options);
    }

    /** Choose a new password with a code of a mail or of an administrator, and sign out everywhere. Anyone may call it. `POST /reset_pw` */
    resetPw(input: Input<"resetPw">, options?: CallOptions): Answer<"resetPw"> {
        return this.call("resetPw", input, options);
    }

    /** Get the e-mail address of the member. For members. `GET /get_email` */
    getEmail(options?: CallOptions): Answer<"getEmail"> {
        return this.call("getEmail", undefined, options);
    }

    /** Give the member an e-mail address, which a mail with a code confirms, or another one, or none. For members. `POST /set_email` */
    setEmail(input: Input<"setEmail">, options?: CallOptions): Answer<"setEmail"> {
        return this.call("setEmail", input, options);
    }

    /** Confirm the address that waits for it, with the code of a mail. Anyone may call it; a token that fails is as none. `POST /confirm_email` */
    confirmEmail(input: Input<"confirmEmail">, options?: CallOptions): Answer<"confirmEmail"> {
        return this.call("confirmEmail", input, options);
    }

    /** Exchange the code of a single sign-on for an access token. Anyone may call it. `POST /sign_in_oidc` */
    signInOidc(input: Input<"signInOidc">, options?: CallOptions): Answer<"signInOidc"> {
        return this.call("signInOidc", input, options);
    }

    /** Link the account of the member to the person of a single sign-on, who then signs in to it. For members. `POST /link_oidc` */
    linkOidc(input: Input<"linkOidc">, options?: CallOptions): Answer<"linkOidc"> {
        return this.call("linkOidc", input, options);
    }

    /** Remove the link of the member's account to the person of a single sign-on. For members. `POST /unlink_oidc` */
    unlinkOidc(input: Input<"unlinkOidc">, options?: CallOptions): Answer<"unlinkOidc"> {
        return this.call("unlinkOidc", input, options);
    }

    /** Begin to add a passkey to the account of the member. For members. `POST /begin_passkey` */
    beginPasskey(input: Input<"beginPasskey">, options?: CallOptions): Answer<"beginPasskey"> {
        return this.call("beginPasskey", input, options);
    }

    /** Add the passkey that the browser has made to the account of the member. For members. `POST /add_passkey` */
    addPasskey(input: Input<"addPasskey">, options?: CallOptions): Answer<"addPasskey"> {
        return this.call("addPasskey", input, options);
    }

    /** List the passkeys of the member. For members. `GET /get_passkeys` */
    getPasskeys(options?: CallOptions): Answer<"getPasskeys"> {
        return this.call("getPasskeys", undefined, options);
    }

    /** Remove a passkey of the member. For members. `GET /remove_passkey/{passkey_obi}` */
    removePasskey(input: Input<"removePasskey">, options?: CallOptions): Answer<"removePasskey"> {
        return this.call("removePasskey", input, options);
    }

    /** Begin to sign in with a passkey. Anyone may call it. `GET /begin_passkey_sign_in` */
    beginPasskeySignIn(options?: CallOptions): Answer<"beginPasskeySignIn"> {
        return this.call("beginPasskeySignIn", undefined, options);
    }

    /** Sign a member in with a passkey. Anyone may call it. `POST /sign_in_passkey` */
    signInPasskey(input: Input<"signInPasskey">, options?: CallOptions): Answer<"signInPasskey"> {
        return this.call("signInPasskey", input, options);
    }

    /** See whether the member has enabled the second factor. For members. `GET /get_otp` */
    getOtp(options?: CallOptions): Answer<"getOtp"> {
        return this.call("getOtp", undefined, options);
    }

    /** Make a secret for the member's authenticator, such as an app on their phone. For members. `POST /begin_otp` */
    beginOtp(input: Input<"beginOtp">, options?: CallOptions): Answer<"beginOtp"> {
        return this.call("beginOtp", input, options);
    }

    /** Enable the second factor: from then on, a sign-in needs a code of the authenticator. For members. `POST /enable_otp` */
    enableOtp(input: Input<"enableOtp">, options?: CallOptions): Answer<"enableOtp"> {
        return this.call("enableOtp", input, options);
    }

    /** Disable the second factor. For members. `POST /disable_otp` */
    disableOtp(input: Input<"disableOtp">, options?: CallOptions): Answer<"disableOtp"> {
        return this.call("disableOtp", input, options);
    }

    /** Replace the recovery codes of the member. For members. `POST /renew_recovery_codes` */
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

    /** Get everything that is stored about the member. For members. `GET /get_my_data` */
    getMyData(options?: CallOptions): Answer<"getMyData"> {
        return this.call("getMyData", undefined, options);
    }

    /** Change the member's nickname. For members. `POST /change_nickname` */
    changeNickname(input: Input<"changeNickname">, options?: CallOptions): Answer<"changeNickname"> {
        return this.call("changeNickname", input, options);
    }

    /** Set whether the app signs the member in automatically. For members. `GET /update_auto_login/{auto_login}` */
    updateAutoLogin(input: Input<"updateAutoLogin">, options?: CallOptions): Answer<"updateAutoLogin"> {
        return this.call("updateAutoLogin", input, options);
    }

    /** Reset the measurement of the member's interests. For members. `GET /reset_user_measurement` */
    resetUserMeasurement(options?: CallOptions): Answer<"resetUserMeasurement"> {
        return this.call("resetUserMeasurement", undefined, options);
    }

    /** Remove the member's own account with its lists and interests. For members. `GET /remove_mine` */
    removeMine(options?: CallOptions): Answer<"removeMine"> {
        return this.call("removeMine", undefined, options);
    }

    /** Check whether the caller is an administrator. For administrators. `GET /check_admin` */
    checkAdmin(options?: CallOptions): Answer<"checkAdmin"> {
        return this.call("checkAdmin", undefined, options);
    }

    /** List the administrators by the date of the grant. For administrators. `GET /get_admins` */
    getAdmins(options?: CallOptions): Answer<"getAdmins"> {
        return this.call("getAdmins", undefined, options);
    }

    /** Make a member an administrator; idempotent. For administrators. `GET /grant_admin/{user_id}` */
    grantAdmin(input: Input<"grantAdmin">, options?: CallOptions): Answer<"grantAdmin"> {
        return this.call("grantAdmin", input, options);
    }

    /** Revoke a member's administrator rights; idempotent. For administrators. `GET /revoke_admin/{user_id}` */
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

    /** Get the lists of a member. For administrators. `GET /get_member_lists/{user_id}/{type_num}` */
    getMemberLists(input: Input<"getMemberLists">, options?: CallOptions): Answer<"getMemberLists"> {
        return this.call("getMemberLists", input, options);
    }

    /** Get everything that is stored about a member. For administrators. `GET /get_member_data/{user_id}` */
    getMemberData(input: Input<"getMemberData">, options?: CallOptions): Answer<"getMemberData"> {
        return this.call("getMemberData", input, options);
    }

    /** Change a member's nickname. For administrators. `POST /change_member_nickname/{user_id}` */
    changeMemberNickname(input: Input<"changeMemberNickname">, options?: CallOptions): Answer<"changeMemberNickname"> {
        return this.call("changeMemberNickname", input, options);
    }

    /** Set whether the app signs a member in automatically. For administrators. `GET /update_member_auto_login/{user_id}/{auto_login}` */
    updateMemberAutoLogin(input: Input<"updateMemberAutoLogin">, options?: CallOptions): Answer<"updateMemberAutoLogin"> {
        return this.call("updateMemberAutoLogin", input, options);
    }

    /** Reset the measurement of a member's interests. For administrators. `GET /reset_member_measurement/{user_id}` */
    resetMemberMeasurement(input: Input<"resetMemberMeasurement">, options?: CallOptions): Answer<"resetMemberMeasurement"> {
        return this.call("resetMemberMeasurement", input, options);
    }

    /** Set a member's password and sign the member out everywhere. For administrators. `POST /set_member_password/{user_id}` */
    setMemberPassword(input: Input<"setMemberPassword">, options?: CallOptions): Answer<"setMemberPassword"> {
        return this.call("setMemberPassword", input, options);
    }

    /** Issue a code with which a member who has forgotten their password chooses a new one. For administrators. `GET /issue_pw_reset/{user_id}` */
    issuePwReset(input: Input<"issuePwReset">, options?: CallOptions): Answer<"issuePwReset"> {
        return this.call("issuePwReset", input, options);
    }

    /** Get a member's role. For administrators, and for members about themselves. `GET /get_member_role/{user_id}` */
    getMemberRole(input: Input<"getMemberRole">, options?: CallOptions): Answer<"getMemberRole"> {
        return this.call("getMemberRole", input, options);
    }

    /** Set a member's role; idempotent. For administrators. `POST /set_member_role/{user_id}` */
    setMemberRole(input: Input<"setMemberRole">, options?: CallOptions): Answer<"setMemberRole"> {
        return this.call("setMemberRole", input, options);
    }

    /** Disable the second factor of a member who has lost it. For administrators. `GET /reset_member_otp/{user_id}` */
    resetMemberOtp(input: Input<"resetMemberOtp">, options?: CallOptions): Answer<"resetMemberOtp"> {
        return this.call("resetMemberOtp", input, options);
    }

    /** Remove the passkeys and the single sign-on of a member, and sign the member out everywhere. For administrators. `GET /reset_member_sign_ins/{user_id}` */
    resetMemberSignIns(input: Input<"resetMemberSignIns">, options?: CallOptions): Answer<"resetMemberSignIns"> {
        return this.call("resetMemberSignIns", input, options);
    }

    /** Issue a code with which a member sets up a second factor where administrators need one. For administrators. `GET /issue_member_otp/{user_id}` */
    issueMemberOtp(input: Input<"issueMemberOtp">, options?: CallOptions): Answer<"issueMemberOtp"> {
        return this.call("issueMemberOtp", input, options);
    }

    /** List the roster, the members of the university, by id. For administrators. `GET /get_roster` */
    getRoster(input?: Input<"getRoster">, options?: CallOptions): Answer<"getRoster"> {
        return this.call("getRoster", input, options);
    }

    /** Import members of another system with their password hashes. For administrators. `POST /import_members` */
    importMembers(input: Input<"importMembers">, options?: CallOptions): Answer<"importMembers"> {
        return this.call("importMembers", input, options);
    }

    /** Import views, likes, searches and opened newsfeeds of members in another system. For administrators. `POST /import_acts` */
    importActs(input: Input<"importActs">, options?: CallOptions): Answer<"importActs"> {
        return this.call("importActs", input, options);
    }

    /** Import the roster, the members of the university with their passwords. For administrators. `POST /import_roster` */
    importRoster(input: Input<"importRoster">, options?: CallOptions): Answer<"importRoster"> {
        return this.call("importRoster", input, options);
    }

    /** Remove a member. For administrators. `GET /admin_remove_user/{user_id}` */
    adminRemoveUser(input: Input<"adminRemoveUser">, options?: CallOptions): Answer<"adminRemoveUser"> {
        return this.call("adminRemoveUser", input, options);
    }

    /** List the members who may not sign in. For administrators. `GET /get_blacklist` */
    getBlacklist(options?: CallOptions): Answer<"getBlacklist"> {
        return this.call("getBlacklist", undefined, options);
    }

    /** Add a member to the blacklist: the member cannot sign in, and all their tokens are revoked. For administrators. `GET /push_blacklist/{user_id}` */
    pushBlacklist(input: Input<"pushBlacklist">, options?: CallOptions): Answer<"pushBlacklist"> {
        return this.call("pushBlacklist", input, options);
    }

    /** Remove a member from the blacklist: the member can sign in again. For administrators. `GET /pop_blacklist/{user_id}` */
    popBlacklist(input: Input<"popBlacklist">, options?: CallOptions): Answer<"popBlacklist"> {
        return this.call("popBlacklist", input, options);
    }

    /** List where a member is signed in. For administrators. `GET /get_member_sessions/{user_id}` */
    getMemberSessions(input: Input<"getMemberSessions">, options?: CallOptions): Answer<"getMemberSessions"> {
        return this.call("getMemberSessions", input, options);
    }

    /** Sign a member out everywhere. For administrators. `GET /sign_out_member/{user_id}` */
    signOutMember(input: Input<"signOutMember">, options?: CallOptions): Answer<"signOutMember"> {
        return this.call("signOutMember", input, options);
    }

    /** Sign a member out of one session. For administrators. `GET /sign_out_member_session/{user_id}/{session_obi}` */
    signOutMemberSession(input: Input<"signOutMemberSession">, options?: CallOptions): Answer<"signOutMemberSession"> {
        return this.call("signOutMemberSession", input, options);
    }

    /** List the invitations, without their codes. For administrators. `GET /get_invitations` */
    getInvitations(options?: CallOptions): Answer<"getInvitations"> {
        return this.call("getInvitations", undefined, options);
    }

    /** Invite people: make a code with which they sign up, whoever else may. For administrators. `POST /add_invitation` */
    addInvitation(input: Input<"addInvitation">, options?: CallOptions): Answer<"addInvitation"> {
        return this.call("addInvitation", input, options);
    }

    /** Remove an invitation: its code no longer works. For administrators. `GET /remove_invitation/{invitation_obi}` */
    removeInvitation(input: Input<"removeInvitation">, options?: CallOptions): Answer<"removeInvitation"> {
        return this.call("removeInvitation", input, options);
    }

    /** List the API keys, without their secrets. For administrators. `GET /get_keys` */
    getKeys(options?: CallOptions): Answer<"getKeys"> {
        return this.call("getKeys", undefined, options);
    }

    /** Make an API key, which a program sends in place of a token. For administrators. `POST /add_key` */
    addKey(input: Input<"addKey">, options?: CallOptions): Answer<"addKey"> {
        return this.call("addKey", input, options);
    }

    /** Revoke an API key: its next request fails. For administrators. `GET /remove_key/{key_obi}` */
    removeKey(input: Input<"removeKey">, options?: CallOptions): Answer<"removeKey"> {
        return this.call("removeKey", input, options);
    }

    /** List the webhooks, without their secrets. For administrators. `GET /get_webhooks` */
    getWebhooks(options?: CallOptions): Answer<"getWebhooks"> {
        return this.call("getWebhooks", undefined, options);
    }

    /** Add a webhook: another system that is told about what happens from now on. For administrators. `POST /add_webhook` */
    addWebhook(input: Input<"addWebhook">, options?: CallOptions): Answer<"addWebhook"> {
        return this.call("addWebhook", input, options);
    }

    /** Remove a webhook and what it has not been told yet. For administrators. `GET /remove_webhook/{webhook_obi}` */
    removeWebhook(input: Input<"removeWebhook">, options?: CallOptions): Answer<"removeWebhook"> {
        return this.call("removeWebhook", input, options);
    }

    /** Give a webhook a new secret; the one before also signs for 24 hours. For administrators. `GET /rotate_webhook/{webhook_obi}` */
    rotateWebhook(input: Input<"rotateWebhook">, options?: CallOptions): Answer<"rotateWebhook"> {
        return this.call("rotateWebhook", input, options);
    }

    /** Queue a delivery of the event `ping` to a webhook. For administrators. `GET /test_webhook/{webhook_obi}` */
    testWebhook(input: Input<"testWebhook">, options?: CallOptions): Answer<"testWebhook"> {
        return this.call("testWebhook", input, options);
    }

    /** List the deliveries of webhooks that wait or were given up, latest first. For administrators. `GET /get_webhook_deliveries` */
    getWebhookDeliveries(options?: CallOptions): Answer<"getWebhookDeliveries"> {
        return this.call("getWebhookDeliveries", undefined, options);
    }

    /** Send a delivery of a webhook again that waits or was given up. For administrators. `GET /retry_webhook_delivery/{delivery_obi}` */
    retryWebhookDelivery(input: Input<"retryWebhookDelivery">, options?: CallOptions): Answer<"retryWebhookDelivery"> {
        return this.call("retryWebhookDelivery", input, options);
    }

    /** List the mail that waits or was given up, latest first. For administrators. `GET /get_mails` */
    getMails(options?: CallOptions): Answer<"getMails"> {
        return this.call("getMails", undefined, options);
    }

    /** Send a mail again that waits or was given up. For administrators. `GET /retry_mail/{mail_obi}` */
    retryMail(input: Input<"retryMail">, options?: CallOptions): Answer<"retryMail"> {
        return this.call("retryMail", input, options);
    }

    /** Send a test to an address, and say what the mail server answered. For administrators. `POST /test_mail` */
    testMail(input: Input<"testMail">, options?: CallOptions): Answer<"testMail"> {
        return this.call("testMail", input, options);
    }

    /** List the sources: the feeds that the service reads by itself. For administrators. `GET /get_sources` */
    getSources(options?: CallOptions): Answer<"getSources"> {
        return this.call("getSources", undefined, options);
    }

    /** Return a source. For administrators. `GET /get_source/{source_obi}` */
    getSource(input: Input<"getSource">, options?: CallOptions): Answer<"getSource"> {
        return this.call("getSource", input, options);
    }

    /** Add a source: a feed that the service reads by itself from now on. For administrators. `POST /add_source` */
    addSource(input: Input<"addSource">, options?: CallOptions): Answer<"addSource"> {
        return this.call("addSource", input, options);
    }

    /** Change a source. For administrators. `POST /update_source/{source_obi}` */
    updateSource(input: Input<"updateSource">, options?: CallOptions): Answer<"updateSource"> {
        return this.call("updateSource", input, options);
    }

    /** Remove a source; its posts stay. For administrators. `GET /remove_source/{source_obi}` */
    removeSource(input: Input<"removeSource">, options?: CallOptions): Answer<"removeSource"> {
        return this.call("removeSource", input, options);
    }

    /** Pause a source: it is not fetched until it is resumed. For administrators. `GET /pause_source/{source_obi}` */
    pauseSource(input: Input<"pauseSource">, options?: CallOptions): Answer<"pauseSource"> {
        return this.call("pauseSource", input, options);
    }

    /** Fetch a source again that was paused or has ended; its failures are forgotten. For administrators. `GET /resume_source/{source_obi}` */
    resumeSource(input: Input<"resumeSource">, options?: CallOptions): Answer<"resumeSource"> {
        return this.call("resumeSource", input, options);
    }

    /** Fetch a source now, and return what has arrived. For administrators. `GET /fetch_source/{source_obi}` */
    fetchSource(input: Input<"fetchSource">, options?: CallOptions): Answer<"fetchSource"> {
        return this.call("fetchSource", input, options);
    }

    /** Find the feeds that a web page names. For administrators. `POST /discover_sources` */
    discoverSources(input: Input<"discoverSources">, options?: CallOptions): Answer<"discoverSources"> {
        return this.call("discoverSources", input, options);
    }

    /** Import sources from a list in OPML, as feed readers export it. For administrators. `POST /import_sources` */
    importSources(input: Input<"importSources">, options?: CallOptions): Answer<"importSources"> {
        return this.call("importSources", input, options);
    }

    /** Export the sources as a list in OPML. For administrators. `GET /export_sources` */
    exportSources(options?: CallOptions): Answer<"exportSources"> {
        return this.call("exportSources", undefined, options);
    }

    /** List the records of the audit trail, latest first. For administrators. `GET /get_audit` */
    getAudit(input?: Input<"getAudit">, options?: CallOptions): Answer<"getAudit"> {
        return this.call("getAudit", input, options);
    }

    /** Verify the audit trail: that no record was changed, inserted or removed. For administrators. `GET /verify_audit` */
    verifyAudit(input?: Input<"verifyAudit">, options?: CallOptions): Answer<"verifyAudit"> {
        return this.call("verifyAudit", input, options);
    }

    /** Get the whole audit trail, earliest first. For administrators. `GET /export_audit` */
    exportAudit(options?: CallOptions): Answer<"exportAudit"> {
        return this.call("exportAudit", undefined, options);
    }

    /** List all notices, newest first. Anyone may call it; a token that fails is as none. `GET /get_all_notice` */
    getAllNotice(input?: Input<"getAllNotice">, options?: CallOptions): Answer<"getAllNotice"> {
        return this.call("getAllNotice", input, options);
    }

    /** List the notices of the general page or of a topic, with all fields. Anyone may call it; a token that fails is as none. `GET /get_notices` */
    getNotices(input?: Input<"getNotices">, options?: CallOptions): Answer<"getNotices"> {
        return this.call("getNotices", input, options);
    }

    /** Get a notice and count a view. Anyone may call it; a token that fails is as none. `GET /get_notice/{notice_obi}` */
    getNotice(input: Input<"getNotice">, options?: CallOptions): Answer<"getNotice"> {
        return this.call("getNotice", input, options);
    }

    /** Publish a notice. For administrators. `POST /insert_notice` */
    insertNotice(input: Input<"insertNotice">, options?: CallOptions): Answer<"insertNotice"> {
        return this.call("insertNotice", input, options);
    }

    /** Change the given fields of a notice. For administrators. `POST /update_notice/{notice_obi}` */
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

    /** List the saved drafts of all administrators, the one that was saved last first. For administrators. `GET /get_notice_drafts` */
    getNoticeDrafts(options?: CallOptions): Answer<"getNoticeDrafts"> {
        return this.call("getNoticeDrafts", undefined, options);
    }

    /** Save a draft of a notice. For administrators. `POST /save_notice_draft` */
    saveNoticeDraft(input: Input<"saveNoticeDraft">, options?: CallOptions): Answer<"saveNoticeDraft"> {
        return this.call("saveNoticeDraft", input, options);
    }

    /** Publish a draft and remove it. For administrators. `GET /publish_notice_draft/{draft_obi}` */
    publishNoticeDraft(input: Input<"publishNoticeDraft">, options?: CallOptions): Answer<"publishNoticeDraft"> {
        return this.call("publishNoticeDraft", input, options);
    }

    /** Remove a draft. For administrators. `GET /remove_notice_draft/{draft_obi}` */
    removeNoticeDraft(input: Input<"removeNoticeDraft">, options?: CallOptions): Answer<"removeNoticeDraft"> {
        return this.call("removeNoticeDraft", input, options);
    }

    /** Get the number of reads of a notice on each of the last days. For administrators. `GET /get_notice_reads/{notice_obi}` */
    getNoticeReads(input: Input<"getNoticeReads">, options?: CallOptions): Answer<"getNoticeReads"> {
        return this.call("getNoticeReads", input, options);
    }

    /** Get the two lines of an app's front page. Anyone may call it. `GET /get_main_info` */
    getMainInfo(options?: CallOptions): Answer<"getMainInfo"> {
        return this.call("getMainInfo", undefined, options);
    }

    /** Change one or both of the two lines. For administrators. `POST /update_main_info` */
    updateMainInfo(input: Input<"updateMainInfo">, options?: CallOptions): Answer<"updateMainInfo"> {
        return this.call("updateMainInfo", input, options);
    }

    /** Send feedback that concerns no notice. For members. `POST /send_feedback` */
    sendFeedback(input: Input<"sendFeedback">, options?: CallOptions): Answer<"sendFeedback"> {
        return this.call("sendFeedback", input, options);
    }

    /** List all feedback, newest first. For administrators. `GET /get_all_feedback` */
    getAllFeedback(options?: CallOptions): Answer<"getAllFeedback"> {
        return this.call("getAllFeedback", undefined, options);
    }

    /** List open or all feedback, newest first, in pages. For administrators. `GET /get_feedback` */
    getFeedback(input?: Input<"getFeedback">, options?: CallOptions): Answer<"getFeedback"> {
        return this.call("getFeedback", input, options);
    }

    /** Mark feedback as done or open. For administrators. `GET /update_feedback/{feedback_obi}/{activation}` */
    updateFeedback(input: Input<"updateFeedback">, options?: CallOptions): Answer<"updateFeedback"> {
        return this.call("updateFeedback", input, options);
    }

    /** Get a post with its whole text. Anyone may call it. `GET /get_post/{post_obi}` */
    getPost(input: Input<"getPost">, options?: CallOptions): Answer<"getPost"> {
        return this.call("getPost", input, options);
    }

    /** List the categories that have posts, largest first. Anyone may call it. `GET /get_categories` */
    getCategories(options?: CallOptions): Answer<"getCategories"> {
        return this.call("getCategories", undefined, options);
    }

    /** List all posts, newest first, also those past their end date. Anyone may call it. `GET /get_posts` */
    getPosts(input?: Input<"getPosts">, options?: CallOptions): Answer<"getPosts"> {
        return this.call("getPosts", input, options);
    }

    /** Get all posts in the format that `/import_posts` reads. For administrators. `GET /export_posts` */
    exportPosts(options?: CallOptions): Answer<"exportPosts"> {
        return this.call("exportPosts", undefined, options);
    }

    /** Count a view and record it in a member's list. Anyone may call it; a token that fails is as none. `GET /post_view/{post_obi}` */
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

    /** Hide a post from the member's recommended feed; idempotent. For members. `GET /post_hide/{post_obi}` */
    postHide(input: Input<"postHide">, options?: CallOptions): Answer<"postHide"> {
        return this.call("postHide", input, options);
    }

    /** Show a hidden post in the recommended feed again; idempotent. For members. `GET /post_unhide/{post_obi}` */
    postUnhide(input: Input<"postUnhide">, options?: CallOptions): Answer<"postUnhide"> {
        return this.call("postUnhide", input, options);
    }

    /** Publish a post. For administrators. `POST /insert_post` */
    insertPost(input: Input<"insertPost">, options?: CallOptions): Answer<"insertPost"> {
        return this.call("insertPost", input, options);
    }

    /** Change the given fields of a post. For administrators. `POST /update_post/{post_obi}` */
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

    /** Record a search; a member's search is also added to the member's list. Anyone may call it; a token that fails is as none. `POST /search_logging` */
    searchLogging(input: Input<"searchLogging">, options?: CallOptions): Answer<"searchLogging"> {
        return this.call("searchLogging", input, options);
    }

    /** Get the posts that match best. Anyone may call it. `POST /priority_search/{num}` */
    prioritySearch(input: Input<"prioritySearch">, options?: CallOptions): Answer<"prioritySearch"> {
        return this.call("prioritySearch", input, options);
    }

    /** Get the posts of a category that match best. Anyone may call it. `POST /category_search/{category_name}/{num}` */
    categorySearch(input: Input<"categorySearch">, options?: CallOptions): Answer<"categorySearch"> {
        return this.call("categorySearch", input, options);
    }

    /** Get the web sites of matching posts, the site with the most matches first. Anyone may call it. `POST /domain_search` */
    domainSearch(input: Input<"domainSearch">, options?: CallOptions): Answer<"domainSearch"> {
        return this.call("domainSearch", input, options);
    }

    /** Get the member's most recent searches. For members. `GET /get_user_lately_search/{num}` */
    getUserLatelySearch(input: Input<"getUserLatelySearch">, options?: CallOptions): Answer<"getUserLatelySearch"> {
        return this.call("getUserLatelySearch", input, options);
    }

    /** Get similar words from posts for each token of a search. Anyone may call it. `POST /get_similarity_words` */
    getSimilarityWords(input: Input<"getSimilarityWords">, options?: CallOptions): Answer<"getSimilarityWords"> {
        return this.call("getSimilarityWords", input, options);
    }

    /** Get posts recommended to the member. Anyone may call it; a token that fails is as none. `GET /get_recommendation_newsfeed` */
    getRecommendationNewsfeed(input?: Input<"getRecommendationNewsfeed">, options?: CallOptions): Answer<"getRecommendationNewsfeed"> {
        return this.call("getRecommendationNewsfeed", input, options);
    }

    /** Get popular posts. Anyone may call it; a token that fails is as none. `GET /get_popularity_newsfeed` */
    getPopularityNewsfeed(input?: Input<"getPopularityNewsfeed">, options?: CallOptions): Answer<"getPopularityNewsfeed"> {
        return this.call("getPopularityNewsfeed", input, options);
    }

    /** Get the posts of a topic, newest first. Anyone may call it; a token that fails is as none. `GET /get_newsfeed_of_topic/{category_name}` */
    getNewsfeedOfTopic(input: Input<"getNewsfeedOfTopic">, options?: CallOptions): Answer<"getNewsfeedOfTopic"> {
        return this.call("getNewsfeedOfTopic", input, options);
    }

    /** Get the posts of a source, newest first. Anyone may call it; a token that fails is as none. `GET /get_newsfeed_of_source/{source_obi}` */
    getNewsfeedOfSource(input: Input<"getNewsfeedOfSource">, options?: CallOptions): Answer<"getNewsfeedOfSource"> {
        return this.call("getNewsfeedOfSource", input, options);
    }

    /** Get the posts of a topic (version 1). Anyone may call it; a token that fails is as none. `GET /get_topic_newsfeed/{newsfeed_name}` @deprecated */
    getTopicNewsfeed(input: Input<"getTopicNewsfeed">, options?: CallOptions): Answer<"getTopicNewsfeed"> {
        return this.call("getTopicNewsfeed", input, options);
    }

    /** Get the weights of the signals of the recommended feed. For administrators. `GET /get_feed_weights` */
    getFeedWeights(options?: CallOptions): Answer<"getFeedWeights"> {
        return this.call("getFeedWeights", undefined, options);
    }

    /** Learn the weights from the acts of the members now, which may take minutes. For administrators. `GET /learn_feed_weights` */
    learnFeedWeights(options?: CallOptions): Answer<"learnFeedWeights"> {
        return this.call("learnFeedWeights", undefined, options);
    }

    /** Get the most frequent searches. Anyone may call it. `GET /get_search_realtime` */
    getSearchRealtime(options?: CallOptions): Answer<"getSearchRealtime"> {
        return this.call("getSearchRealtime", undefined, options);
    }

    /** Get the terms searched more than usual. Anyone may call it. `GET /get_search_bursts` */
    getSearchBursts(options?: CallOptions): Answer<"getSearchBursts"> {
        return this.call("getSearchBursts", undefined, options);
    }

    /** Get the access log of a period. For administrators. `GET /get_log_date/{months}/{days}/{hours}/{limit}` */
    getLogDate(input: Input<"getLogDate">, options?: CallOptions): Answer<"getLogDate"> {
        return this.call("getLogDate", input, options);
    }

    /** Get the access log of a member. For administrators, and for members about themselves. `GET /get_log_user/{user_id}/{limit}` */
    getLogUser(input: Input<"getLogUser">, options?: CallOptions): Answer<"getLogUser"> {
        return this.call("getLogUser", input, options);
    }

    /** Get the access log of a member in a period. For administrators, and for members about themselves. `GET /get_log_user_date/{user_id}/{months}/{days}/{hours}/{limit}` */
    getLogUserDate(input: Input<"getLogUserDate">, options?: CallOptions): Answer<"getLogUserDate"> {
        return this.call("getLogUserDate", input, options);
    }

    /** Get a page of the access log. For administrators. `GET /get_log` */
    getLog(input?: Input<"getLog">, options?: CallOptions): Answer<"getLog"> {
        return this.call("getLog", input, options);
    }

    /** Get the figures of a period of at most 366 days: by day, hour, student number and device. For administrators. `GET /get_analysis_of_days/{first}/{last}` */
    getAnalysisOfDays(input: Input<"getAnalysisOfDays">, options?: CallOptions): Answer<"getAnalysisOfDays"> {
        return this.call("getAnalysisOfDays", input, options);
    }

    /** Get the state of the service: the figures of today, and of the program and its database. For administrators. `GET /get_status` */
    getStatus(options?: CallOptions): Answer<"getStatus"> {
        return this.call("getStatus", undefined, options);
    }

    /** Get the totals of all days. Anyone may call it. `GET /get_analysis` */
    getAnalysis(options?: CallOptions): Answer<"getAnalysis"> {
        return this.call("getAnalysis", undefined, options);
    }

    /** Get the figures of each day from a number of days ago until today, oldest first. Anyone may call it; a token that fails is as none. `GET /get_everyday_analysis_days_ago/{days}` */
    getEverydayAnalysisDaysAgo(input: Input<"getEverydayAnalysisDaysAgo">, options?: CallOptions): Answer<"getEverydayAnalysisDaysAgo"> {
        return this.call("getEverydayAnalysisDaysAgo", input, options);
    }

    /** Get the figures of one day. Anyone may call it; a token that fails is as none. `GET /get_everyday_analysis_specific_days/{year}/{month}/{day}` */
    specificDays(input: Input<"specificDays">, options?: CallOptions): Answer<"specificDays"> {
        return this.call("specificDays", input, options);
    }

    /** Count a device. Anyone may call it. `GET /insert_device/{device}` */
    insertDevice(input: Input<"insertDevice">, options?: CallOptions): Answer<"insertDevice"> {
        return this.call("insertDevice", input, options);
    }

    /** Get the number of counted devices of each type. Anyone may call it. `GET /get_device` */
    getDevice(options?: CallOptions): Answer<"getDevice"> {
        return this.call("getDevice", undefined, options);
    }

    /** Get the report of a period of at most 366 days. Anyone may call it. `GET /get_report` */
    getReport(input?: Input<"getReport">, options?: CallOptions): Answer<"getReport"> {
        return this.call("getReport", input, options);
    }

    /** Show the report of a period as a page. Anyone may call it. `GET /reports` */
    reports(input?: Input<"reports">, options?: CallOptions): Answer<"reports"> {
        return this.call("reports", input, options);
    }

    /** Get a table of the report of a period as CSV. Anyone may call it. `GET /reports/{file}` */
    reportsFile(input: Input<"reportsFile">, options?: CallOptions): Answer<"reportsFile"> {
        return this.call("reportsFile", input, options);
    }

    /** Receive live events as they happen. Anyone may call it; a token that fails is as none. `GET /events` */
    events(input?: Input<"events">, options?: CallOptions): LiveEvents {
        return this.listen(input, options);
    }

    /** Check liveness. Anyone may call it. `GET /healthz` */
    healthz(options?: CallOptions): Answer<"healthz"> {
        return this.call("healthz", undefined, options);
    }

    /** Check readiness. Anyone may call it. `GET /readyz` */
    readyz(options?: CallOptions): Answer<"readyz"> {
        return this.call("readyz", undefined, options);
    }

    /** See what runs here. Anyone may call it. `GET /` */
    home(options?: CallOptions): Answer<"home"> {
        return this.call("home", undefined, options);
    }

    /** Get this document. Anyone may call it. `GET /openapi.json` */
    openapiJson(options?: CallOptions): Answer<"openapiJson"> {
        return this.call("openapiJson", undefined, options);
    }

    /** Show a page for reading this document and trying the operations. Anyone may call it. `GET /docs` */
    docs(options?: CallOptions): Answer<"docs"> {
        return this.call("docs", undefined, options);
    }
}
