//! Times work at growing sizes. Times are those that the process had a processor for: what else runs on the machine does not
//! count.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Work of one size.
pub(crate) struct Work {
    /// Bytes that its cost is divided by.
    pub(crate) bytes: usize,
    /// Does it once, and returns how long the part took that is measured.
    pub(crate) run: Box<dyn FnMut() -> Duration>,
}

/// Prepares work of about so many bytes.
pub(crate) type Make = Box<dyn Fn(usize) -> Work>;

/// What is measured: plain work, and hostile work by shape.
pub(crate) struct Subject {
    /// The member or parser.
    pub(crate) name: String,
    /// Sizes are divided by this.
    pub(crate) scale: usize,
    /// Ordinary notes or messages.
    pub(crate) plain: Make,
    /// Hostile ones.
    pub(crate) shapes: Vec<(String, Make)>,
}

/// The cost at one size.
pub(crate) struct Measured {
    /// Seconds a byte, of the best run.
    pub(crate) per_byte: f64,
}

/// Runs at most so often.
const RUNS: u32 = 7;
/// Runs are repeated until they took so long together.
const ENOUGH: Duration = Duration::from_millis(250);

/// Times the work at each size; stops after a size of which one run is over `limit`.
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

/// What the process has had of processors so far, all of its threads together.
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
