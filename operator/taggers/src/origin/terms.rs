//! The words for an origin: nationalities, ethnic groups, religions and languages.
//!
//! They come from four of the built-in lists and from this file, which has what those lack. They are compiled into
//! the member and not into the dictionary, whose digest models and bundles depend on.

use lethe_core::NoteBatch;
use lethe_dictionaries::items;

use crate::lexicon::WordMap;
use crate::words::{Case, Words};

/// What a term is, as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind(u16);

impl Kind {
    /// A nationality or an ethnic group.
    pub(super) const PEOPLE: Self = Self(1);
    /// A religion, or one who has it.
    pub(super) const FAITH: Self = Self(1 << 1);
    /// A language.
    pub(super) const LANGUAGE: Self = Self(1 << 2);
    /// A colour, which is an ethnic group next to a person only.
    pub(super) const COLOUR: Self = Self(1 << 3);
    /// A Spanish word, which follows its noun and is in lower case.
    pub(super) const SPANISH: Self = Self(1 << 4);
    /// About a person wherever it stands.
    pub(super) const CERTAIN: Self = Self(1 << 5);
    /// Another word if it is in lower case: "polish".
    pub(super) const CAPITAL: Self = Self(1 << 6);
    /// A country, which counts in "a United Kingdom national" only.
    pub(super) const COUNTRY: Self = Self(1 << 7);

    /// A word for a person.
    pub(super) const PERSONAL: Self = Self(0b1011);
    /// A word for a person, but no colour.
    pub(super) const NAMED: Self = Self(0b11);
    /// All kinds.
    pub(super) const ANY: Self = Self(0b1_1111);

    /// Returns whether it has one of these bits.
    pub(super) const fn any(self, kinds: Self) -> bool {
        self.0 & kinds.0 != 0
    }

    /// Returns both sets together.
    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the kind of a group that this term and the next make: a colour before a nationality is one.
    pub(super) const fn joined(self, next: Self) -> Self {
        let all = self.with(next);
        if all.any(Self::NAMED) {
            Self(all.0 & !Self::COLOUR.0)
        } else {
            all
        }
    }
}

/// The lists that are read, with the kind of their entries.
const LISTS: &[(&str, Kind)] = &[
    ("demonyms-en", Kind::PEOPLE),
    ("demonyms-es", Kind::SPANISH),
    ("languages", Kind::LANGUAGE),
    ("ethnic-groups", Kind::PEOPLE),
    ("countries-en", Kind::COUNTRY.with(Kind::CAPITAL)),
];

/// Entries that have the word before them, which is no part of the span.
const ANNOUNCED: &[&str] = &["etnia", "raza"];

/// Terms that the lists lack or do not tell apart, separated by semicolons.
const OWN: &[(Kind, &str)] = &[
    (
        Kind::FAITH,
        "Muslim;Moslem;Sunni;Shia;Shiite;Ismaili;Ahmadi;Alevi;Sufi;Islamic;Christian;Catholic;Roman Catholic;Greek \
         Orthodox;Russian Orthodox;Serbian Orthodox;Orthodox Christian;Eastern Orthodox;Coptic;Copt;Protestant;\
         Evangelical;Pentecostal;Baptist;Methodist;Lutheran;Anglican;Episcopalian;Presbyterian;Mormon;Quaker;\
         Mennonite;Amish;Calvinist;Adventist;Seventh-day Adventist;Seventh Day Adventist;Christian Scientist;\
         Unitarian;Jewish;Jew;Orthodox Jewish;Orthodox Jew;Hasidic;Haredi;Ashkenazi;Sephardic;Hindu;Sikh;Jain;\
         Buddhist;Taoist;Shinto;Zoroastrian;Parsi;Druze;Yazidi;Yezidi;Baha'i;Bahai;Rastafarian;Wiccan;Atheist;\
         Agnostic;Scientologist;Islam;Judaism;Hinduism;Buddhism;Christianity;Catholicism;Sikhism;Jainism;Wicca;\
         católico;católica;cristiano;cristiana;evangélico;evangélica;protestante;musulmán;musulmana;judío;judía;\
         budista;ateo;atea;agnóstico;agnóstica;mormón;mormona;adventista;pentecostal;islámico;islámica;sij;islam;\
         judaísmo;catolicismo;cristianismo;budismo;hinduismo;cristiano evangélico;cristiana evangélica;ortodoxo;\
         ortodoxa",
    ),
    (
        Kind::FAITH.with(Kind::CERTAIN),
        "Jehovah's Witness;Jehovah's Witnesses;Jehovah Witness;Jehovahs Witness;Latter-day Saint;Latter Day Saint;\
         testigo de Jehová;testigos de Jehová",
    ),
    (Kind::COLOUR, "white;black;negra;negro;blanca;blanco"),
    (
        Kind::PEOPLE,
        "Abkhaz;Aboriginal;Afro-Colombian;Amazigh;Amhara;Arabic;Assyrian;Aymara;Azeri;Baloch;Basque;Beninese;Berber;\
         Bhutanese;Bosniak;Botswanan;Briton;Burkinabe;Burundian;Cajun;Catalan;Chadian;Chaldean;Chechen;Chicana;\
         Chicano;Comorian;Crimean Tatar;Czechoslovak;Djiboutian;East African;East Asian;Eastern European;Emirati;\
         Englishman;Englishwoman;Equatorial Guinean;First Nations;Flemish;Frenchman;Frenchwoman;Fulani;Gabonese;\
         Galician;Garifuna;Grenadian;Gujarati;Gypsy;Hausa;Hazara;Hispanic American;Hispanic or Latino;\
         Hispanic/Latino;Hutu;Igbo;Ingush;Irish Traveller;Irishman;Irishwoman;Karenni;Kashmiri;Khmer;Kikuyu;\
         Kosovan;Kosovar;Kurd;Latin American;Luxembourger;Malay;Maldivian;Maori;Mapuche;Mayan;Mediterranean;Metis;\
         Micronesian;Middle Eastern;Native American;New Zealander;Nigerien;North African;North Korean;\
         Northern European;Northern Irish;Oromo;Ossetian;Pacific Islander;Papuan;Pashtun;Pathan;Punjabi;Rohingya;\
         Romani;Romany;Sahrawi;Scotsman;Scotswoman;Serb;Seychellois;Sindhi;Sinhalese;Sinti;Slav;Slavic;Slovene;\
         Somalian;South American;South Asian;Southeast Asian;Spaniard;Surinamese;Swazi;Swede;Tajik;Tamil;Tatar;\
         Tigrayan;Timorese;Torres Strait Islander;Tuareg;Tutsi;Uighur;Uyghur;Welshman;West African;West Indian;\
         Western European;Xhosa;Yoruba;Yugoslav;Zulu;biracial;multiracial;mixed race;mixed-race;non-Hispanic;\
         Not Hispanic or Latino;not Hispanic;Black or African American;Asian or Pacific Islander;Anglo;Levantine",
    ),
    (
        Kind::SPANISH,
        "gitano;gitana;caucasiano;caucasiana;negroide;mongoloide;oriental;magrebí;paquistaní;latino;latina;mestizo;mestiza;indígena;mulato;mulata;hispano;hispana;caucásico;\
         caucásica;subsahariano;subsahariana;bereber;quechua;aimara;mapuche;keniana;bangladeshí;afgano;sirio;\
         saharaui;payo;paya;latinoamericano;latinoamericana;centroamericano;centroamericana;tibetano;tibetana;\
         birmano;birmana;camboyano;camboyana;malgache;ruandés;ruandesa;sudanés;sudanesa;tanzano;tanzana;ugandés;\
         ugandesa;azerbaiyano;azerbaiyana;kurda;kazaja;uzbeka;macedonio;macedonia;montenegrino;montenegrina;\
         kosovar;chipriota;maltés;maltesa;luxemburguesa;neozelandesa;madrileño;barcelonesa;riojana;manchega",
    ),
    (
        Kind::LANGUAGE,
        "Sign Language;BSL;British Sign Language;Cape Verdean Creole;Mixtec;Mixteco;Nahuatl;K'iche';Mam;Zapotec;\
         Guarani;Aymara;Berber;Sorani;Kurmanji;Azeri;Azerbaijani;Kazakh;Kyrgyz;Tajik;Turkmen;Uyghur;Belarusian;\
         Sindhi;Bhojpuri;Sylheti;Odia;Assamese;Hakka;Hokkien;Toisanese;Taishanese;Shanghainese;Fukienese;Hmong;\
         Mien;Chuukese;Marshallese;Fijian;Maori;Luganda;Acholi;Dinka;Nuer;Fulani;Bambara;Mandinka;Krio;Basque;\
         lengua de signos;rifeño;guaraní;aimara;vasco;catalana;inglesa;francesa;árabe clásico;urdú;hindi;chino \
         mandarín;mandarín",
    ),
    (Kind::COUNTRY.with(Kind::CAPITAL), "UK;US;USA;EU"),
    (
        Kind::CAPITAL,
        "Polish;Roma;Karen;Latin;Fula;Lao;Mam;Mien;Sami;Maya;Gypsy;Twi;Dutch;Swede;Turk;Slav;Serb",
    ),
    (Kind::PEOPLE.with(Kind::CAPITAL), "Turk;Sami;Maya;Traveller"),
];

/// A term by the tokens behind its first one.
struct Term {
    rest: Vec<String>,
    kind: Kind,
}

/// All terms, by their first token.
pub(super) struct Terms(WordMap<String, Vec<Term>>);

impl Terms {
    pub(super) fn new() -> Self {
        let listed = LISTS.iter().flat_map(|&(list, kind)| {
            let entries = items(list).lines().filter(|line| !line.starts_with('#'));
            entries.map(move |entry| (entry, kind))
        });
        let own = OWN
            .iter()
            .flat_map(|&(kind, terms)| terms.split(';').map(move |term| (term, kind)));
        let (texts, kinds): (Vec<&str>, Vec<Kind>) = listed.chain(own).unzip();
        let batch = NoteBatch::from_texts(texts).expect("the lists fit a batch");
        let mut terms: WordMap<String, Vec<Term>> = WordMap::default();
        for (note, kind) in batch.notes().zip(kinds) {
            let words = Words::new(note);
            let mut tokens = (0..words.len()).map(|i| words.get(i).to_owned());
            let Some(first) = tokens.next() else { continue };
            let rest: Vec<String> = tokens.collect();
            if ANNOUNCED.contains(&first.as_str()) {
                continue;
            }
            let same = terms.entry(first).or_default();
            match same.iter_mut().find(|term| term.rest == rest) {
                Some(term) => term.kind = term.kind.with(kind),
                None => same.push(Term { rest, kind }),
            }
        }
        for same in terms.values_mut() {
            same.sort_by_key(|term| std::cmp::Reverse(term.rest.len()));
            for term in same {
                // The lists have colours among ethnic groups.
                if term.kind.any(Kind::COLOUR) {
                    term.kind = Kind::COLOUR;
                }
            }
        }
        Self(terms)
    }

    /// Returns the last token and the kind of the longest term that begins at token `i`.
    pub(super) fn at(&self, words: &Words<'_>, i: usize) -> Option<(usize, Kind)> {
        if !words.case(i).is_word() {
            return None;
        }
        let begun = self.0.get(words.get(i))?;
        let fits = |term: &&Term| {
            let behind = term.rest.iter().zip(i + 1..);
            let lower = term.kind.any(Kind::CAPITAL) && words.case(i) == Case::Lower;
            !lower && behind.into_iter().all(|(word, at)| self::same(words, at, word))
        };
        let term = begun.iter().find(fits)?;
        Some((i + term.rest.len(), term.kind))
    }
}

/// Returns whether a token is this word, with either apostrophe.
fn same(words: &Words<'_>, i: usize, word: &str) -> bool {
    words.breaks_after(i - 1) < 2 && (words.get(i) == word || word == "'" && words.byte(i) == b'\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest(text: &str) -> Option<(usize, Kind)> {
        let batch = NoteBatch::from_texts([text]).unwrap();
        Terms::new().at(&Words::new(batch.note(0)), 0)
    }

    #[test]
    fn the_longest_term_counts_and_colours_are_no_peoples() {
        assert_eq!(longest("African American woman").map(|(last, _)| last), Some(1));
        assert_eq!(longest("Jehovah\u{2019}s Witness").map(|(last, _)| last), Some(3));
        assert_eq!(longest("White blood").map(|(_, kind)| kind), Some(Kind::COLOUR));
        assert_eq!(longest("polish remover"), None);
        assert!(longest("Polish citizen").is_some());
        assert_eq!(longest("raza negra"), None);
    }

    #[test]
    fn no_term_occurs_twice_in_one_table() {
        for (_, terms) in OWN {
            let mut seen = std::collections::HashSet::new();
            let twice: Vec<_> = terms.split(';').filter(|term| !seen.insert(*term)).collect();
            assert!(twice.is_empty(), "{twice:?}");
        }
    }
}
