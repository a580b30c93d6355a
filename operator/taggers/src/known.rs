//! `known`: the patient's own identifiers, which the event carries, found in the patient's notes.
//!
//! This is the strongest evidence: a name, number or date of the patient, whole or in parts, reordered,
//! abbreviated, in another format, or with one typing error. Each note gets its own tables and is read once
//! for each kind of value, so that the cost is linear in the note's length and in the number of values.
//! Nothing is kept between notes.

mod dates;
#[cfg(test)]
mod many;
mod names;
mod numbers;
mod phrases;
#[cfg(test)]
mod reference;

use std::sync::Arc;

use lethe_core::{
    Annotations, Collector, KnownKind, LabelError, LabelId, LabelSet, NoteBatch, NoteView, TagError, Tagger,
    tag_each,
};
use lethe_dictionaries::Dictionary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::Vocabulary;
use crate::words::Words;

/// Settings of the `known` member.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KnownConfig {
    /// Whether to find parts of names of five letters or more also with one typing error (Damerau distance
    /// 1).
    pub typos: bool,
    /// Whether to find initials: "J.P.", and "JP" after "Pt".
    pub initials: bool,
}

impl Default for KnownConfig {
    fn default() -> Self {
        Self {
            typos: true,
            initials: true,
        }
    }
}

impl KnownConfig {
    /// Builds the member with these settings.
    ///
    /// # Errors
    /// [`LabelError::Missing`] if the label set lacks a label for one of the kinds.
    pub fn build(&self, labels: &LabelSet, dictionary: &Arc<Dictionary>) -> Result<Known, LabelError> {
        Ok(Known {
            config: self.clone(),
            labels: Labels::new(labels)?,
            vocabulary: Vocabulary::new(dictionary),
        })
    }
}

/// The `known` member.
pub struct Known {
    config: KnownConfig,
    labels: Labels,
    vocabulary: Vocabulary,
}

impl Tagger for Known {
    fn name(&self) -> &str {
        "known"
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        tag_each(batch, |note, out| self.tag_note(note, out))
    }
}

impl Known {
    fn tag_note(&self, note: NoteView<'_>, out: &mut Collector<'_>) {
        if note.tokens.is_empty() || note.known().next().is_none() {
            return;
        }
        let (mut names, mut numbers) = (names::Names::default(), numbers::Numbers::default());
        let (mut dates, mut phrases) = (dates::Dates::default(), phrases::Phrases::default());
        for (kind, value) in note.known() {
            let label = self.labels.of(kind);
            match kind {
                KnownKind::Patient | KnownKind::Relative | KnownKind::Clinician => names.add(value, label),
                KnownKind::BirthDate => {
                    if let Some(date) = dates::Date::parse(value) {
                        dates.add(date);
                    }
                }
                KnownKind::Phone => numbers.add_phone(value, label),
                KnownKind::Address => phrases.add_address(value, &self.labels),
                KnownKind::Email | KnownKind::Organization => phrases.add(value, label, "known.phrase"),
                KnownKind::MedicalRecord
                | KnownKind::SocialSecurity
                | KnownKind::HealthPlan
                | KnownKind::Account
                | KnownKind::Other => {
                    if value.bytes().any(|byte| byte.is_ascii_digit()) {
                        numbers.add(value, label);
                    } else {
                        phrases.add(value, label, "known.phrase");
                    }
                }
            }
        }
        let words = Words::new(note);
        names.finish();
        numbers.finish();
        names.find(&words, &self.config, &self.vocabulary, out);
        numbers.find(&words, out);
        phrases.find(&words, out);
        dates.find(&words, self.labels.of(KnownKind::BirthDate), out);
    }
}

/// The label for each kind of identifier.
struct Labels {
    kinds: [LabelId; KnownKind::ALL.len()],
    city: LabelId,
    state: LabelId,
    zip: LabelId,
}

impl Labels {
    fn new(labels: &LabelSet) -> Result<Self, LabelError> {
        let mut kinds = [LabelId(0); KnownKind::ALL.len()];
        for kind in KnownKind::ALL {
            kinds[kind as usize] = labels.resolve(match kind {
                // The 2014 track annotates a patient's relatives as PATIENT.
                KnownKind::Patient | KnownKind::Relative => "PATIENT",
                KnownKind::Clinician => "DOCTOR",
                KnownKind::MedicalRecord => "MEDICALRECORD",
                KnownKind::BirthDate => "DATE",
                KnownKind::Phone => "PHONE",
                KnownKind::Address => "STREET",
                KnownKind::Email => "EMAIL",
                KnownKind::SocialSecurity => "SSN",
                KnownKind::HealthPlan => "HEALTHPLAN",
                KnownKind::Account => "ACCOUNT",
                KnownKind::Organization => "ORGANIZATION",
                KnownKind::Other => "IDNUM",
            })?;
        }
        Ok(Self {
            kinds,
            city: labels.resolve("CITY")?,
            state: labels.resolve("STATE")?,
            zip: labels.resolve("ZIP")?,
        })
    }

    const fn of(&self, kind: KnownKind) -> LabelId {
        self.kinds[kind as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lethe_core::{Known as Value, NoteEvent, Record};

    fn found(known: &[(KnownKind, &str)], text: &str) -> Vec<(String, String)> {
        let labels = LabelSet::i2b2_2014();
        let event = NoteEvent {
            text: text.into(),
            known: known
                .iter()
                .map(|&(kind, value)| Value {
                    kind,
                    value: value.into(),
                })
                .collect(),
            ..NoteEvent::default()
        };
        let batch = NoteBatch::from_records([Record::Note(event)]).unwrap();
        let member = KnownConfig::default()
            .build(&labels, &Dictionary::builtin())
            .unwrap();
        let predictions = member.tag(&batch).remove(0).unwrap();
        predictions
            .iter()
            .map(|a| (a.span.of(text).to_owned(), labels.label(a.label).name.clone()))
            .collect()
    }

    fn texts(known: &[(KnownKind, &str)], text: &str) -> Vec<String> {
        found(known, text).into_iter().map(|(text, _)| text).collect()
    }

    const NAME: [(KnownKind, &str); 1] = [(KnownKind::Patient, "Jonathan Q. Pierce")];

    #[test]
    fn a_name_is_found_whole_in_parts_reordered_and_in_other_case() {
        for text in [
            "Jonathan Pierce",
            "Pierce, Jonathan",
            "PIERCE, JONATHAN Q",
            "J. Pierce",
            "Jonathan Q. Pierce",
            "Pierce",
            "jonathan",
        ] {
            let found = texts(&NAME, &format!("I saw {text} today."));
            let want = text.strip_suffix(" Q").unwrap_or(text);
            assert_eq!(found, [want], "{text}");
        }
    }

    #[test]
    fn a_part_one_typing_error_away_is_found_when_capitalised() {
        assert_eq!(texts(&NAME, "Seen: Peirce, Jonahtan."), ["Peirce, Jonahtan"]);
        assert_eq!(texts(&NAME, "The ear was pierced; a price was paid."), [""; 0]);
    }

    #[test]
    fn initials_need_their_stops_or_a_word_for_the_patient() {
        assert_eq!(
            texts(&NAME, "J.P. and J.Q.P. came; Pt JP left, the JP drain stayed."),
            ["J.P.", "J.Q.P.", "JP"]
        );
    }

    #[test]
    fn a_name_that_is_a_word_counts_only_with_its_capital() {
        let rose = [(KnownKind::Relative, "Rose May Hall")];
        assert_eq!(texts(&rose, "Pressure rose; it may fall. Rose called."), ["Rose"]);
    }

    #[test]
    fn accents_and_two_surnames_fold() {
        let known = [(KnownKind::Patient, "María José de la Peña Ibáñez")];
        assert_eq!(
            texts(&known, "Ingresa MARIA JOSE DE LA PENA; Sra. Ibañez."),
            ["MARIA JOSE DE LA PENA", "Ibañez"]
        );
    }

    #[test]
    fn numbers_are_found_in_other_grouping_and_never_inside_a_longer_one() {
        let known = [
            (KnownKind::MedicalRecord, "7795458"),
            (KnownKind::SocialSecurity, "212-96-6012"),
        ];
        let text = "MRN 77 95 458, #77-95-458; SSN 212966012; not 177954589 nor 7795458-22.";
        assert_eq!(texts(&known, text), ["77 95 458", "77-95-458", "212966012"]);
    }

    #[test]
    fn a_telephone_number_is_found_with_and_without_its_codes() {
        let known = [(KnownKind::Phone, "+1 312 847 5530")];
        let text = "(312) 847-5530 or 312.847.5530 or 1-312-847-5530 or 847-5530";
        assert_eq!(
            texts(&known, text),
            ["(312) 847-5530", "312.847.5530", "1-312-847-5530", "847-5530"]
        );
    }

    #[test]
    fn a_birth_date_is_found_in_every_written_form() {
        let known = [(KnownKind::BirthDate, "1992-03-19")];
        for text in [
            "03/19/1992",
            "3/19/92",
            "19/03/1992",
            "19.3.92",
            "1992-03-19",
            "19920319",
            "March 19, 1992",
            "Mar 19th, 1992",
            "19 de marzo de 1992",
            "19-MAR-92",
            "19th of March 1992",
            "19 March 1992",
        ] {
            assert_eq!(texts(&known, &format!("Born {text}, well.")), [text], "{text}");
        }
        assert_eq!(texts(&known, "03/18/1992 and 19/1992 and 03/19/1993"), [""; 0]);
    }

    #[test]
    fn an_address_is_found_in_parts() {
        let known = [(KnownKind::Address, "9127 King Boulevard, Provo, Utah 84119")];
        let want = [("9127 King Blvd.", "STREET"), ("PROVO", "CITY"), ("84119", "ZIP")];
        let text = "Lives at 9127 King Blvd., PROVO 84119.";
        let found = found(&known, text);
        let found: Vec<_> = found.iter().map(|(t, l)| (t.as_str(), l.as_str())).collect();
        assert_eq!(found, [("9127 King Blvd", "STREET"), want[1], want[2]]);
    }

    #[test]
    fn an_e_mail_address_is_one_span() {
        let known = [(KnownKind::Email, "jonathan.p@example.org")];
        assert_eq!(
            texts(&known, "Write to JONATHAN.P@example.org."),
            ["JONATHAN.P@example.org"]
        );
    }

    #[test]
    fn an_event_that_carries_nothing_finds_nothing() {
        assert_eq!(texts(&[], "Jonathan Pierce"), [""; 0]);
    }
}
