//! Names that hide in plain sight: replaced part by part, so that all mentions of a person stay consistent.
//!
//! "Smith", "Mr Smith", "SMITH, JOHN", "J. Smith" and "Dr. J. A. Smith-Jones" share parts, and each part has
//! one surrogate per patient, in every note and position. Initials agree because a keyed permutation of
//! letters determines the first letter of every surrogate: John becomes some name with the letter that J
//! becomes.

mod handles;
mod mention;
mod misspell;
mod nicknames;
mod pools;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use lethe_dictionaries::{Dictionary, UnknownList};
use lethe_text::fold;

use self::mention::{Cues, Sort, Word};
use self::misspell::{misspelt, slip};
pub use self::nicknames::NICKNAMES;
use self::pools::{Class, Culture, LETTERS, Name, Pools, Role};
use crate::draw::{Draw, Stream};
use crate::{About, KnownNames, Language};
use lethe_text::Case;

/// How often a surrogate that reveals its original is drawn again from a bucket before a wider one is used.
const TRIES: usize = 24;

/// Surrogates of people's names.
pub(crate) struct Names {
    dictionary: Arc<Dictionary>,
    pools: Pools,
    cues: Cues,
    /// Nicknames by folded given name.
    nicknames: HashMap<&'static str, Vec<&'static str>>,
}

/// The replacement of each first letter, for a patient.
pub(crate) struct Letters([u8; 26]);

impl Letters {
    pub(crate) fn of(draw: &dyn Draw) -> Self {
        let mut stream = Stream::of(draw, &[b"name", b"letters"]);
        // One cycle over all letters (Sattolo 1986), so that none becomes itself.
        let mut to = *LETTERS;
        for i in (1..to.len()).rev() {
            to.swap(i, stream.below(i));
        }
        let mut all = [0; 26];
        for (from, to) in LETTERS.iter().zip(to) {
            all[usize::from(from - b'a')] = to;
        }
        // Too few names begin with K, Q, U, W, X, Y, Z: instead of these, letters are used twice.
        for slot in &mut all {
            if *slot == 0 {
                *slot = LETTERS[stream.below(LETTERS.len())];
            }
        }
        Self(all)
    }

    /// Returns the replacement of the first letter of a folded word.
    fn get(&self, folded: &str) -> u8 {
        let place = match folded.chars().next() {
            Some(c @ 'a'..='z') => c as usize - 'a' as usize,
            // Characters of other scripts each have a letter.
            Some(c) => c as usize % 26,
            None => 0,
        };
        self.0[place]
    }
}

impl Names {
    /// # Errors
    /// [`UnknownList`] if the dictionary lacks a list of names or titles.
    pub(crate) fn new(dictionary: Arc<Dictionary>) -> Result<Self, UnknownList> {
        let cues = Cues::new(&dictionary)?;
        let mut nicknames: HashMap<&str, Vec<&str>> = HashMap::new();
        for &(nickname, names) in nicknames::NICKNAMES {
            for &name in names {
                nicknames.entry(name).or_default().push(nickname);
            }
        }
        let pools = Pools::new(&dictionary, |name| nicknames.contains_key(name))?;
        Ok(Self {
            dictionary,
            pools,
            cues,
            nicknames,
        })
    }

    /// Returns the surrogate of a mention; `None` if it has no name.
    pub(crate) fn surrogate(&self, text: &str, about: &About<'_>, draw: &dyn Draw) -> Option<String> {
        let listed = |word: &str| self.pools.class(&self.dictionary, word).is_some();
        let words = self.cues.words(&self.dictionary, text, listed);
        if words.is_empty() {
            return None;
        }
        let letters = Letters::of(draw);
        let mut out = String::with_capacity(text.len() + 16);
        let mut at = 0;
        for word in &words {
            out.push_str(text.get(at..word.span.start())?);
            let written = word.span.get(text)?;
            match word.sort {
                Sort::Kept => out.push_str(written),
                Sort::Initials => initials(written, &letters, &mut out),
                Sort::Digits => crate::layout::digits(written, draw, &mut out),
                Sort::Part => self.part(word, written, about, &letters, draw, &mut out)?,
            }
            at = word.span.end();
        }
        out.push_str(text.get(at..)?);
        Some(out)
    }

    /// Returns the surrogate of one folded name in lower case, for user names and addresses.
    pub(crate) fn folded(
        &self,
        word: &str,
        about: &About<'_>,
        draw: &dyn Draw,
        letters: &Letters,
    ) -> Option<String> {
        self.replaced(word, about, letters, draw)
            .map(|shown| fold(&shown))
    }

    /// Returns a family name to replace a street's.
    pub(crate) fn of_street(&self, text: &str, spanish: bool, draw: &dyn Draw) -> Option<String> {
        let folded = fold(text);
        let own: Vec<&str> = folded.split(|c: char| !c.is_alphanumeric()).collect();
        let culture = if spanish {
            Culture::Spanish
        } else {
            Culture::English
        };
        let role = Role::Family;
        let mut stream = Stream::of(draw, &[b"street", folded.as_bytes()]);
        for _ in 0..TRIES {
            let letter = LETTERS[stream.below(LETTERS.len())];
            let bucket = self.pools.names(Class { culture, role }, letter, false).next()?;
            let name = stream.pick(bucket)?;
            if !gives_away(&name.folded, own.iter().copied()) {
                return Some(Case::of(text).apply(&name.shown));
            }
        }
        None
    }

    fn part(
        &self,
        word: &Word,
        written: &str,
        about: &About<'_>,
        letters: &Letters,
        draw: &dyn Draw,
        out: &mut String,
    ) -> Option<()> {
        let shown = self.replaced(&word.folded, about, letters, draw)?;
        let plain = match about.language {
            Some(Language::English) => true,
            _ => written.is_ascii() && (about.language.is_none() || self.pools.is_accented(&word.folded)),
        };
        let shown = if plain && !shown.is_ascii() {
            Case::Title.apply(&fold(&shown))
        } else {
            shown
        };
        Case::of(written).write(&shown, out);
        Some(())
    }

    /// Returns the replacement of a folded name, as the lists write it.
    ///
    /// Each word is replaced independently of its neighbours: "Smith" and "John Smith" must agree.
    fn replaced(
        &self,
        folded: &str,
        about: &About<'_>,
        letters: &Letters,
        draw: &dyn Draw,
    ) -> Option<String> {
        // "Kim" and "Ray" are also family names, and are replaced as such.
        let family = || {
            let class = self.pools.class(&self.dictionary, folded);
            class.is_some_and(|class| !matches!(class.role, Role::Given(_)))
        };
        if let Some(name) = nicknames::given(folded).and_then(|names| names.first())
            && !family()
        {
            let given = self.drawn(name, about, letters, draw)?;
            return Some(self.nickname(given, folded, draw));
        }
        if let Some((right, slip)) = self.misspelling(folded, about.known) {
            let name = self.drawn(right, about, letters, draw)?;
            let mut stream = Stream::of(draw, &[b"name", b"slip", folded.as_bytes()]);
            for _ in 0..TRIES {
                let letter = char::from(LETTERS[stream.below(LETTERS.len())]);
                let wrong = misspelt(&name.shown, slip, right.chars().count(), letter);
                if !gives_away(&fold(&wrong), [folded, right]) {
                    return Some(wrong);
                }
            }
            return Some(name.shown.clone());
        }
        self.drawn(folded, about, letters, draw)
            .map(|name| name.shown.clone())
    }

    /// Returns a nickname of the drawn name, if it has one.
    fn nickname(&self, given: &Name, of: &str, draw: &dyn Draw) -> String {
        let Some(nicknames) = self.nicknames.get(given.folded.as_str()) else {
            return given.shown.clone();
        };
        let mut stream = Stream::of(draw, &[b"name", b"nickname", of.as_bytes()]);
        for _ in 0..nicknames.len() {
            if let Some(nickname) = stream.pick(nicknames)
                && !gives_away(nickname, [of])
            {
                return Case::Title.apply(nickname);
            }
        }
        given.shown.clone()
    }

    /// Returns the known name of which an unlisted word is a misspelling.
    fn misspelling<'k>(&self, folded: &str, known: &'k KnownNames) -> Option<(&'k str, misspell::Slip)> {
        const SHORTEST: usize = 4;
        let long = |word: &str| word.chars().nth(SHORTEST - 1).is_some();
        let listed = |word: &str| self.pools.class(&self.dictionary, word).is_some();
        if !long(folded) || known.has(folded) || listed(folded) {
            return None;
        }
        // Of those that fit, the first in the alphabet is used, so that their order does not matter.
        let mut right = known.near(folded).filter(|right| long(right));
        right.find_map(|right| Some((right, slip(right, folded)?)))
    }

    /// Returns the name drawn for a folded name: neither it nor one of its nicknames.
    fn drawn(&self, folded: &str, about: &About<'_>, letters: &Letters, draw: &dyn Draw) -> Option<&Name> {
        let class = self
            .pools
            .class(&self.dictionary, folded)
            .unwrap_or_else(|| Class {
                culture: if about.language == Some(Language::Spanish) || folded.contains('ñ') {
                    Culture::Spanish
                } else {
                    Culture::English
                },
                role: Role::Family,
            });
        // A nickname's surrogate is this name if it has no nickname itself.
        let nicknames = self.nicknames.get(folded);
        let own = || std::iter::once(folded).chain(nicknames.into_iter().flatten().copied());
        let mut stream = Stream::of(draw, &[b"name", folded.as_bytes()]);
        let letter = letters.get(folded);
        for bucket in self.pools.names(class, letter, nicknames.is_some()) {
            for _ in 0..TRIES {
                // The lesser of two indices: buckets are sorted from common to rare names, and people mostly
                // have common ones.
                let place = stream.below(bucket.len()).min(stream.below(bucket.len()));
                let name = bucket.get(place)?;
                if !gives_away(&name.folded, own()) {
                    return Some(name);
                }
            }
        }
        None
    }
}

/// Returns whether a candidate equals one of the words that it replaces, or contains one of three letters or
/// more.
fn gives_away<'w>(candidate: &str, own: impl IntoIterator<Item = &'w str>) -> bool {
    own.into_iter()
        .any(|word| candidate == word || word.chars().nth(2).is_some() && candidate.contains(word))
}

/// Replaces initials letter by letter, with their case.
fn initials(written: &str, letters: &Letters, out: &mut String) {
    for c in written.chars() {
        if !c.is_alphabetic() {
            // The accent of a decomposed letter is removed with it.
            if !matches!(c, '\u{300}'..='\u{36f}') {
                out.push(c);
            }
            continue;
        }
        let mut buffer = [0; 4];
        let letter = char::from(letters.get(&fold(c.encode_utf8(&mut buffer))));
        out.push(if c.is_uppercase() {
            letter.to_ascii_uppercase()
        } else {
            letter
        });
    }
}
