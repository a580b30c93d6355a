//! Keeps candle's work on the calling thread.
//!
//! Lanes already tag on as many threads as the engine was given. candle would spread each product over every
//! core of the machine, through rayon's pool, and lanes would compete. Work that rayon starts on a thread of
//! a pool stays in that pool, so a thread that is the only one of its own pool does all of its work itself.

use std::cell::OnceCell;

use rayon::{ThreadPool, ThreadPoolBuilder};

thread_local! {
    /// Kept as long as the thread lives. `None` for a thread that is already in a pool: that pool is its
    /// caller's choice.
    static POOL: OnceCell<Option<ThreadPool>> = const { OnceCell::new() };
}

/// Runs `work`, including the parts that it gives to rayon, on this thread.
pub(crate) fn alone<T>(work: impl FnOnce() -> T) -> T {
    POOL.with(|pool| {
        pool.get_or_init(|| {
            ThreadPoolBuilder::new()
                .num_threads(1)
                .use_current_thread()
                .build()
                .ok()
        });
    });
    work()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use rayon::prelude::*;

    use super::*;

    #[test]
    fn what_rayon_is_given_stays_on_the_calling_thread() {
        let seen = Mutex::new(Vec::new());
        let work = || {
            (0..1000).into_par_iter().for_each(|_| {
                std::thread::sleep(std::time::Duration::from_micros(10));
                seen.lock().unwrap().push(std::thread::current().id());
            });
        };
        alone(work);
        alone(work);
        let here = std::thread::current().id();
        let seen = seen.into_inner().unwrap();
        assert!(seen.len() == 2000 && seen.iter().all(|&id| id == here));
    }

    #[test]
    fn a_thread_of_another_pool_does_its_work_too() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(pool.install(|| alone(rayon::current_num_threads)), 2);
    }
}
