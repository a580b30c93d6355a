//! Logs to standard error, and installs a panic hook that reports the location and withholds the message.

mod limit;

use std::ffi::OsString;
use std::sync::OnceLock;

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::cli::{LogArgs, LogFormat};

pub(crate) use limit::tell_left_out;

/// The filter and the format with which logging was started.
static STARTED: OnceLock<(String, LogFormat)> = OnceLock::new();

/// Returns the options with which another program of Lethe logs as this one does.
pub(crate) fn options() -> Vec<OsString> {
    let Some((filter, format)) = STARTED.get() else {
        return Vec::new();
    };
    let format = format.to_possible_value();
    let format = format.map(|format| format!("--log-format={}", format.get_name()).into());
    [format!("--log={filter}").into()]
        .into_iter()
        .chain(format)
        .collect()
}

/// Starts logging, only of errors if `quiet`. It must be called once, before anything else.
pub(crate) fn start(args: &LogArgs, quiet: bool) {
    let filter = if quiet { "error" } else { &args.log };
    STARTED.get_or_init(|| (filter.to_owned(), args.log_format));
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
