//! Forms of names that lists seldom have: an inner apostrophe, letters with diacritics, and surnames that are
//! words.

use super::whose;
use crate::chance::Chance;

/// The share of invented names with an inner apostrophe, and the share with diacritics.
const APOSTROPHE: f64 = 0.08;
const MARKED: f64 = 0.12;
/// The share of letters that get a diacritic in such a name, of those that can have one.
const EACH: f64 = 0.4;

/// Characters for the glottal stop, an ejective or a soft sign: typed, typographic, and the letter itself.
const APOSTROPHES: &[&str] = &["'", "'", "'", "’", "’", "ʻ", "ʼ"];

/// Letters with their variants with diacritics, from many orthographies.
const MARKS: &[(char, &str)] = &[
    ('a', "áàâäãåāăąạảấầæ"),
    ('c', "çćčċ"),
    ('d', "ďđḍð"),
    ('e', "éèêëēėęěẹếệ"),
    ('g', "ğģǧǥ"),
    ('h', "ħḥȟ"),
    ('i', "íìîïīįıịĩ"),
    ('k', "ķḳ"),
    ('l', "łľļḷ"),
    ('n', "ñńňņṇŋ"),
    ('o', "óòôöõøōőọơốồ"),
    ('r', "řŕṛ"),
    ('s', "śšşșṣß"),
    ('t', "ťțţṭ"),
    ('u', "úùûüūůűųụưứ"),
    ('y', "ýÿỳ"),
    ('z', "źżžẓ"),
];

/// Returns a name, sometimes with an inner apostrophe or with diacritics.
pub(super) fn shaped(name: String, chance: &mut Chance) -> String {
    let name = if chance.often(MARKED) {
        marked(&name, chance)
    } else {
        name
    };
    if chance.often(APOSTROPHE) {
        apostrophe(&name, chance)
    } else {
        name
    }
}

fn marked(name: &str, chance: &mut Chance) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for char in name.chars() {
        let marks = MARKS.iter().find(|(plain, _)| *plain == char);
        match marks.filter(|_| chance.often(EACH)) {
            Some((_, marks)) => {
                let marks: Vec<char> = marks.chars().collect();
                out.push(chance.pick(&marks).copied().unwrap_or(char));
            }
            None => out.push(char),
        }
    }
    out
}

/// Inserts one apostrophe after any letter but the last two.
fn apostrophe(name: &str, chance: &mut Chance) -> String {
    let chars: Vec<char> = name.chars().collect();
    let Some(places) = chars.len().checked_sub(2).filter(|places| *places > 0) else {
        return name.to_owned();
    };
    let at = 1 + chance.below(places);
    let (before, after) = chars.split_at(at);
    let mark = chance.word(APOSTROPHES);
    before.iter().collect::<String>() + mark + &after.iter().collect::<String>()
}

/// Surnames that are words, like translated surnames of Plains peoples, split between institutes like all
/// names.
#[derive(Default)]
pub(super) struct Telling {
    first: Vec<&'static str>,
    last: Vec<&'static str>,
}

impl Telling {
    pub(super) fn new(place: usize, of: usize) -> Self {
        let dealt = |words: &'static str| {
            words
                .split_whitespace()
                .filter(|word| whose(word, of) == place)
                .collect()
        };
        Self {
            first: dealt(FIRST),
            last: dealt(LAST),
        }
    }

    /// Returns a name of two words, such as "Red Elk".
    pub(super) fn name(&self, chance: &mut Chance) -> Option<String> {
        let first = chance.pick(&self.first)?;
        Some(format!("{first} {}", chance.pick(&self.last)?))
    }
}

const FIRST: &str = "Red Black White Yellow Blue Grey Spotted Running Standing Little Big Tall Long Old Two Three Many \
    Good Brave Iron Fast Swift Walking Sitting Lone High Broken Brings Medicine Sun Moon Eagle Bear Wolf Buffalo Holy First \
    Left Plenty Pretty Yellowstone Stands Walks Takes Comes Looks Sees Shot Owns Eats Afraid Poor Young Strikes Rides \
    Carries Hollow Painted Singing Dancing Sleeping Small Bright Cold Crooked Wooden Feather Elk Hawk Crow Bird";
const LAST: &str = "Horse Horses Bull Bulls Bear Elk Crow Hawk Eagle Wolf Deer Buffalo Cloud Feather Shield Bird Fox Owl \
    Turtle Hand Heart Face Shirt Robe Bow Arrow Boy Water Woman Star River Stone Tree Plume Lance Hoop Dog Rope Calf Tail \
    Elbow Leaf Moon Sun Sky Wind Rain Snow Lodge Pipe Drum Nose Eyes Feet Leggings Blanket Bone Antelope Magpie Badger Otter \
    Night Alone Far Fast First Behind Ahead Away";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_keep_every_letter_or_give_it_a_mark() {
        let mut chance = Chance::new(5, 0);
        let (mut plain, mut joined) = (0, 0);
        for _ in 0..2000 {
            let name = shaped("Marandel".to_owned(), &mut chance);
            let marks = name.chars().filter(|char| "'’ʻʼ".contains(*char)).count();
            assert!(marks <= 1 && name.chars().count() == 8 + marks, "{name}");
            assert!(name.starts_with('M'), "{name}");
            plain += usize::from(name == "Marandel");
            joined += marks;
        }
        assert!((1500..1800).contains(&plain), "{plain}");
        assert!((100..250).contains(&joined), "{joined}");
    }

    #[test]
    fn a_name_of_two_letters_takes_no_apostrophe() {
        assert_eq!(apostrophe("Li", &mut Chance::new(1, 0)), "Li");
    }

    #[test]
    fn every_institute_has_telling_surnames_of_its_own() {
        let of = crate::registry::INSTITUTES.len();
        let mut seen = std::collections::HashSet::new();
        for place in 0..of {
            let telling = Telling::new(place, of);
            assert!(telling.first.len() > 3 && telling.last.len() > 3, "{place}");
            assert!(
                telling
                    .first
                    .iter()
                    .collect::<std::collections::HashSet<_>>()
                    .iter()
                    .all(|word| seen.insert((*word).to_owned()))
            );
        }
    }
}
