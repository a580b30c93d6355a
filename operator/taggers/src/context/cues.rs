//! The cue words in English and Spanish, folded, with the rule that each triggers.

use crate::lexicon::WordTable;

/// The kind of text that a cue word announces.
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
    /// "... Medical Center": the name precedes.
    Institution,
    /// "Hospital ...": the name precedes or follows.
    InstitutionHead,
    /// "Clínica ...": the name follows.
    InstitutionEs,
    Work,
    Retired,
    Employer,
    /// "PCP", "cardiologist": a clinician's name may follow.
    Role,
    /// A word for the patient's sex, for label sets that have it.
    Sex,
    /// A word for relatives, without a name after it.
    Family,
    /// "a", "old": a profession may follow.
    Article,
}

/// Words by the rule that they trigger, separated by blanks. If a word occurs twice, the first entry counts.
const CUES: &[(Cue, &str)] = &[
    (
        Cue::DoctorTitle,
        "dr drs doctor dra doctora dres dras doctores prof profesor profesora professor nurse",
    ),
    (
        Cue::PersonTitle,
        "mr mrs ms miss mx mister madam sr sra srta sres senor senora senorita don dona d da dna master \
         rev reverend judge officer sgt capt lt pastor rabbi",
    ),
    (
        Cue::Relative,
        "brother sister mother father wife husband son daughter spouse partner aunt uncle niece nephew \
         cousin grandmother grandfather grandson granddaughter grandchild mom mum dad boyfriend \
         girlfriend fiance fiancee relative guardian friend neighbor neighbour caregiver proxy kin \
         stepfather stepmother stepson stepdaughter roommate sibling twin parents sons daughters hermano \
         hermana madre padre esposa esposo marido mujer hijo hija tio tia primo prima abuelo abuela nieto \
         nieta sobrino sobrina pareja cuidadora cuidador conyuge novio novia hijos hermanos",
    ),
    (Cue::Patient, "pt patient paciente yo old"),
    (Cue::Named, "named llamado llamada llama"),
    (Cue::By, "by por per"),
    (Cue::With, "with con"),
    (
        Cue::Contact,
        "page paged call called contact contacted to attn and seen covering cc",
    ),
    (
        Cue::Closing,
        "sincerely regards truly respectfully atentamente saludo saludos",
    ),
    (
        Cue::Place,
        "in from near outside visited visiting lives living resides residing en desde natural procedente \
         residente nacido nacida vecino vecina",
    ),
    (
        Cue::Institution,
        "health foods bank industries enterprises logistics airlines trucking rehabilitation elementary \
         cardiology orthopedics orthopaedics pediatrics dermatology oncology neurology general center \
         centre clinic clinics infirmary hospitals hospice institute school schools college academy \
         university associates pavilion system healthcare rehab pharmacy laboratory laboratories practice \
         manor va foundation polyclinic company corporation inc llc ltd sons group manufacturing home \
         facility living community",
    ),
    (Cue::InstitutionHead, "hospital hosp"),
    (
        Cue::InstitutionEs,
        "asociacion sociedad escuela academia ministerio consejeria clinica centro policlinico \
         policlinica ambulatorio instituto universidad fundacion complejo sanatorio residencia \
         consultorio facultad hospitalario colegio corporacio institut consorci universitat clinic",
    ),
    (
        Cue::Work,
        "works worked working work employed job career occupation trabaja trabajaba trabajado empleado \
         empleada profesion oficio",
    ),
    (Cue::Retired, "retired former jubilado jubilada exfuncionario"),
    (Cue::Employer, "employer"),
    (Cue::Sex, "varon nina nino hombre masculino femenino femenina"),
    (
        Cue::Family,
        "familia padres hermanas hijas cunado cunada tios primos gemelo",
    ),
    (
        Cue::Role,
        "pcp cardiologist physician surgeon oncologist neurologist psychiatrist therapist pediatrician \
         nephrologist urologist dermatologist gynecologist radiologist pathologist dentist pulmonologist \
         internist provider psychologist hepatologist rheumatologist ophthalmologist obstetrician \
         anesthesiologist cardiologo cirujano pediatra oncologo neurologo urologo enfermera enfermero \
         resident attending",
    ),
    (Cue::Article, "a an un una"),
];

/// The cue words, by their hash.
pub(super) struct Table(WordTable<Cue>);

impl Table {
    pub(super) fn new() -> Self {
        let pairs = CUES
            .iter()
            .flat_map(|&(cue, words)| words.split_ascii_whitespace().map(move |word| (word, cue)));
        // If a word occurs twice, the first entry counts.
        Self(WordTable::new(pairs, |first, _| first))
    }

    /// Returns the cue of a folded word.
    #[inline]
    pub(super) fn cue(&self, word: &str) -> Option<Cue> {
        self.0.get(word)
    }
}
