//! Gauges that are computed only on request.

use std::sync::Arc;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Meter};

use super::board::{Board, LaneNow};
use super::catalogue::{self as metric, Metric};
use super::drift::{Drift, SIGNALS};

/// Registers every observed instrument. The meter's provider keeps them.
pub(super) fn observe(meter: &Meter, board: &Arc<Board>, drift: &Arc<Drift>) {
    of_lanes(meter, board, metric::LAG_RECORDS, |lane| {
        lane.lag.map(|lag| lag as f64)
    });
    of_lanes(meter, board, metric::LAG_SECONDS, |lane| {
        Some(lane.age.as_secs_f64())
    });
    of_lanes(meter, board, metric::QUEUE_RECORDS, |lane| {
        Some(lane.queued as f64)
    });
    let of_board = |metric: Metric, value: fn(&Board) -> f64| {
        let board = Arc::clone(board);
        gauge(meter, metric, move |to| to.observe(value(&board), &[]));
    };
    of_board(metric::LANES, |board| board.lanes().len() as f64);
    of_board(metric::HALTED_NOW, |board| board.halts().len() as f64);
    of_board(metric::READY, |board| f64::from(u8::from(board.is_ready())));
    of_board(metric::MEMORY_BUDGET, |board| board.memory().0 as f64);
    of_board(metric::MEMORY_HELD, |board| board.memory().1 as f64);
    let cached = Arc::clone(board);
    gauge(meter, metric::CACHE_BYTES, move |to| {
        for (member, bytes) in cached.caches().bytes {
            to.observe(bytes as f64, &[KeyValue::new("member", member)]);
        }
    });
    let built = Arc::clone(board);
    gauge(meter, metric::BUILD_INFO, move |to| {
        let build = built.build();
        let labels = [
            KeyValue::new("version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("bundle", build.bundle),
            KeyValue::new("policy", build.policy),
        ];
        to.observe(1.0, &labels);
    });
    let density = Arc::clone(drift);
    gauge(meter, metric::PHI_DENSITY, move |to| {
        if let Some(density) = density.density() {
            to.observe(density, &[]);
        }
    });
    let ratios = Arc::clone(drift);
    gauge(meter, metric::DRIFT, move |to| {
        for (ratio, signal) in ratios.ratios().into_iter().zip(SIGNALS) {
            if let Some(ratio) = ratio {
                to.observe(ratio, &[KeyValue::new("signal", signal)]);
            }
        }
    });
    let units = Arc::clone(board);
    gauge(meter, metric::BACKFILL_UNITS, move |to| {
        for (state, count) in units
            .backfill()
            .now()
            .map(|(units, _)| units)
            .into_iter()
            .flatten()
        {
            to.observe(count as f64, &[KeyValue::new("state", state)]);
        }
    });
    let left = Arc::clone(board);
    gauge(meter, metric::BACKFILL_LEFT, move |to| {
        if let Some((_, seconds)) = left.backfill().now() {
            to.observe(seconds, &[]);
        }
    });
    of_cache(meter, board);
    of_process(meter);
}

fn gauge(
    meter: &Meter,
    metric: Metric,
    callback: impl Fn(&dyn AsyncInstrument<f64>) + Send + Sync + 'static,
) {
    let (name, unit) = metric.instrument();
    let gauge = meter
        .f64_observable_gauge(name)
        .with_unit(unit)
        .with_description(metric.help);
    gauge.with_callback(callback).build();
}

fn of_lanes(
    meter: &Meter,
    board: &Arc<Board>,
    metric: Metric,
    value: impl Fn(&LaneNow) -> Option<f64> + Send + Sync + 'static,
) {
    let board = Arc::clone(board);
    gauge(meter, metric, move |to| {
        for ((topic, partition), lane) in board.lanes() {
            if let Some(value) = value(&lane) {
                let place = [
                    KeyValue::new("topic", topic.to_string()),
                    KeyValue::new("partition", partition.to_string()),
                ];
                to.observe(value, &place);
            }
        }
    });
}

fn of_cache(meter: &Meter, board: &Arc<Board>) {
    let board = Arc::clone(board);
    let (name, unit) = metric::CACHE.instrument();
    let counter = meter.u64_observable_counter(name).with_unit(unit);
    let observe = move |to: &dyn AsyncInstrument<u64>| {
        for (member, lookups) in board.caches().lookups {
            for (result, count) in [("hit", lookups.hits), ("miss", lookups.misses)] {
                let labels = [
                    KeyValue::new("member", member.clone()),
                    KeyValue::new("result", result),
                ];
                to.observe(count, &labels);
            }
        }
    };
    counter
        .with_description(metric::CACHE.help)
        .with_callback(observe)
        .build();
}

/// Reads the process's figures from the system; empty where there are none.
#[cfg(target_os = "linux")]
fn of_process(meter: &Meter) {
    use procfs::WithCurrentSystemInfo as _;
    use procfs::process::{LimitValue, Process, Stat};

    let of_stat = |metric: Metric, value: fn(&Stat) -> Option<f64>| {
        gauge(meter, metric, move |to| {
            let stat = Process::myself().and_then(|process| process.stat());
            if let Some(value) = stat.ok().as_ref().and_then(value) {
                to.observe(value, &[]);
            }
        });
    };
    of_stat(metric::RESIDENT, |stat| Some(stat.rss_bytes().get() as f64));
    of_stat(metric::STARTED, |stat| {
        let boot = procfs::boot_time_secs().ok()?;
        Some(boot as f64 + stat.starttime as f64 / procfs::ticks_per_second() as f64)
    });
    gauge(meter, metric::OPEN_FDS, |to| {
        if let Ok(count) = Process::myself().and_then(|process| process.fd_count()) {
            to.observe(count as f64, &[]);
        }
    });
    gauge(meter, metric::MAX_FDS, |to| {
        let limits = Process::myself().and_then(|process| process.limits());
        if let Ok(LimitValue::Value(most)) = limits.map(|limits| limits.max_open_files.soft_limit) {
            to.observe(most as f64, &[]);
        }
    });
    let (name, unit) = metric::CPU.instrument();
    let counter = meter.f64_observable_counter(name).with_unit(unit);
    let observe = |to: &dyn AsyncInstrument<f64>| {
        if let Ok(stat) = Process::myself().and_then(|process| process.stat()) {
            to.observe(
                (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64,
                &[],
            );
        }
    };
    counter
        .with_description(metric::CPU.help)
        .with_callback(observe)
        .build();
}

#[cfg(not(target_os = "linux"))]
fn of_process(_meter: &Meter) {}
