//! Finds the resources that content names.

use std::collections::HashMap;

/// A kind of resources.
pub(super) struct Kind {
    /// Its key in a dictionary of resources.
    pub(super) key: &'static [u8],
    /// The operators that take one.
    pub(super) operators: &'static [&'static [u8]],
    /// The depth of references followed from the resource.
    pub(super) depth: usize,
}

/// All kinds that content can name.
pub(super) const KINDS: [Kind; 7] = [
    Kind {
        key: b"ExtGState",
        operators: &[b"gs"],
        depth: 4,
    },
    Kind {
        key: b"Shading",
        operators: &[b"sh"],
        depth: 4,
    },
    Kind {
        key: b"Pattern",
        operators: &[b"scn", b"SCN"],
        depth: 5,
    },
    Kind {
        key: b"ColorSpace",
        operators: &[b"cs", b"CS"],
        depth: 1,
    },
    Kind {
        key: b"XObject",
        operators: &[b"Do"],
        depth: 1,
    },
    Kind {
        key: b"Font",
        operators: &[b"Tf"],
        depth: 1,
    },
    Kind {
        key: b"Properties",
        operators: &[b"BDC", b"DP"],
        depth: 2,
    },
];

/// Cost of resources by name and kind.
pub(super) type Taken = HashMap<Vec<u8>, [usize; KINDS.len()]>;

/// Returns the cost of the resources that this content names, once per use. Counts everything that looks like
/// a name and an operator, also in strings, comments and pictures: it may overcount, but never misses one.
pub(super) fn named(content: &[u8], taken: &Taken) -> usize {
    let mut total = 0usize;
    // Cost of the names since the last operator, by kind.
    let mut since = [0usize; KINDS.len()];
    let mut at = 0;
    while let Some(&byte) = content.get(at) {
        at += 1;
        if !is_regular(byte) && byte != b'/' {
            continue;
        }
        let start = if byte == b'/' { at } else { at - 1 };
        let rest = content.get(start..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|&byte| !is_regular(byte))
            .unwrap_or(rest.len());
        let token = rest.get(..length).unwrap_or_default();
        at = start + length;
        if byte == b'/' {
            let found = match token.contains(&b'#') {
                true => taken.get(&unescaped(token)),
                false => taken.get(token),
            };
            for (since, bytes) in since.iter_mut().zip(found.into_iter().flatten()) {
                *since = since.saturating_add(*bytes);
            }
            continue;
        }
        for (kind, since) in KINDS.iter().zip(&mut since) {
            // A number may directly precede an operator.
            if kind.operators.iter().any(|operator| token.ends_with(operator)) {
                total = total.saturating_add(std::mem::take(since));
            }
        }
    }
    total
}

const fn is_regular(byte: u8) -> bool {
    !matches!(
        byte,
        0 | b'\t'
            | b'\n'
            | 0xc
            | b'\r'
            | b' '
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'/'
            | b'%'
    )
}

/// Decodes a name whose bytes may be written as `#` and two digits.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let [byte, after @ ..] = rest {
        rest = after;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let escaped = match (byte, after) {
            (b'#', [high, low, ..]) => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or_default());
                rest = after.get(2..).unwrap_or_default();
            }
            None => out.push(*byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(content: &str) -> usize {
        let mut state = [0; KINDS.len()];
        state[0] = 100;
        let taken = [(b"G".to_vec(), state)].into_iter().collect();
        named(content.as_bytes(), &taken)
    }

    #[test]
    fn resources_are_counted_as_often_as_they_are_named_however_their_names_are_written() {
        assert_eq!(taken("/G gs q /G\ngs /G%\ngs"), 300);
        assert_eq!(taken("/#47 gs/G 1gs"), 200);
        assert_eq!(taken("/G/G gs"), 200);
        assert_eq!(taken("BI /W 1 ID ( EI /G gs"), 100);
    }

    #[test]
    fn what_another_operator_names_is_no_graphics_state() {
        assert_eq!(
            taken("/G Do /H gs /Gx gs"),
            100,
            "the name may still be the next operator's"
        );
        assert_eq!(taken("/H gs /G Do /#4 gs"), 100);
        assert_eq!(taken("/G Do /G 9 Tf"), 0);
    }
}
