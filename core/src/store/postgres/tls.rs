//! The use of TLS, with the meaning that libpq gives to `sslmode`.

use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::url::{Roots, Tls};
use crate::base::tls::{AnyCertificate, Authorities, client_config};
use crate::store::error::ServerError;

/// Fails when the file with the trusted authorities cannot be read or has no certificate.
pub(super) fn connector(tls: &Tls) -> Result<MakeRustlsConnect, ServerError> {
    let verifier: Arc<dyn ServerCertVerifier> = match tls {
        Tls::Off | Tls::Preferred | Tls::Required => Arc::new(AnyCertificate),
        Tls::Authority(roots) => Arc::new(authorities(roots)?.for_any_name()),
        Tls::Full(roots) => Arc::new(authorities(roots)?),
    };
    Ok(MakeRustlsConnect::new(client_config(verifier)))
}

fn authorities(roots: &Roots) -> Result<Authorities, ServerError> {
    let Roots::File(file) = roots else { return Ok(Authorities::public()) };
    Authorities::in_file(file).map_err(|error| ServerError::Tls {
        host: "the server".to_owned(),
        cause: format!("{error} (the parameter sslrootcert)"),
    })
}

#[cfg(test)]
mod tests;
