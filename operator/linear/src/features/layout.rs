//! The layout of a note: the gaps between its tokens, its lines, the fields of its forms, its sections.

mod cursor;

use super::spelling::Form;
use super::words::Word;

pub(super) use cursor::Cursor;

/// The gap between two tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Gap {
    /// Nothing.
    Glued,
    /// One blank.
    Blank,
    /// Several blanks, a tab, or a control character, as between the cells of a form.
    Wide,
    /// A line's end.
    Line,
    /// An empty line.
    Paragraph,
    /// The note's start or end.
    Edge,
}

/// The position of a token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The gaps before the token and after it.
    pub(super) before: Gap,
    pub(super) after: Gap,
    /// The tokens of its line before it and after it.
    pub(super) from_start: u16,
    pub(super) to_end: u16,
    /// The lines before its line and after it.
    pub(super) line: u16,
    pub(super) lines_after: u16,
    /// The words before the line's first colon; 0 if it has none near its start.
    pub(super) head: u64,
    /// The last word, and the last two words, before the nearest colon in the line before the token; 0
    /// without one.
    pub(super) key: u64,
    pub(super) key2: u64,
    /// Tokens since that colon.
    pub(super) since: u16,
    /// Whether the token belongs to a head or key.
    pub(super) in_key: bool,
    /// The head of the nearest line above that has one or is a heading.
    pub(super) section: u64,
    /// The line's first word, and its first two.
    pub(super) first: u64,
    pub(super) first2: u64,
    /// The nearest cue before it in its sentence, the lists of that cue, and its distance; 0 without one.
    pub(super) cue: u64,
    pub(super) cue_lists: u64,
    pub(super) since_cue: u16,
    /// The shape of the run of glued tokens that contains it, and whether it begins, continues, ends or is
    /// the run.
    pub(super) chunk: u64,
    pub(super) in_chunk: u8,
    /// The number of tokens in the run, and which of some significant punctuation marks it has.
    pub(super) chunk_len: u16,
    pub(super) chunk_marks: u8,
}

/// Returns the gap for this text.
pub(super) fn gap_of(between: &[u8]) -> Gap {
    match between {
        [] => Gap::Glued,
        b" " => Gap::Blank,
        _ => match between.iter().filter(|&&byte| byte == b'\n').count() {
            0 => Gap::Wide,
            1 => Gap::Line,
            _ => Gap::Paragraph,
        },
    }
}

/// The data of a note's tokens that a layout needs.
pub(super) trait Laid {
    /// Returns the number of tokens in the note.
    fn tokens(&self) -> usize;
    /// Returns the word of a token at most [`BEHIND`] before or [`AHEAD`] after the given one.
    fn word(&self, token: usize) -> &Word;
    /// Returns the gap before any token, or after the last one for the index after it.
    fn gap(&self, token: usize) -> Gap;
    /// Returns whether any token is a punctuation mark, and its [`Word::mark`].
    fn mark(&self, token: usize) -> (bool, u8);
}

/// The number of tokens before and after the current one whose words are read.
pub(super) const BEHIND: usize = 2;
pub(super) const AHEAD: usize = 32;

/// A note whose words are all in memory.
struct Whole<'a> {
    words: &'a [Word],
    gaps: &'a [Gap],
}

impl Laid for Whole<'_> {
    fn tokens(&self) -> usize {
        self.words.len()
    }

    #[inline]
    fn word(&self, token: usize) -> &Word {
        &self.words[token]
    }

    #[inline]
    fn gap(&self, token: usize) -> Gap {
        self.gaps[token]
    }

    #[inline]
    fn mark(&self, token: usize) -> (bool, u8) {
        let word = &self.words[token];
        (word.form == Form::Mark, word.mark)
    }
}

/// Returns the positions of a note's tokens. `words` are its words in order; `gaps[i]` precedes token `i`,
/// and one more follows the last; `sentences` are the exclusive ends of its sentences.
pub(super) fn lay_out(words: &[Word], gaps: &[Gap], sentences: &[u32], out: &mut Vec<Place>) {
    out.clear();
    let whole = Whole { words, gaps };
    let mut cursor = Cursor::new(&whole);
    out.extend((0..words.len()).map(|_| cursor.next(&whole, sentences)));
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;
    use lethe_dictionaries::Dictionary;

    use super::*;
    use crate::features::lists::Groups;
    use crate::features::words::{Lists, Words};

    /// Returns each token's text and place.
    fn places(text: &str) -> Vec<(String, Place)> {
        let (batch, dictionary) = (NoteBatch::from_texts([text]).unwrap(), Dictionary::builtin());
        let (note, groups) = (batch.note(0), Groups::new(&dictionary));
        let lists = Lists {
            tagger: None,
            dictionary: Some((&*dictionary, &groups)),
        };
        let (mut store, mut words, mut gaps, mut out) =
            (Words::default(), Vec::new(), vec![Gap::Edge], Vec::new());
        let mut own = store.begin(note.tokens.len());
        for i in 0..note.tokens.len() {
            let (start, end) = (note.tokens.starts[i] as usize, note.tokens.ends[i] as usize);
            let id = store.push(&mut own, text, (start, end, note.tokens.kind(i)), &lists);
            words.push(own.words[id as usize]);
            gaps.push(gap_of(note.gap_after(i).as_bytes()));
        }
        if let Some(last) = gaps.last_mut() {
            *last = Gap::Edge;
        }
        lay_out(&words, &gaps, note.sentence_ends, &mut out);
        (0..out.len())
            .map(|i| (note.word(i).to_owned(), out[i]))
            .collect()
    }

    fn of<'p>(places: &'p [(String, Place)], word: &str) -> &'p Place {
        &places.iter().find(|(text, _)| text == word).unwrap().1
    }

    #[test]
    fn a_cell_has_its_own_key_and_the_lines_head() {
        let form = places("Edad: 70 años Sexo: H\nNombre: Ana\nEdad: 3");
        let (seventy, sex, name, three) = (of(&form, "70"), of(&form, "H"), of(&form, "Ana"), of(&form, "3"));
        assert_eq!((seventy.key, seventy.head), (three.key, three.head));
        assert_eq!(sex.head, seventy.head);
        assert_ne!(sex.key, seventy.key);
        assert_ne!(name.head, seventy.head);
        assert_eq!((seventy.since, sex.since), (1, 1));
        assert!(of(&form, "Sexo").in_key && of(&form, "Edad").in_key && !seventy.in_key);
    }

    #[test]
    fn a_times_colon_and_a_schemes_make_no_field() {
        let prose = places("Vino a las 10:30 y vio http://ejemplo luego");
        assert!(prose.iter().all(|(_, place)| place.key == 0));
    }

    #[test]
    fn lines_below_a_head_stand_in_its_section() {
        let note = places("Datos del paciente.\nfue visto\nPlan: reposo\ny agua");
        assert_eq!(of(&note, "Datos").section, 0);
        assert_ne!(of(&note, "visto").section, 0);
        assert_eq!(of(&note, "agua").section, of(&note, "reposo").head);
    }

    #[test]
    fn an_address_of_the_net_is_one_run_without_the_stop_that_ends_its_sentence() {
        let note = places("Escriba a ana.ruiz@ejemplo.es. Gracias");
        let (first, last) = (of(&note, "ana"), of(&note, "es"));
        assert_eq!((first.chunk, first.chunk_marks), (last.chunk, last.chunk_marks));
        assert_eq!((first.chunk_len, first.in_chunk, last.in_chunk), (7, 2, 1));
        assert_eq!(of(&note, "Gracias").chunk, 0);
    }

    #[test]
    fn what_a_cue_announces_ends_with_its_sentence() {
        let note = places("Su hermano de 40 años vino. Come bien");
        let forty = of(&note, "40");
        assert_eq!((forty.cue == 0, forty.since_cue), (false, 1));
        assert_eq!(of(&note, "Come").cue, 0);
    }

    #[test]
    fn gaps_tell_blanks_cells_lines_and_paragraphs_apart() {
        let gaps = ["", " ", "  ", "\t", "\n", "\r\n", " \n \n"].map(|gap| gap_of(gap.as_bytes()));
        use Gap::{Blank, Glued, Line, Paragraph, Wide};
        assert_eq!(gaps, [Glued, Blank, Wide, Wide, Line, Line, Paragraph]);
    }
}
