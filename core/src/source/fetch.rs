//! Fetches feeds and pages over HTTP, within bounds of time and size.

use std::io::Read;
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;
use percent_encoding::{CONTROLS, percent_encode};
use ureq::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use url::Url;

use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::config::Config;
use crate::record::error::Result;
use crate::record::outgoing;

/// For a fetch with its redirections, from the first byte sent to the last one received.
const WHOLE: Duration = if cfg!(test) { Duration::from_secs(1) } else { Duration::from_secs(30) };
const STEP: Duration = Duration::from_secs(15);
/// The maximum size of a feed in bytes, when it is no longer compressed.
pub const BODY_MAX: usize = 16 << 20;
const REDIRECTS_MAX: usize = 5;
const BROTLI_BUFFER: usize = 4 << 10;
/// Of an entity tag or of a date of a change, in bytes.
const VALIDATOR_MAX: usize = 500;
/// Some servers answer only with the media types that are asked for.
const ACCEPT: &str = "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, \
                      application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, text/html;q=0.5, */*;q=0.3";

/// With the validators of the last content, a server sends the content only if it has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Validators {
    pub(super) etag: Option<String>,
    pub(super) modified: Option<String>,
}

#[derive(Debug)]
pub(super) enum Answer {
    NotModified(About),
    Content { bytes: Vec<u8>, charset: Option<String>, validators: Validators, about: About },
    Gone,
}

#[derive(Debug)]
pub(super) struct About {
    pub(super) address: Url,
    pub(super) has_moved: bool,
    /// The milliseconds for which the answer stays good.
    pub(super) fresh: Option<i64>,
    /// Each as its target and its parameters.
    links: Vec<(String, String)>,
}

impl About {
    pub(super) fn link(&self, relation: &str) -> Option<Url> {
        let has_it = |parameters: &str| {
            let relations = parameters.split([';', ',']).find_map(|one| one.trim().strip_prefix("rel="));
            let mut relations = relations.unwrap_or_default().trim_matches('"').split_ascii_whitespace();
            relations.any(|one| one.eq_ignore_ascii_case(relation))
        };
        let mut targets = self.links.iter().filter(|(_, parameters)| has_it(parameters));
        targets.find_map(|(target, _)| self.address.join(target).ok())
    }

    /// Elements of HTML, in which feeds are found as in a page.
    pub(super) fn link_elements(&self) -> String {
        let element = |(target, parameters): &(String, String)| {
            let parameters = parameters.trim_end_matches([',', ' ']).replace(';', " ");
            format!("<link href=\"{}\" {parameters}>", target.replace('"', "%22"))
        };
        self.links.iter().map(element).collect()
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) reason: String,
    /// The milliseconds for which the server wants to be left alone.
    pub(super) retry_after: Option<i64>,
    pub(super) is_too_often: bool,
}

impl Failure {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), retry_after: None, is_too_often: false }
    }
}

pub(super) struct Http(ureq::Agent);

impl Http {
    pub(super) fn new(config: &Config) -> Result<Self> {
        let agent = ureq::Agent::config_builder()
            .timeout_resolve(Some(STEP))
            .timeout_connect(Some(STEP))
            .timeout_send_request(Some(STEP))
            .timeout_recv_response(Some(STEP))
            .timeout_recv_body(Some(WHOLE))
            .user_agent(concat!("tidings/", env!("CARGO_PKG_VERSION"), " (feed reader)"));
        Ok(Self(outgoing::agent(agent, config.private_addresses, config.extra_ca.as_deref())?))
    }

    pub(super) fn get(&self, url: &Url, known: &Validators, now: Timestamp) -> Result<Answer, Failure> {
        let (mut address, mut has_moved, mut cookies) = (url.clone(), true, Cookies::new());
        let end = Instant::now() + WHOLE;
        for hop in 0..=REDIRECTS_MAX {
            let response = self.ask(&address, known, &cookies, end)?;
            let status = response.status();
            let is_redirection = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
            if status == StatusCode::GONE && !has_moved {
                // Only the address of the source itself can say that it has ended, not the target of a temporary redirection.
                return Err(Failure::new("status 410"));
            }
            if !is_redirection {
                return answer(response, address, has_moved && hop > 0, now);
            }
            has_moved &= matches!(status.as_u16(), 301 | 308);
            let set =
                response.headers().get_all(header::SET_COOKIE).iter().filter_map(|set| set.to_str().ok());
            let host = address.host_str().map(str::to_owned);
            for pair in set.filter_map(|set| set.split(';').next()) {
                cookies.retain(|(of, old)| *of != host || old.split('=').next() != pair.split('=').next());
                cookies.push((host.clone(), pair.to_owned()));
            }
            address = redirected(&address, response.headers())?;
        }
        Err(Failure::new("it redirects too often"))
    }

    /// Follows redirections that keep the method.
    pub(super) fn post(&self, url: &str, form: &str) -> Result<(), Failure> {
        let mut address = outgoing::parse(url).ok_or_else(|| Failure::new("its address cannot be read"))?;
        let end = Instant::now() + WHOLE;
        for _ in 0..=REDIRECTS_MAX {
            let request = self.0.post(address.as_str()).config().timeout_global(Some(left(end))).build();
            let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
            let response = request.send(form).map_err(|error| Failure::new(outgoing::reason(&error)))?;
            match response.status().as_u16() {
                200..=299 => return Ok(()),
                307 | 308 => address = redirected(&address, response.headers())?,
                status => return Err(Failure::new(format!("status {status}"))),
            }
        }
        Err(Failure::new("it redirects too often"))
    }

    fn ask(
        &self,
        address: &Url,
        known: &Validators,
        cookies: &Cookies,
        end: Instant,
    ) -> Result<Response<ureq::Body>, Failure> {
        let mut request = self
            .0
            .get(address.as_str())
            .config()
            .timeout_global(Some(left(end)))
            .build()
            .header(header::ACCEPT, ACCEPT)
            .header(header::ACCEPT_ENCODING, "gzip, br");
        if let Some(etag) = &known.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(modified) = &known.modified {
            request = request.header(header::IF_MODIFIED_SINCE, modified);
        }
        let own = cookies.iter().filter(|(host, _)| host.as_deref() == address.host_str());
        let cookies: Vec<&str> = own.map(|(_, pair)| pair.as_str()).collect();
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        request.call().map_err(|error| Failure::new(outgoing::reason(&error)))
    }
}

fn left(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now())
}

/// The cookies of one fetch, each with the host that has set it: some sites redirect until they get their cookies back.
type Cookies = Vec<(Option<String>, String)>;

/// Bytes outside ASCII are those of the address, as in browsers.
fn redirected(from: &Url, headers: &HeaderMap) -> Result<Url, Failure> {
    let location = headers.get(header::LOCATION);
    let location = location.map(|value| percent_encode(value.as_bytes(), CONTROLS).to_string());
    let to = location.and_then(|location| from.join(&location).ok());
    let to = to.and_then(|to| outgoing::parse(to.as_str()));
    let mut to = to.ok_or_else(|| Failure::new("it redirects to no address of the web"))?;
    to.set_fragment(None);
    Ok(to)
}

fn answer(
    response: Response<ureq::Body>,
    address: Url,
    has_moved: bool,
    now: Timestamp,
) -> Result<Answer, Failure> {
    let headers = response.headers();
    let about = About { address, has_moved, fresh: fresh(headers, now), links: links(headers) };
    match response.status() {
        StatusCode::NOT_MODIFIED => Ok(Answer::NotModified(about)),
        StatusCode::GONE => Ok(Answer::Gone),
        status if status.is_success() => {
            let short = |name: &str| text(headers, name).filter(|text| text.len() <= VALIDATOR_MAX);
            let validators = Validators { etag: short("etag"), modified: short("last-modified") };
            let (charset, coding) = (charset(headers), text(headers, header::CONTENT_ENCODING.as_str()));
            let bytes = body(response.into_body().into_reader(), &coding.unwrap_or_default())?;
            Ok(Answer::Content { bytes, charset, validators, about })
        }
        status => {
            let retry_after = text(headers, header::RETRY_AFTER.as_str()).and_then(|text| delay(&text, now));
            let (reason, status) = (format!("status {}", status.as_u16()), status.as_u16());
            // 420 and 529 are not registered, but in use.
            Err(Failure { reason, retry_after, is_too_often: matches!(status, 420 | 429 | 509 | 529) })
        }
    }
}

/// The first bytes tell gzip, because the header may be missing or wrong; an unknown coding is none, as in browsers.
fn body(reader: impl Read, coding: &str) -> Result<Vec<u8>, Failure> {
    let is_gzip = |bytes: &[u8]| bytes.starts_with(&[0x1f, 0x8b]);
    let mut bytes = read(reader)?;
    if coding.eq_ignore_ascii_case("br") && !is_gzip(&bytes) {
        match read(brotli::Decompressor::new(&*bytes, BROTLI_BUFFER)) {
            Ok(decoded) => bytes = decoded,
            Err(_) if matches!(bytes.trim_ascii_start().first(), Some(b'<' | b'{')) => {}
            Err(failure) => return Err(failure),
        }
    }
    // A compressed file may be compressed once more on its way.
    for _ in 0..2 {
        if is_gzip(&bytes) {
            bytes = read(MultiGzDecoder::new(&*bytes))?;
        }
    }
    Ok(bytes)
}

fn read(reader: impl Read) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = reader.take(BODY_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| match error.get_ref().and_then(|cause| cause.downcast_ref::<ureq::Error>()) {
        Some(error) => Failure::new(outgoing::reason(error)),
        None => Failure::new(format!("its content ends early: {error}")),
    })?;
    if bytes.len() > BODY_MAX {
        return Err(Failure::new("it is larger than 16 MiB"));
    }
    Ok(bytes)
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_owned())
}

/// The header is `<target>; parameters`, and more after commas. Source: RFC 8288 section 3.
fn links(headers: &HeaderMap) -> Vec<(String, String)> {
    let of_value = |value: &HeaderValue| {
        let value = String::from_utf8_lossy(value.as_bytes());
        let links = value.split('<').filter_map(|link| link.split_once('>'));
        links.map(|(target, parameters)| (target.to_owned(), parameters.to_owned())).collect::<Vec<_>>()
    };
    headers.get_all(header::LINK).iter().flat_map(of_value).collect()
}

fn charset(headers: &HeaderMap) -> Option<String> {
    let media_type = text(headers, header::CONTENT_TYPE.as_str())?;
    let named = |part: &str| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
    };
    media_type.split(';').skip(1).find_map(named)
}

/// In milliseconds. Source: RFC 9111 sections 4.2 and 5.2.2, for a cache that is not shared.
fn fresh(headers: &HeaderMap, now: Timestamp) -> Option<i64> {
    let directives = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let directives = directives.collect::<Vec<_>>().join(",").to_ascii_lowercase();
    let directives: Vec<&str> = directives.split(',').map(str::trim).collect();
    if directives.contains(&"no-cache") || directives.contains(&"no-store") {
        return None;
    }
    let max_age =
        directives.iter().find_map(|one| one.strip_prefix("max-age")?.trim_start().strip_prefix('='));
    let whole = if let Some(max_age) = max_age {
        seconds(max_age.trim_matches(['"', ' ']))?
    } else {
        let date = text(headers, "date").and_then(|date| time(&date));
        time(&text(headers, "expires")?)? - date.unwrap_or(now)
    };
    let age = text(headers, "age").and_then(|age| seconds(&age));
    Some((whole - age.unwrap_or_default()).max(0))
}

/// A `Retry-After` is a number of seconds or a date. Returns milliseconds.
fn delay(text: &str, now: Timestamp) -> Option<i64> {
    seconds(text).or_else(|| Some((time(text)? - now).max(0)))
}

/// In milliseconds, rounded up.
fn seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number =
        !whole.is_empty() && (whole.to_owned() + fraction).bytes().all(|byte| byte.is_ascii_digit());
    let whole = is_number.then(|| whole.parse().unwrap_or(i64::MAX))?;
    let more = i64::from(fraction.bytes().any(|digit| digit != b'0'));
    Some(whole.saturating_add(more).saturating_mul(SECOND_MS))
}

/// Each form of a date of HTTP has a time of day.
fn time(text: &str) -> Option<Timestamp> {
    tidings_feeds::date(text).filter(|_| text.contains(':')).map(Timestamp::from_millis)
}
