//! Reads names of persons in their natural order, and returns them in their parts.

use serde_json::{Map, Value};

use super::value::{Object, str_of, strings};

/// The parts of a name, with their numbers of words.
#[derive(Debug)]
pub(super) struct Shape {
    given: Vec<usize>,
    family: usize,
    suffix: Vec<usize>,
    text: bool,
}

/// Returns the name in natural order without titles (given names, family name, suffixes), or its `text` if it
/// has no parts; and its shape. `None` if it contains no name.
pub(super) fn read(name: &Object<'_>) -> Option<(String, Shape)> {
    let text = str_of(name, "text");
    let (given, suffix) = (strings(name, "given"), strings(name, "suffix"));
    let family = str_of(name, "family").unwrap_or_default();
    let all = given
        .iter()
        .copied()
        .chain([family])
        .chain(suffix.iter().copied());
    let words: Vec<&str> = all.flat_map(str::split_whitespace).collect();
    let count = |part: &&str| part.split_whitespace().count();
    let shape = Shape {
        given: given.iter().map(count).collect(),
        family: count(&family),
        suffix: suffix.iter().map(count).collect(),
        text: text.is_some(),
    };
    let natural = if shape.given.iter().sum::<usize>() + shape.family > 0 {
        words.join(" ")
    } else {
        text?.to_owned()
    };
    Some((natural, shape))
}

/// Writes the parts of a replacement name: word by word if it has as many words, otherwise whole as the text
/// and, if there was a family name, as that.
pub(super) fn write(name: &str, shape: &Shape, into: &mut Map<String, Value>) {
    let words: Vec<&str> = name.split_whitespace().collect();
    if words.is_empty() {
        return;
    }
    let (given, suffix) = (
        shape.given.iter().sum::<usize>(),
        shape.suffix.iter().sum::<usize>(),
    );
    let parts = given + shape.family;
    let fits = parts > 0 && words.len() == parts + suffix;
    if shape.text || !fits {
        into.insert("text".to_owned(), words.join(" ").into());
    }
    if !fits {
        if shape.family > 0 {
            into.insert("family".to_owned(), words.join(" ").into());
        }
        return;
    }
    let mut words = words.into_iter();
    let mut take = |count: usize| words.by_ref().take(count).collect::<Vec<_>>().join(" ");
    let given: Vec<String> = shape.given.iter().map(|&count| take(count)).collect();
    let family = take(shape.family);
    let suffix: Vec<String> = shape.suffix.iter().map(|&count| take(count)).collect();
    if !family.is_empty() {
        into.insert("family".to_owned(), family.into());
    }
    for (part, names) in [("given", given), ("suffix", suffix)] {
        let names: Vec<Value> = names
            .into_iter()
            .filter(|name| !name.is_empty())
            .map(Value::String)
            .collect();
        if !names.is_empty() {
            into.insert(part.to_owned(), names.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(json: &str) -> Object<'_> {
        crate::fhir::tree::parse(json.as_bytes()).unwrap()
    }

    fn renamed(name: &Value, to: &str) -> (String, Value) {
        let (natural, shape) = read(&parse(&name.to_string())).unwrap();
        let mut out = Map::new();
        write(to, &shape, &mut out);
        (natural, out.into())
    }

    #[test]
    fn a_name_of_as_many_words_goes_into_the_same_parts() {
        let name = json!({"family": "van der Berg", "given": ["Mary Ann", null, "Q."], "suffix": ["Jr"], "prefix": ["Ms"]});
        let (natural, out) = renamed(&name, "Ada Lou R. de la Cruz III");
        assert_eq!(natural, "Mary Ann Q. van der Berg Jr");
        assert_eq!(
            out,
            json!({"family": "de la Cruz", "given": ["Ada Lou", "R."], "suffix": ["III"]})
        );
    }

    #[test]
    fn another_name_is_given_back_whole() {
        let name = json!({"family": "Roth", "given": ["Ada"], "text": "Mrs Ada Roth"});
        let (natural, out) = renamed(&name, "[PATIENT]");
        assert_eq!(natural, "Ada Roth");
        assert_eq!(out, json!({"text": "[PATIENT]", "family": "[PATIENT]"}));
        assert_eq!(
            renamed(&json!({"text": "Roth, Ada"}), "Cruz, Eva").1,
            json!({"text": "Cruz, Eva"})
        );
        assert_eq!(renamed(&json!({"given": ["Ada"]}), "").1, json!({}));
        assert!(read(&parse(r#"{"given": [null, 7], "prefix": ["Dr"]}"#)).is_none());
    }
}
