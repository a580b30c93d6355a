//! Suggestions for misspelt names: keys, labels, bundles.

/// The longest name that is compared: longer ones are values that somebody pasted, and comparing takes the
/// square of the length.
const LONGEST: usize = 64;

/// Returns the number of mistakes between two names, regardless of case: letters that are missing, extra,
/// wrong, or exchanged with their neighbour. `None` if there are more than `most`.
///
/// # Examples
///
/// ```
/// assert_eq!(lethe_core::mistakes("Brokes", "brokers", 1), Some(1));
/// assert_eq!(lethe_core::mistakes("topic", "brokers", 1), None);
/// ```
pub fn mistakes(written: &str, name: &str, most: usize) -> Option<usize> {
    // Each mistake changes the length by at most one letter, and counting letters is cheap.
    let letters = |text: &str| text.chars().count();
    if written.len() > 4 * LONGEST || letters(written).abs_diff(letters(name)) > most {
        return None;
    }
    let distance = strsim::osa_distance(&written.to_lowercase(), &name.to_lowercase());
    (distance <= most).then_some(distance)
}

/// Returns the name that was most likely meant: the nearest one with at most one mistake per three letters.
/// The first one of several that are as near.
///
/// # Examples
///
/// ```
/// let names = ["brokers", "topics", "group"];
/// assert_eq!(lethe_core::nearest("brokes", names), Some("brokers"));
/// assert_eq!(lethe_core::nearest("password", names), None);
/// ```
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = written.chars().count();
    if letters > LONGEST {
        return None;
    }
    let most = letters.max(3) / 3;
    let near = names
        .into_iter()
        .filter_map(|name| Some((mistakes(written, name, most)?, name)));
    // `min_by_key` returns the first of equals.
    near.min_by_key(|&(distance, _)| distance).map(|(_, name)| name)
}

/// Returns the question that ends an error, "; did you mean `brokers`?"; nothing if no name is near.
pub fn did_you_mean<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(written, names).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// Returns serde's message about an unknown field or variant in the words of a user, with the name that was
/// most likely meant instead of all names. Other messages are returned as they are.
///
/// # Examples
///
/// ```
/// let message = "unknown field `brokes`, expected one of `brokers`, `topics`";
/// assert_eq!(lethe_core::reworded(message), "unknown key `brokes`; did you mean `brokers`?");
/// ```
pub fn reworded(message: &str) -> String {
    let unknown = [("unknown field `", "key"), ("unknown variant `", "value")]
        .into_iter()
        .find_map(|(start, word)| Some((message.strip_prefix(start)?, word)));
    let Some((rest, word)) = unknown else {
        return message.to_owned();
    };
    // What was written may contain anything, and the names that follow contain no quotes.
    let Some((written, expected)) = rest
        .rsplit_once("`, expected ")
        .or_else(|| rest.rsplit_once("`, there are "))
    else {
        return message.to_owned();
    };
    let names = || expected.split('`').skip(1).step_by(2);
    if let Some(name) = nearest(written, names()) {
        return format!("unknown {word} `{written}`; did you mean `{name}`?");
    }
    match names().next() {
        Some(_) => format!("unknown {word} `{written}`; expected {expected}"),
        None => format!("unknown {word} `{written}`"),
    }
}

/// Returns the TOML parser's error, of which the last line is serde's message, with that message [`reworded`].
pub fn reworded_toml(error: &str) -> String {
    let error = error.trim_end();
    match error.rsplit_once('\n') {
        Some((place, message)) => format!("{place}\n{}", reworded(message)),
        None => reworded(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_few_mistakes_is_suggested_and_the_nearest_one_first() {
        for (written, names, expected) in [
            ("brokes", &["topics", "brokers"][..], Some("brokers")),
            ("PATEINT", &["DOCTOR", "PATIENT"], Some("PATIENT")),
            ("patient", &["PATIENT"], Some("PATIENT")),
            ("memory-bytes", &["memory_bytes"], Some("memory_bytes")),
            ("topik", &["topic", "topics"], Some("topic")),
            ("kind", &["name", "password"], None),
            ("x", &["y"], Some("y")),
            ("", &["group"], None),
            ("Straße", &["strasse"], Some("strasse")),
        ] {
            assert_eq!(nearest(written, names.iter().copied()), expected, "{written}");
        }
    }

    #[test]
    fn a_long_value_is_not_compared() {
        let long = "a".repeat(100_000);
        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert_eq!(mistakes(&long, "a", usize::MAX), None);
    }

    #[test]
    fn a_message_of_serde_becomes_a_question_or_lists_the_names() {
        for (message, expected) in [
            (
                "unknown field `carry`, expected `keep` or `labels`",
                "unknown key `carry`; expected `keep` or `labels`",
            ),
            (
                "unknown variant `kafak`, expected one of `kafka`, `files`",
                "unknown value `kafak`; did you mean `kafka`?",
            ),
            ("unknown field `a`, there are no fields", "unknown key `a`"),
            ("missing field `kind`", "missing field `kind`"),
            (
                "unknown field `a`, expected `b``, expected `c`",
                "unknown key `a`, expected `b``; expected `c`",
            ),
        ] {
            assert_eq!(reworded(message), expected);
        }
    }
}
