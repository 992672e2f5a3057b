//! Servers behind TLS.

use tidings_tests::{PASSWORD, Server, TlsProxy, run};

use super::{Home, assert_refused};

#[test]
fn a_self_signed_certificate_is_accepted_only_by_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let make = |name: &str, host: &str, more: &[&str]| {
        let (key, certificate) = (format!("{name}.key"), format!("{name}.pem"));
        let mut openssl = std::process::Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=tidings"]);
        openssl.args(["-addext", &format!("subjectAltName=DNS:{host}")]).args(more);
        openssl.args(["-keyout", &key, "-out", &certificate]).current_dir(&directory);
        assert!(openssl.output().unwrap().status.success());
        directory.path().join(certificate)
    };
    let of_server = ["-addext", "basicConstraints=critical,CA:FALSE"];
    let certificate = make("server", "localhost", &of_server);
    let other = make("other", "localhost", &of_server);
    let elsewhere = make("elsewhere", "elsewhere.example", &of_server);
    let authority = make("authority", "localhost", &[]);
    let started = |certificate: &std::path::Path| {
        let (certificate, key) = (certificate.to_owned(), certificate.with_extension("key"));
        Server::with(move |serve| {
            serve.arg("--tls-cert").arg(&certificate).arg("--tls-key").arg(&key);
        })
    };
    let server = started(&certificate);
    let init = server.cli_with_input(["init", "--admin", "admin", "--password-stdin"], PASSWORD);
    let _ = init.succeeded();
    let (home, url) = (Home::new(), format!("https://localhost:{}", server.address().port()));
    let refused = home.login(&url, &["admin"]);
    assert_refused(&refused, 3, "the certificate is not trusted");
    assert_refused(&refused, 3, "--tls-ca FILE");
    let with = |file: &std::path::Path| home.login(&url, &["admin", "--tls-ca", file.to_str().unwrap()]);
    assert_refused(&with(&other), 3, "the certificate is not");
    assert_refused(&with(&directory.path().join("missing.pem")), 3, "cannot be read");
    let _ = with(&certificate).succeeded();
    // Later commands find it in the profile, from any directory.
    let list = home.run(["--server", &url, "member", "list", "--json"]).succeeded();
    assert_eq!(list.json()["members"][0]["user_id"], "admin");
    assert!(home.read("profiles.toml").contains("tls_ca = "), "{}", home.read("profiles.toml"));
    // The name is checked.
    let named = started(&elsewhere);
    let url = format!("https://localhost:{}", named.address().port());
    let refused = home.login(&url, &["admin", "--tls-ca", elsewhere.to_str().unwrap()]);
    assert_refused(&refused, 3, "the certificate is not valid");
    // The certificate of an authority comes with advice.
    let named = started(&authority);
    let url = format!("https://localhost:{}", named.address().port());
    let refused = home.login(&url, &["admin", "--tls-ca", authority.to_str().unwrap()]);
    assert_refused(&refused, 3, "-addext basicConstraints=critical,CA:FALSE");
    let _ = home.run(["logout", "--all"]).succeeded();
}

#[test]
fn a_certificate_is_trusted_through_its_authority_only_and_a_wrong_scheme_is_recognised() {
    let (server, home) = (Server::start(), Home::new());
    let _ = server.admin();
    let (proxy, other) = (TlsProxy::before(server.address()), TlsProxy::before(server.address()));
    let url = proxy.url();
    let with = |args: &[&str], authority: Option<&TlsProxy>| {
        let mut command = home.command([&["--server", &*url], args].concat());
        command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
        command.envs(authority.map(|proxy| ("SSL_CERT_FILE", proxy.authority())));
        run(command, PASSWORD)
    };
    let login = ["login", "admin", "--password-stdin"];
    for authority in [None, Some(&other)] {
        let refused = with(&login, authority);
        assert_refused(&refused, 3, "the certificate is not trusted");
        assert_refused(&refused, 3, "SSL_CERT_FILE");
    }
    let signed_in = with(&login, Some(&proxy)).succeeded().stdout;
    assert!(
        signed_in.starts_with(&format!("admin is signed in at {url} as an administrator.")),
        "{signed_in}"
    );
    let _ = with(&["member", "list"], Some(&proxy)).succeeded();
    assert_refused(&with(&["member", "list"], None), 3, "the certificate is not trusted");
    // An address with the wrong scheme is recognised.
    let home = Home::new();
    assert_refused(&home.login(&url.replace("https://", "http://"), &["admin"]), 3, "write https://");
    assert_refused(&home.login(&format!("https://{}", server.address()), &["admin"]), 3, "write http://");
}
