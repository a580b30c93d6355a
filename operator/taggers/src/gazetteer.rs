//! `gazetteer`: names, places and institutions that the dictionary lists, on the evidence of the lists
//! themselves.
//!
//! A list entry alone is weak evidence: cities are surnames, surnames are words, words are eponyms. So each
//! kind of entry has its own conditions, and entries on exception lists need more evidence.

mod people;
mod places;

use std::sync::Arc;

use lethe_core::{
    Annotations, Collector, LabelError, LabelId, LabelSet, NoteBatch, NoteView, TagError, Tagger, tag_each,
};
use lethe_dictionaries::{Dictionary, ListSet, Matcher, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reading::{Reading, Sought};
use crate::vocabulary::Vocabulary;

/// Settings of the `gazetteer` member.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GazetteerConfig {
    /// The label of person names, since no list can distinguish patients from staff.
    pub person_label: String,
    /// Whether to find states, provinces and regions.
    pub states: bool,
    /// Whether to find countries.
    pub countries: bool,
    /// Whether to find health insurers and other organisations.
    pub organizations: bool,
}

impl Default for GazetteerConfig {
    fn default() -> Self {
        Self {
            person_label: "PATIENT".to_owned(),
            states: true,
            countries: true,
            organizations: true,
        }
    }
}

impl GazetteerConfig {
    /// Builds the member with these settings.
    ///
    /// # Errors
    /// [`LabelError::Missing`] if the label set lacks one of its labels.
    pub fn build(&self, labels: &LabelSet, dictionary: &Arc<Dictionary>) -> Result<Gazetteer, LabelError> {
        let wanted = dictionary.lists_where(|list| {
            list.role == Role::Phi
                && match list.label.as_str() {
                    "CITY" | "HOSPITAL" | "PROFESSION" | "LOCATION-OTHER" => true,
                    "STATE" => self.states,
                    "COUNTRY" => self.countries,
                    "ORGANIZATION" => self.organizations,
                    _ => false,
                }
        });
        let by_list = dictionary
            .lists()
            .iter()
            .map(|list| {
                Ok((
                    places::Sort::of(&list.label, &list.id),
                    labels.resolve(label_or(&list.label, "IDNUM"))?,
                ))
            })
            .collect::<Result<Vec<_>, LabelError>>()?;
        Ok(Gazetteer {
            vocabulary: Vocabulary::new(dictionary),
            person: labels.resolve(&self.person_label)?,
            wanted,
            medical: dictionary
                .lists_where(|list| list.role == Role::Exception && !list.id.ends_with("-words")),
            by_list,
        })
    }
}

fn label_or<'l>(label: &'l str, other: &'l str) -> &'l str {
    if label.is_empty() { other } else { label }
}

/// The `gazetteer` member.
pub struct Gazetteer {
    vocabulary: Vocabulary,
    person: LabelId,
    wanted: ListSet,
    /// Eponyms, drugs and the like: a name does not begin inside their entries of several words.
    medical: ListSet,
    by_list: Vec<(places::Sort, LabelId)>,
}

impl Tagger for Gazetteer {
    fn name(&self) -> &str {
        "gazetteer"
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let mut matcher = self.vocabulary.dictionary.matcher();
        tag_each(batch, |note, out| self.tag_note(note, &mut matcher, out))
    }

    /// Counts the caches of the dictionary, which other members share.
    fn cache_bytes(&self) -> usize {
        self.vocabulary.dictionary.cache_bytes()
    }
}

impl Gazetteer {
    fn tag_note<'d>(&'d self, note: NoteView<'_>, matcher: &mut Matcher<'d>, out: &mut Collector<'_>) {
        if note.tokens.is_empty() {
            return;
        }
        let reading = Reading::new(note, &self.vocabulary, matcher, self.sought());
        // Places come first: a name must not begin inside "San Antonio" or "St. Mary's Hospital".
        let places = self.places(&reading, matcher, out);
        self.people(&reading, &places, out);
    }

    /// Returns the entries to look for: places and the like, and those in which no name begins.
    fn sought(&self) -> Sought {
        Sought {
            lists: self.wanted | self.medical,
            passed: self.medical,
        }
    }
}
