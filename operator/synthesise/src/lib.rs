//! Synthetic clinical notes with gold spans, for tests and training. They contain no real person's data, so
//! they can be shared.
//!
//! A document is written from templates (`data/README.md`) or around carrier text, with the identifiers of an
//! invented person. Institutes differ in templates, conventions, and in the names, towns and hospitals that
//! they use, so that a model can be tested on one that it has not seen. Spans follow the guidelines of the
//! 2014 i2b2 track (Stubbs and Uzuner 2015), without titles, degrees and possessives.
//!
//! The same settings and carriers give the same documents, byte for byte, in any order of requests.

mod carrier;
mod cast;
mod chance;
mod data;
mod disguise;
mod institute;
mod kind;
mod language;
mod noise;
mod page;
mod pools;
mod registry;
mod slot;
mod template;
mod write;

use lethe_corpus::Document;

use carrier::Carrier;
use chance::Chance;
pub use disguise::Disguise;
use institute::Institute;
pub use institute::{InstituteError, institutes, kinds, writers};
pub use language::languages;
pub use noise::Noise;
pub use registry::HELD_OUT;
pub use template::TemplateError;
use write::Writer;

/// What sets the choices of disguises apart from those of the text.
const DISGUISES: u64 = 1 << 40;

/// The settings of the generator.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Determines all random choices.
    pub seed: u64,
    /// The institutes that write documents, in turn.
    pub institutes: Vec<String>,
    /// The kinds of text to write.
    pub kinds: Kinds,
    /// The share of documents without any identifier.
    pub negatives: f64,
    /// The noise that is added to documents.
    pub noise: Noise,
    /// How identifiers are disguised, each in one of these ways; empty for not at all. The documents are the same
    /// otherwise.
    pub disguises: Vec<Disguise>,
    /// Names that replace the institutes' own; empty for none.
    pub names: Vec<Name>,
}

/// The kinds of text to write. Apart from those of [`kinds`], an institute writes notes, letters, forms and other
/// texts of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Kinds {
    /// All of them, and the institute's own.
    #[default]
    All,
    /// These, and nothing else.
    Only(Vec<String>),
    /// All but these, and the institute's own without those that resemble them, so that a model which was
    /// trained on the rest can be tested on a kind of text that it has not seen.
    Without(Vec<String>),
}

impl Kinds {
    fn names(&self) -> &[String] {
        match self {
            Self::All => &[],
            Self::Only(names) | Self::Without(names) => names,
        }
    }

    fn has(&self, name: &str) -> bool {
        let listed = self.names().iter().any(|listed| listed == name);
        match self {
            Self::All => true,
            Self::Only(_) => listed,
            Self::Without(_) => !listed,
        }
    }
}

/// A person's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The given name.
    pub given: String,
    /// The surname.
    pub family: String,
    /// Whether it is a woman's.
    pub female: bool,
}

/// Writes documents.
pub struct Generator {
    settings: Settings,
    institutes: Vec<Institute>,
    carriers: Vec<Carrier>,
}

impl Generator {
    /// Creates a generator with these settings. Marks in carriers are residues of identifiers, which are
    /// replaced or left out.
    ///
    /// # Errors
    /// [`InstituteError`] if an institute or a kind of text does not exist.
    pub fn new(settings: Settings, carriers: &[Document]) -> Result<Self, InstituteError> {
        for name in settings.kinds.names() {
            if !kinds().any(|kind| kind == name) {
                return Err(InstituteError::UnknownKind {
                    name: name.clone(),
                    known: kinds().collect::<Vec<_>>().join(", "),
                });
            }
        }
        let institutes = settings.institutes.iter().map(|id| Institute::new(id));
        let institutes = institutes.collect::<Result<Vec<_>, _>>()?;
        let without = institutes.iter().find(|institute| institute.texts().is_empty());
        if let (Some(institute), Kinds::Only(_)) = (without, &settings.kinds) {
            return Err(InstituteError::NoKinds {
                name: institute.id.to_owned(),
            });
        }
        let carriers = carriers
            .iter()
            .map(Carrier::new)
            .filter(|carrier| !carrier.lines.is_empty())
            .collect();
        Ok(Self {
            settings,
            institutes,
            carriers,
        })
    }

    /// Returns the number of sentences of the carriers that are used, and of those left out because they may
    /// identify.
    pub fn sentences(&self) -> (usize, usize) {
        let used = self
            .carriers
            .iter()
            .flat_map(|carrier| &carrier.lines)
            .map(Vec::len)
            .sum();
        let left_out = self.carriers.iter().map(|carrier| carrier.left_out).sum();
        (used, left_out)
    }

    /// Returns document `number`, from 0; `None` without institutes.
    pub fn document(&self, number: u64) -> Option<Document> {
        let of = u64::try_from(self.institutes.len()).ok()?;
        let place = usize::try_from(number.checked_rem(of)?).ok()?;
        let institute = self.institutes.get(place)?;
        let mut chance = Chance::new(self.settings.seed, number);
        let negative = chance.often(self.settings.negatives);
        let mut writer = Writer::new(institute, &self.carriers, &self.settings, chance);
        let mut page = if negative {
            writer.negative()
        } else {
            writer.document()
        };
        self.settings.noise.lie_on(&mut page, &mut writer.into_chance());
        // A source of its own, so that nothing else changes.
        let mut chance = Chance::new(self.settings.seed.wrapping_add(DISGUISES), number);
        disguise::disguise(&mut page, &self.settings.disguises, &mut chance);
        let id = format!("{}-{number:06}", institute.id);
        Some(page.finish(id.clone(), Some(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(institutes: &[&str]) -> Settings {
        Settings {
            seed: 7,
            institutes: institutes.iter().map(|&id| id.to_owned()).collect(),
            kinds: Kinds::All,
            negatives: 0.1,
            noise: Noise::USUAL,
            disguises: Vec::new(),
            names: Vec::new(),
        }
    }

    fn all() -> Vec<&'static str> {
        institutes().collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_documents_in_whatever_order() {
        let generator = || Generator::new(settings(&all()), &[]).unwrap();
        let (one, other) = (generator(), generator());
        let forward: Vec<_> = (0..60).map(|n| one.document(n)).collect();
        let mut backward: Vec<_> = (0..60).rev().map(|n| other.document(n)).collect();
        backward.reverse();
        assert!(forward == backward);
    }

    #[test]
    fn marks_are_trimmed_do_not_overlap_and_have_labels_of_the_set() {
        let generator = Generator::new(settings(&all()), &[]).unwrap();
        let labels = lethe_core::LabelSet::i2b2_2014();
        for document in (0..2000).filter_map(|n| generator.document(n)) {
            let mut end = 0;
            for mark in &document.marks {
                let text = mark.span.of(&document.text);
                assert!(
                    mark.span.start() >= end && text.trim() == text && !text.is_empty(),
                    "{}",
                    document.id
                );
                assert!(labels.by_name(&mark.label).is_some(), "{}", mark.label);
                end = mark.span.end();
            }
        }
    }

    #[test]
    fn every_label_of_the_set_is_written_by_every_institute() {
        for institute in all() {
            let generator = Generator::new(settings(&[institute]), &[]).unwrap();
            let documents: Vec<_> = (0..1500).filter_map(|n| generator.document(n)).collect();
            for label in lethe_core::LabelSet::i2b2_2014().labels() {
                let count = documents
                    .iter()
                    .flat_map(|document| &document.marks)
                    .filter(|mark| mark.label == label.name)
                    .count();
                assert!(count >= 5, "{institute} {} {count}", label.name);
            }
        }
    }

    #[test]
    fn a_negative_has_no_identifier() {
        let settings = Settings {
            negatives: 1.0,
            ..settings(&all())
        };
        let generator = Generator::new(settings, &[]).unwrap();
        for document in (0..300).filter_map(|n| generator.document(n)) {
            assert!(
                document.marks.is_empty() && !document.text.trim().is_empty(),
                "{}",
                document.id
            );
        }
    }

    #[test]
    fn disguised_documents_have_the_same_identifiers_in_the_same_text() {
        let documents = |disguises| {
            let settings = Settings {
                disguises,
                ..settings(&["cedar"])
            };
            let generator = Generator::new(settings, &[]).unwrap();
            (0..40).filter_map(|n| generator.document(n)).collect::<Vec<_>>()
        };
        let bare = |text: &str| text.replace('\u{ad}', "");
        let (plain, disguised) = (documents(Vec::new()), documents(vec![Disguise::SoftHyphens]));
        for (plain, disguised) in plain.iter().zip(&disguised) {
            assert_eq!(bare(&disguised.text), plain.text);
            assert_eq!(disguised.marks.len(), plain.marks.len());
        }
        assert!(disguised.iter().any(|document| document.text.contains('\u{ad}')));
    }

    #[test]
    fn names_that_are_given_are_the_only_ones() {
        let name = |given: &str, family: &str| Name {
            given: given.to_owned(),
            family: family.to_owned(),
            female: true,
        };
        let settings = Settings {
            noise: Noise::NONE,
            names: vec![name("Qualia", "Vexmoor"), name("Zephyrine", "Quorn")],
            ..settings(&["harbor"])
        };
        let generator = Generator::new(settings, &[]).unwrap();
        let mut seen = 0;
        for document in (0..200).filter_map(|n| generator.document(n)) {
            for mark in document.marks.iter().filter(|mark| mark.label == "PATIENT") {
                let text = mark.span.of(&document.text).to_lowercase();
                let long = text
                    .split(|char: char| !char.is_alphabetic())
                    .filter(|word| word.len() > 5);
                for word in long {
                    seen += 1;
                    assert!(["qualia", "vexmoor", "zephyrine"].contains(&word), "{word}");
                }
            }
        }
        assert!(seen > 100, "{seen}");
    }

    #[test]
    fn an_unknown_institute_is_told_with_those_that_there_are() {
        let error = Generator::new(settings(&["nowhere"]), &[])
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("nowhere") && error.contains("cedar"), "{error}");
    }

    #[test]
    fn an_unknown_kind_is_told_and_a_held_out_institute_writes_none() {
        let told = |kinds, institute: &str| {
            let settings = Settings {
                kinds,
                ..settings(&[institute])
            };
            Generator::new(settings, &[]).err().unwrap().to_string()
        };
        let error = told(Kinds::Without(vec!["opera".to_owned()]), "cedar");
        assert!(error.contains("opera") && error.contains("operative"), "{error}");
        let error = told(Kinds::Only(vec!["operative".to_owned()]), HELD_OUT[0]);
        assert!(error.contains(HELD_OUT[0]), "{error}");
    }
}
