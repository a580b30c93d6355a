//! The report of pruning as one HTML page, without scripts, external resources or text of the notes.

mod tables;

use lethe_core::Agreement;
use lethe_evaluate::sheet::{
    Axes, CHART_STYLE, Dot, Of, Series, alone, chart, counted, escape, figure, frame, percent, thousands,
};

use super::report::{HeldOut, HeldOutThreshold, Path, Point, Pruned};
use crate::Tally;

/// The colours of the curves.
const INKS: &str = "\
svg .ink-pruned { stroke: var(--f1); } svg .dot-pruned { fill: var(--f1); }
svg .ink-all { stroke: var(--recall); stroke-dasharray: 6 4; } svg .dot-all { fill: var(--recall); }
svg .ink-best { stroke: var(--soft); stroke-dasharray: 2 4; } svg .dot-best { fill: none; }
svg .dot-chosen { fill: var(--bad); }
";

const EXPLAINED: &str = "\
<h2 id=\"guide\">How to read this</h2>
<dl>
<dt>Threshold</dt><dd>Votes that a span needs: members that predict it with the same label, start and end.</dd>
<dt>Pruned</dt><dd>For each threshold, members are dropped one by one, always the one without which the objective is \
highest, until it no longer improves (Kim and Meystre 2019). A drop that changes nothing is taken, because the \
remaining set costs less. Grey rows continue after the stop.</dd>
<dt>Covered</dt><dd>Gold characters within a decided span, whatever its label. Characters that are not covered leak.</dd>
<dt>Front</dt><dd>The evaluated sets for which no other set is at least as good in covered characters, F1 and cost, and \
better in one.</dd>
<dt>Found alone</dt><dd>Before the vote: gold spans that no other member of the set predicts, and gold characters that no \
other covers.</dd>
<dt>Saved</dt><dd>The cost that the set would save without the member. Costs that it shares with others are not saved.</dd>
</dl>
";

/// Returns the page; `held_out` are documents on which nothing was chosen, for figures next to those of the
/// fitting documents.
pub fn page(pruned: &Pruned, held_out: &[HeldOut], title: &str) -> String {
    let mut out = String::new();
    head(&mut out, pruned, held_out);
    out.push_str("<h2 id=\"thresholds\">F1 by threshold</h2>\n");
    fitted(&mut out, pruned);
    for one in held_out {
        evaluated(&mut out, pruned, one);
    }
    out.push_str("<h2 id=\"paths\">Paths</h2>\n");
    for path in &pruned.paths {
        tables::path(&mut out, pruned, path);
    }
    out.push_str("<h2 id=\"front\">Recall, F1 and cost</h2>\n");
    front(&mut out, pruned);
    out.push_str("<h2 id=\"members\">Members</h2>\n<h3>All</h3>\n");
    tables::members(&mut out, pruned, &pruned.all);
    out.push_str("<h3>Pruned</h3>\n");
    tables::members(&mut out, pruned, &pruned.pruned);
    if let Some(by) = &pruned.by_category {
        tables::categories(&mut out, pruned, by);
    }
    out.push_str("<h2 id=\"errors\">Errors that all members share</h2>\n");
    tables::shared(&mut out, "All members", &pruned.all.shared_errors, true);
    tables::shared(&mut out, "Pruned members", &pruned.pruned.shared_errors, false);
    out.push_str(EXPLAINED);
    out.push_str(&format!(
        "<footer>Objective {}; {}{}.</footer>\n",
        escape(&pruned.objective.to_string()),
        if pruned.redact_uncovered {
            "parts of overruled spans that no winner covers are redacted"
        } else {
            "parts of overruled spans that no winner covers are not redacted"
        },
        match pruned.agreement {
            Agreement::Exact => "",
            Agreement::Overlap => "; overlapping spans count as agreement",
        }
    ));
    frame(title, &style(), &out)
}

fn style() -> String {
    format!("{CHART_STYLE}{INKS}")
}

fn head(out: &mut String, pruned: &Pruned, held_out: &[HeldOut]) {
    let chosen = &pruned.chosen;
    out.push_str(&format!(
        "<p class=\"lead\">{}, {} of gold; {}; objective {}.</p>\n",
        counted(pruned.documents, "document"),
        counted(chosen.tally.gold, "span"),
        counted(pruned.members.len() as u64, "member"),
        escape(&pruned.objective.to_string())
    ));
    out.push_str(
        "<p class=\"calm\">This page shows no text of the notes: errors are listed by document and byte.</p>\n",
    );
    if !chosen.meets {
        out.push_str("<p class=\"warning\">No evaluated set meets the bounds; this report shows the nearest one.</p>\n");
    }
    let how = if pruned.by_stop_rule {
        ""
    } else {
        ", the best of all evaluated sets"
    };
    out.push_str(&format!(
        "<p>Chosen: <strong>{}</strong>, {} needed{how}. F1 {}, precision {}, recall {}, characters covered {}{}.</p>\n",
        escape(&pruned.names().join(", ")),
        counted(u64::from(chosen.threshold), "vote"),
        percent(chosen.tally.f1()),
        percent(chosen.tally.precision()),
        percent(chosen.tally.recall()),
        percent(chosen.tally.character_recall()),
        if tables::costed(pruned) {
            format!(", {:.2} µs per token", chosen.cost)
        } else {
            String::new()
        }
    ));
    for one in held_out {
        out.push_str(&format!(
            "<p>On {} ({}): F1 {}, precision {}, recall {}, characters covered {}.</p>\n",
            escape(&one.name),
            counted(one.documents, "document"),
            percent(one.chosen.f1()),
            percent(one.chosen.precision()),
            percent(one.chosen.recall()),
            percent(one.chosen.character_recall())
        ));
    }
    let met = &pruned.best_met;
    if pruned.by_stop_rule && met.value > chosen.value {
        out.push_str(&format!(
            "<p class=\"note\">A set that the rule does not choose is better on the fitting documents: {} at threshold {}, with {}.</p>\n",
            percent(met.value),
            met.threshold,
            counted(met.members.len() as u64, "member")
        ));
    }
}

/// Returns the papers' figure as an SVG file: F1 against the threshold on held-out documents, or else on the
/// fitting documents.
pub fn picture(pruned: &Pruned, held_out: Option<&HeldOut>) -> String {
    let drawing = held_out.map_or_else(|| fitted_curve(pruned), |one| evaluated_curve(pruned, one));
    alone(&drawing, &style())
}

fn fitted_curve(pruned: &Pruned) -> String {
    let at = |path: &Path| At {
        threshold: path.threshold,
        all: path.start.tally.f1(),
        pruned: path.stopped().tally.f1(),
        left: path.stopped().members.len(),
    };
    let curves: Vec<At> = pruned.paths.iter().map(at).collect();
    let best = pruned
        .members
        .iter()
        .map(|member| member.tally.f1())
        .fold(0.0, f64::max);
    curve(&curves, best)
}

/// Writes the papers' figure for the fitting documents.
fn fitted(out: &mut String, pruned: &Pruned) {
    figure(
        out,
        &fitted_curve(pruned),
        "Strict micro-F1 against the threshold, on the documents that pruning was fitted to. The axis does not begin at 0.",
    );
    tables::thresholds(out, pruned);
}

fn evaluated_curve(pruned: &Pruned, held_out: &HeldOut) -> String {
    let left = |threshold: u32| {
        let path = pruned
            .paths
            .iter()
            .find(|path: &&Path| path.threshold == threshold);
        path.map_or(0, |path| path.stopped().members.len())
    };
    let at = |at: &HeldOutThreshold| At {
        threshold: at.threshold,
        all: at.all.f1(),
        pruned: at.pruned.f1(),
        left: left(at.threshold),
    };
    let curves: Vec<At> = held_out.thresholds.iter().map(at).collect();
    let best = held_out.members.iter().map(Tally::f1).fold(0.0, f64::max);
    curve(&curves, best)
}

/// Writes the same figure for other documents.
fn evaluated(out: &mut String, pruned: &Pruned, held_out: &HeldOut) {
    out.push_str(&format!("<h3>On {}</h3>\n", escape(&held_out.name)));
    figure(
        out,
        &evaluated_curve(pruned, held_out),
        "Strict micro-F1 against the threshold, on held-out documents. The axis does not begin at 0.",
    );
    tables::held_out(out, pruned, held_out);
}

/// One threshold in the figure.
struct At {
    threshold: u32,
    all: f64,
    pruned: f64,
    /// The number of members.
    left: usize,
}

fn curve(rows: &[At], best: f64) -> String {
    let series = |name, class, dot: &dyn Fn(&At) -> (f64, String)| Series {
        name,
        class,
        joined: true,
        points: rows
            .iter()
            .map(|at| {
                let (y, title) = dot(at);
                Dot {
                    x: f64::from(at.threshold),
                    y,
                    title,
                    interval: None,
                }
            })
            .collect(),
    };
    chart(
        &Axes {
            what: "F1 against the voting threshold, pruned and with all members",
            x: "Voting threshold",
            y: "F1, %",
            x_is: Of::Counts,
            mark: None,
        },
        &[
            series("all members", "all", &|at| {
                let title = format!("threshold {}, all: {}", at.threshold, percent(at.all));
                (at.all, title)
            }),
            series("best member", "best", &|_| {
                (best, format!("best member: {}", percent(best)))
            }),
            series("pruned", "pruned", &|at| {
                let title = format!(
                    "threshold {}, {} left: {}",
                    at.threshold,
                    at.left,
                    percent(at.pruned)
                );
                (at.pruned, title)
            }),
        ],
    )
}

fn front(out: &mut String, pruned: &Pruned) {
    let costed = tables::costed(pruned);
    let dot = |point: &Point| Dot {
        x: if costed {
            point.cost
        } else {
            point.tally.character_recall()
        },
        y: point.tally.f1(),
        interval: None,
        title: format!(
            "threshold {}, {}: F1 {}, covered {}, {:.2} µs per token",
            point.threshold,
            tables::names(pruned, &point.members),
            percent(point.tally.f1()),
            percent(point.tally.character_recall()),
            point.cost
        ),
    };
    let points = |name, class, points: &[Point]| Series {
        name,
        class,
        joined: false,
        points: points.iter().map(dot).collect(),
    };
    let axes = Axes {
        what: "Sets on the front",
        x: if costed {
            "µs per token"
        } else {
            "Characters covered, %"
        },
        y: "F1, %",
        x_is: if costed { Of::Numbers } else { Of::Shares },
        mark: None,
    };
    let series = [
        points("on the front", "pruned", &pruned.front),
        points("chosen", "chosen", std::slice::from_ref(&pruned.chosen)),
    ];
    figure(
        out,
        &chart(&axes, &series),
        "Sets that no other beats in covered characters, F1 and cost.",
    );
    out.push_str(&format!(
        "<p class=\"note\">{} on the front.</p>\n",
        thousands(pruned.front.len() as u64)
    ));
    tables::front(out, pruned);
}
