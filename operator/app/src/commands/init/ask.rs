//! Questions on a terminal.

use std::io::{BufRead, Empty, Sink, Write};

use clap::ValueEnum;
use lethe_core::did_you_mean;

use super::by_name_or_number;
use crate::exit::usage;

/// Where answers come from, and where questions go.
pub(super) struct Questions<I, O> {
    pub(super) input: I,
    pub(super) output: O,
}

impl Questions<Empty, Sink> {
    /// Returns questions that nobody answers, for a command line that leaves nothing open.
    pub(super) fn none() -> Self {
        Self {
            input: std::io::empty(),
            output: std::io::sink(),
        }
    }
}

impl<I: BufRead, O: Write> Questions<I, O> {
    /// Asks for a text; an empty line is the default.
    ///
    /// # Errors
    /// If the terminal is closed.
    pub(super) fn text(&mut self, question: &str, default: &str) -> anyhow::Result<String> {
        write!(self.output, "{question} [{default}] ")?;
        let answer = self.answer()?;
        Ok(if answer.is_empty() {
            default.to_owned()
        } else {
            answer
        })
    }

    /// Asks for one of the values, by name or number, until it is one; an empty line is the first.
    ///
    /// # Errors
    /// If the terminal is closed.
    pub(super) fn choose<T: ValueEnum>(&mut self, question: &str) -> anyhow::Result<T> {
        writeln!(self.output, "{question}")?;
        let values: Vec<_> = T::value_variants()
            .iter()
            .filter_map(ValueEnum::to_possible_value)
            .collect();
        for (number, value) in (1..).zip(&values) {
            let help = value.get_help().map(ToString::to_string).unwrap_or_default();
            writeln!(self.output, "  {number} {:<12} {help}", value.get_name())?;
        }
        loop {
            let first = values.first().map_or("", |value| value.get_name());
            let answer = self.text("Name or number", first)?;
            if let Some(value) = by_name_or_number(&answer) {
                return Ok(value);
            }
            let near = did_you_mean(&answer, values.iter().map(|value| value.get_name()));
            writeln!(self.output, "`{answer}` is not one of these{near}")?;
        }
    }

    fn answer(&mut self) -> anyhow::Result<String> {
        self.output.flush()?;
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            return Err(usage("the questions were not answered; nothing was written"));
        }
        Ok(line.trim().to_owned())
    }
}
