//! A study as a Markdown page, whose figures all come from the report.

use lethe_evaluate::Test;
use lethe_evaluate::sheet::{counted, percent};

use super::report::{Against, Increment, Report, Spread, WeighingSummary};
use crate::weight::Weighing;

impl Report {
    /// Renders the page; it expects the figures of [`Report::figures`] in the same folder.
    pub fn page(&self) -> String {
        let mut out = format!("# {}\n\n", self.setup.title);
        self.head(&mut out);
        self.curves_told(&mut out);
        self.table(&mut out);
        self.unseen(&mut out);
        self.weights_told(&mut out);
        self.settled_told(&mut out);
        out
    }

    fn head(&self, out: &mut String) {
        let setup = &self.setup;
        let unit = |count: usize| counted(count as u64, &setup.unit);
        out.push_str(&format!(
            "The model: {}. It is mixed with naive Bayes, which learns incrementally. The stream: {} with {}, as {} in batches of {}, in {}, \
             seed {}. The held-out test set: {} with {}. Labels: {}.\n\n",
            setup.first,
            counted(setup.stream_documents as u64, "document"),
            counted(setup.stream_spans as u64, "span"),
            unit(self.units),
            unit(self.batch),
            counted(self.repeats as u64, "random order"),
            self.seed,
            counted(setup.test_documents as u64, "document"),
            counted(setup.test_spans as u64, "span"),
            setup.labels.join(", "),
        ));
        out.push_str(
            "F1 is strict (label, start and end) micro-F1 in per cent. Intervals are 95 % of the mean over the orders, by \
             Student's t; they cover other orders, not other documents. Tests are Wilcoxon's signed-rank tests \
             over the orders, two-sided. The weight is estimated from the next batch, before it is learnt.\n\n",
        );
    }

    fn curves_told(&self, out: &mut String) {
        out.push_str("## F1 by increment\n\n![F1 by increment](f1.svg)\n\n");
        out.push_str("| Weight by | mixture at least as good as the better learner | mean gain, points | worse after (by points; p) |\n|---|---|---|---|\n");
        for told in &self.told {
            out.push_str(&format!(
                "| {} | at {} of {} increments | {} | {} |\n",
                told.how.name(),
                told.at_least,
                told.of,
                points(told.gain),
                below(told)
            ));
        }
        out.push('\n');
        let crossing = |one: &super::report::Crossing| {
            let ahead = if one.to_first { "the model" } else { "naive Bayes" };
            format!(
                "{ahead} overtakes after {}",
                counted(one.after as u64, "increment")
            )
        };
        let crossings: Vec<String> = self.crossings.iter().map(crossing).collect();
        out.push_str(&if crossings.is_empty() {
            "The learners' mean curves do not cross.\n\n".to_owned()
        } else {
            format!("The learners' mean curves cross: {}.\n\n", crossings.join("; "))
        });
    }

    fn table(&self, out: &mut String) {
        let first = Weighing::default().name();
        out.push_str(&format!(
            "| After | learnt | model | naive Bayes | mixture ({first}) | minus the better | p, model | p, naive Bayes | "
        ));
        let others: Vec<&str> = Weighing::ALL[1..].iter().map(|how| how.name()).collect();
        out.push_str(&format!("{} |\n", others.join(" | ")));
        out.push_str(&format!("|{}\n", "---|".repeat(8 + others.len())));
        let row = |one: &Increment| {
            let rest: Vec<String> = one.mixture[1..]
                .iter()
                .map(|spread| percent(spread.mean))
                .collect();
            format!(
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                one.after,
                one.units,
                told(one.first),
                told(one.second),
                told(one.mixture[0]),
                points(one.mixture[0].mean - one.better()),
                p(&one.against.first),
                p(&one.against.second),
                rest.join(" | ")
            )
        };
        self.increments.iter().for_each(|one| out.push_str(&row(one)));
        out.push('\n');
    }

    fn unseen(&self, out: &mut String) {
        let unseen: Vec<_> = self.increments.iter().filter_map(|one| one.unseen).collect();
        if unseen.is_empty() {
            return;
        }
        let mean = |value: &dyn Fn(&super::report::Unseen) -> f64| {
            percent(unseen.iter().map(value).sum::<f64>() / unseen.len() as f64)
        };
        out.push_str(&format!(
            "Each batch was also scored before it was learnt, with the weight from the batch before it. Mean F1 over \
             batches and orders: model {}, naive Bayes {}, mixture {}.\n\n",
            mean(&|one| one.first.mean),
            mean(&|one| one.second.mean),
            mean(&|one| one.mixture.mean)
        ));
    }

    fn weights_told(&self, out: &mut String) {
        out.push_str("## The weight of the model\n\n![Weight by increment](weight.svg)\n\n| After |");
        Weighing::ALL
            .iter()
            .for_each(|how| out.push_str(&format!(" {} |", how.name())));
        out.push_str(&format!("\n|{}\n", "---|".repeat(1 + Weighing::ALL.len())));
        for one in &self.increments {
            let weights: Vec<String> = one.weight.iter().map(|weight| share(*weight)).collect();
            out.push_str(&format!("| {} | {} |\n", one.after, weights.join(" | ")));
        }
        out.push('\n');
    }

    fn settled_told(&self, out: &mut String) {
        let one = &self.stationary;
        out.push_str(&format!(
            "## Stationary\n\n{} learnt, the weight estimated from the other {}.\n\n![Stationary](stationary.svg)\n\n",
            counted(one.learnt as u64, "increment"),
            one.held
        ));
        out.push_str("| | F1 (95 % interval) | standard deviation | weight of the model | p against the model | p against naive Bayes |\n|---|---|---|---|---|---|\n");
        let mut row = |name: &str, f1: Spread, weight: Option<Spread>, against: Option<&Against>| {
            out.push_str(&format!(
                "| {name} | {} | {} | {} | {} | {} |\n",
                told(f1),
                percent(f1.deviation),
                weight.map_or_else(String::new, share),
                against.map_or_else(String::new, |tests| p(&tests.first)),
                against.map_or_else(String::new, |tests| p(&tests.second))
            ));
        };
        row("model", one.first, None, None);
        row("naive Bayes", one.second, None, None);
        for (i, name) in ["mixture, Brier", "mixture, log loss"].into_iter().enumerate() {
            row(name, one.mixture[i], Some(one.weight[i]), Some(&one.against[i]));
        }
        out.push_str(&format!(
            "\nOther weights in the first order; the Brier loss gives {:.3}, the logarithmic loss {:.3}.\n\n\
             ![Loss by weight](loss-by-weight.svg)\n\n![F1 by weight](f1-by-weight.svg)\n",
            self.landscape.brier, self.landscape.log
        ));
    }
}

fn below(told: &WeighingSummary) -> String {
    if told.below.is_empty() {
        return "nowhere".to_owned();
    }
    let one = |below: &super::report::Below| {
        let p = below.p.map_or_else(|| "no p".to_owned(), short);
        format!("{} ({:.2}; {p})", below.after, 100.0 * below.by)
    };
    let all: Vec<String> = told.below.iter().map(one).collect();
    all.join(", ")
}

fn told(spread: Spread) -> String {
    format!(
        "{} ({} to {})",
        percent(spread.mean),
        percent(spread.low),
        percent(spread.high)
    )
}

/// Formats a weight with its interval.
fn share(weight: Spread) -> String {
    format!("{:.3} ({:.3} to {:.3})", weight.mean, weight.low, weight.high)
}

fn points(difference: f64) -> String {
    format!("{:+.2}", 100.0 * difference)
}

fn p(test: &Test) -> String {
    test.p.map_or_else(|| "-".to_owned(), short)
}

fn short(p: f64) -> String {
    if p < 0.0001 {
        "<0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}
