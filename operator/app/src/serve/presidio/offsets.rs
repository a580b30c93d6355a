//! Offsets in code points, as Python counts them, and in bytes.

/// Returns the bytes at which code points begin, for any number of offsets in any order; nothing if one lies
/// beyond the end.
pub(super) fn bytes_at(text: &str, points: &[usize]) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_unstable_by_key(|&index| points.get(index));
    let mut bytes = vec![0; points.len()];
    let starts = text.char_indices().map(|(byte, _)| byte).chain([text.len()]);
    let mut numbered = starts.enumerate();
    let mut at = numbered.next()?;
    for index in order {
        let point = *points.get(index)?;
        while at.0 < point {
            at = numbered.next()?;
        }
        *bytes.get_mut(index)? = at.1;
    }
    Some(bytes)
}

/// Converts ascending offsets in bytes to code points in one pass over the text.
pub(super) struct Points<'a> {
    characters: std::iter::Peekable<std::str::CharIndices<'a>>,
    passed: usize,
}

impl<'a> Points<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self {
            characters: text.char_indices().peekable(),
            passed: 0,
        }
    }

    /// Returns the number of code points before a byte. It must not be smaller than the one before.
    pub(super) fn at(&mut self, byte: usize) -> usize {
        while self.characters.next_if(|(start, _)| *start < byte).is_some() {
            self.passed += 1;
        }
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_code_points_in_both_directions() {
        let text = "é👩 Zoë";
        assert_eq!(bytes_at(text, &[6, 0, 2, 3]), Some(vec![11, 0, 6, 7]));
        assert_eq!(bytes_at(text, &[7]), None);
        assert_eq!(bytes_at("", &[0]), Some(vec![0]));
        let mut points = Points::of(text);
        assert_eq!([0, 6, 7, 11].map(|byte| points.at(byte)), [0, 2, 3, 6]);
    }
}
