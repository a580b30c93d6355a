//! Finds one typing error between two words and makes the same error in another word, so that a misspelt name
//! stays a misspelling of the same person's name.

/// The kind of error, and its position in letters from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
    /// Two neighbours swapped.
    Swapped(usize),
    /// A letter added.
    Added(usize),
    /// A letter missing.
    Dropped(usize),
    /// A letter changed.
    Changed(usize),
}

/// Returns the one error that turns `right` into `wrong`; `None` if they are equal or differ by more.
pub(super) fn slip(right: &str, wrong: &str) -> Option<Slip> {
    let (right_len, wrong_len) = (right.chars().count(), wrong.chars().count());
    if right_len.abs_diff(wrong_len) > 1 {
        return None;
    }
    let same = right
        .chars()
        .zip(wrong.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let rest = |text: &str, from: usize| text.chars().skip(from).collect::<String>();
    let (a, b) = (rest(right, same), rest(wrong, same));
    if a.is_empty() && b.is_empty() {
        return None;
    }
    if wrong_len > right_len {
        return (rest(&b, 1) == a).then_some(Slip::Added(same));
    }
    if wrong_len < right_len {
        return (rest(&a, 1) == b).then_some(Slip::Dropped(same));
    }
    if rest(&a, 1) == rest(&b, 1) {
        return Some(Slip::Changed(same));
    }
    let (mut x, mut y) = (a.chars(), b.chars());
    let swapped = x.next() == y.nth(1) && x.next() == b.chars().next() && rest(&a, 2) == rest(&b, 2);
    swapped.then_some(Slip::Swapped(same))
}

/// Makes the same error at the corresponding place of `name`, but never at its first letter, so that an
/// initial still agrees.
///
/// `letter` is the lower-case letter for an addition or a change.
pub(super) fn misspelt(name: &str, slip: Slip, of: usize, letter: char) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    let len = letters.len();
    if len < 3 {
        return name.to_owned();
    }
    let place = |at: usize, most: usize| (at * len / of.max(1)).clamp(1, most);
    match slip {
        Slip::Swapped(at) => {
            let from = place(at, len - 2);
            // Swapping two equal letters is invisible: the next two that differ are swapped.
            let two = (0..len - 2).map(|step| 1 + (from - 1 + step) % (len - 2));
            if let Some(i) = two.into_iter().find(|&i| letters[i] != letters[i + 1]) {
                letters.swap(i, i + 1);
            }
        }
        // A doubled letter is the most common addition.
        Slip::Added(at) => {
            let i = place(at, len - 1);
            letters.insert(i, letters[i]);
        }
        Slip::Dropped(at) => {
            letters.remove(place(at, len - 1));
        }
        Slip::Changed(at) => {
            let i = place(at, len - 1);
            let other = if letters[i] == letter { 'e' } else { letter };
            letters[i] = if other == letters[i] { 'a' } else { other };
        }
    }
    letters.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_error_is_seen_and_two_are_not() {
        for (right, wrong, expected) in [
            ("wrenfield", "wrenfeild", Some(Slip::Swapped(5))),
            ("wrenfield", "wrenffield", Some(Slip::Added(5))),
            ("wrenfield", "wrenfild", Some(Slip::Dropped(6))),
            ("wrenfield", "wrenfyeld", Some(Slip::Changed(5))),
            ("wrenfield", "wrenfields", Some(Slip::Added(9))),
            ("wrenfield", "wrenfield", None),
            ("wrenfield", "wranfeild", None),
            ("okafor", "lindqvist", None),
            ("", "", None),
        ] {
            assert_eq!(slip(right, wrong), expected, "{right} {wrong}");
        }
    }

    #[test]
    fn the_like_error_is_made_at_the_like_place() {
        assert_eq!(misspelt("Holloway", Slip::Swapped(5), 9, 'x'), "Hollwoay");
        assert_eq!(misspelt("Holloway", Slip::Dropped(6), 9, 'x'), "Holloay");
        assert_eq!(misspelt("Holloway", Slip::Changed(1), 9, 'x'), "Hxlloway");
    }

    proptest! {
        #[test]
        fn an_error_made_is_an_error_seen(name in "[a-z]{4,12}", at in 0usize..12, kind in 0usize..4) {
            let slips = [Slip::Swapped(at), Slip::Added(at), Slip::Dropped(at), Slip::Changed(at)];
            let wrong = misspelt(&name, slips[kind], 12, 'k');
            prop_assert_eq!(wrong.chars().next(), name.chars().next());
            let uniform = name.bytes().skip(1).all(|byte| byte == name.as_bytes()[1]);
            prop_assert!(uniform && kind == 0 || slip(&name, &wrong).is_some(), "{} {}", name, wrong);
        }
    }
}
