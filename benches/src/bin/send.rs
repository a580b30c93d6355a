//! Sends prepared records to a Kafka topic, compressed with zstd: one per line of standard input.

use std::io::{BufRead as _, Write as _, stdin, stdout};

use clap::Parser;
use lethe_connectors::kafka::Producer;
use rdkafka::ClientConfig;

/// Maximum number of unconfirmed records.
const IN_FLIGHT: u16 = 20_000;
/// Maximum bytes of a record or a batch, including its envelope.
const MOST: usize = 128 << 20;

#[derive(Parser)]
#[command(about = "Sends each line of standard input as a record to a Kafka topic")]
struct Args {
    /// Address of a broker, host:port
    #[arg(long)]
    brokers: String,
    /// The topic; it must exist
    #[arg(long)]
    topic: String,
    /// Its number of partitions, which are filled in turn
    #[arg(long, default_value_t = 1)]
    partitions: i32,
    /// Puts all records into one batch
    #[arg(long)]
    one_batch: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &args.brokers)
        .set("message.max.bytes", MOST.to_string())
        .set("compression.type", "zstd");
    if args.one_batch {
        // Nothing is sent before the end of the input, and then everything is.
        config
            .set("batch.size", MOST.to_string())
            .set("batch.num.messages", "1000000")
            .set("linger.ms", "60000");
    }
    let producer = Producer::new(&config, &args.topic, IN_FLIGHT)?;
    let mut lines = stdin().lock();
    let mut line = Vec::new();
    let mut sent = 0;
    while lines.read_until(b'\n', &mut line)? > 0 {
        let payload = line.strip_suffix(b"\n").unwrap_or(&line);
        producer.send(Some(sent % args.partitions), None, Some(payload))?;
        sent += 1;
        line.clear();
    }
    let produced = producer.finish()?;
    writeln!(stdout(), "{} records confirmed", produced.records)?;
    Ok(())
}
