//! Words that name nobody, according to the lists: the words allowed in a code's display that is left
//! unredacted.

use std::sync::Arc;

use lethe_core::{Exemption, StructuralKind};

use crate::dictionary::Dictionary;
use crate::list::{ListId, ListSet};
use crate::source::Role;

/// Maximum frequency, per hundred thousand people, of a surname that is also in a published heading ("Route",
/// "Range").
const RARE: u32 = 20;
/// The same for a word of a display, which anybody may have typed.
const RAREST: u32 = 3;
/// The first size class of words (SCOWL).
const COMMONEST: u32 = 10;
/// The last size class of common words (SCOWL): a display may have a rare surname that is one of these
/// ("pain", "heart").
const COMMON: u32 = 20;
/// The same for words that are hardly ever surnames ("serum").
const USUAL: u32 = 35;

/// The lists for single words.
struct Lists {
    dictionary: Arc<Dictionary>,
    given: ListSet,
    surnames: Vec<ListId>,
    /// Titles and particles, which announce a name.
    announce: ListSet,
    places: ListSet,
    english: Vec<ListId>,
    words: ListSet,
}

impl Lists {
    fn new(dictionary: &Arc<Dictionary>) -> Self {
        let ids = |set: ListSet| set.iter().collect();
        let named = |part: &str| dictionary.lists_where(|list| list.id.contains(part));
        let people = |label: &str| label == "PATIENT" || label == "DOCTOR";
        Self {
            given: named("given-names"),
            surnames: ids(
                dictionary.lists_where(|list| people(&list.label) && !list.id.contains("given-names"))
            ),
            announce: named("titles") | named("name-particles") | named("name-suffixes"),
            places: dictionary.lists_where(|list| list.label == "CITY" || list.label == "STATE"),
            english: ids(named("english-words")),
            words: dictionary.role(Role::Exception) | named("drugs"),
            dictionary: Arc::clone(dictionary),
        }
    }

    fn is_ordinary(&self, word: &str, kind: StructuralKind) -> bool {
        // Single letters are units and types ("type B"); initials stand next to names, which are not ordinary
        // words.
        if word.chars().count() < 2 {
            return true;
        }
        let entry = self.dictionary.word(word);
        let lists = entry.lists();
        let class = self
            .english
            .iter()
            .filter_map(|list| entry.frequency(*list))
            .min();
        // "in" and "or" are given names in some languages, with a capital.
        if word.len() == 2 && class == Some(COMMONEST) && word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return true;
        }
        if lists.intersects(self.given) {
            return false;
        }
        let share = |list: &ListId| entry.frequency(*list).unwrap_or(u32::MAX);
        if kind == StructuralKind::Published {
            // Other lists of surnames have no numbers: a word of the first class counts as a word ("date").
            let elsewhere = if class == Some(COMMONEST) { 0 } else { u32::MAX };
            let mut borne = self.surnames.iter().filter(|list| lists.contains(**list));
            return borne.all(|list| entry.frequency(*list).unwrap_or(elsewhere) <= RARE);
        }
        let most = match class {
            Some(class) if class <= COMMON => RAREST,
            Some(class) if class <= USUAL => 1,
            _ => 0,
        };
        // A rare word that is also a name or a place counts as one of those.
        let is_usual = class.is_some_and(|class| class <= USUAL);
        let mut borne = self.surnames.iter().filter(|list| lists.contains(**list));
        lists.intersects(self.words)
            && !lists.intersects(self.announce)
            && (is_usual || !lists.intersects(self.places))
            && borne.all(|list| is_usual && share(list) <= most)
    }
}

/// Returns the exemption by these lists.
///
/// A published heading passes unless one of its words is a given name or a surname that is not rare. A
/// display, which the sender wrote, passes if all of its words are in lists of ordinary, clinical or drug
/// words, and none is a name, a place or a title.
pub fn exemption(dictionary: &Arc<Dictionary>) -> Exemption {
    let lists = Lists::new(dictionary);
    Exemption::new(Arc::new(move |word, kind| lists.is_ordinary(word, kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(text: &str, kind: StructuralKind) -> bool {
        let lists = Lists::new(&Dictionary::builtin());
        text.split(' ').all(|word| lists.is_ordinary(word, kind))
    }

    #[test]
    fn displays_of_ordinary_words_pass_and_those_that_may_hold_a_name_do_not() {
        for display in [
            "Systolic blood pressure",
            "Heart rate",
            "Wound care",
            "Myocardial infarction",
            "lisinopril",
            "Tobacco smoking status",
            "Cough",
            "Hemoglobin in Blood",
        ] {
            assert!(passes(display, StructuralKind::Display), "{display}");
        }
        for display in [
            "Letter to Mrs Okafor",
            "Quillfeather",
            "Grace Hope",
            "Will Grant",
            "Nurse Gray",
            "Discussed with Voss",
            "Rose",
            "Ward Boston",
        ] {
            assert!(!passes(display, StructuralKind::Display), "{display}");
        }
    }

    #[test]
    fn published_headings_pass_unless_they_are_names_of_people() {
        for heading in [
            "Reference Range",
            "Birth Date",
            "Marital Status",
            "Route",
            "Patient",
        ] {
            assert!(passes(heading, StructuralKind::Published), "{heading}");
        }
        for name in ["Max", "Page", "Green", "Watson"] {
            assert!(!passes(name, StructuralKind::Published), "{name}");
        }
    }
}
