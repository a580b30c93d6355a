//! A report as a page of its own, without scripts or external content.

use lethe_evaluate::sheet::escape;

use super::Report;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1d2530; --soft: #66707c; --line: #d9dee4; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #98a2ae; --line: #343c46; --paper: #14181d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
th { text-align: left; font-weight: 500; color: var(--soft); } td, th { padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
@media print { body { max-width: none; margin: 0; } }
";

/// Returns the report as a page.
pub(crate) fn to_html(report: &Report) -> String {
    let title = escape(&report.title);
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head><body><h1>{title}</h1>"
    );
    for section in &report.sections {
        out.push_str(&format!("<h2>{}</h2>", escape(&section.title)));
        for text in &section.text {
            out.push_str(&format!("<p>{}</p>", escape(text)));
        }
        if section.rows.is_empty() {
            continue;
        }
        out.push_str("<table>");
        if section.header.iter().any(|name| !name.is_empty()) {
            out.push_str("<tr>");
            section
                .header
                .iter()
                .for_each(|name| out.push_str(&format!("<th>{}", escape(name))));
        }
        for row in &section.rows {
            out.push_str("<tr>");
            row.iter()
                .for_each(|cell| out.push_str(&format!("<td>{}", escape(cell))));
        }
        out.push_str("</table>");
    }
    out.push_str("</body></html>\n");
    out
}
