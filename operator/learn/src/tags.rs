//! Converts spans to tags of tokens and back: BIO (Ramshaw and Marcus 1995) and BILOU (Ratinov and Roth
//! 2009).

use lethe_core::Tokens;
use lethe_corpus::Mark;
use serde::{Deserialize, Serialize};

/// How a span is encoded over its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// `B` begins a span, `I` continues it, `O` is outside.
    Bio,
    /// As BIO, with `L` for a span's last token and `U` for its only one.
    Bilou,
}

/// A span over tokens: first and last, both included, and the label's index in its [`TagSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spanned {
    /// First token.
    pub first: usize,
    /// Last token, included.
    pub last: usize,
    /// Index of its label.
    pub label: usize,
}

/// The tags of a set of labels. Tag 0 is `O`; the tags of label `l` are the `width` after `1 + width * l`, in
/// the order B, I (BIO) or B, I, L, U (BILOU).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagSet {
    scheme: Scheme,
    labels: Vec<String>,
}

impl TagSet {
    /// The tag outside every span.
    pub const OUTSIDE: u16 = 0;

    /// Creates the tags for these labels, in this order.
    pub fn new(scheme: Scheme, labels: Vec<String>) -> Self {
        Self { scheme, labels }
    }

    /// Returns the labels of a corpus, sorted by name.
    pub fn of<'m>(scheme: Scheme, marks: impl IntoIterator<Item = &'m Mark>) -> Self {
        let labels: std::collections::BTreeSet<&str> =
            marks.into_iter().map(|mark| mark.label.as_str()).collect();
        Self::new(scheme, labels.into_iter().map(str::to_owned).collect())
    }

    /// Returns these tags followed by those of the further labels of `marks`, sorted by name: every old tag
    /// keeps its number.
    #[must_use]
    pub fn with_labels_of<'m>(&self, marks: impl IntoIterator<Item = &'m Mark>) -> Self {
        let more = Self::of(self.scheme, marks).labels;
        let mut labels = self.labels.clone();
        labels.extend(more.into_iter().filter(|label| !self.labels.contains(label)));
        Self::new(self.scheme, labels)
    }

    /// Returns the encoding.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the labels, by index.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Returns the number of tags, `O` included.
    pub fn len(&self) -> usize {
        1 + self.width() * self.labels.len()
    }

    /// Returns whether there is no tag but `O`.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    const fn width(&self) -> usize {
        match self.scheme {
            Scheme::Bio => 2,
            Scheme::Bilou => 4,
        }
    }

    /// Returns the label of a tag, and its place in the span (0 B, 1 I, 2 L, 3 U); `None` for `O`.
    pub const fn part(&self, tag: u16) -> Option<(usize, usize)> {
        if tag == Self::OUTSIDE {
            return None;
        }
        let at = tag as usize - 1;
        Some((at / self.width(), at % self.width()))
    }

    /// Returns a tag's name, for instance `B-DATE`.
    pub fn name(&self, tag: u16) -> String {
        match self.part(tag) {
            None => "O".to_owned(),
            Some((label, part)) => format!("{}-{}", ["B", "I", "L", "U"][part], self.labels[label]),
        }
    }

    /// Returns whether `next` may follow `before`; `None` stands for the sequence's start or end.
    pub fn may_follow(&self, before: Option<u16>, next: Option<u16>) -> bool {
        let open = before
            .and_then(|tag| self.part(tag))
            .filter(|&(_, part)| part < 2);
        let next = next.and_then(|tag| self.part(tag));
        match self.scheme {
            Scheme::Bio => match next {
                Some((label, 1)) => open.is_some_and(|(before, _)| before == label),
                _ => true,
            },
            Scheme::Bilou => match (open, next) {
                (Some((before, _)), Some((label, part))) => before == label && (part == 1 || part == 2),
                (Some(_), None) => false,
                (None, Some((_, part))) => part == 0 || part == 3,
                (None, None) => true,
            },
        }
    }

    /// Encodes a document's tokens. A mark covers every token that it touches unless an earlier mark has it;
    /// a mark whose label is not in the set, or that touches no token, is left out.
    pub fn encode(&self, tokens: Tokens<'_>, marks: &[Mark]) -> Vec<u16> {
        let mut tags = vec![Self::OUTSIDE; tokens.len()];
        for mark in marks {
            let Some(label) = self.labels.iter().position(|label| *label == mark.label) else {
                continue;
            };
            let first = tokens
                .ends
                .partition_point(|&end| end as usize <= mark.span.start());
            let end = tokens.at_or_after(mark.span.end());
            if first >= end || tags[first..end].iter().any(|&tag| tag != Self::OUTSIDE) {
                continue;
            }
            self.write(
                &mut tags,
                Spanned {
                    first,
                    last: end - 1,
                    label,
                },
            );
        }
        tags
    }

    /// Writes one span's tags.
    ///
    /// # Panics
    /// If it lies outside `tags`.
    pub fn write(&self, tags: &mut [u16], span: Spanned) {
        let tag = |part: usize| (1 + self.width() * span.label + part) as u16;
        tags[span.first..=span.last].fill(tag(1));
        tags[span.first] = tag(0);
        if self.scheme == Scheme::Bilou {
            tags[span.last] = tag(if span.first == span.last { 3 } else { 2 });
        }
    }

    /// Returns the spans of a sequence of tags. Invalid sequences are read leniently: an `I` or `L` without
    /// its beginning begins a span, so that no tagged token is lost.
    pub fn decode(&self, tags: &[u16]) -> Vec<Spanned> {
        let mut spans: Vec<Spanned> = Vec::new();
        let mut open = false;
        for (i, &tag) in tags.iter().enumerate() {
            let Some((label, part)) = self.part(tag) else {
                open = false;
                continue;
            };
            match spans.last_mut() {
                Some(span) if open && span.label == label && (part == 1 || part == 2) => span.last = i,
                _ => spans.push(Spanned {
                    first: i,
                    last: i,
                    label,
                }),
            }
            open = part < 2;
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::{NoteBatch, Span};
    use proptest::prelude::*;

    use super::*;

    fn set(scheme: Scheme) -> TagSet {
        TagSet::new(scheme, vec!["CITY".to_owned(), "DATE".to_owned()])
    }

    #[test]
    fn a_span_is_spread_over_the_tokens_it_touches() {
        let batch = NoteBatch::from_texts(["on 3 May in Leon."]).unwrap();
        let marks = [
            Mark::gold(Span::between(3, 8), "DATE"),
            Mark::gold(Span::between(12, 16), "CITY"),
            Mark::gold(Span::between(0, 2), "OTHER"),
        ];
        for (scheme, names) in [
            (Scheme::Bio, ["O", "B-DATE", "I-DATE", "O", "B-CITY", "O"]),
            (Scheme::Bilou, ["O", "B-DATE", "L-DATE", "O", "U-CITY", "O"]),
        ] {
            let set = set(scheme);
            let tags = set.encode(batch.note(0).tokens, &marks);
            assert_eq!(tags.iter().map(|&tag| set.name(tag)).collect::<Vec<_>>(), names);
        }
    }

    #[test]
    fn an_inside_tag_without_its_beginning_begins_a_span() {
        let set = set(Scheme::Bio);
        let spans = set.decode(&[2, 2, 4, 0, 4]);
        let bounds: Vec<_> = spans.iter().map(|s| (s.first, s.last, s.label)).collect();
        assert_eq!(bounds, [(0, 1, 0), (2, 2, 1), (4, 4, 1)]);
    }

    proptest! {
        #[test]
        fn what_is_encoded_follows_the_scheme_and_decodes_to_itself(lengths in proptest::collection::vec((0usize..3, 1usize..4, 0usize..2), 0..12)) {
            for scheme in [Scheme::Bio, Scheme::Bilou] {
                let set = set(scheme);
                let (mut spans, mut at) = (Vec::new(), 0);
                for &(gap, length, label) in &lengths {
                    spans.push(Spanned { first: at + gap, last: at + gap + length - 1, label });
                    at += gap + length;
                }
                let mut tags = vec![TagSet::OUTSIDE; at + 1];
                for &span in &spans {
                    set.write(&mut tags, span);
                }
                prop_assert_eq!(set.decode(&tags), spans);
                let path: Vec<_> = std::iter::once(None).chain(tags.into_iter().map(Some)).chain([None]).collect();
                prop_assert!(path.windows(2).all(|pair| set.may_follow(pair[0], pair[1])));
            }
        }
    }
}
