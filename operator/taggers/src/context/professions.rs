//! Professions after their cues: "works as a …", "retired …", "trabaja como …".

use crate::context::Scan;
use crate::lexicon::Flags;
use crate::words::Case;

/// The most tokens between "as a" and a verb of work before it: "used to work for X in Y as a ...".
const WORK_WINDOW: usize = 16;

impl Scan<'_, '_, '_, '_, '_> {
    /// Finds a listed profession, perhaps with words before it: "is a X", "as an X", "67-year-old X".
    pub(super) fn profession(&mut self, i: usize) {
        let note = self.note;
        if note.ends_line(i) {
            return;
        }
        let before = note.words.before(i, 1);
        match note.get(i) {
            "old" if before == "-" || before == "year" => {}
            "a" | "an" | "un" | "una" => match before {
                _ if note.spanish && before != "como" => return,
                "as" | "como" if self.work_before(i) => {
                    self.profession_at(i + 1, "context.works-as");
                    return;
                }
                "is" | "was" | "became" | "currently" | "now" | "previously" | "formerly" | "being"
                | "es" | "era" | "como" => {}
                _ => return,
            },
            _ => return,
        }
        if let Some((first, last)) = self.listed_profession(i + 1) {
            self.out
                .tokens(first, last, self.labels.profession, 0.7, "context.profession");
            self.workplace(last + 1);
        }
    }

    /// Returns whether a verb of work stands shortly before token `i`.
    fn work_before(&self, i: usize) -> bool {
        (i.saturating_sub(WORK_WINDOW)..i).any(|at| {
            matches!(
                self.note.get(at),
                "work"
                    | "works"
                    | "worked"
                    | "working"
                    | "employed"
                    | "job"
                    | "trabaja"
                    | "trabajaba"
                    | "trabajo"
            )
        })
    }

    /// Returns the first and last token of a profession that begins at `at`, or after up to four words that
    /// qualify it.
    fn listed_profession(&mut self, at: usize) -> Option<(usize, usize)> {
        let note = self.note;
        let (mut first, mut last) = (None, None);
        let mut i = at;
        while i < at + 6 && i < note.len() {
            let word = note.get(i);
            if note.get(i) == "-" {
                i += 1;
                continue;
            }
            if !note.case(i).is_word()
                || i > at && note.ends_line(i - 1)
                || note.flag(i, Flags::PHRASE_END) && word != "and"
            {
                break;
            }
            // Descriptions of the person are not part of the profession: "right-handed white female nurse".
            if first.is_none() && !note.flag(i, Flags::PERSON_WORD) && word != "handed" {
                first = Some(i);
            }
            let listed = self
                .matcher
                .longest_at(&note.words.note, i, self.professions)
                .map(|found| found.last);
            let listed = listed.filter(|&end| end > i || !note.flag(i, Flags::NO_PROFESSION));
            // "exhibitions officer": the last of two or more words decides.
            let headed = i > at && first < Some(i) && note.flag(i, Flags::OCCUPATION);
            if let Some(end) = listed.or(headed.then_some(i)) {
                last = Some(end);
                i = end;
            }
            if note.ends_field(i) {
                break;
            }
            i += 1;
        }
        let (first, last) = (first?, last?);
        (first <= last).then_some((first, last))
    }

    /// Finds "works as a X (at Y)", "works at Y", "trabaja como X", "trabaja en Y".
    pub(super) fn work(&mut self, i: usize) {
        let note = self.note;
        let mut at = i + 1;
        if note.ends_line(i) {
            return;
        }
        // "used to work as", "has been working part time as"
        while at < i + 4
            && matches!(
                note.get(at),
                "part" | "full" | "time" | "-" | "currently" | "previously" | "was" | "is" | "being"
            )
        {
            at += 1;
        }
        match note.get(at) {
            "as" | "como" | "de" | "is" | "era" | "es" => {
                at += 1;
                while matches!(note.get(at), "a" | "an" | "the" | "un" | "una") {
                    at += 1;
                }
                if let Some(last) = self.profession_at(at, "context.works-as") {
                    self.workplace(last + 1);
                }
            }
            "at" | "for" | "by" | "with" => self.workplace(at),
            "en" if note.is_capital(at + 1) => self.workplace(at),
            _ => {}
        }
    }

    /// Finds "retired X", "former X".
    pub(super) fn retired(&mut self, i: usize) {
        let note = self.note;
        let mut at = i + 1;
        if note.ends_line(i) || note.flag(at, Flags::PHRASE_END) {
            return;
        }
        if note.get(i) == "former"
            && matches!(
                note.get(at),
                "smoker" | "smokers" | "tobacco" | "alcohol" | "drinker" | "user" | "iv" | "heavy" | "drug"
            )
        {
            return;
        }
        if note.get(at) == "(" && note.get(at + 2) == ")" {
            at += 1;
        }
        if matches!(note.get(at), "as") {
            at += 2;
        }
        if note.case(at) == Case::Lower || note.is_shapeless(at) || note.starts_sentence(i) {
            let known = note.is(at, crate::vocabulary::Traits::PROFESSION);
            if note.get(i) == "retired" || known {
                self.profession_at(at, "context.retired");
            }
        }
    }

    /// Reports up to four words at token `at` as a profession, and returns the last token.
    fn profession_at(&mut self, at: usize, rule: &'static str) -> Option<usize> {
        let note = self.note;
        if at == 0 || at >= note.len() || note.ends_line(at - 1) {
            return None;
        }
        let mut last = None;
        let mut i = at;
        while i < at + 6 && i < note.len() {
            let word = note.get(i);
            let fits = match note.case(i) {
                Case::Mark => matches!(word, "-" | "/") && last.is_some(),
                Case::Digits => false,
                _ => !note.flag(i, Flags::PHRASE_END) || (word == "and" && self.goes_on(i)),
            };
            if !fits {
                break;
            }
            if note.case(i).is_word() {
                last = Some(i);
            }
            if note.ends_field(i) {
                break;
            }
            i += 1;
        }
        let last = last?;
        self.out.tokens(at, last, self.labels.profession, 0.8, rule);
        Some(last)
    }

    /// Returns whether a profession continues: "planning and development surveyor" has a lower-case word
    /// after "and" and another after that.
    fn goes_on(&self, and: usize) -> bool {
        !self.note.flag(and + 1, Flags::PHRASE_END)
            && self.note.case(and + 1) == Case::Lower
            && self.note.case(and + 2) == Case::Lower
            && !self.note.flag(and + 2, Flags::PHRASE_END)
    }

    /// Finds a workplace: "at X", "for X", "by X".
    fn workplace(&mut self, at: usize) {
        if matches!(self.note.get(at), "at" | "for" | "by" | "with" | "en") && !self.note.ends_line(at) {
            let mut name = at + 1;
            while matches!(self.note.get(name), "the" | "a" | "la" | "el") {
                name += 1;
            }
            self.organization_at(name, "context.workplace");
        }
    }
}
