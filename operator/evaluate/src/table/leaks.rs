//! The tables of leaks.

use super::{LABEL, NAME};
use crate::figure::{clean, clean_range, per_thousand, per_thousand_range, percent, range, thousands};
use crate::grid::{Grid, WIDTH, cut};
use crate::report::{LeakGroup, Leaks, Report, Share, System};

impl Report {
    pub(super) fn leaks(&self, out: &mut String) {
        let part = |share: &Share| format!("{} % of {}", percent(share.share.value), thousands(share.of));
        let share = |share: &Share| {
            format!(
                "{} of {}, {} %",
                thousands(share.count),
                thousands(share.of),
                percent(share.share.value)
            )
        };
        let mut grid = Grid::new(&[
            "system",
            "characters lost",
            "clean documents",
            "exact interval",
            "leaking patients",
        ]);
        for system in &self.systems {
            let leak = &system.leak;
            grid.row(vec![
                cut(&system.name, NAME),
                part(&leak.characters),
                clean(&leak.documents),
                clean_range(&leak.documents),
                leak.patients.as_ref().map_or_else(|| "-".to_owned(), share),
            ]);
        }
        grid.write(
            out,
            "Leaks (gold that no prediction covers; clean: without a leak)",
        );
        self.leaking_spans(out);
    }

    /// Shows leaking spans in 1,000 documents, by kind.
    fn leaking_spans(&self, out: &mut String) {
        let mut grid = Grid::new(&[
            "system",
            "leaking",
            "per 1,000",
            "interval",
            "direct",
            "quasi",
            "seen",
            "unseen",
        ]);
        let rate = |leaks: Option<&Leaks>| {
            leaks.map_or_else(|| "-".to_owned(), |leaks| per_thousand(&leaks.per_thousand))
        };
        for system in &self.systems {
            let leak = &system.leak;
            let kind = |name: &str| {
                let group = leak.identifiers.iter().flatten().find(|group| group.name == name);
                rate(group.map(|group| &group.leaks))
            };
            grid.row(vec![
                cut(&system.name, NAME),
                format!(
                    "{} of {}",
                    thousands(leak.spans.spans.count),
                    thousands(leak.spans.spans.of)
                ),
                per_thousand(&leak.spans.per_thousand),
                per_thousand_range(&leak.spans.per_thousand),
                kind("direct"),
                kind("quasi"),
                rate(leak.seen.as_ref().map(|seen| &seen.seen)),
                rate(leak.seen.as_ref().map(|seen| &seen.unseen)),
            ]);
        }
        grid.write(
            out,
            "Leaking spans (a letter or digit is not covered), and how many in 1,000 documents",
        );
    }
}

/// Lists the leaks of each label that has some.
pub(super) fn by_label(out: &mut String, system: &System) {
    let mut grid = Grid::new(&["label", "leaking", "%", "exact interval", "per 1,000", "interval"]);
    for LeakGroup { name, leaks } in system
        .leak
        .labels
        .iter()
        .filter(|group| group.leaks.spans.count > 0)
    {
        grid.row(vec![
            cut(name, LABEL),
            format!(
                "{} of {}",
                thousands(leaks.spans.count),
                thousands(leaks.spans.of)
            ),
            percent(leaks.spans.share.value),
            range(leaks.spans.exact),
            per_thousand(&leaks.per_thousand),
            per_thousand_range(&leaks.per_thousand),
        ]);
    }
    grid.write(out, &cut(&format!("{}, leaks by label", system.name), WIDTH));
}
