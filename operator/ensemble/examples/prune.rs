//! Prunes members by their predictions, prints the path of each threshold, and writes the report as JSON and as a page
//! where `REPORT` says (`REPORT.json`, `REPORT.html`). `MEASURE`, `FLOOR` and `CEILING` say what for; `EVERY_SET` looks at every set.
//!
//! `REPORT=/tmp/pruned cargo run --release -p lethe-ensemble --example prune -- GOLD.jsonl NAME=PREDICTIONS.jsonl...`

#![allow(clippy::print_stdout, reason = "an example's answer is what it prints")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use lethe_corpus::read_jsonl;
use lethe_ensemble::prune::page;
use lethe_ensemble::{Measure, Objective, PruneOptions, Pruned, Said, prune};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let gold = arguments.next().ok_or("GOLD.jsonl NAME=PREDICTIONS.jsonl...")?;
    let mut members = Vec::new();
    for argument in arguments {
        let (name, path) = argument.split_once('=').ok_or("NAME=PREDICTIONS.jsonl")?;
        members.push((name.to_owned(), read_jsonl(Path::new(path))?));
    }
    let said = Said::new(read_jsonl(Path::new(&gold))?, members, None)?;
    let variable = |name: &str| std::env::var(name).ok();
    let start = Instant::now();
    let options = PruneOptions {
        objective: Objective {
            measure: variable("MEASURE").map_or_else(|| Ok(Measure::default()), |it| it.parse())?,
            floor: variable("FLOOR").map(|it| it.parse()).transpose()?,
            ceiling: variable("CEILING").map(|it| it.parse()).transpose()?,
        },
        cover_beaten: variable("COVER").is_some(),
        every_set: variable("EVERY_SET").is_some(),
        by_category: true,
        ..PruneOptions::default()
    };
    let pruned = prune(&said, &options)?;
    println!("pruned in {:.3} s", start.elapsed().as_secs_f64());
    show(&pruned);
    if let Some(report) = variable("REPORT") {
        std::fs::write(format!("{report}.json"), serde_json::to_vec_pretty(&pruned)?)?;
        std::fs::write(format!("{report}.html"), page(&pruned, &[], "Pruned"))?;
    }
    Ok(())
}

fn show(pruned: &Pruned) {
    for member in &pruned.members {
        println!(
            "{:>2} {:<14} F1 {:.4}",
            member.rank + 1,
            member.name,
            member.tally.f1()
        );
    }
    for path in &pruned.paths {
        println!("threshold {}: all {:.4}", path.threshold, path.start.value);
        for (i, step) in path.steps.iter().enumerate() {
            let mark = if i < path.stop { "" } else { "  (beyond the rule)" };
            println!("  -{:<14} {:.4}{mark}", step.name, step.left.value);
        }
    }
    let tally = &pruned.chosen.tally;
    println!(
        "chosen: threshold {} of {}: F1 {:.4}, precision {:.4}, characters covered {:.4}",
        pruned.chosen.threshold,
        pruned.names().join(" "),
        tally.f1(),
        tally.precision(),
        tally.character_recall()
    );
    let met = &pruned.best_met;
    println!(
        "best met: threshold {} of {}: {:.4}",
        met.threshold,
        met.members.len(),
        met.value
    );
    if let Some(by) = &pruned.by_category {
        let of = by.categories.iter();
        let told: Vec<String> = of
            .map(|one| format!("{} {}", one.category, one.threshold))
            .collect();
        let tally = &by.point.tally;
        println!(
            "by category: F1 {:.4}, precision {:.4}, characters covered {:.4}: {}",
            tally.f1(),
            tally.precision(),
            tally.character_recall(),
            told.join(", ")
        );
    }
    let errors = &pruned.all.shared_errors;
    println!(
        "{} of {} gold spans that no member has, {} of them leak; {} sets on the front",
        errors.missed(),
        errors.gold,
        errors.leaking(),
        pruned.front.len()
    );
}
