//! Tests of the checks of certificates, which openssl makes. Connections are tested with PostgreSQL.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::*;

/// Makes certificates in a folder.
///
/// - `root` and `middle` may issue others, `false` is an end entity, `old` has version 1.
/// - A certificate of a server is named after its issuer, `self` is its own.
fn certificates(folder: &Path) {
    let openssl = |line: &str| {
        let run = Command::new("openssl").args(line.split(' ')).current_dir(folder).output().unwrap();
        assert!(run.status.success(), "openssl {line}: {}", String::from_utf8_lossy(&run.stderr));
    };
    let extensions = [
        ("authority", "basicConstraints = critical, CA:true\nkeyUsage = keyCertSign\n"),
        ("short", "basicConstraints = critical, CA:true, pathlen:0\n"),
        ("entity", "basicConstraints = CA:false\n"),
        ("constrained", "basicConstraints = CA:true\nnameConstraints = permitted;DNS:b.example\n"),
        ("client", "basicConstraints = CA:true\nextendedKeyUsage = clientAuth\n"),
        ("other", "subjectAltName = DNS:other.example\nbasicConstraints = CA:true\n"),
        ("names", "subjectAltName = DNS:a.example, IP:10.0.0.1\nbasicConstraints = CA:true\n"),
    ];
    for (name, text) in extensions {
        fs::write(folder.join(name), text).unwrap();
    }
    let issue = |file: &str, subject: &str, issuer: Option<&str>, extensions: Option<&str>| {
        openssl(&format!(
            "req -new -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -keyout {file}.key -subj /CN={subject} -out csr"
        ));
        let issuer = issuer.map_or_else(
            || format!("-signkey {file}.key"),
            |issuer| format!("-CA {issuer}.pem -CAkey {issuer}.key -CAcreateserial"),
        );
        let extensions = extensions.map_or_else(String::new, |extensions| format!(" -extfile {extensions}"));
        openssl(&format!("x509 -req -in csr -days 30 {issuer} -out {file}.pem{extensions}"));
    };
    issue("root", "root", None, Some("authority"));
    issue("old", "old", None, None);
    issue("short", "short", None, Some("short"));
    issue("entity", "entity", None, Some("entity"));
    for (file, extensions) in
        [("middle", "authority"), ("constrained", "constrained"), ("client", "client"), ("end", "entity")]
    {
        issue(file, file, Some("root"), Some(extensions));
    }
    issue("middle_old", "middle_old", Some("root"), None);
    issue("middle_short", "middle_short", Some("short"), Some("authority"));
    for issuer in [
        "root",
        "old",
        "short",
        "entity",
        "middle",
        "constrained",
        "client",
        "end",
        "middle_old",
        "middle_short",
    ] {
        issue(&format!("by_{issuer}"), "a.example", Some(issuer), None);
    }
    issue("self", "a.example", None, None);
    issue("wild", "*.example.org", None, None);
    issue("address", "10.0.0.1", None, None);
    issue("other_names", "a.example", None, Some("other"));
    issue("names", "b.example", None, Some("names"));
    issue("by_authority", "a.example", Some("root"), Some("authority"));
}

#[test]
fn a_certificate_of_version_1_needs_a_trusted_issuer_the_time_and_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    certificates(folder);
    let read = |file: &str| CertificateDer::from_pem_file(folder.join(format!("{file}.pem"))).unwrap();
    let now = Duration::from_secs(UnixTime::now().as_secs());
    let check_at = |roots: &str, shown: &[&str], name: &str, now: Duration| {
        let verifier = Authorities::in_file(&folder.join(format!("{roots}.pem"))).unwrap();
        let shown: Vec<_> = shown.iter().map(|file| read(file)).collect();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let checked =
            verifier.verify_server_cert(&shown[0], &shown[1..], &name, &[], UnixTime::since_unix_epoch(now));
        checked.map(drop).map_err(|error| error.to_string())
    };
    let check = |roots: &str, shown: &[&str], name: &str| check_at(roots, shown, name, now);
    let accepted: [(&str, &[&str], &str); 13] = [
        ("root", &["by_root"], "a.example"),
        ("root", &["by_root"], "A.Example"),
        ("root", &["by_middle", "middle"], "a.example"),
        ("middle", &["by_middle"], "a.example"),
        ("old", &["by_old"], "a.example"),
        ("short", &["by_short"], "a.example"),
        ("self", &["self"], "a.example"),
        ("self", &["self", "root"], "a.example"),
        ("wild", &["wild"], "db.example.org"),
        ("address", &["address"], "10.0.0.1"),
        ("names", &["names"], "a.example"),
        ("names", &["names"], "10.0.0.1"),
        ("root", &["by_authority"], "a.example"),
    ];
    for (roots, shown, name) in accepted {
        assert_eq!(check(roots, shown, name), Ok(()), "{roots} {shown:?} {name}");
    }
    let refused: [(&str, &[&str], &str); 18] = [
        ("root", &["by_old"], "a.example"),
        ("root", &["by_middle"], "a.example"),
        ("root", &["self"], "a.example"),
        ("old", &["self"], "a.example"),
        ("entity", &["by_entity"], "a.example"),
        ("root", &["by_end", "end"], "a.example"),
        ("root", &["by_middle_old", "middle_old"], "a.example"),
        ("root", &["by_constrained", "constrained"], "a.example"),
        ("root", &["by_client", "client"], "a.example"),
        ("short", &["by_middle_short", "middle_short"], "a.example"),
        ("self", &["self"], "b.example"),
        ("self", &["self"], "a.example.org"),
        ("wild", &["wild"], "example.org"),
        ("wild", &["wild"], "a.db.example.org"),
        ("address", &["address"], "10.0.0.2"),
        ("other_names", &["other_names"], "a.example"),
        ("names", &["names"], "b.example"),
        ("names", &["names"], "10.0.0.2"),
    ];
    for (roots, shown, name) in refused {
        assert!(check(roots, shown, name).is_err(), "{roots} {shown:?} {name}");
    }
    let year = Duration::from_secs(365 * 86_400);
    for (roots, shown) in [("self", "self"), ("root", "by_root")] {
        assert!(check_at(roots, &[shown], "a.example", now + year).unwrap_err().contains("Expired"));
        assert!(
            check_at(roots, &[shown], "a.example", now.checked_sub(year).unwrap())
                .unwrap_err()
                .contains("NotValidYet")
        );
    }
}

#[test]
fn a_file_without_certificates_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (content, why) in [(None, "cannot be read"), (Some(""), "has no certificate")] {
        let file = folder.path().join("authorities.pem");
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        let error = Authorities::in_file(&file).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("authorities.pem"), "{error}");
    }
}
