//! Numbers of the patient in other groupings and punctuation: "77 95 458" for 7795458, "(312) 847-5530" for
//! +1 312 847 5530.

use lethe_core::{Collector, LabelId};

use crate::words::{Case, Words};

/// The fewest letters and digits of a number: shorter ones do not identify anybody.
const SHORTEST: usize = 4;

/// The most tokens of a written number: a UUID, whose letters and digits alternate, has fewer.
const MOST_TOKENS: usize = 40;

/// The numbers that one event carries, without separators.
#[derive(Default)]
pub(super) struct Numbers {
    keys: Vec<(String, LabelId)>,
    /// The same numbers as a trie over their bytes, with the root first: one step per byte for any number of
    /// them.
    nodes: Vec<Node>,
}

/// The beginning of some of the numbers. Its children are adjacent.
#[derive(Clone, Copy, Default)]
struct Node {
    /// Its last byte.
    byte: u8,
    children: u8,
    first_child: u32,
    /// Its label, if it is a whole number.
    label: Option<LabelId>,
}

impl Numbers {
    /// Adds an identifier that contains digits.
    pub(super) fn add(&mut self, value: &str, label: LabelId) {
        let key = bare(value);
        // "MR2605918" is also written without its letters, "007323" without its zeros.
        let digits = key.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        for form in [digits, digits.trim_start_matches('0')] {
            if form.len() >= 5 && form.len() < key.len() {
                self.keys.push((form.to_owned(), label));
            }
        }
        self.push(key, label);
    }

    /// Adds a telephone number: with and without its country code, and the local seven digits of a North
    /// American one.
    pub(super) fn add_phone(&mut self, value: &str, label: LabelId) {
        let key = bare(value.split(['x', 'X', 'e']).next().unwrap_or_default());
        let national = match key.len() {
            11 => key.strip_prefix('1').or_else(|| key.strip_prefix("34")),
            _ => key
                .strip_prefix("0034")
                .or_else(|| key.strip_prefix("34"))
                .filter(|rest| rest.len() == 9),
        };
        let national = national.map_or_else(|| key.clone(), str::to_owned);
        if national.len() == 10 {
            let local: String = national.chars().skip(3).collect();
            self.push(local, label);
            self.push(format!("1{national}"), label);
        } else if national.len() == 9 {
            self.push(format!("34{national}"), label);
        }
        self.push(national, label);
        self.push(key, label);
    }

    fn push(&mut self, key: String, label: LabelId) {
        if key.len() >= SHORTEST {
            self.keys.push((key, label));
        }
    }

    /// Builds the trie.
    pub(super) fn finish(&mut self) {
        let (keys, nodes) = (&mut self.keys, &mut self.nodes);
        if keys.is_empty() {
            return;
        }
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        keys.dedup_by(|a, b| a.0 == b.0);
        nodes.push(Node::default());
        // The numbers with each node's prefix, and the prefix's length.
        let mut ranges = vec![(0, keys.len(), 0)];
        let mut at = 0;
        while let Some(&(mut from, to, depth)) = ranges.get(at) {
            let byte = |at: usize| keys[at].0.as_bytes().get(depth);
            nodes[at].first_child = nodes.len() as u32;
            while from < to {
                let Some(&next) = byte(from) else {
                    nodes[at].label = Some(keys[from].1);
                    from += 1;
                    continue;
                };
                let end =
                    from + keys[from..to].partition_point(|key| key.0.as_bytes().get(depth) == Some(&next));
                nodes.push(Node {
                    byte: next,
                    ..Node::default()
                });
                ranges.push((from, end, depth + 1));
                // There are at most 36 children, one for each letter and digit.
                nodes[at].children += 1;
                from = end;
            }
            at += 1;
        }
    }

    /// Returns the node for one more byte.
    fn step(&self, node: &Node, byte: u8) -> Option<&Node> {
        let mut children = self.nodes[node.first_child as usize..][..usize::from(node.children)].iter();
        children.find(|child| child.byte == byte)
    }

    pub(super) fn find(&self, words: &Words<'_>, out: &mut Collector<'_>) {
        let Some(root) = self.nodes.first() else { return };
        let mut i = 0;
        while i < words.len() {
            match self.longest(i, words, root) {
                Some((last, label)) => {
                    let (first, last) = with_brackets(i, last, words);
                    out.tokens(first, last, label, 1.0, "known.number");
                    i = last + 1;
                }
                None => i += 1,
            }
        }
    }

    fn longest(&self, i: usize, words: &Words<'_>, root: &Node) -> Option<(usize, LabelId)> {
        if !starts_number(i, words) {
            return None;
        }
        let (mut found, mut node) = (None, root);
        for at in i..words.len().min(i + MOST_TOKENS) {
            if words.case(at) == Case::Mark {
                if !matches!(words.get(at), "-" | "." | "/" | "(" | ")" | "–" | "·" | "#") {
                    break;
                }
            } else {
                let after = words
                    .get(at)
                    .bytes()
                    .try_fold(node, |node, byte| self.step(node, byte));
                let Some(after) = after else { break };
                node = after;
                if let Some(label) = node.label
                    && !continues(at, words)
                {
                    found = Some((at, label));
                }
            }
            if words.breaks_after(at) > 0 {
                break;
            }
        }
        found
    }
}

/// Returns whether a number may start at token `i`: digits, or letters glued to digits or to a hyphen before
/// them, not amid a longer number.
fn starts_number(i: usize, words: &Words<'_>) -> bool {
    let amid = i > 0 && words.glued(i - 1) && words.case(i - 1) == Case::Digits;
    match words.case(i) {
        Case::Digits => !amid,
        Case::Upper | Case::Lower | Case::Title => {
            !amid
                && words.glued(i)
                && (words.case(i + 1) == Case::Digits || matches!(words.get(i + 1), "-" | "."))
        }
        Case::Mark => false,
    }
}

/// Returns whether digits are glued to the end of the number: then it is part of a longer one.
fn continues(at: usize, words: &Words<'_>) -> bool {
    words.glued(at)
        && (words.case(at + 1) == Case::Digits
            || (words.get(at + 1) == "-" && words.glued(at + 1) && words.case(at + 2) == Case::Digits))
}

/// Extends a span by the "(" and "+" of a telephone number.
fn with_brackets(first: usize, last: usize, words: &Words<'_>) -> (usize, usize) {
    let closes = (first..last).any(|at| words.get(at) == ")");
    if closes && words.before(first, 1) == "(" || words.before(first, 1) == "+" {
        return (first - 1, last);
    }
    (first, last)
}

/// Returns the letters and digits in lower case.
fn bare(value: &str) -> String {
    value
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}
