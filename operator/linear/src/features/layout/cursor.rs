//! Positions of tokens in sequence, with constant memory for every note.

use std::ops::Range;

use super::{Gap, Laid, Place};
use crate::features::hash::pair;
use crate::features::spelling::Form;
use crate::features::words::Word;

/// The most tokens of a head.
const HEAD: usize = 8;

/// Returns the positions of a note's tokens in sequence. Its state has the same size for every note; a copy
/// continues from the same position.
#[derive(Clone, Copy)]
pub(in crate::features) struct Cursor {
    at: usize,
    lines: u16,
    line: Line,
    run: Run,
    cue: Cue,
}

/// The cursor's current line.
#[derive(Clone, Copy, Default)]
struct Line {
    start: usize,
    end: usize,
    number: u16,
    colon: Option<usize>,
    head: u64,
    first: u64,
    first2: u64,
    section: u64,
    /// The section of the line below.
    next_section: u64,
    key: u64,
    key2: u64,
    since: u16,
}

/// The run of glued tokens: a network address, a date in digits, a number in groups. Punctuation marks that
/// close one are separate.
#[derive(Clone, Copy, Default)]
struct Run {
    start: usize,
    /// The end of the run without the marks that close it, and with them.
    end: usize,
    whole: usize,
    shape: u64,
    marks: u8,
}

/// The last cue of the sentence.
#[derive(Clone, Copy, Default)]
struct Cue {
    sentence: usize,
    cue: u64,
    lists: u64,
    since: u16,
}

impl Cursor {
    /// Starts before the first token.
    pub(in crate::features) fn new(note: &impl Laid) -> Self {
        let lines = (1..=note.tokens()).filter(|&token| note.gap(token) >= Gap::Line);
        Self {
            at: 0,
            lines: lines.count() as u16,
            line: Line::default(),
            run: Run::default(),
            cue: Cue::default(),
        }
    }

    /// Returns the position of the next token, which must exist.
    #[inline]
    pub(in crate::features) fn next(&mut self, note: &impl Laid, sentences: &[u32]) -> Place {
        let i = self.at;
        if i == self.line.end {
            self.begin_line(note);
        }
        if i == self.run.whole {
            self.begin_run(note);
        }
        let (cue, cue_lists, since_cue) = self.cue.pass(i, note.word(i), sentences);
        let (line, word) = (&mut self.line, note.word(i));
        let is_key = word.colon && i > line.start && is_word(note.word(i - 1)) && {
            // The colon of a scheme, a ratio or a time is followed by a glued token, and starts no field.
            note.gap(i + 1) != Gap::Glued || i + 1 >= note.tokens() || note.word(i + 1).form != Form::Mark
        };
        if is_key {
            line.key = note.word(i - 1).norm;
            line.key2 = line.key;
            if i >= line.start + 2 && note.gap(i - 1) <= Gap::Blank {
                line.key2 = pair(line.key, note.word(i - 2).norm);
            }
            line.since = 0;
        }
        let next_colon = i + 1 < line.end && note.word(i + 1).colon;
        let run = &self.run;
        // A mark that closes a run is a run of its own.
        let closing = i >= run.end;
        let place = Place {
            before: note.gap(i),
            after: note.gap(i + 1),
            from_start: (i - line.start) as u16,
            to_end: (line.end - 1 - i).min(u16::MAX as usize) as u16,
            line: line.number,
            lines_after: self.lines.saturating_sub(line.number.saturating_add(1)),
            head: line.head,
            key: line.key,
            key2: line.key2,
            since: line.since,
            in_key: line.colon.is_some_and(|colon| i <= colon) || word.colon || (is_word(word) && next_colon),
            section: line.section,
            first: line.first,
            first2: line.first2,
            cue,
            cue_lists,
            since_cue,
            chunk: if closing { 0 } else { run.shape },
            in_chunk: if closing {
                0
            } else {
                u8::from(i > run.start) | u8::from(i + 1 < run.end) << 1
            },
            chunk_len: if closing {
                1
            } else {
                (run.end - run.start).min(usize::from(u16::MAX)) as u16
            },
            chunk_marks: if closing { word.mark } else { run.marks },
        };
        line.since = line.since.saturating_add(1);
        self.at += 1;
        place
    }

    fn begin_line(&mut self, note: &impl Laid) {
        let start = self.at;
        let end = (start + 1..note.tokens())
            .find(|&i| note.gap(i) >= Gap::Line)
            .unwrap_or(note.tokens());
        let colon = (start + 1..end.min(start + HEAD + 1)).find(|&i| note.word(i).colon);
        let head = colon.map_or(0, |colon| phrase(note, start..colon));
        let word = note.word(start);
        let second = if start + 1 < end {
            note.word(start + 1).norm
        } else {
            0
        };
        let section = self.line.next_section;
        let next_section = match colon {
            Some(_) => head,
            // A heading: a few words in a line of their own.
            None if end - start <= 5 && is_word(word) && word.form != Form::Lower => phrase(note, start..end),
            None => section,
        };
        self.line = Line {
            start,
            end,
            number: if start == 0 {
                0
            } else {
                self.line.number.saturating_add(1)
            },
            colon,
            head,
            first: word.norm,
            first2: pair(word.norm, second),
            section,
            next_section,
            key: 0,
            key2: 0,
            since: 0,
        };
    }

    fn begin_run(&mut self, note: &impl Laid) {
        let start = self.at;
        let (mut end, mut marks, mut after) = (start, 0, 0);
        let mut whole = start;
        loop {
            let (is_mark, mark) = note.mark(whole);
            after |= mark;
            whole += 1;
            if !is_mark {
                (end, marks) = (whole, marks | after);
                after = 0;
            }
            if whole == note.tokens() || note.gap(whole) != Gap::Glued {
                break;
            }
        }
        // A run this long is noise: all get one shape.
        let shape = match end - start {
            0 | 1 => 0,
            2..=24 => (start..end).map(|i| note.word(i)).fold(1, |hash, word| {
                let digits = word.form == Form::Digits;
                pair(hash, if digits { word.shape } else { word.short })
            }),
            _ => 2,
        };
        self.run = Run {
            start,
            end,
            whole,
            shape,
            marks,
        };
    }
}

impl Cue {
    /// Updates the last cue before token `i`, and its distance.
    #[inline]
    fn pass(&mut self, i: usize, word: &Word, sentences: &[u32]) -> (u64, u64, u16) {
        while sentences.get(self.sentence).is_some_and(|&end| i >= end as usize) {
            *self = Self {
                sentence: self.sentence + 1,
                ..Self::default()
            };
        }
        if self.sentence == sentences.len() {
            return (0, 0, 0);
        }
        let before = (self.cue, self.lists, self.since);
        if word.cue {
            (self.cue, self.lists, self.since) = (word.norm, word.groups, 0);
        } else {
            self.since = self.since.saturating_add(1);
        }
        before
    }
}

fn is_word(word: &Word) -> bool {
    matches!(word.form, Form::Lower | Form::Title | Form::Upper)
}

fn phrase(note: &impl Laid, words: Range<usize>) -> u64 {
    words
        .clone()
        .fold(words.len() as u64, |hash, i| pair(hash, note.word(i).norm))
}
