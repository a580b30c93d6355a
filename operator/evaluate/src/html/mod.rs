//! The report as one self-contained HTML page, without scripts, fonts or external images. Its content
//! security policy forbids everything that it does not use. It is well-formed XML except for its first line,
//! which a test relies on.

pub(crate) mod context;
mod leaks;
pub(crate) mod markup;
mod plot;
mod system;

use lethe_corpus::Document;

pub use self::plot::{alone, svg};

use self::markup::{CellOf, cell, classed, escape, table};
use crate::figure::{
    across, counted, f_name, p_value, percent, points, points_range, range, thousands, widest,
};
use crate::report::{Report, System};

/// Options of the page.
#[derive(Clone, Debug)]
pub struct PageOptions {
    /// Its title.
    pub title: String,
    /// Whether errors are shown with the surrounding text. The page then contains note text, and its top says
    /// so.
    pub contexts: bool,
    /// The most errors to list per system; the page counts those that it leaves out.
    pub cases: usize,
}

impl Default for PageOptions {
    fn default() -> Self {
        Self {
            title: "Evaluation".to_owned(),
            contexts: true,
            cases: 5_000,
        }
    }
}

/// Renders the page. `gold` must be the documents given to [`evaluate`](crate::evaluate), since contexts are
/// cut from their texts.
pub fn page(report: &Report, gold: &[Document], options: &PageOptions) -> String {
    let mut out = String::new();
    head(&mut out, report, options);
    overview(&mut out, report);
    by_label(&mut out, report);
    differences(&mut out, report);
    for (number, system) in report.systems.iter().enumerate() {
        system::section(&mut out, report, number, system, gold, options);
    }
    out.push_str(GUIDE);
    footer(&mut out, report);
    frame(&options.title, "", &out)
}

/// Wraps a body in a page with title, style sheet and additional style, without scripts or external content.
/// `body` and `style` are markup.
pub fn frame(title: &str, style: &str, body: &str) -> String {
    let title = escape(title);
    let mut out =
        String::from("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n");
    out.push_str("<meta charset=\"utf-8\"/>\n");
    out.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    out.push_str(&format!("<title>{title}</title>\n<style>\n"));
    out.push_str(include_str!("style.css"));
    out.push_str(style);
    out.push_str("</style>\n</head>\n<body>\n");
    out.push_str(&format!("<h1>{title}</h1>\n"));
    out.push_str(body);
    out.push_str("</body>\n</html>\n");
    out
}

fn head(out: &mut String, report: &Report, options: &PageOptions) {
    let mut gold = format!(
        "{}, {} of gold",
        counted(report.documents, "document"),
        counted(report.spans, "span")
    );
    if let Some(patients) = report.patients {
        gold.push_str(&format!(", {}", counted(patients, "patient")));
    }
    out.push_str(&format!(
        "<p class=\"lead\">{gold}; {}.</p>\n",
        counted(report.systems.len() as u64, "system")
    ));
    out.push_str(if options.contexts {
        "<p class=\"warning\"><strong>This page contains note text</strong> around each error. Protect it as you protect the notes.</p>\n"
    } else {
        "<p class=\"calm\">This page contains no note text: errors are listed by document and byte offset.</p>\n"
    });
    for system in report
        .systems
        .iter()
        .filter(|system| system.missing_documents > 0)
    {
        out.push_str(&format!(
            "<p class=\"note\">{} lacks {}; counted as empty.</p>\n",
            escape(&system.name),
            counted(system.missing_documents, "document")
        ));
    }
    if !report.unmapped.is_empty() {
        let labels = escape(&report.unmapped.join(", "));
        out.push_str(&format!(
            "<p class=\"note\">The label set lacks {labels}; each is a category of its own.</p>\n"
        ));
    }
    out.push_str("<nav>");
    for (number, system) in report.systems.iter().enumerate() {
        out.push_str(&format!(
            "<a href=\"#system-{number}\">{}</a>",
            escape(&system.name)
        ));
    }
    out.push_str("<a href=\"#guide\">How to read this</a></nav>\n");
}

fn overview(out: &mut String, report: &Report) {
    out.push_str("<h2>Systems</h2>\n<h3>Strict: label, start and end</h3>\n");
    if report.systems.len() > 1 {
        figure(
            out,
            &plot::systems(&report.systems),
            "Strict micro-F1 with its 95 % interval. The axis does not begin at 0.",
        );
    }
    let f = f_name(report.settings.beta);
    let best = |value: &dyn Fn(&System) -> f64| report.systems.iter().map(value).fold(0.0, f64::max);
    let mark = |value: f64, best: f64| {
        let class = if value == best && report.systems.len() > 1 {
            "best"
        } else {
            ""
        };
        classed(percent(value), class)
    };
    let (precision, recall) = (
        best(&|system| system.measures.strict.precision.value),
        best(&|system| system.measures.strict.recall.value),
    );
    let (f1, f_beta) = (
        best(&|system| system.measures.strict.f1.value),
        best(&|system| system.measures.strict.f_beta.value),
    );
    let row = |system: &System| {
        let score = &system.measures.strict;
        vec![
            cell(&system.name),
            cell(thousands(score.gold)),
            cell(thousands(score.predicted)),
            cell(thousands(score.hits)),
            mark(score.precision.value, precision),
            mark(score.recall.value, recall),
            mark(score.f1.value, f1),
            cell(range(widest(&score.f1))),
            mark(score.f_beta.value, f_beta),
        ]
    };
    let names = [
        "System",
        "Gold",
        "Predicted",
        "Hits",
        "Precision",
        "Recall",
        "F1",
        "95 % interval",
        &f,
    ];
    out.push_str(&table(&names, report.systems.iter().map(row).collect()));
    out.push_str("<h3>F1 by measure</h3>\n");
    let measures = |system: &System| -> [f64; 7] {
        let of = &system.measures;
        let micro = [&of.strict, &of.span, &of.relaxed, &of.token, &of.character].map(|score| score.f1.value);
        let [strict, span, relaxed, token, character] = micro;
        [
            strict,
            span,
            relaxed,
            token,
            character,
            system.averages.labels.f1,
            system.averages.documents.f1,
        ]
    };
    let row = |system: &System| {
        let cells = measures(system).into_iter().enumerate();
        let marked = cells.map(|(i, value)| mark(value, best(&|system| measures(system)[i])));
        std::iter::once(cell(&system.name)).chain(marked).collect()
    };
    let names = [
        "System",
        "Strict",
        "Span only",
        "Relaxed",
        "Token",
        "Character",
        "Macro by label",
        "Macro by document",
    ];
    out.push_str(&table(&names, report.systems.iter().map(row).collect()));
    leaks::leaks(out, report);
    let seen = report
        .systems
        .iter()
        .filter_map(|system| Some((system, system.seen.as_ref()?)));
    let rows: Vec<Vec<CellOf>> = seen
        .map(|(system, seen)| {
            let mut row = vec![cell(&system.name)];
            for part in [&seen.seen, &seen.unseen] {
                row.extend([
                    cell(thousands(part.of)),
                    cell(percent(part.share.value)),
                    cell(range(widest(&part.share))),
                ]);
            }
            row
        })
        .collect();
    if !rows.is_empty() {
        out.push_str("<h3>Strict recall on spans seen and not seen in training</h3>\n");
        let names = [
            "System",
            "Seen spans",
            "Recall",
            "95 % interval",
            "Unseen spans",
            "Recall",
            "95 % interval",
        ];
        out.push_str(&table(&names, rows));
    }
}

/// Lists each label's strict F1 by system, the best in bold.
fn by_label(out: &mut String, report: &Report) {
    if report.systems.len() < 2 {
        return;
    }
    let rows = across(report).into_iter().map(|(label, scores)| {
        let best = scores.iter().flatten().copied().fold(0.0, f64::max);
        let score = |score: Option<f64>| match score {
            None => cell("-"),
            Some(score) => classed(percent(score), if score == best { "best" } else { "" }),
        };
        std::iter::once(cell(label))
            .chain(scores.into_iter().map(score))
            .collect()
    });
    let names: Vec<&str> = std::iter::once("Label")
        .chain(report.systems.iter().map(|system| system.name.as_str()))
        .collect();
    out.push_str("<h3>Strict F1 by label</h3>\n");
    out.push_str(&table(&names, rows.collect()));
}

fn differences(out: &mut String, report: &Report) {
    if report.comparisons.is_empty() {
        return;
    }
    out.push_str("<h2>Differences</h2>\n<p>Strict micro-F1 of the first system minus that of the second, in points, and the probability (p) of a difference at least as large between equally good systems, by three tests.");
    if report.comparisons.len() > 1 {
        out.push_str(&format!(
            " p is not corrected for {} comparisons.",
            report.comparisons.len()
        ));
    }
    out.push_str("</p>\n");
    let rows = report.comparisons.iter().map(|comparison| {
        let significant = comparison.randomisation.p.is_some_and(|p| p < 0.05);
        vec![
            cell(&comparison.a),
            classed(&comparison.b, "left"),
            classed(
                points(comparison.difference.value),
                if significant { "best" } else { "" },
            ),
            cell(points_range(widest(&comparison.difference))),
            cell(p_value(&comparison.t_test)),
            cell(p_value(&comparison.wilcoxon)),
            cell(p_value(&comparison.randomisation)),
        ]
    });
    let names = [
        "First",
        "Second",
        "Points",
        "95 % interval",
        "Paired t-test",
        "Wilcoxon",
        "Randomisation",
    ];
    out.push_str(&table(&names, rows.collect()));
}

/// Appends a drawing with its caption, if there is a drawing.
pub fn figure(out: &mut String, drawing: &str, caption: &str) {
    if !drawing.is_empty() {
        out.push_str(&format!(
            "<figure>\n{drawing}<figcaption>{}</figcaption>\n</figure>\n",
            escape(caption)
        ));
    }
}

fn footer(out: &mut String, report: &Report) {
    let settings = &report.settings;
    let over = report
        .systems
        .iter()
        .any(|system| system.measures.strict.f1.by_patient.is_some());
    let mut parts = vec![
        format!(
            "{} of {}, {} by randomisation test, seed {}",
            counted(settings.resamples, "resample"),
            if over { "patients" } else { "documents" },
            counted(settings.shuffles, "shuffle"),
            settings.seed
        ),
        format!("beta {}", settings.beta),
        format!("tokenizer {}", settings.tokenizer),
    ];
    parts.extend(settings.label_set.as_ref().map(|set| format!("label set {set}")));
    parts.extend(
        settings
            .training_documents
            .map(|n| format!("{} of training", counted(n, "document"))),
    );
    out.push_str(&format!("<footer>{}.</footer>\n", escape(&parts.join("; "))));
}

/// The explanation of every figure.
const GUIDE: &str = include_str!("guide.html");
