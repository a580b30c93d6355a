//! The order of the tags in a row of scores.

use std::ops::Range;

use lethe_kernel::{Isa, columns};
use lethe_learn::{Scheme, TagSet};

/// The columns of a row of scores: first the tags that begin a span or lie outside, then `L-`, then `I-`.
#[derive(Clone)]
pub(super) struct Columns {
    /// The column of each tag.
    pub(super) of: Vec<usize>,
    /// The numbers of a row, padding included.
    pub(super) width: usize,
    /// The tags that follow any of `closed`.
    pub(super) open: Range<usize>,
    /// The tags that `open` follow.
    pub(super) closed: Range<usize>,
    /// The other tags.
    pub(super) inner: Vec<Inner>,
}

/// A run of columns, one for each label, and where those of the two tags begin that each follows.
#[derive(Clone)]
pub(super) struct Inner {
    pub(super) at: usize,
    pub(super) after: [usize; 2],
}

impl Columns {
    pub(super) fn new(isa: Isa, tags: &TagSet) -> Self {
        let labels = tags.labels().len();
        let panel = columns(1, isa);
        // The first column of `B-` and of `U-`, the column outside of spans, and the end of these.
        let (begin, outside, unit, open) = match tags.scheme() {
            Scheme::Bilou => (0, labels, labels + 1, (2 * labels + 1).next_multiple_of(panel)),
            Scheme::Bio => (1, 0, 0, (labels + 1).next_multiple_of(panel)),
        };
        let (last, inside, closed) = match tags.scheme() {
            Scheme::Bilou => (open, open + labels, outside..open + labels),
            Scheme::Bio => (0, open, 0..open + labels),
        };
        let of = (0..tags.len() as u16).map(|tag| match tags.part(tag) {
            None => outside,
            Some((label, part)) => label + [begin, inside, last, unit][part],
        });
        let follows = |at| Inner {
            at,
            after: [begin, inside],
        };
        let inner = match tags.scheme() {
            Scheme::Bilou => vec![follows(last), follows(inside)],
            Scheme::Bio => vec![follows(inside)],
        };
        Self {
            of: of.collect(),
            width: columns(
                (inside + labels).max(closed.start + columns(closed.len(), isa)),
                isa,
            ),
            open: 0..open,
            closed,
            inner,
        }
    }

    /// Puts numbers of tags in the order of the columns; padding is `pad`.
    pub(super) fn place(&self, of_tags: &[f32], pad: f32) -> Vec<f32> {
        let mut row = vec![pad; self.width];
        self.of
            .iter()
            .zip(of_tags)
            .for_each(|(&at, &number)| row[at] = number);
        row
    }
}
