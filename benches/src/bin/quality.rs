//! Prints binary character recall and precision of `lethe annotate`'s spans, by gold label: `quality GOLD
//! PREDICTED`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::ensure;
use clap::Parser;
use lethe_benches::documents;

#[derive(Parser)]
#[command(about = "Prints binary character recall by gold label, and precision by predicted label")]
struct Args {
    /// Documents with gold spans
    gold: PathBuf,
    /// The same documents, in the same order, from `lethe annotate`
    predicted: PathBuf,
    /// Gold labels to ignore: their characters do not count
    #[arg(long)]
    ignore: Vec<String>,
}

#[derive(Default)]
struct Count {
    hit: usize,
    all: usize,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let (gold, predicted) = (documents::read(&args.gold)?, documents::read(&args.predicted)?);
    ensure!(
        gold.len() == predicted.len(),
        "{} gold documents, {} predicted",
        gold.len(),
        predicted.len()
    );
    let (mut recall, mut precision): (BTreeMap<String, Count>, BTreeMap<String, Count>) = Default::default();
    let (mut found, mut wanted, mut predictions, mut right) = (0, 0, 0, 0);
    for (i, (gold, predicted)) in gold.iter().zip(&predicted).enumerate() {
        ensure!(
            gold.text == predicted.text,
            "document {} is not the same text in both files",
            i + 1
        );
        let mut is_gold = vec![0u8; gold.text.len()];
        let mut is_predicted = vec![false; gold.text.len()];
        for (span, label) in &gold.spans {
            is_gold[span.start()..span.end()].fill(if args.ignore.contains(label) { 2 } else { 1 });
        }
        for (span, _) in &predicted.spans {
            is_predicted[span.start()..span.end()].fill(true);
        }
        let counted: Vec<bool> = {
            let mut counted = vec![false; gold.text.len()];
            gold.text
                .char_indices()
                .filter(|(_, c)| !c.is_whitespace())
                .for_each(|(at, _)| counted[at] = is_gold[at] != 2);
            counted
        };
        for (span, label) in gold
            .spans
            .iter()
            .filter(|(_, label)| !args.ignore.contains(label))
        {
            let count = recall.entry(label.clone()).or_default();
            for at in (span.start()..span.end()).filter(|&at| counted[at]) {
                count.all += 1;
                count.hit += usize::from(is_predicted[at]);
            }
        }
        for (span, label) in &predicted.spans {
            let count = precision.entry(label.clone()).or_default();
            for at in (span.start()..span.end()).filter(|&at| counted[at]) {
                count.all += 1;
                count.hit += usize::from(is_gold[at] == 1);
            }
        }
        for at in (0..gold.text.len()).filter(|&at| counted[at]) {
            let (g, s) = (is_gold[at] == 1, is_predicted[at]);
            wanted += usize::from(g);
            predictions += usize::from(s);
            found += usize::from(g && s);
            right += usize::from(g && s);
        }
    }
    let mut to = std::io::stdout().lock();
    let share = |hit: usize, all: usize| hit as f64 / all.max(1) as f64;
    writeln!(to, "{} documents; characters other than white space", gold.len())?;
    writeln!(
        to,
        "all                              recall {:.4} ({found}/{wanted})   precision {:.4} ({right}/{predictions})",
        share(found, wanted),
        share(right, predictions)
    )?;
    for (label, count) in recall {
        writeln!(
            to,
            "gold {label:<30} recall {:.4} ({}/{})",
            share(count.hit, count.all),
            count.hit,
            count.all
        )?;
    }
    for (label, count) in precision {
        writeln!(
            to,
            "said {label:<30} precision {:.4} ({}/{})",
            share(count.hit, count.all),
            count.hit,
            count.all
        )?;
    }
    Ok(())
}
