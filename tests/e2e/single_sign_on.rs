//! Single sign-on, with a certified issuer that runs in Node (oidc-provider) and a browser with cookies (curl).

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tempfile::TempDir;
use tidings_tests::{Answer, Caller, PASSWORD, Server, wait_until};
use url::Url;

use crate::programs::leave_out;

/// The variable that makes a missing issuer a failure. `.ci/run` sets it to `required`.
const REQUIRED: &str = "TIDINGS_TEST_ISSUER";
const SITE: &str = "http://campus.example";
const PAGE: &str = "https://app.example/signed-in";
const SECRET: &str = "a secret: 100% of the issuer's";

/// The people of the issuer: a student, one whose address is not verified, and one of another group.
const ANN: &str = "7301";
const BEN: &str = "7302";
const CY: &str = "7303";

/// A running issuer. Dropping the value stops it.
struct Issuer {
    process: Child,
    port: u16,
}

impl Issuer {
    /// Starts an issuer, or says that its packages are not installed.
    fn start() -> Option<Self> {
        let directory = directory();
        if directory.join("node_modules/oidc-provider").is_dir() {
            return Some(Self::at(0));
        }
        let is_required = std::env::var_os(REQUIRED).is_some_and(|value| value == "required");
        assert!(!is_required, "the issuer is not installed: npm ci in {}", directory.display());
        leave_out("the issuer of single sign-on is not installed");
        None
    }

    fn at(port: u16) -> Self {
        let mut command = Command::new("node");
        command.arg(directory().join("issuer.mjs")).arg(port.to_string());
        command.arg(format!("{SITE}/sign_in_oidc/return")).arg(SECRET);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap().parse().unwrap();
        // It also prints warnings, and would end if nobody read them.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { process, port }
    }

    /// Stops it.
    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts a service whose people sign in here.
    fn service(&self, more: &'static [(&'static str, &'static str)]) -> Server {
        let settings = self.settings();
        Server::with(move |serve| {
            serve.envs(settings.clone()).envs(more.iter().copied());
        })
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("TIDINGS_OIDC_ISSUER", format!("http://127.0.0.1:{}", self.port)),
            ("TIDINGS_OIDC_CLIENT_ID", "campus".to_owned()),
            ("TIDINGS_OIDC_CLIENT_SECRET", SECRET.to_owned()),
            ("TIDINGS_OIDC_PAGES", format!("{PAGE},https://other.example/")),
            ("TIDINGS_PUBLIC_URL", SITE.to_owned()),
        ]
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/e2e/oidc")
}

/// A browser with its cookies.
struct Browser(TempDir);

/// What a browser gets: the status, and where it is sent.
type Visit = (u16, String);

impl Browser {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Opens an address, which is that of the service if its site is.
    fn open(&self, server: &Server, address: &str) -> Visit {
        let jar = self.0.path().join("cookies");
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "60", "-o"]).arg(self.0.path().join("body"));
        curl.arg("-b").arg(&jar).arg("-c").arg(&jar).args(["-w", "%{http_code} %{redirect_url}"]);
        curl.arg("--connect-to").arg(format!("campus.example:80:{}", server.address())).arg(address);
        let done = curl.output().unwrap();
        let shown = String::from_utf8(done.stdout).unwrap();
        let (status, to) = shown.split_once(' ').unwrap();
        (
            status.parse().unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&done.stderr))),
            to.to_owned(),
        )
    }

    /// Begins to sign in, and goes to where the issuer sends the browser back, as this person.
    fn way_back(&self, server: &Server, query: &str, subject: &str) -> String {
        let (_, mut at) = self.open(server, &format!("{SITE}/sign_in_oidc{query}"));
        while !at.starts_with(SITE) {
            if at.contains("/interaction/") {
                at = format!("{at}/{subject}");
            }
            let (status, next) = self.open(server, &at);
            assert_eq!(status, 303, "{at}");
            at = next;
        }
        at
    }

    /// Signs a person in, and returns what the page of the app gets.
    fn sign_in(&self, server: &Server, subject: &str) -> Url {
        let (status, page) = self.open(server, &self.way_back(server, "", subject));
        assert!(status == 303 && page.starts_with(PAGE), "{status} {page}");
        Url::parse(&page).unwrap()
    }
}

fn parameter(page: &Url, name: &str) -> String {
    page.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// Exchanges the code that a page got.
fn exchange(app: &Caller, page: &Url) -> Answer {
    app.post("/sign_in_oidc", json!({ "code": parameter(page, "code") }))
}

#[test]
fn a_person_of_a_certified_issuer_signs_in_and_nothing_works_twice() {
    let Some(issuer) = Issuer::start() else { return };
    let server = issuer.service(&[]);
    let (app, browser) = (server.anyone(), Browser::new());
    let back = browser.way_back(&server, "?state=of+the+app", ANN);
    let stranger = Browser::new();
    assert_eq!(stranger.open(&server, &back).0, 400, "another browser");
    std::fs::copy(browser.0.path().join("cookies"), stranger.0.path().join("cookies")).unwrap();
    let (_, page) = browser.open(&server, &back);
    let page = Url::parse(&page).unwrap();
    assert_eq!(parameter(&page, "state"), "of the app");
    let ann = app.with_token("ann", exchange(&app, &page).succeeded().text("/access_token"));
    let info = ann.get("/get_userinfo").succeeded();
    assert_eq!((info.text("/user_id"), info.text("/user_name")), ("ann".into(), "Ann Lee".into()));
    assert_eq!(ann.get("/get_email").succeeded().text("/email"), "ann@campus.example");
    assert_eq!(exchange(&app, &page).outcome(), "200 incorrect code");
    assert_eq!(browser.open(&server, &back).0, 400, "its cookie is gone");
    let (_, replayed) = stranger.open(&server, &back);
    assert_eq!(
        parameter(&Url::parse(&replayed).unwrap(), "error"),
        "access_denied",
        "the issuer knows its code"
    );
    for query in ["?page=https://evil.example/", "?page=https://app.example/signed-in%2F"] {
        assert_eq!(browser.open(&server, &format!("{SITE}/sign_in_oidc{query}")).0, 400, "{query}");
    }
    // The same person, whom the issuer still knows.
    let _ = exchange(&app, &browser.sign_in(&server, "none is asked")).succeeded();
    let denied = Browser::new().sign_in(&server, "nobody");
    assert_eq!(parameter(&denied, "error"), "access_denied");
    assert!(!server.log().contains(SECRET));
}

#[test]
fn another_server_ends_what_one_has_begun_with_new_keys_of_the_issuer() {
    let Some(mut issuer) = Issuer::start() else { return };
    let server = issuer.service(&[]);
    let settings = issuer.settings();
    let other = Server::at(server.database(), move |serve| {
        serve.envs(settings.clone());
    });
    let page = |begins: &Server, ends: &Server| {
        let browser = Browser::new();
        let back = browser.way_back(begins, "", ANN);
        Url::parse(&browser.open(ends, &back).1).unwrap()
    };
    let code = page(&server, &other);
    let _ = exchange(&server.anyone(), &code).succeeded();
    assert_eq!(exchange(&other.anyone(), &code).outcome(), "200 incorrect code");
    let port = issuer.port;
    issuer.stop();
    // Where nothing is known about the issuer yet.
    let settings = issuer.settings();
    let fresh = Server::with(move |serve| {
        serve.envs(settings.clone());
    });
    fresh.member("dee");
    let (_, failed) = Browser::new().open(&fresh, &format!("{SITE}/sign_in_oidc"));
    assert_eq!(parameter(&Url::parse(&failed).unwrap(), "error"), "temporarily_unavailable");
    let _ = fresh.anyone().post("/sign_in", json!({ "id": "dee", "pw": PASSWORD })).succeeded();
    issuer = Issuer::at(port);
    wait_until("the new keys are known", || !parameter(&page(&server, &server), "code").is_empty());
    drop(issuer);
}

#[test]
fn an_account_is_linked_with_its_password_and_a_verified_address() {
    let Some(issuer) = Issuer::start() else { return };
    let server = issuer.service(&[]);
    let (app, ann) = (server.anyone(), server.member("ann"));
    server.member("ben");
    let page = Browser::new().sign_in(&server, ANN);
    let refused = exchange(&app, &page);
    assert_eq!(refused.outcome(), "200 already id");
    assert!(refused.text("/message").contains("link_oidc"), "{refused:?}");
    let link = |pw: &str| ann.post("/link_oidc", json!({ "code": parameter(&page, "code"), "pw": pw }));
    assert_eq!(link("another password").outcome(), "200 incorrect pw");
    let _ = link(PASSWORD).succeeded();
    assert_eq!(link(PASSWORD).outcome(), "200 incorrect code");
    let _ = exchange(&app, &Browser::new().sign_in(&server, ANN)).succeeded();
    let denied = Browser::new().sign_in(&server, BEN);
    assert_eq!(parameter(&denied, "error"), "access_denied", "the issuer has not verified the address");
    let data = ann.get("/get_my_data");
    assert_eq!(data.body["account"]["single_sign_on"]["subject"], ANN, "{data:?}");
}

#[test]
fn only_people_of_certain_groups_sign_in() {
    let Some(issuer) = Issuer::start() else { return };
    let server = issuer.service(&[("TIDINGS_OIDC_GROUPS", "students,staff")]);
    let _ = exchange(&server.anyone(), &Browser::new().sign_in(&server, ANN)).succeeded();
    let denied = Browser::new().sign_in(&server, CY);
    assert_eq!(parameter(&denied, "error"), "access_denied");
    assert!(parameter(&denied, "error_description").contains("groups"));
}
