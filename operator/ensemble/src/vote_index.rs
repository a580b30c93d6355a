//! An index that counts votes quickly: pruning needs the votes of thousands of sets of members and
//! thresholds.
//!
//! The members' predictions fall into groups of overlapping spans. Most spans overlap no other; whether they
//! are decided depends only on their members and label, so they are counted once by these. The others are
//! kept as clusters, and decided again for each vote. Either way the counts equal those of [`Voting`], which
//! a test checks.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lethe_core::{Agreement, Annotation, Annotations, LabelId, MemberSet, Span, Voting};
use lethe_corpus::Counts;

use crate::candidates::{Candidate, candidates};
use crate::{PredictionSet, Tally};

/// First byte of a character.
const FIRST: u8 = 1;
/// The character is white space.
const SPACE: u8 = 2;
/// The character is a letter or digit.
const WORD: u8 = 4;
/// Gold marks the character.
const GOLD: u8 = 8;

/// All members' predictions for all documents, indexed for voting.
#[derive(Clone, Debug)]
pub struct VoteIndex {
    lone: Vec<LoneSpans>,
    clusters: Vec<OverlapCluster>,
    /// Gold spans by label.
    gold: Vec<u64>,
    /// Characters that gold marks.
    characters: u64,
    /// Letters and digits that gold marks in each document, and whether it has gold spans.
    words: Vec<(u64, bool)>,
}

/// All spans of one label that the same members predicted with the same scores, and that overlap no other.
#[derive(Clone, Debug)]
struct LoneSpans {
    /// The document's row.
    row: usize,
    members: u64,
    scores: ScoreBits,
    label: LabelId,
    weight: Weight,
}

/// The score of each member of a set, in their order; empty if scores do not count. Stored as the bits of
/// scores, which are not negative, so that they have the scores' order.
type ScoreBits = Vec<u32>;

/// The amount that a decision counts.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    spans: u64,
    hits: u64,
    characters: u64,
    /// Gold characters, whatever the label.
    gold: u64,
    /// Those of them that are letters and digits.
    words: u64,
}

/// Spans connected by overlaps, with offsets from the beginning of the first.
#[derive(Clone, Debug)]
struct OverlapCluster {
    /// As in [`LoneSpans`].
    row: usize,
    candidates: Vec<Candidate>,
    /// For each span, the members with a span that overlaps it, itself included, and the best score of each
    /// of these members.
    support: Vec<(u64, ScoreBits)>,
    /// The scores of the members that predicted each of them.
    scores: Vec<ScoreBits>,
    /// The class of each byte: [`FIRST`], [`SPACE`], [`WORD`], [`GOLD`].
    bytes: Vec<u8>,
    /// The gold spans within it.
    gold: Vec<(Span, LabelId)>,
}

/// Buffers that successive votes reuse.
#[derive(Default)]
struct Scratch {
    order: Vec<Ordered>,
    painted: Vec<bool>,
}

/// The order of candidates (the least wins), with the candidate's index. As in [`Voting::decide`].
type Ordered = (Reverse<u32>, u32, Reverse<usize>, Span, LabelId);

impl VoteIndex {
    /// Indexes predictions. `O(n log n)` in the number of spans. Unless `graded`, scores are not kept: no
    /// score suffices for [`Voting::solo_min_scores`].
    pub fn new(predictions: &PredictionSet, graded: bool) -> Self {
        let mut vote_index = Self {
            lone: Vec::new(),
            clusters: Vec::new(),
            gold: vec![0; predictions.labels.labels().len()],
            characters: 0,
            words: Vec::with_capacity(predictions.documents.len()),
        };
        let mut lone = BTreeMap::new();
        for (row, document) in predictions.documents.iter().enumerate() {
            let gold = &predictions.gold[row];
            for annotation in gold {
                vote_index.gold[usize::from(annotation.label.0)] += 1;
            }
            let bytes = classes(&document.text, gold);
            let whole = weigh(&bytes);
            vote_index.characters += whole.gold;
            vote_index.words.push((whole.words, !gold.is_empty()));
            let row_predictions = predictions.row(row);
            let candidates = candidates(&row_predictions);
            let row_predictions = if graded { &row_predictions[..] } else { &[][..] };
            for group in groups(&candidates) {
                vote_index.take(row, group, &bytes, gold, row_predictions, &mut lone);
            }
        }
        vote_index.lone = lone
            .into_iter()
            .map(|((row, members, label, scores), weight)| LoneSpans {
                row,
                members,
                scores,
                label,
                weight,
            })
            .collect();
        vote_index
    }

    fn take(
        &mut self,
        row: usize,
        group: &[Candidate],
        bytes: &[u8],
        gold: &Annotations,
        row_predictions: &[&Annotations],
        lone: &mut BTreeMap<(usize, u64, LabelId, ScoreBits), Weight>,
    ) {
        let start = group[0].span.start();
        let end = group.iter().map(|one| one.span.end()).fold(start, usize::max);
        if let [one] = group {
            let scores = score_bits(row_predictions, one.members, |_, predictions| {
                is(one, predictions)
            });
            let weight = lone.entry((row, one.members.0, one.label, scores)).or_default();
            weight.add(Weight {
                spans: 1,
                hits: u64::from(one.is_of(gold)),
                ..weigh(&bytes[start..end])
            });
            return;
        }
        let shift = |span: Span| Span::between((span.start() - start) as u32, (span.end() - start) as u32);
        let inside = |span: Span| span.start() >= start && span.end() <= end;
        let over = |one: &Candidate| {
            let others = group.iter().filter(|other| other.span.overlaps(one.span));
            let members = others.fold(0, |members, other| members | other.members.0);
            let fits = |member: usize, predictions: &Annotation| {
                if one.members.contains(member) {
                    is(one, predictions)
                } else {
                    predictions.span.overlaps(one.span)
                }
            };
            (members, score_bits(row_predictions, MemberSet(members), fits))
        };
        let exact = |one: &Candidate| {
            score_bits(row_predictions, one.members, |_, predictions| {
                is(one, predictions)
            })
        };
        self.clusters.push(OverlapCluster {
            row,
            support: group.iter().map(over).collect(),
            scores: group.iter().map(exact).collect(),
            candidates: group
                .iter()
                .map(|one| Candidate {
                    span: shift(one.span),
                    ..*one
                })
                .collect(),
            bytes: bytes[start..end].to_vec(),
            gold: gold
                .iter()
                .filter(|gold| inside(gold.span))
                .map(|gold| (shift(gold.span), gold.label))
                .collect(),
        });
    }

    /// Returns the results of the vote of these members. Other members have no predictions.
    pub fn tally(&self, voting: &Voting, members: MemberSet) -> Tally {
        let mut all = Weight::default();
        let mut words = vec![0; self.words.len()];
        self.decide(voting, members, |row, _, weight| {
            all.add(weight);
            words[row] += weight.words;
        });
        let with_gold = || {
            words
                .iter()
                .zip(&self.words)
                .filter(|(_, (_, has_gold))| *has_gold)
        };
        Tally {
            hits: all.hits,
            predicted: all.spans,
            gold: self.gold.iter().sum(),
            covered: all.gold,
            marked: all.characters,
            characters: self.characters,
            documents: with_gold().count() as u64,
            // Decided spans do not overlap.
            intact: with_gold().filter(|(found, (gold, _))| *found == gold).count() as u64,
        }
    }

    /// Returns the strict counts of the same vote, by label id.
    pub fn by_label(&self, voting: &Voting, members: MemberSet) -> Vec<Counts> {
        let mut counts: Vec<Counts> = self
            .gold
            .iter()
            .map(|&missed| Counts {
                missed,
                ..Counts::default()
            })
            .collect();
        self.decide(voting, members, |_, label, weight| {
            let counts = &mut counts[usize::from(label.0)];
            counts.hits += weight.hits;
            counts.missed -= weight.hits;
            counts.spurious += weight.spans - weight.hits;
        });
        counts
    }

    /// Returns which labels gold or a member has, by id.
    pub(crate) fn used(&self) -> Vec<bool> {
        let mut used: Vec<bool> = self.gold.iter().map(|&count| count > 0).collect();
        let predictions = self.clusters.iter().flat_map(|cluster| &cluster.candidates);
        let predictions = predictions
            .map(|one| one.label)
            .chain(self.lone.iter().map(|one| one.label));
        for label in predictions {
            used[usize::from(label.0)] = true;
        }
        used
    }

    fn decide(&self, voting: &Voting, members: MemberSet, mut found: impl FnMut(usize, LabelId, Weight)) {
        let corroborated = self.corroborated(voting, members);
        let is_corroborated = |row: usize| corroborated.as_ref().is_none_or(|rows| rows[row]);
        for one in &self.lone {
            let scores = is_corroborated(one.row).then_some(one.scores.as_slice());
            if passes(voting, one.members, scores, members, one.label) {
                found(one.row, one.label, one.weight);
            }
        }
        let mut scratch = Scratch::default();
        for cluster in &self.clusters {
            cluster.decide(
                voting,
                members,
                is_corroborated(cluster.row),
                &mut scratch,
                &mut |label, weight| found(cluster.row, label, weight),
            );
        }
    }

    /// Returns for each document whether a span of it has enough votes; `None` if the vote requires no
    /// corroboration.
    fn corroborated(&self, voting: &Voting, members: MemberSet) -> Option<Vec<bool>> {
        let mut rows = voting
            .require_corroboration
            .then(|| vec![false; self.words.len()])?;
        for one in &self.lone {
            rows[one.row] |= passes(voting, one.members, None, members, one.label);
        }
        for cluster in &self.clusters {
            rows[cluster.row] |=
                (0..cluster.candidates.len()).any(|at| cluster.passes(at, voting, members, false));
        }
        Some(rows)
    }
}

impl Weight {
    fn add(&mut self, other: Self) {
        self.spans += other.spans;
        self.hits += other.hits;
        self.characters += other.characters;
        self.gold += other.gold;
        self.words += other.words;
    }
}

impl OverlapCluster {
    fn decide(
        &self,
        voting: &Voting,
        members: MemberSet,
        corroborated: bool,
        scratch: &mut Scratch,
        found: &mut impl FnMut(LabelId, Weight),
    ) {
        scratch.order.clear();
        for (place, one) in self.candidates.iter().enumerate() {
            let votes = one.members.0 & members.0;
            if self.passes(place, voting, members, corroborated) {
                scratch.order.push((
                    Reverse(votes.count_ones()),
                    best_rank(voting, votes),
                    Reverse(one.span.len()),
                    one.span,
                    one.label,
                ));
            }
        }
        scratch.order.sort_unstable();
        scratch.painted.clear();
        scratch.painted.resize(self.bytes.len(), false);
        let painted = &mut scratch.painted;
        // The winner leaves the list; spans that it overrules stay, in order.
        scratch.order.retain(|&(.., span, label)| {
            let range = span.start()..span.end();
            let free = !painted[range.clone()].contains(&true);
            if free {
                painted[range].fill(true);
                found(label, self.weight(span, label));
            }
            !free
        });
        if !voting.redact_uncovered {
            return;
        }
        for &(.., span, label) in &scratch.order {
            let mut at = span.start();
            while at < span.end() {
                let here = painted[at];
                let run = painted[at..span.end()].iter().take_while(|&&next| next == here);
                let end = at + run.count();
                if !here && let Some(rest) = self.trimmed(at, end) {
                    painted[rest.start()..rest.end()].fill(true);
                    found(label, self.weight(rest, label));
                }
                at = end;
            }
        }
    }

    /// Returns whether a candidate that one of the members predicted is decided; in a `corroborated` note, a
    /// single vote may suffice.
    fn passes(&self, place: usize, voting: &Voting, members: MemberSet, corroborated: bool) -> bool {
        let one = &self.candidates[place];
        let (agreed, scores) = match voting.agreement {
            Agreement::Exact => (one.members.0, &self.scores[place]),
            Agreement::Overlap => (self.support[place].0, &self.support[place].1),
        };
        let scores = corroborated.then_some(scores.as_slice());
        one.members.0 & members.0 != 0 && passes(voting, agreed, scores, members, one.label)
    }

    /// Returns this byte range without white space at its ends, if there is a letter or digit in it.
    fn trimmed(&self, start: usize, end: usize) -> Option<Span> {
        let bytes = &self.bytes[start..end];
        if !bytes.iter().any(|byte| byte & WORD != 0) {
            return None;
        }
        let first = bytes.iter().position(|byte| byte & SPACE == 0)?;
        let last = bytes.iter().rposition(|byte| byte & SPACE == 0)?;
        Some(Span::between((start + first) as u32, (start + last + 1) as u32))
    }

    fn weight(&self, span: Span, label: LabelId) -> Weight {
        Weight {
            spans: 1,
            hits: u64::from(self.gold.contains(&(span, label))),
            ..weigh(&self.bytes[span.start()..span.end()])
        }
    }
}

/// Returns whether a candidate on which these members agree, with these scores if they count, is decided by
/// those of them who are `among`.
fn passes(voting: &Voting, agreed: u64, scores: Option<&[u32]>, among: MemberSet, label: LabelId) -> bool {
    let votes = MemberSet(agreed & among.0);
    if votes.is_empty() || voting.is_enough(label, votes) {
        return !votes.is_empty();
    }
    let Some(scores) = scores else {
        return false;
    };
    let row_predictions = MemberSet(agreed).iter().zip(scores);
    let row_predictions = row_predictions.filter(|&(member, _)| among.contains(member));
    voting.is_solo(
        label,
        row_predictions
            .map(|(_, &bits)| f32::from_bits(bits))
            .fold(0.0, f32::max),
    )
}

/// Returns the best score of each of these members among the matching predictions; nothing if
/// `row_predictions` is empty.
fn score_bits(
    row_predictions: &[&Annotations],
    members: MemberSet,
    fits: impl Fn(usize, &Annotation) -> bool,
) -> ScoreBits {
    if row_predictions.is_empty() {
        return ScoreBits::new();
    }
    let best_score = |member: usize| {
        let scores = row_predictions[member]
            .iter()
            .filter(|predictions| fits(member, predictions))
            .map(|predictions| predictions.score);
        scores.fold(0.0, f32::max).to_bits()
    };
    members.iter().map(best_score).collect()
}

fn is(candidate: &Candidate, predictions: &Annotation) -> bool {
    (predictions.span, predictions.label) == (candidate.span, candidate.label)
}

fn best_rank(voting: &Voting, votes: u64) -> u32 {
    let listed = voting.ranks.len();
    let rank = |member: usize| {
        voting
            .ranks
            .get(member)
            .map_or((listed + member) as u32, |rank| *rank)
    };
    MemberSet(votes).iter().map(rank).min().unwrap_or(u32::MAX)
}

/// Returns the runs of candidates that are connected by overlaps; `candidates` are sorted by their start.
fn groups(candidates: &[Candidate]) -> impl Iterator<Item = &[Candidate]> {
    let mut rest = candidates;
    std::iter::from_fn(move || {
        let mut end = rest.first()?.span.end();
        let mut many = 1;
        while let Some(next) = rest.get(many).filter(|next| next.span.start() < end) {
            end = end.max(next.span.end());
            many += 1;
        }
        let (group, after) = rest.split_at(many);
        rest = after;
        Some(group)
    })
}

/// Returns the class of each byte of a text.
fn classes(text: &str, gold: &Annotations) -> Vec<u8> {
    let mut bytes = vec![0; text.len()];
    for (at, character) in text.char_indices() {
        if character.is_whitespace() {
            bytes[at..at + character.len_utf8()].fill(SPACE);
        }
        bytes[at] |= FIRST | if character.is_alphanumeric() { WORD } else { 0 };
    }
    for annotation in gold {
        for byte in &mut bytes[annotation.span.start()..annotation.span.end()] {
            *byte |= GOLD;
        }
    }
    bytes
}

/// Counts characters, and those of them that gold marks.
fn weigh(bytes: &[u8]) -> Weight {
    let with = |class: u8| bytes.iter().filter(|&&byte| byte & class == class).count() as u64;
    Weight {
        characters: with(FIRST),
        gold: with(FIRST | GOLD),
        words: with(FIRST | GOLD | WORD),
        ..Weight::default()
    }
}

#[cfg(test)]
mod tests;
