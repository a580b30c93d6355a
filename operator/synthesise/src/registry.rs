//! The institutes and their files, by language: a folder under `data` that is not listed here is not read.

use std::sync::OnceLock;

use crate::language::Language;

/// The files of one institute; it also has an `institute.toml`.
pub(crate) struct Files {
    pub(crate) id: &'static str,
    /// Names of template files.
    pub(crate) templates: &'static [&'static str],
}

macro_rules! institute {
    ($id:literal: $($file:literal),+ $(,)?) => {
        Files {
            id: $id,
            templates: &[$($file),+],
        }
    };
}

/// The institutes that write English. Lists are split by index and number of institutes: a new institute changes the split.
pub(crate) static INSTITUTES: &[Files] = &[
    institute!("cedar": "forms.txt", "frames.txt", "inserts.txt", "letters.txt", "messages.txt", "notes.txt", "notes2.txt", "visits.txt"),
    institute!("harbor": "forms.txt", "inserts.txt", "letters.txt", "messages.txt", "notes1.txt", "notes2.txt", "notes3.txt", "parts.txt", "visits.txt"),
    institute!("prairie": "forms.txt", "frames.txt", "inserts.txt", "letters.txt", "notes-long.txt", "notes-lower.txt", "notes-upper.txt", "talk.txt"),
    institute!("lakeside": "forms.txt", "inserts.txt", "letters.txt", "messages.txt", "notes.txt", "notes2.txt", "parts.txt", "visits.txt"),
    institute!("mesa": "forms.txt", "inserts.txt", "letters.txt", "messages.txt", "notes1.txt", "notes2.txt", "parts.txt", "visits.txt"),
    institute!("delta": "forms.txt", "frames.txt", "inserts.txt", "letters.txt", "notes1.txt", "notes2.txt", "short.txt", "talk.txt"),
    institute!("summit": "forms.txt", "furniture.txt", "inserts.txt", "letters.txt", "messages.txt", "notes-clinic.txt", "notes-inpatient.txt", "notes-long.txt", "queries.txt", "sentences.txt", "visits.txt"),
];

/// The files of a language other than English: a folder of `data` with `language.toml`, `fillers.toml`, `numbers.toml`, the folder
/// `shared`, and a folder for each institute.
pub(crate) struct LanguageFiles {
    pub(crate) id: &'static str,
    pub(crate) institutes: &'static [Files],
    /// The files in its `shared` for all of its institutes.
    pub(crate) shared: &'static [&'static str],
    /// `language.toml`, once it has been read.
    pub(crate) read: OnceLock<Language>,
}

/// The languages other than English.
pub(crate) static LANGUAGES: [LanguageFiles; 2] = [
    LanguageFiles {
        id: "de",
        institutes: &[
            institute!("elbe": "forms.txt", "letters.txt"),
            institute!("isar": "forms.txt", "letters.txt"),
            institute!("donau": "forms.txt", "notes.txt"),
        ],
        shared: &["clinical.txt", "negatives.txt", "sentences.txt"],
        read: OnceLock::new(),
    },
    LanguageFiles {
        id: "fr",
        institutes: &[
            institute!("loire": "forms.txt", "letters.txt"),
            institute!("garonne": "forms.txt", "letters.txt"),
        ],
        shared: &["clinical.txt", "negatives.txt", "sentences.txt"],
        read: OnceLock::new(),
    },
];

/// Institutes for testing: they share no text with the others.
pub const HELD_OUT: &[&str] = &["summit"];

/// Kinds of text, each a file of `kinds`. All institutes but the held-out ones write them, in their own conventions.
pub(crate) static TEXTS: &[&str] = &[
    "captions",
    "chat",
    "consultation",
    "dictated",
    "discharge",
    "email",
    "fax",
    "genetics",
    "incident",
    "legal",
    "news",
    "nursing",
    "operative",
    "pathology",
    "portal",
    "problems",
    "psychotherapy",
    "radiology",
    "referral",
    "search",
    "socialwork",
    "table",
    "telephone",
    "trial",
];

/// The files in `shared` for all other institutes.
pub(crate) static SHARED: &[&str] = &[
    "messages.txt",
    "prose1.txt",
    "prose2.txt",
    "prose3.txt",
    "prose4.txt",
    "prose5.txt",
    "queries.txt",
    "queries2.txt",
    "sentences.txt",
    "sentences2.txt",
    "visits.txt",
    "visits2.txt",
];

/// The files in `shared` for all institutes; their texts contain no identifiers.
pub(crate) static BARE: &[&str] = &[
    "clinical.txt",
    "clinical2.txt",
    "clinical3.txt",
    "clinical4.txt",
    "clinical5.txt",
    "abstracts.txt",
    "negatives.txt",
    "negatives2.txt",
    "negatives3.txt",
    "negatives4.txt",
    "negatives5.txt",
    "negatives6.txt",
    "negatives7.txt",
    "negatives8.txt",
    "negatives9.txt",
    "negatives-bedside.txt",
    "negatives-brands.txt",
    "negatives-eponyms.txt",
    "negatives-genes.txt",
    "negatives-numbers.txt",
    "negatives-tables.txt",
    "negatives-talk.txt",
    "negatives-tongues.txt",
    "negatives-turns.txt",
];
