//! Certificates of a test authority, and a proxy that speaks TLS, as one in front of a server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// A running proxy. Dropping the value stops it.
pub struct TlsProxy {
    address: SocketAddr,
    directory: TempDir,
    _runtime: Runtime,
}

impl TlsProxy {
    /// Starts a proxy in front of the server at this address. Its certificate is for the name `localhost`.
    pub fn before(server: SocketAddr) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = Arc::new(certify(&directory.path().join("authority.pem")));
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            let acceptor = TlsAcceptor::from(config);
            while let Ok((client, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that does not trust the certificate closes the connection.
                    let Ok(mut client) = acceptor.accept(client).await else { return };
                    let mut server = TcpStream::connect(server).await.unwrap();
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Self { address, directory, _runtime: runtime }
    }

    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    pub fn authority(&self) -> PathBuf {
        self.directory.path().join("authority.pem")
    }
}

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

impl Authority {
    /// Returns a new authority. Authorities with different names are unknown to each other's clients.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// Writes a new certificate for `localhost` and its key to `cert.pem` and `key.pem` in this directory.
    pub fn issue_to(&self, directory: &Path) {
        let (certificate, key) = self.issue();
        std::fs::write(directory.join("cert.pem"), certificate.pem()).unwrap();
        std::fs::write(directory.join("key.pem"), key.serialize_pem()).unwrap();
    }

    fn issue(&self) -> (Certificate, KeyPair) {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }
}

/// Writes the certificate of a new authority to a file.
fn certify(file: &Path) -> ServerConfig {
    let authority = Authority::new(&file.display().to_string());
    std::fs::write(file, authority.pem()).unwrap();
    let (certificate, key) = authority.issue();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap()
}
