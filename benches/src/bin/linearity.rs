//! Checks that time is linear in a note's length, for every note: `linearity [FILE.jsonl ...]`.
//!
//! Times each note separately several times and keeps the best, so that other work on the machine does not
//! count. The cost of an empty note is subtracted; the rest, per byte, is compared with the median of the
//! notes nearest in length. Then it times one very long note, made of all of them.

use std::hint::black_box;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use lethe_benches::{documents, notes};
use lethe_core::{Action, Carried, Engine, LabelSet, Merging, NoteBatch, Redactor, Voting};
use lethe_dictionaries::Dictionary;
use lethe_taggers::registry::default_rules;

#[derive(Parser)]
#[command(about = "Checks whether any note costs more than its length explains")]
struct Args {
    /// Documents; synthetic notes by default
    files: Vec<PathBuf>,
    /// Number of notes
    #[arg(long, default_value_t = 2000)]
    notes: usize,
    /// Number of timings of each note
    #[arg(long, default_value_t = 15)]
    runs: u32,
    /// Size of the long note, in MB
    #[arg(long, default_value_t = 20)]
    long: usize,
}

/// Number of notes on either side, by length, for a note's median.
const NEIGHBOURS: usize = 50;

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut texts = Vec::new();
    for path in &args.files {
        texts.extend(documents::read(path)?.into_iter().map(|document| document.text));
    }
    if texts.is_empty() {
        texts = notes::notes(args.notes, 11);
    }
    texts.truncate(args.notes);
    texts.retain(|text| !text.is_empty());
    texts.sort_by_key(String::len);

    let labels = Arc::new(LabelSet::i2b2_2014());
    let dictionary = Dictionary::builtin();
    let members = default_rules()
        .iter()
        .map(|config| config.build(&labels, &dictionary))
        .collect::<Result<Vec<_>, _>>()?;
    let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
    let engine = Engine::new(
        labels,
        members,
        Arc::new(Voting::default()),
        Merging::default(),
        redactor,
    );

    let best = |text: &str, runs: u32| -> anyhow::Result<Duration> {
        let mut best = Duration::MAX;
        for _ in 0..runs {
            let started = Instant::now();
            let batch = NoteBatch::from_texts([text])?;
            black_box(engine.process(&batch)?);
            best = best.min(started.elapsed());
        }
        Ok(best)
    };
    let empty = best("", 200)?;
    let mut times = Vec::with_capacity(texts.len());
    for text in &texts {
        times.push(best(text, args.runs)?);
    }
    let per_byte = |i: usize| times[i].saturating_sub(empty).as_secs_f64() / texts[i].len() as f64;
    let mut worst = (0.0, 0);
    for i in 0..texts.len() {
        let from = i.saturating_sub(NEIGHBOURS);
        let mut near: Vec<f64> = (from..(i + NEIGHBOURS + 1).min(texts.len()))
            .map(per_byte)
            .collect();
        near.sort_by(f64::total_cmp);
        let ratio = per_byte(i) / near[near.len() / 2];
        if ratio > worst.0 {
            worst = (ratio, i);
        }
    }
    let mut all: Vec<f64> = (0..texts.len()).map(per_byte).collect();
    all.sort_by(f64::total_cmp);
    let median = all[all.len() / 2];
    let mut to = std::io::stdout().lock();
    let bytes: usize = texts.iter().map(String::len).sum();
    let total: f64 = times.iter().map(Duration::as_secs_f64).sum();
    writeln!(
        to,
        "{} notes, {bytes} bytes; one thread, {:.1} MiB/s; median {:.1} ns a byte",
        texts.len(),
        bytes as f64 / total / f64::from(1 << 20),
        median * 1e9
    )?;
    let (ratio, i) = worst;
    writeln!(
        to,
        "slowest for its length: {:.2} times the median of its neighbours ({} bytes, {:?})",
        ratio,
        texts[i].len(),
        times[i]
    )?;

    let mut long = String::with_capacity(args.long * 1_000_000 + 10_000);
    for text in texts.iter().cycle() {
        if long.len() >= args.long * 1_000_000 {
            break;
        }
        long.push_str(text);
        long.push('\n');
    }
    let took = best(&long, 2)?;
    writeln!(
        to,
        "one note of {} bytes: {took:?}, {:.1} ns a byte, {:.2} times the median note's",
        long.len(),
        took.as_secs_f64() / long.len() as f64 * 1e9,
        took.as_secs_f64() / long.len() as f64 / median
    )?;
    Ok(())
}
