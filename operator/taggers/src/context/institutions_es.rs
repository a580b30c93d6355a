//! Spanish institutions: "Hospital Universitario de X", "Clínica X", "Centro de Salud X". The name follows
//! its head.

use crate::context::Scan;
use crate::lexicon::Flags;
use crate::vocabulary::Traits;
use crate::words::Case;

/// Words that connect the parts of a name.
const LINKS: [&str; 21] = [
    "de", "del", "la", "las", "los", "el", "y", "i", "d", "da", "do", "dos", "-", "'", "’", ".", "l", "\"",
    "“", "”", "«",
];

/// Words that such names have besides the proper part.
const GENERIC: [&str; 33] = [
    "universitario",
    "universitari",
    "universitaria",
    "general",
    "clinico",
    "clinic",
    "provincial",
    "comarcal",
    "regional",
    "infantil",
    "materno",
    "nacional",
    "militar",
    "salud",
    "medico",
    "medica",
    "hospitalario",
    "asistencial",
    "central",
    "especialidades",
    "hospital",
    "centro",
    "complejo",
    "clinica",
    "virgen",
    "san",
    "santa",
    "santo",
    "doctor",
    "dr",
    "rey",
    "reina",
    "civil",
];

/// Abbreviations whose full stop is inside a name.
const ABBREVIATIONS: [&str; 9] = ["dr", "dra", "sta", "sto", "ntra", "sra", "fco", "mª", "h"];

/// The most tokens of such a name after its head.
const MOST_TOKENS: usize = 14;

impl Scan<'_, '_, '_, '_, '_> {
    /// Finds the institution whose name starts with a word such as "Hospital" or "Clínica" at token `i`.
    pub(super) fn institution_head(&mut self, i: usize) {
        let note = self.note;
        let head = note.get(i);
        let either = matches!(head, "hospital" | "hosp" | "clinic" | "center");
        let lower = note.case(i) == Case::Lower;
        if note.ends_field(i) || (lower && matches!(note.words.before(i, 1), "de")) {
            return;
        }
        // In lower case, only words that cannot be common nouns before a name count as heads.
        if lower
            && !matches!(
                head,
                "hospital" | "universidad" | "instituto" | "ambulatorio" | "policlinico"
            )
        {
            return;
        }
        // "Hospital de Día", "Clínica y Dietética"
        if matches!(note.get(i + 1), "y" | "i" | "e" | "." | "-")
            || (note.get(i + 1) == "de" && matches!(note.get(i + 2), "dia" | "atencion" | "heridas"))
        {
            return;
        }
        let school = matches!(
            head,
            "universidad"
                | "universitat"
                | "facultad"
                | "colegio"
                | "fundacion"
                | "consorci"
                | "asociacion"
                | "sociedad"
                | "escuela"
                | "academia"
                | "ministerio"
                | "consejeria"
        );
        let (mut at, mut last, mut proper, mut spanish) = (i + 1, i, 0, note.spanish || !either);
        while at < i + MOST_TOKENS && at < note.len() {
            let word = note.get(at);
            let generic = GENERIC.contains(&word);
            if note.is_capital(at) && note.case(at).is_word() {
                if self.ends_name_es(at, generic, school) {
                    break;
                }
                last = at;
                let common = note.is(at, Traits::WORD) && !note.is(at, Traits::NAME | Traits::PLACE);
                proper += usize::from(!generic && !common && note.get(at).len() > 1);
                spanish |= generic && !matches!(word, "general" | "regional" | "hospital");
            } else if generic && spanish && note.case(at) == Case::Lower {
                // "centro de salud X"
            } else if LINKS.contains(&word) {
                spanish |= matches!(word, "de" | "del" | "la");
                if word == "." && !ABBREVIATIONS.contains(&note.get(at - 1)) {
                    break;
                }
            } else if note.case(at) == Case::Digits && word == "12" {
                // "12 de Octubre" and its like begin with a day.
            } else {
                break;
            }
            if note.ends_field(at) {
                break;
            }
            at += 1;
        }
        let acronym = last == i + 1 && note.case(last) == Case::Upper && !note.in_caps(last);
        let enough = last > i
            && spanish
            && !acronym
            && (proper > 0 || (!lower && (head == "hospital" || school) && note.is_capital(last)));
        if enough {
            let label = if school {
                self.labels.organization
            } else {
                self.labels.hospital
            };
            self.out.tokens(i, last, label, 0.8, "context.institution-head");
            self.institutions.push((i, last));
        }
    }

    /// Returns whether a capitalised word belongs to the text after the name: a department, a street, a
    /// field.
    fn ends_name_es(&self, at: usize, generic: bool, school: bool) -> bool {
        let note = self.note;
        if generic {
            return false;
        }
        let outside =
            note.flag(at, Flags::OUTSIDE) || note.flag(at, Flags::FUNCTION) && note.get(at).len() > 3;
        let medical = !school
            && note.is(at, Traits::MEDICAL | Traits::OTHER)
            && !note.is(at, Traits::NAME | Traits::PLACE);
        let word =
            note.is_shapeless(at) && note.is(at, Traits::WORD) && !note.is(at, Traits::NAME | Traits::PLACE);
        // "E-mail"
        let mail = note.get(at).len() == 1 && note.get(at + 1) == "-";
        outside || medical || word || mail
    }
}
