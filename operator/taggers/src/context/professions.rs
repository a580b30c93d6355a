//! Professions after their cues: "works as a …", "retired …", "trabaja como …".

use crate::context::Scan;
use crate::words::Case;

/// Words that end the name of a profession.
fn ends_profession(word: &str) -> bool {
    matches!(
        word,
        "at" | "for"
            | "in"
            | "from"
            | "with"
            | "who"
            | "and"
            | "until"
            | "on"
            | "but"
            | "by"
            | "since"
            | "when"
            | "where"
            | "which"
            | "that"
            | "to"
            | "or"
            | "as"
            | "part"
            | "full"
            | "is"
            | "was"
            | "has"
            | "had"
            | "he"
            | "she"
            | "currently"
            | "before"
            | "after"
            | "because"
            | "en"
            | "y"
            | "con"
            | "desde"
            | "que"
            | "por"
            | "para"
            | "hasta"
            | "a"
            | "an"
            | "the"
            | "this"
            | "due"
            | "seen"
            | "originally"
            | "now"
            | "then"
            | "there"
            | "while"
            | "during"
            | "without"
            | "his"
            | "her"
            | "aunque"
            | "pero"
            | "e"
    )
}

impl Scan<'_, '_, '_, '_, '_> {
    /// "works as a X (at Y)", "works at Y", "trabaja como X", "trabaja en Y".
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

    /// "retired X", "former X".
    pub(super) fn retired(&mut self, i: usize) {
        let note = self.note;
        let mut at = i + 1;
        if note.ends_line(i) || ends_profession(note.get(at)) {
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

    /// Up to four words at token `at`, as a profession. Gives its last token.
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
                _ => !ends_profession(word) || (word == "and" && self.goes_on(i)),
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

    /// "planning and development surveyor": a lower-case word after "and" and another after that.
    fn goes_on(&self, and: usize) -> bool {
        self.note.case(and + 1) == Case::Lower
            && self.note.case(and + 2) == Case::Lower
            && !ends_profession(self.note.get(and + 2))
    }

    /// "at X", "for X", "by X": where somebody works.
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
