//! The options of `lethe serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::EngineArgs;

#[derive(Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// The address to listen on. One that other machines reach needs --token-file or --client-ca
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:3000")]
    pub(crate) listen: SocketAddr,
    /// Accept only requests with a token of this file, which has one per line: `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Serve over TLS with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Accept only clients with a certificate of these authorities (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) client_ca: Option<PathBuf>,
    /// The languages that the bundle is for. The Presidio endpoints refuse requests in others
    #[arg(long, value_name = "LANGUAGE", value_delimiter = ',', default_value = "en")]
    pub(crate) language: Vec<String>,
    #[command(flatten)]
    pub(crate) limits: ServeLimitArgs,
}

/// The limits of the server.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct ServeLimitArgs {
    /// The maximum size of a body, and of a line of a batch, in bytes; a larger one gets status 413
    #[arg(long, value_name = "BYTES", default_value_t = 2 << 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_body_bytes: u32,
    /// The time to receive a body, and between two parts of a batch; a slower one gets status 408
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) body_seconds: u64,
    /// The time to answer a request that is received; one that takes longer gets status 503
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) request_seconds: u64,
    /// The maximum number of requests at the same time; further ones get status 503
    #[arg(long, value_name = "REQUESTS", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrency: u32,
    /// The memory for the bodies of all requests at the same time; further ones get status 503
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) body_memory_mib: u32,
    /// The number of threads that process notes. By default as many as the machine has cores
    #[arg(long, value_name = "THREADS", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
}
