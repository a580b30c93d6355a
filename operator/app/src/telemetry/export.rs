//! The exporters: a registry for `/metrics`, and OTLP.

use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use async_trait::async_trait;
use opentelemetry::trace::{Span as _, SpanBuilder, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    MetricExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;

use super::measures::Stage;
use crate::config::{OtlpConfig, TelemetryConfig};
use crate::exit::usage;

/// The time limit for a collector.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The registries and exporters of metrics and traces.
pub(super) struct Exports {
    pub(super) registry: prometheus::Registry,
    pub(super) meters: SdkMeterProvider,
    pub(super) tracers: Option<SdkTracerProvider>,
}

impl Exports {
    /// Creates the configured exporters.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(super) fn new(config: &TelemetryConfig, runtime: &Handle) -> anyhow::Result<Self> {
        let resource = Resource::builder()
            .with_service_name("lethe")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let registry = prometheus::Registry::new();
        let exporter = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .without_target_info()
            .scope_info_enabled(false)
            .build()
            .context("cannot create the registry of metrics")?;
        let mut meters = SdkMeterProvider::builder()
            .with_reader(exporter)
            .with_resource(resource.clone());
        let mut tracers = None;
        if let Some(otlp) = &config.otlp {
            let client = Client::new(otlp, runtime)?;
            let metrics = MetricExporter::builder()
                .with_http()
                .with_http_client(client.clone())
                .with_protocol(Protocol::HttpBinary)
                .with_endpoint(otlp.at("v1/metrics"))
                .with_timeout(TIMEOUT)
                .build()
                .map_err(|error| usage(format!("key `telemetry.otlp.endpoint`: {error}")))?;
            let every = Duration::from_secs(otlp.interval_seconds);
            meters = meters.with_reader(PeriodicReader::builder(metrics).with_interval(every).build());
            if otlp.traces > 0.0 {
                let spans = SpanExporter::builder()
                    .with_http()
                    .with_http_client(client)
                    .with_protocol(Protocol::HttpBinary)
                    .with_endpoint(otlp.at("v1/traces"))
                    .with_timeout(TIMEOUT)
                    .build()
                    .map_err(|error| usage(format!("key `telemetry.otlp.endpoint`: {error}")))?;
                let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(otlp.traces)));
                let provider = SdkTracerProvider::builder()
                    .with_batch_exporter(spans)
                    .with_sampler(sampler)
                    .with_resource(resource)
                    .build();
                tracers = Some(provider);
            }
        }
        Ok(Self {
            registry,
            meters: meters.build(),
            tracers,
        })
    }

    /// Returns the sender of traces.
    pub(super) fn traces(&self) -> Traces {
        Traces(self.tracers.as_ref().map(|provider| provider.tracer("lethe")))
    }

    /// Sends everything that is pending.
    pub(super) fn shut_down(&self) {
        let over = [
            self.meters.shutdown_with_timeout(TIMEOUT),
            self.tracers
                .as_ref()
                .map_or(Ok(()), |tracers| tracers.shutdown_with_timeout(TIMEOUT)),
        ];
        for error in over.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "the last metrics or traces were not sent");
        }
    }
}

/// Sends traces to a collector, if one is configured: where a sample of batches and files spent their time.
#[derive(Clone, Debug)]
pub(crate) struct Traces(Option<SdkTracer>);

/// One finished task: its start, and its stages in order.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) began: SystemTime,
    pub(crate) stages: Vec<(Stage, Duration)>,
}

impl Work {
    /// Starts a task now.
    pub(crate) fn new() -> Self {
        Self {
            began: SystemTime::now(),
            stages: Vec::with_capacity(4),
        }
    }
}

impl Traces {
    /// Sends a trace of a `batch` or a `file`, with coordinates and counts as attributes.
    pub(crate) fn tell(&self, what: &'static str, work: &Work, attributes: Vec<KeyValue>) {
        let Some(tracer) = &self.0 else { return };
        let took: Duration = work.stages.iter().map(|(_, took)| *took).sum();
        let build = |name, start| SpanBuilder::from_name(name).with_start_time(start);
        let whole = tracer.build(build(what, work.began).with_attributes(attributes));
        let sampled = whole.span_context().is_sampled();
        let context = Context::new().with_span(whole);
        if sampled {
            let mut start = work.began;
            for &(stage, took) in &work.stages {
                tracer
                    .build_with_context(build(stage.name(), start), &context)
                    .end_with_timestamp(start + took);
                start += took;
            }
        }
        context.span().end_with_timestamp(work.began + took);
    }
}

/// Sends over the HTTP client of the schema registry, on the program's runtime: exporters have their own
/// threads.
#[derive(Clone, Debug)]
struct Client {
    client: reqwest::Client,
    runtime: Handle,
}

impl Client {
    fn new(otlp: &OtlpConfig, runtime: &Handle) -> anyhow::Result<Self> {
        otlp.check()?;
        let client = reqwest::Client::builder().timeout(TIMEOUT).build();
        Ok(Self {
            client: client.context("cannot create an HTTP client")?,
            runtime: runtime.clone(),
        })
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move {
            let answer = client.execute(request.try_into()?).await?;
            let status = answer.status();
            Ok::<_, reqwest::Error>((status, answer.bytes().await?))
        });
        let (status, body) = sent.await??;
        Ok(Response::builder().status(status).body(body)?)
    }
}
