use lethe_kernel::testing::numbers;
use lethe_learn::Scheme;

use super::*;
use crate::crf::Crf;

/// Compares with the layer over all pairs of tags.
#[test]
fn paths_and_probabilities_are_those_over_all_pairs_of_tags() {
    for isa in Isa::all() {
        for (scheme, labels) in [
            (Scheme::Bilou, 1),
            (Scheme::Bilou, 7),
            (Scheme::Bilou, 30),
            (Scheme::Bio, 1),
            (Scheme::Bio, 22),
        ] {
            let tags = TagSet::new(scheme, (0..labels).map(|label| label.to_string()).collect());
            let (n, bucket) = (tags.len(), Bucket::new(vec![6, 4, 4, 1]));
            let scores =
                |len, seed| -> Vec<f32> { numbers(len, seed).into_iter().map(|score| 3.0 * score).collect() };
            let (pairs, starts, ends) = (scores(n * n, 1), scores(n, 2), scores(n, 3));
            let emissions = scores(bucket.rows() * n, 4);
            let plain = Crf::new(isa, &Allowed::new(&tags), &pairs, &starts, &ends);
            let running = Running::new(isa, &tags, &pairs, &starts, &ends);
            // One row of the identity for each tag gives its emissions.
            let identity: Vec<f32> = (0..n * n).map(|at| f32::from(at % n == at / n)).collect();
            let map = running.map(&identity, &vec![0.0; n]);
            let (mut ours, mut theirs) = (Buffer::default(), Buffer::zeros(bucket.rows() * plain.width()));
            map.apply(bucket.rows(), &emissions, n, &mut ours);
            for (row, emissions) in theirs
                .chunks_exact_mut(plain.width())
                .zip(emissions.chunks_exact(n))
            {
                row[..n].copy_from_slice(emissions);
            }
            let (mut probable, mut expected) = (ours.clone(), theirs.clone());
            running.marginals(&bucket, &mut probable, &mut Scratch::default());
            plain.marginals(&bucket, &mut expected, None);
            let mut row = vec![0.0; n];
            for (ours, theirs) in probable
                .chunks_exact(running.width())
                .zip(expected.chunks_exact(plain.width()))
            {
                running.by_tag(ours, &mut row);
                for (ours, theirs) in row.iter().zip(theirs) {
                    assert!(
                        (ours - theirs).abs() < 1e-5,
                        "{scheme:?} {labels}: {ours} {theirs}"
                    );
                }
            }
            let (mut path, mut best) = (Vec::new(), Vec::new());
            running.decode(&bucket, &mut ours, &mut path);
            plain.decode(&bucket, &mut theirs, &mut best);
            assert_eq!(path, best, "{scheme:?} {labels} {}", isa.name());
        }
    }
}
