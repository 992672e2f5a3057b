use std::fs;
use std::path::Path;
use std::time::SystemTime;

use tidings_core::config::Invalid;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{Error, InconsistentKeys};
use x509_cert::der::Decode as _;

use super::{TlsFiles, invalid};

/// When a file was modified, and its length in bytes. Follows symbolic links; `None` if there is no file.
pub(super) type Stamp = (SystemTime, u64);

pub(super) fn stamp(path: &Path) -> Option<Stamp> {
    let about = fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// Checks that the chain and the key belong together, and returns them with the end of the first certificate, in milliseconds UTC.
/// Warns if other users can read the key.
pub(super) fn load(files: &TlsFiles) -> Result<(CertifiedKey, i64), Invalid> {
    let (cert, key) = (files.cert.display(), files.key.display());
    let wrong_cert = |rule| invalid("tls-cert", format!("{cert} {rule}"));
    let wrong_key = |rule| invalid("tls-key", format!("{key} {rule}"));
    let chain = chain(&files.cert).map_err(wrong_cert)?;
    let expires_at = expires_at(&chain[0]).map_err(wrong_cert)?;
    let private = private_key(&files.key).map_err(wrong_key)?;
    let pair = CertifiedKey::from_der(chain, private, &default_provider()).map_err(|error| match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            wrong_key(format!("is not the key of the first certificate in {cert}"))
        }
        Error::InvalidCertificate(error) => {
            wrong_cert(format!("has a certificate that is not valid: {error:?}"))
        }
        _ => wrong_key("has no valid key of RSA, ECDSA or Ed25519".to_owned()),
    })?;
    if is_readable_by_others(&files.key) {
        tracing::warn!("other users can read {key}, the private key of the server: chmod 600 {key}");
    }
    Ok((pair, expires_at))
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err("has no certificate in PEM form".to_owned()),
        Ok(chain) => Ok(chain),
        Err(error) => Err(unreadable(&error)),
    }
}

fn unreadable(error: &pem::Error) -> String {
    match error {
        // The text of this error shows the name as a list of numbers.
        pem::Error::MissingSectionEnd { .. } => "ends before the end of a PEM section".to_owned(),
        error => format!("is not a PEM file: {error}"),
    }
}

fn expires_at(certificate: &CertificateDer<'_>) -> Result<i64, String> {
    let certificate = x509_cert::Certificate::from_der(certificate)
        .map_err(|error| format!("has a certificate that is not valid: {error}"))?;
    let end = certificate.tbs_certificate.validity.not_after.to_unix_duration();
    Ok(i64::try_from(end.as_millis()).unwrap_or(i64::MAX))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let text = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        _ if is_encrypted(&text) => {
            "has a key with a passphrase, which the server cannot ask for: remove the passphrase".to_owned()
        }
        pem::Error::NoItemsFound => "has no private key in PEM form (PKCS#8, SEC1 or PKCS#1)".to_owned(),
        error => unreadable(&error),
    })
}

fn is_encrypted(pem: &[u8]) -> bool {
    let text = String::from_utf8_lossy(pem);
    // PKCS#8, and the older form that OpenSSL writes for RSA and EC.
    ["BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED"].iter().any(|mark| text.contains(mark))
}

#[cfg(unix)]
fn is_readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o004 != 0)
}

#[cfg(not(unix))]
fn is_readable_by_others(_: &Path) -> bool {
    false
}
