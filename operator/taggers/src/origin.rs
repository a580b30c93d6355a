//! `origin`: words for a person's nationality, ethnicity, religion or language, where they are about a person.
//!
//! These are the special categories of Article 9 GDPR and what leads to them. The words alone prove nothing:
//! "German measles", "white matter" and "Catholic Medical Center" are about nobody. So a word counts only next to
//! a cue: a word for a person ("a Somali woman"), for descent or belonging ("of Nigerian origin"), for speaking
//! ("through a Tigrinya interpreter"), a verb with a person as its subject ("he is Jewish"), or the key of a form
//! ("Ethnicity: Hispanic").
//!
//! One pass finds the words, and a second the cues. A cue looks at a bounded number of tokens around it, so that
//! the time is linear in the note's length.

mod cues;
mod fields;
mod people;
mod spanish;
mod speech;
mod terms;

use lethe_core::{
    Annotations, Collector, LabelError, LabelId, LabelSet, NoteBatch, NoteView, ORIGIN, TagError, Tagger,
    tag_each,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pattern::Language;
use crate::words::{Case, Words};
use cues::{Cue, Cues};
use terms::{Kind, Terms};

/// Settings of the `origin` member.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OriginConfig {
    /// The languages whose cues it knows.
    #[schemars(extend("examples" = [["en"]]))]
    pub languages: Vec<Language>,
}

impl Default for OriginConfig {
    /// Knows the cues of both languages.
    fn default() -> Self {
        Self {
            languages: vec![Language::En, Language::Es],
        }
    }
}

impl OriginConfig {
    /// Builds the member. [`LabelSet::with_origin`] adds its label to a set that lacks it.
    ///
    /// # Errors
    /// [`LabelError::Missing`] if the label set has no label for `ORIGIN`.
    pub fn build(&self, labels: &LabelSet) -> Result<Origin, LabelError> {
        Ok(Origin {
            label: labels.resolve(ORIGIN)?,
            terms: Terms::new(),
            cues: Cues::new(&self.languages),
        })
    }
}

/// The `origin` member.
pub struct Origin {
    label: LabelId,
    terms: Terms,
    cues: Cues,
}

impl Tagger for Origin {
    fn name(&self) -> &str {
        "origin"
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        tag_each(batch, |note, out| self.tag_note(note, out))
    }
}

impl Origin {
    fn tag_note(&self, note: NoteView<'_>, out: &mut Collector<'_>) {
        let words = Words::new(note);
        let mut scan = Scan {
            groups: Vec::new(),
            starts: vec![NOWHERE; words.len()],
            ends: vec![NOWHERE; words.len()],
            marks: Vec::new(),
            unlisted: Vec::new(),
            cues: &self.cues,
            words,
        };
        scan.run(&self.terms);
        for (group, mark) in scan.groups.iter().zip(&scan.marks) {
            if let Some((score, rule)) = *mark {
                out.tokens(group.first, group.last, self.label, score, rule);
            }
        }
        for &(first, last) in &scan.unlisted {
            out.tokens(first, last, self.label, 0.7, "origin.field");
        }
    }
}

/// The index of a token at which no group begins or ends.
const NOWHERE: u32 = u32::MAX;

/// Neighbouring words for an origin, which are one span: "Black African".
#[derive(Clone, Copy, Debug)]
struct Group {
    first: usize,
    last: usize,
    kind: Kind,
}

/// One note while the rules run over it.
struct Scan<'a> {
    words: Words<'a>,
    groups: Vec<Group>,
    /// The group that begins at each token.
    starts: Vec<u32>,
    /// The group that ends at each token.
    ends: Vec<u32>,
    /// The score and rule of each group that is about a person.
    marks: Vec<Option<(f32, &'static str)>>,
    /// The first and last token of each value of a form that no list has.
    unlisted: Vec<(usize, usize)>,
    cues: &'a Cues,
}

impl Scan<'_> {
    /// Finds all groups and marks those that are about a person.
    fn run(&mut self, terms: &Terms) {
        self.look_up(terms);
        for i in 0..self.words.len() {
            if self.words.case(i).is_word()
                && let Some(cue) = self.cues.get(self.words.get(i))
            {
                self.at(cue, i);
            }
        }
    }

    /// Finds all groups.
    fn look_up(&mut self, terms: &Terms) {
        let mut i = 0;
        while i < self.words.len() {
            let Some((last, kind)) = terms.at(&self.words, i) else {
                i += 1;
                continue;
            };
            match self.groups.last_mut() {
                Some(group)
                    if !group.kind.with(kind).any(Kind::COUNTRY) && joins(&self.words, group.last, i) =>
                {
                    (group.last, group.kind) = (last, group.kind.joined(kind));
                }
                _ => self.groups.push(Group { first: i, last, kind }),
            }
            if kind.any(Kind::CERTAIN) {
                self.marks.resize(self.groups.len(), None);
                if let Some(mark) = self.marks.last_mut() {
                    *mark = Some((0.9, "origin.faith"));
                }
            }
            i = last + 1;
        }
        self.marks.resize(self.groups.len(), None);
        for (number, group) in self.groups.iter().enumerate() {
            self.starts[group.first] = number as u32;
            self.ends[group.last] = number as u32;
        }
    }

    /// Runs the rules of a cue.
    fn at(&mut self, cue: Cue, i: usize) {
        match cue {
            Cue::Person => self.person(i),
            Cue::Old => self.old(i),
            Cue::Descent => self.descent(i),
            Cue::Community => self.community(i),
            Cue::Be => self.be(i),
            Cue::Faith => self.faith(i),
            Cue::Speak => self.speak(i),
            Cue::Speaking => self.speaking(i),
            Cue::Born => self.born(i),
            Cue::Interpreter => self.interpreter(i),
            Cue::Key => {
                if !self.field(i) {
                    self.key(i);
                }
            }
            Cue::PersonEs => self.person_es(i),
            Cue::BeEs => self.be_es(i),
            Cue::Practising => self.practising_es(i),
            Cue::DescentEs => {
                if !self.field(i) {
                    self.descent_es(i);
                }
            }
        }
    }

    /// Returns the group that begins at token `i`, if it has one of these kinds.
    fn group_at(&self, i: usize, kinds: Kind) -> Option<usize> {
        self.group(self.starts.get(i).copied(), kinds)
    }

    /// Returns the group that ends just before token `i`, if it has one of these kinds.
    fn group_before(&self, i: usize, kinds: Kind) -> Option<usize> {
        let before = i.checked_sub(1)?;
        self.group(self.ends.get(before).copied(), kinds)
    }

    fn group(&self, number: Option<u32>, kinds: Kind) -> Option<usize> {
        let number = number.filter(|&number| number != NOWHERE)? as usize;
        self.groups
            .get(number)
            .is_some_and(|group| group.kind.any(kinds))
            .then_some(number)
    }

    /// Reports a group. The best score of several rules counts.
    fn mark(&mut self, group: usize, score: f32, rule: &'static str) {
        if let Some(mark) = self.marks.get_mut(group)
            && mark.is_none_or(|(old, _)| old < score)
        {
            *mark = Some((score, rule));
        }
    }

    /// Reports a group and those that a comma, a slash or a conjunction joins to it from behind: "Urdu and
    /// Punjabi".
    fn mark_list(&mut self, group: usize, kinds: Kind, score: f32, rule: &'static str) {
        let mut current = group;
        for _ in 0..MOST_LISTED {
            self.mark(current, score, rule);
            let mut next = self.groups[current].last + 1;
            while self.is_listed(next) && next < self.groups[current].last + 4 {
                next += 1;
            }
            if next == self.groups[current].last + 1 {
                return;
            }
            match self.group_at(next, kinds) {
                Some(group) => current = group,
                None => return,
            }
        }
    }

    /// Reports a group and those that are joined to it from in front: "Pakistani and Indian parents".
    fn mark_list_back(&mut self, group: usize, kinds: Kind, score: f32, rule: &'static str) {
        let mut current = group;
        for _ in 0..MOST_LISTED {
            self.mark(current, score, rule);
            let first = self.groups[current].first;
            let mut before = first;
            while before > 0 && first - before < 3 && self.is_listed(before - 1) {
                before -= 1;
            }
            if before == first {
                return;
            }
            match self.group_before(before, kinds) {
                Some(group) => current = group,
                None => return,
            }
        }
    }

    /// Returns whether a token stands between the items of a list.
    fn is_listed(&self, i: usize) -> bool {
        i < self.words.len()
            && (matches!(self.words.byte(i), b',' | b'/' | b'&')
                || matches!(
                    self.words.get(i),
                    "and" | "or" | "half" | "part" | "y" | "e" | "o" | "u"
                ))
    }

    /// Returns whether a phrase ends before token `i`, so that the word before it is no attribute of a thing:
    /// "he is Jewish." and not "she is white blood".
    fn ends_phrase(&self, i: usize) -> bool {
        if i >= self.words.len() || self.words.breaks_after(i - 1) > 0 {
            return true;
        }
        match self.words.case(i) {
            Case::Mark => !matches!(self.words.byte(i), b'-' | b'\'' | b'%'),
            Case::Digits => false,
            _ => self.cues.is_behind(self.words.get(i)),
        }
    }

    /// Returns the token before `i`, folded; empty before the start of its line.
    fn before(&self, i: usize, back: usize) -> &str {
        self.words.before(i, back)
    }
}

/// The most items of a list.
const MOST_LISTED: usize = 6;

/// Returns whether a term that begins at `next` continues one that ends at `last`: only a blank, a hyphen or a
/// wrapped line lies between.
fn joins(words: &Words<'_>, last: usize, next: usize) -> bool {
    let adjacent = |from: usize| words.breaks_after(from) < 2;
    match next - last {
        1 => adjacent(last) && words.breaks_after(last) == 0,
        2 => words.byte(last + 1) == b'-' && words.glued(last) && words.glued(last + 1),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    #[test]
    fn the_member_conforms_in_every_label_set() {
        for labels in LabelSet::built_in() {
            let labels = labels.with_origin();
            let member = OriginConfig::default().build(&labels).unwrap();
            let mut texts: Vec<String> = conformance::AWKWARD.iter().map(|&text| text.to_owned()).collect();
            for text in [
                "a 45-year-old Somali woman, Jehovah's Witness, speaks Farsi",
                "Race: White/Black/Asian",
                "Ethnicity:",
                "Religion: Xx\u{301}",
                "de nacionalidad marroquí",
                "speaks",
                "Jehovah's",
                "Somali-",
            ] {
                texts.extend([text.to_owned(), text.to_uppercase(), text.repeat(40)]);
            }
            conformance::check_texts(&member, &labels, &texts);
        }
    }

    #[test]
    fn a_note_of_cues_and_terms_alone_takes_linear_time() {
        let labels = LabelSet::i2b2_2014().with_origin();
        let member = OriginConfig::default().build(&labels).unwrap();
        let steps = |count: usize| {
            let text = "Race: White, Black / woman of Somali and Thai origin speaks, ".repeat(count);
            let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
            let words = Words::new(batch.note(0));
            let mut scan = Scan {
                groups: Vec::new(),
                starts: vec![NOWHERE; words.len()],
                ends: vec![NOWHERE; words.len()],
                marks: Vec::new(),
                unlisted: Vec::new(),
                cues: &member.cues,
                words,
            };
            scan.run(&member.terms);
            scan.words.steps.get()
        };
        assert!(steps(400) < steps(200) * 21 / 10);
    }

    #[test]
    fn a_language_that_is_off_has_no_cues() {
        let labels = LabelSet::i2b2_2014().with_origin();
        let config: OriginConfig = toml::from_str("languages = [\"en\"]").unwrap();
        let member = config.build(&labels).unwrap();
        let found = |text: &str| {
            let batch = NoteBatch::from_texts([text]).unwrap();
            member.tag(&batch).remove(0).unwrap().len()
        };
        assert_eq!((found("mujer marroquí"), found("a Somali woman")), (0, 1));
    }
}
