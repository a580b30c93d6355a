//! The cue words, English and Spanish, folded, with the rule that each sets off.

use crate::lexicon::WordMap;

/// What a cue word announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cue {
    DoctorTitle,
    PersonTitle,
    Relative,
    /// "Pt J.P."
    Patient,
    Named,
    By,
    With,
    /// "page", "call": a name may follow.
    Contact,
    /// "Sincerely,"
    Closing,
    /// "in", "from" and verbs of living: a place may follow.
    Place,
    /// "... Medical Center": the name stands before.
    Institution,
    /// "Hospital ...": the name stands before or after.
    InstitutionHead,
    /// "Clínica ...": the name stands after.
    InstitutionEs,
    Work,
    Retired,
    Employer,
    /// "a", "old": a profession may follow.
    Article,
}

const CUES: &[(Cue, &[&str])] = &[
    (
        Cue::DoctorTitle,
        &[
            "dr",
            "drs",
            "doctor",
            "dra",
            "doctora",
            "dres",
            "dras",
            "doctores",
            "prof",
            "profesor",
            "profesora",
            "professor",
            "nurse",
        ],
    ),
    (
        Cue::PersonTitle,
        &[
            "mr", "mrs", "ms", "miss", "mx", "mister", "madam", "sr", "sra", "srta", "sres", "senor",
            "senora", "senorita", "don", "dona", "d", "da", "dna", "master", "rev", "reverend", "judge",
            "officer", "sgt", "capt", "lt", "pastor", "rabbi",
        ],
    ),
    (
        Cue::Relative,
        &[
            "brother",
            "sister",
            "mother",
            "father",
            "wife",
            "husband",
            "son",
            "daughter",
            "spouse",
            "partner",
            "aunt",
            "uncle",
            "niece",
            "nephew",
            "cousin",
            "grandmother",
            "grandfather",
            "grandson",
            "granddaughter",
            "grandchild",
            "mom",
            "mum",
            "dad",
            "boyfriend",
            "girlfriend",
            "fiance",
            "fiancee",
            "relative",
            "guardian",
            "friend",
            "neighbor",
            "neighbour",
            "caregiver",
            "proxy",
            "kin",
            "stepfather",
            "stepmother",
            "stepson",
            "stepdaughter",
            "roommate",
            "sibling",
            "twin",
            "parents",
            "sons",
            "daughters",
            "hermano",
            "hermana",
            "madre",
            "padre",
            "esposa",
            "esposo",
            "marido",
            "mujer",
            "hijo",
            "hija",
            "tio",
            "tia",
            "primo",
            "prima",
            "abuelo",
            "abuela",
            "nieto",
            "nieta",
            "sobrino",
            "sobrina",
            "pareja",
            "cuidadora",
            "cuidador",
            "conyuge",
            "novio",
            "novia",
            "hijos",
            "hermanos",
        ],
    ),
    (Cue::Patient, &["pt", "patient", "paciente", "yo", "old"]),
    (Cue::Named, &["named", "llamado", "llamada", "llama"]),
    (Cue::By, &["by", "por", "per"]),
    (Cue::With, &["with", "con"]),
    (
        Cue::Contact,
        &[
            "page",
            "paged",
            "call",
            "called",
            "contact",
            "contacted",
            "to",
            "attn",
            "and",
            "seen",
            "covering",
            "cc",
        ],
    ),
    (
        Cue::Closing,
        &[
            "sincerely",
            "regards",
            "truly",
            "respectfully",
            "atentamente",
            "saludo",
            "saludos",
        ],
    ),
    (
        Cue::Place,
        &[
            "in",
            "from",
            "near",
            "outside",
            "visited",
            "visiting",
            "lives",
            "living",
            "resides",
            "residing",
            "en",
            "desde",
            "natural",
            "procedente",
            "residente",
            "nacido",
            "nacida",
        ],
    ),
    (
        Cue::Institution,
        &[
            "center",
            "centre",
            "clinic",
            "clinics",
            "infirmary",
            "hospitals",
            "hospice",
            "institute",
            "school",
            "schools",
            "college",
            "academy",
            "university",
            "associates",
            "pavilion",
            "system",
            "healthcare",
            "rehab",
            "pharmacy",
            "laboratory",
            "laboratories",
            "practice",
            "manor",
            "va",
            "foundation",
            "polyclinic",
            "company",
            "corporation",
            "inc",
            "llc",
            "ltd",
            "sons",
            "group",
            "manufacturing",
            "home",
            "facility",
            "living",
            "community",
        ],
    ),
    (Cue::InstitutionHead, &["hospital", "hosp"]),
    (
        Cue::InstitutionEs,
        &[
            "asociacion",
            "sociedad",
            "escuela",
            "academia",
            "ministerio",
            "consejeria",
            "clinica",
            "centro",
            "policlinico",
            "policlinica",
            "ambulatorio",
            "instituto",
            "universidad",
            "fundacion",
            "complejo",
            "sanatorio",
            "residencia",
            "consultorio",
            "facultad",
            "hospitalario",
            "colegio",
            "corporacio",
            "institut",
            "consorci",
            "universitat",
            "clinic",
        ],
    ),
    (
        Cue::Work,
        &[
            "works",
            "worked",
            "working",
            "work",
            "employed",
            "job",
            "career",
            "occupation",
            "trabaja",
            "trabajaba",
            "trabajado",
            "empleado",
            "empleada",
            "profesion",
            "oficio",
        ],
    ),
    (
        Cue::Retired,
        &["retired", "former", "jubilado", "jubilada", "exfuncionario"],
    ),
    (Cue::Employer, &["employer"]),
    (Cue::Article, &["a", "an", "un", "una"]),
];

/// The cue words, by their hash.
pub(super) struct Table(WordMap<&'static str, Cue>);

impl Table {
    pub(super) fn new() -> Self {
        let pairs = CUES
            .iter()
            .flat_map(|&(cue, words)| words.iter().map(move |&word| (word, cue)));
        let mut table = WordMap::default();
        for (word, cue) in pairs {
            // Of a word in two places the first counts.
            table.entry(word).or_insert(cue);
        }
        Self(table)
    }

    /// The cue that a folded word is.
    #[inline]
    pub(super) fn cue(&self, word: &str) -> Option<Cue> {
        // No cue is longer; most words that are longer are no cue.
        if word.len() > 14 {
            return None;
        }
        self.0.get(word).copied()
    }
}
