//! How a note is laid out: what lies between its tokens, its lines, the fields of its forms, its sections.

use super::hash::pair;
use super::spelling::Form;
use super::words::Word;

/// What lies between two tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Gap {
    /// Nothing.
    Glued,
    /// One blank.
    Blank,
    /// More blanks, a tab, or a control character: the cells of a form stand so.
    Wide,
    /// A line's end.
    Line,
    /// An empty line.
    Paragraph,
    /// The note's start or end.
    Edge,
}

/// Where a token stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Before the token, and after it.
    pub(super) before: Gap,
    pub(super) after: Gap,
    /// Tokens of its line before it, and after it.
    pub(super) from_start: u16,
    pub(super) to_end: u16,
    /// Lines before its line, and after it.
    pub(super) line: u16,
    pub(super) lines_after: u16,
    /// Words before the line's first colon; 0 if it has none near its start.
    pub(super) head: u64,
    /// The word, and the two words, before the nearest colon in the line before the token; 0 without one.
    pub(super) key: u64,
    pub(super) key2: u64,
    /// Tokens since that colon.
    pub(super) since: u16,
    /// Whether the token belongs to a head or key.
    pub(super) in_key: bool,
    /// The head of the nearest line above that has one, or is a heading.
    pub(super) section: u64,
    /// The line's first word, and its first two.
    pub(super) first: u64,
    pub(super) first2: u64,
    /// The nearest cue before it in its sentence, what lists hold that, and how far back it stands; 0 without one.
    pub(super) cue: u64,
    pub(super) cue_lists: u64,
    pub(super) since_cue: u16,
    /// The shape of the run of glued tokens that it stands in, and whether it begins, goes on, ends or is it.
    pub(super) chunk: u64,
    pub(super) in_chunk: u8,
    /// How many tokens the run has, and which of some telling marks.
    pub(super) chunk_len: u16,
    pub(super) chunk_marks: u8,
}

/// A head has at most so many tokens.
const HEAD: usize = 8;

/// The gap that this text makes.
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

/// Places of a note's tokens. `words` are its words in order; `gaps[i]` lies before token `i`, and one more ends them;
/// `sentences` are the exclusive ends of its sentences.
pub(super) fn lay_out(words: &[Word], gaps: &[Gap], sentences: &[u32], out: &mut Vec<Place>) {
    out.clear();
    let lines = gaps.iter().skip(1).filter(|gap| **gap >= Gap::Line).count() as u16;
    let (mut start, mut section, mut line) = (0, 0, 0);
    while start < words.len() {
        let end = (start + 1..words.len())
            .find(|&i| gaps[i] >= Gap::Line)
            .unwrap_or(words.len());
        let after = lines.saturating_sub(line + 1);
        section = lay_line(words, gaps, start..end, (line, after, section), out);
        line = line.saturating_add(1);
        start = end;
    }
    chunks(words, gaps, out);
    cues(words, sentences, out);
}

/// What was last announced in each sentence.
fn cues(words: &[Word], sentences: &[u32], out: &mut [Place]) {
    let mut start = 0;
    for &end in sentences {
        let end = (end as usize).min(words.len());
        let (mut cue, mut lists, mut since) = (0, 0, 0u16);
        for i in start..end {
            (out[i].cue, out[i].cue_lists, out[i].since_cue) = (cue, lists, since);
            if words[i].cue {
                (cue, lists, since) = (words[i].norm, words[i].groups, 0);
            } else {
                since = since.saturating_add(1);
            }
        }
        start = end;
    }
}

/// One line; gives the section that the next one stands in.
fn lay_line(
    words: &[Word],
    gaps: &[Gap],
    range: std::ops::Range<usize>,
    (line, lines_after, section): (u16, u16, u64),
    out: &mut Vec<Place>,
) -> u64 {
    let (start, end) = (range.start, range.end);
    let near = end.min(start + HEAD + 1);
    let colon = (start + 1..near).find(|&i| words[i].colon);
    let head = colon.map_or(0, |colon| phrase(&words[start..colon]));
    let first = words[start].norm;
    let first2 = pair(
        first,
        words
            .get(start + 1)
            .filter(|_| start + 1 < end)
            .map_or(0, |w| w.norm),
    );
    let (mut key, mut key2, mut since) = (0, 0, 0u16);
    for i in range {
        let word = &words[i];
        let is_key = word.colon && i > start && is_word(&words[i - 1]) && {
            // A scheme's colon, a ratio's, a time's: what follows is glued and no field.
            gaps[i + 1] != Gap::Glued || words.get(i + 1).is_none_or(|next| next.form != Form::Mark)
        };
        if is_key {
            key = words[i - 1].norm;
            key2 = key;
            if i >= start + 2 && gaps[i - 1] <= Gap::Blank {
                key2 = pair(key, words[i - 2].norm);
            }
            since = 0;
        }
        let next_colon = |n: usize| i + n < end && words[i + n].colon;
        out.push(Place {
            before: gaps[i],
            after: gaps[i + 1],
            from_start: (i - start) as u16,
            to_end: (end - 1 - i).min(u16::MAX as usize) as u16,
            line,
            lines_after,
            head,
            key,
            key2,
            since,
            in_key: colon.is_some_and(|colon| i <= colon) || word.colon || (is_word(word) && next_colon(1)),
            section,
            first,
            first2,
            chunk: 0,
            in_chunk: 0,
            chunk_len: 0,
            chunk_marks: 0,
            cue: 0,
            cue_lists: 0,
            since_cue: 0,
        });
        since = since.saturating_add(1);
    }
    match colon {
        Some(_) => head,
        // A heading: a few words in a line of their own.
        None if end - start <= 5 && is_word(&words[start]) && words[start].form != Form::Lower => {
            phrase(&words[start..end])
        }
        None => section,
    }
}

fn is_word(word: &Word) -> bool {
    matches!(word.form, Form::Lower | Form::Title | Form::Upper)
}

fn phrase(words: &[Word]) -> u64 {
    words
        .iter()
        .fold(words.len() as u64, |hash, word| pair(hash, word.norm))
}

/// Runs of glued tokens: an address of the net, a date in numbers, a number in groups. Marks that close one stand alone.
fn chunks(words: &[Word], gaps: &[Gap], out: &mut [Place]) {
    let mut start = 0;
    while start < words.len() {
        let whole = (start + 1..words.len())
            .find(|&i| gaps[i] != Gap::Glued)
            .unwrap_or(words.len());
        let last = words[start..whole]
            .iter()
            .rposition(|word| word.form != Form::Mark);
        let end = start + last.map_or(0, |last| last + 1);
        chunk(&words[start..end], &mut out[start..end]);
        for i in end..whole {
            chunk(&words[i..=i], &mut out[i..=i]);
        }
        start = whole;
    }
}

fn chunk(words: &[Word], out: &mut [Place]) {
    // So long a run is noise; one shape for all.
    let shape = match words.len() {
        0 | 1 => 0,
        2..=24 => words.iter().fold(1, |hash, word| {
            let digits = word.form == Form::Digits;
            pair(hash, if digits { word.shape } else { word.short })
        }),
        _ => 2,
    };
    let marks = words.iter().fold(0, |marks, word| marks | word.mark);
    for (i, place) in out.iter_mut().enumerate() {
        place.chunk = shape;
        place.in_chunk = u8::from(i > 0) | u8::from(i + 1 < words.len()) << 1;
        place.chunk_len = words.len().min(usize::from(u16::MAX)) as u16;
        place.chunk_marks = marks;
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;
    use lethe_dictionaries::Dictionary;

    use super::*;
    use crate::features::lists::Groups;
    use crate::features::words::{Lists, Words};

    /// Each token's text and place.
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
