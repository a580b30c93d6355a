//! Figures 2 to 7 of Singh 2020, in the common style of all reports.

use lethe_evaluate::sheet::{Axes, CHART_STYLE, Dot, Of, Series, alone, chart, percent};

use super::report::{Increment, LandscapePoint, Report, Spread};
use crate::weight::Weighing;

/// The colours of the curves.
const INKS: &str = "\
svg .ink-first { stroke: var(--recall); stroke-dasharray: 7 4; } svg .dot-first { fill: var(--recall); }
svg .ink-second { stroke: var(--good); stroke-dasharray: 2 4; } svg .dot-second { fill: var(--good); }
svg .ink-mixture { stroke: var(--f1); } svg .dot-mixture { fill: var(--f1); }
svg .ink-other { stroke: var(--precision); } svg .dot-other { fill: var(--precision); }
";

/// Makes a chart a file of its own.
fn picture(axes: &Axes, series: &[Series]) -> String {
    alone(&chart(axes, series), &format!("{CHART_STYLE}{INKS}"))
}

impl Report {
    /// Returns all figures by file name.
    pub fn figures(&self) -> Vec<(&'static str, String)> {
        vec![
            ("f1.svg", self.curves()),
            ("weight.svg", self.weights()),
            ("stationary.svg", self.settled()),
            ("loss-by-weight.svg", self.by_weight(true)),
            ("f1-by-weight.svg", self.by_weight(false)),
        ]
    }

    fn curve(&self, name: &'static str, class: &'static str, value: impl Fn(&Increment) -> Spread) -> Series {
        let dot = |one: &Increment| {
            let spread = value(one);
            Dot {
                x: one.after as f64,
                y: spread.mean,
                // A share's interval ends at 0 and 1.
                interval: Some((spread.low.max(0.0), spread.high.min(1.0))),
                title: format!(
                    "{name}, after {} increments: {} ({} to {})",
                    one.after,
                    percent(spread.mean),
                    percent(spread.low),
                    percent(spread.high)
                ),
            }
        };
        Series {
            name,
            class,
            joined: true,
            points: self.increments.iter().map(dot).collect(),
        }
    }

    /// Draws figures 3 to 5.
    fn curves(&self) -> String {
        let axes = Axes {
            what: "F1 of both learners and of their mixture, by increment, with 95 % intervals",
            x: "Increments learnt",
            y: "F1, %",
            x_is: Of::Numbers,
            mark: None,
        };
        let series = [
            self.curve("model", "first", |one| one.first),
            self.curve("naive Bayes", "second", |one| one.second),
            self.curve("mixture", "mixture", |one| one.mixture[0]),
        ];
        picture(&axes, &series)
    }

    /// Draws figure 6.
    fn weights(&self) -> String {
        let axes = Axes {
            what: "Weight of the model in the mixture, by increment, with 95 % intervals",
            x: "Increments learnt",
            y: "Weight of the model, %",
            x_is: Of::Numbers,
            mark: None,
        };
        let classes = ["mixture", "other", "first", "second"];
        let curve = |way: usize| {
            self.curve(Weighing::ALL[way].name(), classes[way], move |one| {
                one.weight[way]
            })
        };
        picture(&axes, &[0, 1, 2, 3].map(curve))
    }

    /// Draws figure 2.
    fn settled(&self) -> String {
        const WHO: &[&str] = &["model", "naive Bayes", "mixture, Brier", "mixture, log loss"];
        let axes = Axes {
            what: "F1 in the stationary setup, with 95 % intervals",
            x: "",
            y: "F1, %",
            x_is: Of::Names(WHO),
            mark: None,
        };
        let one = &self.stationary;
        let all = [one.first, one.second, one.mixture[0], one.mixture[1]];
        let dot = |(i, spread): (usize, Spread)| Dot {
            x: i as f64 + 1.0,
            y: spread.mean,
            interval: Some((spread.low, spread.high)),
            title: format!("{}: {}", WHO[i], percent(spread.mean)),
        };
        let series = Series {
            name: "mean F1",
            class: "mixture",
            joined: false,
            points: all.into_iter().enumerate().map(dot).collect(),
        };
        picture(&axes, &[series])
    }

    /// Draws the upper or the lower part of figure 7.
    fn by_weight(&self, loss: bool) -> String {
        let axes = Axes {
            what: if loss {
                "Brier loss on the batches that give the weight, by weight; vertical line: the estimated weight"
            } else {
                "F1 on the test, by weight; vertical line: the estimated weight"
            },
            x: "Weight of the model",
            y: if loss {
                "Brier loss per 100 tokens"
            } else {
                "F1, %"
            },
            x_is: Of::Numbers,
            mark: Some(self.landscape.brier),
        };
        let dot = |one: &LandscapePoint| {
            let y = if loss { one.loss } else { one.f1 };
            Dot {
                x: one.weight,
                y,
                interval: None,
                title: format!("weight {:.2}: {}", one.weight, percent(y)),
            }
        };
        let series = Series {
            name: if loss { "Brier loss" } else { "F1" },
            class: "mixture",
            joined: true,
            points: self.landscape.points.iter().map(dot).collect(),
        };
        picture(&axes, &[series])
    }
}
