use std::ops::{ControlFlow, Range};

use lethe_learn::{Epoch, NoObserver, Scheme};

use super::gradient::Learner;
use super::shape::slot;
use super::*;
use crate::bucket::Bucket;
use crate::rng::Rng;

fn tags() -> TagSet {
    TagSet::new(Scheme::Bio, vec!["AGE".to_owned(), "NAME".to_owned()])
}

fn small() -> StackedSettings {
    StackedSettings {
        embedding: 3,
        hidden: 6,
        epochs: 12,
        batch: 4,
        rate: 0.01,
        ..StackedSettings::default()
    }
}

/// Sentences of random spans, and three members, each of which mistakes one span in five, independently.
struct Case {
    predictions: Vec<u16>,
    gold: Vec<u16>,
    sequences: Vec<Range<usize>>,
}

impl Case {
    fn member_tags(&self) -> MemberTags<'_> {
        MemberTags {
            predictions: &self.predictions,
            sequences: &self.sequences,
        }
    }
}

fn case(sentences: usize, seed: u64) -> Case {
    let mut rng = Rng::new(&[seed]);
    let mut case = Case {
        predictions: Vec::new(),
        gold: Vec::new(),
        sequences: Vec::new(),
    };
    for _ in 0..sentences {
        let first = case.gold.len();
        for _ in 0..1 + rng.below(4) {
            let label = 1 + 2 * rng.below(2) as u16;
            let tags = [[0, 0], [label, 0], [label, label + 1]][rng.below(3)];
            let wrong = [(); 3].map(|()| rng.below(5) == 0);
            for (i, tag) in tags.into_iter().enumerate() {
                case.gold.push(tag);
                let member_tags = |wrong| match (wrong, tag) {
                    (false, tag) => tag,
                    (true, 0) => {
                        if i == 0 {
                            1
                        } else {
                            0
                        }
                    }
                    (true, _) => 0,
                };
                case.predictions.extend(wrong.map(member_tags));
            }
        }
        case.sequences.push(first..case.gold.len());
    }
    case
}

fn trained(case: &Case, seed: u64) -> Stacked {
    let tags = tags();
    Stacked::train(
        3,
        tags.len(),
        &tags,
        case.member_tags(),
        &case.gold,
        &small(),
        seed,
        &mut NoObserver,
    )
    .unwrap()
}

#[test]
fn the_gradient_equals_finite_differences_on_every_instruction_set() {
    let shape = Shape {
        embedding: 3,
        hidden: 5,
        members: 2,
        member_tags: 5,
        tags: 5,
    };
    let (tags, bucket) = (tags(), Bucket::new(vec![4, 2, 2]));
    let gold = [1, 0, 3, 2, 3, 4, 0, 1];
    let predictions = [1, 1, 0, 0, 3, 0, 2, 2, 3, 3, 4, 0, 0, 0, 1, 4];
    let allowed = Allowed::new(&tags);
    for isa in Isa::all() {
        for dropout in [0.0, 0.25] {
            let learner = Learner {
                isa,
                shape: &shape,
                allowed: &allowed,
                dropout,
            };
            let mut params = shape.random(3);
            // The CRF begins at zero; a gradient there would not distinguish rows from columns.
            let mut rng = Rng::new(&[9]);
            for tensor in &mut params.0[slot::OUT_BIAS..] {
                tensor.data.iter_mut().for_each(|x| *x = rng.unit() - 0.5);
            }
            let gradient = |params: &Params| {
                let mut grads = params.zeros_like();
                // The same position draws the same masks.
                let mut rng = Rng::new(&[4]);
                let loss = learner.gradient(params, &bucket, &predictions, &gold, &mut rng, &mut grads);
                (loss, grads)
            };
            let (_, grads) = gradient(&params);
            let step = 4e-3_f32;
            let mut moved = 0;
            for at in 0..params.0.len() {
                for i in (0..params.0[at].data.len()).step_by(3) {
                    let (mut more, mut less) = (params.clone(), params.clone());
                    more.0[at].data[i] += step;
                    less.0[at].data[i] -= step;
                    let span = f64::from(more.0[at].data[i] - less.0[at].data[i]);
                    let difference = (gradient(&more).0 - gradient(&less).0) / span;
                    let found = f64::from(grads.0[at].data[i]);
                    assert!(
                        (difference - found).abs() < 1e-3,
                        "{} {i} on {}: {difference} {found}",
                        params.0[at].name,
                        isa.name()
                    );
                    moved += usize::from(found.abs() > 1e-2);
                }
            }
            assert!(moved > 60, "{moved} of the gradients are nonzero");
        }
    }
}

#[test]
fn the_network_is_right_more_often_than_any_member_that_it_hears() {
    let network = trained(&case(400, 1), 1);
    let test = case(400, 2);
    let (found, token_scores) = network.tag(test.member_tags(), &mut StackedScratch::default());
    let right = |tag: &dyn Fn(usize) -> u16| (0..test.gold.len()).filter(|&i| tag(i) == test.gold[i]).count();
    let own = right(&|i| found[i]);
    for member in 0..3 {
        let theirs = right(&|i| test.predictions[3 * i + member]);
        assert!(own > theirs + test.gold.len() / 50, "{own} {theirs}");
    }
    assert!(token_scores.iter().all(|p| (0.0..=1.0).contains(p)));
    // Confident predictions are right more often than the rest.
    let rate = |confident: bool| {
        let some = (0..found.len()).filter(|&i| (token_scores[i] > 0.95) == confident);
        let (right, all) = some.fold((0, 0), |(right, all), i| {
            (right + usize::from(found[i] == test.gold[i]), all + 1)
        });
        right as f64 / all.max(1) as f64
    };
    assert!(rate(true) > rate(false), "{} {}", rate(true), rate(false));
}

#[test]
fn a_sequence_gets_the_same_tags_and_scores_alone_and_among_others() {
    let network = trained(&case(60, 3), 1);
    let test = case(300, 4);
    let mut scratch = StackedScratch::default();
    let together = network.tag(test.member_tags(), &mut scratch);
    for range in &test.sequences {
        let alone = network.tag(
            MemberTags {
                predictions: &test.predictions[3 * range.start..3 * range.end],
                sequences: std::slice::from_ref(&(0..range.len())),
            },
            &mut scratch,
        );
        assert_eq!(alone.0, together.0[range.clone()]);
        assert_eq!(alone.1, together.1[range.clone()]);
    }
}

#[test]
fn silence_is_answered_as_the_network_answers_it_among_other_sequences() {
    let network = trained(&case(60, 3), 1);
    let mut test = case(40, 4);
    // Every other sentence has no predictions.
    for range in test.sequences.iter().step_by(2) {
        test.predictions[3 * range.start..3 * range.end].fill(0);
    }
    let mut scratch = StackedScratch::default();
    let mut asked = (vec![0; test.gold.len()], vec![1.0; test.gold.len()]);
    network
        .runner
        .ask(&test.predictions, &test.sequences, &mut scratch, &mut asked);
    assert_eq!(network.tag(test.member_tags(), &mut scratch), asked);
    assert_eq!(network.tag(test.member_tags(), &mut scratch), asked);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let case = case(60, 5);
    let bytes = trained(&case, 1).to_bytes();
    assert_eq!(bytes, trained(&case, 1).to_bytes());
    assert_ne!(bytes, trained(&case, 2).to_bytes());
}

#[test]
fn a_network_read_from_its_bytes_is_the_same_and_damaged_bytes_are_refused() {
    let (case, test) = (case(60, 6), case(60, 7));
    let network = trained(&case, 1);
    let bytes = network.to_bytes();
    let read = Stacked::from_bytes(&bytes).unwrap();
    let mut scratch = StackedScratch::default();
    assert_eq!(
        network.tag(test.member_tags(), &mut scratch),
        read.tag(test.member_tags(), &mut scratch)
    );
    assert_eq!(read.to_bytes(), bytes);
    for at in (0..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        assert!(Stacked::from_bytes(&damaged).is_err(), "byte {at}");
        assert!(Stacked::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn a_tag_that_a_member_never_gave_in_training_is_read_as_an_abstention() {
    let mut case = case(60, 8);
    // The first member never predicts the tags of the second label.
    case.predictions
        .iter_mut()
        .step_by(3)
        .filter(|tag| **tag > 2)
        .for_each(|tag| *tag = 0);
    let network = trained(&case, 1);
    let predictions = [3, 3, 0, 4, 4, 0];
    let without = [0, 3, 0, 0, 4, 0];
    let tag = |predictions: &[u16]| {
        let member_tags = MemberTags {
            predictions,
            sequences: std::slice::from_ref(&(0..2)),
        };
        network.tag(member_tags, &mut StackedScratch::default())
    };
    assert_eq!(tag(&predictions), tag(&without));
}

#[test]
fn an_observer_is_called_after_each_pass_and_may_end_the_training() {
    struct Two(Vec<Epoch>);
    impl Observer for Two {
        fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()> {
            self.0.push(epoch);
            if epoch.done == 2 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
    }
    let (case, tags, mut observer) = (case(60, 9), tags(), Two(Vec::new()));
    Stacked::train(
        3,
        5,
        &tags,
        case.member_tags(),
        &case.gold,
        &small(),
        1,
        &mut observer,
    )
    .unwrap();
    assert_eq!(observer.0.len(), 2);
    assert!(observer.0[1].loss < observer.0[0].loss);
}

#[test]
fn settings_without_meaning_are_refused() {
    let (case, tags) = (case(5, 10), tags());
    for settings in [
        StackedSettings { hidden: 0, ..small() },
        StackedSettings { batch: 0, ..small() },
        StackedSettings {
            dropout: 1.0,
            ..small()
        },
        StackedSettings {
            rate: f32::NAN,
            ..small()
        },
    ] {
        let found = Stacked::train(
            3,
            5,
            &tags,
            case.member_tags(),
            &case.gold,
            &settings,
            1,
            &mut NoObserver,
        );
        assert!(matches!(found, Err(StackedError::Setting(_))));
    }
}
