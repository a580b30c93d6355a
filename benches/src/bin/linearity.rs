//! Checks that time is linear in a note's length, for every note: `linearity [FILE.jsonl ...]`.
//!
//! Times each note separately, in several passes over all of them, and keeps the best processor time, so that
//! other work on the machine does not count. The notes in between keep the caches of the members as a stream of
//! notes does. The cost of an empty note is subtracted; the rest, per byte, is compared with the median of all
//! notes, and with that of the notes nearest in length. Then it times one very long note, made of all of them.

use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use lethe_benches::{documents, notes};
use lethe_core::{Action, Carried, Combine, Engine, LabelSet, Merging, NoteBatch, Redactor, Voting};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::Bundle;
use lethe_taggers::registry::default_rules;
use rustix::time::{ClockId, clock_gettime};

#[derive(Parser)]
#[command(about = "Checks whether any note costs more than its length explains")]
struct Args {
    /// Documents; synthetic notes by default
    files: Vec<PathBuf>,
    /// Number of notes
    #[arg(long, default_value_t = 2000)]
    notes: usize,
    /// The bundle whose members read the notes, a folder; the rules by default
    #[arg(long)]
    bundle: Option<PathBuf>,
    /// Number of passes over the notes
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Size of the long note, in MB
    #[arg(long, default_value_t = 20)]
    long: usize,
}

/// Number of notes on either side, by length, for a note's median.
const NEIGHBOURS: usize = 50;

/// Returns the engine of a bundle, or of the rules.
fn engine(bundle: Option<&Path>) -> anyhow::Result<Engine> {
    let dictionary = Dictionary::builtin();
    let (labels, members, combiner): (_, _, Arc<dyn Combine>) = if let Some(folder) = bundle {
        let bundle = Bundle::open(folder, &dictionary)?;
        (bundle.labels, bundle.members, bundle.combiner)
    } else {
        let labels = Arc::new(LabelSet::i2b2_2014());
        let rules = default_rules();
        let members = rules.iter().map(|config| config.build(&labels, &dictionary));
        let members = members.collect::<Result<Vec<_>, _>>()?;
        (labels, members, Arc::new(Voting::default()))
    };
    let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
    Ok(Engine::new(
        labels,
        members,
        combiner,
        Merging::default(),
        redactor,
    ))
}

/// Returns the processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

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

    let engine = engine(args.bundle.as_deref())?;
    let time = |text: &str| -> anyhow::Result<Duration> {
        let started = processor_time();
        let batch = NoteBatch::from_texts([text])?;
        black_box(engine.process(&batch)?);
        Ok(processor_time().saturating_sub(started))
    };
    let best = |text: &str, runs: u32| -> anyhow::Result<Duration> {
        let mut best = Duration::MAX;
        for _ in 0..runs {
            best = best.min(time(text)?);
        }
        Ok(best)
    };
    let empty = best("", 200)?;
    let mut times = vec![Duration::MAX; texts.len()];
    for _ in 0..args.runs {
        for (best, text) in times.iter_mut().zip(&texts) {
            *best = time(text)?.min(*best);
        }
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
    let slowest = (0..texts.len()).max_by(|&i, &j| per_byte(i).total_cmp(&per_byte(j)));
    if let Some(i) = slowest {
        writeln!(
            to,
            "slowest: {:.2} times the median per byte ({} bytes, {:?})",
            per_byte(i) / median,
            texts[i].len(),
            times[i]
        )?;
    }
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
