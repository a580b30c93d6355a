//! Which language a note is in, for engines with one bundle a language.

use lethe_core::ChooseLanguage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whatlang::{Detector, Lang};

/// The version of the detection: another one may choose otherwise for the same note. It is a part of the
/// fingerprint of an engine of several languages. Raise it with the crate `whatlang`, with `READ`, and with the
/// rule in `ByLanguage::detect`.
pub const DETECTION_VERSION: u32 = 1;

/// The characters of a note that are read. The language of a clinical note shows in its first lines, and a note
/// may be megabytes long.
const READ: usize = 4_000;

/// A language that a note can be recognised to be in, by its code of ISO 639-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum NoteLanguage {
    /// Czech.
    Cs,
    /// Danish.
    Da,
    /// German.
    De,
    /// English.
    En,
    /// Spanish.
    Es,
    /// Finnish.
    Fi,
    /// French.
    Fr,
    /// Italian.
    It,
    /// Norwegian (bokmål).
    Nb,
    /// Dutch.
    Nl,
    /// Polish.
    Pl,
    /// Portuguese.
    Pt,
    /// Swedish.
    Sv,
}

impl NoteLanguage {
    /// All languages, in the order of their codes.
    pub const ALL: [Self; 13] = [
        Self::Cs,
        Self::Da,
        Self::De,
        Self::En,
        Self::Es,
        Self::Fi,
        Self::Fr,
        Self::It,
        Self::Nb,
        Self::Nl,
        Self::Pl,
        Self::Pt,
        Self::Sv,
    ];

    /// Returns the code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Cs => "cs",
            Self::Da => "da",
            Self::De => "de",
            Self::En => "en",
            Self::Es => "es",
            Self::Fi => "fi",
            Self::Fr => "fr",
            Self::It => "it",
            Self::Nb => "nb",
            Self::Nl => "nl",
            Self::Pl => "pl",
            Self::Pt => "pt",
            Self::Sv => "sv",
        }
    }

    const fn detected(self) -> Lang {
        match self {
            Self::Cs => Lang::Ces,
            Self::Da => Lang::Dan,
            Self::De => Lang::Deu,
            Self::En => Lang::Eng,
            Self::Es => Lang::Spa,
            Self::Fi => Lang::Fin,
            Self::Fr => Lang::Fra,
            Self::It => Lang::Ita,
            Self::Nb => Lang::Nob,
            Self::Nl => Lang::Nld,
            Self::Pl => Lang::Pol,
            Self::Pt => Lang::Por,
            Self::Sv => Lang::Swe,
        }
    }
}

impl std::fmt::Display for NoteLanguage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

/// There is no such language.
#[derive(Debug, thiserror::Error)]
#[error("`{code}` is no language that Lethe recognises; it recognises {list}", list = codes())]
pub struct UnknownLanguage {
    code: String,
}

fn codes() -> String {
    NoteLanguage::ALL.map(NoteLanguage::code).join(", ")
}

impl std::str::FromStr for NoteLanguage {
    type Err = UnknownLanguage;

    fn from_str(code: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|language| language.code() == code);
        found.ok_or_else(|| UnknownLanguage {
            code: code.to_owned(),
        })
    }
}

/// Chooses among languages by the text of a note: by its trigrams and its alphabet, as the crate `whatlang` compares
/// them with those of each language.
#[derive(Debug)]
pub struct ByLanguage {
    languages: Vec<NoteLanguage>,
    fallback: usize,
    detector: Detector,
}

impl ByLanguage {
    /// Creates a choice among `languages`. A note whose language is not clear, for instance because it is short, is
    /// decided as one in `fallback`; the first language, if `fallback` is not among them.
    pub fn new(languages: &[NoteLanguage], fallback: NoteLanguage) -> Self {
        let place = languages.iter().position(|language| *language == fallback);
        let allowed = languages.iter().map(|language| language.detected()).collect();
        Self {
            languages: languages.to_vec(),
            fallback: place.unwrap_or(0),
            detector: Detector::with_allowlist(allowed),
        }
    }

    /// Returns the place of the language that the text is clearly in.
    fn detect(&self, text: &str) -> Option<usize> {
        let read: String = text.chars().take(READ).collect();
        let found = self.detector.detect(&read)?;
        if !found.is_reliable() {
            return None;
        }
        let found = found.lang();
        self.languages
            .iter()
            .position(|language| language.detected() == found)
    }
}

impl ChooseLanguage for ByLanguage {
    fn choose(&self, text: &str) -> usize {
        self.detect(text).unwrap_or(self.fallback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: [(NoteLanguage, &str); 4] = [
        (
            NoteLanguage::En,
            "The patient was admitted with chest pain and discharged home on aspirin the next day.",
        ),
        (
            NoteLanguage::De,
            "Der Patient wurde wegen Brustschmerzen aufgenommen und am nächsten Tag mit Aspirin entlassen.",
        ),
        (
            NoteLanguage::Es,
            "El paciente ingresó por dolor torácico y fue dado de alta al día siguiente con aspirina.",
        ),
        (
            NoteLanguage::Fr,
            "Le patient a été hospitalisé pour une douleur thoracique et il est sorti le lendemain sous aspirine.",
        ),
    ];

    #[test]
    fn a_sentence_is_enough_to_tell_languages_apart() {
        let languages = NOTES.map(|(language, _)| language);
        for fallback in languages {
            let by_language = ByLanguage::new(&languages, fallback);
            for (place, (language, text)) in NOTES.iter().enumerate() {
                assert_eq!(by_language.choose(text), place, "{language}");
            }
        }
    }

    #[test]
    fn a_note_without_a_clear_language_is_decided_as_in_the_fallback() {
        let languages = [NoteLanguage::De, NoteLanguage::En];
        for (fallback, place) in [
            (NoteLanguage::De, 0),
            (NoteLanguage::En, 1),
            (NoteLanguage::Fr, 0),
        ] {
            let by_language = ByLanguage::new(&languages, fallback);
            for text in ["", " \n", "120/80", "O2 98 %", "血圧"] {
                assert_eq!(by_language.choose(text), place, "{text:?} {fallback}");
            }
        }
    }

    #[test]
    fn a_code_is_read_as_it_is_written() {
        for language in NoteLanguage::ALL {
            assert_eq!(language.code().parse::<NoteLanguage>().unwrap(), language);
            assert_eq!(serde_json::to_value(language).unwrap(), language.code());
        }
        let why = "xx".parse::<NoteLanguage>().unwrap_err().to_string();
        assert!(why.contains("`xx`") && why.contains("de, en, es"), "{why}");
    }
}
