//! Tests of TLS connections, with servers that have the certificates of PostgreSQL's own documentation.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;
use std::{fs, os::unix::fs::MetadataExt as _};

use tidings_cluster::{Cluster, is_installed};

use super::super::connect::Connector;
use super::super::server::Server;
use crate::StoreError;
use crate::location::Location;

/// Runs `openssl` in a folder, once for each line.
fn openssl(folder: &Path, lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let run = Command::new("openssl").args(line.split(' ')).current_dir(folder).output().unwrap();
        assert!(run.status.success(), "openssl {line}: {}", String::from_utf8_lossy(&run.stderr));
    }
}

/// Restarts the server with the certificate and key in a folder, and with this version of TLS at most.
fn serve(cluster: &Cluster, folder: &Path, version: &str) {
    cluster.query(&format!("ALTER SYSTEM SET ssl_max_protocol_version = '{version}'"), &[]);
    let owner = fs::metadata(cluster.data()).unwrap();
    for (file, mode) in [("server.crt", 0o644), ("server.key", 0o600)] {
        let to = cluster.data().join(file);
        fs::copy(folder.join(file), &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(mode)).unwrap();
        chown(&to, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    cluster.query("ALTER SYSTEM SET ssl = on", &[]);
    cluster.stop();
    cluster.start();
}

/// Connects with these parameters, and returns whether the connection is encrypted.
fn connect(cluster: &Cluster, host: &str, parameters: &str) -> Result<bool, String> {
    let port = cluster.address().port();
    let url = format!("postgres://postgres:secret@{host}:{port}/postgres?{parameters}");
    let Location::Postgres(url) = Location::from(url) else { panic!("a path") };
    let connect = || {
        let server = Server::new(Connector::new(&url)?);
        let mut session = server.connect()?;
        let mut is_encrypted = false;
        session.for_each("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", &[], &mut |row| {
            is_encrypted = row.take(0)?;
            Ok(())
        })?;
        Ok(is_encrypted)
    };
    connect().map_err(|error: StoreError| error.to_string())
}

fn cluster() -> Option<Cluster> {
    is_installed("TLS").then(|| Cluster::builder().tcp("secret").fast().start().expect("it is installed"))
}

/// Returns the lines that make a key of a kind for the server.
fn key(kind: &str) -> String {
    format!("genpkey -algorithm {kind} -out server.key\n")
}

const RSA: &str = "RSA -pkeyopt rsa_keygen_bits:2048";
/// Makes a certificate that is no authority.
const OF_SERVER: &str = "req -new -x509 -key server.key -subj /CN=x -days 30 -out server.crt \
                         -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:localhost";

#[test]
fn a_self_signed_certificate_is_accepted_and_can_be_its_own_root() {
    let Some(cluster) = cluster() else { return };
    let folder = cluster.working_folder();
    let root = folder.join("server.crt");
    openssl(
        &folder,
        "req -x509 -newkey ed25519 -nodes -keyout other.key -subj /CN=localhost -days 30 -out other.crt",
    );
    let other = folder.join("other.crt");
    for (kind, version) in
        [(RSA, "TLSv1.2"), ("ED25519", "TLSv1.2"), ("EC -pkeyopt ec_paramgen_curve:P-256", "TLSv1.3")]
    {
        openssl(&folder, &format!("{}{OF_SERVER}", key(kind)));
        serve(&cluster, &folder, version);
        for mode in ["prefer", "require"] {
            assert_eq!(connect(&cluster, "localhost", &format!("sslmode={mode}")), Ok(true), "{kind} {mode}");
        }
        let with = |mode: &str, host: &str, root: &Path| {
            connect(&cluster, host, &format!("sslmode={mode}&sslrootcert={}", root.display()))
        };
        assert_eq!(with("verify-full", "localhost", &root), Ok(true), "{kind} {version}");
        assert_eq!(with("verify-ca", "127.0.0.1", &root), Ok(true));
        let refused = with("verify-full", "127.0.0.1", &root).unwrap_err();
        assert!(refused.contains("not valid for name"), "{refused}");
        for mode in ["require", "verify-ca", "verify-full"] {
            let refused = with(mode, "localhost", &other).unwrap_err();
            assert!(refused.contains("no secure connection"), "{refused}");
        }
    }
}

#[test]
fn a_certificate_that_rustls_refuses_comes_with_advice() {
    let Some(cluster) = cluster() else { return };
    let folder = cluster.working_folder();
    let version_1 = "req -new -key server.key -subj /CN=localhost -out server.csr
                     x509 -req -in server.csr -signkey server.key -days 30 -out server.crt";
    for version in ["TLSv1.2", "TLSv1.3"] {
        openssl(&folder, &format!("{}{version_1}", key(RSA)));
        serve(&cluster, &folder, version);
        for mode in ["prefer", "require", "verify-full"] {
            let refused = connect(&cluster, "localhost", &format!("sslmode={mode}")).unwrap_err();
            assert!(refused.contains("X.509 version 1"), "{version} {mode}: {refused}");
        }
    }
    let authority = "req -new -x509 -key server.key -subj /CN=localhost -days 30 -out server.crt";
    openssl(&folder, &format!("{}{authority}", key(RSA)));
    serve(&cluster, &folder, "TLSv1.3");
    assert_eq!(connect(&cluster, "localhost", "sslmode=require"), Ok(true));
    let root = folder.join("server.crt");
    let verified =
        connect(&cluster, "localhost", &format!("sslmode=verify-ca&sslrootcert={}", root.display()));
    let refused = verified.unwrap_err();
    assert!(refused.contains("basicConstraints=critical,CA:FALSE"), "{refused}");
}

#[test]
fn a_chain_as_in_the_documentation_of_postgresql_is_accepted() {
    let Some(cluster) = cluster() else { return };
    let folder = cluster.working_folder();
    fs::write(
        folder.join("v3_ca"),
        "basicConstraints = critical, CA:true\nkeyUsage = keyCertSign, cRLSign\n",
    )
    .unwrap();
    fs::write(folder.join("names"), "subjectAltName = DNS:localhost\n").unwrap();
    openssl(
        &folder,
        "req -new -nodes -newkey rsa:2048 -keyout root.key -subj /CN=root.example.org -out root.csr
         x509 -req -in root.csr -days 30 -extfile v3_ca -signkey root.key -out root.crt
         req -new -nodes -newkey rsa:2048 -keyout middle.key -subj /CN=middle.example.org -out middle.csr
         x509 -req -in middle.csr -days 30 -extfile v3_ca -CA root.crt -CAkey root.key -CAcreateserial -out middle.crt
         req -new -nodes -newkey rsa:2048 -keyout server.key -subj /CN=localhost -out server.csr
         x509 -req -in server.csr -days 30 -extfile names -CA middle.crt -CAkey middle.key -CAcreateserial -out leaf.crt",
    );
    let certificates = ["leaf.crt", "middle.crt"].map(|file| fs::read_to_string(folder.join(file)).unwrap());
    fs::write(folder.join("server.crt"), certificates.concat()).unwrap();
    serve(&cluster, &folder, "TLSv1.3");
    let root = folder.join("root.crt");
    for (host, mode, is_accepted) in [
        ("localhost", "verify-full", true),
        ("127.0.0.1", "verify-ca", true),
        ("127.0.0.1", "verify-full", false),
    ] {
        let connected = connect(&cluster, host, &format!("sslmode={mode}&sslrootcert={}", root.display()));
        assert_eq!(connected.is_ok(), is_accepted, "{host} {mode} {connected:?}");
    }
}
