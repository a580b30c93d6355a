use lethe_kernel::testing::numbers;
use lethe_learn::Scheme;

use super::*;

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

/// Returns every allowed path of a sequence with its score.
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
fn a_probability_is_the_product_of_its_factors_and_never_subnormal() {
    for exponent in 0..150_u8 {
        let a = f32::from(exponent / 2 + exponent % 2);
        for factor in [1.0, 1.3, 1.9] {
            let (a, b) = (factor * (-a).exp2(), (-f32::from(exponent / 2)).exp2());
            let found = probability(a, b);
            match exponent {
                0..=94 => assert_eq!(found.to_bits(), (a * b).to_bits(), "2^-{exponent}"),
                121.. => assert_eq!(found.to_bits(), 0, "2^-{exponent}"),
                _ => assert!(found <= a * b && !found.is_subnormal(), "2^-{exponent}"),
            }
        }
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
        // Forbidden transitions have no gradient; gold never takes them.
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

/// Returns random shares of the tags, row by row.
fn shares(rows: usize) -> Vec<f32> {
    let n = tags().len();
    let mut shares: Vec<f32> = numbers(rows * n, 7)
        .into_iter()
        .map(|x| (2.0 * x).exp())
        .collect();
    for row in shares.chunks_exact_mut(n) {
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }
    shares
}

/// Returns a loss with its gradients: of the scores, of pairs, starts and ends.
fn told(case: &Case, loss: impl Fn(&Crf, &mut Buffer, Grads<'_>) -> f64) -> (f64, Buffer, Vec<f32>) {
    let n = tags().len();
    let mut scores = case.scores.clone();
    let mut all = vec![0.0; n * n + 2 * n];
    let (pairs, rest) = all.split_at_mut(n * n);
    let (starts, ends) = rest.split_at_mut(n);
    let loss = loss(&case.crf, &mut scores, Grads { pairs, starts, ends });
    (loss, scores, all)
}

#[test]
fn soft_labels_that_know_one_path_give_the_loss_and_the_gradient_of_gold() {
    for isa in Isa::all() {
        let case = random(isa);
        let (n, allowed) = (tags().len(), Allowed::new(&tags()));
        let mut gold = vec![0; case.bucket.rows()];
        for s in 0..3 {
            let (path, _) = paths(&case, s).swap_remove(1);
            path.iter()
                .enumerate()
                .for_each(|(t, &tag)| gold[case.bucket.row(s, t)] = tag);
        }
        let mut soft = vec![0.0; gold.len() * n];
        gold.iter()
            .enumerate()
            .for_each(|(row, &tag)| soft[row * n + usize::from(tag)] = 1.0);
        let hard = told(&case, |crf, scores, grads| {
            crf.loss(&case.bucket, scores, &gold, grads)
        });
        let soft = told(&case, |crf, scores, grads| {
            crf.soft_loss(&crf.free(&allowed), &case.bucket, scores, &soft, grads)
        });
        assert!((hard.0 - soft.0).abs() < 1e-4, "{} {}", hard.0, soft.0);
        let same = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(same(&hard.1, &soft.1) && same(&hard.2, &soft.2));
    }
}

#[test]
fn the_gradient_by_soft_labels_equals_differences_of_the_loss() {
    let isa = Isa::best();
    let (n, allowed, case) = (tags().len(), Allowed::new(&tags()), random(isa));
    let soft = shares(case.bucket.rows());
    let loss = |weights: &[f32], emissions: &[f32]| {
        let moved = self::case(isa, weights.to_vec(), emissions);
        told(&moved, |crf, scores, grads| {
            crf.soft_loss(&crf.free(&allowed), &moved.bucket, scores, &soft, grads)
        })
    };
    let width = case.crf.width();
    let emissions: Vec<f32> = case
        .scores
        .chunks_exact(width)
        .flat_map(|row| row[..n].to_vec())
        .collect();
    let (_, by_scores, by_steps) = loss(&case.weights, &emissions);
    let close = |difference: f64, g: f32, what: &str, at: usize| {
        assert!(
            (difference - f64::from(g)).abs() < 0.01,
            "{what} {at}: {difference} {g}"
        );
    };
    for at in 0..emissions.len() {
        let moved = |by: f32| {
            let mut emissions = emissions.clone();
            emissions[at] += by;
            loss(&case.weights, &emissions).0
        };
        close(
            (moved(0.05) - moved(-0.05)) / 0.1,
            by_scores[at / n * width + at % n],
            "score",
            at,
        );
    }
    for at in 0..case.weights.len() {
        let moved = |by: f32| {
            let mut weights = case.weights.clone();
            weights[at] += by;
            loss(&weights, &emissions).0
        };
        close((moved(0.05) - moved(-0.05)) / 0.1, by_steps[at], "step", at);
    }
}
