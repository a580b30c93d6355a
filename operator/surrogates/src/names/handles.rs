//! User names and the local parts of addresses, which consist of names: "jsmith12", "t.wrenfield".

use lethe_text::fold;

use super::{Letters, Names};
use crate::About;
use crate::draw::Draw;
use lethe_text::Case;

impl Names {
    /// Returns `text` with its names, initials and digits replaced as they are elsewhere: "jsmith" follows
    /// "J. Smith". `None` if it has neither letter nor digit.
    pub(crate) fn handle(&self, text: &str, about: &About<'_>, draw: &dyn Draw) -> Option<String> {
        if !text.chars().any(char::is_alphanumeric) {
            return None;
        }
        let letters = Letters::of(draw);
        let mut out = String::with_capacity(text.len() + 8);
        let sort = |c: char| (c.is_alphabetic(), c.is_numeric() && !c.is_alphabetic());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c| sort(c) != sort(first)).unwrap_or(rest.len());
            let (run, tail) = rest.split_at_checked(end)?;
            rest = tail;
            match sort(first) {
                (true, _) => Case::of(run).write(&self.run(run, about, draw, &letters)?, &mut out),
                (_, true) => crate::layout::digits(run, draw, &mut out),
                _ => out.push_str(run),
            }
        }
        Some(out)
    }

    /// Replaces one run of letters: a name, a name with an initial or two at one end, two names, or an
    /// unknown name.
    fn run(&self, run: &str, about: &About<'_>, draw: &dyn Draw, letters: &Letters) -> Option<String> {
        let folded = fold(run);
        let initials = |text: &str| text.chars().map(|c| letter(c, letters)).collect::<String>();
        let total = folded.chars().count();
        if total <= 2 {
            return Some(initials(&folded));
        }
        let given = |word: &str| about.known.has(word);
        let listed = |word: &str| self.pools.class(&self.dictionary, word).is_some();
        if !given(&folded) && !listed(&folded) {
            let cuts: Vec<(&str, &str)> = folded
                .char_indices()
                .skip(1)
                .filter_map(|(at, _)| folded.split_at_checked(at))
                .collect();
            let long = |word: &str, least: usize| word.chars().nth(least - 1).is_some();
            let short = |word: &str| !long(word, 3);
            // The event's names take precedence over the lists.
            for known in [&given as &dyn Fn(&str) -> bool, &|word| {
                long(word, 4) && listed(word)
            }] {
                for &(head, tail) in &cuts {
                    let whole = |word: &str| long(word, 3) && known(word);
                    if whole(head) && whole(tail) {
                        let head = self.folded(head, about, draw, letters)?;
                        return Some(head + &self.folded(tail, about, draw, letters)?);
                    }
                    if short(head) && whole(tail) {
                        return Some(initials(head) + &self.folded(tail, about, draw, letters)?);
                    }
                    if whole(head) && short(tail) {
                        return Some(self.folded(head, about, draw, letters)? + &initials(tail));
                    }
                }
            }
        }
        self.folded(&folded, about, draw, letters)
    }
}

fn letter(c: char, letters: &Letters) -> char {
    let mut buffer = [0; 4];
    char::from(letters.get(c.encode_utf8(&mut buffer)))
}
