// Generated from the OpenAPI document by scripts/generate.mjs. Do not edit.

export interface paths {
    readonly "/sign_up": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Sign up a member
         * @description `result` is `success`; or `sign_up fail` with the code `sign_up_closed` when the server is set up so that nobody signs up
         *     here, `wrong user info` when the id, password or nickname is not valid, `check pw` when the passwords differ,
         *     `already id` when the id is taken. The first that applies is returned.
         *
         *     No token needed.
         */
        readonly post: operations["sign_up"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/sign_up_invited": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Sign up with an invitation
         * @description It works whoever else may sign up, and the member gets the role of the invitation.
         *     `result` is `success`; or `incorrect code` when the code is wrong, used up, expired or removed, `wrong user info` when the id,
         *     password or nickname is not valid, `check pw` when the passwords differ, `already id` when the id is taken. The first that
         *     applies is returned, and such a sign-up does not use the invitation. After several wrong codes, further attempts of the client
         *     are refused for a while with 429.
         *
         *     No token needed.
         */
        readonly post: operations["sign_up_invited"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/sign_in": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Sign in
         * @description `result` is `success`; or `No member`, `incorrect pw`, `blacklist user`; the first that applies is returned. Only for a
         *     member who has enabled the second factor, it is `otp required` without a code and `incorrect otp` with a wrong one.
         *     After several failed attempts, further attempts of the client are refused for a while with 429.
         *
         *     No token needed.
         */
        readonly post: operations["sign_in"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/sign_in_up": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Sign in a university member
         * @description The first sign-in signs the member up. `result` is `success`; or `not school` when the university does not know the id, and with
         *     the code `sign_up_closed` when it does but nobody becomes a member here; `pw incorrect` when the password is wrong, `api error`
         *     when the university's system does not respond, `blacklist user`. Only for a member who has enabled the second factor, it is
         *     `otp required` without a code and `incorrect otp` with a wrong one.
         *
         *     No token needed.
         */
        readonly post: operations["sign_in_up"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/change_pw": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Change the password
         * @description Revokes all earlier tokens. `result` is `success`; or `incorrect pw`, `wrong user info` when the new password is not valid,
         *     `check pw` when its two copies differ.
         *
         *     For members.
         */
        readonly post: operations["change_pw"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/sign_out_all": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Sign out everywhere
         * @description For members.
         */
        readonly get: operations["sign_out_all"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_sessions": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the member's sessions
         * @description For members.
         */
        readonly get: operations["get_sessions"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/sign_out_session/{session_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Sign out one session
         * @description For members.
         */
        readonly get: operations["sign_out_session"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/request_pw_reset": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Request a password reset
         * @description Mails a code with which the member chooses a new password. The mail goes to the confirmed address of the member, if there is
         *     one. The answer is the same, after the same time, whether or not there is such a member. The code works once and for 20 minutes;
         *     of the codes of several mails, the latest three work. After several requests of a client in an hour, further ones are refused
         *     with 429; after several about one member, it is sent no further mail.
         *
         *     No token needed.
         */
        readonly post: operations["request_pw_reset"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/reset_pw": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Reset a forgotten password
         * @description Takes a code of a mail or of an administrator, and signs the member out everywhere. The member signs in with it afterwards, and
         *     with their second factor if they have enabled one. `result` is `success`; or `incorrect code` when the code is wrong, was used
         *     before or has expired, `wrong user info` when the new password is not valid, `check pw` when its two copies differ. After
         *     several wrong codes, further attempts of the client are refused for a while with 429.
         *
         *     No token needed.
         */
        readonly post: operations["reset_pw"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_email": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the e-mail address
         * @description For members.
         */
        readonly get: operations["get_email"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/set_email": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Set the e-mail address
         * @description A mail with a code confirms a new address. An empty address removes the present one. Until then, an earlier address stays, and a
         *     mail tells it. The answer is the same whether or not another member has the address: that is told to the address alone. A new
         *     password, and whatever else ends the sessions of the member, withdraws it. `result` is `success`; or `incorrect pw`. Only for a
         *     member who has enabled the second factor, it is `otp required` without a code and `incorrect otp` with a wrong one. After
         *     several requests in an hour, further ones are refused with 429.
         *
         *     For members.
         */
        readonly post: operations["set_email"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/confirm_email": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Confirm an e-mail address
         * @description Takes the code of the mail that `set_email` or `sign_up` sent. The six digits need the member's token; the code of the link does
         *     not. `result` is `success`; or `incorrect code` when the code is wrong, was used before or has expired. The digits do not work
         *     any more after five wrong ones: ask for another mail.
         *
         *     No token needed; an invalid token is ignored.
         */
        readonly post: operations["confirm_email"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/sign_in_oidc": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Sign in with single sign-on
         * @description Exchanges the code that the page of the app got for an access token. The app sends the browser to `GET /sign_in_oidc`, with a
         *     `page` of the setting `oidc-pages` and a `state` in the query, and it comes back to the page with `state` and the code, or with
         *     `error` and `error_description`. The code works once and for two minutes. `result` is `success`; or `incorrect code` when the
         *     code is wrong, was used before or has expired, `already id` when there is an account with the same id or address: its member
         *     signs in with their password and links it with the code, which then works for ten minutes; or `blacklist user`. Only for a
         *     member who has enabled the second factor, it is `otp required` without a code of it and `incorrect otp` with a wrong one; the
         *     code of the sign-on stays valid.
         *
         *     No token needed.
         */
        readonly post: operations["sign_in_oidc"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/link_oidc": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Link a single sign-on
         * @description From then on, the person of the code signs in to the member's account. The account must be the one with the person's address or
         *     id. It is linked to one person at most; another link replaces it, as after `unlink_oidc`. `result` is `success`; or
         *     `incorrect pw`; or `incorrect code` when the code is wrong, was used before or has expired, is about another account, or the
         *     person has an account already.
         *
         *     For members.
         */
        readonly post: operations["link_oidc"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/unlink_oidc": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Unlink the single sign-on
         * @description The person does not sign in to the account any more: other sessions that have begun with single sign-on end, and so do codes
         *     that were not exchanged yet. `result` is `success`; or `incorrect pw`.
         *
         *     For members.
         */
        readonly post: operations["unlink_oidc"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/begin_passkey": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Begin adding a passkey
         * @description The app gives the options to the browser (`PublicKeyCredential.parseCreationOptionsFromJSON` and `navigator.credentials.create`)
         *     and sends its answer to `add_passkey` within five minutes. `result` is `success`; or `incorrect pw`. Only for a member who has
         *     enabled the second factor, it is `otp required` without a code and `incorrect otp` with a wrong one.
         *
         *     For members.
         */
        readonly post: operations["begin_passkey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/add_passkey": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Add a passkey
         * @description `result` is `success`; or `incorrect code` when the answer of the browser is not one to these options, or comes too late.
         *
         *     For members.
         */
        readonly post: operations["add_passkey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_passkeys": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the member's passkeys
         * @description For members.
         */
        readonly get: operations["get_passkeys"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/remove_passkey/{passkey_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Remove a passkey
         * @description Nobody signs in with it any more. Sessions that have begun with it go on.
         *
         *     For members.
         */
        readonly get: operations["remove_passkey"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/begin_passkey_sign_in": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Begin a passkey sign-in
         * @description The app gives the options to the browser (`PublicKeyCredential.parseRequestOptionsFromJSON` and `navigator.credentials.get`) and
         *     sends its answer to `sign_in_passkey` within five minutes. Who signs in is known only then.
         *
         *     No token needed.
         */
        readonly get: operations["begin_passkey_sign_in"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/sign_in_passkey": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Sign in with a passkey
         * @description `result` is `success`; or `incorrect code` when the answer of the browser is not one to these options, comes too late or is that of
         *     an unknown passkey; or `blacklist user`. Only for a member who has enabled the second factor after adding the passkey, it is `otp
         *     required` without a code of it and `incorrect otp` with a wrong one.
         *
         *     No token needed.
         */
        readonly post: operations["sign_in_passkey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_otp": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get two-factor status
         * @description For members.
         */
        readonly get: operations["get_otp"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/begin_otp": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Begin two-factor enrolment
         * @description Returns a secret for the member's authenticator, such as an app on their phone. The second factor is enabled by `enable_otp`.
         *     `result` is `success`; or `incorrect pw`. Only where administrators need a second factor, it is `otp required` without an
         *     enrolment code and `incorrect otp` with a wrong one.
         *
         *     For members.
         */
        readonly post: operations["begin_otp"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/enable_otp": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Enable the second factor
         * @description From then on, a sign-in needs a code of the authenticator. The member's other sessions end. `result` is `success`; or
         *     `incorrect otp`. The recovery codes are not shown again.
         *
         *     For members.
         */
        readonly post: operations["enable_otp"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/disable_otp": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Disable the second factor
         * @description The member's other sessions end.
         *     `result` is `success`; or `incorrect pw`, `incorrect otp`.
         *
         *     For members.
         */
        readonly post: operations["disable_otp"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/renew_recovery_codes": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Replace the recovery codes
         * @description The member's other sessions end. `result` is `success`; or `incorrect pw`, `incorrect otp`. The recovery codes are not shown again.
         *
         *     For members.
         */
        readonly post: operations["renew_recovery_codes"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_userinfo": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the member's information
         * @description `result` is `success`; or `not found` for a missing or invalid token.
         *
         *     For members.
         */
        readonly get: operations["get_userinfo"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_specific_userinfo/{type_num}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the member's lists
         * @description `type_num` is 0 for all lists, 1 for liked posts, 2 for viewed posts, 3 for searches, 4 for opened newsfeeds.
         *     `result` is `success`; or `bad request` for any other value and for a missing or invalid token.
         *
         *     For members.
         */
        readonly get: operations["get_specific_userinfo"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_my_data": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Download the member's data
         * @description The object contains everything that is stored about the member. The response is a download of any length, sent as it is read:
         *     lists may change meanwhile. At most 16 downloads of members run at the same time, two of one member, each for at most ten
         *     minutes; the client reads at least 64 KiB in 20 seconds. The hash of the password and other secrets are left out.
         *
         *     For members.
         */
        readonly get: operations["get_my_data"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/change_nickname": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Change the member's nickname
         * @description `result` is `success`; or `No member` for a missing or invalid token, `rewrite_nickname` when the nickname is not valid.
         *
         *     For members.
         */
        readonly post: operations["change_nickname"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/update_auto_login/{auto_login}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Set the app's automatic sign-in
         * @description For members.
         */
        readonly get: operations["update_auto_login"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/reset_user_measurement": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Reset the measured interests
         * @description Removes the lists of viewed posts, searches and opened newsfeeds, and shows hidden posts again. Likes stay, but no
         *     longer count. `result` is `success`; or `Not found` for a missing or invalid token.
         *
         *     For members.
         */
        readonly get: operations["reset_user_measurement"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/remove_mine": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Remove the member's own account
         * @description `result` is `success`; or `Not found` for a missing or invalid token.
         *
         *     For members.
         */
        readonly get: operations["remove_mine"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/check_admin": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Check for administrator rights
         * @description `result` is `success`; or `Not admin`.
         *
         *     For administrators.
         */
        readonly get: operations["check_admin"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_admins": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List administrators by grant date
         * @description For administrators.
         */
        readonly get: operations["get_admins"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/grant_admin/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Grant administrator rights
         * @description Idempotent. Only administrators do this: no API key and no role allows it.
         *
         *     For administrators.
         */
        readonly get: operations["grant_admin"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/revoke_admin/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Revoke administrator rights
         * @description Idempotent. Only administrators do this: no API key and no role allows it.
         *
         *     For administrators.
         */
        readonly get: operations["revoke_admin"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_members": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the members by id
         * @description For administrators.
         */
        readonly get: operations["get_members"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_member/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a member's information
         * @description For administrators.
         */
        readonly get: operations["get_member"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_member_lists/{user_id}/{type_num}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a member's lists
         * @description `type_num` is 0 for all lists, 1 for liked posts, 2 for viewed posts, 3 for searches, 4 for opened newsfeeds.
         *
         *     For administrators.
         */
        readonly get: operations["get_member_lists"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_member_data/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Download a member's data
         * @description The object contains everything that is stored about the member. The response is a download as that of `/get_my_data`, and
         *     recorded in the audit trail. Only administrators read it: no API key and no role allows it.
         *
         *     For administrators.
         */
        readonly get: operations["get_member_data"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/change_member_nickname/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Change a member's nickname
         * @description `result` is `success`, or `rewrite_nickname` when the nickname is not valid.
         *
         *     For administrators.
         */
        readonly post: operations["change_member_nickname"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/update_member_auto_login/{user_id}/{auto_login}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Set a member's automatic sign-in
         * @description For administrators.
         */
        readonly get: operations["update_member_auto_login"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/reset_member_measurement/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Reset a member's measured interests
         * @description Removes the lists of viewed posts, searches and opened newsfeeds, and shows hidden posts again. Likes stay, but no
         *     longer count.
         *
         *     For administrators.
         */
        readonly get: operations["reset_member_measurement"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/set_member_password/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Set a member's password
         * @description Signs the member out everywhere. `result` is `success`, or `wrong user info` when the password is not valid. Only administrators
         *     set passwords: no API key and no role allows it.
         *
         *     For administrators.
         */
        readonly post: operations["set_member_password"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/issue_pw_reset/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Issue a password reset code
         * @description A member who has forgotten their password chooses a new one with it. The code works once and for an hour, and replaces an
         *     earlier one of an administrator. It ends when the password changes or the member is signed out everywhere. Administrators cannot
         *     issue one to themselves. Only administrators do this: no API key and no role allows it.
         *
         *     For administrators.
         */
        readonly get: operations["issue_pw_reset"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_member_sign_ins/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a member's ways to sign in
         * @description It tells why a member cannot sign in or gets no mail; addresses and the names of devices stay with the member.
         *
         *     For administrators.
         */
        readonly get: operations["get_member_sign_ins"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_member_role/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a member's role
         * @description For administrators, and for members about themselves.
         */
        readonly get: operations["get_member_role"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/set_member_role/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Set a member's role; idempotent
         * @description The member may then do what the scopes allow an API key, from the next request on, also with an earlier token. Only
         *     administrators do this: no key and no role allows it.
         *
         *     For administrators.
         */
        readonly post: operations["set_member_role"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/reset_member_otp/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Disable a member's second factor
         * @description For members who have lost it. Only administrators do this: no API key and no role allows it.
         *
         *     For administrators.
         */
        readonly get: operations["reset_member_otp"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/reset_member_sign_ins/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Remove a member's other sign-ins
         * @description Removes the passkeys and the single sign-on of the member, and signs the member out everywhere. For an account of which somebody
         *     else may have got hold: a new password alone leaves these. The member signs in with the password, and adds them again. Only
         *     administrators do this: no API key and no role allows it.
         *
         *     For administrators.
         */
        readonly get: operations["reset_member_sign_ins"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/issue_member_otp/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Issue an enrolment code
         * @description The member needs it to set up a second factor if administrators need one. The code works once and for an hour, and replaces an
         *     earlier one. It ends when the member is signed out everywhere. Administrators cannot issue one to themselves. Only
         *     administrators do this: no API key and no role allows it.
         *
         *     For administrators.
         */
        readonly get: operations["issue_member_otp"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_roster": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the roster by id
         * @description For administrators.
         */
        readonly get: operations["get_roster"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/import_members": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Import members
         * @description Members of another system keep their passwords by their hashes. The body, up to 64 MiB, has one JSON object on each line, or
         *     is one array of such objects. It can also be CSV, after a line with the names of the fields. Existing members are skipped and do
         *     not change. An invalid line is reported and does not stop the import. If the database fails during the import, the response is
         *     `internal error` with the numbers of members `inserted` and `skipped` so far; the same import can then be repeated and continues
         *     from there.
         *
         *     For administrators.
         */
        readonly post: operations["import_members"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/import_acts": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Import acts of members
         * @description Acts are views, likes, searches and opened newsfeeds in another system. The body, up to 64 MiB, has one JSON object on each
         *     line, or is one array of such objects. Each act counts once: an act that was imported before is skipped. An invalid line is
         *     reported and does not stop the import. If the database fails during the import, the response is `internal error` as that of
         *     `/import_members`.
         *
         *     For administrators.
         */
        readonly post: operations["import_acts"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/import_roster": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Import the university roster
         * @description Each entry has the id, name, major and password of a member of the university. The body, up to 64 MiB, is CSV whose first line
         *     names the columns `id`, `name`, `major` and `password`. A line replaces the entry with its id. Only administrators change the
         *     entries of members: no key and no role does. An invalid line is reported and does not stop the import. Each new password takes
         *     approximately 20 ms on one core. If the database fails during the import, the response is `internal error` as that of
         *     `/import_posts`.
         *
         *     For administrators.
         */
        readonly post: operations["import_roster"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin_remove_user/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Remove a member
         * @description `result` is `success`; or `Not admin`, `Not found`.
         *
         *     For administrators.
         */
        readonly get: operations["admin_remove_user"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_blacklist": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List blacklisted members
         * @description For administrators.
         */
        readonly get: operations["get_blacklist"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/push_blacklist/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Blacklist a member
         * @description The member cannot sign in, and all their tokens are revoked. `result` is `success`, or `Not found` for an unknown member.
         *
         *     For administrators.
         */
        readonly get: operations["push_blacklist"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/pop_blacklist/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Remove from the blacklist
         * @description `result` is `success`, or `Not found` for an unknown member.
         *
         *     For administrators.
         */
        readonly get: operations["pop_blacklist"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_member_sessions/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List a member's sessions
         * @description For administrators.
         */
        readonly get: operations["get_member_sessions"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/sign_out_member/{user_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Sign a member out everywhere
         * @description For administrators.
         */
        readonly get: operations["sign_out_member"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/sign_out_member_session/{user_id}/{session_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Sign out a member's session
         * @description For administrators.
         */
        readonly get: operations["sign_out_member_session"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_invitations": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List invitations
         * @description For administrators.
         */
        readonly get: operations["get_invitations"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/add_invitation": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Add an invitation
         * @description People sign up with its code, whatever `sign-up` says. The code is not shown again. It works while the administrator who made it
         *     is one. Only administrators invite: no API key and no role allows it.
         *
         *     For administrators.
         */
        readonly post: operations["add_invitation"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/remove_invitation/{invitation_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Remove an invitation
         * @description For administrators.
         */
        readonly get: operations["remove_invitation"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_keys": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List API keys
         * @description For administrators.
         */
        readonly get: operations["get_keys"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/add_key": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Add an API key
         * @description A program sends it in place of a token. The key is not shown again. Only administrators make keys: no API key and no role allows
         *     it.
         *
         *     For administrators.
         */
        readonly post: operations["add_key"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/remove_key/{key_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Revoke an API key
         * @description For administrators.
         */
        readonly get: operations["remove_key"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_webhooks": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List webhooks
         * @description For administrators.
         */
        readonly get: operations["get_webhooks"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/add_webhook": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Add a webhook
         * @description The server sends it the events that happen from then on. The secret, with which the receiver verifies signatures, is not shown
         *     again.
         *
         *     For administrators.
         */
        readonly post: operations["add_webhook"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/remove_webhook/{webhook_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Delete a webhook
         * @description Deletes its pending deliveries, too.
         *
         *     For administrators.
         */
        readonly get: operations["remove_webhook"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/rotate_webhook/{webhook_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Rotate a webhook's secret
         * @description The previous secret also signs for 24 hours.
         *
         *     For administrators.
         */
        readonly get: operations["rotate_webhook"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/test_webhook/{webhook_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Queue a `ping` delivery
         * @description For administrators.
         */
        readonly get: operations["test_webhook"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_webhook_deliveries": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List pending and failed deliveries
         * @description For administrators.
         */
        readonly get: operations["get_webhook_deliveries"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/retry_webhook_delivery/{delivery_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Retry a webhook delivery
         * @description For administrators.
         */
        readonly get: operations["retry_webhook_delivery"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_mails": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List pending and failed mail
         * @description For administrators.
         */
        readonly get: operations["get_mails"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/retry_mail/{mail_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Retry a mail
         * @description For administrators.
         */
        readonly get: operations["retry_mail"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/test_mail": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Send a test mail
         * @description Returns what the mail server answered. Only administrators do this: no API key and no role allows it.
         *
         *     For administrators.
         */
        readonly post: operations["test_mail"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_sources": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List sources
         * @description For administrators.
         */
        readonly get: operations["get_sources"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_source/{source_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a source
         * @description For administrators.
         */
        readonly get: operations["get_source"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/add_source": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Add a source
         * @description From then on, the server fetches this feed. The running service fetches it within seconds; `fetch_source` does so at once and
         *     says what has arrived.
         *
         *     For administrators.
         */
        readonly post: operations["add_source"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/update_source/{source_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Change a source
         * @description The fields that are left out stay. With another address it is fetched at once, and its posts stay.
         *
         *     For administrators.
         */
        readonly post: operations["update_source"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/remove_source/{source_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Remove a source
         * @description Its posts stay unless `with_posts` is 1.
         *
         *     For administrators.
         */
        readonly get: operations["remove_source"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/pause_source/{source_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Pause a source
         * @description For administrators.
         */
        readonly get: operations["pause_source"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/resume_source/{source_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Resume a source
         * @description Fetches a source again that was paused or has ended; its failures are forgotten.
         *
         *     For administrators.
         */
        readonly get: operations["resume_source"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/fetch_source/{source_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Fetch a source now
         * @description A fetch that fails is an answer with an `error`, and the service tries again later.
         *
         *     For administrators.
         */
        readonly get: operations["fetch_source"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/discover_sources": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Find a page's feeds
         * @description A feed itself is found, too. A page that cannot be fetched is an answer with an `error`.
         *
         *     For administrators.
         */
        readonly post: operations["discover_sources"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/import_sources": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Import sources from OPML
         * @description Sources that exist stay as they are. A folder becomes a topic of the sources in it.
         *
         *     For administrators.
         */
        readonly post: operations["import_sources"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/export_sources": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Export sources as OPML
         * @description For administrators.
         */
        readonly get: operations["export_sources"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_audit": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List audit records, latest first
         * @description For administrators.
         */
        readonly get: operations["get_audit"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/verify_audit": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Verify the audit trail
         * @description Checks that no record was changed, inserted or removed.
         *
         *     For administrators.
         */
        readonly get: operations["verify_audit"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/export_audit": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Export the audit trail
         * @description The response is a download of any length with one JSON object on each line: what a record of `/get_audit` has, and in
         *     `stored` the fields that its hash covers. At most 16 downloads run at the same time, four of one caller, each for at most
         *     ten minutes; the client reads at least 64 KiB in 20 seconds.
         *
         *     For administrators.
         */
        readonly get: operations["export_audit"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_all_notice": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List all notices, newest first
         * @description These are the notices of the general page that the caller sees now; `get_notices` also lists those of a topic.
         *     Administrators see every notice.
         *
         *     No token needed; an invalid token is ignored.
         */
        readonly get: operations["get_all_notice"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_notices": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List notices of a page
         * @description Returns the notices of the general page or of a topic, with all fields. The notices that the caller sees now, pinned ones first,
         *     then the newest first. Administrators see every notice, without a `topic` also those of all topics. With `html=1` each notice
         *     has its text as HTML: a safe subset of Markdown, without scripts, images and raw HTML.
         *
         *     No token needed; an invalid token is ignored.
         */
        readonly get: operations["get_notices"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_notice/{notice_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a notice
         * @description Counts a view. With `html=1` the notice has its text as HTML: a safe subset of Markdown, without scripts, images and raw HTML.
         *
         *     No token needed; an invalid token is ignored.
         */
        readonly get: operations["get_notice"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/insert_notice": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Publish a notice
         * @description `title` and `post` are required. `result` is `success`; or `Not admin`.
         *
         *     For administrators.
         */
        readonly post: operations["insert_notice"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/update_notice/{notice_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Change a notice
         * @description Fields that are not given stay as they are. `result` is `success`; or `Not admin`.
         *
         *     For administrators.
         */
        readonly post: operations["update_notice"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/remove_notice/{notice_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Remove a notice
         * @description `result` is `success`; or `Not admin`, `Not found`.
         *
         *     For administrators.
         */
        readonly get: operations["remove_notice"];
        readonly put?: never;
        /**
         * Send feedback on a notice
         * @description `result` is `success`; or `bad request` for a missing or invalid token, `fail` when the notice does not exist or the text or
         *     type is not valid.
         *
         *     For members.
         */
        readonly post: operations["notice_feedback"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_notice_drafts": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List notice drafts, latest first
         * @description For administrators.
         */
        readonly get: operations["get_notice_drafts"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/save_notice_draft": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Save a notice draft
         * @description At least one field of the notice is required. There are at most 200 drafts.
         *
         *     For administrators.
         */
        readonly post: operations["save_notice_draft"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/publish_notice_draft/{draft_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Publish and remove a draft
         * @description Inserts the notice, or changes the notice that the draft names, and returns the `_id` of the notice.
         *
         *     For administrators.
         */
        readonly get: operations["publish_notice_draft"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/remove_notice_draft/{draft_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Remove a draft
         * @description For administrators.
         */
        readonly get: operations["remove_notice_draft"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_notice_reads/{notice_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Count a notice's daily reads
         * @description One entry for each calendar day, oldest first; the last one is today.
         *
         *     For administrators.
         */
        readonly get: operations["get_notice_reads"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_main_info": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the front page lines
         * @description No token needed.
         */
        readonly get: operations["get_main_info"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/update_main_info": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Change the front page lines
         * @description For administrators.
         */
        readonly post: operations["update_main_info"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/send_feedback": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Send feedback
         * @description It concerns no notice. `result` is `success`; or `bad request` for a missing or invalid token, `fail` when the text or type is
         *     not valid.
         *
         *     For members.
         */
        readonly post: operations["send_feedback"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_all_feedback": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List all feedback, newest first
         * @description For administrators.
         */
        readonly get: operations["get_all_feedback"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_feedback": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Page through feedback, newest first
         * @description For administrators.
         */
        readonly get: operations["get_feedback"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/update_feedback/{feedback_obi}/{activation}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Mark feedback done or open
         * @description For administrators.
         */
        readonly get: operations["update_feedback"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_post/{post_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a post
         * @description No token needed.
         */
        readonly get: operations["get_post"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_categories": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List categories, largest first
         * @description No token needed.
         */
        readonly get: operations["get_categories"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_posts": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List posts
         * @description Returns all posts, newest first, also those past their end date.
         *
         *     No token needed.
         */
        readonly get: operations["get_posts"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/export_posts": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Export posts
         * @description The lines have the format that `/import_posts` reads. The response is a download of any length with one JSON object on each
         *     line, in the order of the insertions, sent as it is read: posts may change meanwhile. At most 16 downloads run at the same time,
         *     four of one caller, each for at most ten minutes; the client reads at least 64 KiB in 20 seconds.
         *
         *     For administrators.
         */
        readonly get: operations["export_posts"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/post_view/{post_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * View a post
         * @description Counts a view and records it in a member's list. For the popularity of the post, each viewer counts once an hour, and the guests
         *     of one network together at most 30 times.
         *
         *     No token needed; an invalid token is ignored.
         */
        readonly get: operations["post_view"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/post_like/{post_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Like a post; idempotent
         * @description For members.
         */
        readonly get: operations["post_like"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/post_unlike/{post_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Remove a like; idempotent
         * @description For members.
         */
        readonly get: operations["post_unlike"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/post_hide/{post_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Hide a post from recommendations
         * @description Other feeds and searches still show it. The newest 300 hidden posts of a member stay hidden. Resetting the
         *     measurement of interest shows them again.
         *
         *     For members.
         */
        readonly get: operations["post_hide"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/post_unhide/{post_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Show a hidden post again
         * @description For members.
         */
        readonly get: operations["post_unhide"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/insert_post": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Publish a post
         * @description `title` and `url` are required.
         *
         *     For administrators.
         */
        readonly post: operations["insert_post"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/update_post/{post_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Change a post
         * @description For administrators.
         */
        readonly post: operations["update_post"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/remove_post/{post_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Remove a post
         * @description For administrators.
         */
        readonly get: operations["remove_post"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/import_posts": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Import posts
         * @description The body, up to 64 MiB, has one JSON object with the fields of a post on each line, or is one array of such objects.
         *     It can also be CSV, after a line with the names of the fields, or an RSS, Atom or JSON feed. The `url` identifies a post: a
         *     new post is inserted, and an existing post gets the given fields. An invalid line is
         *     reported and does not stop the import. If the database fails during the import, the response is `internal error` with
         *     the numbers of posts `inserted`, `updated` and `skipped` so far; the same import can then be repeated and continues
         *     from there.
         *
         *     For administrators.
         */
        readonly post: operations["import_posts"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/search_logging": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Record a search
         * @description A member's search is also added to the member's list.
         *
         *     No token needed; an invalid token is ignored.
         */
        readonly post: operations["search_logging"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/priority_search/{num}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Search posts
         * @description Returns the best matches first.
         *
         *     No token needed.
         */
        readonly post: operations["priority_search"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/category_search/{category_name}/{num}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Search a category
         * @description Returns the best matches first.
         *
         *     No token needed.
         */
        readonly post: operations["category_search"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/domain_search": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Search web sites
         * @description Returns the web sites of matching posts, the site with the most matches first.
         *
         *     No token needed.
         */
        readonly post: operations["domain_search"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_user_lately_search/{num}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the member's recent searches
         * @description For members.
         */
        readonly get: operations["get_user_lately_search"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_similarity_words": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Get similar words
         * @description Returns words of posts that are similar to each token of a search. `[{"token": [{"word": 0.83}, …]}, …]` in the order of the
         *     tokens: for each token at most 10 words with their similarity, from 0.5 to 1, most similar first; the
         *     settings can change both bounds. For a token that no post contains, such as a misspelled or inflected word, the words with a
         *     similar spelling are used; if there are none, the list is empty.
         *
         *     No token needed.
         */
        readonly post: operations["get_similarity_words"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_recommendation_newsfeed": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get recommended posts
         * @description Based on the posts that the member liked and viewed, their searches and the newsfeeds that they opened; posts that
         *     the member has seen are left out. Guests, and members with little activity, get fresh and popular posts across
         *     topics.
         *
         *     No token needed; an invalid token is ignored.
         */
        readonly get: operations["get_recommendation_newsfeed"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_popularity_newsfeed": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get popular posts
         * @description Ranked by views and likes; recent ones count more.
         *
         *     No token needed; an invalid token is ignored.
         */
        readonly get: operations["get_popularity_newsfeed"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_newsfeed_of_topic/{category_name}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a topic's newest posts
         * @description The posts whose topics or tags contain the name. Opening the first page is recorded in the member's list.
         *
         *     No token needed; an invalid token is ignored.
         */
        readonly get: operations["get_newsfeed_of_topic"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_newsfeed_of_source/{source_obi}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a source's newest posts
         * @description No token needed; an invalid token is ignored.
         */
        readonly get: operations["get_newsfeed_of_source"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_topic_newsfeed/{newsfeed_name}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a topic's posts (v1)
         * @deprecated
         * @description Superseded by `/get_newsfeed_of_topic/{category_name}`, which gives the same answer.
         *
         *     No token needed; an invalid token is ignored.
         */
        readonly get: operations["get_topic_newsfeed"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_feed_weights": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the feed's weights
         * @description For administrators.
         */
        readonly get: operations["get_feed_weights"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/learn_feed_weights": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Learn the feed's weights now
         * @description Learns them from the acts of the members, which may take minutes. `overloaded` means that imports run, or that others are
         *     learning: try again later.
         *
         *     For administrators.
         */
        readonly get: operations["learn_feed_weights"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_search_realtime": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the most frequent searches
         * @description At most ten terms of the last 24 hours with their counts, most frequent first; of equally frequent terms, the most
         *     recent first. For each term, a visitor counts once in a clock hour and at most five times, and the guests of one
         *     network at most 100 times. Spellings that differ in the blanks between Hangul or in an English plural count
         *     together; the most frequent one is shown.
         *
         *     No token needed.
         */
        readonly get: operations["get_search_realtime"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_search_bursts": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List bursts of searches
         * @description A burst is a term that visitors search more than usual. At most ten terms that visitors searched in the current clock hour (UTC)
         *     and the two before far more than in the other hours of the last 24, compared with all other terms. A burst has at least three
         *     visitors, twice the usual level, and a score of 2; the highest score is first. `count` counts each visitor once an hour; `usual`
         *     is the number that the earlier hours lead to expect; `score` is (count − usual) / √(usual + 1). Searches of the last second may
         *     be missing.
         *
         *     No token needed.
         */
        readonly get: operations["get_search_bursts"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_log_date/{months}/{days}/{hours}/{limit}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a period's access log
         * @description Newest first. Exactly one of `months`, `days` and `hours` is above 0. For administrators, unless the settings make
         *     the log public.
         *
         *     For administrators.
         */
        readonly get: operations["get_log_date"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_log_user/{user_id}/{limit}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a member's access log
         * @description Newest first. `guest` gives the lines of all guests, `removed` those of removed members. For administrators and
         *     the member, unless the settings make the log public.
         *
         *     For administrators, and for members about themselves.
         */
        readonly get: operations["get_log_user"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_log_user_date/{user_id}/{months}/{days}/{hours}/{limit}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a member's dated log
         * @description Returns the lines of one member in a period. Combines `/get_log_user/{user_id}/{limit}` and
         *     `/get_log_date/{months}/{days}/{hours}/{limit}`.
         *
         *     For administrators, and for members about themselves.
         */
        readonly get: operations["get_log_user_date"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_log": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Page through the access log
         * @description Newest first. A page reads a bounded part of the log, so it can be empty although `next` names another page. For
         *     administrators and for the member whose lines it asks for, unless the settings make the log public.
         *
         *     For administrators.
         */
        readonly get: operations["get_log"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_analysis_of_days/{first}/{last}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the figures of days
         * @description Returns the figures of at most 366 days by day, hour, student number and device.
         *
         *     For administrators.
         */
        readonly get: operations["get_analysis_of_days"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_status": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the service status
         * @description For administrators.
         */
        readonly get: operations["get_status"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_analysis": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the overall totals
         * @description No token needed.
         */
        readonly get: operations["get_analysis"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_everyday_analysis_days_ago/{days}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List daily figures, oldest first
         * @description No token needed; an invalid token is ignored.
         */
        readonly get: operations["get_everyday_analysis_days_ago"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_everyday_analysis_specific_days/{year}/{month}/{day}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get one day's figures
         * @description No token needed; an invalid token is ignored.
         */
        readonly get: operations["specific_days"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/insert_device/{device}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Count a device
         * @description No token needed.
         */
        readonly get: operations["insert_device"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_device": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get the device counts
         * @description No token needed.
         */
        readonly get: operations["get_device"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/get_report": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a period's report
         * @description A period has at most 366 days. Figures by day, visitors by weekday and hour, devices, and the topics and posts that were
         *     published in the period. Search terms are those of the last 24 hours, and are missing if the period ends before today. Nothing
         *     in a report is about a single visitor.
         *
         *     No token needed.
         */
        readonly get: operations["get_report"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/reports": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Show a report page
         * @description The figures of `/get_report` with charts, for browsers. The page has no script and loads nothing.
         *
         *     No token needed.
         */
        readonly get: operations["reports"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/reports/{file}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get a report as CSV
         * @description UTF-8 with the names of the columns in the first line. A text that a spreadsheet would take for a formula has an
         *     apostrophe before it.
         *
         *     No token needed.
         */
        readonly get: operations["reports_file"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Receive live events
         * @description Server-sent events, which browsers read with `EventSource`. The `data` of each event is a JSON object: the schema
         *     `LiveEvents` has one for each name. `notice`: a notice
         *     was published, changed, or hidden, which has only its id. `post`: a post was inserted. `counts`: the counts of today,
         *     first and whenever they change, every five seconds at most. `reset`: events of the kind `event` are left out, so read the
         *     data again. After a lost connection, the stream continues with the events after `Last-Event-ID`, also at another server.
         *     An event may come twice. A comment comes every 15 to 20 seconds. A token is not needed; all callers get the same.
         *
         *     `changes` comes only if `events` names it, and only for administrators, and API keys and roles with `analytics:read`: for each part
         *     of the data a number that grows when the part changes, first and then whenever one grows, twice a second at most. The
         *     numbers are those of one server. The stream ends when the right ends.
         *
         *     No token needed; an invalid token is ignored.
         */
        readonly get: operations["events"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/healthz": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Check liveness
         * @description Answers `success` whenever the server runs.
         *
         *     No token needed.
         */
        readonly get: operations["healthz"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/readyz": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Check readiness
         * @description Answers `success` when the server can take requests. Answers 503 `overloaded` when the database does not respond,
         *     when writes fail, as on a full disk, and before and while the server shuts down.
         *
         *     No token needed.
         */
        readonly get: operations["readyz"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * See what runs here
         * @description A page for browsers; JSON if the client prefers it.
         *
         *     No token needed.
         */
        readonly get: operations["home"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/openapi.json": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Get this document
         * @description No token needed.
         */
        readonly get: operations["openapi_json"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/docs": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Show the API page
         * @description No token needed.
         */
        readonly get: operations["docs"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The answer of the operations that sign a member in. */
        readonly AccessToken: {
            /**
             * @description The bearer token that the other operations take.
             * @example eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.Zm9yIHRoZSBkb2N1bWVudA
             */
            readonly access_token: string;
        };
        /** @description The account of a member. */
        readonly AccountData: {
            /**
             * @description The id as registered.
             * @example ann
             */
            readonly _id: string;
            /**
             * @description The nickname.
             * @example Ann
             */
            readonly nickname: string;
            /**
             * @description The name that the university verified, or `""`.
             * @example Ann Lee
             */
            readonly name: string;
            /**
             * @description The subject that the university verified, or `""`.
             * @example Physics
             */
            readonly major: string;
            /**
             * @description The confirmed e-mail address; null without one.
             * @example ann@example.org
             */
            readonly email?: string | null;
            /**
             * @description An e-mail address that waits for its confirmation; null without one.
             * @example ann.lee@example.org
             */
            readonly pending_email?: string | null;
            readonly single_sign_on?: components["schemas"]["LinkedPerson"] | null;
            /** @description The passkeys. */
            readonly passkeys: readonly components["schemas"]["Passkey"][];
            /**
             * Format: date-time
             * @description The date of the sign-up.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * Format: int64
             * @description Whether the app signs the member in automatically: 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly auto_login: 0 | 1;
            /**
             * Format: date-time
             * @description Since when the member is an administrator; null for others.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly admin?: string | null;
            /** @description The scopes of the member's role; empty without one. */
            readonly scopes: readonly ("notices" | "posts" | "posts:import" | "acts:import" | "feedback" | "members" | "members:read" | "front" | "analytics:read" | "audit:read" | "sources" | "webhooks")[];
            /**
             * Format: date-time
             * @description Since when the member is on the blacklist; null for others.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly blacklisted?: string | null;
            /**
             * Format: date-time
             * @description The begin of the measurement of interest; null if it was never reset.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly measured_since?: string | null;
            /**
             * Format: date-time
             * @description Since when the second factor is enabled; null if it is not.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly second_factor?: string | null;
            /**
             * Format: int64
             * @description The number of unused recovery codes.
             * @example 9
             */
            readonly recovery_codes: number;
            /**
             * Format: int64
             * @description The number of places from which the member signed in during the last 30 days, stored as keyed hashes.
             * @example 2
             */
            readonly sign_in_places: number;
        };
        /** @description An act of a member in another system, as a line of an import. */
        readonly ActLineFields: {
            /**
             * @description The id of the member.
             * @example ann
             */
            readonly id: string;
            /**
             * @description `view`, `like`, `search` or `newsfeed`.
             * @example view
             * @enum {string}
             */
            readonly type: "view" | "like" | "search" | "newsfeed";
            /**
             * @description The URL of the post, of a view and of a like.
             * @example https://news.example.org/eclipse
             */
            readonly url?: string | null;
            /**
             * @description The text of a search.
             * @example eclipse
             */
            readonly search?: string | null;
            /**
             * @description The name of an opened newsfeed.
             * @example science
             */
            readonly newsfeed_name?: string | null;
            /**
             * @description The date of the act, RFC 3339.
             * @example 2026-11-20T08:36:00Z
             */
            readonly date: string;
        };
        readonly AddPasskeyFields: {
            /**
             * @description What `begin_passkey` has given.
             * @example eyJzdGF0ZSI6IiJ9.5f1d
             */
            readonly ceremony: string;
            /**
             * @description The answer of the browser (`credential.toJSON()`), as JSON.
             * @example {"id":"AAECAwQFBgcICQoLDA0ODw","type":"public-key"}
             */
            readonly credential: string;
            /**
             * @description A name by which the member knows the device.
             * @example My phone
             */
            readonly name: string;
        };
        /** @description The id of a new passkey. */
        readonly AddedPasskey: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
        };
        /** @description An administrator. */
        readonly Administrator: {
            /**
             * @description The id as registered.
             * @example ann
             */
            readonly user_id: string;
            /**
             * @description The nickname.
             * @example Ann
             */
            readonly nickname: string;
            /**
             * Format: date-time
             * @description The date when the member became an administrator.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
        };
        /** @description The administrators. */
        readonly Admins: {
            /** @description The administrators by the date of the grant, the earliest first, then by id. */
            readonly admins: readonly components["schemas"]["Administrator"][];
        };
        /** @description Another post has the url. */
        readonly AlreadyUrl: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "already url";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "url_taken";
            /**
             * @description What was wrong, or what to do, for people.
             * @example another post has this address
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example url
             */
            readonly field?: string;
        };
        /** @description The figures over all days. */
        readonly Analysis: {
            /**
             * Format: int64
             * @description Average number of visitors per day since the first day with data, rounded down.
             * @example 7
             */
            readonly day_avg_visitor: number;
            /**
             * Format: int64
             * @description Highest number of visitors on one day.
             * @example 7
             */
            readonly highest_day_visitor: number;
            /**
             * Format: int64
             * @description Number of posts.
             * @example 7
             */
            readonly posts_count: number;
            /**
             * Format: int64
             * @description Number of searches.
             * @example 7
             */
            readonly search_count: number;
            /**
             * Format: int64
             * @description Number of communications; the interface documents this field with this name.
             * @example 7
             */
            readonly communication_avg: number;
            /**
             * Format: int64
             * @description Number of visitors today.
             * @example 7
             */
            readonly today_visitor: number;
            /**
             * Format: int64
             * @description Number of likes given, minus those taken back.
             * @example 7
             */
            readonly total_fav: number;
            /**
             * Format: int64
             * @description Number of views of posts.
             * @example 7
             */
            readonly total_view: number;
            /**
             * Format: int64
             * @description Sum of the visitors of all days.
             * @example 7
             */
            readonly total_visitor: number;
        };
        /** @description A post that a fetch has brought. */
        readonly ArrivedPost: {
            /**
             * @description The id of the post.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The title of the post.
             * @example An eclipse over the lake
             */
            readonly title: string;
        };
        /** @description A page of the audit trail. */
        readonly AuditPage: {
            /** @description The records, latest first. */
            readonly audit: readonly components["schemas"]["AuditRecord"][];
            /**
             * Format: int64
             * @description The `before` of the next page; null on the last one.
             * @example 7
             */
            readonly next?: number | null;
        };
        /** @description A record of the audit trail. */
        readonly AuditRecord: {
            /**
             * Format: int64
             * @description Its number. The numbers have no gaps.
             * @example 7
             */
            readonly seq: number;
            /**
             * Format: date-time
             * @description The date when it was done.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * @description Who did it: `member` (an administrator), `operator`, `key` or `service`.
             * @example operator
             * @enum {string}
             */
            readonly actor_kind: "operator" | "member" | "key" | "service";
            /**
             * @description The id of the administrator, `removed` after they were removed; the name of the key; the name of the operator's
             *     account on the machine, `""` if it is not known. For an operator who acts in the name of an administrator, both:
             *     `root as ann`, or `as ann`.
             * @example ann
             */
            readonly actor: string;
            /**
             * @description The way: `http`, `cli`, `tui` or `library`.
             * @example library
             * @enum {string}
             */
            readonly surface: "library" | "http" | "cli" | "tui";
            /**
             * @description What was done, such as `notice.insert`.
             * @example member.blacklist
             */
            readonly action: string;
            /**
             * @description The id of the member or of the record that was acted on, `removed` for a removed member, `""` for none.
             * @example ann
             */
            readonly subject: string;
            /**
             * @description What was there before, shortened; `""` for nothing.
             * @example everywhere
             */
            readonly before: string;
            /**
             * @description What was there afterwards, shortened; `""` for nothing.
             * @example everywhere
             */
            readonly after: string;
            /**
             * @description The hash in hexadecimal digits.
             * @example 0000000000000000000000000000000000000000000000000000000000000000
             */
            readonly hash: string;
        };
        /** @description A field or a parameter is missing, of another type, or out of bounds; or the body cannot be read. */
        readonly BadRequest: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "bad request";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "invalid_value" | "missing_value" | "nothing_given" | "malformed_body" | "malformed_request" | "next_expired" | "not_possible" | "name_taken";
            /**
             * @description What was wrong, or what to do, for people.
             * @example title is one line of 1 to 200 characters
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The token is missing, malformed, expired or revoked. */
        readonly BadToken: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "bad token";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "bad_token";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the token is missing, expired or revoked: sign in, and send Authorization: Bearer with the access_token
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        readonly BeginOtpFields: {
            /**
             * @description The password.
             * @example a long sentence
             */
            readonly pw: string;
            /**
             * @description The code that `issue_member_otp` or `tidings member otp` has issued, where administrators need a second factor.
             * @example 8k2m-0qwz-7hn4-c9xe
             */
            readonly enrolment_code?: string | null;
        };
        readonly BeginPasskeyFields: {
            /**
             * @description The current password.
             * @example a long sentence
             */
            readonly pw: string;
            /**
             * @description The code of the authenticator, or a recovery code, of a member who has enabled the second factor.
             * @example 287082
             */
            readonly otp?: string | null;
        };
        /** @description The blacklisted members. */
        readonly Blacklist: {
            /** @description The members by the date of the blacklisting, the latest first, then by id. */
            readonly blacklist: readonly components["schemas"]["Blacklisted"][];
        };
        /** @description A blacklisted member. */
        readonly Blacklisted: {
            /**
             * @description The id as registered.
             * @example ann
             */
            readonly user_id: string;
            /**
             * Format: date-time
             * @description The date when the member was blacklisted.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
        };
        /** @description The body has more than 1 MiB. */
        readonly BodyTooLarge: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "payload too large";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "body_too_large";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the body is larger than the limit of this operation
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The answer to asking for the terms searched more than usual. */
        readonly Bursts: {
            /** @description The terms, highest score first. */
            readonly search_bursts: readonly components["schemas"]["SearchBurst"][];
        };
        /** @description The answer to listing the categories. */
        readonly Categories: {
            /** @description The categories with posts, ordered by the number of posts, greatest first, then by name. */
            readonly categories: readonly components["schemas"]["Category"][];
        };
        /** @description A category and the number of its posts. */
        readonly Category: {
            /**
             * @description The name of the category: the topic that its posts have.
             * @example science
             */
            readonly category_name: string;
            /**
             * Format: int64
             * @description The number of posts that have this topic.
             * @example 7
             */
            readonly posts: number;
        };
        /** @description What a browser needs to make or to use a passkey. */
        readonly Ceremony: {
            /**
             * @description What the app sends back with the answer of the browser.
             * @example eyJzdGF0ZSI6IiJ9.5f1d
             */
            readonly ceremony: string;
            /**
             * @description The options for `navigator.credentials`, as JSON.
             * @example {"challenge":"AAECAwQFBgcICQoLDA0ODw","rpId":"app.example"}
             */
            readonly options: string;
        };
        /**
         * @description For each part of the data, a number that grows whenever the part changes.
         *
         *     Changes of this process are visible immediately, and changes of other processes within a quarter of a second. A
         *     program compares this with an earlier value to find out which parts to read again.
         */
        readonly Changes: {
            /**
             * Format: int64
             * @description Posts with their views and likes.
             * @example 7
             */
            readonly posts: number;
            /**
             * Format: int64
             * @description Notices.
             * @example 7
             */
            readonly notices: number;
            /**
             * Format: int64
             * @description Feedback.
             * @example 7
             */
            readonly feedback: number;
            /**
             * Format: int64
             * @description Members and the data that administrators see and set.
             * @example 7
             */
            readonly members: number;
            /**
             * Format: int64
             * @description Counters; the access log is written together with them.
             * @example 7
             */
            readonly counts: number;
            /**
             * Format: int64
             * @description Search terms.
             * @example 7
             */
            readonly terms: number;
            /**
             * Format: int64
             * @description The audit trail.
             * @example 7
             */
            readonly audit: number;
            /**
             * Format: int64
             * @description Sources.
             * @example 7
             */
            readonly sources: number;
        };
        readonly ConfirmEmailFields: {
            /**
             * @description The code.
             * @example 287082
             */
            readonly code: string;
        };
        /** @description The report of one day. */
        readonly Day: {
            /**
             * Format: date
             * @description The day, `YYYY-MM-DD`.
             * @example 2026-11-20
             */
            readonly date: string;
            /**
             * Format: int64
             * @description Number of visitors.
             * @example 7
             */
            readonly today_visitor: number;
            /** @description Number of visitors in each hour, 0 to 23. */
            readonly today_time_visitor: readonly components["schemas"]["HourVisitors"][];
            /**
             * Format: int64
             * @description Number of views of posts.
             * @example 7
             */
            readonly today_view: number;
            /**
             * Format: int64
             * @description Number of likes; taking a like back does not reduce it.
             * @example 7
             */
            readonly today_fav: number;
            /** @description Visits by student number, most visits first. */
            readonly today_student_visitor: readonly components["schemas"]["StudentVisits"][];
        };
        /** @description The figures of a day. */
        readonly DayFigures: {
            /**
             * Format: date
             * @description The day, `YYYY-MM-DD`.
             * @example 2026-11-20
             */
            readonly date: string;
            /**
             * Format: int64
             * @description Number of visitors.
             * @example 7
             */
            readonly visitor: number;
            /**
             * Format: int64
             * @description Number of visits.
             * @example 7
             */
            readonly visit: number;
            /**
             * Format: int64
             * @description Number of views of posts.
             * @example 7
             */
            readonly view: number;
            /**
             * Format: int64
             * @description Number of likes; taking a like back does not reduce it.
             * @example 7
             */
            readonly like: number;
            /**
             * Format: int64
             * @description Number of searches.
             * @example 7
             */
            readonly search: number;
            /**
             * Format: int64
             * @description Number of communications.
             * @example 7
             */
            readonly communication: number;
        };
        /** @description The reads of a notice on a day. */
        readonly DayReads: {
            /**
             * Format: date
             * @description The day, `YYYY-MM-DD` in the time zone of the service.
             * @example 2026-11-20
             */
            readonly date: string;
            /**
             * Format: int64
             * @description The number of calls of `get_notice` for the notice.
             * @example 7
             */
            readonly reads: number;
        };
        /** @description The number of visitors of a day. */
        readonly DayVisitors: {
            /**
             * Format: date
             * @description The day, `YYYY-MM-DD`.
             * @example 2026-11-20
             */
            readonly date: string;
            /**
             * Format: int64
             * @description Number of visitors.
             * @example 7
             */
            readonly visitor: number;
        };
        /** @description The answer to asking for the last days. */
        readonly Days: {
            /** @description The days, oldest first. */
            readonly analysis: readonly components["schemas"]["Day"][];
        };
        /** @description The deliveries that no receiver has accepted. */
        readonly Deliveries: {
            /** @description At most 1,000, latest first. */
            readonly deliveries: readonly components["schemas"]["Delivery"][];
        };
        /** @description A delivery that its receiver has not accepted. */
        readonly Delivery: {
            /**
             * @description Its id, which the receiver gets as `webhook-id`.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The name of the webhook.
             * @example chat
             */
            readonly webhook: string;
            /**
             * @description The event.
             * @example notice.published
             */
            readonly event: string;
            /**
             * Format: date-time
             * @description The date of the event.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * @description `pending`, or `dead` if it was given up.
             * @example pending
             * @enum {string}
             */
            readonly state: "pending" | "dead";
            /**
             * Format: int64
             * @description The number of failed attempts.
             * @example 7
             */
            readonly attempts: number;
            /**
             * Format: date-time
             * @description The date of the next attempt; null if it was given up.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly next_attempt?: string | null;
            /**
             * @description Why the latest attempt failed; null before the first one.
             * @example status 503
             */
            readonly error?: string | null;
        };
        /** @description The answer to asking for the devices. */
        readonly Devices: {
            /**
             * Format: int64
             * @description Reports of a computer.
             * @example 7
             */
            readonly pc: number;
            /**
             * Format: int64
             * @description Reports of a tablet.
             * @example 7
             */
            readonly tablet: number;
            /**
             * Format: int64
             * @description Reports of a phone.
             * @example 7
             */
            readonly mobile: number;
        };
        readonly Discover: {
            /**
             * @description The address of the page, which begins with `https://` or `http://`.
             * @example https://news.example.org/
             */
            readonly url: string;
        };
        /** @description The feeds of a page. */
        readonly DiscoveredFeeds: {
            /** @description The feeds in the order of the page, at most 50. */
            readonly feeds: readonly components["schemas"]["FoundFeed"][];
            /**
             * @description Why the page could not be fetched; null if it could.
             * @example status 503
             */
            readonly error?: string | null;
        };
        /** @description A web site with posts that a search found. */
        readonly Domain: {
            /**
             * @description The host of the site.
             * @example news.example.org
             */
            readonly title: string;
            /**
             * Format: uri
             * @description The address of the site.
             * @example https://news.example.org/eclipse
             */
            readonly url: string;
            /**
             * @description The title of the best match, followed by the number of further matches, if there are any.
             * @example 7 posts, the best: An eclipse over the lake
             */
            readonly post: string;
        };
        /** @description The answer to a search for sites. */
        readonly Domains: {
            /** @description The sites, at most 50, the one with the most matches first. */
            readonly search_result: readonly components["schemas"]["Domain"][];
            /**
             * @description If a page was asked for: the text that continues the search; `null` on the last page.
             * @example AAAAAAAAAAEAAAAAAAAAlg
             */
            readonly next?: string | null;
        };
        /** @description The answer of a successful operation that has only its result. */
        readonly Done: {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description Fields of a notice. Each may be missing or invalid: the operations check them. */
        readonly Draft: {
            /**
             * @description The title, 1 to 200 characters on one line.
             * @example Closed on Monday
             */
            readonly title: string | null;
            /**
             * @description The text, 1 to 20,000 characters.
             * @example The library opens again on Tuesday.
             */
            readonly post: string | null;
            /**
             * Format: int64
             * @description 1 shown, 0 hidden; a new notice is shown by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly activation: 0 | 1 | null;
            /**
             * @description The time from which the notice is visible, in RFC 3339 format; `""` for no limit.
             * @example 2026-11-20T08:36:00Z
             */
            readonly visible_from: string | null;
            /**
             * @description The time from which the notice is no longer visible, after `visible_from`; `""` for no limit.
             * @example 2026-11-20T08:36:00Z
             */
            readonly visible_until: string | null;
            /**
             * Format: int64
             * @description 1 to list the notice before the others; a new notice is not pinned by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly pinned: 0 | 1 | null;
            /**
             * @description The topic on whose page the notice is, 1 to 100 characters; `""` for the general page.
             * @example science
             */
            readonly topic: string | null;
            /**
             * Format: int64
             * @description 1 to show the notice to members only; a new notice is for all callers by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly members_only: 0 | 1 | null;
        };
        /** @description The answer to listing the drafts. */
        readonly DraftList: {
            /** @description The drafts of all administrators, the one that was saved last first. */
            readonly drafts: readonly components["schemas"]["SavedDraft"][];
        };
        /** @description The address of the member. */
        readonly EmailAddress: {
            /**
             * @description The confirmed address; null if there is none.
             * @example ann@example.org
             */
            readonly email?: string | null;
            /**
             * @description An address that waits for its confirmation; null if there is none.
             * @example ann.lee@example.org
             */
            readonly pending_email?: string | null;
        };
        readonly EnableOtpFields: {
            /**
             * @description The code that the authenticator shows.
             * @example 287082
             */
            readonly otp: string;
        };
        /** @description A code with which a member sets up a second factor once. */
        readonly EnrolmentCode: {
            /**
             * @description The code, which is not shown again.
             * @example 8k2m-0qwz-7hn4-c9xe
             */
            readonly enrolment_code: string;
            /**
             * Format: date-time
             * @description The time at which it expires.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly expires: string;
        };
        /** @description The failures of `add_passkey` that have status 200. */
        readonly Failure_add_passkey: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "incorrect code";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "wrong_code";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the passkey is not known, was made elsewhere, or the attempt has ended: begin again
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example credential
             */
            readonly field?: string;
        };
        /** @description The failures of `admin_remove_user` that have status 200. */
        readonly Failure_admin_remove_user: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "Not admin" | "Not found";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "bad_token" | "not_admin" | "missing_scope" | "second_factor_needed" | "not_found";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the token is missing, expired or revoked: sign in, and send Authorization: Bearer with the access_token
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The failures of `begin_otp` that have status 200. */
        readonly Failure_begin_otp: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "incorrect pw" | "otp required" | "incorrect otp";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "wrong_password" | "otp_required" | "wrong_otp";
            /**
             * @description What was wrong, or what to do, for people.
             * @example this is not the member's password
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example pw
             */
            readonly field?: string;
        };
        /** @description The failures of `begin_passkey` that have status 200. */
        readonly Failure_begin_passkey: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "incorrect pw" | "otp required" | "incorrect otp";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "wrong_password" | "otp_required" | "wrong_otp";
            /**
             * @description What was wrong, or what to do, for people.
             * @example this is not the member's password
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example pw
             */
            readonly field?: string;
        };
        /** @description The failures of `change_member_nickname` that have status 200. */
        readonly Failure_change_member_nickname: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "rewrite_nickname";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "invalid_value";
            /**
             * @description What was wrong, or what to do, for people.
             * @example a nickname has 1 to 30 visible characters on one line
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example new_nickname
             */
            readonly field?: string;
        };
        /** @description The failures of `change_nickname` that have status 200. */
        readonly Failure_change_nickname: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "No member" | "rewrite_nickname";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "bad_token" | "invalid_value";
            /**
             * @description What was wrong, or what to do, for people.
             * @example a nickname has 1 to 30 visible characters on one line
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example new_nickname
             */
            readonly field?: string;
        };
        /** @description The failures of `change_pw` that have status 200. */
        readonly Failure_change_pw: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "incorrect pw" | "wrong user info" | "check pw";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "wrong_password" | "invalid_value" | "passwords_differ";
            /**
             * @description What was wrong, or what to do, for people.
             * @example this is not the member's password
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example pw
             */
            readonly field?: string;
        };
        /** @description The failures of `check_admin` that have status 200. */
        readonly Failure_check_admin: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "Not admin";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "bad_token" | "not_admin" | "second_factor_needed";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the token is missing, expired or revoked: sign in, and send Authorization: Bearer with the access_token
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The failures of `confirm_email` that have status 200. */
        readonly Failure_confirm_email: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "incorrect code";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "wrong_code";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the code is wrong, was used before, has expired, or a later one was issued: ask for another one
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example code
             */
            readonly field?: string;
        };
        /** @description The failures of `disable_otp` that have status 200. */
        readonly Failure_disable_otp: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "incorrect pw" | "incorrect otp";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "wrong_password" | "wrong_otp";
            /**
             * @description What was wrong, or what to do, for people.
             * @example this is not the member's password
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example pw
             */
            readonly field?: string;
        };
        /** @description The failures of `enable_otp` that have status 200. */
        readonly Failure_enable_otp: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "incorrect otp";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "wrong_otp";
            /**
             * @description What was wrong, or what to do, for people.
             * @example this is not the current code of the authenticator, or the code was used before
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example otp
             */
            readonly field?: string;
        };
        /** @description The failures of `get_specific_userinfo` that have status 200. */
        readonly Failure_get_specific_userinfo: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "bad request";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "bad_token" | "invalid_value";
            /**
             * @description What was wrong, or what to do, for people.
             * @example type_num is 0 to 4
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example type_num
             */
            readonly field?: string;
        };
        /** @description The failures of `get_userinfo` that have status 200. */
        readonly Failure_get_userinfo: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "not found";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "bad_token";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the token is missing, expired or revoked: sign in, and send Authorization: Bearer with the access_token
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The failures of `insert_notice` that have status 200. */
        readonly Failure_insert_notice: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "Not admin";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "bad_token" | "not_admin" | "missing_scope" | "second_factor_needed";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the token is missing, expired or revoked: sign in, and send Authorization: Bearer with the access_token
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The failures of `link_oidc` that have status 200. */
        readonly Failure_link_oidc: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "incorrect pw" | "incorrect code";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "wrong_password" | "wrong_code";
            /**
             * @description What was wrong, or what to do, for people.
             * @example this is not the member's password
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example pw
             */
            readonly field?: string;
        };
        /** @description The failures of `notice_feedback` that have status 200. */
        readonly Failure_notice_feedback: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "bad request" | "fail";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "bad_token" | "not_found" | "invalid_value";
            /**
             * @description What was wrong, or what to do, for people.
             * @example post is 1 to 5,000 characters
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example post
             */
            readonly field?: string;
        };
        /** @description The failures of `pop_blacklist` that have status 200. */
        readonly Failure_pop_blacklist: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "Not found";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "not_found";
            /**
             * @description What was wrong, or what to do, for people.
             * @example it does not exist, or was removed in the meantime
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The failures of `push_blacklist` that have status 200. */
        readonly Failure_push_blacklist: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "Not found";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "not_found";
            /**
             * @description What was wrong, or what to do, for people.
             * @example it does not exist, or was removed in the meantime
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The failures of `remove_mine` that have status 200. */
        readonly Failure_remove_mine: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "Not found";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "bad_token";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the token is missing, expired or revoked: sign in, and send Authorization: Bearer with the access_token
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The failures of `remove_notice` that have status 200. */
        readonly Failure_remove_notice: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "Not admin" | "Not found";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "bad_token" | "not_admin" | "missing_scope" | "second_factor_needed" | "not_found";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the token is missing, expired or revoked: sign in, and send Authorization: Bearer with the access_token
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The failures of `renew_recovery_codes` that have status 200. */
        readonly Failure_renew_recovery_codes: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "incorrect pw" | "incorrect otp";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "wrong_password" | "wrong_otp";
            /**
             * @description What was wrong, or what to do, for people.
             * @example this is not the member's password
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example pw
             */
            readonly field?: string;
        };
        /** @description The failures of `reset_pw` that have status 200. */
        readonly Failure_reset_pw: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "incorrect code" | "wrong user info" | "check pw";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "wrong_code" | "invalid_value" | "passwords_differ";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the code is wrong, was used before, has expired, or a later one was issued: ask for another one
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example code
             */
            readonly field?: string;
        };
        /** @description The failures of `reset_user_measurement` that have status 200. */
        readonly Failure_reset_user_measurement: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "Not found";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "bad_token";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the token is missing, expired or revoked: sign in, and send Authorization: Bearer with the access_token
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The failures of `send_feedback` that have status 200. */
        readonly Failure_send_feedback: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "bad request" | "fail";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "bad_token" | "invalid_value";
            /**
             * @description What was wrong, or what to do, for people.
             * @example post is 1 to 5,000 characters
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example post
             */
            readonly field?: string;
        };
        /** @description The failures of `set_email` that have status 200. */
        readonly Failure_set_email: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "incorrect pw" | "otp required" | "incorrect otp";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "wrong_password" | "otp_required" | "wrong_otp";
            /**
             * @description What was wrong, or what to do, for people.
             * @example this is not the member's password
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example pw
             */
            readonly field?: string;
        };
        /** @description The failures of `set_member_password` that have status 200. */
        readonly Failure_set_member_password: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "wrong user info";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "invalid_value";
            /**
             * @description What was wrong, or what to do, for people.
             * @example a password has 8 to 128 characters
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example new_pw
             */
            readonly field?: string;
        };
        /** @description The failures of `sign_in` that have status 200. */
        readonly Failure_sign_in: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "No member" | "incorrect pw" | "blacklist user" | "otp required" | "incorrect otp";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "unknown_member" | "wrong_password" | "blacklisted" | "otp_required" | "wrong_otp";
            /**
             * @description What was wrong, or what to do, for people.
             * @example no member has this id
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example id
             */
            readonly field?: string;
        };
        /** @description The failures of `sign_in_oidc` that have status 200. */
        readonly Failure_sign_in_oidc: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "incorrect code" | "blacklist user" | "otp required" | "incorrect otp" | "already id";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "wrong_code" | "blacklisted" | "otp_required" | "wrong_otp" | "id_taken";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the code is wrong, was used before, has expired, or a later one was issued: ask for another one
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example code
             */
            readonly field?: string;
        };
        /** @description The failures of `sign_in_passkey` that have status 200. */
        readonly Failure_sign_in_passkey: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "incorrect code" | "blacklist user" | "otp required" | "incorrect otp";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "wrong_code" | "blacklisted" | "otp_required" | "wrong_otp";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the passkey is not known, was made elsewhere, or the attempt has ended: begin again
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example credential
             */
            readonly field?: string;
        };
        /** @description The failures of `sign_in_up` that have status 200. */
        readonly Failure_sign_in_up: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "api error" | "not school" | "otp required" | "pw incorrect" | "blacklist user" | "incorrect otp";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "university_unavailable" | "unknown_to_university" | "otp_required" | "wrong_password" | "blacklisted" | "wrong_otp" | "sign_up_closed";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the university does not know this id
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example id
             */
            readonly field?: string;
        };
        /** @description The failures of `sign_up` that have status 200. */
        readonly Failure_sign_up: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "wrong user info" | "check pw" | "already id" | "sign_up fail";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "invalid_value" | "passwords_differ" | "id_taken" | "sign_up_closed";
            /**
             * @description What was wrong, or what to do, for people.
             * @example a password has 8 to 128 characters
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example pw
             */
            readonly field?: string;
        };
        /** @description The failures of `sign_up_invited` that have status 200. */
        readonly Failure_sign_up_invited: {
            /**
             * @description What went wrong, as clients compare it.
             * @enum {string}
             */
            readonly result: "wrong user info" | "check pw" | "already id" | "incorrect code";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "invalid_value" | "passwords_differ" | "id_taken" | "wrong_code";
            /**
             * @description What was wrong, or what to do, for people.
             * @example a password has 8 to 128 characters
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example pw
             */
            readonly field?: string;
        };
        /** @description The failures of `unlink_oidc` that have status 200. */
        readonly Failure_unlink_oidc: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "incorrect pw";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "wrong_password";
            /**
             * @description What was wrong, or what to do, for people.
             * @example this is not the member's password
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example pw
             */
            readonly field?: string;
        };
        /** @description The failures of `update_notice` that have status 200. */
        readonly Failure_update_notice: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "Not admin";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "bad_token" | "not_admin" | "missing_scope" | "second_factor_needed";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the token is missing, expired or revoked: sign in, and send Authorization: Bearer with the access_token
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The first fault of a chain. */
        readonly Fault: {
            /**
             * Format: int64
             * @description The number of the record, from 1.
             * @example 7
             */
            readonly seq: number;
            /**
             * @description What is wrong with it.
             * @example the record is missing
             */
            readonly reason: string;
        };
        /** @description A post of a newsfeed. */
        readonly FeedPost: components["schemas"]["Post"] & {
            /**
             * Format: int64
             * @description With `?liked=1`: 1 if the caller likes the post, otherwise 0.
             * @example 1
             * @enum {integer}
             */
            readonly liked?: 0 | 1;
            /** @description With `?source=1`: the source that has brought the post, if one has. */
            readonly source?: components["schemas"]["PostSource"];
            /** @description With `?similar=1`: the nearly identical posts, newest first, if there are any. */
            readonly similar?: readonly components["schemas"]["SimilarPost"][];
            /** @description With `?why=1`: the reason why the post is in the newsfeed. It tells the caller's own acts and public facts only. */
            readonly why?: components["schemas"]["Why"];
        };
        /** @description The weights of the recommended feed. */
        readonly FeedWeights: {
            /**
             * @description Which of them are in use: `learned` or `settings`.
             * @example learned
             * @enum {string}
             */
            readonly in_use: "learned" | "settings";
            /** @description The weights in use. */
            readonly weights: components["schemas"]["SignalWeights"];
            /** @description The weights of the settings. */
            readonly settings: components["schemas"]["SignalWeights"];
            readonly learned?: components["schemas"]["Learned"] | null;
            /** @description How popularity is measured. */
            readonly popularity: components["schemas"]["PopularityInUse"];
        };
        /** @description Feedback of a member. The names of its fields are those of the interface. */
        readonly Feedback: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description Its type.
             * @example general
             */
            readonly type: string;
            /**
             * @description Its text.
             * @example The search is fast.
             */
            readonly post: string;
            /**
             * @description The id of the member who wrote it; `removed` if that member has been removed.
             * @example ann
             */
            readonly author: string;
            /**
             * Format: date-time
             * @description The date when it was sent.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * @description The id of the notice that it is on, which may have been removed; `""` if it is on no notice.
             * @example
             */
            readonly notice: string;
            /**
             * Format: int64
             * @description 1 if it is open, 0 if it is done.
             * @example 1
             * @enum {integer}
             */
            readonly activation: 0 | 1;
        };
        /** @description The service failed, and the feedback was not stored. */
        readonly FeedbackFailed: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "fail";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "internal_error";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the service failed: try again, and tell its operators, whose log has the cause
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        readonly FeedbackFields: {
            /**
             * @description 1 to 50 characters; `general` by default.
             * @example general
             */
            readonly type?: string | null;
            /**
             * @description 1 to 5,000 characters.
             * @example The search is fast.
             */
            readonly post?: string | null;
            /**
             * @description An alias of `post`.
             * @example The search is fast.
             */
            readonly feedback?: string | null;
        };
        /** @description The answer to listing the feedback. */
        readonly FeedbackList: {
            /** @description At most 1,000 entries, newest first. */
            readonly feedback_list: readonly components["schemas"]["Feedback"][];
        };
        /** @description A page of feedback. */
        readonly FeedbackPage: {
            /** @description At most 1,000 entries, newest first. */
            readonly feedback: readonly components["schemas"]["Feedback"][];
            /**
             * @description The id after which the next page begins; `None` on the last page.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly next?: string | null;
        };
        /** @description The result of a fetch of a source. */
        readonly Fetched: {
            /**
             * Format: int64
             * @description The number of new posts.
             * @example 3
             */
            readonly inserted: number;
            /**
             * Format: int64
             * @description The number of posts that have changed.
             * @example 0
             */
            readonly updated: number;
            /**
             * Format: int64
             * @description The number of other entries: those that are already posts, or were, or may not become posts.
             * @example 17
             */
            readonly skipped: number;
            /** @description The first new posts, at most 100. */
            readonly posts: readonly components["schemas"]["ArrivedPost"][];
            /** @description The first 100 entries that could not be read. If there are more, a last entry has their number. */
            readonly errors: readonly components["schemas"]["LineError"][];
            /**
             * @description The faults of the feed, of entries that were read anyway, and why entries did not become posts, human-readable. The first
             *     100; if there are more, a last one has their number.
             */
            readonly warnings: readonly string[];
            /**
             * @description Why the fetch failed; null if it succeeded.
             * @example status 503
             */
            readonly error?: string | null;
        };
        /** @description A feed of a page. */
        readonly FoundFeed: {
            /**
             * @description Its address.
             * @example https://news.example.org/feed.xml
             */
            readonly url: string;
            /**
             * @description Its title, `""` if the page gives none.
             * @example Campus news
             */
            readonly title: string;
        };
        /** @description Several notices with all fields. Cheap to clone. */
        readonly FullList: {
            /** @description The notices: pinned ones first, then the newest first. */
            readonly notice_list: readonly components["schemas"]["FullNotice"][];
        };
        /** @description A notice with all fields. */
        readonly FullNotice: components["schemas"]["Notice"] & components["schemas"]["Placement"];
        /** @description The answer to getting a post. */
        readonly GetPost: {
            /** @description The post. */
            readonly post: components["schemas"]["PostDetail"];
        };
        /** @description What runs at this address. */
        readonly Home: {
            /**
             * @description `tidings`.
             * @example tidings
             */
            readonly name: string;
            /**
             * @description The version of the program.
             * @example 0.1.0
             */
            readonly version: string;
            /**
             * @description The page of reports, relative to this address.
             * @example reports
             */
            readonly reports: string;
            /**
             * @description The API page, relative to this address; missing if it is not served.
             * @example docs/
             */
            readonly docs?: string | null;
            /**
             * @description The OpenAPI document, relative to this address; missing if it is not served.
             * @example openapi.json
             */
            readonly openapi?: string | null;
        };
        /** @description The number of visitors in one hour of a day. */
        readonly HourVisitors: {
            /**
             * @description The hour, 0 to 23.
             * @example 14
             */
            readonly time: number;
            /**
             * Format: int64
             * @description Number of visitors in this hour.
             * @example 7
             */
            readonly visitor: number;
        };
        readonly Import: {
            /**
             * @description The list, at most 1 MiB.
             * @example <opml version="2.0">…</opml>
             */
            readonly opml: string;
        };
        /** @description The service failed during the import. It may also say how many posts were inserted, updated and skipped before. */
        readonly ImportFailed: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "internal error";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "internal_error";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the service failed: try again, and tell its operators, whose log has the cause
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The result of an import. */
        readonly ImportReport: {
            /**
             * Format: int64
             * @description The number of new posts.
             * @example 7
             */
            readonly inserted: number;
            /**
             * Format: int64
             * @description The number of changed posts.
             * @example 7
             */
            readonly updated: number;
            /**
             * Format: int64
             * @description The number of unchanged posts.
             * @example 7
             */
            readonly skipped: number;
            /** @description The first 1,000 rejected lines, in order. If there are more, a last entry has their number. */
            readonly errors: readonly components["schemas"]["LineError"][];
            /**
             * @description What was wrong with a feed and with entries that were read anyway, for people; only if there is something. The first
             *     1,000; if there are more, a last entry has their number.
             */
            readonly warnings?: readonly string[] | null;
        };
        /** @description The body has more than 64 MiB. */
        readonly ImportTooLarge: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "payload too large";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "body_too_large";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the body is larger than the limit of this operation
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description An act that was imported from another system. */
        readonly ImportedAct: {
            /**
             * @description `view`, `like`, or `other` for a search or an opened newsfeed, of which only a hash is stored here.
             * @example view
             * @enum {string}
             */
            readonly act: "view" | "like" | "other";
            /**
             * @description The post's id; `""` for a post that was removed and for other acts.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * Format: date-time
             * @description The date of the act.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
        };
        /** @description The answer to importing sources. */
        readonly ImportedSources: {
            /**
             * Format: int64
             * @description The number of new sources.
             * @example 12
             */
            readonly inserted: number;
            /**
             * Format: int64
             * @description The number of sources that were there.
             * @example 0
             */
            readonly skipped: number;
            /** @description The entries that were left out, by their numbers from 1. */
            readonly errors: readonly components["schemas"]["LineError"][];
        };
        /** @description The answer of an operation that inserts a record. */
        readonly Inserted: {
            /**
             * @description The id of the new record.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
        };
        /** @description The service failed; the cause is in its log. */
        readonly InternalError: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "internal error";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "internal_error";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the service failed: try again, and tell its operators, whose log has the cause
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description An invitation, without its code. */
        readonly Invitation: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description By what an administrator recognises it; null without a note.
             * @example the library's team
             */
            readonly note?: string | null;
            /**
             * Format: int64
             * @description How many members can still sign up with it.
             * @example 1
             */
            readonly uses: number;
            /** @description The role of these members: what they may administer. */
            readonly scopes: readonly ("notices" | "posts" | "posts:import" | "acts:import" | "feedback" | "members" | "members:read" | "front" | "analytics:read" | "audit:read" | "sources" | "webhooks")[];
            /**
             * @description The id of the administrator who made it; null if the operator did.
             * @example boss
             */
            readonly made_by?: string | null;
            /**
             * Format: date-time
             * @description The date when it was made.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * Format: date-time
             * @description The time at which it expires.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly expires: string;
            /**
             * Format: int64
             * @description 1 if it works now; 0 if it is used up or has expired, or if the one who made it is not an administrator now.
             * @example 1
             * @enum {integer}
             */
            readonly open: 0 | 1;
        };
        readonly InvitationFields: {
            /**
             * Format: int64
             * @description How many members can sign up with the code; 1 by default.
             * @example 30
             */
            readonly uses?: number | null;
            /**
             * Format: int64
             * @description The number of days for which it works; 7 by default.
             * @example 7
             */
            readonly days?: number | null;
            /** @description The role of these members, what they may administer: names of scopes. Without any they have no role. */
            readonly scopes?: readonly ("notices" | "posts" | "posts:import" | "acts:import" | "feedback" | "members" | "members:read" | "front" | "analytics:read" | "audit:read" | "sources" | "webhooks")[] | null;
            /**
             * @description By what an administrator recognises the invitation, up to 100 characters on one line.
             * @example the library's team
             */
            readonly note?: string | null;
            /**
             * @description An e-mail address to which the code is mailed, on a service that sends mail. Then it is not shown.
             * @example ann@example.org
             */
            readonly email?: string | null;
        };
        /** @description The invitations. */
        readonly Invitations: {
            /** @description The invitations, the latest first. Those that are used up or have expired are deleted when the next one is made. */
            readonly invitations: readonly components["schemas"]["Invitation"][];
        };
        readonly InvitedSignUpFields: {
            /**
             * @description The sign-in identifier: 3 to 30 ASCII letters, digits, `_`, `-` and `.`, a letter or digit first.
             * @example ann
             */
            readonly id: string;
            /**
             * @description The password, 8 to 128 characters.
             * @example another long sentence
             */
            readonly pw: string;
            /**
             * @description The password again.
             * @example another long sentence
             */
            readonly pw_check: string;
            /**
             * @description The displayed name, 1 to 30 characters.
             * @example Ann
             */
            readonly nickname: string;
            /**
             * @description An e-mail address, which a mail with a code confirms. Some services need one.
             * @example ann@example.org
             */
            readonly email?: string | null;
            /**
             * @description The code of the invitation.
             * @example 8k2m-0qwz-7hn4-c9xe
             */
            readonly code: string;
        };
        /** @description A JSON Feed. */
        readonly JsonFeed: {
            /**
             * @description The version of the format.
             * @example https://jsonfeed.org/version/1.1
             * @enum {string}
             */
            readonly version: "https://jsonfeed.org/version/1.1";
            /**
             * @description The title of the feed.
             * @example Popular posts
             */
            readonly title: string;
            /**
             * Format: uri
             * @description The address of this document.
             * @example https://campus.example/get_popularity_newsfeed?format=json-feed
             */
            readonly feed_url: string;
            /**
             * Format: uri
             * @description The address of the next page, if there is one.
             * @example https://campus.example/get_popularity_newsfeed?format=json-feed
             */
            readonly next_url?: string | null;
            /** @description The site. */
            readonly authors: readonly components["schemas"]["JsonFeedAuthor"][];
            /** @description The posts or the notices. */
            readonly items: readonly components["schemas"]["JsonFeedItem"][];
        };
        /** @description The author of a JSON Feed. */
        readonly JsonFeedAuthor: {
            /**
             * @description The name of the site.
             * @example campus.example
             */
            readonly name: string;
        };
        /** @description An item of a JSON Feed. */
        readonly JsonFeedItem: {
            /**
             * @description The id, which never changes.
             * @example urn:uuid:6b0039ac-d7c3-4f1e-8b2e-91a700000000
             */
            readonly id: string;
            /**
             * Format: uri
             * @description The address of the post.
             * @example https://news.example.org/eclipse
             */
            readonly url?: string | null;
            /**
             * @description The title.
             * @example An eclipse over the lake
             */
            readonly title: string;
            /**
             * @description The text; the title if there is none.
             * @example The library opens again on Tuesday.
             */
            readonly content_text: string;
            /**
             * @description The text of a post.
             * @example On Friday evening the moon covers the sun.
             */
            readonly summary?: string | null;
            /**
             * @description The address of an image.
             * @example https://news.example.org/lake.jpg
             */
            readonly image?: string | null;
            /**
             * Format: date-time
             * @description The date of publication.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date_published: string;
            /** @description The topics and the tags of a post. */
            readonly tags?: readonly string[];
        };
        /** @description An API key, without its secret. */
        readonly Key: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description What it is for.
             * @example importer
             */
            readonly name: string;
            /** @description What it may do. */
            readonly scopes: readonly ("notices" | "posts" | "posts:import" | "acts:import" | "feedback" | "members" | "members:read" | "front" | "analytics:read" | "audit:read" | "sources" | "webhooks")[];
            /**
             * Format: date-time
             * @description The date when it was made.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * Format: date-time
             * @description The time from which on it fails; null if it never does.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly expires?: string | null;
            /**
             * Format: date-time
             * @description The time of its latest use, up to a minute late; null if it was never used.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly last_used?: string | null;
        };
        readonly KeyFields: {
            /**
             * @description What the key is for, 1 to 50 characters on one line. No two keys have the same name.
             * @example importer
             */
            readonly name: string;
            /** @description What the key may do: names of scopes, at least one. */
            readonly scopes: readonly ("notices" | "posts" | "posts:import" | "acts:import" | "feedback" | "members" | "members:read" | "front" | "analytics:read" | "audit:read" | "sources" | "webhooks")[];
            /**
             * @description The date from which on the key fails, RFC 3339; never by default.
             * @example 2036-11-20T00:00:00Z
             */
            readonly expires?: string | null;
        };
        /** @description The API keys. */
        readonly Keys: {
            /** @description The keys by name. */
            readonly keys: readonly components["schemas"]["Key"][];
        };
        /**
         * @description A kind of events.
         * @enum {string}
         */
        readonly Kind: "notice" | "post" | "counts";
        /** @description The service must have at least one administrator. */
        readonly LastAdministrator: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "last administrator";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "last_administrator";
            /**
             * @description What was wrong, or what to do, for people.
             * @example no administrator would be left: make another member an administrator first
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The answer to listing a member's searches. */
        readonly LatelySearches: {
            /** @description The searches, newest first. */
            readonly lately_search_list: readonly components["schemas"]["SearchRecord"][];
        };
        /** @description What was learned from the acts of members. */
        readonly Learned: {
            /**
             * Format: date-time
             * @description The time at which the acts were read.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly at: string;
            /**
             * @description The number of visits whose choices were compared.
             * @example 7
             */
            readonly visits: number;
            /**
             * @description The number of members who made them.
             * @example 7
             */
            readonly members: number;
            /**
             * Format: double
             * @description The normalised discounted cumulative gain of the first ten posts of the feed with the weights in use before, on all
             *     visits but the first fifth …
             * @example 0.1
             */
            readonly ndcg10_before: number;
            /**
             * Format: double
             * @description … with weights learned from the fifths before that of the visit …
             * @example 0.1
             */
            readonly ndcg10: number;
            /**
             * Format: double
             * @description … and the standard error of the difference, with the visits of a member as one cluster.
             * @example 0.1
             */
            readonly ndcg10_error: number;
            /**
             * @description Whether the weights are used: with them, the gain was greater by more than two errors when they were learned. They
             *     stay in use until others are.
             * @example true
             */
            readonly is_better: boolean;
            /** @description The weights. */
            readonly weights: components["schemas"]["SignalWeights"];
        };
        /** @description What the acts of members show about popularity. */
        readonly LearnedPopularity: {
            /**
             * Format: date-time
             * @description The time at which the acts were read.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly at: string;
            /**
             * @description The number of acts for which the orders of popularity were compared.
             * @example 7
             */
            readonly acts: number;
            /**
             * @description The number of members who made them.
             * @example 7
             */
            readonly members: number;
            /**
             * Format: double
             * @description The half-life in days under which the acts of the next day rank highest; `None` if acts lose no weight.
             * @example 0.1
             */
            readonly half_life_days?: number | null;
            /** @description What each half-life gives. */
            readonly half_lives: readonly components["schemas"]["TriedHalfLife"][];
        };
        /** @description A refused line of an import. */
        readonly LineError: {
            /**
             * Format: int64
             * @description The line's number, from 1; in a JSON array, the element's.
             * @example 7
             */
            readonly line: number;
            /**
             * @description The reason, for people.
             * @example url is missing
             */
            readonly reason: string;
        };
        readonly LinkOidcFields: {
            /**
             * @description The code that the page got.
             * @example 8k2m-0qwz-7hn4-c9xe
             */
            readonly code: string;
            /**
             * @description The current password.
             * @example a long sentence
             */
            readonly pw: string;
        };
        /** @description The person of single sign-on who signs in to an account. */
        readonly LinkedPerson: {
            /**
             * @description The address of the issuer.
             * @example https://login.campus.example
             */
            readonly issuer: string;
            /**
             * @description The issuer's identifier of the person.
             * @example 248289761001
             */
            readonly subject: string;
            /**
             * Format: date-time
             * @description The date of the link.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
        };
        /** @description The requested lists of a member. */
        readonly Lists: {
            /**
             * @description The id as registered.
             * @example ann
             */
            readonly user_id: string;
            /** @description Liked posts, newest first. */
            readonly fav_list?: readonly components["schemas"]["PostRecord"][] | null;
            /** @description Viewed posts, each once, the most recently viewed first. */
            readonly view_list?: readonly components["schemas"]["PostRecord"][] | null;
            /** @description Searches, newest first. */
            readonly search_list?: readonly components["schemas"]["SearchRecord"][] | null;
            /** @description Opened newsfeeds, newest first. */
            readonly newsfeed_list?: readonly components["schemas"]["NewsfeedAccess"][] | null;
        };
        /** @description The live figures of the current day. */
        readonly Live: {
            /**
             * @description The current hour, 0 to 23.
             * @example 14
             */
            readonly hour: number;
            /** @description The counts of today. */
            readonly today: components["schemas"]["Sums"];
            /**
             * @description The counts of yesterday up to this time of day: the full hours, and of the current hour the share that has
             *     passed.
             */
            readonly yesterday: components["schemas"]["Sums"];
            /**
             * Format: int64
             * @description Number of today's visitors that are members; the others are guests.
             * @example 7
             */
            readonly member_visitor: number;
            /** @description Visitors in each hour of today … */
            readonly hours: readonly number[];
            /** @description … and of yesterday. */
            readonly hours_yesterday: readonly number[];
            /** @description Number of visitors on each of the last 30 days, oldest first; the last is today. */
            readonly month: readonly components["schemas"]["DayVisitors"][];
            /** @description Total numbers of reported devices. */
            readonly devices: components["schemas"]["Devices"];
        };
        /**
         * @description The data of live events by the names of the events. The document describes them here, because it has no schema for the
         *     parts of a stream; the end-to-end tests compare every event with it.
         */
        readonly LiveEvents: {
            /** @description A notice was published, changed or hidden. */
            readonly notice: components["schemas"]["NoticeChange"];
            /** @description A post was inserted. */
            readonly post: components["schemas"]["NewPost"];
            /** @description The counts of today. */
            readonly counts: components["schemas"]["TodayCounts"];
            /** @description The numbers of changes of each part of the data. */
            readonly changes: components["schemas"]["Changes"];
            /** @description Events are left out. */
            readonly reset: components["schemas"]["ResetData"];
        };
        /** @description The result of a query of the log. */
        readonly Log: {
            /** @description The lines, newest first. */
            readonly log: readonly components["schemas"]["LogEntry"][];
        };
        /** @description A line of the access log. */
        readonly LogEntry: {
            /**
             * @description The member's id, `key:` and the name of an API key, `guest` if the caller was not signed in, or `removed` if the member
             *     has been removed.
             * @example ann
             */
            readonly user_id: string;
            /**
             * Format: date-time
             * @description The time of the answer.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * @description The path.
             * @example /get_popularity_newsfeed
             */
            readonly path: string;
            /**
             * @description The method.
             * @example GET
             * @enum {string}
             */
            readonly method: "GET" | "POST" | "HEAD" | "PUT" | "DELETE" | "CONNECT" | "OPTIONS" | "TRACE" | "PATCH" | "other";
            /**
             * Format: int64
             * @description The HTTP status of the answer.
             * @example 200
             */
            readonly status: number;
        };
        /** @description A line of the access log with its result. */
        readonly LogLine: components["schemas"]["LogEntry"] & {
            /**
             * @description The `result` of the answer; null in lines of versions that did not store it.
             * @example success
             */
            readonly result?: string | null;
            /**
             * @description Its position, which no other line has. As `before`, it begins a page after this line.
             * @example 1795163760000-2
             */
            readonly place: string;
        };
        /** @description A page of the access log. */
        readonly LogLines: {
            /** @description The lines, newest first. Few of the lines of a long log may match, so a page can be empty although others follow. */
            readonly log: readonly components["schemas"]["LogLine"][];
            /**
             * @description The `before` of the next page; null on the last one.
             * @example 1795163760000-2
             */
            readonly next: string | null;
            /**
             * Format: date-time
             * @description The time to which the log was read for this page; null on the last one.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly looked_to?: string | null;
        };
        /** @description A mail that was not sent. Its address is not shown. */
        readonly Mail: {
            /**
             * @description Its id, which is part of its `Message-ID`.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description What it is for.
             * @example confirm
             * @enum {string}
             */
            readonly kind: "confirm" | "reset" | "password_changed" | "address_changed" | "address_proposed" | "sign_in_changed" | "invite";
            /**
             * @description The id of the member; null before it is known whether there is one.
             * @example ann
             */
            readonly user_id?: string | null;
            /**
             * Format: date-time
             * @description The date when it was asked for.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * @description `pending`, or `dead` if it was given up.
             * @example pending
             * @enum {string}
             */
            readonly state: "pending" | "dead";
            /**
             * Format: int64
             * @description The number of failed attempts.
             * @example 7
             */
            readonly attempts: number;
            /**
             * Format: date-time
             * @description The date of the next attempt; null if it was given up.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly next_attempt?: string | null;
            /**
             * @description Why the latest attempt failed; null before the first one.
             * @example the mail server answered 421
             */
            readonly error?: string | null;
        };
        /** @description The mail that was not sent. */
        readonly Mails: {
            /** @description At most 1,000, latest first. */
            readonly mails: readonly components["schemas"]["Mail"][];
        };
        /** @description The two lines; each is `""` until an administrator has written it. */
        readonly MainInfo: {
            /** @description The first and the second line. */
            readonly main_info: readonly string[];
        };
        readonly MainInfoFields: {
            /**
             * @description The first line, up to 50 characters.
             * @example Welcome back
             */
            readonly new_info_1?: string | null;
            /**
             * @description The second line, up to 50 characters.
             * @example The library is open until 22:00
             */
            readonly new_info_2?: string | null;
        };
        /** @description Everything that is stored about a member. Lists are in the order in which the database has them. */
        readonly MemberData: {
            /** @description The account. */
            readonly account: components["schemas"]["AccountData"];
            /** @description Where the member is signed in, and sessions that have expired and will be deleted. */
            readonly sessions: readonly components["schemas"]["Session"][];
            /** @description All likes. */
            readonly likes: readonly components["schemas"]["PostAct"][];
            /** @description Viewed posts, each with the date of the last view. */
            readonly views: readonly components["schemas"]["PostAct"][];
            /** @description Posts that the member has hidden from the recommended feed. */
            readonly hidden_posts: readonly components["schemas"]["PostAct"][];
            /** @description Searches with their tokens and similar words. */
            readonly searches: readonly components["schemas"]["SearchRecord"][];
            /** @description Opened newsfeeds. */
            readonly newsfeeds: readonly components["schemas"]["NewsfeedAccess"][];
            /** @description Acts that were imported from another system, each once. */
            readonly imported_acts: readonly components["schemas"]["ImportedAct"][];
            /** @description Feedback. */
            readonly feedback: readonly components["schemas"]["Feedback"][];
            /** @description The days on which the member visited the service. */
            readonly visits: readonly components["schemas"]["VisitDay"][];
            /** @description Searches of the last day, from which trends are counted. */
            readonly trend_searches: readonly components["schemas"]["TrendSearch"][];
            /** @description The member's lines of the access log. */
            readonly log: readonly components["schemas"]["LogEntry"][];
            /** @description The records of the audit trail that are about the member, or about what the member did as an administrator. */
            readonly audit: readonly components["schemas"]["AuditRecord"][];
        };
        /** @description A member in the list. */
        readonly MemberEntry: {
            /**
             * @description The id as registered.
             * @example ann
             */
            readonly user_id: string;
            /**
             * @description The nickname.
             * @example Ann
             */
            readonly nickname: string;
            /**
             * @description The name that the university verified; the nickname of a member who never verified.
             * @example Ann Lee
             */
            readonly user_name: string;
            /**
             * @description The subject that the university verified, or `""`.
             * @example Physics
             */
            readonly user_major: string;
            /**
             * Format: int64
             * @description Whether the member is an administrator: 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly admin: 0 | 1;
            /**
             * Format: int64
             * @description Whether the member is blacklisted: 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly blacklisted: 0 | 1;
            /**
             * Format: date-time
             * @description The date when the member signed up.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /** @description The scopes of the member's role; empty without one. */
            readonly scopes: readonly ("notices" | "posts" | "posts:import" | "acts:import" | "feedback" | "members" | "members:read" | "front" | "analytics:read" | "audit:read" | "sources" | "webhooks")[];
        };
        /** @description A member of another system, as a line of an import. */
        readonly MemberLineFields: {
            /**
             * @description The sign-in identifier: 3 to 30 ASCII letters, digits, `_`, `-` and `.`, a letter or digit first.
             * @example ann
             */
            readonly id: string;
            /**
             * @description The displayed name, 1 to 30 characters; the name by default, or else the id.
             * @example Ann
             */
            readonly nickname?: string | null;
            /**
             * @description The hash of the password: an Argon2 PHC string, a bcrypt hash, or PBKDF2 or scrypt as Werkzeug writes them. A member
             *     without a hash cannot sign in.
             * @example scrypt:32768:8:1$aGVsbG8$00ff
             */
            readonly password_hash?: string | null;
            /**
             * @description The name that the university verified.
             * @example Ann Lee
             */
            readonly name?: string | null;
            /**
             * @description The subject that the university verified.
             * @example Physics
             */
            readonly major?: string | null;
            /**
             * @description The e-mail address, which the other system has confirmed. It is left out if another member has it.
             * @example ann@example.org
             */
            readonly email?: string | null;
            /**
             * @description The date of the sign-up, RFC 3339; the current time by default.
             * @example 2026-11-20T08:36:00Z
             */
            readonly date?: string | null;
        };
        /** @description The passkeys of the member. */
        readonly MemberPasskeys: {
            /** @description The passkeys, latest first. */
            readonly passkeys: readonly components["schemas"]["Passkey"][];
        };
        readonly MemberPasswordFields: {
            /**
             * @description The new password, 8 to 128 characters.
             * @example another long sentence
             */
            readonly new_pw: string;
        };
        /** @description A page of members. */
        readonly Members: {
            /** @description The members, by id. */
            readonly members: readonly components["schemas"]["MemberEntry"][];
            /**
             * @description The `after` of the next page; `null` on the last page.
             * @example ann
             */
            readonly next?: string | null;
        };
        /** @description The path has other methods. */
        readonly MethodNotAllowed: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "method not allowed";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "method_not_allowed";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the operation of this path has another method: Allow names it
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The result of an import of records that never change. */
        readonly MoveReport: {
            /**
             * Format: int64
             * @description The number of new records.
             * @example 7
             */
            readonly inserted: number;
            /**
             * Format: int64
             * @description The number of records that already existed.
             * @example 7
             */
            readonly skipped: number;
            /** @description The first 1,000 refused lines, in order; if there are more, a last entry has their number. */
            readonly errors: readonly components["schemas"]["LineError"][];
        };
        /** @description A new invitation. */
        readonly NewInvitation: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The code with which people sign up, which is not shown again; null if it is mailed.
             * @example 8k2m-0qwz-7hn4-c9xe
             */
            readonly code?: string | null;
            /**
             * Format: date-time
             * @description The time at which it expires.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly expires: string;
        };
        /** @description The answer to making a key. */
        readonly NewKey: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The key. It is not shown again.
             * @example tidings_0123456789abcdef0123456789abcdef0123456789abcdef
             */
            readonly key: string;
        };
        readonly NewNoticeFields: {
            /**
             * @description The title, 1 to 200 characters on one line.
             * @example Closed on Monday
             */
            readonly title: string;
            /**
             * @description The text, 1 to 20,000 characters.
             * @example The library opens again on Tuesday.
             */
            readonly post: string;
            /**
             * Format: int64
             * @description 1 shown, 0 hidden; a new notice is shown by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly activation?: 0 | 1 | null;
            /**
             * @description The time from which the notice is visible, in RFC 3339 format; `""` for no limit.
             * @example 2026-11-20T08:36:00Z
             */
            readonly visible_from?: string | null;
            /**
             * @description The time from which the notice is no longer visible, after `visible_from`; `""` for no limit.
             * @example 2026-11-20T08:36:00Z
             */
            readonly visible_until?: string | null;
            /**
             * Format: int64
             * @description 1 to list the notice before the others; a new notice is not pinned by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly pinned?: 0 | 1 | null;
            /**
             * @description The topic on whose page the notice is, 1 to 100 characters; `""` for the general page.
             * @example science
             */
            readonly topic?: string | null;
            /**
             * Format: int64
             * @description 1 to show the notice to members only; a new notice is for all callers by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly members_only?: 0 | 1 | null;
        };
        readonly NewPasswordFields: {
            /**
             * @description The current password.
             * @example a long sentence
             */
            readonly pw: string;
            /**
             * @description The new password, 8 to 128 characters.
             * @example another long sentence
             */
            readonly new_pw: string;
            /**
             * @description The new password again.
             * @example another long sentence
             */
            readonly new_pw_check: string;
        };
        /** @description A post that was inserted. */
        readonly NewPost: {
            /** @description The post as feeds return it. */
            readonly post: components["schemas"]["Post"];
            /** @description The topics of the post. */
            readonly topic: readonly string[];
            /** @description The tags of the post. */
            readonly tag: readonly string[];
        };
        /**
         * @description The unchecked fields of a post. Inserting a post requires title and url; updating a post requires at least one
         *     field, and leaves out the fields that do not change.
         */
        readonly NewPostFields: {
            /**
             * @description The title, 1 to 300 characters on one line; white space at its ends is removed.
             * @example An eclipse over the lake
             */
            readonly title: string;
            /**
             * @description The text, up to 100,000 characters.
             * @example On Friday evening the moon covers the sun.
             */
            readonly post?: string | null;
            /**
             * @description The URL, http or https, up to 2,000 characters, unique among posts. It is stored as written, except that white space
             *     at its ends is removed: two spellings of the same address are two URLs.
             * @example https://news.example.org/eclipse
             */
            readonly url: string;
            /**
             * @description The URL of an image; `""` for none. It is http or https, or a path that begins with `/`, for an image that the
             *     client itself serves.
             * @example https://news.example.org/lake.jpg
             */
            readonly img?: string | null;
            /**
             * @description The categories, up to 50, each of 1 to 100 characters. White space at their ends and repeated names are
             *     removed.
             */
            readonly topic?: readonly string[] | null;
            /** @description The tags, up to 50, each of 1 to 100 characters, with the same rule as the categories. */
            readonly tag?: readonly string[] | null;
            /**
             * @description The date of publication, RFC 3339; the current time by default for a new post.
             * @example 2026-11-20T08:36:00Z
             */
            readonly date?: string | null;
            /**
             * @description The date from which the post is hidden, RFC 3339; `""` for never.
             * @example 2026-12-24T00:00:00Z
             */
            readonly end_date?: string | null;
        };
        /** @description A page of a newsfeed. */
        readonly Newsfeed: {
            /** @description The posts. */
            readonly newsfeed: readonly components["schemas"]["FeedPost"][];
            /**
             * @description The `next` of the following page; `null` on the last page.
             * @example AAAAAAAAAAEAAAAAAAAAlg
             */
            readonly next: string | null;
        };
        /** @description A topic feed that a member opened: an element of `newsfeed_list`. */
        readonly NewsfeedAccess: {
            /**
             * @description The feed's name.
             * @example science
             */
            readonly newsfeed_name: string;
            /** @description The most common tags of the posts on its first page. */
            readonly tag: readonly string[];
            /**
             * Format: date-time
             * @description The time when the member opened the feed.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
        };
        readonly NicknameFields: {
            /**
             * @description 1 to 30 characters.
             * @example Ann
             */
            readonly new_nickname: string;
        };
        /** @description The caller is a member, and the operation is for administrators or for another member; or an API key or a role without the scope that the operation needs; or an administrator or a member with a role whose session gave no code of a second factor, which the settings require. */
        readonly NotAdmin: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "Not admin";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "not_admin" | "missing_scope" | "second_factor_needed";
            /**
             * @description What was wrong, or what to do, for people.
             * @example only an administrator may do this
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description What the path names does not exist. */
        readonly NotFound: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "Not found";
            /**
             * @description The condition; it never changes.
             * @enum {string}
             */
            readonly code: "not_found" | "unknown_path";
            /**
             * @description What was wrong, or what to do, for people.
             * @example it does not exist, or was removed in the meantime
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description A notice. The names and the order of its fields are those of the interface. */
        readonly Notice: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description Its title, one line.
             * @example Closed on Monday
             */
            readonly title: string;
            /**
             * @description Its text.
             * @example The library opens again on Tuesday.
             */
            readonly post: string;
            /**
             * Format: int64
             * @description The number of calls of `get_notice` for it.
             * @example 7
             */
            readonly view: number;
            /**
             * Format: date-time
             * @description The date when it was inserted.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * Format: int64
             * @description 1 if everybody sees it, 0 if only administrators see it.
             * @example 1
             * @enum {integer}
             */
            readonly activation: 0 | 1;
            /**
             * @description The text as HTML, if the caller asked for it: a safe subset of Markdown, without scripts, images and raw HTML.
             * @example <p>The library opens again on <em>Tuesday</em>.</p>
             */
            readonly html?: string;
        };
        /** @description A change of a notice, as guests see it: they see the general page, without notices for members only. */
        readonly NoticeChange: {
            /** @description The notice. */
            readonly notice: components["schemas"]["Notice"];
            /** @enum {string} */
            readonly change: "published";
        } | {
            /** @description The notice as it is now. */
            readonly notice: components["schemas"]["Notice"];
            /** @enum {string} */
            readonly change: "changed";
        } | {
            /** @description The id of the notice. */
            readonly _id: string;
            /** @enum {string} */
            readonly change: "hidden";
        };
        readonly NoticeDraftFields: {
            /**
             * @description The `_id` of a saved draft, which is replaced. A new draft is saved by default.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly draft?: string | null;
            /**
             * @description The `_id` of the notice that the draft changes. A new notice by default.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly notice?: string | null;
            /**
             * @description The title, 1 to 200 characters on one line.
             * @example Closed on Monday
             */
            readonly title?: string | null;
            /**
             * @description The text, 1 to 20,000 characters.
             * @example The library opens again on Tuesday.
             */
            readonly post?: string | null;
            /**
             * Format: int64
             * @description 1 shown, 0 hidden; a new notice is shown by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly activation?: 0 | 1 | null;
            /**
             * @description The time from which the notice is visible, in RFC 3339 format; `""` for no limit.
             * @example 2026-11-20T08:36:00Z
             */
            readonly visible_from?: string | null;
            /**
             * @description The time from which the notice is no longer visible, after `visible_from`; `""` for no limit.
             * @example 2026-11-20T08:36:00Z
             */
            readonly visible_until?: string | null;
            /**
             * Format: int64
             * @description 1 to list the notice before the others; a new notice is not pinned by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly pinned?: 0 | 1 | null;
            /**
             * @description The topic on whose page the notice is, 1 to 100 characters; `""` for the general page.
             * @example science
             */
            readonly topic?: string | null;
            /**
             * Format: int64
             * @description 1 to show the notice to members only; a new notice is for all callers by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly members_only?: 0 | 1 | null;
        };
        readonly NoticeFields: {
            /**
             * @description The title, 1 to 200 characters on one line.
             * @example Closed on Monday
             */
            readonly title?: string | null;
            /**
             * @description The text, 1 to 20,000 characters.
             * @example The library opens again on Tuesday.
             */
            readonly post?: string | null;
            /**
             * Format: int64
             * @description 1 shown, 0 hidden; a new notice is shown by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly activation?: 0 | 1 | null;
            /**
             * @description The time from which the notice is visible, in RFC 3339 format; `""` for no limit.
             * @example 2026-11-20T08:36:00Z
             */
            readonly visible_from?: string | null;
            /**
             * @description The time from which the notice is no longer visible, after `visible_from`; `""` for no limit.
             * @example 2026-11-20T08:36:00Z
             */
            readonly visible_until?: string | null;
            /**
             * Format: int64
             * @description 1 to list the notice before the others; a new notice is not pinned by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly pinned?: 0 | 1 | null;
            /**
             * @description The topic on whose page the notice is, 1 to 100 characters; `""` for the general page.
             * @example science
             */
            readonly topic?: string | null;
            /**
             * Format: int64
             * @description 1 to show the notice to members only; a new notice is for all callers by default.
             * @example 1
             * @enum {integer|null}
             */
            readonly members_only?: 0 | 1 | null;
        };
        /** @description Several notices, newest first. Cheap to clone. */
        readonly NoticeList: {
            /** @description The notices, newest first. */
            readonly notice_list: readonly components["schemas"]["Notice"][];
        };
        /** @description The answer to asking for one day. */
        readonly OneDay: {
            /** @description The day. */
            readonly analysis: components["schemas"]["Day"];
        };
        /** @description The answer to getting a notice. */
        readonly OneNotice: {
            /** @description The notice. It is one notice and not a list; existing clients expect this name. */
            readonly notice_list: components["schemas"]["Notice"];
        };
        /** @description A list of sources. */
        readonly Opml: {
            /**
             * @description The list in OPML 2.0.
             * @example <opml version="2.0">…</opml>
             */
            readonly opml: string;
        };
        readonly OtpFields: {
            /**
             * @description The password.
             * @example a long sentence
             */
            readonly pw: string;
            /**
             * @description The code that the authenticator shows, or a recovery code.
             * @example 287082
             */
            readonly otp: string;
        };
        /** @description The secret that an authenticator needs. */
        readonly OtpSecret: {
            /**
             * @description The secret in base 32, for typing.
             * @example JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP
             */
            readonly secret: string;
            /**
             * @description The same for a QR code, as `otpauth://totp/…`.
             * @example otpauth://totp/tidings:ann?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=tidings
             */
            readonly uri: string;
            /**
             * @description The address as a QR code: an SVG image, for pages and apps that draw none themselves.
             * @example <svg xmlns="http://www.w3.org/2000/svg"></svg>
             */
            readonly qr: string;
        };
        /** @description The state of a member's second factor. */
        readonly OtpStatus: {
            /**
             * Format: int64
             * @description 1 if a sign-in needs a code, otherwise 0.
             * @example 1
             * @enum {integer}
             */
            readonly enabled: 0 | 1;
            /**
             * Format: int64
             * @description The number of recovery codes that were not used yet.
             * @example 9
             */
            readonly recovery_codes: number;
        };
        /** @description The service is busy or shutting down, and nothing was changed; or the message says that this is not known. */
        readonly Overloaded: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "overloaded";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "overloaded";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the service is busy and nothing was changed: try again in a moment
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description A passkey of the member. */
        readonly Passkey: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The name that the member has given it.
             * @example My phone
             */
            readonly name: string;
            /**
             * Format: date-time
             * @description The date when it was added.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * Format: date-time
             * @description The date of the latest sign-in with it; null before the first one.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly last_used?: string | null;
        };
        /** @description The figures of a period of days. */
        readonly Period: {
            /** @description The days, oldest first. */
            readonly days: readonly components["schemas"]["DayFigures"][];
            /** @description Number of visitors in each hour, 0 to 23, summed over all days. */
            readonly hours: readonly number[];
            /** @description Visits by student number, summed over all days, most visits first. */
            readonly students: readonly components["schemas"]["StudentVisits"][];
            /** @description Devices that were reported on these days. */
            readonly devices: components["schemas"]["Devices"];
        };
        /** @description The figures of a period, for people to look at. */
        readonly PeriodReport: {
            /**
             * Format: date
             * @description The first day, `YYYY-MM-DD`.
             * @example 2026-11-20
             */
            readonly from: string;
            /**
             * Format: date
             * @description The last day, `YYYY-MM-DD`.
             * @example 2026-11-20
             */
            readonly to: string;
            /**
             * @description The time zone in which days and hours are counted.
             * @example Asia/Seoul
             */
            readonly zone: string;
            /**
             * @description Whether all days are final: nothing is counted on the last day any more.
             * @example true
             */
            readonly is_final: boolean;
            /** @description The days, oldest first. */
            readonly days: readonly components["schemas"]["DayFigures"][];
            /** @description The hours of each weekday, Monday first. */
            readonly weekdays: readonly components["schemas"]["WeekdayHours"][];
            /** @description The most searched terms of the last 24 hours, most searched first; missing if the period ends before today. */
            readonly terms?: readonly components["schemas"]["TermCount"][] | null;
            /** @description Devices that apps reported on these days. */
            readonly devices: components["schemas"]["Devices"];
            /**
             * Format: int64
             * @description Number of posts with a date in the period, from which `topics` and `posts` are taken: the newest 10,000 at most.
             * @example 7
             */
            readonly post_count: number;
            /** @description The topics with the most posts of the period, at most ten. */
            readonly topics: readonly components["schemas"]["TopicFigures"][];
            /** @description The posts of the period with the most views, at most ten. */
            readonly posts: readonly components["schemas"]["PostFigures"][];
        };
        /** @description When, where and to whom a notice is visible. Administrators see it always. */
        readonly Placement: {
            /**
             * Format: date-time
             * @description The time from which the notice is visible; `null` for no limit.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly visible_from: string | null;
            /**
             * Format: date-time
             * @description The time from which the notice is no longer visible; `null` for no limit.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly visible_until: string | null;
            /**
             * Format: int64
             * @description 1 if the notice is listed before the others.
             * @example 1
             * @enum {integer}
             */
            readonly pinned: 0 | 1;
            /**
             * @description The topic on whose page the notice is; `null` for a notice on the general page.
             * @example science
             */
            readonly topic: string | null;
            /**
             * Format: int64
             * @description 1 if only members see the notice, 0 if guests see it too.
             * @example 1
             * @enum {integer}
             */
            readonly members_only: 0 | 1;
        };
        /** @description The popularity in use. */
        readonly PopularityInUse: {
            /**
             * Format: double
             * @description The half-life in days, of the setting, or learned, or 3; `None` if acts lose no weight.
             * @example 3
             */
            readonly half_life_days?: number | null;
            readonly learned?: components["schemas"]["LearnedPopularity"] | null;
        };
        /** @description A post as newsfeeds and searches return it. */
        readonly Post: {
            /**
             * @description The id of the post.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The title of the post.
             * @example An eclipse over the lake
             */
            readonly title: string;
            /**
             * Format: date-time
             * @description The time of publication.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * @description The address of the image, `""` if there is none.
             * @example https://news.example.org/lake.jpg
             */
            readonly img: string;
            /**
             * Format: int64
             * @description The number of members who like the post.
             * @example 7
             */
            readonly fav_cnt: number;
            /**
             * Format: int64
             * @description The number of views.
             * @example 7
             */
            readonly view: number;
            /**
             * Format: uri
             * @description The address of the post.
             * @example https://news.example.org/eclipse
             */
            readonly url: string;
            /**
             * Format: date-time
             * @description The time from which the post is no longer shown; `null` for never.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly end_date: string | null;
        };
        /** @description A like, a view or a hidden post. */
        readonly PostAct: {
            /**
             * @description The post's id; `""` for a post that was removed.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description Its title; `""` for a post that was removed.
             * @example Closed on Friday
             */
            readonly title: string;
            /**
             * @description Its address; `""` for a post that was removed.
             * @example https://news.example.org/1
             */
            readonly url: string;
            /**
             * Format: date-time
             * @description The date of the act.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
        };
        /** @description A complete post. */
        readonly PostDetail: components["schemas"]["Post"] & {
            /**
             * @description The text of the post.
             * @example On Friday evening the moon covers the sun.
             */
            readonly post: string;
            /** @description The topics of the post. */
            readonly topic: readonly string[];
            /** @description The tags of the post. */
            readonly tag: readonly string[];
            /** @description The source that has brought the post, if one has. */
            readonly source?: components["schemas"]["PostSource"];
        };
        /**
         * @description The unchecked fields of a post. Inserting a post requires title and url; updating a post requires at least one
         *     field, and leaves out the fields that do not change.
         */
        readonly PostFields: {
            /**
             * @description The title, 1 to 300 characters on one line; white space at its ends is removed.
             * @example An eclipse over the lake
             */
            readonly title?: string | null;
            /**
             * @description The text, up to 100,000 characters.
             * @example On Friday evening the moon covers the sun.
             */
            readonly post?: string | null;
            /**
             * @description The URL, http or https, up to 2,000 characters, unique among posts. It is stored as written, except that white space
             *     at its ends is removed: two spellings of the same address are two URLs.
             * @example https://news.example.org/eclipse
             */
            readonly url?: string | null;
            /**
             * @description The URL of an image; `""` for none. It is http or https, or a path that begins with `/`, for an image that the
             *     client itself serves.
             * @example https://news.example.org/lake.jpg
             */
            readonly img?: string | null;
            /**
             * @description The categories, up to 50, each of 1 to 100 characters. White space at their ends and repeated names are
             *     removed.
             */
            readonly topic?: readonly string[] | null;
            /** @description The tags, up to 50, each of 1 to 100 characters, with the same rule as the categories. */
            readonly tag?: readonly string[] | null;
            /**
             * @description The date of publication, RFC 3339; the current time by default for a new post.
             * @example 2026-11-20T08:36:00Z
             */
            readonly date?: string | null;
            /**
             * @description The date from which the post is hidden, RFC 3339; `""` for never.
             * @example 2026-12-24T00:00:00Z
             */
            readonly end_date?: string | null;
        };
        /** @description A post with its figures. */
        readonly PostFigures: {
            /**
             * @description The id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The title.
             * @example An eclipse over the lake
             */
            readonly title: string;
            /**
             * @description The address.
             * @example https://news.example.org/eclipse
             */
            readonly url: string;
            /**
             * Format: date
             * @description The day of the post's date, `YYYY-MM-DD`.
             * @example 2026-11-20
             */
            readonly date: string;
            /**
             * Format: int64
             * @description Number of views until now.
             * @example 7
             */
            readonly view: number;
            /**
             * Format: int64
             * @description Number of likes now.
             * @example 7
             */
            readonly like: number;
        };
        /** @description A post that a search found. */
        readonly PostHit: components["schemas"]["Post"] & {
            /**
             * Format: double
             * @description How well the post matches, above 0 and below 1.
             * @example 0.83
             */
            readonly similarity: number;
            /**
             * @description If snippets were asked for: the part of the text with the words that the search has found; empty if the post has no
             *     text. The title is not part of it.
             */
            readonly snippet?: readonly components["schemas"]["SnippetPart"][];
        };
        /** @description A post of an import: the fields of a post, and others of an exported post. */
        readonly PostLineFields: components["schemas"]["PostFields"] & {
            /**
             * @description The URL, http or https, up to 2,000 characters, which identifies the post.
             * @example https://news.example.org/eclipse
             */
            readonly url: string;
            /**
             * @description The `_id` of a new post; a new one by default. An existing post keeps its own.
             * @example 6b0039acd7c34f1e5b2e91a7
             */
            readonly _id?: string | null;
            /**
             * Format: int64
             * @description The views of a new post; 0 by default. An existing post keeps its own.
             * @example 7
             */
            readonly view?: number | null;
            /**
             * Format: int64
             * @description The likes of a new post; 0 by default. An existing post keeps its own.
             * @example 7
             */
            readonly fav_cnt?: number | null;
        };
        /** @description A page of posts. */
        readonly PostList: {
            /** @description The posts, newest first. */
            readonly posts: readonly components["schemas"]["Post"][];
            /**
             * @description The text that continues the list; `null` at its end.
             * @example AAAAAAAAAAEAAAAAAAAAlg
             */
            readonly next?: string | null;
        };
        /** @description A post that a member liked or viewed: an element of `fav_list` and `view_list`. */
        readonly PostRecord: {
            /**
             * @description The post's id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /** @description Its topics. */
            readonly topic: readonly string[];
            /** @description Its tags. */
            readonly tag: readonly string[];
            /** @description The tokens of its title and text. */
            readonly token: readonly string[];
            /**
             * Format: date-time
             * @description The date of the like or the last view.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * Format: date-time
             * @description The date of the post.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly post_date: string;
            /**
             * @description Its title.
             * @example An eclipse over the lake
             */
            readonly title: string;
            /**
             * Format: uri
             * @description Its address.
             * @example https://news.example.org/eclipse
             */
            readonly url: string;
            /**
             * Format: int64
             * @description 1 when it has an image, else 0.
             * @example 1
             * @enum {integer}
             */
            readonly img: 0 | 1;
        };
        /** @description The source that has brought a post. */
        readonly PostSource: {
            /**
             * @description The id of the source.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The name of the source.
             * @example Campus news
             */
            readonly name: string;
            /**
             * Format: uri
             * @description The address of its page for people, or that of its feed, without the query, which may be secret.
             * @example https://news.example.org/
             */
            readonly url: string;
        };
        /** @description The answer to testing a webhook. */
        readonly Queued: {
            /**
             * @description The id of the delivery.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
        };
        /** @description The answer to reading how often a notice was read. */
        readonly Reads: {
            /** @description One entry for each day, oldest first; the last one is today. */
            readonly notice_reads: readonly components["schemas"]["DayReads"][];
        };
        /** @description The answer to asking for the frequent searches. */
        readonly Realtime: {
            /** @description Terms with their numbers of searches in the last 24 hours, most searched first. */
            readonly search_realtime: readonly (readonly [
                string,
                number
            ])[];
        };
        /** @description New recovery codes, which are not shown again. */
        readonly RecoveryCodes: {
            /** @description Ten codes. Each replaces a code of the authenticator once. */
            readonly recovery_codes: readonly string[];
        };
        readonly RequestResetFields: {
            /**
             * @description The id of the member, or their address.
             * @example ann@example.org
             */
            readonly id: string;
        };
        /** @description A code with which a member chooses a new password once. */
        readonly ResetCode: {
            /**
             * @description The code, which is not shown again.
             * @example 8k2m-0qwz-7hn4-c9xe
             */
            readonly code: string;
            /**
             * Format: date-time
             * @description The time at which it expires.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly expires: string;
        };
        /** @description The data of the event `reset`. */
        readonly ResetData: {
            /** @description The name of the events that are left out: read the data again. */
            readonly event: components["schemas"]["Kind"];
        };
        readonly ResetPasswordFields: {
            /**
             * @description The code.
             * @example 8k2m-0qwz-7hn4-c9xe
             */
            readonly code: string;
            /**
             * @description The new password, 8 to 128 characters.
             * @example another long sentence
             */
            readonly new_pw: string;
            /**
             * @description The new password again.
             * @example another long sentence
             */
            readonly new_pw_check: string;
        };
        /** @description The role of a member. */
        readonly Role: {
            /**
             * @description What the member may do besides what every member may; empty without a role. An administrator may do everything,
             *     whatever the role is.
             */
            readonly scopes: readonly ("notices" | "posts" | "posts:import" | "acts:import" | "feedback" | "members" | "members:read" | "front" | "analytics:read" | "audit:read" | "sources" | "webhooks")[];
        };
        readonly RoleFields: {
            /** @description What the member may do besides what every member may: names of scopes. None remove the role. */
            readonly scopes: readonly ("notices" | "posts" | "posts:import" | "acts:import" | "feedback" | "members" | "members:read" | "front" | "analytics:read" | "audit:read" | "sources" | "webhooks")[];
        };
        /** @description A member on the roster. */
        readonly RosterMember: {
            /**
             * @description The university's id for the member.
             * @example s2026001
             */
            readonly id: string;
            /**
             * @description The member's name.
             * @example Ann Lee
             */
            readonly name: string;
            /**
             * @description The subject that the member studies, or `""`.
             * @example Physics
             */
            readonly major: string;
        };
        /** @description A page of the roster. */
        readonly RosterPage: {
            /** @description The members, by id. */
            readonly roster: readonly components["schemas"]["RosterMember"][];
            /**
             * @description The `after` of the next page; `null` on the last page.
             * @example ann
             */
            readonly next?: string | null;
        };
        /** @description The result of an import of a roster. */
        readonly RosterReport: {
            /**
             * Format: int64
             * @description The number of new members.
             * @example 7
             */
            readonly inserted: number;
            /**
             * Format: int64
             * @description The number of members whose entry changed.
             * @example 7
             */
            readonly updated: number;
            /**
             * Format: int64
             * @description The number of members whose entry did not change.
             * @example 7
             */
            readonly skipped: number;
            /**
             * @description The first 1,000 lines that were skipped because of an error, in order. If there are more, a last entry has their
             *     number.
             */
            readonly errors: readonly components["schemas"]["LineError"][];
            /** @description The encoding of the file, for people; only if it is not UTF-8. */
            readonly warnings?: readonly string[] | null;
        };
        /** @description A saved draft. */
        readonly SavedDraft: components["schemas"]["Draft"] & {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The id of the notice that it changes, which may have been removed; `null` for a new notice.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly notice: string | null;
            /**
             * Format: date-time
             * @description The date when it was saved last.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
        };
        /** @description A term searched by more visitors than usual. */
        readonly SearchBurst: {
            /**
             * @description The term in its most frequent spelling.
             * @example eclipse
             */
            readonly term: string;
            /**
             * Format: int64
             * @description Number of visitors who searched it in the current clock hour and the two before, each counted once an hour.
             * @example 20
             */
            readonly count: number;
            /**
             * Format: double
             * @description The number that its earlier searches lead to expect.
             * @example 1.82
             */
            readonly usual: number;
            /**
             * Format: double
             * @description How many standard deviations `count` is above `usual`.
             * @example 10.83
             */
            readonly score: number;
        };
        readonly SearchFields: {
            /**
             * @description 1 to 200 characters.
             * @example eclipse
             */
            readonly search: string;
        };
        /** @description A search of a member: an element of `search_list`. */
        readonly SearchRecord: {
            /**
             * @description The search as the member wrote it.
             * @example Big eclipse
             */
            readonly original: string;
            /** @description The search, split at white space. */
            readonly search_split: readonly string[];
            /** @description The search's tokens. */
            readonly tokenizer_split: readonly string[];
            /** @description The similar words that were added to the search. */
            readonly similarity_split: readonly string[];
            /**
             * Format: date-time
             * @description The time of the search.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
        };
        /** @description The answer to a search. */
        readonly SearchResult: {
            /** @description The posts, best match first. */
            readonly search_result: readonly components["schemas"]["PostHit"][];
            /**
             * @description If a page was asked for: the text that continues the search; `null` on the last page.
             * @example AAAAAAAAAAEAAAAAAAAAlg
             */
            readonly next?: string | null;
        };
        /** @description A place where a member is signed in. */
        readonly Session: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The family of the program and its system, such as `Firefox on Linux`; `unknown` if the client did not tell.
             * @example Firefox on Linux
             */
            readonly device: string;
            /**
             * Format: date-time
             * @description The date of the sign-in.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * Format: date-time
             * @description The time of the latest request, up to an hour late.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly last_seen: string;
            /**
             * Format: int64
             * @description 1 if it is the session of this request, otherwise 0.
             * @example 1
             * @enum {integer}
             */
            readonly current: 0 | 1;
        };
        /** @description The sessions of a member. */
        readonly Sessions: {
            /** @description At most 1,000 sessions, the one that was used last first. */
            readonly sessions: readonly components["schemas"]["Session"][];
        };
        readonly SetEmailFields: {
            /**
             * @description The current password.
             * @example a long sentence
             */
            readonly pw: string;
            /**
             * @description The address; empty removes the one that the member has.
             * @example ann@example.org
             */
            readonly email: string;
            /**
             * @description The code of the authenticator, or a recovery code, of a member who has enabled the second factor.
             * @example 287082
             */
            readonly otp?: string | null;
        };
        readonly SignInFields: {
            /**
             * @description The sign-in identifier.
             * @example ann
             */
            readonly id: string;
            /**
             * @description The password.
             * @example a long sentence
             */
            readonly pw: string;
            /**
             * @description The code of the authenticator, or a recovery code, of a member who has enabled the second factor.
             * @example 287082
             */
            readonly otp?: string | null;
        };
        readonly SignInOidcFields: {
            /**
             * @description The code that the page got.
             * @example 8k2m-0qwz-7hn4-c9xe
             */
            readonly code: string;
            /**
             * @description The code of the authenticator, or a recovery code, of a member who has enabled the second factor.
             * @example 287082
             */
            readonly otp?: string | null;
        };
        readonly SignInPasskeyFields: {
            /**
             * @description What `begin_passkey_sign_in` has given.
             * @example ImV5SnpkR0YwWlNJNklpSjkifQ.5f1d
             */
            readonly ceremony: string;
            /**
             * @description The answer of the browser (`credential.toJSON()`), as JSON.
             * @example {"id":"AAECAwQFBgcICQoLDA0ODw","type":"public-key"}
             */
            readonly credential: string;
            /**
             * @description The code of the authenticator, or a recovery code, of a member whose passkey does not replace the second factor.
             * @example 287082
             */
            readonly otp?: string | null;
        };
        /** @description The ways in which a member can sign in and be reached. */
        readonly SignIns: {
            /**
             * Format: int64
             * @description Whether the member has a confirmed e-mail address, 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly email: 0 | 1;
            /**
             * Format: int64
             * @description Whether the member has enabled the second factor, 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly otp: 0 | 1;
            /**
             * @description The number of the member's passkeys.
             * @example 1
             */
            readonly passkeys: number;
            /**
             * Format: int64
             * @description Whether a person of single sign-on is linked, 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly oidc: 0 | 1;
            readonly mail?: components["schemas"]["Mail"] | null;
        };
        /** @description The service failed, and nobody was signed up. */
        readonly SignUpFailed: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "sign_up fail";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "internal_error";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the service failed: try again, and tell its operators, whose log has the cause
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        readonly SignUpFields: {
            /**
             * @description The sign-in identifier: 3 to 30 ASCII letters, digits, `_`, `-` and `.`, a letter or digit first.
             * @example ann
             */
            readonly id: string;
            /**
             * @description The password, 8 to 128 characters.
             * @example another long sentence
             */
            readonly pw: string;
            /**
             * @description The password again.
             * @example another long sentence
             */
            readonly pw_check: string;
            /**
             * @description The displayed name, 1 to 30 characters.
             * @example Ann
             */
            readonly nickname: string;
            /**
             * @description An e-mail address, which a mail with a code confirms. Some services need one.
             * @example ann@example.org
             */
            readonly email?: string | null;
        };
        /**
         * @description The share of each signal in the score of a post, from 0 to 1 with three digits. The shares sum to 1, or are all 0 if the
         *     post has no score.
         */
        readonly SignalShares: {
            /**
             * Format: double
             * @description The similarity to the topics of the member's acts.
             * @example 0.1
             */
            readonly topic: number;
            /**
             * Format: double
             * @description The similarity to the tags.
             * @example 0.1
             */
            readonly tag: number;
            /**
             * Format: double
             * @description The similarity to the words.
             * @example 0.1
             */
            readonly word: number;
            /**
             * Format: double
             * @description The similarity to the meaning of the words.
             * @example 0.1
             */
            readonly meaning: number;
            /**
             * Format: double
             * @description The similarity to the nearest posts that the member liked or viewed.
             * @example 0.1
             */
            readonly near: number;
            /**
             * Format: double
             * @description How new the post is to the member.
             * @example 0.1
             */
            readonly novel: number;
            /**
             * Format: double
             * @description How recent it is among the posts of its topic.
             * @example 0.1
             */
            readonly recent: number;
            /**
             * Format: double
             * @description How few posts of its topic have followed it, by their logarithm.
             * @example 0.1
             */
            readonly age: number;
            /**
             * Format: double
             * @description How popular it is.
             * @example 0.1
             */
            readonly popular: number;
            /**
             * Format: double
             * @description How many people who acted on the member's posts acted on it.
             * @example 0.1
             */
            readonly together: number;
        };
        /** @description The weight of each signal, from 0 to 1,000. It describes `Weights` in the OpenAPI document. */
        readonly SignalWeights: {
            /**
             * Format: double
             * @description The weight of the similarity to the topics of the member's acts.
             * @example 0.5
             */
            readonly topic?: number;
            /**
             * Format: double
             * @description The weight of the similarity to the tags.
             * @example 0.5
             */
            readonly tag?: number;
            /**
             * Format: double
             * @description The weight of the similarity to the words.
             * @example 0.5
             */
            readonly word?: number;
            /**
             * Format: double
             * @description The weight of the similarity to the meaning of the words.
             * @example 0.5
             */
            readonly meaning?: number;
            /**
             * Format: double
             * @description The weight of the similarity to the nearest posts that the member liked or viewed.
             * @example 0.5
             */
            readonly near?: number;
            /**
             * Format: double
             * @description The weight of how new the post is to the member.
             * @example 0.5
             */
            readonly novel?: number;
            /**
             * Format: double
             * @description The weight of how recent it is among the posts of its topic.
             * @example 0.5
             */
            readonly recent?: number;
            /**
             * Format: double
             * @description The weight of how few posts of its topic have followed it, by their logarithm.
             * @example 0.5
             */
            readonly age?: number;
            /**
             * Format: double
             * @description The weight of how popular it is.
             * @example 0.5
             */
            readonly popular?: number;
            /**
             * Format: double
             * @description The weight of how many people who acted on the member's posts acted on it.
             * @example 0.5
             */
            readonly together?: number;
        };
        /** @description A post that tells the same story as another one: posts less than six days apart with many common words. */
        readonly SimilarPost: {
            /**
             * @description The id of the post.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The title of the post.
             * @example The sun goes dark over the lake
             */
            readonly title: string;
            /**
             * Format: uri
             * @description The address of the post.
             * @example https://paper.example.org/eclipse
             */
            readonly url: string;
            /** @description The source that has brought the post, if one has. */
            readonly source?: components["schemas"]["PostSource"];
        };
        /** @description The answer to asking for similar words. */
        readonly SimilarityWords: {
            /** @description One object for each token of the search in order, with the token as its only key. */
            readonly similarity_word: readonly {
                readonly [key: string]: readonly {
                    readonly [key: string]: number;
                }[];
            }[];
        };
        /**
         * @description A part of a snippet. The texts of all parts together are the snippet.
         *
         *     Parts need no unit of length, in which languages differ, and no escaping: they are plain text, as posts are.
         */
        readonly SnippetPart: {
            /**
             * @description Plain text, which may contain `<` and `&`.
             * @example eclipse
             */
            readonly text: string;
            /**
             * @description Whether the part is a word that the search has found, which a client highlights.
             * @example true
             */
            readonly hit: boolean;
        };
        /** @description A source. */
        readonly Source: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description Its name: the given one, or else the title of the feed, or its host before the first fetch.
             * @example Campus news
             */
            readonly name: string;
            /**
             * @description The address of the feed.
             * @example https://news.example.org/feed.xml
             */
            readonly url: string;
            /**
             * @description The address of its page for people, if the feed names one.
             * @example https://news.example.org/
             */
            readonly home?: string | null;
            /** @description The topics that its posts get. */
            readonly topic: readonly string[];
            /** @description The tags that its posts get beside those of the feed. */
            readonly tag: readonly string[];
            /**
             * Format: int64
             * @description The minutes between two fetches; null for as often as suits it.
             * @example 60
             */
            readonly every?: number | null;
            /**
             * @description Whether it is fetched.
             * @example active
             * @enum {string}
             */
            readonly state: "active" | "paused" | "ended";
            /**
             * Format: date-time
             * @description The date when it was added.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * Format: int64
             * @description The number of posts that it has brought.
             * @example 120
             */
            readonly posts: number;
            /**
             * Format: date-time
             * @description The date of the next fetch; null unless it is active.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly next_fetch?: string | null;
            /**
             * Format: date-time
             * @description The date of the last fetch; null before the first one.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly last_fetch?: string | null;
            /**
             * Format: date-time
             * @description The date of the last fetch that succeeded.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly last_success?: string | null;
            /**
             * Format: date-time
             * @description The date when a fetch or a hub last brought a post.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly last_news?: string | null;
            /**
             * Format: int64
             * @description The number of fetches that have failed since the last success.
             * @example 0
             */
            readonly failures: number;
            /**
             * Format: date-time
             * @description The date since when it fails.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly failing_since?: string | null;
            /**
             * @description Why the last fetch failed; null if it succeeded.
             * @example status 503
             */
            readonly error?: string | null;
            /**
             * @description The address of the hub that the feed names, which can send what is new at once.
             * @example https://hub.example.org/
             */
            readonly hub?: string | null;
            /**
             * Format: date-time
             * @description The end of the subscription at the hub, which is renewed before; null without one.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly subscribed_until?: string | null;
        };
        /** @description The answer to getting a source. */
        readonly SourceDetail: {
            /** @description The source. */
            readonly source: components["schemas"]["Source"];
        };
        readonly SourceFields: {
            /**
             * @description The address of an RSS, Atom or JSON feed, which begins with `https://` or `http://`.
             * @example https://news.example.org/feed.xml
             */
            readonly url: string;
            /**
             * @description The name of the source, at most 100 characters on one line; by default the title of the feed.
             * @example Campus news
             */
            readonly name?: string | null;
            /** @description The topics that its posts get, up to 50, each of 1 to 100 characters. */
            readonly topic?: readonly string[] | null;
            /** @description The tags that its posts get beside those of the feed, up to 50, each of 1 to 100 characters. */
            readonly tag?: readonly string[] | null;
            /**
             * Format: int64
             * @description The minutes between two fetches, 1 to 10,080; 0, the default, for as often as suits the source.
             * @example 60
             */
            readonly every?: number | null;
        };
        /** @description The sources. */
        readonly Sources: {
            /** @description The sources by name. */
            readonly sources: readonly components["schemas"]["Source"][];
        };
        /** @description The state of the service: the figures of today, and what the program and its database do. */
        readonly Status: {
            /**
             * @description The version of the program.
             * @example 0.1.0
             */
            readonly version: string;
            /**
             * Format: date-time
             * @description The current time of the server.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly now: string;
            /**
             * @description The time zone in which days and hours are counted, such as `Asia/Seoul`.
             * @example Asia/Seoul
             */
            readonly zone: string;
            /** @description The live figures of the current day. */
            readonly live: components["schemas"]["Live"];
            /**
             * Format: int64
             * @description How many of all communications came from crawlers.
             * @example 7
             */
            readonly crawled: number;
            /**
             * Format: int64
             * @description Bytes of the database: of an SQLite file without the write-ahead log, or on a server as measured in the last minute.
             * @example 7
             */
            readonly database_bytes: number;
            /**
             * Format: int64
             * @description Bytes of the write-ahead log of an SQLite file; 0 on a server.
             * @example 7
             */
            readonly wal_bytes: number;
            /**
             * @description Writes, and lines of the access log, that wait for a commit.
             * @example 7
             */
            readonly writes_waiting: number;
            /** @description The numbers of changes of each part of the data, as this server counts them. */
            readonly changes: components["schemas"]["Changes"];
        };
        /** @description The number of visits of a student number. */
        readonly StudentVisits: {
            /**
             * @description The member's id, for administrators. Other callers see the first four characters of an id of digits and `member`
             *     for other ids, unless the server is set up to show more. `guest` for all guests together, `removed` for all removed
             *     members.
             * @example 2026
             */
            readonly student_num: string;
            /**
             * Format: int64
             * @description Number of visits.
             * @example 7
             */
            readonly count: number;
        };
        /** @description The answer of a successful operation. */
        readonly Success_AccessToken: {
            /**
             * @description The bearer token that the other operations take.
             * @example eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.Zm9yIHRoZSBkb2N1bWVudA
             */
            readonly access_token: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_AddedPasskey: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Admins: {
            /** @description The administrators by the date of the grant, the earliest first, then by id. */
            readonly admins: readonly components["schemas"]["Administrator"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_AuditPage: {
            /** @description The records, latest first. */
            readonly audit: readonly components["schemas"]["AuditRecord"][];
            /**
             * Format: int64
             * @description The `before` of the next page; null on the last one.
             * @example 7
             */
            readonly next?: number | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Blacklist: {
            /** @description The members by the date of the blacklisting, the latest first, then by id. */
            readonly blacklist: readonly components["schemas"]["Blacklisted"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Bursts: {
            /** @description The terms, highest score first. */
            readonly search_bursts: readonly components["schemas"]["SearchBurst"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Categories: {
            /** @description The categories with posts, ordered by the number of posts, greatest first, then by name. */
            readonly categories: readonly components["schemas"]["Category"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Ceremony: {
            /**
             * @description What the app sends back with the answer of the browser.
             * @example eyJzdGF0ZSI6IiJ9.5f1d
             */
            readonly ceremony: string;
            /**
             * @description The options for `navigator.credentials`, as JSON.
             * @example {"challenge":"AAECAwQFBgcICQoLDA0ODw","rpId":"app.example"}
             */
            readonly options: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Days: {
            /** @description The days, oldest first. */
            readonly analysis: readonly components["schemas"]["Day"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Deliveries: {
            /** @description At most 1,000, latest first. */
            readonly deliveries: readonly components["schemas"]["Delivery"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Devices: {
            /**
             * Format: int64
             * @description Reports of a computer.
             * @example 7
             */
            readonly pc: number;
            /**
             * Format: int64
             * @description Reports of a tablet.
             * @example 7
             */
            readonly tablet: number;
            /**
             * Format: int64
             * @description Reports of a phone.
             * @example 7
             */
            readonly mobile: number;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_DiscoveredFeeds: {
            /** @description The feeds in the order of the page, at most 50. */
            readonly feeds: readonly components["schemas"]["FoundFeed"][];
            /**
             * @description Why the page could not be fetched; null if it could.
             * @example status 503
             */
            readonly error?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Domains: {
            /** @description The sites, at most 50, the one with the most matches first. */
            readonly search_result: readonly components["schemas"]["Domain"][];
            /**
             * @description If a page was asked for: the text that continues the search; `null` on the last page.
             * @example AAAAAAAAAAEAAAAAAAAAlg
             */
            readonly next?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_DraftList: {
            /** @description The drafts of all administrators, the one that was saved last first. */
            readonly drafts: readonly components["schemas"]["SavedDraft"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_EmailAddress: {
            /**
             * @description The confirmed address; null if there is none.
             * @example ann@example.org
             */
            readonly email?: string | null;
            /**
             * @description An address that waits for its confirmation; null if there is none.
             * @example ann.lee@example.org
             */
            readonly pending_email?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_EnrolmentCode: {
            /**
             * @description The code, which is not shown again.
             * @example 8k2m-0qwz-7hn4-c9xe
             */
            readonly enrolment_code: string;
            /**
             * Format: date-time
             * @description The time at which it expires.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly expires: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_FeedWeights: {
            /**
             * @description Which of them are in use: `learned` or `settings`.
             * @example learned
             * @enum {string}
             */
            readonly in_use: "learned" | "settings";
            /** @description The weights in use. */
            readonly weights: components["schemas"]["SignalWeights"];
            /** @description The weights of the settings. */
            readonly settings: components["schemas"]["SignalWeights"];
            readonly learned?: components["schemas"]["Learned"] | null;
            /** @description How popularity is measured. */
            readonly popularity: components["schemas"]["PopularityInUse"];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_FeedbackList: {
            /** @description At most 1,000 entries, newest first. */
            readonly feedback_list: readonly components["schemas"]["Feedback"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_FeedbackPage: {
            /** @description At most 1,000 entries, newest first. */
            readonly feedback: readonly components["schemas"]["Feedback"][];
            /**
             * @description The id after which the next page begins; `None` on the last page.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly next?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Fetched: {
            /**
             * Format: int64
             * @description The number of new posts.
             * @example 3
             */
            readonly inserted: number;
            /**
             * Format: int64
             * @description The number of posts that have changed.
             * @example 0
             */
            readonly updated: number;
            /**
             * Format: int64
             * @description The number of other entries: those that are already posts, or were, or may not become posts.
             * @example 17
             */
            readonly skipped: number;
            /** @description The first new posts, at most 100. */
            readonly posts: readonly components["schemas"]["ArrivedPost"][];
            /** @description The first 100 entries that could not be read. If there are more, a last entry has their number. */
            readonly errors: readonly components["schemas"]["LineError"][];
            /**
             * @description The faults of the feed, of entries that were read anyway, and why entries did not become posts, human-readable. The first
             *     100; if there are more, a last one has their number.
             */
            readonly warnings: readonly string[];
            /**
             * @description Why the fetch failed; null if it succeeded.
             * @example status 503
             */
            readonly error?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_FullList: {
            /** @description The notices: pinned ones first, then the newest first. */
            readonly notice_list: readonly components["schemas"]["FullNotice"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_GetPost: {
            /** @description The post. */
            readonly post: components["schemas"]["PostDetail"];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Home: {
            /**
             * @description `tidings`.
             * @example tidings
             */
            readonly name: string;
            /**
             * @description The version of the program.
             * @example 0.1.0
             */
            readonly version: string;
            /**
             * @description The page of reports, relative to this address.
             * @example reports
             */
            readonly reports: string;
            /**
             * @description The API page, relative to this address; missing if it is not served.
             * @example docs/
             */
            readonly docs?: string | null;
            /**
             * @description The OpenAPI document, relative to this address; missing if it is not served.
             * @example openapi.json
             */
            readonly openapi?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_ImportReport: {
            /**
             * Format: int64
             * @description The number of new posts.
             * @example 7
             */
            readonly inserted: number;
            /**
             * Format: int64
             * @description The number of changed posts.
             * @example 7
             */
            readonly updated: number;
            /**
             * Format: int64
             * @description The number of unchanged posts.
             * @example 7
             */
            readonly skipped: number;
            /** @description The first 1,000 rejected lines, in order. If there are more, a last entry has their number. */
            readonly errors: readonly components["schemas"]["LineError"][];
            /**
             * @description What was wrong with a feed and with entries that were read anyway, for people; only if there is something. The first
             *     1,000; if there are more, a last entry has their number.
             */
            readonly warnings?: readonly string[] | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_ImportedSources: {
            /**
             * Format: int64
             * @description The number of new sources.
             * @example 12
             */
            readonly inserted: number;
            /**
             * Format: int64
             * @description The number of sources that were there.
             * @example 0
             */
            readonly skipped: number;
            /** @description The entries that were left out, by their numbers from 1. */
            readonly errors: readonly components["schemas"]["LineError"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Inserted: {
            /**
             * @description The id of the new record.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Invitations: {
            /** @description The invitations, the latest first. Those that are used up or have expired are deleted when the next one is made. */
            readonly invitations: readonly components["schemas"]["Invitation"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Keys: {
            /** @description The keys by name. */
            readonly keys: readonly components["schemas"]["Key"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_LatelySearches: {
            /** @description The searches, newest first. */
            readonly lately_search_list: readonly components["schemas"]["SearchRecord"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Lists: {
            /**
             * @description The id as registered.
             * @example ann
             */
            readonly user_id: string;
            /** @description Liked posts, newest first. */
            readonly fav_list?: readonly components["schemas"]["PostRecord"][] | null;
            /** @description Viewed posts, each once, the most recently viewed first. */
            readonly view_list?: readonly components["schemas"]["PostRecord"][] | null;
            /** @description Searches, newest first. */
            readonly search_list?: readonly components["schemas"]["SearchRecord"][] | null;
            /** @description Opened newsfeeds, newest first. */
            readonly newsfeed_list?: readonly components["schemas"]["NewsfeedAccess"][] | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Log: {
            /** @description The lines, newest first. */
            readonly log: readonly components["schemas"]["LogEntry"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_LogLines: {
            /** @description The lines, newest first. Few of the lines of a long log may match, so a page can be empty although others follow. */
            readonly log: readonly components["schemas"]["LogLine"][];
            /**
             * @description The `before` of the next page; null on the last one.
             * @example 1795163760000-2
             */
            readonly next: string | null;
            /**
             * Format: date-time
             * @description The time to which the log was read for this page; null on the last one.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly looked_to?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Mails: {
            /** @description At most 1,000, latest first. */
            readonly mails: readonly components["schemas"]["Mail"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_MainInfo: {
            /** @description The first and the second line. */
            readonly main_info: readonly string[];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_MemberData: {
            /** @description The account. */
            readonly account: components["schemas"]["AccountData"];
            /** @description Where the member is signed in, and sessions that have expired and will be deleted. */
            readonly sessions: readonly components["schemas"]["Session"][];
            /** @description All likes. */
            readonly likes: readonly components["schemas"]["PostAct"][];
            /** @description Viewed posts, each with the date of the last view. */
            readonly views: readonly components["schemas"]["PostAct"][];
            /** @description Posts that the member has hidden from the recommended feed. */
            readonly hidden_posts: readonly components["schemas"]["PostAct"][];
            /** @description Searches with their tokens and similar words. */
            readonly searches: readonly components["schemas"]["SearchRecord"][];
            /** @description Opened newsfeeds. */
            readonly newsfeeds: readonly components["schemas"]["NewsfeedAccess"][];
            /** @description Acts that were imported from another system, each once. */
            readonly imported_acts: readonly components["schemas"]["ImportedAct"][];
            /** @description Feedback. */
            readonly feedback: readonly components["schemas"]["Feedback"][];
            /** @description The days on which the member visited the service. */
            readonly visits: readonly components["schemas"]["VisitDay"][];
            /** @description Searches of the last day, from which trends are counted. */
            readonly trend_searches: readonly components["schemas"]["TrendSearch"][];
            /** @description The member's lines of the access log. */
            readonly log: readonly components["schemas"]["LogEntry"][];
            /** @description The records of the audit trail that are about the member, or about what the member did as an administrator. */
            readonly audit: readonly components["schemas"]["AuditRecord"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_MemberPasskeys: {
            /** @description The passkeys, latest first. */
            readonly passkeys: readonly components["schemas"]["Passkey"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Members: {
            /** @description The members, by id. */
            readonly members: readonly components["schemas"]["MemberEntry"][];
            /**
             * @description The `after` of the next page; `null` on the last page.
             * @example ann
             */
            readonly next?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_MoveReport: {
            /**
             * Format: int64
             * @description The number of new records.
             * @example 7
             */
            readonly inserted: number;
            /**
             * Format: int64
             * @description The number of records that already existed.
             * @example 7
             */
            readonly skipped: number;
            /** @description The first 1,000 refused lines, in order; if there are more, a last entry has their number. */
            readonly errors: readonly components["schemas"]["LineError"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_NewInvitation: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The code with which people sign up, which is not shown again; null if it is mailed.
             * @example 8k2m-0qwz-7hn4-c9xe
             */
            readonly code?: string | null;
            /**
             * Format: date-time
             * @description The time at which it expires.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly expires: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_NewKey: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The key. It is not shown again.
             * @example tidings_0123456789abcdef0123456789abcdef0123456789abcdef
             */
            readonly key: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Newsfeed: {
            /** @description The posts. */
            readonly newsfeed: readonly components["schemas"]["FeedPost"][];
            /**
             * @description The `next` of the following page; `null` on the last page.
             * @example AAAAAAAAAAEAAAAAAAAAlg
             */
            readonly next: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_NoticeList: {
            /** @description The notices, newest first. */
            readonly notice_list: readonly components["schemas"]["Notice"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_OneDay: {
            /** @description The day. */
            readonly analysis: components["schemas"]["Day"];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_OneNotice: {
            /** @description The notice. It is one notice and not a list; existing clients expect this name. */
            readonly notice_list: components["schemas"]["Notice"];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Opml: {
            /**
             * @description The list in OPML 2.0.
             * @example <opml version="2.0">…</opml>
             */
            readonly opml: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_OtpSecret: {
            /**
             * @description The secret in base 32, for typing.
             * @example JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP
             */
            readonly secret: string;
            /**
             * @description The same for a QR code, as `otpauth://totp/…`.
             * @example otpauth://totp/tidings:ann?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=tidings
             */
            readonly uri: string;
            /**
             * @description The address as a QR code: an SVG image, for pages and apps that draw none themselves.
             * @example <svg xmlns="http://www.w3.org/2000/svg"></svg>
             */
            readonly qr: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_OtpStatus: {
            /**
             * Format: int64
             * @description 1 if a sign-in needs a code, otherwise 0.
             * @example 1
             * @enum {integer}
             */
            readonly enabled: 0 | 1;
            /**
             * Format: int64
             * @description The number of recovery codes that were not used yet.
             * @example 9
             */
            readonly recovery_codes: number;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Period: {
            /** @description The days, oldest first. */
            readonly days: readonly components["schemas"]["DayFigures"][];
            /** @description Number of visitors in each hour, 0 to 23, summed over all days. */
            readonly hours: readonly number[];
            /** @description Visits by student number, summed over all days, most visits first. */
            readonly students: readonly components["schemas"]["StudentVisits"][];
            /** @description Devices that were reported on these days. */
            readonly devices: components["schemas"]["Devices"];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_PeriodReport: {
            /**
             * Format: date
             * @description The first day, `YYYY-MM-DD`.
             * @example 2026-11-20
             */
            readonly from: string;
            /**
             * Format: date
             * @description The last day, `YYYY-MM-DD`.
             * @example 2026-11-20
             */
            readonly to: string;
            /**
             * @description The time zone in which days and hours are counted.
             * @example Asia/Seoul
             */
            readonly zone: string;
            /**
             * @description Whether all days are final: nothing is counted on the last day any more.
             * @example true
             */
            readonly is_final: boolean;
            /** @description The days, oldest first. */
            readonly days: readonly components["schemas"]["DayFigures"][];
            /** @description The hours of each weekday, Monday first. */
            readonly weekdays: readonly components["schemas"]["WeekdayHours"][];
            /** @description The most searched terms of the last 24 hours, most searched first; missing if the period ends before today. */
            readonly terms?: readonly components["schemas"]["TermCount"][] | null;
            /** @description Devices that apps reported on these days. */
            readonly devices: components["schemas"]["Devices"];
            /**
             * Format: int64
             * @description Number of posts with a date in the period, from which `topics` and `posts` are taken: the newest 10,000 at most.
             * @example 7
             */
            readonly post_count: number;
            /** @description The topics with the most posts of the period, at most ten. */
            readonly topics: readonly components["schemas"]["TopicFigures"][];
            /** @description The posts of the period with the most views, at most ten. */
            readonly posts: readonly components["schemas"]["PostFigures"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_PostList: {
            /** @description The posts, newest first. */
            readonly posts: readonly components["schemas"]["Post"][];
            /**
             * @description The text that continues the list; `null` at its end.
             * @example AAAAAAAAAAEAAAAAAAAAlg
             */
            readonly next?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Queued: {
            /**
             * @description The id of the delivery.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Reads: {
            /** @description One entry for each day, oldest first; the last one is today. */
            readonly notice_reads: readonly components["schemas"]["DayReads"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Realtime: {
            /** @description Terms with their numbers of searches in the last 24 hours, most searched first. */
            readonly search_realtime: readonly (readonly [
                string,
                number
            ])[];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_RecoveryCodes: {
            /** @description Ten codes. Each replaces a code of the authenticator once. */
            readonly recovery_codes: readonly string[];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_ResetCode: {
            /**
             * @description The code, which is not shown again.
             * @example 8k2m-0qwz-7hn4-c9xe
             */
            readonly code: string;
            /**
             * Format: date-time
             * @description The time at which it expires.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly expires: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Role: {
            /**
             * @description What the member may do besides what every member may; empty without a role. An administrator may do everything,
             *     whatever the role is.
             */
            readonly scopes: readonly ("notices" | "posts" | "posts:import" | "acts:import" | "feedback" | "members" | "members:read" | "front" | "analytics:read" | "audit:read" | "sources" | "webhooks")[];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_RosterPage: {
            /** @description The members, by id. */
            readonly roster: readonly components["schemas"]["RosterMember"][];
            /**
             * @description The `after` of the next page; `null` on the last page.
             * @example ann
             */
            readonly next?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_RosterReport: {
            /**
             * Format: int64
             * @description The number of new members.
             * @example 7
             */
            readonly inserted: number;
            /**
             * Format: int64
             * @description The number of members whose entry changed.
             * @example 7
             */
            readonly updated: number;
            /**
             * Format: int64
             * @description The number of members whose entry did not change.
             * @example 7
             */
            readonly skipped: number;
            /**
             * @description The first 1,000 lines that were skipped because of an error, in order. If there are more, a last entry has their
             *     number.
             */
            readonly errors: readonly components["schemas"]["LineError"][];
            /** @description The encoding of the file, for people; only if it is not UTF-8. */
            readonly warnings?: readonly string[] | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_SearchResult: {
            /** @description The posts, best match first. */
            readonly search_result: readonly components["schemas"]["PostHit"][];
            /**
             * @description If a page was asked for: the text that continues the search; `null` on the last page.
             * @example AAAAAAAAAAEAAAAAAAAAlg
             */
            readonly next?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Sessions: {
            /** @description At most 1,000 sessions, the one that was used last first. */
            readonly sessions: readonly components["schemas"]["Session"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_SignIns: {
            /**
             * Format: int64
             * @description Whether the member has a confirmed e-mail address, 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly email: 0 | 1;
            /**
             * Format: int64
             * @description Whether the member has enabled the second factor, 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly otp: 0 | 1;
            /**
             * @description The number of the member's passkeys.
             * @example 1
             */
            readonly passkeys: number;
            /**
             * Format: int64
             * @description Whether a person of single sign-on is linked, 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly oidc: 0 | 1;
            readonly mail?: components["schemas"]["Mail"] | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_SimilarityWords: {
            /** @description One object for each token of the search in order, with the token as its only key. */
            readonly similarity_word: readonly {
                readonly [key: string]: readonly {
                    readonly [key: string]: number;
                }[];
            }[];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_SourceDetail: {
            /** @description The source. */
            readonly source: components["schemas"]["Source"];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Sources: {
            /** @description The sources by name. */
            readonly sources: readonly components["schemas"]["Source"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Status: {
            /**
             * @description The version of the program.
             * @example 0.1.0
             */
            readonly version: string;
            /**
             * Format: date-time
             * @description The current time of the server.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly now: string;
            /**
             * @description The time zone in which days and hours are counted, such as `Asia/Seoul`.
             * @example Asia/Seoul
             */
            readonly zone: string;
            /** @description The live figures of the current day. */
            readonly live: components["schemas"]["Live"];
            /**
             * Format: int64
             * @description How many of all communications came from crawlers.
             * @example 7
             */
            readonly crawled: number;
            /**
             * Format: int64
             * @description Bytes of the database: of an SQLite file without the write-ahead log, or on a server as measured in the last minute.
             * @example 7
             */
            readonly database_bytes: number;
            /**
             * Format: int64
             * @description Bytes of the write-ahead log of an SQLite file; 0 on a server.
             * @example 7
             */
            readonly wal_bytes: number;
            /**
             * @description Writes, and lines of the access log, that wait for a commit.
             * @example 7
             */
            readonly writes_waiting: number;
            /** @description The numbers of changes of each part of the data, as this server counts them. */
            readonly changes: components["schemas"]["Changes"];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Summary: {
            /** @description The figures. */
            readonly analysis: components["schemas"]["Analysis"];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_TestResult: {
            /**
             * @description Why the mail was not sent; null if the mail server has taken it.
             * @example the mail server answered 535
             */
            readonly error?: string | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_UserInfo: {
            /**
             * @description The id as registered.
             * @example ann
             */
            readonly user_id: string;
            /**
             * @description The name that the university verified; the nickname of a member who never verified.
             * @example Ann Miller
             */
            readonly user_name: string;
            /**
             * @description The subject that the university verified, or `""`.
             * @example Physics
             */
            readonly user_major: string;
            /**
             * @description The nickname.
             * @example Ann
             */
            readonly nickname: string;
            /**
             * @description The nickname again, under the name that existing clients read.
             * @example Ann
             */
            readonly user_nickname: string;
            /** @description The liked posts, newest first, at most 300, each with the first 32 of its tokens. */
            readonly user_fav_list: readonly components["schemas"]["PostRecord"][];
            /**
             * Format: int64
             * @description Whether the app signs the member in automatically: 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly auto_login: 0 | 1;
            /**
             * Format: int64
             * @description Whether the member is an administrator: 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly admin: 0 | 1;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Verification: {
            /**
             * @description Whether every record is as it was written, and none is missing.
             * @example true
             */
            readonly intact: boolean;
            /**
             * Format: int64
             * @description The number of verified records.
             * @example 7
             */
            readonly records: number;
            /**
             * Format: int64
             * @description The number of the latest record; 0 if there has been none.
             * @example 7
             */
            readonly seq: number;
            /**
             * @description The hash of the latest record in hexadecimal digits. Kept elsewhere with its number, as `SEQ:HASH`, it shows later
             *     whether the trail was replaced.
             * @example 0000000000000000000000000000000000000000000000000000000000000000
             */
            readonly hash: string;
            readonly fault?: components["schemas"]["Fault"] | null;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_WebhookSecret: {
            /**
             * @description The id of the webhook.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The secret with which deliveries are signed. It is not shown again.
             * @example whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
             */
            readonly secret: string;
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer of a successful operation. */
        readonly Success_Webhooks: {
            /** @description The webhooks by name. */
            readonly webhooks: readonly components["schemas"]["Webhook"][];
        } & {
            /**
             * @description `success`.
             * @constant
             */
            readonly result: "success";
        };
        /** @description The answer to asking for all figures. */
        readonly Summary: {
            /** @description The figures. */
            readonly analysis: components["schemas"]["Analysis"];
        };
        /** @description The counts of a day up to some time. */
        readonly Sums: {
            /**
             * Format: int64
             * @description Number of visitors.
             * @example 7
             */
            readonly visitor: number;
            /**
             * Format: int64
             * @description Number of visits of guests.
             * @example 7
             */
            readonly guest_visit: number;
            /**
             * Format: int64
             * @description Number of visits of members.
             * @example 7
             */
            readonly member_visit: number;
            /**
             * Format: int64
             * @description Number of views of posts.
             * @example 7
             */
            readonly view: number;
            /**
             * Format: int64
             * @description Number of likes; taking a like back does not reduce it.
             * @example 7
             */
            readonly like: number;
            /**
             * Format: int64
             * @description Number of searches.
             * @example 7
             */
            readonly search: number;
        };
        /** @description A search term with its number of searches. */
        readonly TermCount: {
            /**
             * @description The term.
             * @example eclipse
             */
            readonly term: string;
            /**
             * Format: int64
             * @description Number of searches in the last 24 hours.
             * @example 7
             */
            readonly count: number;
        };
        readonly TestMailFields: {
            /**
             * @description The address.
             * @example ann@example.org
             */
            readonly email: string;
        };
        /** @description The end of a test. */
        readonly TestResult: {
            /**
             * @description Why the mail was not sent; null if the mail server has taken it.
             * @example the mail server answered 535
             */
            readonly error?: string | null;
        };
        /** @description The counts of today that all callers may see. The names of its fields are those of the daily report. */
        readonly TodayCounts: {
            /**
             * Format: date
             * @description The day, `YYYY-MM-DD`.
             * @example 2026-11-20
             */
            readonly date: string;
            /**
             * Format: int64
             * @description Number of visitors.
             * @example 7
             */
            readonly today_visitor: number;
            /**
             * Format: int64
             * @description Number of views of posts.
             * @example 7
             */
            readonly today_view: number;
            /**
             * Format: int64
             * @description Number of likes; taking a like back does not reduce it.
             * @example 7
             */
            readonly today_fav: number;
        };
        /** @description The client has sent too many requests, or has failed to sign in too often. */
        readonly TooManyRequests: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "too many requests";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "too_many_requests";
            /**
             * @description What was wrong, or what to do, for people.
             * @example try again in 1 s
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        /** @description The posts of a topic. */
        readonly TopicFigures: {
            /**
             * @description The topic.
             * @example science
             */
            readonly topic: string;
            /**
             * Format: int64
             * @description Number of posts with a date in the period.
             * @example 7
             */
            readonly post: number;
            /**
             * Format: int64
             * @description Number of views of these posts until now.
             * @example 7
             */
            readonly view: number;
            /**
             * Format: int64
             * @description Number of likes of these posts now.
             * @example 7
             */
            readonly like: number;
        };
        /** @description A search from which trends are counted. */
        readonly TrendSearch: {
            /**
             * @description The search.
             * @example library
             */
            readonly search: string;
            /**
             * Format: date-time
             * @description The time of the search.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
        };
        /** @description The gain of the popular feed with a half-life. */
        readonly TriedHalfLife: {
            /**
             * Format: double
             * @description The half-life in days; `None` if acts lose no weight.
             * @example 0.1
             */
            readonly half_life_days?: number | null;
            /**
             * Format: double
             * @description The mean of 1 / log2(1 + rank) of the post of each act, among the posts on which the member had not acted.
             * @example 0.1
             */
            readonly gain: number;
            /**
             * Format: double
             * @description The standard error of its difference from the greatest gain, with the acts of a member as one cluster.
             * @example 0.1
             */
            readonly error: number;
        };
        readonly UnlinkOidcFields: {
            /**
             * @description The current password.
             * @example a long sentence
             */
            readonly pw: string;
        };
        /** @description The body has another content type. */
        readonly UnsupportedMediaType: {
            /**
             * @description What went wrong, as clients compare it.
             * @constant
             */
            readonly result: "unsupported media type";
            /**
             * @description The condition; it never changes.
             * @constant
             */
            readonly code: "unsupported_media_type";
            /**
             * @description What was wrong, or what to do, for people.
             * @example the operation reads no body of this Content-Type: most read application/json, and /docs lists the types of each
             */
            readonly message: string;
            /**
             * @description The field or the parameter at fault, if there is one.
             * @example title
             */
            readonly field?: string;
        };
        readonly Update: {
            /**
             * @description The address of an RSS, Atom or JSON feed, which begins with `https://` or `http://`.
             * @example https://news.example.org/feed.xml
             */
            readonly url?: string | null;
            /**
             * @description The name of the source, at most 100 characters on one line; `""` for the title of the feed.
             * @example Campus news
             */
            readonly name?: string | null;
            /** @description The topics that its new posts get, up to 50, each of 1 to 100 characters. */
            readonly topic?: readonly string[] | null;
            /** @description The tags that its new posts get beside those of the feed, up to 50, each of 1 to 100 characters. */
            readonly tag?: readonly string[] | null;
            /**
             * Format: int64
             * @description The minutes between two fetches, 1 to 10,080; 0 for as often as suits the source.
             * @example 60
             */
            readonly every?: number | null;
            /**
             * Format: int64
             * @description 1: it also gets the posts without a source whose addresses are on the host of its feed; its entries then change them.
             * @example 1
             * @enum {integer|null}
             */
            readonly adopt?: 0 | 1 | null;
        };
        /** @description The answer of `get_userinfo`. */
        readonly UserInfo: {
            /**
             * @description The id as registered.
             * @example ann
             */
            readonly user_id: string;
            /**
             * @description The name that the university verified; the nickname of a member who never verified.
             * @example Ann Miller
             */
            readonly user_name: string;
            /**
             * @description The subject that the university verified, or `""`.
             * @example Physics
             */
            readonly user_major: string;
            /**
             * @description The nickname.
             * @example Ann
             */
            readonly nickname: string;
            /**
             * @description The nickname again, under the name that existing clients read.
             * @example Ann
             */
            readonly user_nickname: string;
            /** @description The liked posts, newest first, at most 300, each with the first 32 of its tokens. */
            readonly user_fav_list: readonly components["schemas"]["PostRecord"][];
            /**
             * Format: int64
             * @description Whether the app signs the member in automatically: 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly auto_login: 0 | 1;
            /**
             * Format: int64
             * @description Whether the member is an administrator: 0 or 1.
             * @example 1
             * @enum {integer}
             */
            readonly admin: 0 | 1;
        };
        /** @description The result of a verification. */
        readonly Verification: {
            /**
             * @description Whether every record is as it was written, and none is missing.
             * @example true
             */
            readonly intact: boolean;
            /**
             * Format: int64
             * @description The number of verified records.
             * @example 7
             */
            readonly records: number;
            /**
             * Format: int64
             * @description The number of the latest record; 0 if there has been none.
             * @example 7
             */
            readonly seq: number;
            /**
             * @description The hash of the latest record in hexadecimal digits. Kept elsewhere with its number, as `SEQ:HASH`, it shows later
             *     whether the trail was replaced.
             * @example 0000000000000000000000000000000000000000000000000000000000000000
             */
            readonly hash: string;
            readonly fault?: components["schemas"]["Fault"] | null;
        };
        /** @description A day on which a member visited the service. */
        readonly VisitDay: {
            /**
             * Format: date
             * @description The day in the time zone of the service, such as `2026-11-20`.
             * @example 2026-11-20
             */
            readonly day: string;
            /**
             * Format: int64
             * @description The number of visits.
             * @example 7
             */
            readonly visits: number;
            /** @description The hours with requests, from 0 to 23. */
            readonly hours: readonly number[];
            /**
             * Format: date-time
             * @description The time of the last request of the day.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly seen: string;
        };
        /** @description A webhook, without its secret. */
        readonly Webhook: {
            /**
             * @description Its id.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description What it is for.
             * @example chat
             */
            readonly name: string;
            /**
             * @description The address of the receiver.
             * @example https://chat.example.org/hooks/news
             */
            readonly url: string;
            /** @description What it is told about. */
            readonly events: readonly ("notice.published" | "feedback.created" | "source.failing")[];
            /**
             * Format: date-time
             * @description The date when it was added.
             * @example 2026-11-20T08:36:00.000Z
             */
            readonly date: string;
            /**
             * Format: int64
             * @description The number of deliveries that wait, or wait to be tried again.
             * @example 7
             */
            readonly pending: number;
            /**
             * Format: int64
             * @description The number of deliveries that were given up in the last 30 days.
             * @example 7
             */
            readonly dead: number;
        };
        readonly WebhookFields: {
            /**
             * @description What the webhook is for, 1 to 50 characters on one line. No two webhooks have the same name.
             * @example chat
             */
            readonly name: string;
            /**
             * @description The address of the receiver, which begins with `https://`.
             * @example https://chat.example.org/hooks/news
             */
            readonly url: string;
            /** @description What the receiver is told about, at least one: `notice.published`, `feedback.created` or `source.failing`. */
            readonly events: readonly ("notice.published" | "feedback.created" | "source.failing")[];
        };
        /** @description The answer to adding a webhook, or to replacing its secret. */
        readonly WebhookSecret: {
            /**
             * @description The id of the webhook.
             * @example 6560c1a2ffeeddccbbaa0001
             */
            readonly _id: string;
            /**
             * @description The secret with which deliveries are signed. It is not shown again.
             * @example whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
             */
            readonly secret: string;
        };
        /** @description The webhooks. */
        readonly Webhooks: {
            /** @description The webhooks by name. */
            readonly webhooks: readonly components["schemas"]["Webhook"][];
        };
        /** @description The visitors in each hour of a weekday. */
        readonly WeekdayHours: {
            /**
             * @description The English name of the weekday.
             * @example Monday
             * @enum {string}
             */
            readonly weekday: "Monday" | "Tuesday" | "Wednesday" | "Thursday" | "Friday" | "Saturday" | "Sunday";
            /**
             * Format: int64
             * @description Number of days of the period that are this weekday.
             * @example 7
             */
            readonly days: number;
            /** @description Number of visitors in each hour, 0 to 23, summed over these days. */
            readonly hours: readonly number[];
        };
        /** @description The reason why a post is in a feed. */
        readonly Why: {
            /**
             * @description The reason in English, such as `new in Rust`. It tells the member's own acts and public facts only.
             * @example because you liked “An eclipse over the lake”
             */
            readonly text: string;
            /** @description The share of each signal in the score of the post. */
            readonly shares: components["schemas"]["SignalShares"];
        };
    };
    responses: {
        /** @description Another post has the url. */
        readonly AlreadyUrl: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "url_taken",
                 *       "field": "url",
                 *       "message": "another post has this address",
                 *       "result": "already url"
                 *     }
                 */
                readonly "application/json": components["schemas"]["AlreadyUrl"];
            };
        };
        /** @description A field or a parameter is missing, of another type, or out of bounds; or the body cannot be read. */
        readonly BadRequest: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid_value",
                 *       "field": "title",
                 *       "message": "title is one line of 1 to 200 characters",
                 *       "result": "bad request"
                 *     }
                 */
                readonly "application/json": components["schemas"]["BadRequest"];
            };
        };
        /** @description The token is missing, malformed, expired or revoked. */
        readonly BadToken: {
            headers: {
                /** @description The scheme of the token. */
                readonly "WWW-Authenticate"?: string;
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "bad_token",
                 *       "message": "the token is missing, expired or revoked: sign in, and send Authorization: Bearer with the access_token",
                 *       "result": "bad token"
                 *     }
                 */
                readonly "application/json": components["schemas"]["BadToken"];
            };
        };
        /** @description The body has more than 1 MiB. */
        readonly BodyTooLarge: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "body_too_large",
                 *       "message": "the body is larger than the limit of this operation",
                 *       "result": "payload too large"
                 *     }
                 */
                readonly "application/json": components["schemas"]["BodyTooLarge"];
            };
        };
        /** @description The service failed, and the feedback was not stored. */
        readonly FeedbackFailed: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "internal_error",
                 *       "message": "the service failed: try again, and tell its operators, whose log has the cause",
                 *       "result": "fail"
                 *     }
                 */
                readonly "application/json": components["schemas"]["FeedbackFailed"];
            };
        };
        /** @description The address and the headers have more than 64 KiB, with HTTP/2 more than 16 KiB; or there are more than 100 headers. There is no body, because the request was not read to its end. */
        readonly HeadTooLarge: {
            headers: {
                readonly [name: string]: unknown;
            };
            content?: never;
        };
        /** @description The service failed during the import. It may also say how many posts were inserted, updated and skipped before. */
        readonly ImportFailed: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "internal_error",
                 *       "inserted": 512,
                 *       "message": "the service failed: try again, and tell its operators, whose log has the cause",
                 *       "result": "internal error",
                 *       "skipped": 0,
                 *       "updated": 0
                 *     }
                 */
                readonly "application/json": components["schemas"]["ImportFailed"];
            };
        };
        /** @description The body has more than 64 MiB. */
        readonly ImportTooLarge: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "body_too_large",
                 *       "message": "the body is larger than the limit of this operation",
                 *       "result": "payload too large"
                 *     }
                 */
                readonly "application/json": components["schemas"]["ImportTooLarge"];
            };
        };
        /** @description The service failed; the cause is in its log. */
        readonly InternalError: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "internal_error",
                 *       "message": "the service failed: try again, and tell its operators, whose log has the cause",
                 *       "result": "internal error"
                 *     }
                 */
                readonly "application/json": components["schemas"]["InternalError"];
            };
        };
        /** @description The service must have at least one administrator. */
        readonly LastAdministrator: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "last_administrator",
                 *       "message": "no administrator would be left: make another member an administrator first",
                 *       "result": "last administrator"
                 *     }
                 */
                readonly "application/json": components["schemas"]["LastAdministrator"];
            };
        };
        /** @description The path has other methods. */
        readonly MethodNotAllowed: {
            headers: {
                /** @description The methods of this path. */
                readonly Allow?: string;
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "method_not_allowed",
                 *       "message": "the operation of this path has another method: Allow names it",
                 *       "result": "method not allowed"
                 *     }
                 */
                readonly "application/json": components["schemas"]["MethodNotAllowed"];
            };
        };
        /** @description The caller is a member, and the operation is for administrators or for another member; or an API key or a role without the scope that the operation needs; or an administrator or a member with a role whose session gave no code of a second factor, which the settings require. */
        readonly NotAdmin: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "not_admin",
                 *       "message": "only an administrator may do this",
                 *       "result": "Not admin"
                 *     }
                 */
                readonly "application/json": components["schemas"]["NotAdmin"];
            };
        };
        /** @description What the path names does not exist. */
        readonly NotFound: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "not_found",
                 *       "message": "it does not exist, or was removed in the meantime",
                 *       "result": "Not found"
                 *     }
                 */
                readonly "application/json": components["schemas"]["NotFound"];
            };
        };
        /** @description The service is busy or shutting down, and nothing was changed; or the message says that this is not known. */
        readonly Overloaded: {
            headers: {
                /** @description The seconds after which another attempt can succeed. */
                readonly "Retry-After"?: number;
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "overloaded",
                 *       "message": "the service is busy and nothing was changed: try again in a moment",
                 *       "result": "overloaded"
                 *     }
                 */
                readonly "application/json": components["schemas"]["Overloaded"];
            };
        };
        /** @description The service failed, and nobody was signed up. */
        readonly SignUpFailed: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "internal_error",
                 *       "message": "the service failed: try again, and tell its operators, whose log has the cause",
                 *       "result": "sign_up fail"
                 *     }
                 */
                readonly "application/json": components["schemas"]["SignUpFailed"];
            };
        };
        /** @description The client has sent too many requests, or has failed to sign in too often. */
        readonly TooManyRequests: {
            headers: {
                /** @description The seconds after which another attempt can succeed. */
                readonly "Retry-After"?: number;
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "too_many_requests",
                 *       "message": "try again in 1 s",
                 *       "result": "too many requests"
                 *     }
                 */
                readonly "application/json": components["schemas"]["TooManyRequests"];
            };
        };
        /** @description The body has another content type. */
        readonly UnsupportedMediaType: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "unsupported_media_type",
                 *       "message": "the operation reads no body of this Content-Type: most read application/json, and /docs lists the types of each",
                 *       "result": "unsupported media type"
                 *     }
                 */
                readonly "application/json": components["schemas"]["UnsupportedMediaType"];
            };
        };
        /** @description The address has more than 65,534 bytes. There is no body, because the request was not read to its end. */
        readonly UriTooLong: {
            headers: {
                readonly [name: string]: unknown;
            };
            content?: never;
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    readonly sign_up: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SignUpFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SignUpFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_AccessToken"] | components["schemas"]["Failure_sign_up"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["SignUpFailed"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly sign_up_invited: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["InvitedSignUpFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["InvitedSignUpFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_AccessToken"] | components["schemas"]["Failure_sign_up_invited"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["SignUpFailed"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly sign_in: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SignInFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SignInFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_AccessToken"] | components["schemas"]["Failure_sign_in"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly sign_in_up: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SignInFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SignInFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_AccessToken"] | components["schemas"]["Failure_sign_in_up"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly change_pw: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NewPasswordFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["NewPasswordFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_AccessToken"] | components["schemas"]["Failure_change_pw"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly sign_out_all: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_sessions: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Sessions"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly sign_out_session: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the session */
                readonly session_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly request_pw_reset: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["RequestResetFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["RequestResetFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly reset_pw: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ResetPasswordFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["ResetPasswordFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_reset_pw"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_email: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_EmailAddress"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly set_email: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SetEmailFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SetEmailFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_set_email"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly confirm_email: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ConfirmEmailFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["ConfirmEmailFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_confirm_email"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly sign_in_oidc: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SignInOidcFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SignInOidcFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_AccessToken"] | components["schemas"]["Failure_sign_in_oidc"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly link_oidc: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["LinkOidcFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["LinkOidcFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_link_oidc"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly unlink_oidc: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["UnlinkOidcFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["UnlinkOidcFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_unlink_oidc"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly begin_passkey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["BeginPasskeyFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["BeginPasskeyFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Ceremony"] | components["schemas"]["Failure_begin_passkey"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly add_passkey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["AddPasskeyFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["AddPasskeyFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_AddedPasskey"] | components["schemas"]["Failure_add_passkey"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_passkeys: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_MemberPasskeys"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly remove_passkey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the passkey */
                readonly passkey_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly begin_passkey_sign_in: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Ceremony"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly sign_in_passkey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SignInPasskeyFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SignInPasskeyFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_AccessToken"] | components["schemas"]["Failure_sign_in_passkey"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_otp: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_OtpStatus"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly begin_otp: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["BeginOtpFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["BeginOtpFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_OtpSecret"] | components["schemas"]["Failure_begin_otp"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly enable_otp: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["EnableOtpFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["EnableOtpFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_RecoveryCodes"] | components["schemas"]["Failure_enable_otp"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly disable_otp: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["OtpFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["OtpFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_disable_otp"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly renew_recovery_codes: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["OtpFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["OtpFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_RecoveryCodes"] | components["schemas"]["Failure_renew_recovery_codes"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_userinfo: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_UserInfo"] | components["schemas"]["Failure_get_userinfo"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_specific_userinfo: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The lists, 0 to 4 */
                readonly type_num: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Lists"] | components["schemas"]["Failure_get_specific_userinfo"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_my_data: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The name of the file. */
                    readonly "Content-Disposition"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_MemberData"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly change_nickname: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NicknameFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["NicknameFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_change_nickname"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly update_auto_login: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description 0 off, 1 on */
                readonly auto_login: 0 | 1;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly reset_user_measurement: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_reset_user_measurement"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly remove_mine: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_remove_mine"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 409: components["responses"]["LastAdministrator"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly check_admin: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_check_admin"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_admins: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Admins"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly grant_admin: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly revoke_admin: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 409: components["responses"]["LastAdministrator"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_members: {
        readonly parameters: {
            readonly query?: {
                /** @description A text that the id, the nickname or the verified name contains; case, width and accents do not matter. */
                readonly search?: string;
                /** @description The maximum number of members, 1 to 1,000; 100 by default. */
                readonly limit?: number;
                /** @description The `next` of the previous page. */
                readonly after?: string;
                /** @description `admins` for administrators only, `blacklisted` for blacklisted members only, `roles` for members with a role only. */
                readonly only?: "admins" | "blacklisted" | "roles";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Members"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_member: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_UserInfo"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_member_lists: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
                /** @description The lists, 0 to 4 */
                readonly type_num: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Lists"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_member_data: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The name of the file. */
                    readonly "Content-Disposition"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_MemberData"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly change_member_nickname: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NicknameFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["NicknameFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_change_member_nickname"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly update_member_auto_login: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
                /** @description 0 off, 1 on */
                readonly auto_login: 0 | 1;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly reset_member_measurement: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly set_member_password: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["MemberPasswordFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["MemberPasswordFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_set_member_password"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly issue_pw_reset: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_ResetCode"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_member_sign_ins: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_SignIns"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_member_role: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Role"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly set_member_role: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["RoleFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["RoleFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly reset_member_otp: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly reset_member_sign_ins: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly issue_member_otp: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_EnrolmentCode"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_roster: {
        readonly parameters: {
            readonly query?: {
                /** @description The maximum number of entries, 1 to 1,000; 100 by default. */
                readonly limit?: number;
                /** @description The `next` of the previous page. */
                readonly after?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_RosterPage"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly import_members: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": readonly components["schemas"]["MemberLineFields"][];
                readonly "application/x-ndjson": components["schemas"]["MemberLineFields"];
                readonly "text/csv": string;
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_MoveReport"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["ImportTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["ImportFailed"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly import_acts: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": readonly components["schemas"]["ActLineFields"][];
                readonly "application/x-ndjson": components["schemas"]["ActLineFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_MoveReport"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["ImportTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["ImportFailed"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly import_roster: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "text/csv": string;
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_RosterReport"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["ImportTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["ImportFailed"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly admin_remove_user: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_admin_remove_user"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 409: components["responses"]["LastAdministrator"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_blacklist: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Blacklist"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly push_blacklist: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_push_blacklist"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 409: components["responses"]["LastAdministrator"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly pop_blacklist: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_pop_blacklist"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_member_sessions: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Sessions"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly sign_out_member: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly sign_out_member_session: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
                /** @description The id of the session */
                readonly session_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_invitations: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Invitations"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly add_invitation: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["InvitationFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["InvitationFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_NewInvitation"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly remove_invitation: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the invitation */
                readonly invitation_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_keys: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Keys"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly add_key: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["KeyFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["KeyFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_NewKey"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly remove_key: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the key, or its name */
                readonly key_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_webhooks: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Webhooks"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly add_webhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["WebhookFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["WebhookFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_WebhookSecret"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly remove_webhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the webhook, or its name */
                readonly webhook_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly rotate_webhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the webhook, or its name */
                readonly webhook_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_WebhookSecret"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly test_webhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the webhook, or its name */
                readonly webhook_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Queued"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_webhook_deliveries: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Deliveries"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly retry_webhook_delivery: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the delivery */
                readonly delivery_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_mails: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Mails"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly retry_mail: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the mail */
                readonly mail_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly test_mail: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["TestMailFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["TestMailFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_TestResult"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_sources: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Sources"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_source: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the source, or its address */
                readonly source_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_SourceDetail"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly add_source: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SourceFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SourceFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Inserted"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly update_source: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the source, or its address */
                readonly source_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Update"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["Update"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly remove_source: {
        readonly parameters: {
            readonly query?: {
                /** @description 1: its posts are removed, too. */
                readonly with_posts?: 0 | 1;
            };
            readonly header?: never;
            readonly path: {
                /** @description The id of the source, or its address */
                readonly source_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly pause_source: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the source, or its address */
                readonly source_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly resume_source: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the source, or its address */
                readonly source_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly fetch_source: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the source, or its address */
                readonly source_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Fetched"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly discover_sources: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Discover"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["Discover"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_DiscoveredFeeds"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly import_sources: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Import"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["Import"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_ImportedSources"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly export_sources: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Opml"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_audit: {
        readonly parameters: {
            readonly query?: {
                /** @description Records before the one with this number. */
                readonly before?: number;
                /** @description The maximum number of records, at most 1,000; 100 by default. */
                readonly limit?: number;
                /** @description What was done, such as `notice.insert`, or its first word, such as `notice`. */
                readonly action?: string;
                /** @description Who acted: the id of a member, the name of an API key, `operator` or `service`. */
                readonly actor?: string;
                /** @description What was acted on: the id of a member, or of a record. */
                readonly subject?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_AuditPage"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly verify_audit: {
        readonly parameters: {
            readonly query?: {
                /** @description The number of a record and its hash, as an earlier verification returned them: `SEQ:HASH`. */
                readonly head?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Verification"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly export_audit: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The name of the file. */
                    readonly "Content-Disposition"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/x-ndjson": string;
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_all_notice: {
        readonly parameters: {
            readonly query?: {
                /**
                 * @description `json` for the object, `atom` or `json-feed` for feed readers. Without it, `Accept` can name `application/atom+xml` or
                 *     `application/feed+json`.
                 */
                readonly format?: "json" | "atom" | "json-feed";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_NoticeList"];
                    readonly "application/atom+xml": string;
                    readonly "application/feed+json": components["schemas"]["JsonFeed"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_notices: {
        readonly parameters: {
            readonly query?: {
                /** @description The topic whose notices are listed besides those without a topic. */
                readonly topic?: string;
                /** @description 1: each notice has `html`. */
                readonly html?: 0 | 1;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_FullList"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_notice: {
        readonly parameters: {
            readonly query?: {
                /** @description 1: the notice has `html`. */
                readonly html?: 0 | 1;
            };
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the notice */
                readonly notice_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_OneNotice"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly insert_notice: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NewNoticeFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["NewNoticeFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Inserted"] | components["schemas"]["Failure_insert_notice"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly update_notice: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the notice */
                readonly notice_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NoticeFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["NoticeFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_update_notice"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly remove_notice: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the notice */
                readonly notice_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_remove_notice"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly notice_feedback: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the notice */
                readonly notice_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["FeedbackFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["FeedbackFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_notice_feedback"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["FeedbackFailed"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_notice_drafts: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_DraftList"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly save_notice_draft: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NoticeDraftFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["NoticeDraftFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Inserted"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly publish_notice_draft: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the draft */
                readonly draft_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Inserted"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly remove_notice_draft: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the draft */
                readonly draft_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_notice_reads: {
        readonly parameters: {
            readonly query?: {
                /** @description The number of days, 1 to 366; 30 by default. */
                readonly days?: number;
            };
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the notice */
                readonly notice_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Reads"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_main_info: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_MainInfo"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly update_main_info: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["MainInfoFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["MainInfoFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly send_feedback: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["FeedbackFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["FeedbackFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"] | components["schemas"]["Failure_send_feedback"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["FeedbackFailed"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_all_feedback: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_FeedbackList"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_feedback: {
        readonly parameters: {
            readonly query?: {
                /** @description 0 for open feedback only, which is the default; 1 for all. */
                readonly all?: 0 | 1;
                /** @description The maximum number of entries, 1 to 1,000; 100 by default. */
                readonly limit?: number;
                /** @description The `next` of the previous page. */
                readonly after?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_FeedbackPage"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly update_feedback: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the feedback */
                readonly feedback_obi: string;
                /** @description 0 for done, 1 for open */
                readonly activation: 0 | 1;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_post: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the post */
                readonly post_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_GetPost"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_categories: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Categories"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_posts: {
        readonly parameters: {
            readonly query?: {
                /** @description The topic or tag of the posts; all posts by default. */
                readonly topic?: string;
                /** @description The maximum number of posts, 1 to 1,000; 100 by default. */
                readonly limit?: number;
                /** @description The `next` of the previous page. */
                readonly next?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_PostList"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly export_posts: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The name of the file. */
                    readonly "Content-Disposition"?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/x-ndjson": string;
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly post_view: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the post */
                readonly post_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly post_like: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the post */
                readonly post_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly post_unlike: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the post */
                readonly post_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly post_hide: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the post */
                readonly post_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly post_unhide: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the post */
                readonly post_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly insert_post: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["NewPostFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["NewPostFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Inserted"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 409: components["responses"]["AlreadyUrl"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly update_post: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the post */
                readonly post_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["PostFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["PostFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 409: components["responses"]["AlreadyUrl"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly remove_post: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the post */
                readonly post_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly import_posts: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/atom+xml": string;
                readonly "application/feed+json": string;
                readonly "application/json": readonly components["schemas"]["PostLineFields"][];
                readonly "application/rss+xml": string;
                readonly "application/x-ndjson": components["schemas"]["PostLineFields"];
                readonly "text/csv": string;
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_ImportReport"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["ImportTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["ImportFailed"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly search_logging: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SearchFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SearchFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly priority_search: {
        readonly parameters: {
            readonly query?: {
                /** @description 1: the answer has `next`, which continues the search. */
                readonly paged?: 0 | 1;
                /** @description The `next` of the previous page. The pages together have the best 3,000 results. */
                readonly next?: string;
                /** @description 1: each post has `snippet`, in which the words found are marked. */
                readonly snippets?: 0 | 1;
            };
            readonly header?: never;
            readonly path: {
                /** @description The maximum number, 1 to 300 */
                readonly num: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SearchFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SearchFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_SearchResult"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly category_search: {
        readonly parameters: {
            readonly query?: {
                /** @description 1: the answer has `next`, which continues the search. */
                readonly paged?: 0 | 1;
                /** @description The `next` of the previous page. The pages together have the best 3,000 results. */
                readonly next?: string;
                /** @description 1: each post has `snippet`, in which the words found are marked. */
                readonly snippets?: 0 | 1;
            };
            readonly header?: never;
            readonly path: {
                /** @description A topic or a tag */
                readonly category_name: string;
                /** @description The maximum number, 1 to 300 */
                readonly num: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SearchFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SearchFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_SearchResult"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly domain_search: {
        readonly parameters: {
            readonly query?: {
                /** @description 1: the answer has `next`, which continues the search. */
                readonly paged?: 0 | 1;
                /** @description The `next` of the previous page. The pages together have the best 3,000 results. */
                readonly next?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SearchFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SearchFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Domains"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_user_lately_search: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The maximum number, 1 to 300 */
                readonly num: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_LatelySearches"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_similarity_words: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SearchFields"];
                readonly "application/x-www-form-urlencoded": components["schemas"]["SearchFields"];
            };
        };
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_SimilarityWords"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 413: components["responses"]["BodyTooLarge"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 415: components["responses"]["UnsupportedMediaType"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_recommendation_newsfeed: {
        readonly parameters: {
            readonly query?: {
                /** @description The maximum number of posts, 1 to 300; 150 by default. */
                readonly limit?: number;
                /** @description The `next` of the previous page, valid for ten minutes: continues the same order of posts. */
                readonly next?: string;
                /** @description 1: each post has `liked`, which is 1 if the caller likes the post, otherwise 0. */
                readonly liked?: 0 | 1;
                /** @description 1: each post has `why`, the reason why it is in the newsfeed. */
                readonly why?: 0 | 1;
                /** @description 1: each post that a source has brought has `source`, its name and address. */
                readonly source?: 0 | 1;
                /** @description 1: each post with nearly identical ones has `similar`, at most ten of them. */
                readonly similar?: 0 | 1;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Newsfeed"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_popularity_newsfeed: {
        readonly parameters: {
            readonly query?: {
                /** @description The maximum number of posts, 1 to 300; 150 by default. */
                readonly limit?: number;
                /** @description The `next` of the previous page, valid for ten minutes: continues the same order of posts. */
                readonly next?: string;
                /** @description 1: each post has `liked`, which is 1 if the caller likes the post, otherwise 0. */
                readonly liked?: 0 | 1;
                /** @description 1: each post has `why`, the reason why it is in the newsfeed. */
                readonly why?: 0 | 1;
                /** @description 1: each post that a source has brought has `source`, its name and address. */
                readonly source?: 0 | 1;
                /** @description 1: each post with nearly identical ones has `similar`, at most ten of them. */
                readonly similar?: 0 | 1;
                /**
                 * @description `json` for the object, `atom` or `json-feed` for feed readers. Without it, `Accept` can name `application/atom+xml` or
                 *     `application/feed+json`.
                 */
                readonly format?: "json" | "atom" | "json-feed";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Newsfeed"];
                    readonly "application/atom+xml": string;
                    readonly "application/feed+json": components["schemas"]["JsonFeed"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_newsfeed_of_topic: {
        readonly parameters: {
            readonly query?: {
                /** @description The maximum number of posts, 1 to 300; 150 by default. */
                readonly limit?: number;
                /** @description The `next` of the previous page, valid for ten minutes: continues the same order of posts. */
                readonly next?: string;
                /** @description 1: each post has `liked`, which is 1 if the caller likes the post, otherwise 0. */
                readonly liked?: 0 | 1;
                /** @description 1: each post has `why`, the reason why it is in the newsfeed. */
                readonly why?: 0 | 1;
                /** @description 1: each post that a source has brought has `source`, its name and address. */
                readonly source?: 0 | 1;
                /** @description 1: each post with nearly identical ones has `similar`, at most ten of them. */
                readonly similar?: 0 | 1;
                /**
                 * @description `json` for the object, `atom` or `json-feed` for feed readers. Without it, `Accept` can name `application/atom+xml` or
                 *     `application/feed+json`.
                 */
                readonly format?: "json" | "atom" | "json-feed";
            };
            readonly header?: never;
            readonly path: {
                /** @description A topic or a tag */
                readonly category_name: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Newsfeed"];
                    readonly "application/atom+xml": string;
                    readonly "application/feed+json": components["schemas"]["JsonFeed"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_newsfeed_of_source: {
        readonly parameters: {
            readonly query?: {
                /** @description The maximum number of posts, 1 to 300; 150 by default. */
                readonly limit?: number;
                /** @description The `next` of the previous page, valid for ten minutes: continues the same order of posts. */
                readonly next?: string;
                /** @description 1: each post has `liked`, which is 1 if the caller likes the post, otherwise 0. */
                readonly liked?: 0 | 1;
                /** @description 1: each post has `why`, the reason why it is in the newsfeed. */
                readonly why?: 0 | 1;
                /** @description 1: each post that a source has brought has `source`, its name and address. */
                readonly source?: 0 | 1;
                /** @description 1: each post with nearly identical ones has `similar`, at most ten of them. */
                readonly similar?: 0 | 1;
            };
            readonly header?: never;
            readonly path: {
                /** @description The `_id` of the source */
                readonly source_obi: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Newsfeed"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_topic_newsfeed: {
        readonly parameters: {
            readonly query?: {
                /** @description The maximum number of posts, 1 to 300; 150 by default. */
                readonly limit?: number;
                /** @description The `next` of the previous page, valid for ten minutes: continues the same order of posts. */
                readonly next?: string;
                /** @description 1: each post has `liked`, which is 1 if the caller likes the post, otherwise 0. */
                readonly liked?: 0 | 1;
                /** @description 1: each post has `why`, the reason why it is in the newsfeed. */
                readonly why?: 0 | 1;
                /** @description 1: each post that a source has brought has `source`, its name and address. */
                readonly source?: 0 | 1;
                /** @description 1: each post with nearly identical ones has `similar`, at most ten of them. */
                readonly similar?: 0 | 1;
                /**
                 * @description `json` for the object, `atom` or `json-feed` for feed readers. Without it, `Accept` can name `application/atom+xml` or
                 *     `application/feed+json`.
                 */
                readonly format?: "json" | "atom" | "json-feed";
            };
            readonly header?: never;
            readonly path: {
                /** @description A topic or a tag */
                readonly newsfeed_name: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description When the operation became deprecated, in seconds since 1970 (RFC 9745). */
                    readonly Deprecation?: string;
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    /** @description The operation that replaces this one. */
                    readonly Link?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Newsfeed"];
                    readonly "application/atom+xml": string;
                    readonly "application/feed+json": components["schemas"]["JsonFeed"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_feed_weights: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_FeedWeights"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly learn_feed_weights: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_FeedWeights"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_search_realtime: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Realtime"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_search_bursts: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Bursts"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_log_date: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description Calendar months, or 0 */
                readonly months: number;
                /** @description Periods of 24 hours, or 0 */
                readonly days: number;
                /** @description Hours, or 0 */
                readonly hours: number;
                /** @description The maximum number of lines, at most 1000 */
                readonly limit: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Log"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_log_user: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
                /** @description The maximum number of lines, at most 1000 */
                readonly limit: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Log"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_log_user_date: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The id of the member */
                readonly user_id: string;
                /** @description Calendar months, or 0 */
                readonly months: number;
                /** @description Periods of 24 hours, or 0 */
                readonly days: number;
                /** @description Hours, or 0 */
                readonly hours: number;
                /** @description The maximum number of lines, at most 1000 */
                readonly limit: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Log"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_log: {
        readonly parameters: {
            readonly query?: {
                /** @description Lines of the member with this id, of `guest` or of `removed`. */
                readonly member?: string;
                /** @description Lines whose `result` is this text, without regard to case; an underscore stands for a blank. */
                readonly result?: string;
                /** @description Lines whose path contains this text. */
                readonly path?: string;
                /** @description Lines with this status, such as `404`, or with one of a class, such as `4xx`. */
                readonly status?: string;
                /** @description Lines at this time or later, RFC 3339. */
                readonly since?: string;
                /** @description Lines before this time, RFC 3339. */
                readonly until?: string;
                /** @description The `next` of the previous page, or the `place` of a line. */
                readonly before?: string;
                /** @description The maximum number of lines, 1 to 1,000; 100 by default. */
                readonly limit?: number;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_LogLines"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_analysis_of_days: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The first day, `YYYY-MM-DD` */
                readonly first: string;
                /** @description The last day, `YYYY-MM-DD` */
                readonly last: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Period"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_status: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Status"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_analysis: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Summary"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_everyday_analysis_days_ago: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The number of days, up to 366 */
                readonly days: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Days"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly specific_days: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description The year */
                readonly year: number;
                /** @description The month, 1 to 12 */
                readonly month: number;
                /** @description The day of the month */
                readonly day: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_OneDay"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly insert_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                /** @description `pc`, `tablet` or `mobile`, also with the prefix `device_` */
                readonly device: "pc" | "tablet" | "mobile" | "device_pc" | "device_tablet" | "device_mobile";
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_device: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_Devices"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly get_report: {
        readonly parameters: {
            readonly query?: {
                /** @description The first day, `YYYY-MM-DD`; by default, or if it is empty, 29 days before the last day. */
                readonly from?: string;
                /** @description The last day, `YYYY-MM-DD`; by default, if it is empty, or after today, today. */
                readonly to?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Success_PeriodReport"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly reports: {
        readonly parameters: {
            readonly query?: {
                /** @description The first day, `YYYY-MM-DD`; by default, or if it is empty, 29 days before the last day. */
                readonly from?: string;
                /** @description The last day, `YYYY-MM-DD`; by default, if it is empty, or after today, today. */
                readonly to?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/html": string;
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly reports_file: {
        readonly parameters: {
            readonly query?: {
                /** @description The first day, `YYYY-MM-DD`; by default, or if it is empty, 29 days before the last day. */
                readonly from?: string;
                /** @description The last day, `YYYY-MM-DD`; by default, if it is empty, or after today, today. */
                readonly to?: string;
            };
            readonly header?: never;
            readonly path: {
                /** @description `days.csv`, `hours.csv`, `terms.csv`, `devices.csv`, `topics.csv` or `posts.csv` */
                readonly file: "days.csv" | "hours.csv" | "terms.csv" | "devices.csv" | "topics.csv" | "posts.csv";
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The name of the file. */
                    readonly "Content-Disposition"?: string;
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/csv": string;
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 404: components["responses"]["NotFound"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly events: {
        readonly parameters: {
            readonly query?: {
                /** @description The kinds of events, separated by commas: `notice`, `post`, `counts` and `changes`; by default all but `changes`. */
                readonly events?: string;
                /** @description The id of the last event, for clients that cannot send the header `Last-Event-ID`. The header takes precedence. */
                readonly last_event_id?: string;
            };
            readonly header?: {
                /** @description The id of the last event */
                readonly "Last-Event-ID"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 401: components["responses"]["BadToken"];
            readonly 403: components["responses"]["NotAdmin"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly healthz: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly readyz: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Done"];
                };
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly home: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/html": string;
                    readonly "application/json": components["schemas"]["Success_Home"];
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly openapi_json: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer of the operation. */
            readonly 200: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": Record<string, never>;
                };
            };
            /** @description The client has the content: it has sent the tag as `If-None-Match`. Only without a token. */
            readonly 304: {
                headers: {
                    /** @description The tag of the content. Only without a token. */
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
    readonly docs: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Redirects to `/docs/`. */
            readonly 308: {
                headers: {
                    /** @description The page. */
                    readonly Location?: string;
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 400: components["responses"]["BadRequest"];
            readonly 405: components["responses"]["MethodNotAllowed"];
            readonly 414: components["responses"]["UriTooLong"];
            readonly 429: components["responses"]["TooManyRequests"];
            readonly 431: components["responses"]["HeadTooLarge"];
            readonly 500: components["responses"]["InternalError"];
            readonly 503: components["responses"]["Overloaded"];
        };
    };
}
