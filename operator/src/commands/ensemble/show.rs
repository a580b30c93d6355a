//! `lethe ensemble show`: a bundle's page for people.

use std::io::Write as _;

use lethe_core::Agreement;
use lethe_dictionaries::Dictionary;
use lethe_ensemble::{Bundle, Rule};

use crate::cli::ShowArgs;
use crate::exit::usage;

/// Opens the bundle, so that what is shown can be run, and prints what it is.
pub(crate) fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let bundle = Bundle::open(&args.bundle, &Dictionary::builtin()).map_err(usage)?;
    let page = &bundle.page;
    let mut to = std::io::stdout().lock();
    writeln!(to, "bundle      {}", page.digest())?;
    writeln!(
        to,
        "labels      {} v{}",
        bundle.labels.id(),
        bundle.labels.version()
    )?;
    match &page.combine {
        Rule::Voting {
            threshold,
            thresholds,
            sure,
            company,
            always,
            always_sure,
            cover_beaten,
            agreement,
            beside,
        } => {
            let voters = page.members.len() - beside.len();
            writeln!(to, "votes       {threshold} of {voters}")?;
            for (label, needed) in thresholds.iter().filter(|&(_, needed)| needed != threshold) {
                writeln!(to, "            {needed} for {label}")?;
            }
            for (label, sure) in sure {
                writeln!(
                    to,
                    "            1 is enough for {label} if it is at least {sure} sure"
                )?;
            }
            if *company {
                writeln!(
                    to,
                    "            and if something else in the note has votes enough"
                )?;
            }
            if !always.is_empty() {
                let doubt = match *always_sure {
                    0.0 => String::new(),
                    sure => format!(", and below {sure} sure if something else has votes enough"),
                };
                writeln!(to, "            1 is enough from {}{doubt}", always.join(", "))?;
            }
            if *agreement == Agreement::Overlap {
                writeln!(to, "            whoever marks something that overlaps agrees")?;
            }
            if *cover_beaten {
                writeln!(
                    to,
                    "            what a beaten span covers beyond the winner is redacted too"
                )?;
            }
        }
        Rule::Fitted { kind, digest, .. } => writeln!(to, "combined    by {kind} {digest}")?,
        other => writeln!(to, "combined    {other:?}")?,
    }
    if let Rule::Voting { beside, .. } | Rule::Fitted { beside, .. } = &page.combine
        && !beside.is_empty()
    {
        writeln!(
            to,
            "            beside it counts whatever {} says",
            beside.join(", ")
        )?;
    }
    if let Some(base) = &page.corrects {
        writeln!(to, "corrects    {base}")?;
    }
    let from = &page.provenance;
    writeln!(
        to,
        "fitted to   {} documents ({}), seed {}, by version {}; {}",
        from.documents, from.data, from.seed, from.version, from.objective
    )?;
    for measured in &page.measured {
        let [f1, low, high] = measured.f1.map(|share| 100.0 * share);
        let [recall, least, most] = measured.recall.map(|share| 100.0 * share);
        writeln!(
            to,
            "measured    on {} ({} documents): strict F1 {f1:.2} ({low:.2} to {high:.2}), {recall:.3} % of PHI characters ({least:.3} to {most:.3})",
            measured.on, measured.documents
        )?;
        if let Some(cost) = measured.cost {
            writeln!(to, "            {cost:.2} us/token of one core")?;
        }
    }
    for (place, part) in page.members.iter().enumerate() {
        let f1 = part
            .f1
            .map_or_else(String::new, |f1| format!("F1 {:.2}", 100.0 * f1));
        let cost = part
            .cost
            .map_or_else(String::new, |cost| format!("{cost:.2} us/token"));
        let digest = part.digest.as_deref().unwrap_or("");
        writeln!(
            to,
            "member {:>2}   {:<14} {f1:<9} {cost:<15} {digest}",
            place + 1,
            part.name
        )?;
    }
    Ok(())
}
