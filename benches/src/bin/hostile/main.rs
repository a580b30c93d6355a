//! What hostile text costs: `hostile [--only WORD] [--sizes KIB,...] [--memory]`.
//!
//! Runs each rule member, each learned member, the whole engine and each parser on texts and payloads that are made to be
//! bad for it, and compares the cost a byte with that of ordinary notes and messages. Exits with 1 if a text costs more than
//! five times as much, or if the cost a byte grows with the size.
//!
//! A parser is bound by what an ordinary message of its format costs in all: the parser, and the engine of the rule members
//! over its note. Ordinary JSON, Avro and Protobuf are little more than a copy of the text, so that a multiple of that says
//! nothing about how long a payload holds up a partition; a multiple of the whole does. Both multiples are printed. Hostile
//! messages are run through parser and engine too (`message NAME`), and compared with ordinary ones.
//!
//! Learned members and the engine get an eighth of each size. A shape that is over a bound is measured again, by turns with the plain
//! work, and the best of each counts.
//!
//! With `--memory`, parsers are run once over each payload of the largest size, each in a process of its own, and the bound is on
//! the memory that reading takes in addition to the payload.

mod known;
mod measure;
mod members;
mod memory;
mod parsers;
mod payloads;
mod tables;
mod texts;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use measure::{Make, Measured, Subject, measure};

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
    /// The highest cost a byte, as a multiple of the plain cost; of parsers, of the cost of an ordinary message in all
    #[arg(long, default_value_t = 5.0)]
    most: f64,
    /// The most that the cost a byte may grow from the smallest to the largest size
    #[arg(long, default_value_t = 2.5)]
    growth: f64,
    /// Measures the peak memory of parsers instead of times
    #[arg(long)]
    memory: bool,
    /// The most memory that a payload may take beside itself, as a multiple of its bytes; 32 MiB are always within it
    #[arg(long, default_value_t = 25.0)]
    most_memory: f64,
    /// Reads one payload in this process, of this parser and shape
    #[arg(long, hide = true)]
    one: Option<String>,
    /// Prints every shape; by default only the five worst of each subject and those over a bound
    #[arg(long)]
    all: bool,
}

/// How often a shape over a bound is measured again, by turns with the plain work: a machine that is shared slows one of the two down
/// at a time.
const AGAIN: usize = 4;

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
    let mut to = std::io::stdout().lock();
    let mut over = 0;
    if args.memory {
        over += memory::report(&args, &wanted, &mut to)?;
        if args.one.is_some() {
            return Ok(ExitCode::SUCCESS);
        }
    } else {
        let mut subjects = members::subjects(&wanted)?;
        subjects.extend(known::subjects(&wanted)?);
        for subject in subjects {
            over += report(&args, &subject, None, &mut to)?;
        }
        for parser in parsers::subjects(&wanted)? {
            for (subject, whole) in [(&parser.alone, Some(&parser.whole)), (&parser.messages, None)] {
                if wanted(&subject.name) {
                    over += report(&args, subject, whole, &mut to)?;
                }
            }
        }
    }
    writeln!(to, "\n{over} over a bound")?;
    Ok(if over == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Measures one subject and prints its table. Returns how many shapes are over a bound.
///
/// `whole` is the work that shapes are bound by; without it they are bound by the subject's own plain work.
fn report(
    args: &Args,
    subject: &Subject,
    whole: Option<&Make>,
    to: &mut impl std::io::Write,
) -> anyhow::Result<usize> {
    let limit = Duration::from_secs_f64(args.limit);
    let sizes: Vec<usize> = args.sizes.iter().map(|kib| (kib << 10) / subject.scale).collect();
    let middle = sizes.get(sizes.len() / 2).copied().unwrap_or(1 << 18);
    let one = |make: &Make| {
        let sizes = measure(make, &[middle], limit);
        sizes.first().map_or(f64::NAN, |one| one.per_byte)
    };
    let mut plain = one(&subject.plain);
    let mut whole = whole.map(|make| (make, one(make)));
    let wanted = |shape: &str| args.shape.as_ref().is_none_or(|word| shape.contains(word));
    let shapes = subject.shapes.iter().filter(|(shape, _)| wanted(shape));
    let mut measured: Vec<_> = shapes
        .map(|(shape, make)| (shape.clone(), make, measure(make, &sizes, limit)))
        .filter(|(.., sizes)| !sizes.is_empty())
        .collect();
    for _ in 0..AGAIN {
        for (_, make, best) in &mut measured {
            let bound = whole.map_or(plain, |(_, whole)| whole);
            if worst(best) <= args.most * bound && growth(best) <= args.growth {
                continue;
            }
            plain = plain.min(one(&subject.plain));
            whole = whole.map(|(make, whole)| (make, whole.min(one(make))));
            for (best, again) in best.iter_mut().zip(measure(make, &sizes, limit)) {
                best.per_byte = best.per_byte.min(again.per_byte);
            }
        }
    }
    write!(to, "\n{}: plain {:.1} ns a byte", subject.name, plain * 1e9)?;
    match whole {
        Some((_, whole)) => writeln!(to, ", {:.1} with the engine of rules", whole * 1e9)?,
        None => writeln!(to)?,
    }
    let row = |(shape, _, sizes): (String, &Make, Vec<Measured>)| Row {
        shape,
        ratio: worst(&sizes) / plain,
        growth: growth(&sizes),
        sizes,
    };
    let mut rows: Vec<Row> = measured.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    let mut over = 0;
    for (i, row) in rows.iter().enumerate() {
        let bound = whole.map_or(row.ratio, |(_, whole)| row.ratio * plain / whole);
        let costly = bound > args.most;
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
            "  {:<28} {} ns a byte, {:6.2} times plain{}, growth {:5.2}{}{}",
            row.shape,
            figures.join(" "),
            row.ratio,
            whole.map_or(String::new(), |_| format!(", {bound:5.2} times the whole")),
            row.growth,
            if costly { "  COSTLY" } else { "" },
            if grows { "  GROWS" } else { "" },
        )?;
    }
    to.flush()?;
    Ok(over)
}

/// The highest cost a byte among the sizes.
fn worst(sizes: &[Measured]) -> f64 {
    sizes.iter().map(|one| one.per_byte).fold(0.0, f64::max)
}

/// How the cost a byte grows from the smallest to the largest size.
fn growth(sizes: &[Measured]) -> f64 {
    match (sizes.first(), sizes.last()) {
        (Some(first), Some(last)) => last.per_byte / first.per_byte,
        _ => f64::NAN,
    }
}
