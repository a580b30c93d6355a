//! Logs to standard error, and installs a panic hook that reports the location and withholds the message.

mod limit;

use anstream::{AutoStream, ColorChoice};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::cli::{LogArgs, LogFormat};

pub(crate) use limit::tell_left_out;

/// Starts logging, only of errors if `quiet`. It must be called once, before anything else.
pub(crate) fn start(args: &LogArgs, quiet: bool) {
    let filter = if quiet { "error" } else { &args.log };
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let registry = tracing_subscriber::registry().with(filter);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    match args.log_format {
        LogFormat::Text => {
            let colours = AutoStream::choice(&std::io::stderr()) != ColorChoice::Never;
            let text = layer.with_ansi(colours).with_target(false);
            registry.with(text.with_filter(limit::Limit)).init();
        }
        LogFormat::Json => registry.with(layer.json().with_filter(limit::Limit)).init(),
    }
    // The default hook prints the payload, and a library's payload may quote the text that it failed on.
    std::panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map_or_else(|| "an unknown location".to_owned(), ToString::to_string);
        tracing::error!(%place, "panic; its message is withheld, since it could quote a note");
    }));
}
