//! Propagation: redacts a value that was redacted once at every other occurrence in its note.
//!
//! A member finds "Mr Okafor" by its title and misses "Okafor improved" two pages later; an id after "MRN"
//! occurs again in a file name. A reader of the redacted note would see both. The values to propagate come
//! from the decisions, so a note without decisions is not searched.

mod groups;
mod values;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use crate::{DecidingRule, Decision, Hipaa, LabelSet, NoteView, Span, TokenKind};
use groups::Groups;
use values::Values;

/// The shortest run of digits that is propagated: shorter ones are doses, counts and days.
const DIGITS: usize = 4;
/// The fewest letters of a name's part that is propagated: shorter ones are initials and syllables.
const LETTERS: usize = 3;
/// The fewest characters of any other one-word value that is propagated.
const CHARACTERS: usize = 4;

/// Returns whether a word of a name names nobody, for instance a particle or a title, in any case.
pub type NamesNobody = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Finds further occurrences of redacted values.
#[derive(Clone)]
pub struct Propagation {
    /// By label: whether its values are names, each part of which is propagated too.
    names: Vec<bool>,
    /// By label: whether it is left out because its values are ordinary numbers or words.
    never: Vec<bool>,
    /// Words of names that are not propagated.
    nobody: NamesNobody,
}

/// The number of decisions after which the memory of their values is checked.
const CHECKED: usize = 1 << 10;

impl Propagation {
    /// Creates a propagation over decisions of this set.
    pub fn new(labels: &LabelSet, nobody: NamesNobody) -> Self {
        let all = labels.labels();
        let age = labels.resolve("AGE").ok().map(|label| usize::from(label.0));
        Self {
            names: all.iter().map(|label| label.hipaa == Hipaa::Names).collect(),
            // "White" is a race in a form, and a count of cells on the next line.
            never: (all.iter().enumerate())
                .map(|(label, of)| Some(label) == age || of.hipaa == Hipaa::Unlisted)
                .collect(),
            nobody,
        }
    }

    /// Adds the further occurrences. `decisions` are sorted and free of overlaps, and stay so.
    pub fn apply(&self, note: NoteView<'_>, decisions: &mut Vec<Decision>) {
        let unlimited = |_| Ok::<_, Infallible>(());
        let Ok(found) = self.find(note, decisions, unlimited);
        Self::add(&found, decisions);
    }

    /// Returns the further occurrences: each span with the index of the decision that it repeats. `decisions`
    /// are sorted and free of overlaps. Calls `allow` with the memory of the values, in bytes, as it grows.
    ///
    /// # Errors
    /// The error of `allow`, which ends the search.
    pub(crate) fn find<E>(
        &self,
        note: NoteView<'_>,
        decisions: &[Decision],
        allow: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Vec<(Span, usize)>, E> {
        let mut found = Vec::new();
        let (sought, digits) = self.sought(note, decisions, allow)?;
        if sought.is_empty() && digits.is_empty() {
            return Ok(found);
        }
        let mut next = 0;
        let mut token = 0;
        while token < note.tokens.len() {
            let at = note.tokens.span(token);
            while decisions
                .get(next)
                .is_some_and(|decision| decision.span.end() <= at.start())
            {
                next += 1;
            }
            let free_to = decisions
                .get(next)
                .map_or(note.text.len(), |decision| decision.span.start());
            if at.end() > free_to {
                token += 1;
                continue;
            }
            match Self::at(note, token, free_to, &sought, &digits) {
                Some((origin, last)) => {
                    found.push((note.tokens_span(token, last), origin));
                    token = last + 1;
                }
                None => token += 1,
            }
        }
        Ok(found)
    }

    /// Adds what [`find`](Self::find) found.
    pub(crate) fn add(found: &[(Span, usize)], decisions: &mut Vec<Decision>) {
        if found.is_empty() {
            return;
        }
        decisions.reserve_exact(found.len());
        for &(span, origin) in found {
            let from = &decisions[origin];
            decisions.push(Decision {
                span,
                rule: "sweep",
                deciding_rule: DecidingRule::Propagation,
                overruled: Vec::new(),
                ..from.clone()
            });
        }
        decisions.sort_by_key(|decision| decision.span.start());
    }

    /// Returns the values and groups of digits to look for.
    fn sought<'a, E>(
        &self,
        note: NoteView<'a>,
        decisions: &[Decision],
        mut allow: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(Values<'a>, Groups<'a>), E> {
        let mut sought = Values::default();
        let mut digits = Groups::default();
        for (origin, decision) in decisions.iter().enumerate() {
            if origin % CHECKED == CHECKED - 1 {
                allow(sought.bytes() + digits.bytes())?;
            }
            let label = usize::from(decision.label.0);
            if self.never.get(label).copied().unwrap_or(false) {
                continue;
            }
            let first = note.tokens.at_or_after(decision.span.start());
            let end = note.tokens.at_or_after(decision.span.end());
            let is_name = self.names.get(label).copied().unwrap_or(false);
            for token in first..end {
                let word = note.word(token);
                match note.tokens.kind(token) {
                    TokenKind::Digits if word.len() >= DIGITS => digits.add(word, origin),
                    TokenKind::Letters
                        if is_name && word.chars().count() >= LETTERS && !(self.nobody)(word) =>
                    {
                        sought.add(vec![word], true, origin);
                    }
                    _ => {}
                }
            }
            let whole: Vec<&str> = (first..end).map(|token| note.word(token)).collect();
            let long = whole.iter().map(|word| word.chars().count()).sum::<usize>() >= CHARACTERS;
            let says = whole
                .iter()
                .any(|word| word.chars().any(char::is_alphanumeric) && !(self.nobody)(word));
            if long && says {
                sought.add(whole, false, origin);
            }
        }
        Ok((sought, digits))
    }

    /// Returns the origin and last token of the value that begins at a token and ends before `free_to`, if
    /// there is one.
    fn at(
        note: NoteView<'_>,
        token: usize,
        free_to: usize,
        sought: &Values<'_>,
        digits: &Groups<'_>,
    ) -> Option<(usize, usize)> {
        if let Some((origin, tokens)) = sought.at(note, token, free_to) {
            return Some((origin, token + tokens - 1));
        }
        // Digits alone come second: a repeated date is a date, not a year and the text after it.
        let is_digits = note.tokens.kind(token) == TokenKind::Digits;
        let origin = if is_digits {
            digits.within(note.word(token))
        } else {
            None
        };
        Some((origin?, token))
    }
}

impl fmt::Debug for Propagation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Propagation")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{MemberSet, NoteBatch};

    /// Returns the text with every decided span in braces: `given` spans by label, and those that propagation
    /// adds.
    fn swept(text: &str, given: &[(&str, &str)]) -> String {
        let labels = LabelSet::i2b2_2014();
        let batch = NoteBatch::from_texts([text]).unwrap();
        let mut decisions: Vec<Decision> = given
            .iter()
            .map(|(label, value)| {
                let start = text.find(value).unwrap();
                let span = Span::new(start, start + value.len()).unwrap();
                Decision::new(
                    span,
                    labels.by_name(label).unwrap(),
                    MemberSet::default().with(1),
                    0.5,
                )
            })
            .collect();
        decisions.sort_by_key(|decision| decision.span.start());
        Propagation::new(&labels, Arc::new(|word| ["de", "Dr"].contains(&word)))
            .apply(batch.note(0), &mut decisions);
        let (mut out, mut at) = (String::new(), 0);
        for decision in &decisions {
            assert!(decision.span.start() >= at, "sorted and free of overlaps");
            out += Span::new(at, decision.span.start()).unwrap().of(text);
            out += &format!("{{{}}}", decision.span.of(text));
            at = decision.span.end();
        }
        out + Span::new(at, text.len()).unwrap().of(text)
    }

    #[test]
    fn a_names_parts_are_found_again_in_any_case_that_begins_with_a_capital() {
        assert_eq!(
            swept(
                "Mr Ada Okafor. OKAFOR slept, Ada too; ada is a tongue.",
                &[("PATIENT", "Ada Okafor")]
            ),
            "Mr {Ada Okafor}. {OKAFOR} slept, {Ada} too; ada is a tongue."
        );
    }

    #[test]
    fn a_further_occurrence_names_propagation_as_its_rule() {
        let labels = LabelSet::i2b2_2014();
        let batch = NoteBatch::from_texts(["Okafor slept. Okafor left."]).unwrap();
        let name = labels.by_name("PATIENT").unwrap();
        let mut decisions = vec![Decision::new(
            Span::between(0, 6),
            name,
            MemberSet::default().with(1),
            0.5,
        )];
        Propagation::new(&labels, Arc::new(|_| false)).apply(batch.note(0), &mut decisions);
        let rules: Vec<_> = decisions.iter().map(|decision| decision.deciding_rule).collect();
        assert_eq!(rules, [DecidingRule::Combiner, DecidingRule::Propagation]);
    }

    #[test]
    fn a_part_that_was_found_in_small_letters_is_found_in_small_letters() {
        assert_eq!(
            swept("pt okafor; okafor left", &[("PATIENT", "okafor")]),
            "pt {okafor}; {okafor} left"
        );
    }

    #[test]
    fn groups_of_four_digits_are_found_again_and_within_longer_ones() {
        assert_eq!(
            swept(
                "MRN 12-3456. File 3456.pdf, 993456, 12 mg, 345",
                &[("MEDICALRECORD", "12-3456")]
            ),
            "MRN {12-3456}. File {3456}.pdf, {993456}, 12 mg, 345"
        );
    }

    proptest! {
        #[test]
        fn the_group_of_digits_that_came_first_is_found_within_a_longer_one(
            groups in proptest::collection::vec("[01]{4,7}|[01]{31,34}|[٠١]{2,20}", 1..8),
            word in "[01]{0,60}|[٠١]{0,30}",
            around in any::<prop::sample::Index>(),
        ) {
            let group: &String = around.get(&groups);
            let word = word + group;
            let mut all = Groups::default();
            groups.iter().enumerate().for_each(|(origin, group)| all.add(group, origin));
            prop_assert_eq!(all.within(&word), groups.iter().position(|group| word.contains(group.as_str())));
        }
    }

    #[test]
    fn a_whole_value_is_found_again_as_it_stands() {
        assert_eq!(
            swept(
                "At Saint Mary today. Saint Mary; saint mary; Mary.",
                &[("HOSPITAL", "Saint Mary")]
            ),
            "At {Saint Mary} today. {Saint Mary}; saint mary; Mary."
        );
    }

    #[test]
    fn values_take_the_memory_of_the_distinct_ones_and_end_the_search_when_it_is_refused() {
        let labels = LabelSet::i2b2_2014();
        let propagation = Propagation::new(&labels, Arc::new(|_| false));
        let most = |text: &str, allowed: usize| {
            let batch = NoteBatch::from_texts([text]).unwrap();
            let note = batch.note(0);
            let id = labels.by_name("MEDICALRECORD").unwrap();
            let decision = |token| {
                Decision::new(
                    note.tokens_span(token, token),
                    id,
                    MemberSet::default().with(1),
                    0.5,
                )
            };
            let decisions: Vec<_> = (0..note.tokens.len()).map(decision).collect();
            let mut most = 0;
            let found = propagation.find(note, &decisions, |bytes| {
                most = most.max(bytes);
                if bytes > allowed { Err(()) } else { Ok(()) }
            });
            (found.map(|found| found.len()), most)
        };
        let numbers = |count: usize, distinct: usize| -> String {
            (0..count)
                .map(|i| format!("{} ", 100_000 + i % distinct))
                .collect()
        };
        let (found, same) = most(&numbers(20_000, 10), usize::MAX);
        assert_eq!(found, Ok(0));
        let (_, different) = most(&numbers(20_000, 20_000), usize::MAX);
        assert!(different > 1000 * same, "{same} {different}");
        let (found, few) = most(&numbers(20_000, 20_000), different / 4);
        assert_eq!(found, Err(()));
        assert!(few < different / 3);
    }

    #[test]
    fn a_date_that_stands_again_is_found_whole() {
        assert_eq!(
            swept(
                "Born 1950-01-02. DOB 1950-01-02 (1950)",
                &[("DATE", "1950-01-02")]
            ),
            "Born {1950-01-02}. DOB {1950-01-02} ({1950})"
        );
    }

    #[test]
    fn particles_initials_ages_and_short_values_are_not_looked_for() {
        let text = "Dr J de Wit, 45, unit 7. J gave 45 mg, de novo, 7 days";
        assert_eq!(
            swept(text, &[("DOCTOR", "Dr J de Wit"), ("AGE", "45"), ("ROOM", "7")]),
            "{Dr J de Wit}, {45}, unit {7}. J gave 45 mg, de novo, 7 days"
        );
    }

    #[test]
    fn a_word_for_the_origin_is_not_looked_for() {
        let labels = LabelSet::i2b2_2014().with_origin();
        let batch = NoteBatch::from_texts(["Race: White. White cell count 7"]).unwrap();
        let origin = Decision::new(
            Span::between(6, 11),
            labels.origin().unwrap(),
            MemberSet::default().with(1),
            0.9,
        );
        let mut decisions = vec![origin];
        Propagation::new(&labels, Arc::new(|_| false)).apply(batch.note(0), &mut decisions);
        assert_eq!(decisions.len(), 1);
    }

    #[test]
    fn a_note_in_which_nothing_was_found_is_left_alone() {
        assert_eq!(swept("Nothing here", &[]), "Nothing here");
    }
}
