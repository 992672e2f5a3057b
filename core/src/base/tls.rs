//! Decides which certificates of servers are accepted: like OpenSSL, where rustls alone is stricter.
//!
//! rustls refuses certificates of X.509 version 1 (made by `openssl x509 -req` without extensions), and servers with a
//! certificate that may itself issue others, such as a self-signed one (made by `openssl req -x509`). The verifiers here
//! accept them where they prove as much as any other certificate.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, PeerMisbehaved, RootCertStore,
    SignatureScheme,
};

use crate::base::config::Invalid;
use ureq::unversioned::transport::Connector;

mod chain;
mod connector;

pub use connector::TlsConnector;

use chain::Parsed;

/// Returns the configuration of a client that checks servers with this verifier.
///
/// # Panics
/// Never: the versions of TLS are those of the cryptography.
pub fn client_config(verifier: Arc<dyn ServerCertVerifier>) -> ClientConfig {
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("the provider supports the default versions")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth()
}

fn public_roots() -> RootCertStore {
    webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect()
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn algorithms() -> WebPkiSupportedAlgorithms {
    ring::default_provider().signature_verification_algorithms
}

/// Why a file does not name trusted authorities.
#[derive(Debug, thiserror::Error)]
#[error("the file {file} {why}")]
pub struct InvalidAuthorities {
    file: PathBuf,
    why: String,
}

impl InvalidAuthorities {
    pub(crate) fn of_setting(&self, setting: &'static str) -> Invalid {
        Invalid::new(&[setting], self.to_string())
    }
}

/// Returns what connects HTTP clients to servers that these authorities vouch for.
pub fn connector(authorities: Authorities) -> impl Connector {
    TlsConnector::chain(client_config(Arc::new(authorities)))
}

/// Accepts any certificate. The server must have its key, so the connection is encrypted to whoever shows the certificate.
#[derive(Debug)]
pub struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        algorithms().supported_schemes()
    }
}

/// Accepts certificates of trusted authorities, and trusted certificates of servers themselves.
pub struct Authorities {
    webpki: Arc<WebPkiServerVerifier>,
    /// The certificates of a file. Public authorities issue no certificates of the kinds that rustls refuses.
    trusted: Vec<CertificateDer<'static>>,
    checks_name: bool,
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorities").field("checks_name", &self.checks_name).finish_non_exhaustive()
    }
}

impl Authorities {
    /// Trusts the certificates in a PEM file, and no others. A server may also have one of these certificates itself.
    ///
    /// # Errors
    /// When the file cannot be read, or does not contain valid certificates.
    pub fn in_file(file: &Path) -> Result<Self, InvalidAuthorities> {
        Self::beside(RootCertStore::empty(), file)
    }

    /// Trusts the certificates in a PEM file, and the authorities that web browsers trust.
    ///
    /// # Errors
    /// The errors of [`Authorities::in_file`].
    pub fn public_and_in_file(file: &Path) -> Result<Self, InvalidAuthorities> {
        Self::beside(public_roots(), file)
    }

    /// Trusts the authorities that web browsers trust.
    pub fn public() -> Self {
        Self::of(public_roots())
    }

    fn beside(mut roots: RootCertStore, file: &Path) -> Result<Self, InvalidAuthorities> {
        let fault = |why: String| InvalidAuthorities { file: file.to_owned(), why };
        let trusted: Vec<_> = CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect)
            .map_err(|error| fault(format!("cannot be read: {error}")))?;
        for certificate in &trusted {
            let added = roots.add(certificate.clone());
            added.map_err(|error| fault(format!("has an invalid certificate: {error}")))?;
        }
        if trusted.is_empty() {
            return Err(fault("has no certificate".to_owned()));
        }
        Ok(Self { trusted, ..Self::of(roots) })
    }

    fn of(roots: RootCertStore) -> Self {
        let webpki = WebPkiServerVerifier::builder_with_provider(roots.into(), provider()).build();
        let webpki = webpki.expect("there are authorities and no revocation lists");
        Self { webpki, trusted: Vec::new(), checks_name: true }
    }

    /// Accepts certificates for any name.
    #[must_use]
    pub fn for_any_name(self) -> Self {
        Self { checks_name: false, ..self }
    }

    /// Does not check the name. `refusal` is the error of rustls.
    fn check_chain(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
        refusal: Error,
    ) -> Result<(), Error> {
        if self.trusted.is_empty() {
            return Err(refusal);
        }
        let Some(parsed) = Parsed::of(certificate) else { return Err(refusal) };
        let checked = if self.trusted.contains(certificate) {
            parsed.check_time(now)
        } else if parsed.is_first_version() || parsed.is_authority() {
            chain::check(&parsed, intermediates, &self.trusted, now)
        } else {
            return Err(refusal);
        };
        checked.map_err(Error::InvalidCertificate)
    }
}

impl ServerCertVerifier for Authorities {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.webpki.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Ok(verified) => return Ok(verified),
            // The name is checked last, so everything else is right when only the name is wrong.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => {}
            Err(error) => self.check_chain(certificate, intermediates, now, error)?,
        }
        if self.checks_name {
            check_name(certificate, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        algorithms().supported_schemes()
    }
}

/// As in libpq and curl, the common name counts if the certificate has no alternative name of the same kind.
fn check_name(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<(), Error> {
    let by_extension = ParsedCertificate::try_from(certificate)
        .and_then(|parsed| rustls::client::verify_server_name(&parsed, name));
    let Err(refusal) = by_extension else { return Ok(()) };
    match Parsed::of(certificate) {
        Some(parsed) if parsed.has_common_name(name) => Ok(()),
        Some(parsed) if parsed.is_first_version() => {
            let presented = parsed.common_name().map(str::to_owned).into_iter().collect();
            Err(CertificateError::NotValidForNameContext { expected: name.to_owned(), presented }.into())
        }
        _ => Err(refusal),
    }
}

/// Verifies a handshake with TLS 1.2. Nothing but the key of the certificate is used.
fn verify_tls12_signature(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let key = chain::key_of(certificate).ok_or(CertificateError::BadEncoding)?;
    let mapping = algorithms().mapping;
    let scheme = mapping.iter().find(|(scheme, _)| *scheme == signed.scheme);
    let (_, candidates) = scheme.ok_or(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)?;
    let algorithm = candidates.iter().find(|candidate| *candidate.public_key_alg_id() == *key.algorithm);
    let algorithm = algorithm.ok_or(CertificateError::BadSignature)?;
    let verified = algorithm.verify_signature(key.bits, message, signed.signature());
    verified.map_err(|_| CertificateError::BadSignature)?;
    Ok(HandshakeSignatureValid::assertion())
}

fn verify_tls13_signature(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let key = chain::key_of(certificate).ok_or(CertificateError::BadEncoding)?;
    let key = SubjectPublicKeyInfoDer::from(key.info);
    verify_tls13_signature_with_raw_key(message, &key, signed, &algorithms())
}

#[cfg(test)]
mod tests;
