//! The titles that a policy redacts with a name.

use std::collections::HashSet;
use std::sync::Arc;

use lethe_core::{Hipaa, IsTitle, LabelSet, Titles};
use lethe_dictionaries::Dictionary;

use crate::file::{Operation, PolicyFile};
use crate::note::plain;

/// The prefix of the names of the lists of titles, in any language.
const LISTS: &str = "titles-";

/// The entries of those lists that are no titles, for each language, as [`plain`] writes them. They say who somebody
/// is to the patient or what somebody did, which the reader of a note needs: without "brother", "brother [PATIENT]
/// has diabetes" would tell of the patient.
const KEPT: [&str; 4] = [
    // English
    "attending, brother, father, resident, sister",
    // Spanish
    "fdo, firmado, hermana, hermano, madre, padre",
    // German
    "befunder, betreuer, betreuerin, bruder, eheleute, ehepaar, einweiser, fam, familie, gez, \
     hausarzt, hausarztin, i a, i v, ia, iv, operateur, operateurin, pat, patient, patientin, patin, \
     pt, schwester, sekretarin, therapeut, therapeutin, unterfertigte, untersucher, untersucherin, \
     unterzeichner, zeuge, zeugin, zuweiser",
    // French
    "aide operatoire, bb, consorts, correspondant, correspondants, curateur, curatrice, demandeur, \
     destinataire, dicte par, ep, epouse, epoux, famille, frere, mandataire, medecin de garde, \
     medecin referent, medecin traitant, ne, nee, ne le, nee le, nom de jeune fille, nom de \
     naissance, nom dusage, nom usuel, nouveaune, patiente, po, pere, prescripteur, prescrit par, \
     pte, realise par, redige par, ref, relu par, signe, sœur, tuteur, tutrice, valide par, veuve, vu \
     par, vve",
];

/// Returns the extension of names over the titles before them, by the dictionary's lists. Surrogates are written
/// to agree with the title, and kept names stay as they are: both keep theirs.
pub(crate) fn titles(file: &PolicyFile, labels: &LabelSet, dictionary: &Arc<Dictionary>) -> Titles {
    let extends = labels.labels().iter().map(|label| {
        let keeps_title = matches!(
            file.operation_for(label),
            Operation::Surrogate { .. } | Operation::Keep {}
        );
        label.hipaa == Hipaa::Names && !keeps_title
    });
    Titles::new(extends.collect(), is_title(dictionary))
}

fn kept() -> impl Iterator<Item = &'static str> {
    KEPT.into_iter().flat_map(|language| language.split(", "))
}

fn is_title(dictionary: &Arc<Dictionary>) -> IsTitle {
    let dictionary = Arc::clone(dictionary);
    let lists = dictionary.lists_where(|list| list.id.starts_with(LISTS));
    let kept: HashSet<&str> = kept().collect();
    Arc::new(move |text| {
        dictionary.phrase(text).lists().intersects(lists) && !kept.contains(plain(text).as_str())
    })
}

#[cfg(test)]
mod tests {
    use lethe_dictionaries::{builtin_lists, compile, lists_of};

    use super::*;

    /// Returns the test of titles by the lists of all languages.
    fn of_all_languages() -> IsTitle {
        let lists = [builtin_lists(), lists_of("de"), lists_of("fr")];
        let lists: Vec<_> = lists.into_iter().flat_map(Result::unwrap).collect();
        let titles: Vec<_> = lists
            .into_iter()
            .filter(|list| list.id.starts_with(LISTS))
            .collect();
        is_title(&Arc::new(
            Dictionary::from_bytes(compile(&titles).unwrap()).unwrap(),
        ))
    }

    #[test]
    fn titles_and_forms_of_address_of_every_language_are_titles() {
        let is_title = of_all_languages();
        for title in [
            "Dr",
            "Dr.",
            "DR",
            "Mrs",
            "Prof. Dr. med",
            "Herr",
            "Frau",
            "Univ.-Prof",
            "Sra",
            "Dña",
            "M",
            "Mme",
            "Madame le Docteur",
            "Nurse",
        ] {
            assert!(is_title(title), "{title}");
        }
    }

    #[test]
    fn relatives_and_words_of_the_form_are_no_titles() {
        let is_title = of_all_languages();
        for word in [
            "brother",
            "Sœur",
            "Patient",
            "gez",
            "i. A",
            "né le",
            "Dicté par",
            "Hausärztin",
            "saw",
            "",
        ] {
            assert!(!is_title(word), "{word}");
        }
    }

    #[test]
    fn every_kept_entry_is_in_a_list() {
        let lists = [builtin_lists(), lists_of("de"), lists_of("fr")];
        let lists: Vec<_> = lists.into_iter().flat_map(Result::unwrap).collect();
        let entries: HashSet<String> = lists
            .iter()
            .filter(|list| list.id.starts_with(LISTS))
            .flat_map(|list| lethe_dictionaries::items(&list.id).lines().map(plain))
            .collect();
        for kept in kept() {
            assert!(entries.contains(kept), "{kept}");
        }
    }
}
