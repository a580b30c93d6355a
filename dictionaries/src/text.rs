//! The texts of the bundled lists, for code that draws entries from them. The program contains them compressed.

use std::path::Path;

use lethe_embedded::Embedded;

use crate::source::{List, SourceError};
use crate::{BUILTIN_LISTS, FURTHER_LISTS};

/// A bundled list.
struct Text {
    list: &'static str,
    source: Embedded,
    items: Embedded,
    /// Empty if the list has none.
    exceptions: Embedded,
}

include!(concat!(env!("OUT_DIR"), "/texts.rs"));

fn of(list: &str) -> &'static Text {
    let found = TEXTS.iter().find(|text| text.list == list);
    found.unwrap_or_else(|| panic!("no bundled list is named {list}"))
}

/// Returns the text of a bundled list: one entry per line, with a tab and a number if the list has numbers.
/// Lines that begin with `#` are comments.
///
/// # Panics
/// If neither [`BUILTIN_LISTS`] nor [`FURTHER_LISTS`] has the list.
///
/// ```
/// let states = lethe_dictionaries::items("us-states");
/// assert!(states.lines().any(|line| line == "Vermont"));
/// ```
pub fn items(list: &str) -> &'static str {
    of(list).items.text()
}

/// Returns the entries of a bundled list that are also ordinary words, one per line.
///
/// # Panics
/// If neither [`BUILTIN_LISTS`] nor [`FURTHER_LISTS`] has the list.
pub fn exceptions(list: &str) -> &'static str {
    of(list).exceptions.text()
}

/// Returns the lists of the built-in dictionary, to compile a dictionary of them and others.
///
/// # Errors
/// [`SourceError`], which the build script would have reported.
pub fn builtin_lists() -> Result<Vec<List>, SourceError> {
    BUILTIN_LISTS.iter().map(|list| read(list)).collect()
}

/// Returns the bundled lists of a further language, by its ISO 639-1 code, which the built-in dictionary does not have; none for
/// a language without such lists.
///
/// # Errors
/// [`SourceError`], which the tests would have reported.
///
/// ```
/// let lists = lethe_dictionaries::lists_of("de")?;
/// assert!(lists.iter().any(|list| list.id == "de-surnames"));
/// # Ok::<(), lethe_dictionaries::SourceError>(())
/// ```
pub fn lists_of(language: &str) -> Result<Vec<List>, SourceError> {
    let lists = FURTHER_LISTS.iter().map(|list| read(list));
    lists
        .filter(|list| {
            list.as_ref()
                .map_or(true, |list| list.source.language == language)
        })
        .collect()
}

fn read(list: &str) -> Result<List, SourceError> {
    let text = of(list);
    List::of_texts(
        Path::new(list),
        list,
        text.source.text(),
        text.items.text(),
        text.exceptions.text(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_lists_compile_to_the_built_in_dictionary() {
        let bytes = crate::compile(&builtin_lists().unwrap()).unwrap();
        assert_eq!(bytes, crate::Dictionary::builtin_bytes());
    }

    #[test]
    fn every_bundled_list_has_the_text_of_its_files() {
        let lists = Path::new(env!("CARGO_MANIFEST_DIR")).join("lists");
        for &list in BUILTIN_LISTS.iter().chain(FURTHER_LISTS) {
            let file = |name: &str| std::fs::read_to_string(lists.join(list).join(name));
            assert_eq!(items(list), file("items.txt").unwrap(), "{list}");
            assert_eq!(
                exceptions(list),
                file("exceptions.txt").unwrap_or_default(),
                "{list}"
            );
        }
    }
}
