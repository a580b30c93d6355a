//! `context`: names, places, institutions and professions that surrounding words announce, whether or not a
//! list has them.
//!
//! It uses cue words in the manner of PhysioNet deid (Neamatullah 2008): titles, degrees, relatives, form
//! lines, signatures, "lives in", "works as". A name with strong evidence is then found wherever else the
//! note has it.

mod acronyms;
mod credentials;
mod cues;
mod fields;
mod institutions;
mod institutions_es;
mod people;
mod places;
mod professions;

use std::sync::Arc;

use lethe_core::{
    Annotations, Collector, LabelError, LabelId, LabelSet, NoteBatch, NoteView, TagError, Tagger, tag_each,
};
use lethe_dictionaries::{Dictionary, ListSet, Matcher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::person::Name;
use crate::reading::{Reading, Sought};
use crate::vocabulary::Vocabulary;
use crate::words::Case;
use cues::{Cue, Table};
use fields::Fields;

/// Settings of the `context` member.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextConfig {
    /// Whether to find a name with strong evidence again wherever the note repeats it.
    pub repeats: bool,
    /// Whether to find professions.
    pub professions: bool,
}

impl Default for ContextConfig {
    fn default() -> Self {
        Self {
            repeats: true,
            professions: true,
        }
    }
}

impl ContextConfig {
    /// Builds the member with these settings.
    ///
    /// # Errors
    /// [`LabelError::Missing`] if the label set lacks one of its labels.
    pub fn build(&self, labels: &LabelSet, dictionary: &Arc<Dictionary>) -> Result<Context, LabelError> {
        Ok(Context {
            config: self.clone(),
            labels: Labels {
                patient: labels.resolve("PATIENT")?,
                doctor: labels.resolve("DOCTOR")?,
                username: labels.resolve("USERNAME")?,
                hospital: labels.resolve("HOSPITAL")?,
                organization: labels.resolve("ORGANIZATION")?,
                city: labels.resolve("CITY")?,
                state: labels.resolve("STATE")?,
                country: labels.resolve("COUNTRY")?,
                zip: labels.resolve("ZIP")?,
                street: labels.resolve("STREET")?,
                profession: labels.resolve("PROFESSION")?,
                record: labels.resolve("MEDICALRECORD")?,
                sex: labels.by_name("SEXO_SUJETO_ASISTENCIA"),
                family: labels.by_name("FAMILIARES_SUJETO_ASISTENCIA"),
            },
            vocabulary: Vocabulary::new(dictionary),
            table: Table::new(),
            fields: Fields::new(),
            professions: dictionary.labelled("PROFESSION"),
        })
    }
}

/// The `context` member.
pub struct Context {
    config: ContextConfig,
    labels: Labels,
    vocabulary: Vocabulary,
    table: Table,
    fields: Fields,
    professions: ListSet,
}

struct Labels {
    patient: LabelId,
    doctor: LabelId,
    username: LabelId,
    hospital: LabelId,
    organization: LabelId,
    city: LabelId,
    state: LabelId,
    country: LabelId,
    zip: LabelId,
    street: LabelId,
    profession: LabelId,
    record: LabelId,
    /// `Some` only in label sets that have sex as an identifier.
    sex: Option<LabelId>,
    /// The same for the mention of a relative.
    family: Option<LabelId>,
}

impl Tagger for Context {
    fn name(&self) -> &str {
        "context"
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let mut matcher = self.vocabulary.dictionary.matcher();
        tag_each(batch, |note, out| self.tag_note(note, &mut matcher, out))
    }
}

impl Context {
    fn tag_note<'d>(&'d self, note: NoteView<'_>, matcher: &mut Matcher<'d>, out: &mut Collector<'_>) {
        if note.tokens.is_empty() {
            return;
        }
        let note = Reading::new(note, &self.vocabulary, matcher, Sought::default());
        let mut scan = Scan {
            note: &note,
            labels: &self.labels,
            table: &self.table,
            fields: &self.fields,
            out,
            matcher,
            professions: self.professions,
            people: Vec::new(),
            institutions: Vec::new(),
            state: None,
        };
        for i in 0..note.len() {
            match note.case(i) {
                Case::Digits => scan.after_code(i),
                Case::Mark => match note.byte(i) {
                    b':' => scan.field(i),
                    b'|' => scan.cell(i),
                    _ => {}
                },
                _ => scan.word(i, self.config.professions),
            }
        }
        if self.config.repeats {
            scan.acronyms();
            let people = std::mem::take(&mut scan.people);
            note.repeats(&people, 0.7, "context.repeat", out);
        }
    }
}

/// One note while the rules run over it.
struct Scan<'r, 'd, 'n, 'o, 'c> {
    note: &'r Reading<'d, 'n>,
    labels: &'r Labels,
    table: &'r Table,
    fields: &'r Fields,
    out: &'o mut Collector<'c>,
    matcher: &'r mut Matcher<'d>,
    professions: ListSet,
    /// Institutions found, for their acronyms.
    institutions: Vec<(usize, usize)>,
    /// Names with strong evidence, for [`Scan::repeats`].
    people: Vec<(Name, LabelId)>,
    /// The last state that was found by its abbreviation after a city.
    state: Option<usize>,
}

impl Scan<'_, '_, '_, '_, '_> {
    fn word(&mut self, i: usize, professions: bool) {
        self.credential(i);
        self.state_code(i);
        self.typists(i);
        let Some(cue) = self.table.cue(self.note.get(i)) else {
            return;
        };
        match cue {
            Cue::DoctorTitle => self.title(i, self.labels.doctor),
            Cue::PersonTitle => self.title(i, self.labels.patient),
            Cue::Relative => {
                self.relative(i);
                self.family(i);
            }
            Cue::Family => self.family(i),
            Cue::Sex => {
                if let Some(label) = self.labels.sex {
                    self.out.tokens(i, i, label, 0.8, "context.sex");
                }
            }
            Cue::Patient => {
                self.patient(i);
                if professions {
                    self.profession(i);
                }
            }
            Cue::Named => self.person_after(i + 1, self.labels.patient, "context.named"),
            Cue::By => self.by(i),
            Cue::With => self.with(i),
            Cue::Contact => self.contact(i),
            Cue::Closing => self.closing(i),
            Cue::Place => self.place_after(i),
            Cue::Institution => self.institution(i),
            Cue::InstitutionHead => {
                self.institution(i);
                self.institution_head(i);
            }
            Cue::InstitutionEs => self.institution_head(i),
            Cue::Article if professions => self.profession(i),
            Cue::Work if professions => self.work(i),
            Cue::Retired if professions => self.retired(i),
            Cue::Work | Cue::Retired | Cue::Article => {}
            Cue::Employer => self.employer(i),
            Cue::Role => self.role(i),
        }
    }

    /// Reports a person's name and remembers it.
    fn person(&mut self, name: Name, label: LabelId, score: f32, rule: &'static str) {
        self.out.tokens(name.first, name.last, label, score, rule);
        self.people.push((name, label));
    }
}
