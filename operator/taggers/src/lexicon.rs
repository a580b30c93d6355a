//! Words for rules that are in no list of the dictionary: particles, verbs, nouns after eponyms.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The properties of a word for rules, as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u16);

impl Flags {
    /// A word that ends a name in any case: headings, verbs and fields that are surnames too.
    pub(crate) const STOP: Self = Self(1);
    /// A word inside names: "de la", "van".
    pub(crate) const PARTICLE: Self = Self(1 << 1);
    /// A word after an eponym: "Foley catheter", "Kocher clamps".
    pub(crate) const EPONYM_NOUN: Self = Self(1 << 2);
    /// A verb whose agent is a person: "dictated by", "discussed with".
    pub(crate) const PERSON_VERB: Self = Self(1 << 3);
    /// A word in institutions' names besides the proper part.
    pub(crate) const GENERIC: Self = Self(1 << 4);
    /// Articles, pronouns, prepositions, conjunctions, auxiliaries: words that end a noun phrase.
    pub(crate) const FUNCTION: Self = Self(1 << 5);
    /// Words of sentences and forms that occur in no institution's name.
    pub(crate) const OUTSIDE: Self = Self(1 << 6);
    /// A word that ends the name of a profession.
    pub(crate) const PHRASE_END: Self = Self(1 << 7);
    /// A word before a profession that describes the person.
    pub(crate) const PERSON_WORD: Self = Self(1 << 8);
    /// A word of the lists of professions that usually has another meaning in a note about a patient.
    pub(crate) const NO_PROFESSION: Self = Self(1 << 9);
    /// The last word of occupations with freely formed names: "exhibitions officer".
    pub(crate) const OCCUPATION: Self = Self(1 << 10);
    /// Not looked up yet.
    pub(crate) const UNREAD: Self = Self(1 << 15);

    /// Returns whether one of `others` is among them.
    pub(crate) const fn any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

impl std::ops::BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Words by their properties, separated by blanks.
const WORDS: &[(Flags, &str)] = &[
    (
        Flags::STOP,
        "doctor correo seccion departament departamento avda avenida calle paseo plaza mail tfno tlf \
         tlfno unidad jefe centro clinica instituto facultad universidad edificio planta md pa rn np lpn \
         col cap telf fundacion complejo area apartado carretera ctra colegio the he she his her hers \
         they we it this that these patient pt and or in on at to of for from with by was is has had will \
         are were be an as no not note date dob mrn age sex male female phone tel fax pager ext cell \
         history exam diagnosis procedure hospital clinic center department dept unit room ward floor \
         service office street address email id ssn npi dea acct account attending admit admission \
         discharge dictated signed cc re el los las paciente nhc cp edad sexo fecha servicio domicilio \
         medico telefono",
    ),
    (
        Flags::PARTICLE,
        "de del della di da do dos das du la las los le el al bin ibn van von der den ter ten y i san",
    ),
    (
        Flags::EPONYM_NOUN,
        "catheter catheters clamp clamps retractor retractors forceps drain drains stitch suture sutures \
         approach incision score scale classification disease syndrome sign test tube needle wire \
         elevator scissors speculum position repair criteria formula fracture lesion cells type stain \
         technique method maneuver procedure fascia ligament muscle canal phenomenon reflex contracture \
         esophagus lymphoma tumor sarcoma hernia cyst node valve shunt prosthesis implant screw plate rod \
         tenaculum curette cannula",
    ),
    (
        Flags::PERSON_VERB,
        "seen examined discussed spoke spoken dictated signed cosigned reviewed performed evaluated \
         evaluation requested ordered referred consulted consult consultation followed managed admitted \
         assisted authored transcribed read interpreted verified approved attended staffed treated called \
         done appointment followup up visit talked remitido firmado",
    ),
    (
        Flags::GENERIC,
        "bank foods trucking motors airlines insurance industries construction stores market logistics \
         electric manufacturing group company department church skilled facility retirement assisted \
         living manor medical health healthcare community general county memorial regional children \
         childrens surgery surgical center centre hospital clinic university college school schools \
         public elementary high middle city state national veterans affairs va rehabilitation rehab care \
         family practice medicine cancer heart eye orthopedic orthopedics pediatric women womens district \
         central north south east west northern southern eastern western valley institute system services \
         associates primary outpatient urgent emergency nursing home mental behavioral psychiatric \
         physicians dental dialysis imaging laboratory specialty teaching infirmary hospice pharmacy the \
         saint st mount fort",
    ),
    (
        Flags::FUNCTION,
        "on in at and who for to from of was is were are as with but this that today yesterday or will \
         would has had have after before during re regarding about prior when while then per by since \
         until said says states stated also did does not no may can could should if so because than he \
         she they we his her their our its it the a an under over into onto through without within \
         between among against upon via y en el la los las de del por con que se fue es un una al su para \
         como sin sobre desde hasta cuando donde came went called paged agrees agree notes denies reports \
         presents comes lives works here there back home again alone together tonight tomorrow both each \
         all any some other same",
    ),
    (
        Flags::OUTSIDE,
        "patient pt dr mr mrs ms md please employer notified discharged transferred admitted seen \
         location name date i presented referring referred service attending signed work works dictated \
         servicio unidad departamento seccion avda avenida calle paseo plaza ctra carretera tel tfno \
         email correo jefe medico doctora remitido camino ronda apartado",
    ),
    (
        Flags::PHRASE_END,
        "needed well above described one two three several many at for in from with who and until on but \
         by since when where which that whose to or as part full is was has had he she currently before \
         after because en y con desde que por para hasta a an the this due seen originally now then there \
         while during without his her aunque pero e",
    ),
    (
        Flags::PERSON_WORD,
        "white black caucasian hispanic asian african american male female man woman right left handed \
         married single divorced widowed pleasant healthy former very current self young elderly lady \
         gentleman disabled unemployed",
    ),
    (
        Flags::NO_PROFESSION,
        "historian patient smoker drinker guide model host page runner carrier mother father",
    ),
    (
        Flags::OCCUPATION,
        "exhibitions officer home health aide officer adviser advisor aide worker attendant examiner \
         planner manager developer engineer technician assistant operator driver teacher nurse scientist \
         therapist analyst designer clerk representative consultant director supervisor coordinator \
         administrator researcher inspector instructor trainer editor producer broker surveyor geneticist \
         hygienist cook mechanic salesman saleswoman foreman specialist executive accountant cleaner \
         maker musician student professor lecturer controller superintendent contractor installer buyer",
    ),
];

/// A map from short words with a cheap hash. Its keys are fixed, so nobody can choose them to collide.
pub(crate) type WordMap<K, V> = HashMap<K, V, BuildHasherDefault<WordHasher>>;

/// Words and their meanings, with a filter that rejects most other words without hashing them.
pub(crate) struct WordTable<V> {
    values: WordMap<&'static str, V>,
    /// For each first letter, by its low five bits, the lengths of the words that begin with it.
    lengths: [u32; 32],
}

impl<V: Copy> WordTable<V> {
    /// Creates a table of words of at most 31 bytes; `merge` combines the values of a word that occurs twice.
    pub(crate) fn new(pairs: impl Iterator<Item = (&'static str, V)>, merge: impl Fn(V, V) -> V) -> Self {
        let mut table = Self {
            values: WordMap::default(),
            lengths: [0; 32],
        };
        for (word, value) in pairs {
            table.lengths[first_letter(word)] |= 1 << word.len().min(31);
            table
                .values
                .entry(word)
                .and_modify(|old| *old = merge(*old, value))
                .or_insert(value);
        }
        table
    }

    /// Returns the meaning of a folded word.
    #[inline]
    pub(crate) fn get(&self, word: &str) -> Option<V> {
        if self.lengths[first_letter(word)] >> word.len().min(31) & 1 == 0 {
            return None;
        }
        self.values.get(word).copied()
    }
}

fn first_letter(word: &str) -> usize {
    usize::from(word.as_bytes().first().copied().unwrap_or(0) & 31)
}

/// The words of this file.
pub(crate) struct Lexicon(WordTable<Flags>);

impl Lexicon {
    pub(crate) fn new() -> Self {
        let pairs = WORDS
            .iter()
            .flat_map(|&(flags, words)| words.split_ascii_whitespace().map(move |word| (word, flags)));
        Self(WordTable::new(pairs, |a, b| a | b))
    }

    /// Returns the flags of a folded word.
    #[inline]
    pub(crate) fn flags(&self, word: &str) -> Flags {
        self.0.get(word).unwrap_or_default()
    }
}

/// A multiplicative hash over eight bytes at a time; the last eight may overlap the previous ones.
#[derive(Default)]
pub(crate) struct WordHasher(u64);

impl WordHasher {
    #[inline]
    const fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for WordHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(&first), Some(&last)) => {
                if bytes.len() > 16 {
                    for &chunk in bytes[8..].as_chunks().0 {
                        self.mix(u64::from_le_bytes(chunk));
                    }
                }
                self.mix(u64::from_le_bytes(first));
                self.mix(u64::from_le_bytes(last) ^ length << 56);
            }
            _ => {
                let (low, high) = match (bytes.first_chunk(), bytes.last_chunk()) {
                    (Some(&first), Some(&last)) => (u32::from_le_bytes(first), u32::from_le_bytes(last)),
                    _ => match *bytes {
                        [] => (0, 0),
                        [one] => (one.into(), 0),
                        [one, two] => (one.into(), two.into()),
                        [one, two, ..] => (
                            u32::from_le_bytes([one, two, 0, 0]),
                            bytes.last().copied().unwrap_or(0).into(),
                        ),
                    },
                };
                self.mix(u64::from(low) | u64::from(high) << 32 ^ length << 56);
            }
        }
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.0 ^= u64::from(byte);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_flags_of_every_table_it_stands_in() {
        let lexicon = Lexicon::new();
        assert!(lexicon.flags("hospital").any(Flags::STOP) && lexicon.flags("hospital").any(Flags::GENERIC));
        assert_eq!(lexicon.flags("zebra"), Flags::default());
    }
}
