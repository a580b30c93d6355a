//! The state that is carried from window to window.

use std::ops::Range;

use lethe_core::NoteView;
use lethe_dictionaries::Matcher;

use crate::features::Extractor;
use crate::features::hits::{Ends, Found, Hits, phrases};
use crate::pos::{Context, PosTagger, Vectors};

/// The entries of several words found so far.
pub(super) struct Phrases {
    next: usize,
    ends: Ends,
    hits: Hits,
}

impl Default for Phrases {
    fn default() -> Self {
        Self {
            next: 0,
            ends: [0; 64],
            hits: Hits::new(),
        }
    }
}

/// The rules' spans that end after the window's start.
#[derive(Default)]
pub(super) struct Active {
    next: usize,
    found: Vec<Found>,
}

/// The parts of speech determined so far.
#[derive(Default)]
pub(super) struct Parts {
    /// The token of the first tag.
    first: usize,
    tags: Vec<u8>,
    sentence: usize,
    context: Context,
}

impl Phrases {
    /// Returns the hits of these tokens, counted from the first of them; keeps those from token `keep` on.
    pub(super) fn hits(
        &mut self,
        note: &NoteView<'_>,
        matcher: &mut Matcher<'_>,
        extractor: &Extractor,
        tokens: &Range<usize>,
        keep: usize,
    ) -> Hits {
        let new = self.next..tokens.end;
        self.next = tokens.end;
        phrases(
            note,
            new,
            matcher,
            &extractor.groups,
            &mut self.ends,
            &mut self.hits,
        );
        let hits = shifted(&self.hits, tokens);
        self.hits.retain(|hit| hit.0 as usize >= keep);
        hits
    }
}

impl Active {
    /// Returns the hits of these tokens, counted from the first of them; `all` are the rules' spans by first
    /// token.
    pub(super) fn hits(&mut self, all: &[Found], tokens: &Range<usize>) -> Hits {
        self.found.retain(|found| found.end as usize > tokens.start);
        while let Some(found) = all
            .get(self.next)
            .filter(|found| (found.first as usize) < tokens.end)
        {
            self.found.push(*found);
            self.next += 1;
        }
        let mut hits = Hits::new();
        self.found.iter().for_each(|found| found.hits(tokens, &mut hits));
        shifted(&hits, tokens)
    }
}

/// Returns the hits of these tokens, counted from the first of them.
fn shifted(hits: &[(u32, u64)], tokens: &Range<usize>) -> Hits {
    let own = hits.iter().filter(|hit| tokens.contains(&(hit.0 as usize)));
    own.map(|hit| (hit.0 - tokens.start as u32, hit.1)).collect()
}

impl Parts {
    /// Returns the token of the first tag.
    pub(super) const fn first(&self) -> usize {
        self.first
    }

    /// Returns the tags from that token on.
    pub(super) fn tags(&self) -> &[u8] {
        &self.tags
    }

    /// Tags the note's tokens up to `end`; `vectors` begin with those of token `from`.
    pub(super) fn read(
        &mut self,
        note: &NoteView<'_>,
        tagger: &PosTagger,
        end: usize,
        vectors: &[Vectors],
        from: usize,
    ) {
        let covered = note.sentence_ends.last().map_or(0, |&end| end as usize);
        for i in self.first + self.tags.len()..end.min(covered) {
            while note
                .sentence_ends
                .get(self.sentence)
                .is_some_and(|&end| i >= end as usize)
            {
                self.sentence += 1;
                self.context = Context::default();
            }
            let ends = note.sentence_ends.get(self.sentence).copied().unwrap_or(0);
            let after = (i + 1 < ends as usize).then(|| &vectors[i + 1 - from]);
            self.tags
                .push(tagger.next(&mut self.context, &vectors[i - from], after));
        }
    }

    /// Forgets the tags of tokens before this one.
    pub(super) fn forget(&mut self, token: usize) {
        self.tags.drain(..token - self.first);
        self.first = token;
    }
}
