//! One note under a policy: its patient, and the state that all its spans share.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use lethe_core::{KnownKind, Label, ReplaceError, Replacement, Subject};
use lethe_secrets::{
    Code, CodeLength, Keyring, Prf, Pseudonyms, Sealer, ShiftRule, Vault, VaultError, VaultKey,
};
use lethe_surrogates::{KnownNames, Real};
use unicode_normalization::UnicodeNormalization as _;

use crate::authority::Authorities;
use crate::file::{Missing, Scope};
use crate::role::Role;

/// A span or a structured identifier, as an operator sees it.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    /// Its label.
    pub(crate) label: &'a Label,
    /// Its role.
    pub(crate) role: &'a Role,
    /// Its text.
    pub(crate) text: &'a str,
    /// Its text without the title before a name. Equal values get equal codes and numbers, with and without a
    /// title.
    pub(crate) value: &'a str,
    /// The authority that assigned it, as the source names it; `None` for a span.
    pub(crate) authority: Option<&'a str>,
}

/// The state that all spans of one note share.
pub(crate) struct Note<'a> {
    pub(crate) subject: &'a Subject<'a>,
    /// `patient`, or `note` if the event does not name the patient.
    pub(crate) scope: &'static str,
    /// The context in which equal values get equal replacements: a patient's, or this note's.
    pub(crate) context: String,
    /// The year in which it was written.
    pub(crate) year: Option<i16>,
    /// The year of the patient's birth, if the event gives it.
    pub(crate) birth_year: Option<i16>,
    keyring: Option<&'a Keyring>,
    prf: [OnceCell<Prf>; 2],
    pseudonyms: [OnceCell<Pseudonyms>; 2],
    sealer: OnceCell<Sealer>,
    /// All values that are replaced in the note and its message, and whether each is a name.
    values: Vec<(bool, &'a str)>,
    known: OnceCell<KnownNames>,
    real: OnceCell<Real>,
    days: OnceCell<i32>,
    /// Surrogates of this note, by label and text, since a name occurs many times in a note.
    pub(crate) surrogates: HashMap<(&'a str, &'a str), Replacement>,
    numbers: HashMap<(&'a str, String), usize>,
    counts: HashMap<&'a str, usize>,
    codes: HashMap<(&'a str, String), Code>,
    /// The id that represents the patient's linked ids, if links were followed.
    person: Option<String>,
    /// Authorities of the structured identifiers, by plain value.
    structured: OnceCell<HashMap<String, &'a str>>,
}

impl<'a> Note<'a> {
    /// # Errors
    /// [`ReplaceError::Refused`] if the event does not name the patient and such notes are quarantined.
    pub(crate) fn new(
        subject: &'a Subject<'a>,
        missing: Missing,
        authorities: &Authorities,
        keyring: Option<&'a Keyring>,
        values: Vec<(bool, &'a str)>,
    ) -> Result<Self, ReplaceError> {
        let (topic, partition, offset) = subject.at;
        let (scope, context) = match (subject.patient_id, missing) {
            (Some(id), _) => {
                authorities.report(subject.patient_authority, subject.at);
                ("patient", authorities.context(subject.patient_authority, id))
            }
            (None, Missing::Quarantine) => return Err(ReplaceError::Refused),
            // The source's own id is preferred, so that the note has the same context when it is read again
            // from elsewhere.
            (None, Missing::Note) => (
                "note",
                subject.note_id.map_or_else(
                    || format!("place\n{topic}\n{partition}\n{offset}"),
                    |id| format!("note\n{id}"),
                ),
            ),
        };
        Ok(Self {
            subject,
            scope,
            context,
            year: subject.authored_at.and_then(|at| {
                let at = jiff::Timestamp::from_millisecond(at).ok()?;
                Some(at.to_zoned(jiff::tz::TimeZone::UTC).year())
            }),
            birth_year: birth_year(subject),
            keyring,
            prf: Default::default(),
            pseudonyms: Default::default(),
            person: None,
            structured: OnceCell::new(),
            sealer: OnceCell::new(),
            values,
            known: OnceCell::new(),
            real: OnceCell::new(),
            days: OnceCell::new(),
            surrogates: HashMap::new(),
            numbers: HashMap::new(),
            counts: HashMap::new(),
            codes: HashMap::new(),
        })
    }

    /// Switches to the context that represents all ids linked with the patient's. Must be called before
    /// anything is replaced.
    pub(crate) fn follow(&mut self, root: String) {
        if root != self.context || !self.subject.links.is_empty() {
            self.person = root.rsplit('\n').next().map(str::to_owned);
            self.context = root;
        }
    }

    /// Returns the text that is replaced for a value: an id of the patient becomes the representative of the
    /// linked ids.
    pub(crate) fn value<'t>(&'t self, text: &'t str) -> &'t str {
        let Some(person) = &self.person else { return text };
        let links = self.subject.links.iter().filter(|link| link.into.is_none());
        let links = links.map(|link| link.from.id.expose());
        let mut own = self.subject.patient_id.into_iter().chain(links);
        if own.any(|id| self.is_same(id, text)) {
            person
        } else {
            text
        }
    }

    /// Returns the keys. A policy with operators that need keys cannot be built without them.
    pub(crate) fn keyring(&self) -> Result<&'a Keyring, ReplaceError> {
        self.keyring.ok_or(ReplaceError::Failed)
    }

    /// Returns the context for values of this scope.
    fn context(&self, scope: Scope) -> &str {
        match scope {
            Scope::Patient => &self.context,
            // This cannot equal a patient's context, which has a line feed.
            Scope::Site => "site",
        }
    }

    /// Returns the scope's name in the audit, if it differs from the note's.
    pub(crate) fn named(scope: Scope) -> Option<&'static str> {
        (scope == Scope::Site).then_some("site")
    }

    /// Returns the keyed function of a scope.
    pub(crate) fn prf(&self, scope: Scope) -> Result<&Prf, ReplaceError> {
        let key = self.keyring()?.current();
        Ok(self.prf[scope as usize].get_or_init(|| key.prf(self.context(scope))))
    }

    /// Returns the days by which the patient's dates move.
    pub(crate) fn days(&self, rule: ShiftRule) -> Result<i32, ReplaceError> {
        let key = self.keyring()?.current();
        Ok(*self.days.get_or_init(|| rule.days(key, &self.context)))
    }

    /// Returns the keyed codes of a scope.
    pub(crate) fn pseudonyms(&self, scope: Scope) -> Result<&Pseudonyms, ReplaceError> {
        let key = self.keyring()?.current();
        let make = || Pseudonyms::new(key, self.context(scope), CodeLength::default());
        Ok(self.pseudonyms[scope as usize].get_or_init(make))
    }

    /// Returns the cipher for the patient's values.
    pub(crate) fn sealer(&self) -> Result<&Sealer, ReplaceError> {
        let keyring = self.keyring()?;
        Ok(self.sealer.get_or_init(|| Sealer::new(keyring, &self.context)))
    }

    /// Returns the names that the event gives for the patient and other people.
    pub(crate) fn known(&self) -> &KnownNames {
        self.known.get_or_init(|| {
            let known = self.subject.note.known();
            KnownNames::new(known.filter(|(kind, _)| is_name(*kind)).map(|(_, name)| name))
        })
    }

    /// Returns whether a surrogate equals a real value of the note. For the audit only: no surrogate depends
    /// on it.
    pub(crate) fn clashes(&self, original: &str, surrogate: &str) -> bool {
        let real = self.real.get_or_init(|| {
            let of = |names: bool| {
                let values = self.values.iter().filter(move |(name, _)| *name == names);
                let known = self.subject.note.known();
                let known = known.filter(move |(kind, _)| is_name(*kind) == names);
                values
                    .map(|(_, value)| *value)
                    .chain(known.map(|(_, value)| value))
            };
            Real::new(of(true), of(false))
        });
        real.clashes(original, surrogate)
    }

    /// Requests the vault's codes for these items in one call: one wait for the disk instead of one per span.
    pub(crate) fn ask(
        &mut self,
        vault: &dyn Vault,
        items: impl Iterator<Item = (Item<'a>, Scope)>,
    ) -> Result<(), VaultError> {
        let wanted: BTreeSet<_> = items
            .map(|(item, scope)| {
                let value = plain(self.value(item.value));
                (item.label.name.as_str(), value, scope == Scope::Site)
            })
            .collect();
        let keys: Vec<VaultKey<'_>> = wanted
            .iter()
            .map(|(label, value, site)| VaultKey {
                label,
                scope: self.context(if *site { Scope::Site } else { Scope::Patient }),
                value,
            })
            .collect();
        let codes = vault.codes(&keys)?;
        let wanted = wanted.into_iter().map(|(label, value, _)| (label, value));
        self.codes = wanted.zip(codes).collect();
        Ok(())
    }

    /// Returns the authority, as the source names it, of an id of the message that equals this text.
    pub(crate) fn authority_of(&self, text: &str) -> Option<&'a str> {
        let structured = self.structured.get_or_init(|| {
            let subject = self.subject;
            let own = subject.patient_id.zip(subject.patient_authority);
            let all = subject.identifiers.iter();
            let all = all.filter_map(|one| Some((one.value.expose(), one.authority.as_deref()?)));
            let mut found = HashMap::new();
            for (id, authority) in all.chain(own) {
                // The least of several is taken, so that their order does not matter.
                let known = found.entry(squeezed(id)).or_insert(authority);
                *known = (*known).min(authority);
            }
            found
        });
        structured.get(&squeezed(text)).copied()
    }

    /// Returns whether two texts are the same id, apart from separators.
    pub(crate) fn is_same(&self, id: &str, other: &str) -> bool {
        squeezed(id) == squeezed(other)
    }

    /// Returns the vault's code for an item.
    pub(crate) fn code(&self, item: &Item<'a>) -> Option<Code> {
        self.codes
            .get(&(item.label.name.as_str(), plain(self.value(item.value))))
            .copied()
    }

    /// Returns the number of a value among those of its label in this note, from 1, in the order of the
    /// calls.
    pub(crate) fn number(&mut self, label: &'a str, text: &str) -> usize {
        let count = self.counts.entry(label).or_default();
        *self.numbers.entry((label, plain(text))).or_insert_with(|| {
            *count += 1;
            *count
        })
    }
}

fn is_name(kind: KnownKind) -> bool {
    matches!(
        kind,
        KnownKind::Patient | KnownKind::Relative | KnownKind::Clinician
    )
}

/// Returns the year of the event's birth date, which is in ISO 8601.
fn birth_year(subject: &Subject<'_>) -> Option<i16> {
    let mut born = subject
        .note
        .known()
        .filter(|(kind, _)| *kind == KnownKind::BirthDate);
    born.find_map(|(_, date)| date.trim().split('-').next()?.parse().ok())
}

/// Returns the letters and digits of an id, in lower case.
fn squeezed(id: &str) -> String {
    plain(id).replace(' ', "")
}

/// Returns the value normalised for case, accents, punctuation and white space. Equal results have equal
/// codes.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.nfkd().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            out.push(c);
        } else if c.is_whitespace() && !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out.truncate(out.trim_end().len());
    // A value without letters and digits stays as it is.
    if out.is_empty() { text.to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_writers_vary_makes_no_other_value() {
        assert_eq!(plain("  Núñez,  ANA "), plain("nunez ana"));
        assert_eq!(plain("12-34/5"), "12345");
        assert_ne!(plain("Ana Ruiz"), plain("Anaruiz"));
        assert_eq!(plain("+"), "+");
    }
}
