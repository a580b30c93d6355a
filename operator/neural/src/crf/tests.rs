use lethe_learn::Scheme;

use super::*;
use crate::kernel::tests::numbers;

fn tags() -> TagSet {
    TagSet::new(Scheme::Bilou, vec!["A".to_owned()])
}

struct Case {
    crf: Crf,
    bucket: Bucket,
    scores: Buffer,
    weights: Vec<f32>,
}

fn case(isa: Isa, weights: Vec<f32>, emissions: &[f32]) -> Case {
    let (set, bucket) = (tags(), Bucket::new(vec![4, 3, 1]));
    let n = set.len();
    let crf = Crf::new(
        isa,
        &Allowed::new(&set),
        &weights[..n * n],
        &weights[n * n..n * n + n],
        &weights[n * n + n..],
    );
    let mut scores = Buffer::zeros(bucket.rows() * crf.width());
    for row in 0..bucket.rows() {
        scores[row * crf.width()..][..n].copy_from_slice(&emissions[row * n..(row + 1) * n]);
    }
    Case {
        crf,
        bucket,
        scores,
        weights,
    }
}

/// Every allowed path of a sequence with its score.
fn paths(case: &Case, sequence: usize) -> Vec<(Vec<u16>, f64)> {
    let (set, n) = (tags(), tags().len());
    let length = case.bucket.lengths()[sequence];
    let mut out = Vec::new();
    for code in 0..n.pow(length as u32) {
        let path: Vec<u16> = (0..length).map(|t| (code / n.pow(t as u32) % n) as u16).collect();
        let ends: Vec<_> = std::iter::once(None)
            .chain(path.iter().map(|&tag| Some(tag)))
            .chain([None])
            .collect();
        if !ends.windows(2).all(|pair| set.may_follow(pair[0], pair[1])) {
            continue;
        }
        let at = |tag: u16| usize::from(tag);
        let mut score = f64::from(case.weights[n * n + at(path[0])])
            + f64::from(case.weights[n * n + n + at(path[length - 1])]);
        for (t, &tag) in path.iter().enumerate() {
            score += f64::from(case.scores[case.bucket.row(sequence, t) * case.crf.width() + at(tag)]);
            if t > 0 {
                score += f64::from(case.weights[at(path[t - 1]) * n + at(tag)]);
            }
        }
        out.push((path, score));
    }
    out
}

fn random(isa: Isa) -> Case {
    let n = tags().len();
    let scale = |numbers: Vec<f32>| numbers.into_iter().map(|x| 3.0 * x).collect::<Vec<_>>();
    case(isa, scale(numbers(n * n + 2 * n, 1)), &scale(numbers(8 * n, 2)))
}

#[test]
fn marginals_and_partition_equal_those_of_all_paths() {
    for isa in Isa::all() {
        let case = random(isa);
        let mut found = case.scores.clone();
        let log_sum = case.crf.marginals(&case.bucket, &mut found, None);
        let mut expected = 0.0;
        for s in 0..3 {
            let all = paths(&case, s);
            let sum: f64 = all.iter().map(|(_, score)| score.exp()).sum();
            expected += sum.ln();
            for t in 0..case.bucket.lengths()[s] {
                for tag in 0..tags().len() as u16 {
                    let with = all.iter().filter(|(path, _)| path[t] == tag);
                    let share = with.map(|(_, score)| score.exp()).sum::<f64>() / sum;
                    let at = case.bucket.row(s, t) * case.crf.width() + usize::from(tag);
                    assert!((f64::from(found[at]) - share).abs() < 1e-5);
                }
            }
        }
        assert!((log_sum - expected).abs() < 1e-4);
    }
}

#[test]
fn the_best_path_is_the_best_of_all_paths() {
    for isa in Isa::all() {
        let case = random(isa);
        let mut found = Vec::new();
        case.crf
            .decode(&case.bucket, &mut case.scores.clone(), &mut found);
        for s in 0..3 {
            let all = paths(&case, s);
            let (best, _) = all.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            let path: Vec<u16> = (0..best.len()).map(|t| found[case.bucket.row(s, t)]).collect();
            assert_eq!(&path, best);
        }
    }
}

#[test]
fn the_gradient_of_the_loss_equals_finite_differences() {
    let isa = Isa::best();
    let n = tags().len();
    let (weights, emissions) = (numbers(n * n + 2 * n, 3), numbers(8 * n, 4));
    // Paths O B L O, U O U and U, time-major.
    let gold = [0, 4, 4, 1, 0, 3, 4, 0];
    let run = |weights: &[f32], emissions: &[f32]| {
        let case = case(isa, weights.to_vec(), emissions);
        let mut scores = case.scores.clone();
        let mut grads = vec![0.0; weights.len()];
        let (pairs, rest) = grads.split_at_mut(n * n);
        let (starts, ends) = rest.split_at_mut(n);
        let loss = case
            .crf
            .loss(&case.bucket, &mut scores, &gold, Grads { pairs, starts, ends });
        (loss, grads, scores, case.crf.width())
    };
    let (_, grads, scores, width) = run(&weights, &emissions);
    let step = 1e-2;
    let moved = |all: &[f32], at: usize, by: f32| {
        let mut all = all.to_vec();
        all[at] += by;
        all
    };
    for (at, &grad) in grads.iter().enumerate() {
        // What the scheme forbids has no gradient but gold's, which never takes it.
        let more = run(&moved(&weights, at, step), &emissions).0;
        let less = run(&moved(&weights, at, -step), &emissions).0;
        let difference = (more - less) / f64::from(2.0 * step);
        assert!(
            (difference - f64::from(grad)).abs() < 1e-3,
            "{at}: {difference} {}",
            grad
        );
    }
    for at in 0..emissions.len() {
        let more = run(&weights, &moved(&emissions, at, step)).0;
        let less = run(&weights, &moved(&emissions, at, -step)).0;
        let difference = (more - less) / f64::from(2.0 * step);
        let found = scores[at / n * width + at % n];
        assert!(
            (difference - f64::from(found)).abs() < 1e-3,
            "{at}: {difference} {found}"
        );
    }
}
