//! The parsers of the server, for the fuzz targets: each reads bytes and panics if the result violates an invariant.
//! This module is not part of the public interface and needs the feature `fuzzing`.

use std::net::IpAddr;
use std::sync::OnceLock;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::{BasePath, Config, IpNet, Origin};
use crate::filter::coding::Accepted;
use crate::filter::fields::{Format, Given};
use crate::filter::reply::Refusal;
use crate::filter::{client, request};
use crate::route::{self, Table};
use crate::routes;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Fields {
    title: Option<String>,
    post: Option<String>,
    limit: Option<i64>,
    tag: Option<Vec<String>>,
}

fn check_round_trip(fields: Option<Fields>) -> bool {
    let Some(fields) = fields else { return false };
    let json = serde_json::to_vec(&fields).expect("texts and numbers");
    let again: Fields = read(Some(&JSON), &json).unwrap_or_else(|e| panic!("{e:?}: {fields:?}"));
    assert_eq!(again, fields);
    true
}

fn read<T: DeserializeOwned>(content_type: Option<&HeaderValue>, body: &[u8]) -> Result<T, Refusal> {
    let format = Format::of(content_type, body)?;
    Ok(Given::of("", Some((format, Bytes::copy_from_slice(body)))).read()?)
}

/// Reads the path of a request. A match has as many parameters as its template.
pub fn path(bytes: &[u8]) -> bool {
    static TABLE: OnceLock<Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        Table::new(routes::all(&tidings_core::config::Config::default(), &Config::default()))
    });
    let Ok(path) = str::from_utf8(bytes) else { return false };
    let Ok(found) = table.find(path) else { return false };
    let rest = path[1..].split_once('/').map_or("", |(_, rest)| rest);
    let segments = route::segments(rest);
    assert_eq!(segments.len(), found.template().matches('{').count(), "{path:?}");
    assert!(segments.iter().map(Vec::len).sum::<usize>() <= path.len(), "{path:?}");
    let _ = (found.route(&Method::GET), found.recorded(&Method::GET));
    true
}

/// Reads the parameters of a query string.
pub fn query(bytes: &[u8]) -> bool {
    check_round_trip(str::from_utf8(bytes).ok().and_then(|text| Given::of(text, None).read().ok()))
}

/// Reads the fields of a form.
pub fn form(bytes: &[u8]) -> bool {
    check_round_trip(read(Some(&FORM), bytes).ok())
}

/// Reads the fields of a JSON body.
pub fn json(bytes: &[u8]) -> bool {
    check_round_trip(read(Some(&JSON), bytes).ok())
}

/// Reads a body; the first line is its content type.
pub fn body(bytes: &[u8]) -> bool {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let content_type = HeaderValue::from_bytes(&bytes[..end]).ok();
    read::<Fields>(content_type.as_ref(), bytes.get(end + 1..).unwrap_or_default()).is_ok()
}

fn headers(name: &HeaderName, bytes: &[u8]) -> HeaderMap {
    let values = bytes.split(|byte| *byte == b'\n').filter_map(|line| HeaderValue::from_bytes(line).ok());
    values.map(|value| (name.clone(), value)).collect()
}

/// Reads `Authorization` headers. A token is a part of the header, of which there is only one.
pub fn authorization(bytes: &[u8]) -> bool {
    let headers = headers(&AUTHORIZATION, bytes);
    let token = request::token(&headers);
    let only = headers.iter().next().filter(|_| headers.len() == 1).map(|(_, value)| value.as_bytes());
    if let Some(token) = token.filter(|token| !token.is_empty()) {
        assert!(only.is_some_and(|value| value.windows(token.len()).any(|part| part == token.as_bytes())));
        assert_eq!(token, token.trim());
        return true;
    }
    false
}

/// Reads `X-Forwarded-For` headers, which count only from trusted proxies.
pub fn forwarded_for(bytes: &[u8]) -> bool {
    static TRUSTED: OnceLock<Vec<IpNet>> = OnceLock::new();
    let trusted =
        TRUSTED.get_or_init(|| ["10.0.0.0/8", "fd00::/8"].map(|net| net.parse().expect("a network")).into());
    let headers = headers(&HeaderName::from_static("x-forwarded-for"), bytes);
    let (proxy, stranger) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([203, 0, 113, 7]));
    assert_eq!(client::address(stranger, &headers, trusted), stranger);
    assert_eq!(client::address(proxy, &headers, &[]), proxy);
    let address = client::address(proxy, &headers, trusted);
    assert_eq!(address, address.to_canonical());
    address != proxy
}

/// Reads `Accept-Encoding` headers, in which upper and lower case are equal.
pub fn accept_encoding(bytes: &[u8]) -> bool {
    let accepted = Accepted::of(&headers(&ACCEPT_ENCODING, bytes));
    let upper = bytes.to_ascii_uppercase();
    assert_eq!(Accepted::of(&headers(&ACCEPT_ENCODING, &upper)), accepted);
    assert!(!accepted.brotli || upper.windows(2).any(|name| name == b"BR"));
    accepted.brotli || accepted.gzip
}

/// Reads settings, and checks that writing and reading them again changes nothing.
pub fn settings(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    let base = text.parse::<BasePath>();
    if let Ok(base) = &base {
        assert_eq!(base.as_str().parse::<BasePath>().as_ref(), Ok(base));
    }
    let origin = text.parse::<Origin>();
    if let Ok(origin) = &origin {
        let header = origin.header();
        let again = header.to_str().expect("an origin is ASCII").parse::<Origin>();
        assert_eq!(again.as_ref(), Ok(origin));
    }
    let network = text.parse::<IpNet>();
    if let Ok(network) = &network {
        assert_eq!(network.to_string().parse::<IpNet>().as_ref(), Ok(network));
    }
    base.is_ok() || origin.is_ok() || network.is_ok()
}
