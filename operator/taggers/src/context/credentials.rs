//! Names before degrees: "Noël Garza, M.D.", "Consuelo Marsh, PA-C", and the user name in brackets after
//! them.

use crate::context::Scan;
use crate::person::{Evidence, Name};
use crate::vocabulary::Traits;
use crate::words::Case;

/// Degrees that are also states, words or other abbreviations, and so need a full name before them.
const AMBIGUOUS: [&str; 30] = [
    "ma", "pa", "md", "ms", "do", "pt", "ot", "rt", "ba", "bs", "ii", "iv", "mb", "at", "ct", "dc", "od",
    "jd", "rd", "mba", "st", "sa", "np", "rn", "pta", "cst", "cde", "cns", "dds", "cen",
];

impl Scan<'_, '_, '_, '_, '_> {
    /// Finds the name before the degree at token `i`.
    pub(super) fn credential(&mut self, i: usize) {
        let note = self.note;
        if i == 0 || !note.is_capital(i) && !note.all_lower {
            return;
        }
        let word = note.get(i);
        let dotted = word.len() <= 2
            && note.get(i + 1) == "."
            && note.words.glued(i)
            && note.words.glued(i + 1)
            && matches!(
                (word, note.get(i + 2)),
                ("m", "d")
                    | ("d", "o")
                    | ("r", "n")
                    | ("p", "a")
                    | ("n", "p")
                    | ("ph", "d")
                    | ("d", "d")
                    | ("m", "b")
                    | ("d", "p")
                    | ("r", "d")
                    | ("f", "a")
            );
        let shapeless = note.is_shapeless(i) && matches!(word, "md" | "rn" | "do" | "np");
        if !(dotted || shapeless || note.is(i, Traits::CREDENTIAL)) {
            return;
        }
        let mut end = i - 1;
        let comma = note.get(end) == ",";
        if comma {
            if end == 0 {
                return;
            }
            end -= 1;
        }
        if note.ends_line(end) && end + 1 == i {
            return;
        }
        let Some(name) = self.name_ending(end) else { return };
        if !dotted && AMBIGUOUS.contains(&word) && !self.is_person_before(&name, i, comma, word) {
            return;
        }
        self.person(name, self.labels.doctor, 0.9, "context.credential");
        self.user_after(i);
    }

    /// Returns whether "Boston, MA" is a state and not a degree.
    fn is_person_before(&self, name: &Name, i: usize, comma: bool, word: &str) -> bool {
        let note = self.note;
        let place = note.is(name.first, Traits::CITY) && note.is(i, Traits::STATE_CODE);
        let given = note.is(name.first, Traits::GIVEN);
        match word {
            "md" | "rn" | "np" | "dds" => name.words > 1 && (given || !place) || (!place && name.listed > 0),
            // "T. Nakamura, PT" alone on a line is a signature.
            _ if note.get(name.first).len() == 1 && comma && note.ends_line(i) => name.words >= 1,
            _ => {
                name.words > 1
                    && given
                    && (comma || !note.is_shapeless(i))
                    && !(place && note.case(i + 1) == Case::Digits)
            }
        }
    }

    /// Returns the longest name that ends at token `end`.
    pub(super) fn name_ending(&self, end: usize) -> Option<Name> {
        let note = self.note;
        let mut start = end;
        let mut tokens = 0;
        while start > 0 && tokens < 9 {
            let before = start - 1;
            let binds = match note.case(before) {
                Case::Mark => {
                    matches!(note.get(before), "-" | "'" | "’")
                        || (note.get(before) == "."
                            && before > 0
                            && note.get(before - 1).len() == 1
                            && note.case(before - 1) == Case::Upper)
                }
                Case::Lower => {
                    note.all_lower
                        || matches!(
                            note.get(before),
                            "de" | "del" | "la" | "van" | "von" | "der" | "los" | "las"
                        )
                }
                Case::Digits => false,
                _ => !note.is_no_name(before),
            };
            if !binds || note.ends_field(before) {
                break;
            }
            start = before;
            tokens += 1;
        }
        (start..=end).find_map(|at| {
            let name = note.name_at(at, Evidence::Strong)?;
            (name.last == end || (note.get(name.last) == "." && name.last == end + 1)).then_some(name)
        })
    }

    /// Finds the user name in "RN (amoon85)".
    fn user_after(&mut self, i: usize) {
        let mut at = i + 1;
        while at < i + 6
            && matches!(self.note.get(at), "." | "-" | "c" | "d")
            && self.note.words.glued(at - 1)
        {
            at += 1;
        }
        if self.note.get(at) != "(" {
            return;
        }
        if let Some(last) = self.user_name(at + 1)
            && self.note.get(last + 1) == ")"
        {
            self.out
                .tokens(at + 1, last, self.labels.username, 0.9, "context.user-after-name");
        }
    }

    /// Returns a log-in name from token `at`: lower-case letters, perhaps with digits, stops or underscores
    /// glued on. Gives its last token.
    pub(super) fn user_name(&self, at: usize) -> Option<usize> {
        let note = self.note;
        let plain = (note.case(at) == Case::Lower || note.is_shapeless(at)) && note.get(at).len() >= 2;
        if !plain || note.is(at, Traits::MEDICAL) {
            return None;
        }
        let mut last = at;
        while note.words.glued(last) && last < at + 6 {
            let next = last + 1;
            let fits = note.case(next) == Case::Digits
                || (matches!(note.get(next), "_" | "." | "-")
                    && note.words.glued(next)
                    && (note.case(next + 1).is_word() || note.case(next + 1) == Case::Digits))
                || (note.case(next).is_word() && matches!(note.get(last), "_" | "." | "-"));
            if !fits {
                break;
            }
            last = next;
        }
        let word = last == at && note.is(at, Traits::WORD);
        (!word && (last > at || note.get(at).len() >= 4)).then_some(last)
    }
}
