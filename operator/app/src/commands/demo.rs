//! `lethe demo`: runs the whole pipeline on sample notes, without any set-up.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use lethe_connectors::kafka::EmbeddedBroker;
use lethe_core::NoteBatch;

use super::documents::explain;
use super::run::{operate, runtime};
use crate::cli::DemoArgs;
use crate::config::{Config, parse};
use crate::exit::usage;

/// Invented notes as events. The demo adds a payload that is not an event, and a tombstone.
const NOTES: &str = include_str!("../../demo/notes.jsonl");
const TOPIC: &str = "notes";
const PARTITIONS: i32 = 4;

/// Runs the demo.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let out = &args.out;
    if out.exists()
        && std::fs::read_dir(out)
            .map(|mut entries| entries.next().is_some())
            .unwrap_or(true)
    {
        return Err(usage(format!(
            "{} already exists and is not empty; choose another folder with --out",
            out.display()
        )));
    }
    std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let broker = EmbeddedBroker::start().context("cannot start the embedded broker")?;
    broker
        .create_topic(TOPIC, PARTITIONS)
        .context("cannot create a topic in the embedded broker")?;
    let mut payloads: Vec<Option<&str>> = NOTES.lines().map(Some).collect();
    payloads.push(Some("this is not a note event"));
    payloads.push(None);
    let keyed = payloads
        .iter()
        .enumerate()
        .map(|(key, payload)| (key.to_string(), *payload));
    broker
        .produce(TOPIC, keyed)
        .context("cannot send notes to the embedded broker")?;

    let config_path = out.join("lethe.toml");
    let bundle = args.bundle.as_deref();
    let text = config(broker.bootstrap_servers(), bundle)?;
    std::fs::write(&config_path, &text).with_context(|| format!("cannot write {}", config_path.display()))?;
    let config = parse(&text, &config_path.display().to_string())?;
    let runtime = runtime()?;
    let config = Arc::new(config);
    let summary = operate(&config, &runtime, true)?;
    show(out, &config, payloads.len(), &summary.to_string())
}

fn config(brokers: &str, bundle: Option<&Path>) -> anyhow::Result<String> {
    let quote = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let engine = match bundle {
        Some(bundle) => {
            let refused = |error: &dyn std::fmt::Display| usage(format!("--bundle {error}"));
            let folder = crate::bundle_argument::bundle(bundle).map_err(|error| refused(&error))?;
            // The written configuration may be run from another folder.
            let bundle = if lethe_bundles::is_shipped(&folder) {
                bundle.to_owned()
            } else {
                let place = |error| refused(&format!("{}: {error}", folder.display()));
                folder.canonicalize().map_err(place)?
            };
            let bundle = bundle.to_str().context("the bundle's name is not UTF-8")?;
            format!("[engine]\nbundle = {}\n\n", quote(bundle))
        }
        None => String::new(),
    };
    Ok(format!(
        "# The configuration that the demo ran with. The broker lived in the same process and is gone;\n\
         # point `brokers` at your own and run `lethe run -c` on this file.\n\n\
         [source]\nkind = \"kafka\"\nbrokers = [{}]\ntopics = [\"{TOPIC}\"]\ngroup = \"lethe-demo\"\n\n{engine}\
         [sink]\nstore = {{ kind = \"folder\", path = {} }}\n",
        quote(brokers),
        quote("data"),
    ))
}

fn show(out: &Path, config: &Config, events: usize, summary: &str) -> anyhow::Result<()> {
    let before = sample();
    let built = config.engine.build()?;
    let batch = NoteBatch::from_texts([before.as_str()])?;
    let after = built
        .engine
        .redact(&batch, 0, &built.engine.decide(&batch)[0])
        .map_err(|why| anyhow::anyhow!(explain(why)))?
        .text;
    let mut to = std::io::stdout().lock();
    writeln!(
        to,
        "{events} events were sent to an embedded Kafka topic with {PARTITIONS} partitions: 11 invented notes, a note that was"
    )?;
    writeln!(
        to,
        "withdrawn, a payload that is not a note, and a tombstone. All of them became rows of Parquet files:\n  {summary}\n"
    )?;
    writeln!(
        to,
        "One of the notes before:\n{}\nand after:\n{}",
        indented(&before),
        indented(&after)
    )?;
    writeln!(to, "Redacted notes  {}", out.join("data/notes").display())?;
    writeln!(to, "Audit trail     {}", out.join("data/audit").display())?;
    writeln!(to, "Configuration   {}", out.join("lethe.toml").display())?;
    writeln!(
        to,
        "\nInspect them:   lethe inspect {}",
        out.join("data").display()
    )?;
    writeln!(
        to,
        "                duckdb -c \"from '{}'\"",
        out.join("data/notes/**/*.parquet").display()
    )?;
    Ok(())
}

/// Returns the text of the second sample note.
fn sample() -> String {
    let event = NOTES
        .lines()
        .nth(1)
        .and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    event
        .and_then(|event| event["text"].as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_notes_are_events_that_the_format_takes() {
        let format = lethe_connectors::format::FormatConfig::default().build().unwrap();
        for line in NOTES.lines() {
            format.read(line.as_bytes()).unwrap();
        }
        assert!(!sample().is_empty());
    }
}
