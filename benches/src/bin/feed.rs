//! Fills a Kafka topic with note events: synthetic notes, or a corpus' texts repeated under new ids; at once
//! or at a steady rate.

use std::borrow::Cow;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use lethe_benches::{documents, notes};
use lethe_connectors::kafka::Producer;
use serde_json::json;

/// Maximum number of unconfirmed records.
const IN_FLIGHT: u16 = 20_000;

#[derive(Parser)]
#[command(about = "Fills a Kafka topic with note events")]
struct Args {
    /// Address of a broker, host:port
    #[arg(long)]
    brokers: String,
    /// The topic; it must exist
    #[arg(long)]
    topic: String,
    /// Its number of partitions, which are filled in turn
    #[arg(long)]
    partitions: i32,
    /// Number of notes
    #[arg(long)]
    notes: usize,
    /// Documents whose texts are repeated; synthetic notes by default
    #[arg(long)]
    from: Vec<PathBuf>,
    /// Notes per second, evenly spaced; as fast as possible by default
    #[arg(long, value_parser = rate)]
    rate: Option<f64>,
    /// Creates each note again with unique numbers instead of repeating two thousand
    #[arg(long, conflicts_with = "from")]
    fresh: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && f64::is_finite(rate) => Ok(rate),
        _ => Err("give a number above 0".into()),
    }
}

/// Keeps to a rate over the whole run, so that pauses are made up for and the number of notes follows from
/// the time.
struct Pace {
    started: Instant,
    rate: f64,
    late: Duration,
}

impl Pace {
    /// Waits until note `i` is due.
    fn wait(&mut self, i: usize) {
        let due = self.started + Duration::from_secs_f64(i as f64 / self.rate);
        let now = Instant::now();
        self.late = self.late.max(now.saturating_duration_since(due));
        std::thread::sleep(due.saturating_duration_since(now));
    }
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut texts = Vec::new();
    for path in &args.from {
        texts.extend(documents::read(path)?.into_iter().map(|document| document.text));
    }
    if texts.is_empty() && !args.fresh {
        texts = notes::notes(2000, 1);
    }
    let producer = Producer::plain(&args.brokers, &args.topic, IN_FLIGHT)?;
    let started = Instant::now();
    let mut pace = args.rate.map(|rate| Pace {
        started,
        rate,
        late: Duration::ZERO,
    });
    let mut bytes = 0;
    for i in 0..args.notes {
        let text = match texts.len() {
            0 => Cow::Owned(notes::note(i as u64)),
            some => Cow::Borrowed(&texts[i % some]),
        };
        if let Some(pace) = &mut pace {
            pace.wait(i);
        }
        bytes += text.len();
        let event = json!({ "note_id": format!("note-{i:08}"), "version": 1, "event": "create", "note_type": "Report", "text": text });
        let partition = (i % args.partitions as usize) as i32;
        producer.send(
            Some(partition),
            Some(format!("note-{i:08}").as_bytes()),
            Some(&serde_json::to_vec(&event)?),
        )?;
    }
    let produced = producer.finish()?;
    let seconds = started.elapsed().as_secs_f64();
    let mut to = std::io::stdout().lock();
    writeln!(
        to,
        "{} notes confirmed, {bytes} bytes of text, {seconds:.1} s",
        produced.records
    )?;
    if let Some(pace) = pace {
        writeln!(to, "late by {:.1} s at most", pace.late.as_secs_f64())?;
    }
    Ok(())
}
