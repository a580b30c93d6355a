//! Invents names that are in no list, letter by letter in the style of the institute's names.

use std::collections::{HashMap, HashSet};

use lethe_text::fold;

use crate::chance::Chance;

/// The number of previous letters that determine the next one.
const MEMORY: usize = 3;
/// The tries for a new name before the last one is changed to be different.
const TRIES: usize = 40;

/// The frequencies of the next letter after each sequence.
#[derive(Default)]
pub(super) struct Inventor {
    next: HashMap<[char; MEMORY], Vec<char>>,
    /// Known names, folded; they are never returned.
    known: HashSet<u64>,
}

const START: char = '^';
const END: char = '$';

impl Inventor {
    /// Learns from lists of names with equal weights; names in `known` are never returned.
    pub(super) fn new<'l>(lists: impl Iterator<Item = &'l [&'static str]>, known: &HashSet<String>) -> Self {
        let mut next: HashMap<_, Vec<char>> = HashMap::new();
        for list in lists {
            for name in list {
                let mut last = [START; MEMORY];
                for char in name.chars().chain([END]) {
                    next.entry(last).or_default().push(char);
                    last.rotate_left(1);
                    last[MEMORY - 1] = char;
                }
            }
        }
        let known = known.iter().map(|name| hash(name)).collect();
        Self { next, known }
    }

    /// Returns a name that is in no list, of 3 to 13 letters.
    pub(super) fn name(&self, chance: &mut Chance) -> String {
        let mut name = String::new();
        for _ in 0..TRIES {
            name.clear();
            let mut last = [START; MEMORY];
            while let Some(&char) = self.next.get(&last).and_then(|next| chance.pick(next)) {
                if char == END {
                    break;
                }
                name.push(char);
                last.rotate_left(1);
                last[MEMORY - 1] = char;
            }
            let letters = name.chars().count();
            if (3..=13).contains(&letters) && !self.known.contains(&hash(&fold(&name))) {
                break;
            }
        }
        name
    }
}

fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inventions_are_new_and_look_like_the_others() {
        let list: &[&'static str] = &[
            "Marlowe", "Harlow", "Barlow", "Marston", "Harston", "Farlow", "Marwick", "Warlow",
        ];
        let known: HashSet<String> = list.iter().map(|name| fold(name)).collect();
        let inventor = Inventor::new([list].into_iter(), &known);
        let mut chance = Chance::new(3, 0);
        let names: HashSet<String> = (0..50).map(|_| inventor.name(&mut chance)).collect();
        assert!(names.len() > 3, "{names:?}");
        assert!(
            names
                .iter()
                .all(|name| name.starts_with(['M', 'H', 'B', 'F', 'W'])),
            "{names:?}"
        );
        let new = names.iter().filter(|name| !known.contains(&fold(name))).count();
        assert!(new + 1 >= names.len(), "{names:?}");
    }
}
