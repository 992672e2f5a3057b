use super::*;
use crate::Tidings;
use crate::record::error::Error;

#[test]
fn a_database_is_not_opened_with_a_setting_that_breaks_a_rule() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("campus.db");
    let broken = |change: &dyn Fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        match Tidings::builder(&path).config(config).open().map(|_| ()) {
            Err(Error::InvalidSetting(invalid)) => invalid.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let key = |bytes: usize| Some(Secret(vec![7; bytes].into()));
    for (invalid, rule) in [
        (broken(&|config| config.pw_min = 129), "pw-min: must be from 1 to 128"),
        (broken(&|config| config.source_interval_min = 721), "source-interval-min: must be from 1 to 720"),
        (broken(&|config| config.token_days = 0), "token-days: must be from 1 to 4294967295"),
        (broken(&|config| config.token_key = key(31)), "token-key: the key has fewer than 32 bytes"),
        (broken(&|config| config.feed.exploration = f64::NAN), "exploration: must be from 0 to 1"),
        (
            broken(&|config| config.feed.popular_half_life_days = Some(f64::INFINITY)),
            "popular-half-life: must be from 0.001 to 100000",
        ),
        (broken(&|config| config.analysis.log_days = 0), "log-days: must be from 1 to 4294967295"),
        (broken(&|config| config.words.similar = 31), "similar-words: must be from 1 to 30"),
        (
            broken(&|config| config.verifier = Verifier::Http),
            "verifier: the http verifier needs a verifier-url",
        ),
    ] {
        assert_eq!(invalid, rule);
    }
    assert!(!path.exists(), "no file is created");
}

#[test]
fn passwords_go_unencrypted_to_this_machine_alone_unless_that_is_allowed() {
    let check = |url: &str, allow_plain_http: bool| {
        let http_verifier = HttpVerifier { url: url.into(), allow_plain_http, ..HttpVerifier::default() };
        Config { verifier: Verifier::Http, http_verifier, ..Config::default() }.check()
    };
    let here = "https://campus.example.org/verify http://127.0.0.1:1/ http://127.1.2.3/verify http://[::1]:8080/ \
        http://localhost/ http://LOCALHOST:1/";
    for url in here.split(' ') {
        assert_eq!(check(url, false), Ok(()), "{url}");
    }
    let elsewhere = "http://campus.example.org/verify HTTP://campus.example.org/ http://10.0.0.1/ http://[2001:db8::1]/ \
        http://localhost.example.org/ http://127.0.0.1.example.org/ http://127.0.0.1@campus.example.org/";
    for url in elsewhere.split(' ') {
        assert!(
            check(url, false).is_err_and(|invalid| invalid.settings.contains(&"verifier-allow-plain-http")),
            "{url}"
        );
        assert_eq!(check(url, true), Ok(()), "{url}");
    }
}
