//! The use of TLS, with the meaning that libpq gives to `sslmode`.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::url::{Roots, Tls};
use crate::error::ServerError;
use crate::tls::Authorities;

/// Fails when the file with the trusted authorities cannot be read or has no certificate.
pub(super) fn connector(tls: &Tls) -> Result<MakeRustlsConnect, ServerError> {
    let provider = Arc::new(ring::default_provider());
    let failed = |cause: String| ServerError::Tls { host: "the server".to_owned(), cause };
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?;
    let authorities = match tls {
        Tls::Off | Tls::Preferred | Tls::Required => None,
        Tls::Authority(Roots::Public) | Tls::Full(Roots::Public) => Some(Authorities::public()),
        Tls::Authority(Roots::File(file)) | Tls::Full(Roots::File(file)) => {
            let read = Authorities::in_file(file);
            Some(read.map_err(|error| failed(format!("{error} (the parameter sslrootcert)")))?)
        }
    };
    let roots = authorities.map(|authorities| Arc::new(authorities.roots()));
    let config = match (tls, roots) {
        (Tls::Full(_), Some(roots)) => config.with_root_certificates(roots),
        (_, roots) => {
            let verifier =
                |roots| WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            let authorities = roots.map(verifier).transpose().map_err(|error| failed(error.to_string()))?;
            config.dangerous().with_custom_certificate_verifier(Arc::new(AnyName { authorities, provider }))
        }
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// Accepts certificates for any name, of trusted authorities or, without any, all. The server must have the key, so the
/// connection is encrypted to whoever shows the certificate.
#[derive(Debug)]
struct AnyName {
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        match authorities.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The name is checked last, so everything else is right when only the name is wrong.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
