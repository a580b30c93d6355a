//! Times work at growing sizes in CPU time, so that other work on the machine does not count.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Work of one size.
pub(crate) struct Work {
    /// Number of bytes that its cost is divided by.
    pub(crate) bytes: usize,
    /// Runs it once and returns the time of the measured part.
    pub(crate) run: Box<dyn FnMut() -> Duration>,
}

/// Prepares work of about this many bytes.
pub(crate) type Make = Box<dyn Fn(usize) -> Work>;

/// A measured subject: plain work, and hostile work by shape.
pub(crate) struct Subject {
    /// The member or parser.
    pub(crate) name: String,
    /// Divisor of sizes.
    pub(crate) scale: usize,
    /// Ordinary notes or messages.
    pub(crate) plain: Make,
    /// Hostile ones.
    pub(crate) shapes: Vec<(String, Make)>,
}

/// The cost at one size.
pub(crate) struct Measured {
    /// Seconds per byte of the best run.
    pub(crate) per_byte: f64,
}

/// Maximum number of runs.
const RUNS: u32 = 7;
/// Minimum total time of the repeated runs.
const ENOUGH: Duration = Duration::from_millis(250);

/// Times the work at each size; stops after a size with a run over `limit`.
pub(crate) fn measure(make: &Make, sizes: &[usize], limit: Duration) -> Vec<Measured> {
    let mut all = Vec::new();
    for &size in sizes {
        let mut work = make(size);
        let (mut best, mut total) = (Duration::MAX, Duration::ZERO);
        for _ in 0..RUNS {
            let took = (work.run)();
            best = best.min(took);
            total += took;
            if total > ENOUGH {
                break;
            }
        }
        all.push(Measured {
            per_byte: best.as_secs_f64() / work.bytes.max(1) as f64,
        });
        if best > limit {
            break;
        }
    }
    all
}

/// Returns the CPU time of the process so far, over all threads.
fn used() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let nanoseconds = u32::try_from(used.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(used.tv_sec).unwrap_or(0), nanoseconds)
}

/// Times a call.
pub(crate) fn timed<T>(call: impl FnOnce() -> T) -> Duration {
    let started = used();
    let done = call();
    let took = used().saturating_sub(started);
    drop(std::hint::black_box(done));
    took
}
