//! A note as a page of its own, without scripts or external content.

use std::fmt::Write as _;

use lethe_evaluate::sheet::escape;

use super::{Looked, Piece};

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1d2530; --soft: #66707c; --line: #d9dee4; --paper: #fff; --lightness: 88%; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #98a2ae; --line: #343c46; --paper: #14181d; --lightness: 28%; } }
body { font: 15px/1.6 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.2rem; } h2 { font-size: 1rem; margin-top: 2rem; }
.note { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: .4rem; padding: 1rem; }
mark { color: inherit; border-radius: .2rem; padding: 0 .15rem; background: hsl(var(--hue) 70% var(--lightness)); }
mark small { color: var(--soft); margin-left: .25rem; font-size: .7em; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--soft); } td, th { padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); }
p { color: var(--soft); }
";

/// Returns the hue of a label.
fn hue(label: u16) -> u32 {
    // Neighbours are far apart on the circle.
    u32::from(label) * 137 % 360
}

/// Returns the page: the note with its spans, the redacted note, and a table of the spans.
pub(crate) fn page(looked: &Looked<'_>, title: &str) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let title = escape(title);
    write!(
        out,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head><body>\
         <h1>{title}</h1><p>This page contains the note itself. Members: {}.</p>",
        escape(&looked.engine.members().join(", "))
    )?;
    if !looked.review().is_empty() {
        write!(
            out,
            "<p>A person should check this note: {}.</p>",
            escape(&looked.review())
        )?;
    }
    out.push_str("<h2>Note</h2><div class=\"note\">");
    for piece in looked.pieces() {
        match piece {
            Piece::Plain(text) => out.push_str(&escape(text)),
            Piece::Found(text, decision) => write!(
                out,
                "<mark style=\"--hue:{}\" title=\"score {:.2}; {}\">{}<small>{}</small></mark>",
                hue(decision.label.0),
                decision.score,
                escape(&looked.members(decision)),
                escape(text),
                escape(looked.label(decision))
            )?,
        }
    }
    write!(
        out,
        "</div><h2>Redacted</h2><div class=\"note\">{}</div>",
        escape(looked.redacted)
    )?;
    if !looked.trace.decisions.is_empty() {
        out.push_str("<h2>Spans</h2><table><tr><th>bytes<th>label<th>score<th>members");
        for decision in &looked.trace.decisions {
            write!(
                out,
                "<tr><td>{}–{}<td>{}<td>{:.2}<td>{}",
                decision.span.start(),
                decision.span.end(),
                escape(looked.label(decision)),
                decision.score,
                escape(&looked.members(decision))
            )?;
        }
        out.push_str("</table>");
    }
    out.push_str("</body></html>\n");
    Ok(out)
}
