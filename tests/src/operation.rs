//! The table of all operations, for tests that check each of them.

use std::sync::LazyLock;

use serde_json::Value;
use tidings_core::account::key::Scope;
use tidings_core::api::{GetDocument, GetHome, GetPage, GetReportPage, GetReportTable, Listen};
use tidings_core::operation::{self, Spec, Stream};
use tidings_core::operations::{self, Visitor};

pub struct Operation {
    pub method: &'static str,
    /// The path template, as the OpenAPI document writes it.
    pub path: &'static str,
    pub access: Access,
    /// The scope with which an API key, or a member with a role, may use it instead of an administrator.
    pub scope: Option<Scope>,
    /// A valid JSON body with every field set; `""` if the operation takes no body. `{n}` stands for a number that
    /// differs in each request.
    pub body: &'static str,
    /// Whether the operation only reads, so that `HEAD` is answered as well.
    pub only_reads: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Every caller; an invalid token counts as no token.
    Anyone,
    Members,
    Administrators,
}

impl Operation {
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

    pub fn takes_a_form(&self) -> bool {
        !self.body.is_empty() && !self.is_import()
    }

    /// Returns the body with `{n}` replaced by `n`; `None` if the operation takes no body.
    pub fn body_with(&self, n: u64) -> Option<Value> {
        let body = self.body.replace("{n}", &n.to_string());
        (!body.is_empty()).then(|| serde_json::from_str(&body).unwrap())
    }
}

/// The operations of the HTTP interface, except those whose responses have no `result`: documents, pages and live events.
pub static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let mut all = All(Vec::new());
    operations::each(&mut all);
    all.0
});

struct All(Vec<Operation>);

impl Visitor for All {
    fn visit<O: operation::Operation>(&mut self) {
        self.add(&O::SPEC);
    }

    fn stream<S: Stream>(&mut self) {
        let others = [
            Listen::SPEC,
            GetReportPage::SPEC,
            GetReportTable::SPEC,
            GetHome::SPEC,
            GetDocument::SPEC,
            GetPage::SPEC,
        ];
        if others.iter().all(|other| other.path != S::SPEC.path) {
            self.add(&S::SPEC);
        }
    }
}

impl All {
    fn add(&mut self, spec: &Spec) {
        self.0.push(Operation {
            method: spec.method.name(),
            path: spec.path,
            access: match spec.access {
                operation::Access::Open | operation::Access::Anyone => Access::Anyone,
                operation::Access::Members | operation::Access::Own(_) => Access::Members,
                operation::Access::Admins(_) | operation::Access::Persons => Access::Administrators,
            },
            scope: spec.access.scope(),
            body: body(spec.name()),
            only_reads: spec.only_reads() && spec.method == operation::Method::Get,
        });
    }
}

fn body(name: &str) -> &'static str {
    match name {
        "sign_up" => {
            r#"{"id": "new{n}", "pw": "correct horse", "pw_check": "correct horse", "nickname": "New"}"#
        }
        "sign_up_invited" => {
            r#"{"id": "invited{n}", "pw": "correct horse", "pw_check": "correct horse", "nickname": "New",
                "code": "0000-0000-0000-0000"}"#
        }
        "sign_in" => r#"{"id": "signer", "pw": "correct horse"}"#,
        "sign_in_up" => r#"{"id": "s2026001", "pw": "secret"}"#,
        "change_pw" => {
            r#"{"pw": "correct horse", "new_pw": "correct horse", "new_pw_check": "correct horse"}"#
        }
        "request_pw_reset" => r#"{"id": "signer"}"#,
        "set_email" => r#"{"pw": "correct horse", "email": "new{n}@example.org"}"#,
        "sign_in_oidc" => r#"{"code": "0000-0000-0000-0000"}"#,
        "link_oidc" => r#"{"code": "0000-0000-0000-0000", "pw": "correct horse"}"#,
        "add_passkey" => r#"{"ceremony": "x.0", "credential": "{}", "name": "Phone"}"#,
        "sign_in_passkey" => r#"{"ceremony": "x.0", "credential": "{}"}"#,
        "confirm_email" => r#"{"code": "123456"}"#,
        "test_mail" => r#"{"email": "new{n}@example.org"}"#,
        "reset_pw" => {
            r#"{"code": "0000-0000-0000-0000", "new_pw": "correct horse", "new_pw_check": "correct horse"}"#
        }
        "begin_otp" | "begin_passkey" | "unlink_oidc" => r#"{"pw": "correct horse"}"#,
        "enable_otp" => r#"{"otp": "12345"}"#,
        "disable_otp" | "renew_recovery_codes" => r#"{"pw": "correct horse", "otp": "12345"}"#,
        "change_nickname" | "change_member_nickname" => r#"{"new_nickname": "Nick"}"#,
        "set_member_role" => r#"{"scopes": ["notices", "posts"]}"#,
        "set_member_password" => r#"{"new_pw": "correct horse"}"#,
        "import_members" => r#"{"id": "moved{n}", "nickname": "Moved", "date": "2026-01-02"}"#,
        "import_acts" => {
            r#"{"id": "target", "type": "search", "search": "word {n}", "date": "2026-01-02T03:04:05Z"}"#
        }
        "add_key" => r#"{"name": "key {n}", "scopes": ["posts"], "expires": "2096-01-02T03:04:05Z"}"#,
        "add_invitation" => r#"{"uses": 2, "days": 3, "scopes": ["posts"], "note": "Team"}"#,
        "add_webhook" => {
            r#"{"name": "webhook {n}", "url": "https://receiver.invalid/", "events": ["feedback.created"]}"#
        }
        "add_source" => {
            r#"{"url": "https://source.invalid/new/{n}", "name": "News", "topic": ["news"], "tag": ["a"], "every": 60}"#
        }
        "update_source" => {
            r#"{"url": "https://source.invalid/new/{n}", "name": "News", "topic": ["news"], "tag": ["a"], "every": 60, "adopt": 0}"#
        }
        "discover_sources" => r#"{"url": "https://source.invalid/"}"#,
        "import_sources" => {
            r#"{"opml": "<opml><body><outline xmlUrl='https://source.invalid/list/{n}'/></body></opml>"}"#
        }
        "insert_notice" | "update_notice" => NOTICE,
        "save_notice_draft" => r#"{"title": "Title", "post": "Text", "pinned": 1}"#,
        "update_main_info" => r#"{"new_info_1": "One", "new_info_2": "Two"}"#,
        "notice_feedback" | "send_feedback" => r#"{"type": "question", "post": "Text"}"#,
        "insert_post" | "update_post" | "import_posts" => POST,
        "search_logging"
        | "priority_search"
        | "category_search"
        | "domain_search"
        | "get_similarity_words" => r#"{"search": "word"}"#,
        _ => "",
    }
}

const NOTICE: &str = r#"{
    "title": "Title", "post": "Text", "activation": 1, "visible_from": "2026-01-02T03:04:05Z",
    "visible_until": "2096-01-02T03:04:05Z", "pinned": 1, "topic": "news", "members_only": 0
}"#;

const POST: &str = r#"{
    "title": "A word {n}", "post": "Text", "url": "https://news.example.org/table/{n}",
    "img": "https://news.example.org/a.png", "topic": ["news"], "tag": ["a", "b"],
    "date": "2026-01-02T03:04:05Z", "end_date": "2096-01-02T03:04:05Z"
}"#;
