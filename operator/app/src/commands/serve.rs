//! `lethe serve`: an HTTP API for one-off requests.

use std::sync::mpsc::channel;
use std::time::Duration;

use lethe_connectors::Stop;

use super::documents::{configured, cores};
use super::run::runtime;
use crate::cli::ServeArgs;
use crate::serve::{AuthSettings, LimitSettings, ServeSettings, serve};
use crate::signals::{Overrun, stop_on_signal};

/// Serves until it is stopped.
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<()> {
    let settings = settings(args);
    settings.auth.check(settings.listen)?;
    let config = configured(&args.engine)?;
    let built = config.engine.build()?;
    built.prepare()?;
    built.announce();
    let runtime = runtime()?;
    let stop = Stop::new(settings.limits.request_time);
    // There is no pipeline that could take a command.
    let (commands, _) = channel();
    stop_on_signal(&runtime, commands, &stop, Overrun::Exit)?;
    serve(&settings, &config.engine, &built, &runtime, &stop)
}

fn settings(args: &ServeArgs) -> ServeSettings {
    let limits = &args.limits;
    ServeSettings {
        listen: args.listen,
        auth: AuthSettings {
            token_file: args.token_file.clone(),
            certificate: args.tls_cert.clone().zip(args.tls_key.clone()),
            client_ca: args.client_ca.clone(),
        },
        limits: LimitSettings {
            body: limits.max_body_bytes as usize,
            body_time: Duration::from_secs(limits.body_seconds),
            request_time: Duration::from_secs(limits.request_seconds),
            concurrency: limits.concurrency as usize,
            memory: (limits.body_memory_mib as usize) << 20,
        },
        threads: limits.threads.map_or_else(cores, |threads| threads as usize),
        languages: args.language.clone(),
    }
}
