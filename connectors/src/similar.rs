//! Suggests names in errors.

/// Returns the candidate that is most like a word; `None` if more than a third of the word's characters
/// differ in each. So a suggestion for a column can hardly be a value of a table without a header.
///
/// # Examples
///
/// ```
/// use lethe_connectors::nearest;
///
/// assert_eq!(nearest("note_txt", ["note_id", "note_text"]), Some("note_text"));
/// assert_eq!(nearest("body", ["note_id", "note_text"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let distance = |name: &str| strsim::osa_distance(&word, &name.to_lowercase());
    let (found, name) = candidates.into_iter().map(|name| (distance(name), name)).min()?;
    (found <= word.chars().count() / 3).then_some(name)
}
