//! Refuses requests whose target or `Host` is malformed, and brings paths into their normal form.

use std::borrow::Cow;

use http::header::HOST;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderValue, Method, Uri, Version};
use percent_encoding::percent_decode_str;
use tidings_core::Error;
use tidings_core::error::{Code, Problem};

use crate::filter::reply::{self, Refusal, Response, Scope};

/// For `Allow` in the response to `CONNECT`.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST");

/// Refuses a request without a path, with several hosts or with an invalid one. A target without a path is the authority form of
/// `CONNECT`, which HTTP/1 clients can send with any method.
/// Source: RFC 9112 sections 3.2 (a second `Host` and an invalid one are answered 400) and 3.2.3.
pub(crate) fn refuse(head: &Parts) -> Option<Response> {
    let refusal = if head.method == Method::CONNECT {
        Refusal::MethodNotAllowed(METHODS)
    } else if head.uri.path_and_query().is_none() {
        malformed("a request target has a path").into()
    } else if head.headers.get_all(HOST).iter().nth(1).is_some() {
        malformed("a request has one Host").into()
    } else if head.headers.get(HOST).is_some_and(|host| !is_host(host)) {
        malformed("Host is a name or an address, and a port").into()
    } else {
        return None;
    };
    Some(reply::respond(Err(refusal), "", Scope::default()))
}

/// Empty if the target of the request has no host.
fn is_host(host: &HeaderValue) -> bool {
    let authority = |host: &str| host.parse::<Authority>().is_ok_and(|host| !host.as_str().contains('@'));
    host.is_empty() || host.to_str().is_ok_and(authority)
}

/// Programs that mount the service may leave `Host` out. Source: RFC 9112 section 3.2.
pub(crate) fn refuse_without_host(head: &Parts) -> Option<Response> {
    let lacks_host = head.version == Version::HTTP_11 && !head.headers.contains_key(HOST);
    lacks_host.then(|| reply::respond(Err(malformed("a request has a Host").into()), "", Scope::default()))
}

fn malformed(rule: &'static str) -> Error {
    Error::BadRequest(Problem::new(Code::MalformedRequest, rule))
}

/// Decodes escapes of unreserved characters, so that two spellings of the same path are equal. Fails if a `%` is not followed by
/// two hexadecimal digits. Source: RFC 3986 sections 2.1, 2.3 and 6.2.2.2.
pub(crate) fn normal_path(path: &str) -> Result<Cow<'_, str>, Error> {
    let Some((begin, _)) = path.split_once('%') else { return Ok(path.into()) };
    let mut normal = String::with_capacity(path.len());
    normal.push_str(begin);
    for part in path[begin.len() + 1..].split('%') {
        let is_escape = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let Some((digits, rest)) = part.split_at_checked(2).filter(|(digits, _)| is_escape(digits)) else {
            return Err(malformed("in a path, two hexadecimal digits follow each %"));
        };
        let escape = format!("%{digits}");
        match percent_decode_str(&escape).next() {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => normal.push(byte.into()),
            _ => normal.push_str(&escape),
        }
        normal.push_str(rest);
    }
    Ok(normal.into())
}

/// `path` is the normal form of that in `uri` below the base path. The query is that of `uri`.
pub(crate) fn within(uri: &Uri, path: &str) -> Uri {
    if uri.path() == path {
        return uri.clone();
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{path}{query}").parse().expect("a part of a path is a path")
}

/// A request of HTTP/2 has the host in its target. Source: RFC 9113 section 8.3.1.
pub(crate) fn set_host(head: &mut Parts) {
    if head.version == Version::HTTP_2
        && !head.headers.contains_key(HOST)
        && let Some(authority) = head.uri.authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        head.headers.insert(HOST, host);
    }
}

#[cfg(test)]
mod tests {
    use super::normal_path;

    #[test]
    fn only_unreserved_characters_lose_their_escapes() {
        for (path, normal) in [
            ("/get%5fall%5Fnotice", "/get_all_notice"),
            ("/%2e%2E/%7e%2d%41%7A%30", "/../~-Az0"),
            ("/a%2Fb%00%ff%EA%B0%80%25", "/a%2Fb%00%ff%EA%B0%80%25"),
            ("/%2541", "/%2541"),
        ] {
            assert_eq!(normal_path(path).unwrap(), normal);
        }
        for path in ["/%zz", "/%", "/a%4", "/%EA%B0%80%", "/%%41", "/%+1", "/%4가"] {
            assert!(normal_path(path).is_err(), "{path}");
        }
    }
}
