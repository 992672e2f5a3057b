//! Single sign-on: a browser goes to [`PATH`], to the issuer, to [`RETURN_PATH`], and to the page of the app, with a code that the
//! app exchanges for an access token ([`SignInOidc`]), so that no address has a token. Whoever knows the password of an account
//! with the same id or address links it ([`LinkOidc`]). OpenID Connect Core 1.0, RFC 7636, RFC 9207, RFC 9700.

use serde::{Deserialize, Serialize};
use url::{Url, form_urlencoded};
use utoipa::ToSchema;

use super::sign_in::{self, New};
use super::{attempt, code, email};
use crate::Tidings;
use crate::account::{Client, cut_nickname, find, fold};
use crate::audit::trail::hex;
use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::config::{Config, Registration};
use crate::base::random::random;
use crate::record::error::{Code, Error, Problem, Result};
use crate::record::id::MemberKey;
use crate::store::{Isolation, StoreError, Tx};

mod flow;
mod id_token;
mod issuer;
mod offer;
mod operations;
mod person;
mod sql;
#[cfg(test)]
mod tests;

use flow::Flow;
pub(crate) use issuer::{Issuer, check};
pub use operations::{LinkOidc, SignInOidc, UnlinkOidc};
use person::Person;
pub(crate) use sql::linked;
pub(in crate::account) use sql::unlink;

/// The path at which a browser begins to sign in.
pub const PATH: &str = "/sign_in_oidc";
/// The path to which the issuer sends it back.
pub const RETURN_PATH: &str = "/sign_in_oidc/return";

/// The lifetime of the app's code: long enough for an app, and then for a person who types a password.
const CODE_MS: i64 = 2 * 60 * SECOND_MS;
const LINK_MS: i64 = 10 * 60 * SECOND_MS;
/// In bytes: the state of an app is in a cookie.
const STATE_MAX: usize = 500;

const SUBJECT: &str = "sub";
const EMAIL: &str = "email";
const EMAIL_VERIFIED: &str = "email_verified";
const NAME: &str = "name";

/// Errors for the page of the app (RFC 6749 section 4.1.2.1).
const ACCESS_DENIED: &str = "access_denied";
const INVALID: &str = "invalid_request";
const SERVER_ERROR: &str = "server_error";

const UNAVAILABLE: Denied = Denied {
    error: "temporarily_unavailable",
    description: "the issuer does not answer: try again later, or sign in with a password",
};

const REFUSED_CODE: Denied = Denied::new(ACCESS_DENIED, "the issuer refused the sign-in: sign in again");
/// The cause does not depend on the code.
const REFUSED_SERVICE: Denied =
    Denied::new(SERVER_ERROR, "the issuer refuses this service: tell the administrators of this service");
/// The cause may be the code or something else.
const NO_TOKEN: Denied =
    Denied::new(SERVER_ERROR, "the issuer does not say who this is: tell the administrators of this service");

const UNVERIFIED: Denied = Denied {
    error: ACCESS_DENIED,
    description: "there is an account with this id, and the issuer has not verified an address of this person",
};

const OFF: Problem =
    Problem::new(Code::NotPossible, "there is no single sign-on here: the setting oidc-issuer turns it on");
const FOREIGN_PAGE: Problem =
    Problem::new(Code::InvalidValue, "must be one of the pages in the setting oidc-pages, exactly")
        .of("page");
const LONG_STATE: Problem = Problem::new(Code::InvalidValue, "must have at most 500 bytes").of("state");
const UNKNOWN_FLOW: Problem = Problem::new(
    Code::InvalidValue,
    "this browser has not begun to sign in, or more than ten minutes ago: begin again on the page of the app",
)
.of("state");

/// Where a browser goes next, and the cookie that it keeps until it comes back.
#[derive(Debug)]
pub struct Redirect {
    /// The address.
    pub location: String,
    /// The value of the header `Set-Cookie`.
    pub cookie: String,
}

/// The person of single sign-on who signs in to an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkedPerson {
    /// The address of the issuer.
    #[schema(max_length = 1_000, examples("https://login.campus.example"))]
    pub issuer: String,
    /// The issuer's identifier of the person.
    #[schema(max_length = 255, examples("248289761001"))]
    pub subject: String,
    /// The date of the link.
    pub date: Timestamp,
}

#[derive(Debug, PartialEq, Eq)]
struct Denied {
    error: &'static str,
    description: &'static str,
}

impl Denied {
    const fn new(error: &'static str, description: &'static str) -> Self {
        Self { error, description }
    }
}

/// Begins to sign in: the query may have a `page` and a `state`, which the page gets back.
///
/// # Errors
/// `bad request` when the page is not one of the setting `oidc-pages`, or there is no single sign-on.
pub fn begin(tidings: &Tidings, query: &str) -> Result<Redirect> {
    begin_at(tidings.account().issuer.as_ref().ok_or(Error::BadRequest(OFF))?, tidings, query)
}

fn begin_at(issuer: &Issuer, tidings: &Tidings, query: &str) -> Result<Redirect> {
    let pages = &tidings.config().oidc.pages;
    let page = match parameter(query, "page") {
        None => pages.first(),
        Some(page) => pages.iter().find(|one| **one == page),
    };
    let page = page.ok_or(Error::BadRequest(FOREIGN_PAGE))?;
    let app_state = parameter(query, "state");
    if app_state.as_ref().is_some_and(|state| state.len() > STATE_MAX) {
        return Err(Error::BadRequest(LONG_STATE));
    }
    let flow = Flow::new(page.clone(), app_state, tidings.now());
    let location = match issuer.sign_in(&flow) {
        Ok(at) => at.into(),
        Err(denied) => back(&flow, Err(&denied)),
    };
    let (name, value) = flow.cookie(tidings);
    Ok(Redirect { location, cookie: cookie(tidings.config(), &name, &value, flow::LASTS_MS / SECOND_MS) })
}

/// Ends what [`begin`] has begun, with the query that the issuer has given the browser and the `Cookie` headers of the browser.
///
/// # Errors
/// `bad request` when this browser has not begun; `too many requests` after many failures of the client; an error of the store.
pub fn finish(tidings: &Tidings, query: &str, cookies: &[&str], client: Option<Client>) -> Result<Redirect> {
    finish_at(
        tidings.account().issuer.as_ref().ok_or(Error::BadRequest(OFF))?,
        tidings,
        query,
        cookies,
        client,
    )
}

fn finish_at(
    issuer: &Issuer,
    tidings: &Tidings,
    query: &str,
    cookies: &[&str],
    client: Option<Client>,
) -> Result<Redirect> {
    let state = parameter(query, "state").unwrap_or_default();
    let flow = Flow::of_cookies(tidings, cookies, &state).ok_or(Error::BadRequest(UNKNOWN_FLOW))?;
    // Each code costs a request to the issuer, so a client that makes codes up has to wait.
    let attempt = attempt::begin_by(tidings, None, client)?;
    // Counted apart: not every failure is a mistake of the client, so these failures block no sign-in with a password.
    let asking = attempt::begin_by(tidings, None, client.map(Client::apart))?;
    let code = match identified(tidings, issuer, &flow, query) {
        Ok(person) => admit(tidings, &flow, &person)?,
        Err(denied) => {
            let counted =
                if denied == REFUSED_CODE { attempt } else { asking.filter(|_| denied == NO_TOKEN) };
            if let Some(counted) = counted {
                counted.failed();
            }
            Err(denied)
        }
    };
    let location = back(&flow, code.as_deref());
    Ok(Redirect { location, cookie: cookie(tidings.config(), &flow::cookie_name(tidings, &state), "", 0) })
}

/// Returns the fields that [`finish`] reads of a form with which an issuer sends a browser back, as a query.
pub fn query_of_form(form: &[u8]) -> String {
    let is_read = |name: &str| matches!(name, "code" | "state" | "iss" | "error");
    let given = form_urlencoded::parse(form).filter(|(name, _)| is_read(name));
    form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish()
}

fn identified(tidings: &Tidings, issuer: &Issuer, flow: &Flow, query: &str) -> Result<Person, Denied> {
    issuer.check_sender(parameter(query, "iss").as_deref())?;
    if let Some(error) = parameter(query, "error") {
        return Err(match error.as_str() {
            "temporarily_unavailable" | "server_error" => UNAVAILABLE,
            "invalid_request" | "invalid_scope" | "unauthorized_client" | "unsupported_response_type" => {
                tracing::error!(error, "the issuer refuses the requests of this service");
                REFUSED_SERVICE
            }
            _ => Denied::new(ACCESS_DENIED, "the issuer did not sign the person in"),
        });
    }
    let code = parameter(query, "code").ok_or(Denied::new(INVALID, "the issuer gave no code"))?;
    Person::new(&tidings.config().oidc, &issuer.claims(flow, &code)?)
}

fn admit(tidings: &Tidings, flow: &Flow, person: &Person) -> Result<Result<String, Denied>> {
    let (now, code) = (tidings.now(), code::generate());
    let issuer = tidings.config().oidc.issuer.as_ref().map(|issuer| issuer.0.as_str()).unwrap_or_default();
    let has_account = tidings.store().read::<_, Error>(|tx| {
        Ok(sql::member(tx, (issuer, &person.subject))?.is_some() || taken(tx, person)?.is_some())
    })?;
    let new = if has_account {
        None
    } else {
        match new_member(tidings, person)? {
            Ok(new) => Some(new),
            Err(denied) => return Ok(Err(denied)),
        }
    };
    let (state, hash, flow_expires) = (flow.state(), code::hash(&code), flow.expires);
    let admitted = tidings.store().write(Isolation::Alone, {
        let (issuer, person) = (issuer.to_owned(), person.clone());
        move |tx| {
            if !code::take_step(tx, &state, flow_expires)? {
                return Ok(Err(Denied::new(INVALID, "this sign-in has ended already: begin again")));
            }
            let person_at = (&*issuer, &*person.subject);
            let (member, is_linked) = match (sql::member(tx, person_at)?, taken(tx, &person)?, &new) {
                (Some(member), ..) => (member, true),
                (None, Some(_), _) if person.email.is_none() => return Ok(Err(UNVERIFIED)),
                (None, Some(member), _) => (member, false),
                (None, None, Some(new)) => {
                    let (member, _) = sign_in::insert_member(tx, new, now)?;
                    sql::link(tx, member, person_at, now)?;
                    if let Some(email) = &person.email {
                        email::import(tx, member, email, now)?;
                    }
                    (member, true)
                }
                // The member with the same id or address has just been removed.
                (None, None, None) => return Ok(Err(UNAVAILABLE)),
            };
            if is_linked {
                sql::name(tx, member, &person.name)?;
            }
            let expires = now + if is_linked { CODE_MS } else { LINK_MS };
            sql::insert(tx, &hash, member, person_at, is_linked, expires)?;
            Ok::<_, Error>(Ok(()))
        }
    })?;
    Ok(admitted.map(|()| code))
}

fn taken(tx: &mut dyn Tx, person: &Person) -> Result<Option<MemberKey>, StoreError> {
    let owner = person.email.as_ref().map(|email| email::owner(tx, &email.folded())).transpose()?.flatten();
    if owner.is_some() {
        return Ok(owner);
    }
    let Some(id) = &person.id else { return Ok(None) };
    // An id may look like an address, also like that of another member.
    Ok(find(tx, id)?.map(|member| member.key).or(email::owner(tx, &fold(id))?))
}

/// Nobody knows the password of the new member: with an address, the member may choose one.
fn new_member(tidings: &Tidings, person: &Person) -> Result<Result<New, Denied>> {
    let (config, denied) = (tidings.config(), |why| Ok(Err(Denied::new(ACCESS_DENIED, why))));
    if config.sign_up == Registration::Closed {
        return denied("nobody can sign up here: ask an administrator for an account");
    }
    let Some(id) = person.id.clone() else {
        return denied("the issuer has no id for this person that can be one here");
    };
    // The university member with this id signs up with `sign_in_up`.
    if tidings.account().verifier.reserves(tidings, &id)? {
        return denied("the university's roster reserves the id of this person");
    }
    let nickname = cut_nickname(&person.name, &id);
    let password = tidings.account().hasher.hash(&hex(&random::<32>()))?;
    Ok(Ok(New { id, nickname, password, verified: None, email: None }))
}

fn back(flow: &Flow, code: Result<&str, &Denied>) -> String {
    // The settings have checked it, and the cookie is signed.
    let mut page = Url::parse(&flow.page).expect("the pages of the settings are addresses");
    let mut query = page.query_pairs_mut();
    match code {
        Ok(code) => query.append_pair("code", code),
        Err(denied) => {
            query.append_pair("error", denied.error).append_pair("error_description", denied.description)
        }
    };
    if let Some(state) = &flow.app_state {
        query.append_pair("state", state);
    }
    drop(query);
    page.into()
}

/// Returns a `Set-Cookie` value that scripts cannot read. Browsers send the cookie only to the way back from the issuer, or, with
/// the prefix that keeps other hosts of the domain from setting it, to the whole host.
fn cookie(config: &Config, name: &str, value: &str, seconds: i64) -> String {
    let (path, secure) = if name.starts_with(flow::HOST) {
        ("/".to_owned(), "; Secure")
    } else {
        let path = config.public_url.as_ref().map_or("", |url| url.path().trim_end_matches('/'));
        (format!("{path}{RETURN_PATH}"), "")
    };
    format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
}

fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.into_owned())
}
