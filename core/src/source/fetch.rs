//! Fetches feeds and pages over HTTP, within bounds of time and size.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;
use ureq::http::{HeaderMap, Response, StatusCode, header};
use url::Url;

use crate::base::clock::{SECOND_MS, Timestamp};
use crate::record::error::Result;
use crate::record::outgoing;

/// The time limit of a fetch with its redirections, from the first byte sent to the last one received.
const WHOLE: Duration = if cfg!(test) { Duration::from_secs(1) } else { Duration::from_secs(30) };
/// The time limit of each step of it.
const STEP: Duration = Duration::from_secs(15);
/// The maximum size of a feed in bytes, when it is no longer compressed.
pub const BODY_MAX: usize = 16 << 20;
/// The maximum number of redirections.
const REDIRECTS_MAX: usize = 5;
/// The bytes that a decoder of Brotli reads at a time.
const BROTLI_BUFFER: usize = 4 << 10;
/// The maximum length of an entity tag or of a date of a change, in bytes.
const VALIDATOR_MAX: usize = 500;
/// The media types that are asked for. Some servers answer nothing else than what they are asked for.
const ACCEPT: &str = "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, \
                      application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, text/html;q=0.5, */*;q=0.3";

/// The validators of the last content: they ask for it only if it has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Validators {
    pub(super) etag: Option<String>,
    pub(super) modified: Option<String>,
}

/// The answer of a server.
#[derive(Debug)]
pub(super) enum Answer {
    /// The content is the known one.
    NotModified(About),
    /// Another content.
    Content { bytes: Vec<u8>, charset: Option<String>, validators: Validators, about: About },
    /// There is no such feed any more.
    Gone,
}

/// The headers of an answer that matter.
#[derive(Debug)]
pub(super) struct About {
    /// The address that answered.
    pub(super) address: Url,
    /// Whether the feed has moved there permanently.
    pub(super) has_moved: bool,
    /// The milliseconds for which the answer stays good.
    pub(super) fresh: Option<i64>,
    /// The hub of the feed, and the address of the feed itself, if links in the headers name them.
    pub(super) links: Links,
}

/// The links of a feed that matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    pub(super) hub: Option<Url>,
    pub(super) own: Option<Url>,
}

/// Why a fetch failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The reason, for people.
    pub(super) reason: String,
    /// The milliseconds for which the server wants to be left alone.
    pub(super) retry_after: Option<i64>,
}

impl Failure {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), retry_after: None }
    }
}

/// Fetches over HTTP.
pub(super) struct Http(ureq::Agent);

impl Http {
    /// `ca` is a file with further certificates that are trusted.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`](crate::Error::InvalidSetting) when the file cannot be used.
    pub(super) fn new(allows_private: bool, ca: Option<&Path>) -> Result<Self> {
        let config = ureq::Agent::config_builder()
            .timeout_resolve(Some(STEP))
            .timeout_connect(Some(STEP))
            .timeout_send_request(Some(STEP))
            .timeout_recv_response(Some(STEP))
            .timeout_recv_body(Some(WHOLE))
            .user_agent(concat!("tidings/", env!("CARGO_PKG_VERSION"), " (feed reader)"));
        Ok(Self(outgoing::agent(config, allows_private, ca, "source-ca")?))
    }

    /// Fetches `url` unless its content is that of `known`.
    pub(super) fn get(&self, url: &Url, known: &Validators, now: Timestamp) -> Result<Answer, Failure> {
        let (mut address, mut has_moved) = (url.clone(), true);
        let end = Instant::now() + WHOLE;
        for hop in 0..=REDIRECTS_MAX {
            let response = self.ask(&address, known, end)?;
            let status = response.status();
            let is_redirection = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
            if status == StatusCode::GONE && !has_moved {
                // Only the source itself can say that it has ended, and not where it is redirected to for now.
                return Err(Failure::new("status 410"));
            }
            if !is_redirection {
                has_moved &= hop > 0;
                return answer(
                    response,
                    About { fresh: None, address, has_moved, links: Links::default() },
                    now,
                );
            }
            has_moved &= matches!(status.as_u16(), 301 | 308);
            address = redirected(&address, response.headers())?;
        }
        Err(Failure::new("it redirects too often"))
    }

    /// Sends a form to `url`, and follows redirections that keep the method.
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

    fn ask(&self, address: &Url, known: &Validators, end: Instant) -> Result<Response<ureq::Body>, Failure> {
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
        request.call().map_err(|error| Failure::new(outgoing::reason(&error)))
    }
}

fn left(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now())
}

/// Returns the address to which an answer redirects.
fn redirected(from: &Url, headers: &HeaderMap) -> Result<Url, Failure> {
    let location = text(headers, header::LOCATION.as_str());
    let to = location.and_then(|location| from.join(&location).ok());
    let to = to.and_then(|to| outgoing::parse(to.as_str()));
    let mut to = to.ok_or_else(|| Failure::new("it redirects to no address of the web"))?;
    to.set_fragment(None);
    Ok(to)
}

/// Reads the answer that is no redirection.
fn answer(response: Response<ureq::Body>, about: About, now: Timestamp) -> Result<Answer, Failure> {
    let headers = response.headers();
    let about = About { fresh: fresh(headers), links: links(headers, &about.address), ..about };
    match response.status() {
        StatusCode::NOT_MODIFIED => Ok(Answer::NotModified(about)),
        StatusCode::GONE => Ok(Answer::Gone),
        status if status.is_success() => {
            let short = |name: &str| text(headers, name).filter(|text| text.len() <= VALIDATOR_MAX);
            let validators = Validators { etag: short("etag"), modified: short("last-modified") };
            let (charset, coding) = (charset(headers), text(headers, header::CONTENT_ENCODING.as_str()));
            let bytes = body(response.into_body().into_reader(), coding.as_deref())?;
            Ok(Answer::Content { bytes, charset, validators, about })
        }
        status => {
            let retry_after = text(headers, header::RETRY_AFTER.as_str()).and_then(|text| delay(&text, now));
            Err(Failure { reason: format!("status {}", status.as_u16()), retry_after })
        }
    }
}

/// Reads a body, which may be compressed.
fn body(reader: impl Read, coding: Option<&str>) -> Result<Vec<u8>, Failure> {
    let coding = coding.unwrap_or_default().to_ascii_lowercase();
    let mut reader: Box<dyn Read> = match &*coding {
        "gzip" | "x-gzip" => Box::new(MultiGzDecoder::new(reader)),
        "br" => Box::new(brotli::Decompressor::new(reader, BROTLI_BUFFER)),
        "" | "identity" => Box::new(reader),
        _ => return Err(Failure::new("it is compressed in a way that was not asked for")),
    };
    let mut bytes = Vec::new();
    let read = reader.by_ref().take(BODY_MAX as u64 + 1).read_to_end(&mut bytes);
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

/// Returns the links of the header `Link`, which is `<address>; rel="relations"`, and more after commas.
///
/// Source: RFC 8288 section 3.
fn links(headers: &HeaderMap, address: &Url) -> Links {
    let mut links = Links::default();
    let values = headers.get_all(header::LINK).into_iter().filter_map(|value| value.to_str().ok());
    // The first part is what is before the first address.
    for link in values.flat_map(|value| value.split('<').skip(1)) {
        let Some((target, parameters)) = link.split_once('>') else { continue };
        let Ok(target) = address.join(target) else { continue };
        let relations = parameters.split([';', ',']).find_map(|one| one.trim().strip_prefix("rel="));
        for relation in relations.unwrap_or_default().trim_matches('"').split_ascii_whitespace() {
            match &*relation.to_ascii_lowercase() {
                "hub" => links.hub = links.hub.take().or_else(|| Some(target.clone())),
                "self" => links.own = links.own.take().or_else(|| Some(target.clone())),
                _ => {}
            }
        }
    }
    links
}

/// Returns the charset of the media type.
fn charset(headers: &HeaderMap) -> Option<String> {
    let media_type = text(headers, header::CONTENT_TYPE.as_str())?;
    let named = |part: &str| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
    };
    media_type.split(';').skip(1).find_map(named)
}

/// Returns the milliseconds for which an answer stays good: its `max-age`.
fn fresh(headers: &HeaderMap) -> Option<i64> {
    let control = text(headers, header::CACHE_CONTROL.as_str())?.to_ascii_lowercase();
    let seconds = control.split(',').find_map(|part| part.trim().strip_prefix("max-age="))?;
    Some(seconds.trim_matches('"').parse::<i64>().ok()?.max(0).saturating_mul(SECOND_MS))
}

/// Returns the milliseconds of a `Retry-After`, which is a number of seconds or a date.
fn delay(text: &str, now: Timestamp) -> Option<i64> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(i64::from(seconds) * SECOND_MS);
    }
    let at = jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()?;
    Some((Timestamp::from_millis(at.as_millisecond()) - now).max(0))
}
