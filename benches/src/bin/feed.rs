//! Fills a Kafka topic with note events: invented notes, or a corpus' texts repeated under new ids.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use lethe_benches::{documents, notes};
use lethe_connectors::kafka::Producer;
use serde_json::json;

/// Records that may be on their way at one time.
const IN_FLIGHT: u16 = 20_000;

#[derive(Parser)]
#[command(about = "Fills a Kafka topic with note events")]
struct Args {
    /// Where the brokers are, host:port
    #[arg(long)]
    brokers: String,
    /// The topic; it must be there
    #[arg(long)]
    topic: String,
    /// Its partitions: notes go round them
    #[arg(long)]
    partitions: i32,
    /// How many notes
    #[arg(long)]
    notes: usize,
    /// Documents whose texts are used, over and over; invented notes if not given
    #[arg(long)]
    from: Vec<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut texts = Vec::new();
    for path in &args.from {
        texts.extend(documents::read(path)?.into_iter().map(|document| document.text));
    }
    if texts.is_empty() {
        texts = notes::notes(2000, 1);
    }
    let producer = Producer::plain(&args.brokers, &args.topic, IN_FLIGHT)?;
    let started = Instant::now();
    let mut bytes = 0;
    for (i, text) in texts.iter().cycle().take(args.notes).enumerate() {
        bytes += text.len();
        let event = json!({ "note_id": format!("note-{i:08}"), "version": 1, "event": "create", "note_type": "Report", "text": text });
        let partition = i as i32 % args.partitions;
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
    Ok(())
}
