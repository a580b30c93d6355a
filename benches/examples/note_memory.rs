//! Measures peak resident memory and time of the engine on one long note of each hostile kind.
//!
//! `cargo run --release -p lethe-benches --example note_memory -- [--bundle DIR] [--megabytes N] [KIND...]`.
//! Each note runs in a separate process. The figure is the peak above that of a process that redacts a note
//! of a few words.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Parser;
use lethe_benches::notes::notes;
use lethe_core::{Action, Carried, Engine, Merging, NoteBatch, Redactor};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::Bundle;

const MIB: f64 = 1024.0 * 1024.0;

/// The kinds of notes; `small` is the baseline.
const KINDS: [&str; 7] = [
    "full-stops",
    "base64",
    "base64-lines",
    "csv",
    "brackets",
    "newlines",
    "prose",
];

#[derive(Parser)]
struct Args {
    /// The bundle that the engine runs.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/en-clinical"))]
    bundle: PathBuf,
    /// The size of each note in millions of bytes.
    #[arg(long, default_value_t = 4)]
    megabytes: usize,
    /// Redacts one note of this kind in this process, and prints its figures.
    #[arg(long, hide = true)]
    one: Option<String>,
    /// The kinds of notes; all by default.
    kinds: Vec<String>,
}

#[expect(clippy::print_stdout, reason = "the table goes there")]
fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let Some(kind) = &args.one {
        return one(&args.bundle, kind, args.megabytes * 1_000_000);
    }
    let kinds = if args.kinds.is_empty() {
        KINDS.map(str::to_owned).to_vec()
    } else {
        args.kinds.clone()
    };
    let (base, _, _) = measured(&args, "small")?;
    println!("a note of a few words: {:.0} MiB", base / MIB);
    println!(
        "{:<14}{:>9}{:>12}{:>11}{:>9}",
        "kind", "MB", "tokens", "above MiB", "seconds"
    );
    for kind in kinds {
        let (peak, tokens, seconds) = measured(&args, &kind)?;
        println!(
            "{kind:<14}{:>9}{tokens:>12}{:>11.0}{seconds:>9.1}",
            args.megabytes,
            (peak - base) / MIB
        );
    }
    Ok(())
}

/// Runs a note in another process. Returns peak memory in bytes, tokens, and seconds.
fn measured(args: &Args, kind: &str) -> anyhow::Result<(f64, usize, f64)> {
    let done = Command::new(std::env::current_exe()?)
        .args(["--one", kind, "--megabytes", &args.megabytes.to_string()])
        .arg("--bundle")
        .arg(&args.bundle)
        .output()?;
    if !done.status.success() {
        bail!("{kind}: {}", String::from_utf8_lossy(&done.stderr));
    }
    let text = String::from_utf8(done.stdout)?;
    let mut figures = text.split_whitespace();
    let mut next = || figures.next().context("three figures");
    Ok((next()?.parse()?, next()?.parse()?, next()?.parse()?))
}

#[expect(clippy::print_stdout, reason = "the process that measures reads it there")]
fn one(bundle: &Path, kind: &str, bytes: usize) -> anyhow::Result<()> {
    let text = text(kind, bytes)?;
    let bundle = Bundle::open(bundle, &Dictionary::builtin())?;
    let redactor = Redactor::new(&bundle.labels, Action::Tag, Carried::default());
    let engine = Engine::new(
        bundle.labels,
        bundle.members,
        bundle.combiner,
        Merging::default(),
        redactor,
    );
    let batch = NoteBatch::from_texts([text.as_str()])?;
    let begun = Instant::now();
    let done = engine.process(&batch)?;
    if !done.quarantined.is_empty() {
        bail!("the note was quarantined");
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{} {} {seconds}", peak()?, batch.note(0).tokens.len());
    Ok(())
}

/// Returns a note of this kind and about this size.
fn text(kind: &str, bytes: usize) -> anyhow::Result<String> {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    let mut text = String::with_capacity(bytes + 64);
    match kind {
        "small" => text.push_str("Seen today by Dr Voss."),
        "full-stops" => text.push_str(&".".repeat(bytes)),
        "brackets" => text.push_str(&"[({})]".repeat(bytes / 6)),
        "newlines" => text.push_str(&"a\n".repeat(bytes / 2)),
        "base64" | "base64-lines" => {
            const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            while text.len() < bytes {
                if kind == "base64-lines" && text.len() % 77 == 76 {
                    text.push('\n');
                }
                text.push(char::from(DIGITS[random() % 64]));
            }
        }
        "csv" => {
            while text.len() < bytes {
                text.push_str(&format!("{},", random() % 100_000));
                if random() % 12 == 0 {
                    text.push('\n');
                }
            }
        }
        "prose" => {
            let notes = notes(64, 7);
            while text.len() < bytes {
                text.push_str(&notes[random() % notes.len()]);
                text.push('\n');
            }
        }
        _ => bail!("no such kind: {kind}; one of {}", KINDS.join(", ")),
    }
    Ok(text)
}

/// Returns the process's peak resident memory so far, in bytes.
fn peak() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .context("VmHWM in /proc/self/status")?
        .trim()
        .parse()?;
    Ok(kib * 1024)
}
