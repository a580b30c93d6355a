//! Finds the values of a document, every attribute and every text, by a scan of its markup.

use std::collections::BTreeMap;
use std::ops::Range;

/// A value: its position, and its element or attribute.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) at: Range<usize>,
    /// The element's name, or `element@attribute`.
    pub(crate) place: String,
    /// Whether it is an attribute.
    pub(crate) attribute: bool,
}

/// Returns the values of a well-formed document with double-quoted attributes, except namespace declarations.
pub(crate) fn leaves(xml: &str) -> Vec<Leaf> {
    let mut found = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some(start) = xml[at..].find('<').map(|next| at + next) {
        let text = &xml[at..start];
        if let (false, Some(name)) = (text.trim().is_empty(), open.last()) {
            let from = at + (text.len() - text.trim_start().len());
            found.push(Leaf {
                at: from..from + text.trim().len(),
                place: (*name).to_owned(),
                attribute: false,
            });
        }
        let rest = &xml[start..];
        let end = |mark: &str| start + rest.find(mark).unwrap() + mark.len();
        at = if rest.starts_with("<?") {
            end("?>")
        } else if rest.starts_with("<!--") {
            end("-->")
        } else if rest.starts_with("</") {
            open.pop();
            end(">")
        } else {
            let end = end(">");
            let tag = &xml[start + 1..end - 1];
            let name = tag.split([' ', '/', '\n']).next().unwrap();
            let mut within = name.len();
            while let Some(quote) = tag[within..].find("=\"").map(|next| within + next) {
                let attribute = tag[within..quote].trim();
                let close = quote + 2 + tag[quote + 2..].find('"').unwrap();
                if !attribute.starts_with("xmlns") {
                    found.push(Leaf {
                        at: start + 1 + quote + 2..start + 1 + close,
                        place: format!("{name}@{attribute}"),
                        attribute: true,
                    });
                }
                within = close + 1;
            }
            if !tag.ends_with('/') {
                open.push(name);
            }
            end
        };
    }
    found
}

/// Returns the document with a value in each of those leaves.
pub(crate) fn written<'l>(xml: &str, into: impl Iterator<Item = &'l Leaf>, value: &str) -> String {
    let mut out = String::new();
    let mut from = 0;
    for leaf in into {
        out.push_str(&xml[from..leaf.at.start]);
        out.push_str(value);
        from = leaf.at.end;
    }
    out + &xml[from..]
}

/// Returns the places whose values contain a text, with their number.
pub(crate) fn holding(xml: &str, text: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for leaf in leaves(xml) {
        if xml[leaf.at.clone()].contains(text) {
            *found.entry(leaf.place).or_insert(0) += 1;
        }
    }
    found
}
