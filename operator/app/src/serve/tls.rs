//! TLS of the server, with certificates of clients where the settings require them.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use super::auth::AuthSettings;
use crate::exit::usage;

/// Returns what accepts connections over TLS; nothing without a certificate of the server.
///
/// # Errors
/// A usage error that names the option and the file.
pub(super) fn acceptor(settings: &AuthSettings) -> anyhow::Result<Option<TlsAcceptor>> {
    let Some((certificate, key)) = &settings.certificate else {
        return Ok(None);
    };
    let provider = Arc::new(default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = match &settings.client_ca {
        Some(path) => {
            let fault = |why: String| usage(format!("--client-ca {}: {why}", path.display()));
            let mut roots = RootCertStore::empty();
            for authority in certificates("--client-ca", path)? {
                roots.add(authority).map_err(|error| fault(error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| fault(error.to_string()))?)
        }
        None => builder.with_no_client_auth(),
    };
    let chain = certificates("--tls-cert", certificate)?;
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| usage(format!("--tls-key {}: {error}", key.display())))?;
    let mut config = builder
        .with_single_cert(chain, private)
        .map_err(|error| usage(format!("--tls-cert and --tls-key: {error}")))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

fn certificates(option: &str, path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let fault = |why: String| usage(format!("{option} {}: {why}", path.display()));
    let all = CertificateDer::pem_file_iter(path).map_err(|error| fault(error.to_string()))?;
    let all: Vec<_> = all
        .collect::<Result<_, _>>()
        .map_err(|error| fault(error.to_string()))?;
    if all.is_empty() {
        return Err(fault("has no certificate in PEM form".to_owned()));
    }
    Ok(all)
}
