//! The operations that a server has by itself: live events, pages, its health and its documentation.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::{ContentBuilder, ObjectBuilder, Ref, RefOr, Required, ResponseBuilder, Type};

use crate::analysis::GetReport;
use crate::record::operation::{Access, CSV, Failure, JSON, Spec, Stream};
use crate::record::schema::ReportFile;

const HTML: &str = "text/html";

/// Check liveness
///
/// Answers `success` whenever the server runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Healthz {}

impl Stream for Healthz {
    type Line = String;
    type Answer = ();
    const SPEC: Spec = Spec::get("server", "/healthz", Access::Open).unrecorded();
}

/// Check readiness
///
/// Answers `success` when the server can take requests. Answers 503 `overloaded` when the database does not respond,
/// when writes fail, as on a full disk, and before and while the server shuts down.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Readyz {}

impl Stream for Readyz {
    type Line = String;
    type Answer = ();
    const SPEC: Spec = Spec::get("server", "/readyz", Access::Open).unrecorded();
}

/// Get this document
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetDocument {}

impl Stream for GetDocument {
    type Line = String;
    type Answer = ();
    const SPEC: Spec =
        Spec::get("server", "/openapi.json", Access::Open).named("openapi_json").document().unrecorded();

    fn describe(operation: &mut Operation) {
        let Some(RefOr::T(done)) = operation.responses.responses.get_mut("200") else { return };
        let object = ObjectBuilder::new().schema_type(Type::Object).build();
        done.content.insert(JSON.into(), ContentBuilder::new().schema(Some(object)).build().into());
    }
}

/// Receive live events
///
/// Server-sent events, which browsers read with `EventSource`. The `data` of each event is a JSON object: the schema
/// `LiveEvents` has one for each name. `notice`: a notice
/// was published, changed, or hidden, which has only its id. `post`: a post was inserted. `counts`: the counts of today,
/// first and whenever they change, every five seconds at most. `reset`: events of the kind `event` are left out, so read the
/// data again. After a lost connection, the stream continues with the events after `Last-Event-ID`, also at another server.
/// An event may come twice. A comment comes every 15 to 20 seconds. A token is not needed; all callers get the same.
///
/// `changes` comes only if `events` names it, and only for administrators, and API keys and roles with `analytics:read`: for each part
/// of the data a number that grows when the part changes, first and then whenever one grows, twice a second at most. The
/// numbers are those of one server. The stream ends when the right ends.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Listen {
    /// The kinds of events, separated by commas: `notice`, `post`, `counts` and `changes`; by default all but `changes`.
    #[schema(
        pattern = "^(notice|post|counts|changes)(,(notice|post|counts|changes))*$",
        examples("notice,post")
    )]
    pub events: Option<String>,
    /// The id of the last event, for clients that cannot send the header `Last-Event-ID`. The header takes precedence.
    #[schema(max_length = 100, examples("118-42"))]
    pub last_event_id: Option<String>,
}

impl Stream for Listen {
    type Line = String;
    type Answer = String;
    const SPEC: Spec = Spec::get("server", "/events", Access::Anyone);
    const GIVES: &'static [&'static str] = &["text/event-stream"];

    fn describe(operation: &mut Operation) {
        let last = ParameterBuilder::new()
            .name("Last-Event-ID")
            .parameter_in(ParameterIn::Header)
            .description(Some("The id of the last event"))
            .required(Required::False)
            .schema(Some(
                ObjectBuilder::new().schema_type(Type::String).max_length(Some(100)).examples(["118-42"]),
            ));
        operation.parameters.get_or_insert_default().push(last.build().into());
        for (status, response) in [("401", "BadToken"), ("403", "NotAdmin")] {
            let response = Ref::from_response_name(response);
            operation.responses.responses.insert(status.into(), response.into());
        }
    }
}

/// Show a report page
///
/// The figures of `/get_report` with charts, for browsers. The page has no script and loads nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetReportPage {
    /// The period.
    #[serde(rename = "..")]
    pub report: GetReport,
}

impl Stream for GetReportPage {
    type Line = String;
    type Answer = String;
    const SPEC: Spec = Spec::get("analysis", "/reports", Access::Open).public();
    const GIVES: &'static [&'static str] = &[HTML];
}

/// Get a report as CSV
///
/// UTF-8 with the names of the columns in the first line. A text that a spreadsheet would take for a formula has an
/// apostrophe before it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GetReportTable {
    /// `days.csv`, `hours.csv`, `terms.csv`, `devices.csv`, `topics.csv` or `posts.csv`
    #[schema(value_type = ReportFile)]
    pub file: String,
    /// The period.
    #[serde(rename = "..")]
    pub report: GetReport,
}

impl Stream for GetReportTable {
    type Line = String;
    type Answer = String;
    const SPEC: Spec = Spec::get("analysis", "/reports/{file}", Access::Open)
        .named("reports_file")
        .file()
        .public()
        .or(&[Failure::Missing]);
    const GIVES: &'static [&'static str] = &[CSV];
}

/// What runs at this address.
#[derive(Serialize, ToSchema)]
pub struct Home {
    /// `tidings`.
    #[schema(max_length = 20, examples("tidings"))]
    pub name: &'static str,
    /// The version of the program.
    #[schema(max_length = 50, examples("0.1.0"))]
    pub version: &'static str,
    /// The page of reports, relative to this address.
    #[schema(max_length = 20, examples("reports"))]
    pub reports: &'static str,
    /// The API page, relative to this address; missing if it is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 20, examples("docs/"))]
    pub docs: Option<&'static str>,
    /// The OpenAPI document, relative to this address; missing if it is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 20, examples("openapi.json"))]
    pub openapi: Option<&'static str>,
}

/// See what runs here
///
/// A page for browsers; JSON if the client prefers it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetHome {}

impl Stream for GetHome {
    type Line = String;
    type Answer = Home;
    const SPEC: Spec =
        Spec::get("server", "/", Access::Open).named("home").document().with_formats().unrecorded();
    const GIVES: &'static [&'static str] = &[HTML, JSON];
}

/// Show the API page
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct GetPage {}

impl Stream for GetPage {
    type Line = String;
    type Answer = String;
    const SPEC: Spec = Spec::get("server", "/docs", Access::Open).document().unrecorded();
    const GIVES: &'static [&'static str] = &[];

    fn describe(operation: &mut Operation) {
        let page = ObjectBuilder::new().schema_type(Type::String).max_length(Some(20)).examples(["docs/"]);
        let page = HeaderBuilder::new().schema(Some(page.build())).description(Some("The page."));
        let moved = ResponseBuilder::new()
            .description("Redirects to `/docs/`.")
            .header("Location", page.build())
            .build();
        operation.responses.responses = [("308".to_owned(), moved.into())].into_iter().collect();
    }
}
