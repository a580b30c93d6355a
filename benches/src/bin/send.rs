//! Sends prepared records to a Kafka topic, compressed with zstd: each line of standard input is one.

use std::io::{BufRead as _, Write as _, stdin, stdout};

use clap::Parser;
use lethe_connectors::kafka::Producer;
use rdkafka::ClientConfig;

/// Records that may be on their way at one time.
const IN_FLIGHT: u16 = 20_000;
/// Bytes of a record or a batch at most, its envelope included.
const MOST: usize = 128 << 20;

#[derive(Parser)]
#[command(about = "Sends each line of standard input as a record to a Kafka topic")]
struct Args {
    /// Where the brokers are, host:port
    #[arg(long)]
    brokers: String,
    /// The topic; it must exist
    #[arg(long)]
    topic: String,
    /// Its partitions: records go round them
    #[arg(long, default_value_t = 1)]
    partitions: i32,
    /// All records in one batch
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
        // Nothing leaves before the end of the input: then everything does.
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
