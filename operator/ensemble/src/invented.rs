//! Synthetic members with independent errors, over synthetic notes, for tests of every combiner.

use lethe_core::Span;
use lethe_corpus::{Document, Mark};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::PredictionSet;

const LABELS: [&str; 3] = ["AGE", "CITY", "NAME"];
const WORDS: u32 = 40;

/// Returns two sets of equally many notes, to fit on and to test on. Each member misses, mislabels, truncates
/// or invents spans at its own error rate.
pub(crate) fn invented(seed: u64, notes: usize, errors: &[f64]) -> (PredictionSet, PredictionSet) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut set = || {
        let gold: Vec<Document> = (0..notes).map(|i| note(i, &mut random)).collect();
        let members = errors.iter().enumerate().map(|(m, &share)| {
            let predictions = gold.iter().map(|gold| member(gold, share, &mut random)).collect();
            (format!("member-{m}"), predictions)
        });
        let members = members.collect();
        PredictionSet::new(gold, members, None).unwrap()
    };
    (set(), set())
}

/// Returns the best member's strict micro-F1.
pub(crate) fn best_member(predictions: &PredictionSet) -> f64 {
    (0..predictions.members.len())
        .map(|member| predictions.counts(member).f1())
        .fold(0.0, f64::max)
}

/// Returns a mark over words of two letters with a space between them, from `first` to `last` inclusive.
fn mark(first: u32, last: u32, label: usize) -> Mark {
    Mark::gold(Span::between(first * 3, last * 3 + 2), LABELS[label])
}

fn note(id: usize, random: &mut ChaCha8Rng) -> Document {
    let words: Vec<String> = (0..WORDS)
        .map(|_| {
            (0..2)
                .map(|_| char::from(random.random_range(b'a'..=b'z')))
                .collect()
        })
        .collect();
    let mut marks = Vec::new();
    let mut at = random.random_range(0..4);
    while at + 3 < WORDS {
        let last = at + random.random_range(0..3);
        marks.push(mark(at, last, random.random_range(0..3)));
        at = last + random.random_range(2..7);
    }
    Document {
        id: format!("note-{id}"),
        patient: None,
        text: words.join(" "),
        marks,
    }
}

fn member(gold: &Document, share: f64, random: &mut ChaCha8Rng) -> Document {
    let mut marks = Vec::new();
    for right in &gold.marks {
        let (first, last) = (right.span.start() as u32 / 3, (right.span.end() as u32 - 2) / 3);
        let label = LABELS.iter().position(|label| *label == right.label).unwrap();
        if random.random::<f64>() >= share {
            marks.push(right.clone());
            continue;
        }
        match random.random_range(0..4) {
            0 => {}
            1 => marks.push(mark(first, last, (label + random.random_range(1..3)) % 3)),
            2 if last > first => marks.push(mark(first, last - 1, label)),
            _ => marks.push(mark(first, last + 1, label)),
        }
    }
    if random.random::<f64>() < share * 4.0 {
        let at = random.random_range(0..WORDS);
        let taken = |m: &Mark| m.span.overlaps(mark(at, at, 0).span);
        if !marks.iter().any(taken) {
            marks.push(mark(at, at, random.random_range(0..3)));
        }
    }
    Document {
        text: String::new(),
        patient: None,
        id: gold.id.clone(),
        marks,
    }
}
