//! Refuses requests without a path in their target, and requests with several `Host` headers.

use http::header::HOST;
use http::request::Parts;
use http::{HeaderValue, Method, Version};
use tidings_core::Error;
use tidings_core::error::{Code, Problem};

use crate::reply::{self, Refusal, Response, Scope};

/// The methods of all operations, for `Allow` in the response to `CONNECT`.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST");

/// Returns the refusal of a request without a path or with several hosts; `None` for every other request.
///
/// A target without a path is the authority form of `CONNECT`, which HTTP/1 clients can send with any method.
///
/// Source: RFC 9112 sections 3.2 (a second `Host` is answered 400) and 3.2.3.
pub(crate) fn refuse(head: &Parts) -> Option<Response> {
    let refusal = if head.method == Method::CONNECT {
        Refusal::MethodNotAllowed(METHODS)
    } else if head.uri.path_and_query().is_none() {
        Error::BadRequest(Problem::new(Code::MalformedRequest, "a request target has a path")).into()
    } else if head.headers.get_all(HOST).iter().nth(1).is_some() {
        Error::BadRequest(Problem::new(Code::MalformedRequest, "a request has one Host")).into()
    } else {
        return None;
    };
    Some(reply::respond(Err(refusal), "", Scope::default()))
}

/// Sets `Host` from the target of a request of HTTP/2, which has the host there.
///
/// Source: RFC 9113 section 8.3.1.
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
    use crate::testing::{outcome, request, service, with};

    #[tokio::test]
    async fn a_target_without_a_path_is_refused_in_json() {
        let service = service();
        for (method, target, expected) in [
            ("CONNECT", "example.org:80", "405 method not allowed"),
            ("CONNECT", "/healthz", "405 method not allowed"),
            ("GET", "example.org:80", "400 bad request"),
            ("OPTIONS", "example.org:80", "400 bad request"),
            ("OPTIONS", "*", "404 Not found"),
            ("GET", "http://example.org/healthz", "200 success"),
        ] {
            let response = service.call(request(method, target)).await;
            assert_eq!(outcome(&response), expected, "{method} {target}");
        }
        assert_eq!(service.call(request("GET", "http://example.org")).await.status(), 200, "the path is /");
    }

    #[tokio::test]
    async fn a_request_with_two_hosts_is_refused() {
        let service = service();
        let one = with(request("GET", "/healthz"), "host", "a.example");
        assert_eq!(outcome(&service.call(one.clone()).await), "200 success");
        assert_eq!(outcome(&service.call(with(one, "host", "a.example")).await), "400 bad request");
    }
}
