//! Tests with certificates that openssl makes. Connections are tested with PostgreSQL.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::ring;
use rustls::pki_types::{ServerName, UnixTime};

use super::*;

#[test]
fn a_trusted_certificate_is_accepted_or_comes_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let openssl = |line: &str| {
        let run = Command::new("openssl").args(line.split(' ')).current_dir(&folder).output().unwrap();
        assert!(run.status.success(), "openssl {line}: {}", String::from_utf8_lossy(&run.stderr));
    };
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -subj /CN=a.example";
    openssl(&format!("req -new {new} -out csr"));
    openssl("x509 -req -in csr -signkey key -days 9 -out version_1.pem");
    fs::write(folder.path().join("names"), "subjectAltName=DNS:a.example").unwrap();
    openssl("x509 -req -in csr -signkey key -days 9 -extfile names -out version_3.pem");
    openssl(&format!("req -x509 {new} -days 9 -out authority.pem"));
    let server = "-addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:a.example";
    openssl(&format!("req -x509 {new} -days 9 {server} -out server.pem"));
    let name = ServerName::try_from("a.example").unwrap();
    for (file, advised) in [
        ("version_1", Some(VERSION_1)),
        ("authority", Some(AUTHORITY)),
        ("version_3", None),
        ("server", None),
    ] {
        let Authorities(certificates) =
            Authorities::in_file(&folder.path().join(format!("{file}.pem"))).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.clone());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::new(ring::default_provider()));
        let verifier = verifier.build().unwrap();
        let checked = verifier.verify_server_cert(&certificates[0], &[], &name, &[], UnixTime::now());
        assert_eq!(checked.as_ref().err().and_then(advice), advised, "{file}: {checked:?}");
        assert_eq!(checked.is_ok(), advised.is_none(), "{file}");
    }
}

#[test]
fn a_file_without_certificates_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let invalid = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (content, why) in [
        (None, "cannot be read"),
        (Some(""), "has no certificate"),
        (Some(invalid), "has an invalid certificate"),
    ] {
        let file = folder.path().join("authorities.pem");
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        let error = Authorities::in_file(&file).err().unwrap().to_string();
        assert!(error.contains(why) && error.contains("authorities.pem"), "{error}");
    }
}
