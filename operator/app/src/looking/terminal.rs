//! Notes on a terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Color, Effects, Style};

use super::{Looked, Piece};

/// Colours of labels, which are distributed over them by number.
const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Magenta,
    AnsiColor::Yellow,
    AnsiColor::Green,
    AnsiColor::Blue,
    AnsiColor::Red,
];

const DIM: Style = Style::new().effects(Effects::DIMMED);

fn style(label: u16) -> Style {
    let colour = COLOURS[usize::from(label) % COLOURS.len()];
    Style::new()
        .fg_color(Some(Color::Ansi(colour)))
        .effects(Effects::BOLD)
}

/// Returns the note with each redacted span in the colour of its label, and a line for each span: its place in
/// bytes, label, score and members. The styles are escape codes, which the writer leaves out where nobody sees
/// them; brackets show the spans without colours, too.
pub(crate) fn note(looked: &Looked<'_>) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for piece in looked.pieces() {
        match piece {
            Piece::Plain(text) => out.push_str(text),
            Piece::Found(text, decision) => {
                let style = style(decision.label.0);
                let label = looked.label(decision);
                write!(out, "{style}[{text}]{style:#}{DIM}{label}{DIM:#}")?;
            }
        }
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    if !looked.trace.decisions.is_empty() {
        writeln!(
            out,
            "\n{DIM}{:>13}  {:14}  {:>5}  members{DIM:#}",
            "bytes", "label", "score"
        )?;
    }
    for decision in &looked.trace.decisions {
        let style = style(decision.label.0);
        let place = format!("{}-{}", decision.span.start(), decision.span.end());
        writeln!(
            out,
            "{place:>13}  {style}{:14}{style:#}  {:5.2}  {}",
            looked.label(decision),
            decision.score,
            looked.members(decision)
        )?;
    }
    if !looked.review().is_empty() {
        writeln!(out, "\na person should check this note: {}", looked.review())?;
    }
    Ok(out)
}

/// Returns the lines of the note that change, before and after.
pub(crate) fn difference(looked: &Looked<'_>) -> Result<String, std::fmt::Error> {
    let (minus, plus) = (
        Style::new().fg_color(Some(AnsiColor::Red.into())),
        Style::new().fg_color(Some(AnsiColor::Green.into())),
    );
    let mut out = String::new();
    // A replacement can hold or take away a line end, so lines are those of the common unchanged text.
    let (mut before, mut after) = (looked.text.lines(), looked.redacted.lines());
    if looked.text.lines().count() == looked.redacted.lines().count() {
        for (number, (before, after)) in before.zip(after).enumerate() {
            if before != after {
                writeln!(
                    out,
                    "{DIM}{}{DIM:#}\n{minus}-{before}{minus:#}\n{plus}+{after}{plus:#}",
                    number + 1
                )?;
            }
        }
        return Ok(out);
    }
    before.try_for_each(|line| writeln!(out, "{minus}-{line}{minus:#}"))?;
    after.try_for_each(|line| writeln!(out, "{plus}+{line}{plus:#}"))?;
    Ok(out)
}
