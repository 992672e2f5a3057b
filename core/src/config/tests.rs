//! Which settings make sense.

use super::*;

#[test]
fn passwords_go_unencrypted_to_this_machine_alone_unless_that_is_allowed() {
    let check = |url: &str, allow_plain_http: bool| {
        let timeout = Duration::from_secs(5);
        Verifier::Http { url: url.into(), allow_plain_http, timeout, school_ids: None }.check()
    };
    for url in [
        "https://campus.example.org/verify",
        "http://127.0.0.1:1/",
        "http://127.1.2.3/verify",
        "http://[::1]:8080/",
        "http://localhost/",
        "http://LOCALHOST:1/",
    ] {
        assert_eq!(check(url, false), Ok(()), "{url}");
    }
    for url in [
        "http://campus.example.org/verify",
        "HTTP://campus.example.org/",
        "http://10.0.0.1/",
        "http://[2001:db8::1]/",
        "http://localhost.example.org/",
        "http://127.0.0.1.example.org/",
        "http://127.0.0.1@campus.example.org/",
    ] {
        assert!(check(url, false).is_err_and(|wrong| wrong.contains("verifier-allow-plain-http")), "{url}");
        assert_eq!(check(url, true), Ok(()), "{url}");
    }
}
