//! Spanish rules: the word for the origin follows its noun, and is in lower case.

use super::cues::Role;
use super::terms::Kind;
use super::{Case, Scan};

/// Kinds that follow a person, descent or "es".
const NAMED: Kind = Kind::NAMED.with(Kind::SPANISH);

impl Scan<'_> {
    /// "mujer marroquí", "varón de 45 años, senegalés", "ciudadana rumana".
    pub(super) fn person_es(&mut self, i: usize) {
        let mut at = i + 1;
        if self.words.get(at) == "de"
            && self.words.case(at + 1) == Case::Digits
            && matches!(self.words.get(at + 2), "anos" | "ano" | "meses" | "a")
        {
            at += 3;
            if self.words.get(at) == "de" && self.words.get(at + 1) == "edad" {
                at += 2;
            }
            if self.words.byte(at) == b',' {
                at += 1;
            }
        }
        if let Some(group) = self.group_at(at, NAMED)
            && self.is_lower(group)
        {
            self.mark_list(group, NAMED, 0.85, "origin.person");
        }
    }

    /// "de nacionalidad rumana", "de origen senegalés", "raza negra", "de religión musulmana".
    pub(super) fn descent_es(&mut self, i: usize) {
        let word = self.words.get(i);
        let mut at = i + 1;
        while at < i + 4
            && matches!(
                self.words.get(at),
                "materna" | "nativa" | "religiosa" | "de" | "es" | "la" | "etnico"
            )
        {
            at += 1;
        }
        let kinds = match word {
            "raza" | "etnia" => NAMED.with(Kind::COLOUR),
            "idioma" | "lengua" => Kind::LANGUAGE.with(Kind::SPANISH),
            "fe" | "religion" | "confesion" => Kind::FAITH,
            _ => NAMED,
        };
        let is_strong = word != "origen" || matches!(self.before(i, 1), "de" | "con" | "su" | "y" | ",");
        if is_strong && let Some(group) = self.group_at(at, kinds) {
            self.mark_list(group, kinds, 0.85, "origin.descent");
        } else if matches!(word, "religion" | "origen") {
            // "religion" is an English word too.
            self.descent(i);
        }
    }

    /// "es musulmana", "la paciente es de etnia gitana".
    pub(super) fn be_es(&mut self, i: usize) {
        let before = self.before(i, 1);
        let has_subject = (1..=3).any(|back| self.cues.is(self.before(i, back), Role::SUBJECT));
        let begins = i == 0 || matches!(before, "." | "que" | "," | "y" | "no" | ";");
        if !has_subject && !begins {
            return;
        }
        let mut at = i + 1;
        while at < i + 4 && matches!(self.words.get(at), "un" | "una" | "muy" | "de") {
            at += 1;
        }
        let kinds = if has_subject { NAMED } else { Kind::FAITH };
        if let Some(group) = self.group_at(at, kinds)
            && self.is_lower(group)
            && self.ends_phrase(self.groups[group].last + 1)
        {
            self.mark(group, 0.75, "origin.is");
        }
    }

    /// "católica practicante".
    pub(super) fn practising_es(&mut self, i: usize) {
        let at = if self.before(i, 1) == "no" { i - 1 } else { i };
        if let Some(group) = self.group_before(at, Kind::FAITH) {
            self.mark(group, 0.8, "origin.faith");
        }
    }

    /// Returns whether a group is written as an adjective, or its line has no lower case. "Paciente Alemán" is a
    /// surname.
    fn is_lower(&self, group: usize) -> bool {
        let first = self.groups[group].first;
        let capitals = self.words.case(first) == Case::Upper && self.words.width(first) > 1;
        self.words.case(first) == Case::Lower || capitals
    }
}
