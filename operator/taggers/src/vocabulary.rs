//! What rule members ask of the dictionary about single words.

/// Words that the names of people are also.
const COMMON: [&str; 12] = [
    "will", "may", "mark", "rose", "grace", "hope", "young", "long", "brown", "white", "black", "green",
];

pub(crate) struct Vocabulary;

impl Vocabulary {
    /// Whether a folded word is an ordinary word of the notes' languages.
    pub(crate) fn is_common_word(&self, word: &str) -> bool {
        COMMON.contains(&word)
    }
}
