//! Rules for languages, in English and Spanish.

use super::cues::Role;
use super::terms::Kind;
use super::{Case, Scan};

impl Scan<'_> {
    /// "speaks only Farsi and Dari", "fluent in Twi", "habla árabe".
    pub(super) fn speak(&mut self, i: usize) {
        let mut at = i + 1;
        while at < i + 5 && self.cues.is(self.words.get(at), Role::SPEECH) {
            at += 1;
        }
        if let Some(group) = self.group_at(at, Kind::LANGUAGE) {
            self.mark_list(group, Kind::LANGUAGE, 0.85, "origin.speaks");
        }
    }

    /// "Punjabi-speaking", "is Spanish speaking only", "speaking Farsi".
    pub(super) fn speaking(&mut self, i: usize) {
        let at = if self.before(i, 1) == "-" { i - 1 } else { i };
        if let Some(group) = self.group_before(at, Kind::LANGUAGE) {
            self.mark_list_back(group, Kind::LANGUAGE, 0.85, "origin.speaking");
        } else {
            self.speak(i);
        }
    }

    /// "through a Tigrinya interpreter", "interpreter for Somali", "Interpreter: Spanish".
    pub(super) fn interpreter(&mut self, i: usize) {
        let mut at = i;
        while at > 0
            && i - at < 5
            && (self.words.byte(at - 1) == b'-' || self.cues.is(self.words.get(at - 1), Role::INTERPRETING))
        {
            // "Sign Language interpreter": the word is a part of the term.
            if self.group_before(at, Kind::LANGUAGE).is_some() {
                break;
            }
            at -= 1;
        }
        if let Some(group) = self.group_before(at, Kind::LANGUAGE) {
            self.mark_list_back(group, Kind::LANGUAGE, 0.85, "origin.interpreter");
            return;
        }
        let mut at = i + 1;
        while at < i + 5
            && self.words.breaks_after(at - 1) == 0
            && (matches!(self.words.byte(at), b':' | b'-' | b'(')
                || matches!(
                    self.words.get(at),
                    "for"
                        | "in"
                        | "of"
                        | "used"
                        | "needed"
                        | "needs"
                        | "language"
                        | "required"
                        | "services"
                        | "de"
                ))
        {
            at += 1;
        }
        if let Some(group) = self.group_at(at, Kind::LANGUAGE) {
            self.mark_list(group, Kind::LANGUAGE, 0.8, "origin.interpreter");
        }
    }

    /// "native language is Twi", "in the Arabic language", "lengua materna quechua".
    pub(super) fn key(&mut self, i: usize) {
        match self.words.get(i) {
            "language" | "languages" | "tongue" => {}
            _ => return self.descent(i),
        }
        if self.words.get(i) != "tongue"
            && let Some(group) = self.group_before(i, Kind::LANGUAGE)
            && self.words.case(self.groups[group].first) != Case::Lower
            && self.ends_phrase(i + 1)
        {
            self.mark_list_back(group, Kind::LANGUAGE, 0.7, "origin.language");
            return;
        }
        let is_own = (1..=2).any(|back| {
            matches!(
                self.before(i, back),
                "native"
                    | "primary"
                    | "first"
                    | "preferred"
                    | "second"
                    | "mother"
                    | "home"
                    | "main"
                    | "only"
                    | "his"
                    | "her"
                    | "their"
            )
        });
        if !is_own {
            return;
        }
        let mut at = i + 1;
        while at < i + 5
            && (matches!(self.words.byte(at), b':' | b'-' | b'=')
                || matches!(
                    self.words.get(at),
                    "spoken" | "is" | "was" | "of" | "choice" | "at" | "home" | "being" | "are"
                ))
        {
            at += 1;
        }
        if let Some(group) = self.group_at(at, Kind::LANGUAGE) {
            self.mark_list(group, Kind::LANGUAGE, 0.85, "origin.language");
        }
    }
}
