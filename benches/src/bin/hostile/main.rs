//! What hostile text costs: `hostile [--only WORD] [--sizes KIB,...]`.
//!
//! Runs each rule member, each learned member, the whole engine and each parser on texts and payloads that are made to be
//! bad for it, and compares the cost a byte with that of ordinary notes and messages. Exits with 1 if a text costs more than
//! five times as much, or if the cost a byte grows with the size.
//!
//! Learned members and the engine get an eighth of each size.

mod known;
mod measure;
mod members;
mod parsers;
mod payloads;
mod texts;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use measure::{Measured, Subject, measure};

#[derive(Parser)]
#[command(about = "Compares the cost a byte of hostile texts with that of ordinary notes")]
struct Args {
    /// Runs the subjects whose name contains one of these words; all by default
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Runs the shapes whose name contains this word; all by default
    #[arg(long)]
    shape: Option<String>,
    /// Sizes of a text, in KiB, smallest first
    #[arg(long, value_delimiter = ',', default_value = "64,256,1024")]
    sizes: Vec<usize>,
    /// Does not try a larger size after one run took this many seconds
    #[arg(long, default_value_t = 4.0)]
    limit: f64,
    /// The highest cost a byte, as a multiple of the plain cost
    #[arg(long, default_value_t = 5.0)]
    most: f64,
    /// The most that the cost a byte may grow from the smallest to the largest size
    #[arg(long, default_value_t = 2.5)]
    growth: f64,
    /// Prints every shape; by default only the five worst of each subject and those over a bound
    #[arg(long)]
    all: bool,
}

/// A shape's figures.
struct Row {
    shape: String,
    sizes: Vec<Measured>,
    ratio: f64,
    growth: f64,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|word| name.contains(word));
    let mut subjects = members::subjects(&wanted)?;
    subjects.extend(known::subjects(&wanted)?);
    subjects.extend(parsers::subjects(&wanted)?);
    let mut to = std::io::stdout().lock();
    let mut over = 0;
    for subject in subjects {
        over += report(&args, &subject, &mut to)?;
    }
    writeln!(to, "\n{over} over a bound")?;
    Ok(if over == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Measures one subject and prints its table. Returns how many shapes are over a bound.
fn report(args: &Args, subject: &Subject, to: &mut impl std::io::Write) -> anyhow::Result<usize> {
    let limit = Duration::from_secs_f64(args.limit);
    let sizes: Vec<usize> = args.sizes.iter().map(|kib| (kib << 10) / subject.scale).collect();
    let middle = sizes.get(sizes.len() / 2).copied().unwrap_or(1 << 18);
    let plain = measure(&subject.plain, &[middle], limit)
        .first()
        .map_or(f64::NAN, |one| one.per_byte);
    writeln!(to, "\n{}: plain {:.1} ns a byte", subject.name, plain * 1e9)?;
    let mut rows = Vec::new();
    for (shape, make) in &subject.shapes {
        if args.shape.as_ref().is_some_and(|word| !shape.contains(word)) {
            continue;
        }
        let sizes = measure(make, &sizes, limit);
        let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else {
            continue;
        };
        let worst = sizes.iter().map(|one| one.per_byte).fold(0.0, f64::max);
        rows.push(Row {
            shape: shape.clone(),
            ratio: worst / plain,
            growth: last.per_byte / first.per_byte,
            sizes,
        });
    }
    rows.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    let mut over = 0;
    for (i, row) in rows.iter().enumerate() {
        let costly = row.ratio > args.most;
        // A cheap text that becomes dearer is no danger: caches explain it.
        let grows = row.growth > args.growth && row.ratio > 1.0;
        over += usize::from(costly || grows);
        if !(args.all || i < 5 || costly || grows) {
            continue;
        }
        let figures: Vec<String> = row
            .sizes
            .iter()
            .map(|one| format!("{:9.1}", one.per_byte * 1e9))
            .collect();
        writeln!(
            to,
            "  {:<28} {} ns a byte, {:6.2} times plain, growth {:5.2}{}{}",
            row.shape,
            figures.join(" "),
            row.ratio,
            row.growth,
            if costly { "  COSTLY" } else { "" },
            if grows { "  GROWS" } else { "" },
        )?;
    }
    to.flush()?;
    Ok(over)
}
