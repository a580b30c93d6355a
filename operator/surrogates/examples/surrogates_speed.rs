//! Measures the cost of surrogates: nanoseconds per span for each kind, with a keyed hash.
//!
//! It measures the thread's CPU time where the system provides it (Linux), so that a busy machine gives the
//! same results.
//!
//! ```text
//! cargo run --release -p lethe-surrogates --example surrogates_speed
//! ```

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use lethe_dictionaries::Dictionary;
use lethe_surrogates::{About, Draw, Kind, KnownNames, Real, Surrogates};
use sha2::{Digest, Sha256};

/// A hash over a secret prefix that stands for the caller's function.
struct Keyed(Sha256);

impl Draw for Keyed {
    fn draw(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut hash = self.0.clone();
        for part in parts {
            hash.update((part.len() as u32).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

/// About the distribution in discharge summaries: most spans are names and dates.
const SPANS: &[(Kind, &str)] = &[
    (Kind::Patient, "Okafor, Adaeze N."),
    (Kind::Patient, "Ms. Okafor"),
    (Kind::Doctor, "Dr. Marcus T. Lindqvist, M.D."),
    (Kind::Doctor, "Lindqvsit"),
    (Kind::Date, "03/09/2021"),
    (Kind::Date, "Friday, September 3, 2021"),
    (Kind::Date, "12-15 March 2019"),
    (Kind::Hospital, "St. Brendan's Medical Center"),
    (Kind::City, "Duluth"),
    (Kind::State, "MN"),
    (Kind::Street, "220 Harbor Street, Suite 14"),
    (Kind::Zip, "97103"),
    (Kind::Age, "62-year-old"),
    (Kind::Phone, "(218) 286-4142"),
    (Kind::Email, "t.wrenfield@hospital.test"),
    (Kind::Profession, "schoolteacher"),
    (Kind::MedicalRecord, "448-20-9137"),
    (Kind::Account, "4111 1111 1111 1111"),
    (Kind::Username, "mtlindqvist7"),
];

/// The CPU time of this thread.
struct Timer(Instant, Option<u64>);

impl Timer {
    fn start() -> Self {
        Self(Instant::now(), ran())
    }

    fn seconds(&self) -> f64 {
        match (self.1, ran()) {
            (Some(from), Some(to)) => to.saturating_sub(from) as f64 / 1e9,
            _ => self.0.elapsed().as_secs_f64(),
        }
    }
}

/// Returns the CPU time in nanoseconds, as the scheduler counts it.
fn ran() -> Option<u64> {
    // The scheduler updates the count at its next tick or switch: yielding causes one.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}

const ROUNDS: u32 = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dictionary = Dictionary::builtin();
    let start = Timer::start();
    let surrogates = Surrogates::new(dictionary)?;
    println!("tables            {:>9.1} ms", start.seconds() * 1e3);

    let mentions = [
        "Okafor, Adaeze N.",
        "Ms. Okafor",
        "Dr. Marcus T. Lindqvist, M.D.",
        "Lindqvsit",
        "Chioma",
    ];
    let known = KnownNames::new(["Adaeze Nkechi Okafor", "Chioma Okafor", "Marcus Lindqvist"]);
    let taken = [
        "Duluth",
        "MN",
        "03/09/2021",
        "448-20-9137",
        "St. Brendan's Medical Center",
        "(218) 286-4142",
    ];
    let start = Timer::start();
    for _ in 0..ROUNDS {
        black_box(Real::new(mentions, taken));
    }
    println!(
        "real values       {:>9.0} ns per note",
        start.seconds() * 1e9 / f64::from(ROUNDS)
    );

    let draw = Keyed(Sha256::new_with_prefix([7; 32]));
    let start = Timer::start();
    for i in 0..ROUNDS {
        black_box(draw.draw(&[b"name", &i.to_le_bytes()]));
    }
    println!(
        "a draw            {:>9.0} ns",
        start.seconds() * 1e9 / f64::from(ROUNDS)
    );

    let about = About {
        language: None,
        order: None,
        year: Some(2021),
        days: Some(-83),
        known: &known,
    };
    let mut total = 0.0;
    for &(kind, text) in SPANS {
        let start = Timer::start();
        for _ in 0..ROUNDS {
            black_box(surrogates.surrogate(kind, black_box(text), &about, &draw));
        }
        let each = start.seconds() * 1e9 / f64::from(ROUNDS);
        println!("{:<17} {each:>9.0} ns  {} bytes", kind.label(), text.len());
        total += each;
    }
    println!(
        "mean              {:>9.0} ns per span",
        total / SPANS.len() as f64
    );
    Ok(())
}
