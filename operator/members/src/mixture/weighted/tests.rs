use lethe_core::Span;
use lethe_corpus::Mark;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::*;

/// A member that returns given predictions, in the order of its own labels.
struct Fixed {
    tags: TagSet,
    rows: Vec<Vec<f32>>,
}

impl Marginals for Fixed {
    fn tags(&self) -> &TagSet {
        &self.tags
    }

    fn marginals(&self, _: &NoteBatch) -> Vec<Vec<f32>> {
        self.rows.clone()
    }
}

fn bio(labels: &[&str]) -> TagSet {
    TagSet::new(
        Scheme::Bio,
        labels.iter().map(|&label| label.to_owned()).collect(),
    )
}

fn labels() -> LabelSet {
    LabelSet::of_names("t", &["A".to_owned(), "B".to_owned()]).unwrap()
}

#[test]
fn the_weight_is_equation_6_by_hand() {
    // One token, tags O and B-A and I-A, gold B-A: p = (.2, .8, 0), q = (.6, .4, 0).
    // Over: (0 - .6)(-.4) + (1 - .4)(.4) = .48; under: .16 + .16 = .32; beyond 1, so 1.
    let mut sums = Brier::default();
    sums.add(&[0.2, 0.8, 0.0], &[0.6, 0.4, 0.0], &[1], 3);
    assert!((sums.over - 0.48).abs() < 1e-6 && (sums.under - 0.32).abs() < 1e-6);
    assert_eq!(sums.weight(), 1.0);
    // Another, gold O: over (1 - .6)(-.4) + (0 - .4)(.4) = -.32; together .16 of .64.
    sums.add(&[0.2, 0.8, 0.0], &[0.6, 0.4, 0.0], &[0], 3);
    assert!((sums.weight() - 0.25).abs() < 1e-6);
    assert_eq!(Brier::default().weight(), 0.5);
}

#[test]
fn no_other_weight_loses_less() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let tokens = 300;
    let mut draw = || -> Vec<f32> {
        let row = |random: &mut ChaCha8Rng| {
            let raw: Vec<f32> = (0..3).map(|_| random.random_range(0.01..1.0)).collect();
            let sum: f32 = raw.iter().sum();
            raw.into_iter().map(move |value| value / sum)
        };
        (0..tokens).flat_map(|_| row(&mut random)).collect()
    };
    let (p, q) = (draw(), draw());
    // Gold prefers the first member's most likely tags.
    let gold: Vec<u16> = p
        .chunks_exact(3)
        .enumerate()
        .map(|(i, row)| {
            let best = (0..3).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
            if i % 4 == 0 { (i % 3) as u16 } else { best as u16 }
        })
        .collect();
    let loss = |weight: f64| -> f64 {
        p.iter()
            .zip(&q)
            .enumerate()
            .map(|(i, (&p, &q))| {
                let y = if i % 3 == usize::from(gold[i / 3]) {
                    1.0
                } else {
                    0.0
                };
                (weight * f64::from(p) + (1.0 - weight) * f64::from(q) - y).powi(2)
            })
            .sum()
    };
    let mut sums = Brier::default();
    sums.add(&p, &q, &gold, 3);
    let weight = sums.over / sums.under;
    assert!(loss(weight) < loss(weight + 0.01) && loss(weight) < loss(weight - 0.01));
}

#[test]
fn the_mixture_follows_the_scheme_whatever_the_order_of_the_second_member_s_labels() {
    let batch = NoteBatch::from_texts(["ab cd ef"]).unwrap();
    // Tags: O, B-A, I-A, B-B, I-B. The first alone would begin nothing, and continue A at the second token.
    let first = Fixed {
        tags: bio(&["A", "B"]),
        rows: vec![vec![
            0.55, 0.45, 0.0, 0.0, 0.0, //
            0.1, 0.0, 0.9, 0.0, 0.0, //
            0.4, 0.0, 0.0, 0.6, 0.0,
        ]],
    };
    // The second has B before A.
    let second = Fixed {
        tags: bio(&["B", "A"]),
        rows: vec![vec![
            0.4, 0.0, 0.0, 0.6, 0.0, //
            0.2, 0.0, 0.0, 0.0, 0.8, //
            0.9, 0.1, 0.0, 0.0, 0.0,
        ]],
    };
    let weight = Weight {
        first: "crf".to_owned(),
        second: "naive-bayes".to_owned(),
        weight: 0.5,
    };
    let mixed = Weighted::new("both", Arc::new(first), Arc::new(second), &weight, &labels()).unwrap();
    let marginals = mixed.marginals(&batch);
    for token in marginals[0].chunks_exact(5) {
        assert!((token.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }
    let predictions = mixed.tag(&batch).remove(0).unwrap();
    let found: Vec<_> = predictions
        .iter()
        .map(|a| (a.span.start(), a.span.end(), a.label.0))
        .collect();
    // 0.475 against 0.525 for A; 0.85 continues it; O has 0.65 of the last.
    assert_eq!(found, [(0, 5, 0)]);
    assert!((predictions.iter().next().unwrap().score - 0.525).abs() < 1e-6);
    assert_eq!(mixed.name(), "both");
}

#[test]
fn a_member_that_tells_last_tokens_apart_mixes_with_one_that_does_not() {
    let batch = NoteBatch::from_texts(["ab cd"]).unwrap();
    let first = Fixed {
        tags: bio(&["A"]),
        rows: vec![vec![0.5, 0.5, 0.0, 0.5, 0.0, 0.5]],
    };
    // O, B, I, L, U.
    let second = Fixed {
        tags: TagSet::new(Scheme::Bilou, vec!["A".to_owned()]),
        rows: vec![vec![0.25, 0.5, 0.0, 0.0, 0.25, 0.0, 0.0, 0.25, 0.75, 0.0]],
    };
    let weight = Weight {
        first: "crf".to_owned(),
        second: "naive-bayes".to_owned(),
        weight: 0.5,
    };
    let mixed = Weighted::new("both", Arc::new(first), Arc::new(second), &weight, &labels()).unwrap();
    assert_eq!(mixed.marginals(&batch), [[0.375, 0.625, 0.0, 0.25, 0.0, 0.75]]);
    let predictions = mixed.tag(&batch).remove(0).unwrap();
    let found: Vec<_> = predictions
        .iter()
        .map(|a| (a.span.start(), a.span.end(), a.score))
        .collect();
    assert_eq!(found, [(0, 5, 0.625)]);
}

#[test]
fn members_of_other_tags_are_refused_by_name() {
    let member = |tags| -> Probabilistic { Arc::new(Fixed { tags, rows: vec![] }) };
    let weight = Weight {
        first: "crf".to_owned(),
        second: "memm".to_owned(),
        weight: 0.5,
    };
    for other in [bio(&["A"]), bio(&["A", "A"])] {
        let refused = Weighted::new(
            "both",
            member(bio(&["A", "B"])),
            member(other),
            &weight,
            &labels(),
        );
        let message = refused.err().unwrap().to_string();
        assert!(message.contains("`crf` and `memm`"), "{message}");
    }
    let more = Weight {
        weight: 1.5,
        ..weight
    };
    let refused = Weighted::new("x", member(bio(&["A"])), member(bio(&["A"])), &more, &labels());
    assert!(matches!(refused, Err(WeightedError::Weight(_))));
}

#[test]
fn where_members_err_apart_the_mixture_is_better_than_either() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let texts: Vec<String> = (0..80).map(|_| ["ab"; 30].join(" ")).collect();
    let batch = NoteBatch::from_texts(texts.iter().map(String::as_str)).unwrap();
    let gold: Vec<Vec<u16>> = (0..80)
        .map(|_| (0..30).map(|_| [0, 0, 1, 3][random.random_range(0..4)]).collect())
        .collect();
    let documents: Vec<Document> = gold
        .iter()
        .zip(&texts)
        .map(|(tags, text)| {
            let marks = tags.iter().zip(0u32..).filter(|(tag, _)| **tag != 0);
            let mark = |(tag, at): (&u16, u32)| {
                Mark::gold(
                    Span::between(at * 3, at * 3 + 2),
                    if *tag == 1 { "A" } else { "B" },
                )
            };
            Document {
                id: String::new(),
                patient: None,
                text: text.clone(),
                marks: marks.map(mark).collect(),
            }
        })
        .collect();
    let mut member = |noise: f32| -> Fixed {
        let row = |tags: &Vec<u16>| {
            tags.iter()
                .flat_map(|&gold| {
                    let raw: Vec<f32> = (0..5)
                        .map(|tag| {
                            let y = if tag == gold { 1.0f32 } else { 0.0 };
                            (y + random.random_range(-noise..noise)).exp()
                        })
                        .collect();
                    let sum: f32 = raw.iter().sum();
                    raw.into_iter().map(move |value| value / sum)
                })
                .collect()
        };
        Fixed {
            tags: bio(&["A", "B"]),
            rows: gold.iter().map(row).collect(),
        }
    };
    let members = [member(0.9), member(1.0)];
    let fit = |a: &Fixed, b: &Fixed| Weight::fit(("a", a), ("b", b), &batch, &documents, &labels()).unwrap();
    let weight = fit(&members[0], &members[1]);
    assert!(weight.weight > 0.5 && weight.weight < 0.8, "{weight:?}");
    assert_eq!(weight, fit(&members[0], &members[1]));

    let [a, b] = members.map(|member| -> Probabilistic { Arc::new(member) });
    let wrong = |share: f64| -> usize {
        let weight = Weight {
            weight: share,
            ..weight.clone()
        };
        let mixed = Weighted::new("m", Arc::clone(&a), Arc::clone(&b), &weight, &labels()).unwrap();
        let tags = bio(&["A", "B"]);
        let rows = mixed.tag(&batch);
        let tokens = rows
            .iter()
            .zip(&gold)
            .zip(batch.notes())
            .map(|((predictions, gold), note)| {
                let marks = predictions.as_ref().unwrap().iter();
                let marks = marks.map(|one| Mark::gold(one.span, ["A", "B"][usize::from(one.label.0)]));
                let predictions = tags.encode(note.tokens, &marks.collect::<Vec<_>>());
                predictions
                    .iter()
                    .zip(gold)
                    .filter(|(predictions, gold)| predictions != gold)
                    .count()
            });
        tokens.sum()
    };
    let best = wrong(weight.weight);
    assert!(best < wrong(1.0) && best < wrong(0.0), "{best}");
}
