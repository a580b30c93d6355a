//! The comparison as a page of its own, without scripts or external content. It contains text of the notes.

use lethe_corpus::Document;
use lethe_evaluate::sheet::{CellOf, cell, classed, counted, escape, frame, passage, table, thousands};

use super::table::{agreements, compared_as, figures, notes, spans_of};
use super::{Comparison, Kind};

/// The most differences of each kind on a page.
const MOST: usize = 2_000;

/// Returns the page. `texts` are the notes that were compared.
pub(crate) fn page(comparison: &Comparison, texts: &[Document]) -> String {
    let mut out = String::from(
        "<p class=\"warning\"><strong>This page contains note text</strong> around each difference. Protect it as you protect the notes.</p>\n",
    );
    for sentence in notes(comparison) {
        out.push_str(&format!("<p class=\"lead\">{}</p>\n", escape(&sentence)));
    }
    let section = |out: &mut String, title: &str, names: &[&str], rows: Vec<Vec<CellOf>>| {
        out.push_str(&format!("<h2>{}</h2>\n", escape(title)));
        out.push_str(&table(names, rows));
    };
    let spans = spans_of(comparison)
        .into_iter()
        .map(|(name, count)| vec![cell(name), cell(thousands(count))]);
    section(&mut out, "Spans", &["Spans", "Number"], spans.collect());
    let characters = &comparison.characters;
    let rows = [
        ("covered by both", characters.both),
        ("only by Lethe", characters.only_lethe),
        ("only by the other tool", characters.only_other),
    ]
    .map(|(name, count)| vec![cell(name), cell(thousands(count))]);
    section(&mut out, "Characters", &["Characters", "Number"], rows.into());
    let rows = agreements(comparison).map(|(name, estimate)| {
        let (value, range) = figures(&estimate);
        vec![cell(name), cell(value), cell(range)]
    });
    section(
        &mut out,
        "Agreement",
        &["F1 of the two, in %", "Value", "95 % CI"],
        rows.into(),
    );
    out.push_str("<p class=\"note\">Without gold, no figure says which tool is right.</p>\n");
    let rows = comparison.labels.iter().map(|pair| {
        vec![
            cell(pair.lethe.as_deref().unwrap_or("-")),
            classed(pair.other.as_deref().unwrap_or("-"), "left"),
            cell(thousands(pair.same)),
            cell(thousands(pair.partly)),
        ]
    });
    section(
        &mut out,
        "Labels",
        &["Lethe", "Other tool", "Same", "Partly"],
        rows.collect(),
    );
    let rows = comparison.mapping.iter().map(|mapped| {
        vec![
            cell(&mapped.label),
            cell(thousands(mapped.spans)),
            classed(compared_as(mapped.by, &mapped.category), "left"),
        ]
    });
    section(
        &mut out,
        "Labels of the other tool",
        &["Label", "Spans", "Compared as"],
        rows.collect(),
    );
    out.push_str("<h2>Differences</h2>\n<p class=\"note text\"><span class=\"g\">Underlined</span>: Lethe. <span class=\"p\">Marked</span>: the other tool. ↵: line end.</p>\n");
    for kind in [Kind::OnlyOther, Kind::OnlyLethe, Kind::Partly, Kind::Label] {
        differences(&mut out, comparison, texts, kind);
    }
    frame("Comparison of two tools", "", &out)
}

fn differences(out: &mut String, comparison: &Comparison, texts: &[Document], kind: Kind) {
    let all: Vec<_> = comparison
        .differences
        .iter()
        .filter(|difference| difference.kind == kind)
        .collect();
    if all.is_empty() {
        return;
    }
    let open = if all.len() <= 50 { " open=\"open\"" } else { "" };
    out.push_str(&format!(
        "<details{open}><summary><b>{}</b> · {}</summary>\n<ol class=\"cases\">\n",
        escape(kind.words()),
        counted(all.len() as u64, "difference")
    ));
    for difference in all.iter().take(MOST) {
        out.push_str(&format!(
            "<li><p class=\"what\">{}</p>",
            escape(&super::table::line(difference))
        ));
        let shown = texts
            .get(difference.at)
            .and_then(|note| passage(difference.lethe.as_ref(), difference.other.as_ref(), &note.text));
        if let Some(shown) = shown {
            out.push_str(&format!("<p class=\"text\"><bdi>{shown}</bdi></p>"));
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ol></details>\n");
    if all.len() > MOST {
        out.push_str(&format!(
            "<p class=\"note\">{} more are not listed; --differences FILE writes all.</p>\n",
            thousands((all.len() - MOST) as u64)
        ));
    }
}
