//! The table of all operations, for tests that check each of them.

use serde_json::Value;

/// An operation of the HTTP interface.
pub struct Operation {
    /// The HTTP method.
    pub method: &'static str,
    /// The path template, as the OpenAPI document writes it.
    pub path: &'static str,
    /// Which callers may use the operation.
    pub access: Access,
    /// A valid JSON body with every field set; `""` if the operation takes no body. `{n}` stands for a number that
    /// differs in each request.
    pub body: &'static str,
    /// Whether the operation only reads, so that `HEAD` is answered as well.
    pub only_reads: bool,
}

/// Which callers may use an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Every caller; an invalid token counts as no token.
    Anyone,
    /// Callers with a valid token.
    Members,
    /// Administrators.
    Administrators,
}

use Access::{Administrators, Anyone, Members};

impl Operation {
    /// Returns the method and the path template.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Returns the names of the path parameters, in order.
    pub fn parameters(&self) -> Vec<&'static str> {
        let names = self.path.split('/').filter_map(|segment| segment.strip_prefix('{'));
        names.map(|name| name.trim_end_matches('}')).collect()
    }

    /// Returns the path, with a value for each parameter name.
    pub fn path_with(&self, value: impl Fn(&str) -> String) -> String {
        let segment = |segment: &str| match segment.strip_prefix('{') {
            Some(name) => value(name.trim_end_matches('}')),
            None => segment.to_owned(),
        };
        self.path.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    /// Returns whether the operation imports lines, of which its body is one.
    pub fn is_import(&self) -> bool {
        self.path.starts_with("/import_")
    }

    /// Returns whether the fields of the body can be sent as a form.
    pub fn takes_a_form(&self) -> bool {
        !self.body.is_empty() && !self.is_import() && self.path != "/pin_feed_weights"
    }

    /// Returns the body with `{n}` replaced by `n`; `None` if the operation takes no body.
    ///
    /// # Panics
    /// When the body in the table is not valid JSON.
    pub fn body_with(&self, n: u64) -> Option<Value> {
        let body = self.body.replace("{n}", &n.to_string());
        (!body.is_empty()).then(|| serde_json::from_str(&body).unwrap())
    }
}

/// The operations of the HTTP interface, except the documentation at `/openapi.json` and `/docs`, the stream of `/events`, and
/// the page and the tables of `/reports`, whose responses have no `result`.
pub const OPERATIONS: &[Operation] = &[
    // Accounts.
    post(
        "/sign_up",
        Anyone,
        r#"{"id": "new{n}", "pw": "correct horse", "pw_check": "correct horse", "nickname": "New"}"#,
    ),
    post("/sign_in", Anyone, r#"{"id": "signer", "pw": "correct horse"}"#),
    post("/sign_in_up", Anyone, r#"{"id": "s2026001", "pw": "secret"}"#),
    post(
        "/change_pw",
        Members,
        r#"{"pw": "correct horse", "new_pw": "correct horse", "new_pw_check": "correct horse"}"#,
    ),
    act("/sign_out_all", Members),
    get("/get_sessions", Members),
    act("/sign_out_session/{session_obi}", Members),
    get("/get_otp", Members),
    post("/begin_otp", Members, r#"{"pw": "correct horse"}"#),
    post("/enable_otp", Members, r#"{"otp": "12345"}"#),
    post("/disable_otp", Members, r#"{"pw": "correct horse", "otp": "12345"}"#),
    post("/renew_recovery_codes", Members, r#"{"pw": "correct horse", "otp": "12345"}"#),
    // Profiles.
    post("/change_nickname", Members, r#"{"new_nickname": "Nick"}"#),
    act("/update_auto_login/{auto_login}", Members),
    get("/get_userinfo", Members),
    get("/get_specific_userinfo/{type_num}", Members),
    act("/reset_user_measurement", Members),
    act("/remove_mine", Members),
    get("/get_my_data", Members),
    // Administrators.
    get("/check_admin", Administrators),
    act("/admin_remove_user/{user_id}", Administrators),
    get("/get_blacklist", Administrators),
    act("/push_blacklist/{user_id}", Administrators),
    act("/pop_blacklist/{user_id}", Administrators),
    get("/get_admins", Administrators),
    act("/grant_admin/{user_id}", Administrators),
    act("/revoke_admin/{user_id}", Administrators),
    get("/get_members", Administrators),
    get("/get_member/{user_id}", Administrators),
    get("/get_member_lists/{user_id}/{type_num}", Administrators),
    // It has a record in the audit trail.
    act("/get_member_data/{user_id}", Administrators),
    act("/reset_member_measurement/{user_id}", Administrators),
    post("/change_member_nickname/{user_id}", Administrators, r#"{"new_nickname": "Nick"}"#),
    act("/update_member_auto_login/{user_id}/{auto_login}", Administrators),
    post("/set_member_password/{user_id}", Administrators, r#"{"new_pw": "correct horse"}"#),
    act("/reset_member_otp/{user_id}", Administrators),
    act("/issue_member_otp/{user_id}", Administrators),
    post(
        "/import_members",
        Administrators,
        r#"{"id": "moved{n}", "nickname": "Moved", "date": "2026-01-02"}"#,
    ),
    post(
        "/import_acts",
        Administrators,
        r#"{"id": "target", "type": "search", "search": "word {n}", "date": "2026-01-02T03:04:05Z"}"#,
    ),
    // Its body is CSV.
    post("/import_roster", Administrators, ""),
    get("/get_roster", Administrators),
    get("/get_member_sessions/{user_id}", Administrators),
    act("/sign_out_member/{user_id}", Administrators),
    act("/sign_out_member_session/{user_id}/{session_obi}", Administrators),
    get("/get_keys", Administrators),
    post(
        "/add_key",
        Administrators,
        r#"{"name": "key {n}", "scopes": ["posts"], "expires": "2096-01-02T03:04:05Z"}"#,
    ),
    act("/remove_key/{key_obi}", Administrators),
    get("/get_webhooks", Administrators),
    post(
        "/add_webhook",
        Administrators,
        r#"{"name": "webhook {n}", "url": "https://receiver.invalid/", "events": ["feedback.created"]}"#,
    ),
    act("/remove_webhook/{webhook_obi}", Administrators),
    act("/rotate_webhook/{webhook_obi}", Administrators),
    act("/test_webhook/{webhook_obi}", Administrators),
    get("/get_webhook_deliveries", Administrators),
    act("/retry_webhook_delivery/{delivery_obi}", Administrators),
    get("/get_audit", Administrators),
    get("/verify_audit", Administrators),
    get("/export_audit", Administrators),
    // Notices and the front page.
    get("/get_all_notice", Anyone),
    get("/get_notices", Anyone),
    act("/get_notice/{notice_obi}", Anyone),
    post("/insert_notice", Administrators, NOTICE),
    post("/update_notice/{notice_obi}", Administrators, NOTICE),
    get("/get_notice_reads/{notice_obi}", Administrators),
    get("/get_notice_drafts", Administrators),
    post("/save_notice_draft", Administrators, r#"{"title": "Title", "post": "Text", "pinned": 1}"#),
    act("/publish_notice_draft/{draft_obi}", Administrators),
    act("/remove_notice_draft/{draft_obi}", Administrators),
    act("/remove_notice/{notice_obi}", Administrators),
    get("/get_main_info", Anyone),
    post("/update_main_info", Administrators, r#"{"new_info_1": "One", "new_info_2": "Two"}"#),
    // Feedback.
    post("/remove_notice/{notice_obi}", Members, r#"{"type": "question", "post": "Text"}"#),
    post("/send_feedback", Members, r#"{"type": "question", "post": "Text"}"#),
    get("/get_all_feedback", Administrators),
    get("/get_feedback", Administrators),
    act("/update_feedback/{feedback_obi}/{activation}", Administrators),
    // Posts.
    get("/get_post/{post_obi}", Anyone),
    act("/post_view/{post_obi}", Anyone),
    act("/post_like/{post_obi}", Members),
    act("/post_unlike/{post_obi}", Members),
    act("/post_hide/{post_obi}", Members),
    act("/post_unhide/{post_obi}", Members),
    post("/insert_post", Administrators, POST),
    post("/update_post/{post_obi}", Administrators, POST),
    act("/remove_post/{post_obi}", Administrators),
    post("/import_posts", Administrators, POST),
    get("/get_categories", Anyone),
    get("/get_posts", Anyone),
    get("/export_posts", Administrators),
    // Search.
    get("/find_ids/{kind}/{prefix}", Anyone),
    post("/search_logging", Anyone, r#"{"search": "word"}"#),
    post("/priority_search/{num}", Anyone, r#"{"search": "word"}"#),
    post("/category_search/{category_name}/{num}", Anyone, r#"{"search": "word"}"#),
    post("/domain_search", Anyone, r#"{"search": "word"}"#),
    get("/get_user_lately_search/{num}", Members),
    post("/get_similarity_words", Anyone, r#"{"search": "word"}"#),
    // Newsfeeds.
    get("/get_recommendation_newsfeed", Anyone),
    get("/get_popularity_newsfeed", Anyone),
    get("/get_topic_newsfeed/{newsfeed_name}", Anyone),
    get("/get_newsfeed_of_topic/{category_name}", Anyone),
    get("/get_feed_weights", Administrators),
    act("/learn_feed_weights", Administrators),
    post("/pin_feed_weights", Administrators, r#"{"weights": {"topic": 0.5}}"#),
    act("/unpin_feed_weights", Administrators),
    // Analytics.
    get("/get_search_realtime", Anyone),
    get("/get_search_bursts", Anyone),
    get("/get_log_date/{months}/{days}/{hours}/{limit}", Administrators),
    get("/get_log_user/{user_id}/{limit}", Members),
    get("/get_log_user_date/{user_id}/{months}/{days}/{hours}/{limit}", Members),
    get("/get_log", Administrators),
    get("/get_analysis_of_days/{first}/{last}", Administrators),
    get("/get_status", Administrators),
    get("/get_analysis", Anyone),
    get("/get_everyday_analysis_days_ago/{days}", Anyone),
    get("/get_everyday_analysis_specific_days/{year}/{month}/{day}", Anyone),
    act("/insert_device/{device}", Anyone),
    get("/get_device", Anyone),
    get("/get_report", Anyone),
    // Health and metrics.
    get("/healthz", Anyone),
    get("/readyz", Anyone),
];

const NOTICE: &str = r#"{
    "title": "Title", "post": "Text", "activation": 1, "visible_from": "2026-01-02T03:04:05Z",
    "visible_until": "2096-01-02T03:04:05Z", "pinned": 1, "topic": "news", "members_only": 0
}"#;

const POST: &str = r#"{
    "title": "A word {n}", "post": "Text", "url": "https://news.example.org/table/{n}",
    "img": "https://news.example.org/a.png", "topic": ["news"], "tag": ["a", "b"],
    "date": "2026-01-02T03:04:05Z", "end_date": "2096-01-02T03:04:05Z"
}"#;

const fn get(path: &'static str, access: Access) -> Operation {
    Operation { method: "GET", path, access, body: "", only_reads: true }
}

/// Returns an operation that changes something although its method is `GET`.
const fn act(path: &'static str, access: Access) -> Operation {
    Operation { only_reads: false, ..get(path, access) }
}

const fn post(path: &'static str, access: Access, body: &'static str) -> Operation {
    Operation { method: "POST", path, access, body, only_reads: false }
}
