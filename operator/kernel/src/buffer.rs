//! Numbers aligned to cache lines, so that no vector load straddles two.

use std::ops::{Deref, DerefMut};

/// One cache line of numbers.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// A growable row of `f32` whose first one lies on a 64-byte boundary.
#[derive(Clone, Default)]
pub struct Buffer {
    lines: Vec<Line>,
    len: usize,
}

impl Buffer {
    /// Creates a buffer of `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut buffer = Self::default();
        buffer.reset(len);
        buffer
    }

    /// Returns the bytes of memory that it takes, of which it may use a part.
    pub const fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }

    /// Makes it `len` zeros long; keeps its memory.
    pub fn reset(&mut self, len: usize) {
        self.len = 0;
        self.resize(len);
    }

    /// Makes it `len` long; new numbers are zero, and old ones stay.
    pub fn resize(&mut self, len: usize) {
        let old = self.len.min(len);
        self.reuse(len);
        self[old..].fill(0.0);
    }

    /// Makes it `len` long, for callers that overwrite all of it: new numbers may be left over from an
    /// earlier use.
    pub fn reuse(&mut self, len: usize) {
        let lines = len.div_ceil(16);
        if lines > self.lines.len() {
            self.lines.resize(lines, Line::default());
        }
        self.len = len;
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: `Line` is `repr(C)` of sixteen `f32` with size 64 and no padding, so that `lines` is one
        // run of `16 * lines.len()` initialised `f32`, and `len` never exceeds that (`reuse` alone sets it).
        // An empty vector's pointer is dangling but aligned, as a slice of length 0 wants it.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast::<f32>(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`; `&mut self` makes the borrow the only one.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<f32>(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_starts_on_a_cache_line_and_what_is_new_is_zero() {
        let mut buffer = Buffer::zeros(20);
        assert_eq!(buffer.as_ptr() as usize % 64, 0);
        buffer.fill(1.0);
        buffer.resize(3);
        buffer.resize(40);
        assert_eq!(buffer.len(), 40);
        assert_eq!(buffer.iter().sum::<f32>(), 3.0);
        buffer.reset(5);
        assert_eq!(&buffer[..], [0.0; 5]);
        buffer.fill(2.0);
        buffer.reuse(2);
        buffer.resize(4);
        assert_eq!(&buffer[..], [2.0, 2.0, 0.0, 0.0]);
        assert!(Buffer::default().is_empty());
    }
}
