//! The institutes and their files: a folder under `data` that is not listed here is not read.

/// The files of one institute.
pub(crate) struct Files {
    pub(crate) id: &'static str,
    pub(crate) conventions: &'static str,
    /// Names and texts of template files.
    pub(crate) templates: &'static [(&'static str, &'static str)],
}

macro_rules! template {
    ($folder:literal, $file:literal) => {
        ($file, include_str!(concat!("../data/", $folder, "/", $file)))
    };
}

macro_rules! institute {
    ($id:literal: $($file:literal),+ $(,)?) => {
        Files {
            id: $id,
            conventions: include_str!(concat!("../data/", $id, "/institute.toml")),
            templates: &[$(template!($id, $file)),+],
        }
    };
}

/// All institutes. Lists are split by index and number of institutes: a new institute changes the split.
pub(crate) static INSTITUTES: &[Files] = &[
    institute!("cedar": "forms.txt", "frames.txt", "inserts.txt", "letters.txt", "messages.txt", "notes.txt", "notes2.txt", "visits.txt"),
    institute!("harbor": "forms.txt", "inserts.txt", "letters.txt", "messages.txt", "notes1.txt", "notes2.txt", "notes3.txt", "parts.txt", "visits.txt"),
    institute!("prairie": "forms.txt", "frames.txt", "inserts.txt", "letters.txt", "notes-long.txt", "notes-lower.txt", "notes-upper.txt", "talk.txt"),
    institute!("lakeside": "forms.txt", "inserts.txt", "letters.txt", "messages.txt", "notes.txt", "notes2.txt", "parts.txt", "visits.txt"),
    institute!("mesa": "forms.txt", "inserts.txt", "letters.txt", "messages.txt", "notes1.txt", "notes2.txt", "parts.txt", "visits.txt"),
    institute!("delta": "forms.txt", "frames.txt", "inserts.txt", "letters.txt", "notes1.txt", "notes2.txt", "short.txt", "talk.txt"),
    institute!("summit": "forms.txt", "furniture.txt", "inserts.txt", "letters.txt", "messages.txt", "notes-clinic.txt", "notes-inpatient.txt", "notes-long.txt", "queries.txt", "sentences.txt", "visits.txt"),
];

/// Institutes for testing: they share no text with the others.
pub const HELD_OUT: &[&str] = &["summit"];

/// The texts of all other institutes.
pub(crate) static SHARED: &[(&str, &str)] = &[
    template!("shared", "messages.txt"),
    template!("shared", "prose1.txt"),
    template!("shared", "prose2.txt"),
    template!("shared", "prose3.txt"),
    template!("shared", "prose4.txt"),
    template!("shared", "prose5.txt"),
    template!("shared", "queries.txt"),
    template!("shared", "queries2.txt"),
    template!("shared", "sentences.txt"),
    template!("shared", "sentences2.txt"),
    template!("shared", "visits.txt"),
    template!("shared", "visits2.txt"),
];

/// The texts of all institutes, which contain no identifiers.
pub(crate) static BARE: &[(&str, &str)] = &[
    template!("shared", "clinical.txt"),
    template!("shared", "clinical2.txt"),
    template!("shared", "clinical3.txt"),
    template!("shared", "clinical4.txt"),
    template!("shared", "clinical5.txt"),
    template!("shared", "negatives.txt"),
    template!("shared", "negatives2.txt"),
    template!("shared", "negatives3.txt"),
    template!("shared", "negatives4.txt"),
    template!("shared", "negatives5.txt"),
    template!("shared", "negatives6.txt"),
    template!("shared", "negatives7.txt"),
    template!("shared", "negatives8.txt"),
    template!("shared", "negatives9.txt"),
    template!("shared", "negatives-bedside.txt"),
    template!("shared", "negatives-brands.txt"),
    template!("shared", "negatives-eponyms.txt"),
    template!("shared", "negatives-genes.txt"),
    template!("shared", "negatives-numbers.txt"),
    template!("shared", "negatives-tables.txt"),
    template!("shared", "negatives-talk.txt"),
    template!("shared", "negatives-tongues.txt"),
    template!("shared", "negatives-turns.txt"),
];
