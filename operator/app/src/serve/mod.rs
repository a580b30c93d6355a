//! The HTTP API for one-off requests: `lethe serve`.
//!
//! `listen.rs` accepts connections, `auth.rs` and `tls.rs` check who sends requests, `limits.rs` bounds them,
//! `routes.rs` has the endpoints, and `lanes.rs` the threads on which notes are processed. No log and no message
//! contains text of a request.

mod auth;
mod batch;
mod lanes;
mod limits;
mod listen;
mod openapi;
mod presidio;
mod refusal;
mod routes;
mod service;
mod stall;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::Context as _;
use axum::http::StatusCode;
use lethe_connectors::Stop;
use tokio::runtime::Runtime;

use crate::config::{BuiltEngine, EngineConfig};
use crate::exit::usage;
use auth::Auth;
use lanes::Lanes;
use limits::Limits;
use listen::Endpoint;
use service::Service;

pub(crate) use auth::AuthSettings;
pub(crate) use limits::LimitSettings;

/// The settings of a server.
pub(crate) struct ServeSettings {
    pub(crate) listen: SocketAddr,
    pub(crate) auth: AuthSettings,
    pub(crate) limits: LimitSettings,
    /// Threads that process notes.
    pub(crate) threads: usize,
    /// Languages that the Presidio endpoints accept.
    pub(crate) languages: Vec<String>,
}

/// What all connections share.
struct Shared {
    service: Arc<Service>,
    lanes: Lanes,
    limits: Limits,
    auth: Auth,
    answered: AtomicU64,
    refused: AtomicU64,
}

impl Shared {
    /// Counts a response.
    fn count(&self, status: StatusCode) {
        let counter = if status.is_success() {
            &self.answered
        } else {
            &self.refused
        };
        counter.fetch_add(1, Relaxed);
        tracing::debug!(status = status.as_u16(), "request");
    }
}

/// Serves until the stop.
///
/// # Errors
/// A usage error for files of the settings that cannot be used; an error if the address is not available.
pub(crate) fn serve(
    settings: &ServeSettings,
    config: &EngineConfig,
    built: &BuiltEngine,
    runtime: &Runtime,
    stop: &Stop,
) -> anyhow::Result<()> {
    let batch = batch::memory(settings.threads, settings.limits.body);
    if settings.limits.memory < batch {
        return Err(usage(format!(
            "--body-memory-mib: a batch takes {} MiB with these --max-body-bytes and --threads; set at least that",
            batch.div_ceil(1 << 20)
        )));
    }
    let (auth, tls) = (Auth::read(&settings.auth)?, tls::acceptor(&settings.auth)?);
    let service = Service::new(built, config, settings.languages.clone(), settings.limits.body)?;
    let service = Arc::new(service);
    let shared = Arc::new(Shared {
        lanes: Lanes::start(&service, settings.threads)?,
        service,
        limits: Limits::new(settings.limits),
        auth,
        answered: AtomicU64::new(0),
        refused: AtomicU64::new(0),
    });
    let endpoint = Endpoint {
        shared: Arc::clone(&shared),
        router: routes::router(Arc::clone(&shared)),
        tls,
        stop: stop.clone(),
    };
    runtime.block_on(async {
        let (listener, address) = listen::listen(settings.listen)
            .with_context(|| format!("--listen {}: cannot listen on this address", settings.listen))?;
        if settings.auth.is_clear_text(address) {
            tracing::warn!("notes and tokens cross the network in clear text; add --tls-cert and --tls-key, or put a proxy with TLS in front");
        }
        let scheme = if endpoint.tls.is_some() { "https" } else { "http" };
        tracing::info!("serving on {scheme}://{address}");
        listen::serve(listener, endpoint).await;
        Ok::<_, anyhow::Error>(())
    })?;
    tracing::info!(
        answered = shared.answered.load(Relaxed),
        refused = shared.refused.load(Relaxed),
        "stopped serving"
    );
    Ok(())
}
