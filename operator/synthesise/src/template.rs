//! The language of templates: text, `{slot}`, and `[[this|or this]]`.

use crate::kind::Kind;
use crate::language::Language;
use crate::slot::{MentionForm, Slot};

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Text(String),
    Slot(Slot),
    OneOf(Vec<Vec<Node>>),
}

/// A template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    pub(crate) kind: Kind,
    /// Its weight among others of its kind.
    pub(crate) weight: f64,
    /// Whether its own text has no lower-case letters: then inserted values have none either.
    pub(crate) in_capitals: bool,
    pub(crate) nodes: Vec<Node>,
}

/// Why a file of templates is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct TemplateError {
    /// The line, from 1.
    pub line: usize,
    /// The problem.
    pub why: String,
}

/// Reads a file of templates in a language, `None` for English.
///
/// # Errors
/// [`TemplateError`] at the first invalid line.
pub(crate) fn parse(text: &str, language: Option<&'static Language>) -> Result<Vec<Template>, TemplateError> {
    let mut templates = Vec::new();
    // The head of the current template, its line number, and its own lines.
    let mut open: Option<(Kind, f64, usize)> = None;
    let mut lines: Vec<&str> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("#!") {
            continue;
        }
        let Some(head) = line.strip_prefix("===") else {
            if open.is_none() && !line.trim().is_empty() {
                return Err(fault(number, "there is text before the first ==="));
            }
            lines.push(line);
            continue;
        };
        close(open.take(), language, &mut lines, &mut templates)?;
        open = Some(begin(head, number)?);
    }
    close(open, language, &mut lines, &mut templates)?;
    Ok(templates)
}

fn fault(line: usize, why: impl Into<String>) -> TemplateError {
    let why = why.into();
    TemplateError { line, why }
}

fn begin(head: &str, line: usize) -> Result<(Kind, f64, usize), TemplateError> {
    let mut words = head.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let kind = Kind::of(kind).ok_or_else(|| fault(line, format!("there is no kind {kind:?}")))?;
    let mut weight = 1.0;
    for word in words {
        let value = word.strip_prefix("weight=").and_then(|value| value.parse().ok());
        weight = value
            .filter(|weight: &f64| weight.is_finite() && *weight > 0.0)
            .ok_or_else(|| fault(line, format!("{word:?} is not weight=NUMBER")))?;
    }
    Ok((kind, weight, line))
}

fn close(
    open: Option<(Kind, f64, usize)>,
    language: Option<&'static Language>,
    lines: &mut Vec<&str>,
    into: &mut Vec<Template>,
) -> Result<(), TemplateError> {
    let body = lines.join("\n");
    lines.clear();
    let Some((kind, weight, line)) = open else {
        return Ok(());
    };
    let body = body.trim_matches('\n');
    if body.trim().is_empty() {
        return Err(fault(line, "the template is empty"));
    }
    let mut reader = Reader {
        rest: body,
        line: line + 1,
        language,
    };
    let nodes = reader.nodes(false)?;
    if kind.is_bare() {
        bare(&nodes).map_err(|why| fault(line, why))?;
    }
    let (mut small, mut letters) = (0, 0);
    count(&nodes, &mut small, &mut letters);
    into.push(Template {
        kind,
        weight,
        in_capitals: small * 50 < letters && letters >= FEW,
        nodes,
    });
    Ok(())
}

/// The fewest letters of a template whose capitals are significant.
const FEW: usize = 12;

/// Counts the lower-case letters and all letters outside slots.
fn count(nodes: &[Node], small: &mut usize, letters: &mut usize) {
    for node in nodes {
        match node {
            Node::Text(text) => {
                *small += text.chars().filter(|char| char.is_lowercase()).count();
                *letters += text.chars().filter(|char| char.is_alphabetic()).count();
            }
            Node::OneOf(branches) => branches.iter().for_each(|branch| count(branch, small, letters)),
            Node::Slot(_) => {}
        }
    }
}

/// Checks that nothing among `nodes` is an identifier.
fn bare(nodes: &[Node]) -> Result<(), &'static str> {
    for node in nodes {
        match node {
            Node::Text(_) => {}
            Node::OneOf(branches) => branches.iter().try_for_each(|branch| bare(branch))?,
            Node::Slot(
                Slot::Person(_, MentionForm::Word(_), _) | Slot::Filler(_) | Slot::Time | Slot::Number,
            ) => {}
            Node::Slot(Slot::Part(kind)) if kind.is_bare() => {}
            Node::Slot(_) => return Err("a kind without identifiers has an identifier"),
        }
    }
    Ok(())
}

struct Reader<'t> {
    rest: &'t str,
    line: usize,
    language: Option<&'static Language>,
}

impl<'t> Reader<'t> {
    /// Parses nodes up to the end or, within alternatives, up to `|` or `]]`, which are not consumed.
    fn nodes(&mut self, within: bool) -> Result<Vec<Node>, TemplateError> {
        let mut nodes = Vec::new();
        let mut text = String::new();
        let flush = |text: &mut String, nodes: &mut Vec<Node>| {
            if !text.is_empty() {
                nodes.push(Node::Text(std::mem::take(text)));
            }
        };
        loop {
            if self.rest.is_empty() || within && (self.rest.starts_with('|') || self.rest.starts_with("]]")) {
                flush(&mut text, &mut nodes);
                return Ok(nodes);
            }
            if self.eat("[[") {
                flush(&mut text, &mut nodes);
                nodes.push(self.alternatives()?);
            } else if self.rest.starts_with("]]") {
                return Err(fault(self.line, "]] without [["));
            } else if self.eat("{") {
                flush(&mut text, &mut nodes);
                nodes.push(Node::Slot(self.slot()?));
            } else if self.eat("}") {
                return Err(fault(self.line, "} without {"));
            } else {
                text.extend(self.next());
            }
        }
    }

    fn alternatives(&mut self) -> Result<Node, TemplateError> {
        let line = self.line;
        let mut branches = Vec::new();
        loop {
            branches.push(self.nodes(true)?);
            if self.eat("]]") {
                return Ok(Node::OneOf(branches));
            }
            if !self.eat("|") {
                return Err(fault(line, "[[ without ]]"));
            }
        }
    }

    fn slot(&mut self) -> Result<Slot, TemplateError> {
        let (name, rest) = self
            .rest
            .split_once('}')
            .filter(|(name, _)| !name.contains(['\n', '{']))
            .ok_or_else(|| fault(self.line, "{ without }"))?;
        self.rest = rest;
        Slot::parse(name, self.language)
            .ok_or_else(|| fault(self.line, format!("there is no slot {{{name}}}")))
    }

    fn eat(&mut self, what: &str) -> bool {
        match self.rest.strip_prefix(what) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        self.line += usize::from(next == Some('\n'));
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot::{Item, Role};

    #[test]
    fn text_slots_and_nested_alternatives_are_read() {
        let read = parse(
            "#! why\n=== note weight=2\nMRN: {mrn} [[a|b [[c|]]|]]\n\n=== insert\n{patient} left.\n",
            None,
        )
        .unwrap();
        let text = |text: &str| Node::Text(text.to_owned());
        let inner = Node::OneOf(vec![vec![text("c")], vec![]]);
        assert_eq!(
            read[0],
            Template {
                kind: Kind::Note,
                weight: 2.0,
                in_capitals: false,
                nodes: vec![
                    text("MRN: "),
                    Node::Slot(Slot::Item(Item::Mrn)),
                    text(" "),
                    Node::OneOf(vec![vec![text("a")], vec![text("b "), inner], vec![]]),
                ],
            }
        );
        assert_eq!(read[1].kind, Kind::Insert);
        assert_eq!(
            read[1].nodes[0],
            Node::Slot(Slot::Person(Role::Patient, MentionForm::Any, false))
        );
    }

    #[test]
    fn what_is_none_of_the_language_is_told_by_its_line() {
        for (text, line, why) in [
            ("MRN\n=== note\nx", 1, "before the first"),
            ("=== poem\nx", 1, "no kind \"poem\""),
            ("=== note weight=0\nx", 1, "weight"),
            ("=== note\n\n=== note\nx", 1, "empty"),
            ("=== note\na\n{nobody}", 3, "no slot {nobody}"),
            ("=== note\na\n[[b|c", 3, "[[ without"),
            ("=== note\na ]] b", 2, "]] without"),
            ("=== note\n{mrn", 2, "{ without"),
            ("=== clinical\nseen {visit}", 1, "without identifiers"),
        ] {
            let error = parse(text, None).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.why.contains(why), "{text}: {error}");
        }
    }
}
