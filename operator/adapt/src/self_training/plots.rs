//! The analysis as figures, in the common style of all reports.

use lethe_evaluate::sheet::{Axes, CHART_STYLE, Dot, Of, Series, alone, chart, percent};

use super::analysis::Analysis;

const INKS: &str = "\
svg .ink-words { stroke: var(--f1); } svg .dot-words { fill: var(--f1); }
svg .ink-entities { stroke: var(--good); } svg .dot-entities { fill: var(--good); }
";

/// Entities by their right words.
const RIGHT: &[&str] = &["no word right before", "at least one right before"];

fn share(corrected: usize, wrong: usize) -> f64 {
    corrected as f64 / wrong.max(1) as f64
}

impl Analysis {
    /// Returns all figures by file name, without empty ones.
    pub fn figures(&self) -> Vec<(&'static str, String)> {
        let figures = [
            ("words.svg", self.of_words()),
            ("entities.svg", self.of_entities()),
        ];
        let drawn = figures.into_iter().filter(|(_, drawing)| !drawing.is_empty());
        drawn
            .map(|(name, drawing)| (name, alone(&drawing, &format!("{CHART_STYLE}{INKS}"))))
            .collect()
    }

    fn of_words(&self) -> String {
        let axes = Axes {
            what: "Corrected words by the right tag's probability before self-training",
            x: "Probability of the right tag before, %",
            y: "Right after, %",
            x_is: Of::Shares,
            mark: None,
        };
        let points = self.words.iter().filter(|bin| bin.wrong > 0).map(|bin| Dot {
            x: f64::midpoint(bin.from, bin.to),
            y: share(bin.corrected, bin.wrong),
            interval: None,
            title: format!(
                "{} to {}: {} of {} words",
                percent(bin.from),
                percent(bin.to),
                bin.corrected,
                bin.wrong
            ),
        });
        let series = Series {
            name: "words",
            class: "words",
            joined: true,
            points: points.collect(),
        };
        chart(&axes, &[series])
    }

    fn of_entities(&self) -> String {
        let axes = Axes {
            what: "Corrected entities by whether a word of them was right before self-training",
            x: "",
            y: "Found exactly after, %",
            x_is: Of::Names(RIGHT),
            mark: None,
        };
        let points = self.entities.iter().enumerate().filter(|(_, bin)| bin.wrong > 0);
        let points = points.map(|(i, bin)| Dot {
            x: i as f64 + 1.0,
            y: share(bin.corrected, bin.wrong),
            interval: None,
            title: format!("{} of {} entities", bin.corrected, bin.wrong),
        });
        let series = Series {
            name: "entities",
            class: "entities",
            joined: false,
            points: points.collect(),
        };
        chart(&axes, &[series])
    }
}
