//! Compares every result with all paths of small cases.

use lethe_learn::{Scheme, TagSet};
use rand::{Rng as _, SeedableRng as _};

use super::*;

struct Case {
    states: States,
    chain: Chain,
    weights: Vec<f32>,
    scores: Vec<f32>,
    tokens: usize,
}

fn cases() -> impl Iterator<Item = Case> {
    (0..60).map(|seed| {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let scheme = [Scheme::Bio, Scheme::Bilou][seed as usize % 2];
        let labels = ["A", "B"].map(str::to_owned).to_vec();
        let states = States::new(TagSet::new(scheme, labels)).unwrap();
        let mut draw = |n: usize, spread: f32| -> Vec<f32> {
            (0..n).map(|_| spread * (random.random::<f32>() - 0.5)).collect()
        };
        let weights = draw(Layout::of(&states).len(), 4.0);
        let tokens = 1 + seed as usize % 4;
        let scores = draw(tokens * states.width(), 6.0);
        Case {
            chain: Chain::new(&states, &weights),
            states,
            weights,
            scores,
            tokens,
        }
    })
}

/// Returns every allowed path with its score, or its log-probability in a local chain.
fn paths(case: &Case, local: bool) -> Vec<(Vec<usize>, f64)> {
    let layout = Layout::of(&case.states);
    let step = |before: Option<usize>, t: usize, next: usize| -> Option<f64> {
        let at = layout.at(&case.states, before, next)?;
        Some(f64::from(case.weights[at]) + f64::from(case.scores[t * case.states.width() + next]))
    };
    let mut paths = vec![(Vec::new(), 0.0)];
    for t in 0..case.tokens {
        let mut longer = Vec::new();
        for (path, score) in paths {
            let before = path.last().copied();
            let nexts: Vec<(usize, f64)> = case
                .states
                .iter()
                .filter_map(|next| Some((next, step(before, t, next)?)))
                .collect();
            let total = if local {
                nexts.iter().map(|(_, s)| s.exp()).sum::<f64>().ln()
            } else {
                0.0
            };
            for (next, s) in nexts {
                let mut path: Vec<usize> = path.clone();
                path.push(next);
                longer.push((path, score + s - total));
            }
        }
        paths = longer;
    }
    // A local chain's mass may end in an open span; its best path may not.
    let closed = |path: &[usize]| {
        path.last()
            .is_some_and(|&s| case.states.closed().contains(&(s as u8)))
    };
    paths.retain(|(path, _)| local || closed(path));
    paths
}

#[test]
fn the_best_path_is_the_best_of_all_paths() {
    for case in cases() {
        for local in [false, true] {
            let chain = if local {
                case.chain.clone().local()
            } else {
                case.chain.clone()
            };
            let mut found = Vec::new();
            chain.best_path(&case.scores, &mut Scratch::default(), &mut found);
            let closed = |p: &[usize]| case.states.closed().contains(&(p[p.len() - 1] as u8));
            let all = paths(&case, local);
            let best = all
                .iter()
                .filter(|(path, _)| closed(path))
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .unwrap();
            let found: Vec<usize> = found.into_iter().map(usize::from).collect();
            assert_eq!(found, best.0, "local: {local}");
        }
    }
}

#[test]
fn marginals_sum_to_one_and_equal_those_of_all_paths() {
    for case in cases() {
        for local in [false, true] {
            let chain = if local {
                case.chain.clone().local()
            } else {
                case.chain.clone()
            };
            let mut scratch = Scratch::default();
            let (found, log_sum) = chain.marginals(&case.scores, &mut scratch);
            let all = paths(&case, local);
            let total: f64 = all.iter().map(|(_, score)| score.exp()).sum();
            if !local {
                assert!((log_sum - total.ln()).abs() < 1e-4, "{log_sum} {}", total.ln());
            }
            let width = case.states.width();
            for t in 0..case.tokens {
                let row = &found[t * width..][..width];
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
                for (state, &marginal) in row.iter().enumerate() {
                    let exact: f64 = all
                        .iter()
                        .filter(|(path, _)| path[t] == state)
                        .map(|(_, score)| score.exp() / total)
                        .sum();
                    assert!((f64::from(marginal) - exact).abs() < 1e-5, "{marginal} {exact}");
                }
            }
        }
    }
}

#[test]
fn expected_steps_equal_those_of_all_paths() {
    for case in cases() {
        let mut scratch = Scratch::default();
        case.chain.marginals(&case.scores, &mut scratch);
        let layout = Layout::of(&case.states);
        let mut found = vec![0.0; layout.len()];
        case.chain.add_expected_steps(case.tokens, &scratch, &mut found);
        let all = paths(&case, false);
        let total: f64 = all.iter().map(|(_, score)| score.exp()).sum();
        let mut exact = vec![0.0; layout.len()];
        for (path, score) in &all {
            let mut before = None;
            for &next in path {
                exact[layout.at(&case.states, before, next).unwrap()] += score.exp() / total;
                before = Some(next);
            }
        }
        for (found, exact) in found.iter().zip(&exact) {
            assert!((found - exact).abs() < 1e-5, "{found} {exact}");
        }
    }
}

/// Returns cases whose scores differ widely, with the last token supporting each state in turn, including
/// those that may not end a note.
fn far_apart() -> impl Iterator<Item = Case> {
    cases().enumerate().flat_map(|(n, case)| {
        let wide = [30.0, 60.0, 300.0][n % 3];
        let width = case.states.width();
        let states: Vec<usize> = case.states.iter().collect();
        states.into_iter().map(move |last| {
            let mut scores: Vec<f32> = case.scores.iter().map(|score| score * wide / 6.0).collect();
            let start = scores.len() - width;
            scores[start + last] += wide;
            Case {
                states: case.states.clone(),
                chain: case.chain.clone(),
                weights: case.weights.clone(),
                tokens: case.tokens,
                scores,
            }
        })
    })
}

#[test]
fn sums_hold_where_scores_lie_far_apart_and_a_note_ends_in_a_state_that_may_not_end_it() {
    for case in far_apart() {
        let mut scratch = Scratch::default();
        let (found, log_sum) = case.chain.marginals(&case.scores, &mut scratch);
        let all = paths(&case, false);
        let best = all.iter().map(|(_, score)| *score).fold(f64::MIN, f64::max);
        let total: f64 = all.iter().map(|(_, score)| (score - best).exp()).sum();
        let exact = best + total.ln();
        assert!((log_sum - exact).abs() < 1e-3, "{log_sum} {exact}");
        // No path has more weight than all together, so the training objective stays above 0.
        assert!(log_sum > best - 1e-3);
        let width = case.states.width();
        for t in 0..case.tokens {
            let row = &found[t * width..][..width];
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-4, "{row:?}");
            for (state, &marginal) in row.iter().enumerate() {
                let paths = all.iter().filter(|(path, _)| path[t] == state);
                let exact: f64 = paths.map(|(_, score)| (score - best).exp() / total).sum();
                assert!((f64::from(marginal) - exact).abs() < 1e-4, "{marginal} {exact}");
            }
        }
        let layout = Layout::of(&case.states);
        let mut steps = vec![0.0; layout.len()];
        case.chain.add_expected_steps(case.tokens, &scratch, &mut steps);
        let mut exact = vec![0.0; layout.len()];
        for (path, score) in &all {
            let mut before = None;
            for &next in path {
                exact[layout.at(&case.states, before, next).unwrap()] += (score - best).exp() / total;
                before = Some(next);
            }
        }
        for (found, exact) in steps.iter().zip(&exact) {
            assert!((found - exact).abs() < 1e-4, "{found} {exact}");
        }
    }
}

#[test]
fn coarse_marginals_of_long_notes_sum_to_one() {
    let mut scratch = Scratch::default();
    for case in cases().chain(far_apart()) {
        // States that lose next to all mass here may be the only ones that later tokens allow.
        let mut scores = case.scores.repeat(40);
        let width = case.states.width();
        for (t, row) in scores.chunks_exact_mut(width).enumerate() {
            row.rotate_right(t * 5 % width);
        }
        let chain = case.chain.clone().coarse();
        let (found, _) = chain.marginals(&scores, &mut scratch);
        for row in found.chunks_exact(width) {
            let sum: f32 = row.iter().sum();
            assert!((sum - 1.0).abs() < 0.3, "{sum}");
        }
    }
}

#[test]
fn the_first_state_s_marginals_alone_are_those_of_all_states_bit_by_bit() {
    let mut scratch = Scratch::default();
    // Short stretches reuse the buffers of long ones.
    let stretches: Vec<Case> = far_apart().chain(cases()).collect();
    for case in stretches.iter().chain(stretches.iter().rev()) {
        for chain in [
            case.chain.clone(),
            case.chain.clone().coarse(),
            case.chain.clone().local(),
        ] {
            for before in [None, Some(0)] {
                let all = chain
                    .marginals_after(before, &case.scores, &mut scratch)
                    .0
                    .to_vec();
                assert_eq!(all.len(), case.scores.len());
                let rows = all.chunks_exact(case.states.width());
                let expected: Vec<u32> = rows.map(|row| row[0].to_bits()).collect();
                let first = chain.outside_after(before, &case.scores, &mut scratch);
                let first: Vec<u32> = first.iter().map(|marginal| marginal.to_bits()).collect();
                assert_eq!(first, expected);
            }
        }
    }
}

#[test]
fn a_very_long_note_is_decoded_without_loss() {
    let case = cases().next().unwrap();
    let row = &case.scores[..case.states.width()];
    let long: Vec<f32> = row
        .iter()
        .map(|s| s * 50.0)
        .cycle()
        .take(row.len() * 20_000)
        .collect();
    let mut scratch = Scratch::default();
    let (marginals, log_sum) = case.chain.marginals(&long, &mut scratch);
    assert!(log_sum.is_finite() && marginals.iter().all(|m| m.is_finite()));
    let mut path = Vec::new();
    case.chain.best_path(&long, &mut scratch, &mut path);
    assert_eq!(path.len(), 20_000);
    // All tokens are equal: away from the ends the path repeats.
    assert!(
        path[100..19_900]
            .chunks(60)
            .all(|stretch| stretch == &path[100..100 + stretch.len()])
    );
}
