//! Fills a vault in a file, and measures its look-ups.
//!
//! ```text
//! cargo run --release -p lethe-secrets --example vault_speed -- fill FILE 10000000
//! cargo run --release -p lethe-secrets --example vault_speed -- look-up FILE 10000000 [LOOK-UPS]
//! cargo run --release -p lethe-secrets --example vault_speed -- keyed
//! ```
//!
//! `fill` requests new codes in batches of 200,000, each one transaction, like a backfill; it continues where
//! it was stopped. `look-up` requests existing codes, one value per call, in random order: first alone, then
//! while another connection writes new codes. `keyed` measures the functions that need no store.

#![allow(clippy::print_stdout, reason = "an example's figures are its output")]

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lethe_secrets::{CodeLength, Keyring, Pseudonyms, Sealer, ShiftRule, SqliteVault, Vault, VaultKey};

/// Invented for this measurement.
const KEY: &str = "speed:f29a1c40d7e85b3361fe07ca9284bd15a0c35e76892b1d4f60e7f8a9cb3d2e51";
const BATCH: u64 = 200_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["fill", file, count] => fill(Path::new(file), count.parse()?),
        ["look-up", file, count] => look_up(Path::new(file), count.parse()?, 200_000),
        ["look-up", file, count, look_ups] => look_up(Path::new(file), count.parse()?, look_ups.parse()?),
        ["keyed"] => keyed(),
        _ => Err("usage: vault_speed fill FILE COUNT | look-up FILE COUNT [LOOK-UPS] | keyed".into()),
    }
}

/// Returns the value of this number: a record number of a patient who has ten values.
fn texts(number: u64) -> (String, String) {
    (format!("patient-{:08}", number / 10), format!("MRN {number:010}"))
}

fn codes(vault: &SqliteVault, numbers: impl Iterator<Item = u64>) -> Result<usize, Box<dyn Error>> {
    let texts: Vec<_> = numbers.map(texts).collect();
    let keys: Vec<_> = texts
        .iter()
        .map(|(scope, value)| VaultKey {
            label: "MEDICALRECORD",
            scope,
            value,
        })
        .collect();
    Ok(vault.codes(&keys)?.len())
}

fn fill(file: &Path, count: u64) -> Result<(), Box<dyn Error>> {
    let vault = SqliteVault::open_or_create(file, &Keyring::parse_short(KEY)?)?;
    let began = Instant::now();
    for start in (0..count).step_by(BATCH as usize) {
        let batch = Instant::now();
        codes(&vault, start..(start + BATCH).min(count))?;
        println!(
            "{start:>10}  {:>6.1} s, this batch {:.1} s",
            began.elapsed().as_secs_f64(),
            batch.elapsed().as_secs_f64()
        );
    }
    println!("{} MB", std::fs::metadata(file)?.len() / 1_000_000);
    Ok(())
}

fn look_up(file: &Path, count: u64, look_ups: usize) -> Result<(), Box<dyn Error>> {
    let keyring = Keyring::parse_short(KEY)?;
    let vault = SqliteVault::open(file, &keyring)?;
    report("alone, first 1,000", measure(&vault, count, 1000, 1)?);
    report("alone", measure(&vault, count, look_ups, 2)?);
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let other = SqliteVault::open(file, &keyring).map_err(|error| error.to_string())?;
            // Far beyond what `fill` wrote, and new in each run.
            let mut next = u64::from(std::process::id()) << 32;
            while !stop.load(Ordering::Relaxed) {
                codes(&other, next..next + 20).map_err(|error| error.to_string())?;
                next += 20;
                written.fetch_add(20, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok::<_, String>(())
        });
        let times = measure(&vault, count, look_ups, 3);
        stop.store(true, Ordering::Relaxed);
        writer.join().map_err(|_| "the writer panicked")??;
        report("beside a writer", times?);
        println!("written meanwhile: {} codes", written.load(Ordering::Relaxed));
        Ok(())
    })
}

fn measure(
    vault: &SqliteVault,
    count: u64,
    look_ups: usize,
    seed: u64,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut times = Vec::with_capacity(look_ups);
    for _ in 0..look_ups {
        // xorshift64: the order only needs to be irregular.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (scope, value) = texts(state % count);
        let key = VaultKey {
            label: "MEDICALRECORD",
            scope: &scope,
            value: &value,
        };
        let began = Instant::now();
        vault.codes(&[key])?;
        times.push(began.elapsed());
    }
    Ok(times)
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    println!(
        "{what}: {} look-ups, median {:.1} µs, p90 {:.1}, p99 {:.1}, p99.9 {:.1}, longest {:.0}",
        times.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

fn keyed() -> Result<(), Box<dyn Error>> {
    let keyring = Keyring::parse_short(KEY)?;
    let key = keyring.current();
    let (prf, sealer) = (
        key.prf("patient-00000001"),
        Sealer::new(&keyring, "patient-00000001"),
    );
    let codes = Pseudonyms::new(key, "patient-00000001", CodeLength::default());
    let token = sealer.seal("PATIENT", "Cornelius Quill")?;
    time("prf, two parts", || {
        Ok(u64::from(prf.code(&["PATIENT", "Cornelius Quill"])[0]))
    });
    time("prf bound to a patient", || {
        Ok(u64::from(key.prf("patient-00000001").code(&["x"])[0]))
    });
    time("pseudonym", || {
        Ok(codes.code("PATIENT", "Cornelius Quill").len() as u64)
    });
    time("shift", || {
        Ok(u64::from(
            ShiftRule::default().days(key, "patient-00000001").unsigned_abs(),
        ))
    });
    time("sealer of a patient", || {
        Ok(format!("{:?}", Sealer::new(&keyring, "patient-00000001")).len() as u64)
    });
    time("seal", || {
        Ok(sealer.seal("PATIENT", "Cornelius Quill")?.len() as u64)
    });
    time("open", || Ok(sealer.open(&token)?.len() as u64));
    Ok(())
}

/// Returns the median of 50 runs of 2,000 calls.
fn time(what: &str, mut call: impl FnMut() -> Result<u64, lethe_secrets::SealError>) {
    let mut runs: Vec<f64> = (0..50)
        .map(|_| {
            let began = Instant::now();
            for _ in 0..2000 {
                std::hint::black_box(call().unwrap_or(0));
            }
            began.elapsed().as_secs_f64() * 1e9 / 2000.0
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    println!("{what}: {:.0} ns", runs[25]);
}
