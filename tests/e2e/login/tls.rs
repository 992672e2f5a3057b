//! Servers behind TLS.

use tidings_tests::{PASSWORD, Server, TlsProxy, run};

use super::{Home, assert_refused};

#[test]
fn a_certificate_is_trusted_through_its_authority_only() {
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
}
