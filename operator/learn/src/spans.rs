//! The spans of a note that is tagged in parts.

use crate::{Spanned, TagSet};

/// Collects the spans of a note from the tags of its parts: the same spans that all its tags together would
/// give.
///
/// ```
/// use lethe_learn::{Scheme, Spans, TagSet};
///
/// let tags = TagSet::new(Scheme::Bio, vec!["DATE".to_owned()]);
/// let mut spans = Spans::new(&tags);
/// spans.push(&[0, 1], &[0.1, 0.9]);
/// spans.push(&[2, 0], &[0.8, 0.2]);
/// let (span, score) = spans.found()[0];
/// assert_eq!((span.first, span.last, score), (1, 2, 0.8));
/// ```
#[derive(Debug)]
pub struct Spans<'t> {
    tags: &'t TagSet,
    found: Vec<(Spanned, f32)>,
    /// Tokens before the next part.
    done: usize,
    /// Whether the last span may continue in the next part.
    open: bool,
}

impl<'t> Spans<'t> {
    /// Creates an empty collection for tags of this set.
    pub const fn new(tags: &'t TagSet) -> Self {
        Self {
            tags,
            found: Vec::new(),
            done: 0,
            open: false,
        }
    }

    /// Adds a part whose tokens each have a tag and a score. A span's score is the lowest of its tokens'
    /// scores, at most 1.
    ///
    /// # Panics
    /// If there are fewer scores than tags.
    pub fn push(&mut self, tags: &[u16], scores: &[f32]) {
        let score = |span: Spanned| {
            let scores = &scores[span.first..=span.last];
            (span, scores.iter().copied().fold(1.0, f32::min))
        };
        self.push_scored(tags, self.tags.decode(tags).into_iter().map(score));
    }

    /// Adds a part with these tags, whose spans ([`TagSet::decode`]) have these scores.
    pub fn push_scored(&mut self, tags: &[u16], spans: impl IntoIterator<Item = (Spanned, f32)>) {
        let Some((&first, &last)) = tags.first().zip(tags.last()) else {
            return;
        };
        let goes_on = match (self.tags.part(first), self.found.last()) {
            (Some((label, 1 | 2)), Some((span, _))) => self.open && span.label == label,
            _ => false,
        };
        for (i, (span, score)) in spans.into_iter().enumerate() {
            let (first, last) = (span.first + self.done, span.last + self.done);
            match self.found.last_mut().filter(|_| i == 0 && goes_on) {
                Some((before, least)) => (before.last, *least) = (last, least.min(score)),
                None => self.found.push((Spanned { first, last, ..span }, score)),
            }
        }
        self.done += tags.len();
        self.open = self.tags.part(last).is_some_and(|(_, part)| part < 2);
    }

    /// Returns the spans so far with their scores, in order.
    pub fn found(&self) -> &[(Spanned, f32)] {
        &self.found
    }

    /// Returns the spans with their scores, in order.
    pub fn into_found(self) -> Vec<(Spanned, f32)> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Scheme;

    proptest! {
        #[test]
        fn the_parts_of_any_tags_have_the_spans_of_the_whole(
            bilou in any::<bool>(),
            tokens in proptest::collection::vec((0_u16..9, 0.0_f32..1.0), 0..40),
            part in 1_usize..9,
        ) {
            let scheme = if bilou { Scheme::Bilou } else { Scheme::Bio };
            let set = TagSet::new(scheme, vec!["A".to_owned(), "B".to_owned()]);
            let tokens: Vec<(u16, f32)> = tokens.into_iter().map(|(tag, score)| (tag % set.len() as u16, score)).collect();
            let (tags, scores): (Vec<u16>, Vec<f32>) = tokens.into_iter().unzip();
            let (mut whole, mut parts) = (Spans::new(&set), Spans::new(&set));
            whole.push(&tags, &scores);
            for (tags, scores) in tags.chunks(part).zip(scores.chunks(part)) {
                parts.push(tags, scores);
            }
            let spans: Vec<Spanned> = whole.found().iter().map(|one| one.0).collect();
            prop_assert_eq!(spans, set.decode(&tags));
            prop_assert_eq!(parts.into_found(), whole.into_found());
        }
    }
}
