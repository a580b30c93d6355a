//! Measures the cost of hostile text: `hostile [--only WORD] [--sizes KIB,...] [--memory]`.
//!
//! Runs each rule member, each learned member, the whole engine and each parser on texts and payloads that
//! are hostile to it, and compares the cost per byte with that of ordinary notes and messages. Exits with 1
//! if a text costs more than five times as much, or if the cost per byte grows with the size.
//!
//! A parser is bounded by the whole cost of an ordinary message of its format: the parser, and the engine of
//! the rule members on its note. Parsing ordinary JSON, Avro and Protobuf is little more than a copy of the
//! text, so a multiple of that does not tell how long a payload delays a partition; a multiple of the whole
//! does. Both multiples are printed. Hostile messages are also run through parser and engine (`message
//! NAME`), and compared with ordinary ones.
//!
//! Learned members and the engine get an eighth of each size. Each shape is compared with plain work that is
//! measured right before it, since on a shared machine other work slows everything down for seconds. A shape
//! over a bound is measured several times, and the median counts.
//!
//! With `--memory`, each parser runs once on each payload of the largest size, in a separate process, and the
//! bound is on the memory that reading takes in addition to the payload.

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
#[command(about = "Compares the cost per byte of hostile texts with that of ordinary notes")]
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
    /// The highest cost per byte, as a multiple of the plain cost; for parsers, of the whole cost of an
    /// ordinary message
    #[arg(long, default_value_t = 5.0)]
    most: f64,
    /// The maximum growth of the cost per byte from the smallest to the largest size
    #[arg(long, default_value_t = 2.5)]
    growth: f64,
    /// Measures the peak memory of parsers instead of times
    #[arg(long)]
    memory: bool,
    /// The maximum memory of a payload in addition to itself, as a multiple of its bytes; 32 MiB are always
    /// allowed
    #[arg(long, default_value_t = 25.0)]
    most_memory: f64,
    /// Reads one payload in this process, of this parser and shape
    #[arg(long, hide = true)]
    one: Option<String>,
    /// Prints every shape; by default only the five worst of each subject and those over a bound
    #[arg(long)]
    all: bool,
}

/// How often a shape over a bound is measured again.
const AGAIN: usize = 6;

/// The cost of a shape and of the plain work before it.
struct Round {
    sizes: Vec<Measured>,
    /// Seconds per byte of the plain work, and of the whole work if that is the reference.
    plain: f64,
    whole: Option<f64>,
}

impl Round {
    /// Returns the highest cost per byte as a multiple of the reference.
    fn ratio(&self) -> f64 {
        worst(&self.sizes) / self.whole.unwrap_or(self.plain)
    }

    /// Returns whether the cost per byte grows with the size. A cheap text that becomes more expensive is
    /// harmless: caches explain it.
    fn grows(&self, args: &Args) -> bool {
        growth(&self.sizes) > args.growth && worst(&self.sizes) > self.plain
    }
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
/// `whole` is the reference work of shapes; without it, the subject's own plain work.
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
    let wanted = |shape: &str| args.shape.as_ref().is_none_or(|word| shape.contains(word));
    let mut rows = Vec::new();
    for (shape, make) in subject.shapes.iter().filter(|(shape, _)| wanted(shape)) {
        let round = || Round {
            plain: one(&subject.plain),
            whole: whole.map(one),
            sizes: measure(make, &sizes, limit),
        };
        let mut rounds = vec![round()];
        if rounds[0].ratio() > args.most || rounds[0].grows(args) {
            rounds.extend((0..AGAIN).map(|_| round()));
        }
        rounds.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        let grows = rounds.iter().filter(|round| round.grows(args)).count() * 2 > rounds.len();
        rows.push((shape, rounds.swap_remove(rounds.len() / 2), grows));
    }
    rows.sort_by(|(_, a, _), (_, b, _)| b.ratio().total_cmp(&a.ratio()));
    let plain = rows
        .iter()
        .map(|(_, round, _)| round.plain)
        .fold(f64::NAN, f64::min);
    write!(to, "\n{}: plain {:.1} ns a byte", subject.name, plain * 1e9)?;
    let least = rows
        .iter()
        .filter_map(|(_, round, _)| round.whole)
        .reduce(f64::min);
    match least {
        Some(whole) => writeln!(to, ", {:.1} with the engine of rules", whole * 1e9)?,
        None => writeln!(to)?,
    }
    let mut over = 0;
    for (i, (shape, round, grows)) in rows.iter().enumerate() {
        let costly = round.ratio() > args.most;
        over += usize::from(costly || *grows);
        if !(args.all || i < 5 || costly || *grows) {
            continue;
        }
        let figures: Vec<String> = round
            .sizes
            .iter()
            .map(|one| format!("{:9.1}", one.per_byte * 1e9))
            .collect();
        writeln!(
            to,
            "  {:<28} {} ns a byte, {:6.2} times plain{}, growth {:5.2}{}{}",
            shape,
            figures.join(" "),
            worst(&round.sizes) / round.plain,
            round.whole.map_or(String::new(), |_| format!(
                ", {:5.2} times the whole",
                round.ratio()
            )),
            growth(&round.sizes),
            if costly { "  COSTLY" } else { "" },
            if *grows { "  GROWS" } else { "" },
        )?;
    }
    to.flush()?;
    Ok(over)
}

/// Returns the highest cost per byte among the sizes.
fn worst(sizes: &[Measured]) -> f64 {
    sizes.iter().map(|one| one.per_byte).fold(0.0, f64::max)
}

/// Returns the growth of the cost per byte from the smallest to the largest size.
fn growth(sizes: &[Measured]) -> f64 {
    match (sizes.first(), sizes.last()) {
        (Some(first), Some(last)) => last.per_byte / first.per_byte,
        _ => f64::NAN,
    }
}
