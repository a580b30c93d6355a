//! Measures the share of gold spans that token boundaries can express: `boundaries FILE.jsonl ...`.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Parser;
use lethe_benches::documents;
use lethe_core::tokenize;

#[derive(Parser)]
#[command(about = "Prints the share of gold spans whose two ends are token boundaries")]
struct Args {
    /// Documents with gold spans
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let mut to = std::io::stdout().lock();
    let (mut good, mut all) = (0, 0);
    for path in Args::parse().files {
        let (mut fits, mut spans) = (0, 0);
        for document in documents::read(&path)? {
            let (mut starts, mut ends) = (HashSet::new(), HashSet::new());
            tokenize(&document.text, |token| {
                starts.insert(token.span.start());
                ends.insert(token.span.end());
            });
            spans += document.spans.len();
            // White space at a span's end belongs to no token, so only the text between the ends counts.
            let fit = |span: &lethe_core::Span| {
                let span = span.trimmed(&document.text);
                starts.contains(&span.start()) && ends.contains(&span.end())
            };
            fits += document.spans.iter().filter(|(span, _)| fit(span)).count();
        }
        writeln!(
            to,
            "{}: {fits} of {spans} ({:.3} %)",
            path.display(),
            100.0 * fits as f64 / spans.max(1) as f64
        )?;
        good += fits;
        all += spans;
    }
    writeln!(
        to,
        "all: {good} of {all} ({:.3} %)",
        100.0 * good as f64 / all.max(1) as f64
    )?;
    Ok(())
}
