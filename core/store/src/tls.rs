//! The authorities that vouch for servers: those that web browsers trust, and those in PEM files. rustls verifies.

use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{CertificateError, RootCertStore};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// The advice for a certificate of version 1, which `openssl x509 -req` makes without extensions.
const VERSION_1: &str = "the certificate has X.509 version 1, and rustls needs version 3: sign it again with openssl x509 \
                         -req -extfile FILE, where FILE has the line subjectAltName=DNS:HOST";
/// The advice for a certificate that may issue others, which `openssl req -x509` makes without extensions.
const AUTHORITY: &str = "the certificate is that of an authority: make one of a server with openssl req -x509 -addext \
                         basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:HOST";

/// Why a file does not name trusted authorities.
#[derive(Debug, thiserror::Error)]
#[error("the file {file} {why}")]
pub struct InvalidAuthorities {
    file: PathBuf,
    why: String,
}

/// The certificates of trusted authorities, and of trusted servers.
pub struct Authorities(Vec<CertificateDer<'static>>);

impl Authorities {
    /// Trusts the authorities that web browsers trust.
    pub fn public() -> Self {
        Self(TLS_SERVER_ROOT_CERTS.to_vec())
    }

    /// Trusts the certificates in a PEM file, and no others. A server may also have one of these certificates itself.
    ///
    /// # Errors
    /// When the file cannot be read, or does not contain valid certificates.
    pub fn in_file(file: &Path) -> Result<Self, InvalidAuthorities> {
        let fault = |why: String| InvalidAuthorities { file: file.to_owned(), why };
        let certificates: Vec<_> = CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect)
            .map_err(|error| fault(format!("cannot be read: {error}")))?;
        for certificate in &certificates {
            let added = RootCertStore::empty().add(certificate.clone());
            added.map_err(|error| fault(format!("has an invalid certificate: {error}")))?;
        }
        if certificates.is_empty() {
            return Err(fault("has no certificate".to_owned()));
        }
        Ok(Self(certificates))
    }

    /// Trusts these authorities, and those that web browsers trust.
    #[must_use]
    pub fn and_public(mut self) -> Self {
        self.0.extend_from_slice(TLS_SERVER_ROOT_CERTS);
        self
    }

    /// Returns the settings of an HTTP client that trusts only these authorities.
    pub fn for_http(&self) -> TlsConfig {
        let certificates: Vec<_> = self.0.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
        TlsConfig::builder().root_certs(RootCerts::new_with_certs(&certificates)).build()
    }

    /// Returns the authorities as rustls takes them.
    #[cfg(feature = "postgres")]
    pub(crate) fn roots(self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(self.0);
        roots
    }
}

/// Returns the error of rustls because of which a request failed.
pub fn cause(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Io(error) => error.get_ref().and_then(|cause| cause.downcast_ref()),
        ureq::Error::Rustls(error) => Some(error),
        _ => None,
    }
}

/// Returns how to replace a certificate that OpenSSL makes and accepts, but rustls refuses.
pub fn advice(error: &rustls::Error) -> Option<&'static str> {
    let rustls::Error::InvalidCertificate(CertificateError::Other(why)) = error else { return None };
    match &*why.to_string() {
        "UnsupportedCertVersion" => Some(VERSION_1),
        "CaUsedAsEndEntity" => Some(AUTHORITY),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
