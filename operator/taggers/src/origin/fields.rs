//! Fields of forms: "Ethnicity: Hispanic", "Race/Ethnicity - White", "Religión: católica".

use super::cues::Role;
use super::terms::Kind;
use super::{Case, Scan};

/// The most tokens of a field's key behind its first, and of its value.
const KEY: usize = 5;
const VALUE: usize = 12;
/// The most words of a value that no list has.
const UNLISTED: usize = 3;

impl Scan<'_> {
    /// Reads the field whose key begins at token `i`. Returns whether there is one with a value.
    pub(super) fn field(&mut self, i: usize) -> bool {
        let mut at = i + 1;
        while at <= i + KEY
            && self.words.breaks_after(at - 1) == 0
            && (matches!(self.words.byte(at), b'/' | b'(' | b')' | b'\'')
                || self.cues.is(self.words.get(at), Role::KEY_PART))
            && self.group_at(at, Kind::ANY).is_none()
        {
            at += 1;
        }
        let sign = self.words.byte(at);
        let colon = matches!(sign, b':' | b'=' | b'|');
        let stop = sign == b'.' && self.begins_field(i);
        if colon || stop || sign == b'-' && !self.words.glued(at - 1) {
            at += 1;
        } else if !matches!(self.words.get(at - 1), "is" | "was") && !self.begins_field(i) {
            return false;
        }
        let is_language = (i..at).any(|at| {
            matches!(
                self.words.get(at),
                "language" | "languages" | "tongue" | "idioma" | "lengua"
            )
        });
        let kinds = if is_language {
            Kind::LANGUAGE
        } else {
            Kind::PERSONAL.with(Kind::SPANISH)
        };
        let (first, mut found) = (at, false);
        while at < first + VALUE && at < self.words.len() {
            let breaks = self.words.breaks_after(at - 1);
            if breaks > 0 && (at > first || breaks > 1 || !colon) {
                break;
            }
            if let Some(group) = self.group_at(at, kinds) {
                let last = self.groups[group].last;
                if self.words.byte(last + 1) == b':' {
                    break;
                }
                self.mark(group, 0.9, "origin.field");
                (found, at) = (true, last + 1);
            } else if self.is_listed(at) && self.words.byte(at) != b'|'
                || matches!(self.words.byte(at), b';' | b'(' | b')')
                || self.cues.is(self.words.get(at), Role::EMPTY_VALUE)
            {
                at += 1;
            } else {
                if colon && !found && at == first && breaks == 0 && (!is_language || self.is_own_language(i))
                {
                    found = self.unlisted_value(at);
                }
                break;
            }
        }
        found
    }

    /// Returns whether token `i` may be the key of a field without a sign: "Race White".
    fn begins_field(&self, i: usize) -> bool {
        let begins = i == 0 || self.words.breaks_after(i - 1) > 0 || self.words.case(i - 1) == Case::Mark;
        begins && self.words.case(i).is_capital()
    }

    /// Returns whether a language is the person's: a "Language: Fluent" of an examination is not.
    fn is_own_language(&self, i: usize) -> bool {
        let around = [self.before(i, 1), self.words.get(i + 1)];
        matches!(self.words.get(i), "languages" | "idioma")
            || around.iter().any(|&word| {
                matches!(
                    word,
                    "native" | "primary" | "preferred" | "first" | "home" | "spoken" | "materna" | "mother"
                )
            })
    }

    /// Reports a short value that no list has: capitalised words up to the end of the field.
    fn unlisted_value(&mut self, first: usize) -> bool {
        let mut last = first;
        while last < first + UNLISTED
            && self.words.case(last).is_capital()
            && !self.cues.is(self.words.get(last), Role::EMPTY_VALUE)
            && self.words.breaks_after(last) == 0
            && self.words.case(last + 1).is_word()
        {
            last += 1;
        }
        let ends = self.words.breaks_after(last) > 0
            || matches!(self.words.byte(last + 1), b',' | b';' | b'|' | b'.' | b'(' | b'/');
        let says =
            self.words.case(last).is_capital() && !self.cues.is(self.words.get(last), Role::EMPTY_VALUE);
        if ends && says {
            self.unlisted.push((first, last));
        }
        ends && says
    }
}
