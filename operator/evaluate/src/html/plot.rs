//! Small inline SVG drawings with colours from the page's style sheet.

use std::collections::BTreeMap;

use super::markup::escape;
use crate::figure::{percent, range, thousands, widest};
use crate::report::{Errors, Estimate, Group, System};

/// The boundary between names and drawing, in px.
const NAMES: f64 = 250.0;
const WIDTH: f64 = 960.0;
/// The width reserved for figures at the right.
const FIGURES: f64 = 110.0;
/// The characters of a name that fit before the drawing.
const NAME: usize = 34;

/// Draws the strict precision, recall and F1 of each label, F1 with its interval, most frequent labels first.
pub(super) fn labels(groups: &[&Group]) -> String {
    const ROW: f64 = 36.0;
    let height = ROW * groups.len() as f64 + 44.0;
    let mut out = open(WIDTH, height, "Precision, recall and F1 by label");
    let axis = Axis { low: 0.0, high: 1.0 };
    axis.draw(&mut out, &[0.0, 0.25, 0.5, 0.75, 1.0], 20.0, height - 20.0);
    for (x, class, name) in [
        (0.0, "precision", "precision"),
        (90.0, "recall", "recall"),
        (160.0, "f1", "F1"),
    ] {
        out.push_str(&format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"2\" width=\"10\" height=\"10\"/><text x=\"{}\" y=\"11\">{name}</text>\n",
            x + 15.0
        ));
    }
    for (i, group) in groups.iter().enumerate() {
        let top = 24.0 + ROW * i as f64;
        let score = &group.strict;
        let title = format!(
            "{}: {} in gold, precision {}, recall {}, F1 {} ({})",
            group.name,
            thousands(score.gold),
            percent(score.precision.value),
            percent(score.recall.value),
            percent(score.f1.value),
            range(widest(&score.f1)),
        );
        out.push_str(&format!("<g><title>{}</title>\n", escape(&title)));
        name(&mut out, &group.name, top + 19.0);
        for (k, (class, estimate)) in [
            ("precision", &score.precision),
            ("recall", &score.recall),
            ("f1", &score.f1),
        ]
        .into_iter()
        .enumerate()
        {
            let y = top + 3.0 + 9.0 * k as f64;
            let width = axis.x(estimate.value) - NAMES;
            out.push_str(&format!(
                "<rect class=\"{class}\" x=\"{NAMES}\" y=\"{y}\" width=\"{width:.1}\" height=\"7\"/>\n"
            ));
        }
        whisker(&mut out, &axis, &score.f1, top + 24.5);
        figure(
            &mut out,
            &format!("{} · {}", percent(score.f1.value), thousands(score.gold)),
            top + 19.0,
        );
        out.push_str("</g>\n");
    }
    close(out)
}

/// Draws systems by strict F1, each with its interval, on an axis that spans the intervals.
pub(super) fn systems(systems: &[System]) -> String {
    const ROW: f64 = 26.0;
    let mut order: Vec<&System> = systems.iter().collect();
    order.sort_by(|a, b| b.measures.strict.f1.value.total_cmp(&a.measures.strict.f1.value));
    let reach = order.iter().flat_map(|system| {
        let f1 = &system.measures.strict.f1;
        let ends = widest(f1).map_or([f1.value; 2], |interval| [interval.low, interval.high]);
        ends.into_iter().chain([f1.value])
    });
    let (low, high) = reach.fold((1.0f64, 0.0f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    // A range of zero width would divide by zero.
    let (low, high) = if high - low < 1e-6 {
        (0.0, 1.0)
    } else {
        (low, high)
    };
    let step = [0.0025, 0.005, 0.01, 0.02, 0.05, 0.1]
        .into_iter()
        .find(|step| (high - low) / step <= 7.0)
        .unwrap_or(0.2);
    let axis = Axis {
        low: ((low / step).floor() * step).max(0.0),
        high: ((high / step).ceil() * step).min(1.0),
    };
    let ticks: Vec<f64> = (0..=20)
        .map(|i| axis.low + step * f64::from(i))
        .take_while(|tick| *tick <= axis.high + step / 10.0)
        .collect();
    let height = ROW * order.len() as f64 + 36.0;
    let mut out = open(WIDTH, height, "Strict F1 by system, with 95 % intervals");
    axis.draw(&mut out, &ticks, 4.0, height - 22.0);
    for (i, system) in order.into_iter().enumerate() {
        let y = 18.0 + ROW * i as f64;
        let f1 = &system.measures.strict.f1;
        let title = format!(
            "{}: F1 {} ({})",
            system.name,
            percent(f1.value),
            range(widest(f1))
        );
        out.push_str(&format!("<g><title>{}</title>\n", escape(&title)));
        name(&mut out, &system.name, y + 4.0);
        whisker(&mut out, &axis, f1, y);
        out.push_str(&format!(
            "<circle class=\"f1\" cx=\"{:.1}\" cy=\"{y}\" r=\"5\"/>\n",
            axis.x(f1.value)
        ));
        figure(&mut out, &percent(f1.value), y + 4.0);
        out.push_str("</g>\n");
    }
    close(out)
}

/// Draws gold labels (rows) against predicted labels (columns); darker is more frequent. Labels without an
/// error are left out.
pub(super) fn confusion(errors: &Errors) -> String {
    const CELL: f64 = 27.0;
    const HEAD: f64 = 190.0;
    const MISSED: &str = "false negative";
    const SPURIOUS: &str = "false positive";
    let wrong = |cell: &&crate::report::Cell| cell.gold != cell.predicted;
    let shown: BTreeMap<&str, usize> = (errors.confusion.iter().filter(wrong))
        .flat_map(|cell| [&cell.gold, &cell.predicted])
        .flatten()
        .map(|label| (label.as_str(), 0))
        .collect();
    if shown.is_empty() {
        return String::new();
    }
    let labels: Vec<&str> = shown.keys().copied().collect();
    let place = |label: &Option<String>| match label {
        Some(label) => labels.binary_search(&label.as_str()).ok(),
        None => Some(labels.len()),
    };
    let most = errors
        .confusion
        .iter()
        .filter(wrong)
        .map(|cell| cell.count)
        .max()
        .unwrap_or(1);
    let side = (labels.len() + 1) as f64 * CELL;
    // The last column's slanted name extends to the right.
    let mut out = open(
        NAMES + side + HEAD * 0.6,
        HEAD + side + 4.0,
        "Gold labels against predicted labels",
    );
    for (i, label) in labels.iter().copied().chain([MISSED]).enumerate() {
        let x = NAMES + CELL * (i as f64 + 0.6);
        let y = HEAD - 6.0;
        let label = shorten(label, 28);
        out.push_str(&format!(
            "<text class=\"soft\" x=\"{x}\" y=\"{y}\" transform=\"rotate(-55 {x} {y})\">{label}</text>\n"
        ));
    }
    for (i, label) in labels.iter().copied().chain([SPURIOUS]).enumerate() {
        name(&mut out, label, HEAD + CELL * (i as f64 + 0.65));
    }
    for row in 0..=labels.len() {
        for column in 0..=labels.len() {
            if (row, column) != (labels.len(), labels.len()) {
                let (x, y) = (NAMES + CELL * column as f64, HEAD + CELL * row as f64);
                out.push_str(&format!(
                    "<rect class=\"empty\" x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\"/>\n"
                ));
            }
        }
    }
    for cell in &errors.confusion {
        let (Some(row), Some(column)) = (place(&cell.gold), place(&cell.predicted)) else {
            continue;
        };
        let (x, y) = (NAMES + CELL * column as f64, HEAD + CELL * row as f64);
        let (class, opacity) = if wrong(&cell) {
            // The square root keeps single errors visible next to hundreds.
            ("cell", 0.12 + 0.68 * (cell.count as f64 / most as f64).sqrt())
        } else {
            ("right", 0.25)
        };
        let title = format!(
            "{} as {}: {}",
            cell.gold.as_deref().unwrap_or("nothing"),
            cell.predicted.as_deref().unwrap_or("nothing"),
            thousands(cell.count)
        );
        out.push_str(&format!(
            "<g><title>{}</title><rect class=\"{class}\" fill-opacity=\"{opacity:.2}\" x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"{}\">{}</text></g>\n",
            escape(&title),
            x + CELL / 2.0,
            y + CELL / 2.0 + 4.0,
            if cell.count < 1000 { 11 } else { 9 },
            cell.count,
        ));
    }
    close(out)
}

/// Shares from `low` to `high`, between names and figures.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn x(&self, share: f64) -> f64 {
        let at = ((share - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        NAMES + at * (WIDTH - NAMES - FIGURES)
    }

    fn draw(&self, out: &mut String, ticks: &[f64], top: f64, bottom: f64) {
        for tick in ticks {
            let x = self.x(*tick);
            let label = format!("{:.2}", 100.0 * tick);
            let label = label.trim_end_matches('0').trim_end_matches('.');
            out.push_str(&format!(
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/><text class=\"soft\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>\n",
                bottom + 15.0
            ));
        }
    }
}

fn whisker(out: &mut String, axis: &Axis, estimate: &Estimate, y: f64) {
    let Some(interval) = widest(estimate) else { return };
    let (low, high) = (axis.x(interval.low), axis.x(interval.high));
    out.push_str(&format!(
        "<line class=\"whisker\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{y}\" y2=\"{y}\"/>\n"
    ));
    for x in [low, high] {
        let (top, bottom) = (y - 3.5, y + 3.5);
        out.push_str(&format!(
            "<line class=\"whisker\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>\n"
        ));
    }
}

fn name(out: &mut String, name: &str, y: f64) {
    let x = NAMES - 10.0;
    out.push_str(&format!(
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{}</text>\n",
        shorten(name, NAME)
    ));
}

fn figure(out: &mut String, figure: &str, y: f64) {
    let x = WIDTH - FIGURES + 12.0;
    out.push_str(&format!(
        "<text class=\"soft\" x=\"{x}\" y=\"{y}\">{}</text>\n",
        escape(figure)
    ));
}

/// Truncates a name to a number of characters, and escapes it.
fn shorten(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        escape(name)
    } else {
        format!("{}…", escape(&name.chars().take(width - 1).collect::<String>()))
    }
}

/// Wraps `drawing`, which is markup, in an SVG of this size in px; `what` is its title.
pub fn svg(width: f64, height: f64, what: &str, drawing: &str) -> String {
    let mut out = open(width, height, what);
    out.push_str(drawing);
    close(out)
}

/// Turns a drawing of [`svg`] into a file of its own, in the style of the pages and with the additional
/// `style`.
pub fn alone(drawing: &str, style: &str) -> String {
    let style = format!(
        ">\n<style>\n{}svg {{ background: var(--ground); }}\n{style}</style>\n",
        include_str!("style.css")
    );
    drawing.replacen(">\n", &style, 1)
}

fn open(width: f64, height: f64, what: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{0}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n<title>{0}</title>\n",
        escape(what)
    )
}

fn close(mut out: String) -> String {
    out.push_str("</svg>\n");
    out
}
