//! Names after titles, relatives, verbs and closings; initials of the patient.

use lethe_core::LabelId;

use crate::context::Scan;
use crate::lexicon::Flags;
use crate::person::{Evidence, Name};
use crate::vocabulary::Traits;
use crate::words::Case;

impl Scan<'_, '_, '_, '_, '_> {
    /// Finds the name after the title at token `i`.
    pub(super) fn title(&mut self, i: usize, label: LabelId) {
        let note = self.note;
        let mut at = i + 1;
        let stop = note.get(at) == "." && note.words.glued(i);
        if stop {
            at += 1;
        }
        let word = note.get(i);
        // "MS", "MR" and "D" in capitals or alone often mean something else: multiple sclerosis, magnetic
        // resonance.
        let short = word.len() <= 2;
        if !note.all_lower
            && note.case(i) == Case::Lower
            && !matches!(
                word,
                "don" | "dona" | "doctor" | "doctora" | "nurse" | "senor" | "senora" | "dr" | "dra"
            )
        {
            return;
        }
        if word.len() == 1 && !(stop && note.is(at, Traits::GIVEN)) {
            return;
        }
        if note.ends_field(at - 1) {
            return;
        }
        let certain = stop || !short || note.case(i) == Case::Title || word == "dr";
        if word == "dr" && self.is_street(i) {
            return;
        }
        // "Sra. Dra. Ruiz"
        if self
            .table
            .cue(note.get(at))
            .is_some_and(|cue| matches!(cue, super::Cue::DoctorTitle | super::Cue::PersonTitle))
            && (2..=3).contains(&note.get(at).len())
        {
            return;
        }
        let evidence = if certain { Evidence::Strong } else { Evidence::Some };
        let weak_title = matches!(word, "don" | "master" | "miss" | "da" | "d" | "sr");
        let evidence = if weak_title { Evidence::Some } else { evidence };
        let Some(name) = note.name_at(at, evidence) else {
            return;
        };
        self.person(name, label, 0.95, "context.title");
        if matches!(word, "drs" | "dres" | "dras" | "doctores" | "sres") {
            self.more_names(name, label);
        }
    }

    /// Finds further names after a plural title: "Smith, Jones and Hale".
    fn more_names(&mut self, first: Name, label: LabelId) {
        let mut last = first.last;
        for _ in 0..4 {
            let mut at = last + 1;
            while matches!(self.note.get(at), "," | "and" | "&" | "y" | "e") && at < last + 3 {
                at += 1;
            }
            if at == last + 1 {
                return;
            }
            let Some(name) = self.note.name_at(at, Evidence::Strong) else {
                return;
            };
            self.person(name, label, 0.9, "context.title");
            last = name.last;
        }
    }

    /// Returns whether this is a drive and not a doctor: "123 Maple Dr", "41 N. Elm Dr". Only the street's
    /// name stands after its number.
    fn is_street(&self, i: usize) -> bool {
        let note = self.note;
        let named = |at: usize| note.is_capital(at) && !note.flag(at, Flags::STOP) || note.get(at) == ".";
        i > 0
            && note.is_capital(i - 1)
            && (2..=4).any(|back| {
                i >= back
                    && note.case(i - back) == Case::Digits
                    && (i - back + 1..i).all(|at| named(at) && !note.ends_line(at))
            })
    }

    /// Finds the name after the relative at token `i`, which "is", a colon or "her relative" may separate.
    pub(super) fn relative(&mut self, i: usize) {
        let note = self.note;
        let mut at = i + 1;
        if note.ends_line(i) {
            return;
        }
        while at < i + 4
            && matches!(
                note.get(at),
                ":" | "," | "(" | "-" | "is" | "named" | "es" | "llamada" | "llamado"
            )
        {
            at += 1;
        }
        let shapeless = note.is_shapeless(at);
        let evidence = if at > i + 1 && note.get(at - 1) == "," {
            Evidence::Some
        } else {
            Evidence::Strong
        };
        if let Some(name) = note.name_at(at, evidence)
            && (!shapeless || note.is(at, Traits::GIVEN))
            && !(note.is(at, Traits::WORD) && note.starts_sentence(at))
            && !note.is_eponym(name.last)
        {
            self.person(name, self.labels.patient, 0.9, "context.relative");
        }
    }

    /// Finds the name after a clinician's role at token `i`: "PCP is X", "her cardiologist, X".
    pub(super) fn role(&mut self, i: usize) {
        let note = self.note;
        let mut at = i + 1;
        if note.ends_field(i) {
            return;
        }
        let evidence = match note.get(at) {
            "is" | "was" => Evidence::Strong,
            "," | "-" => Evidence::Some,
            _ => Evidence::None,
        };
        at += usize::from(evidence > Evidence::None);
        if let Some(name) = note.name_at(at, evidence)
            && name.words >= 2
            && name.listed >= 1
            && !note.is_shapeless(at)
            && !note.is_eponym(name.last)
        {
            self.person(name, self.labels.doctor, 0.8, "context.role");
        }
    }

    /// Reports the mention of a relative at token `i`, with the side of the family, in label sets that have
    /// it.
    pub(super) fn family(&mut self, i: usize) {
        let note = self.note;
        if note.get(i) == "mujer" {
            // Usually this is the patient.
            if let Some(label) = self.labels.sex {
                self.out.tokens(i, i, label, 0.8, "context.sex");
            }
            return;
        }
        if let Some(label) = self.labels.family.filter(|_| note.spanish) {
            let side = matches!(
                note.get(i + 1),
                "materno" | "materna" | "paterno" | "paterna" | "mayor" | "menor"
            );
            self.out
                .tokens(i, i + usize::from(side), label, 0.6, "context.family");
        }
    }

    /// Finds initials after "Pt", or after age and sex: "Pt J.P.", "53 yo F, TP,".
    pub(super) fn patient(&mut self, i: usize) {
        let note = self.note;
        let mut at = i + 1;
        if note.get(at) == "." && note.get(i) == "pt" {
            at += 1;
        }
        let aged = matches!(note.get(i), "yo" | "old");
        if aged {
            if !matches!(note.get(at), "f" | "m" | "female" | "male") || note.get(at + 1) != "," {
                return;
            }
            at += 2;
        }
        if note.ends_line(at - 1) {
            return;
        }
        if let Some(last) = self.initials(at) {
            let bare = note.get(at).len() > 1;
            let fits = if aged {
                note.get(last + 1) == ","
            } else {
                !bare || (note.get(i) == "pt" && (note.case(i) == Case::Title || self.verb_follows(last)))
            };
            if fits {
                self.out
                    .tokens(at, last, self.labels.patient, 0.8, "context.initials");
            }
            return;
        }
        if !aged && note.get(at) == "," {
            at += 1;
        }
        if !aged && note.get(at) == "is" && note.get(at.saturating_sub(2)) == "name" {
            at += 1;
        }
        if !aged
            && let Some(name) = note.name_at(at, Evidence::Some)
            && (name.words > 1 || note.is_plain_name(name.first))
            && !note.is_shapeless(at)
        {
            self.person(name, self.labels.patient, 0.8, "context.patient");
        }
    }

    fn verb_follows(&self, last: usize) -> bool {
        matches!(
            self.note.get(last + 1),
            "seen"
                | "was"
                | "is"
                | "has"
                | "presents"
                | "presented"
                | "admitted"
                | "reports"
                | "states"
                | "denies"
                | "came"
        )
    }

    /// Returns the last token of two to four initials with their stops, or of two or three capitals as one
    /// word.
    pub(super) fn initials(&self, at: usize) -> Option<usize> {
        let note = self.note;
        let upper = |i: usize| note.case(i) == Case::Upper || note.all_lower;
        if note.get(at).len() == 1 && note.get(at + 1) == "." && upper(at) {
            let mut last = None;
            let mut letter = at;
            while letter < at + 8
                && note.get(letter).len() == 1
                && upper(letter)
                && note.case(letter).is_word()
                && note.get(letter + 1) == "."
            {
                last = Some(letter + 1);
                letter += 2;
            }
            return last.filter(|&last| last > at + 1);
        }
        let bare = note.case(at) == Case::Upper && (2..=3).contains(&note.get(at).len());
        (bare && !(note.is(at, Traits::WORD | Traits::CREDENTIAL | Traits::MEDICAL) && note.is_shapeless(at)))
            .then_some(at)
    }

    /// Reports a name at token `at` on strong evidence.
    pub(super) fn person_after(&mut self, at: usize, label: LabelId, rule: &'static str) {
        if let Some(name) = self.note.name_at(at, Evidence::Strong)
            && !self.note.is_shapeless(at)
        {
            self.person(name, label, 0.85, rule);
        }
    }

    /// Finds the name in "dictated by X", "evaluation by X".
    pub(super) fn by(&mut self, i: usize) {
        let verb = self.verb_before(i);
        self.agent(i, verb, "context.by");
    }

    /// Finds the name in "discussed with X", "seen and examined with X".
    pub(super) fn with(&mut self, i: usize) {
        if self.verb_before(i) {
            self.agent(i, true, "context.with");
        }
    }

    fn verb_before(&self, i: usize) -> bool {
        let note = self.note;
        (1..=3).any(|back| i >= back && note.flag(i - back, Flags::PERSON_VERB))
            || i > 0 && note.get(i - 1).ends_with("ed") && note.get(i).len() == 2
    }

    fn agent(&mut self, i: usize, verb: bool, rule: &'static str) {
        let note = self.note;
        let at = i + 1;
        if note.ends_line(i) {
            return;
        }
        let Some(name) = note.name_at(at, Evidence::Some) else {
            return;
        };
        if note.is_eponym(name.last) {
            return;
        }
        // "requested by P. Mensah": an initial counts as a given name.
        let initial = note.get(at).len() == 1 && verb && name.words >= 1;
        let full = initial || name.words >= 2 && name.listed >= 1;
        let lone = verb && name.words == 1 && note.is_plain_name(name.first) && !note.is_shapeless(at);
        let lone = lone && !note.is_before_noun(name.last);
        let caps = verb
            && note.is_shapeless(at)
            && name.words == 1
            && note.is_plain_name(name.first)
            && note.name_weight(at) > 0;
        if full || lone || caps {
            self.person(name, self.labels.doctor, 0.7, rule);
        }
    }

    /// Finds the name in "page X at", "signed out to X", "X and Y": a listed name, or two words of a name.
    pub(super) fn contact(&mut self, i: usize) {
        let note = self.note;
        let cue = note.get(i);
        if note.ends_line(i) || note.is_shapeless(i + 1) {
            return;
        }
        if cue == "to"
            && !(i > 0
                && matches!(
                    note.get(i - 1),
                    "out" | "refer" | "referred" | "speak" | "spoke" | "attn"
                ))
        {
            return;
        }
        if cue == "covering" {
            // "Signed out to X, Y covering"
            if i > 1
                && let Some(name) = self.name_ending(i - 1)
                && name.listed > 0
            {
                self.person(name, self.labels.doctor, 0.8, "context.covering");
            }
            return;
        }
        if cue == "and" && self.people.last().is_none_or(|(name, _)| name.last + 1 != i) {
            return;
        }
        if matches!(cue, "seen" | "cc") {
            return;
        }
        let paged =
            matches!(cue, "page" | "paged") && note.is(i + 1, Traits::NAME) && !note.starts_sentence(i + 1);
        let evidence = if paged { Evidence::Strong } else { Evidence::Some };
        let Some(name) = note.name_at(i + 1, evidence) else {
            return;
        };
        if (paged || name.words >= 2 && name.listed >= 1 || note.is_plain_name(name.first))
            && !note.is_eponym(name.last)
            && (paged || name.words > 1 || !note.is(i + 1, Traits::PLACE))
        {
            self.person(name, self.labels.doctor, 0.7, "context.contact");
        }
    }

    /// Finds "JB/mr" alone on a line: the initials of author and typist.
    pub(super) fn typists(&mut self, i: usize) {
        let note = self.note;
        let fits = |at: usize| note.case(at).is_word() && (2..=3).contains(&note.get(at).len());
        let fresh = i == 0 || note.ends_line(i - 1);
        if fresh
            && fits(i)
            && note.is_capital(i)
            && (note.get(i + 1) == "/" || note.get(i + 1) == ":" && note.get(i + 2).len() == 2)
            && note.words.glued(i)
            && note.words.glued(i + 1)
            && fits(i + 2)
            && note.case(i) != Case::Title
            && note.ends_line(i + 2)
        {
            self.out.tokens(i, i, self.labels.doctor, 0.7, "context.typists");
            self.out
                .tokens(i + 2, i + 2, self.labels.doctor, 0.7, "context.typists");
        }
    }

    /// Finds the name on the line after "Sincerely,".
    pub(super) fn closing(&mut self, i: usize) {
        let mut at = i + 1;
        while at < i + 4 && self.note.case(at) == Case::Mark && at < self.note.len() {
            at += 1;
        }
        if !self.note.ends_line(at.saturating_sub(1)) || self.note.is(at, Traits::WORD) {
            return;
        }
        if let Some(name) = self.note.name_at(at, Evidence::Strong)
            && name.words >= 2
        {
            self.person(name, self.labels.doctor, 0.9, "context.closing");
        }
    }
}
