//! Tags as the states of a chain, laid out so that decoding is a few passes over padded rows.
//!
//! Most tags of a scheme can be entered from almost any tag (`O`, `B`, `U`); the rest only continue a span of
//! their own label (`I`, `L`). The first are the *free* states, the second the *inner* ones. So a step of the
//! chain is one small dense product over the free states and two multiplications per inner state, and no
//! forbidden step exists.

use lethe_learn::{Scheme, TagSet};

/// Rows of scores are padded to a multiple of this.
pub const LANES: usize = 8;

/// The weight of a forbidden step: below any path, and far from overflow.
pub const FORBIDDEN: f32 = -1e9;

const PADDING: u16 = u16::MAX;

/// The tag set has too many labels for one byte per state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{labels} labels make {states} states, but a member has 256 at most")]
pub struct StatesError {
    labels: usize,
    states: usize,
}

/// The states of a tag set: free ones from 0 (`O`, then every `B`, then every `U`), padded to
/// [`States::free_width`]; then inner ones (every `I`, then every `L`), padded to [`States::width`].
#[derive(Clone, Debug, PartialEq)]
pub struct States {
    tags: TagSet,
    labels: usize,
    free: usize,
    free_width: usize,
    inner: usize,
    width: usize,
    tag_of: Vec<u16>,
    state_of: Vec<u8>,
    closed: Vec<u8>,
}

impl States {
    /// Lays out the states of these tags.
    ///
    /// # Errors
    /// [`StatesError`] if they do not fit a byte.
    pub fn new(tags: TagSet) -> Result<Self, StatesError> {
        let labels = tags.labels().len();
        let groups = match tags.scheme() {
            Scheme::Bio => 1,
            Scheme::Bilou => 2,
        };
        let pad = |n: usize| n.div_ceil(LANES) * LANES;
        let (free, inner) = (1 + groups * labels, groups * labels);
        let free_width = pad(free);
        let width = free_width + pad(inner);
        if width > 256 {
            return Err(StatesError {
                labels,
                states: width,
            });
        }
        let mut states = Self {
            labels,
            free,
            free_width,
            inner,
            width,
            tag_of: vec![PADDING; width],
            state_of: vec![0; tags.len()],
            closed: Vec::new(),
            tags,
        };
        for tag in 0..states.tags.len() as u16 {
            // The parts are B, I, L, U in this order.
            let state = match states.tags.part(tag) {
                None => 0,
                Some((label, 0)) => 1 + label,
                Some((label, 1)) => free_width + label,
                Some((label, 2)) => free_width + labels + label,
                Some((label, _)) => 1 + labels + label,
            };
            states.state_of[tag as usize] = state as u8;
            states.tag_of[state] = tag;
        }
        states.closed = (0..width)
            .filter(|&state| states.is_state(state) && states.tags.may_follow(states.tag(state), None))
            .map(|state| state as u8)
            .collect();
        Ok(states)
    }

    /// Returns the tags.
    pub const fn tags(&self) -> &TagSet {
        &self.tags
    }

    /// Returns the length of a row of scores, padding included.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Returns the length of a row over the free states, padding included.
    pub const fn free_width(&self) -> usize {
        self.free_width
    }

    /// Returns the number of free states.
    pub const fn free(&self) -> usize {
        self.free
    }

    /// Returns the number of inner states.
    pub const fn inner(&self) -> usize {
        self.inner
    }

    /// Returns the length of a row over the inner states, padding included.
    pub const fn inner_width(&self) -> usize {
        self.width - self.free_width
    }

    /// Returns the number of labels.
    pub const fn labels(&self) -> usize {
        self.labels
    }

    /// Returns the states after which no span is open: they may precede every free state, and end a note.
    pub fn closed(&self) -> &[u8] {
        &self.closed
    }

    /// Returns whether this index is a state and not padding.
    pub fn is_state(&self, state: usize) -> bool {
        self.tag_of[state] != PADDING
    }

    /// Returns the states, without the padding.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.width).filter(|&state| self.is_state(state))
    }

    /// Returns a tag's state.
    pub fn of(&self, tag: u16) -> u8 {
        self.state_of[tag as usize]
    }

    /// Returns a state's tag; `None` for padding.
    pub fn tag(&self, state: usize) -> Option<u16> {
        Some(self.tag_of[state]).filter(|&tag| tag != PADDING)
    }

    /// Returns the two states from which an inner one is entered: its label's `B` and `I`. `inner` counts
    /// from the first inner one.
    pub fn entered_from(&self, inner: usize) -> [usize; 2] {
        let label = inner % self.labels.max(1);
        [1 + label, self.free_width + label]
    }

    /// Returns whether `next` may follow `before` (`None`: the note's start).
    pub fn may_follow(&self, before: Option<usize>, next: usize) -> bool {
        self.tag(next).is_some_and(|next| {
            self.tags
                .may_follow(before.and_then(|before| self.tag(before)), Some(next))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_agrees_with_what_the_scheme_allows() {
        for scheme in [Scheme::Bio, Scheme::Bilou] {
            let labels = ["A", "B", "C"].map(str::to_owned).to_vec();
            let states = States::new(TagSet::new(scheme, labels)).unwrap();
            assert_eq!(states.iter().count(), states.tags().len());
            for before in states.iter() {
                let closed = states.closed().contains(&(before as u8));
                for next in states.iter() {
                    let by_layout = match next.checked_sub(states.free_width()) {
                        None => closed,
                        Some(inner) => states.entered_from(inner).contains(&before),
                    };
                    assert_eq!(
                        by_layout,
                        states.may_follow(Some(before), next),
                        "{before} {next}"
                    );
                }
            }
            for tag in 0..states.tags().len() as u16 {
                assert_eq!(states.tag(states.of(tag) as usize), Some(tag));
            }
        }
    }

    #[test]
    fn more_labels_than_a_byte_holds_are_refused() {
        let labels = (0..200).map(|i| i.to_string()).collect();
        let refused = States::new(TagSet::new(Scheme::Bio, labels)).unwrap_err();
        assert!(refused.to_string().contains("200 labels"));
    }
}
