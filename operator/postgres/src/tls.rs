//! Encrypted and plain connections.

use std::path::Path;

use openssl::error::ErrorStack;
use openssl::ssl::{SslConnector, SslConnectorBuilder, SslMethod, SslVerifyMode};
use openssl::x509::store::X509StoreBuilder;
use postgres_openssl::MakeTlsConnector;
use tokio_postgres::{Client, Config, Error, NoTls};

/// The parts of a server's certificate that are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Its authority and the server's name.
    Full,
    /// Its authority.
    Authority,
    /// Nothing: the connection is encrypted, but the server may be another one.
    Nothing,
}

/// Returns a connector that trusts the authorities in a PEM file, or those of the system.
///
/// # Errors
/// OpenSSL's, for instance if the file cannot be read.
pub fn connector(authority: Option<&Path>, verify: Verify) -> Result<MakeTlsConnector, ErrorStack> {
    let mut builder = SslConnector::builder(SslMethod::tls_client())?;
    if let Some(file) = authority {
        builder.set_cert_store(X509StoreBuilder::new()?.build());
        builder.set_ca_file(file)?;
    } else {
        add_system_authorities(&mut builder)?;
    }
    if verify == Verify::Nothing {
        builder.set_verify(SslVerifyMode::NONE);
    }
    let mut connector = MakeTlsConnector::new(builder.build());
    if verify != Verify::Full {
        connector.set_callback(|connection, _| {
            connection.set_verify_hostname(false);
            Ok(())
        });
    }
    Ok(connector)
}

/// Adds the authorities of the system, which only the system's own OpenSSL finds by itself.
#[cfg(feature = "static-openssl")]
fn add_system_authorities(builder: &mut SslConnectorBuilder) -> Result<(), ErrorStack> {
    match openssl_probe::probe().cert_file {
        Some(file) => builder.set_ca_file(file),
        None => Ok(()),
    }
}

#[cfg(not(feature = "static-openssl"))]
#[allow(clippy::unnecessary_wraps)]
fn add_system_authorities(_: &mut SslConnectorBuilder) -> Result<(), ErrorStack> {
    Ok(())
}

/// Connects. A task of the current runtime drives the connection.
///
/// # Errors
/// The client's or the server's.
pub async fn connect(config: &Config, tls: Option<&MakeTlsConnector>) -> Result<Client, Error> {
    // The calls that a connection error breaks report it.
    Ok(match tls {
        Some(tls) => {
            let (client, connection) = config.connect(tls.clone()).await?;
            tokio::spawn(async { drop(connection.await) });
            client
        }
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(async { drop(connection.await) });
            client
        }
    })
}
