//! Collects lines of text from a marked-up document.
//!
//! White space counts as in a browser: it collapses, a block starts a line, and there is at most one empty
//! line. So the output, written as lines with breaks between them, is unchanged when it is read again.

/// Collects flowing text line by line.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    out: String,
    /// Line ends before the next character; at most two.
    breaks: u8,
    /// Whether a space precedes the next character on the same line.
    space: bool,
    /// Whether the last character was a carriage return in preformatted text.
    returned: bool,
    /// Start of the marked run of text; `None` before its first character.
    run: Option<usize>,
    marking: bool,
}

/// The separator of two cells of a row.
const CELLS: &str = "  ";

impl Lines {
    /// Returns an empty collection with capacity for about this many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self {
            out: String::with_capacity(bytes),
            ..Self::default()
        }
    }

    /// Returns the lines without leading and trailing empty ones.
    pub(crate) fn finish(mut self) -> String {
        let kept = self.out.trim_end_matches([' ', '\n']).len();
        self.out.truncate(kept);
        self.out
    }

    /// Marks the following text, up to [`Self::marked`], as a run.
    pub(crate) fn mark(&mut self) {
        (self.run, self.marking) = (None, true);
    }

    /// Returns the run's span in the lines without spaces at its ends; `None` if it has no other characters.
    pub(crate) fn marked(&mut self) -> Option<(usize, usize)> {
        self.marking = false;
        let start = self.run.take()?;
        let text = self.out.get(start..)?.trim_end_matches([' ', '\n']);
        (!text.is_empty()).then_some((start, start + text.len()))
    }

    /// Adds a character of running text.
    pub(crate) fn flow(&mut self, c: char) {
        match c {
            ' ' | '\t' | '\n' | '\r' | '\u{c}' => self.space = true,
            _ => self.solid(c),
        }
    }

    /// Adds a character of text whose spaces and line ends are significant.
    pub(crate) fn preformatted(&mut self, c: char) {
        let after_return = std::mem::replace(&mut self.returned, c == '\r');
        match c {
            '\n' if after_return => {}
            '\n' | '\r' => self.line(),
            ' ' | '\t' => self.solid(' '),
            _ => self.solid(c),
        }
    }

    /// Adds an explicit line end.
    pub(crate) fn line(&mut self) {
        self.breaks = (self.breaks + 1).min(2);
        self.space = false;
    }

    /// Starts a block, with an empty line before it if `apart`.
    pub(crate) fn block(&mut self, apart: bool) {
        self.breaks = self.breaks.max(if apart { 2 } else { 1 });
        self.space = false;
    }

    /// Starts the next cell of a row.
    pub(crate) fn cell(&mut self) {
        if self.breaks == 0 && !self.out.is_empty() && !self.out.ends_with('\n') {
            self.space = false;
            self.out.push_str(CELLS);
        }
    }

    /// Adds a literal character, including a non-breaking space. Zero-width characters are left out: they
    /// would split a name for a search but not for a reader.
    fn solid(&mut self, c: char) {
        let c = match c {
            '\u{a0}' => ' ',
            '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => return,
            c if c < ' ' => return,
            c => c,
        };
        if self.breaks > 0 {
            let kept = self.out.trim_end_matches(' ').len();
            self.out.truncate(kept);
            if !self.out.is_empty() {
                let there = self.out.bytes().rev().take(2).take_while(|&b| b == b'\n').count();
                let wanted = (there + usize::from(self.breaks)).min(2);
                (there..wanted).for_each(|_| self.out.push('\n'));
            }
            self.breaks = 0;
        } else if self.space && !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push(' ');
        }
        self.space = false;
        if self.marking && c != ' ' {
            self.run.get_or_insert(self.out.len());
        }
        if !(c == ' ' && self.out.is_empty()) {
            self.out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_collapses_unless_it_is_preformatted() {
        let mut lines = Lines::default();
        "  a \n\t b".chars().for_each(|c| lines.flow(c));
        lines.block(false);
        "c  d\r\n e\n\n\n\nf".chars().for_each(|c| lines.preformatted(c));
        assert_eq!(lines.finish(), "a b\nc  d\n e\n\nf");
    }

    #[test]
    fn a_run_lies_where_its_text_does() {
        let mut lines = Lines::default();
        let mut run = |text: &str| {
            lines.mark();
            text.chars().for_each(|c| lines.flow(c));
            let marked = lines.marked();
            lines.line();
            marked.map(|(start, end)| lines.out.get(start..end).unwrap().to_owned())
        };
        assert_eq!(run(" \u{a0}Na  139 \u{a0}").as_deref(), Some("Na 139"));
        assert_eq!(run(" \u{a0} \u{200b}"), None);
        assert_eq!(run("é").as_deref(), Some("é"));
        assert_eq!(lines.finish(), "Na 139\n\né");
    }

    #[test]
    fn breaks_before_the_first_and_after_the_last_line_are_left_out() {
        let mut lines = Lines::default();
        lines.block(true);
        lines.line();
        "\u{a0}a".chars().for_each(|c| lines.flow(c));
        lines.block(true);
        lines.flow('\u{a0}');
        lines.line();
        assert_eq!(lines.finish(), "a");
    }
}
