//! A report as Markdown.

use super::Report;

/// Returns the report as Markdown.
pub(crate) fn to_markdown(report: &Report) -> String {
    let mut out = format!("# {}\n", report.title);
    for section in &report.sections {
        out.push_str(&format!("\n## {}\n", section.title));
        for text in &section.text {
            out.push_str(&format!("\n{text}\n"));
        }
        if section.rows.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{}", line(&section.header)));
        out.push_str(&format!("|{}\n", " --- |".repeat(section.header.len())));
        section.rows.iter().for_each(|row| out.push_str(&line(row)));
    }
    out
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells
        .iter()
        .map(|cell| {
            cell.replace('|', "\\|")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    format!("| {} |\n", cells.join(" | "))
}
