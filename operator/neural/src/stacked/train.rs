//! Trains the stacked network on one core, with the same numbers for the same seed.

use std::ops::{ControlFlow, Range};

use lethe_kernel::Isa;
use lethe_learn::{Epoch, Observer, TagSet};

use super::gradient::Learner;
use super::shape::{Shape, slot};
use super::{MemberTags, StackedError, StackedSettings};
use crate::bucket::{Bucket, groups};
use crate::crf::Allowed;
use crate::model::Params;
use crate::rmsprop::RmsProp;
use crate::rng::Rng;

pub(super) fn check(settings: &StackedSettings) -> Result<(), StackedError> {
    if settings.batch == 0 || settings.epochs == 0 {
        return Err(StackedError::Setting("batch and epochs must be at least 1"));
    }
    if !(0.0..1.0).contains(&settings.dropout) {
        return Err(StackedError::Setting("dropout must be from 0 to below 1"));
    }
    if !(settings.rate > 0.0 && settings.rate.is_finite() && settings.clip > 0.0) {
        return Err(StackedError::Setting("rate and clip must be above 0"));
    }
    Ok(())
}

/// Returns the fitted parameters of a network.
pub(super) fn train(
    shape: &Shape,
    tags: &TagSet,
    member_tags: MemberTags<'_>,
    gold: &[u16],
    settings: &StackedSettings,
    seed: u64,
    observer: &mut dyn Observer,
) -> Params {
    assert_eq!(
        member_tags.predictions.len(),
        gold.len() * shape.members,
        "every member has a tag for every token"
    );
    let allowed = Allowed::new(tags);
    let learner = Learner {
        isa: Isa::best(),
        shape,
        allowed: &allowed,
        dropout: settings.dropout,
    };
    let mut params = shape.random(seed);
    let mut grads = params.zeros_like();
    let mut optimiser = RmsProp::new(&params);
    for epoch in 0..settings.epochs {
        let groups = groups(
            member_tags.sequences,
            settings.batch,
            &mut Rng::new(&[seed, 101, u64::from(epoch)]),
        );
        let mut loss = 0.0;
        for (i, group) in groups.iter().enumerate() {
            observer.step(i, groups.len());
            let mut rng = Rng::new(&[seed, 102, u64::from(epoch), i as u64]);
            let bucket = Bucket::new(group.iter().map(Range::len).collect());
            let (mut predictions, mut wanted) = (Vec::new(), Vec::new());
            for t in 0..bucket.steps() {
                for range in &group[..bucket.step(t).len()] {
                    let token = range.start + t;
                    predictions.extend_from_slice(
                        &member_tags.predictions[token * shape.members..][..shape.members],
                    );
                    wanted.push(gold[token]);
                }
            }
            loss += learner.gradient(&params, &bucket, &predictions, &wanted, &mut rng, &mut grads);
            optimiser.step(
                &mut params,
                &mut grads,
                settings.rate,
                1.0 / group.len() as f32,
                settings.clip,
            );
        }
        let told = observer.epoch(Epoch {
            done: epoch + 1,
            of: settings.epochs,
            loss: loss / member_tags.sequences.len().max(1) as f64,
            held_out: None,
        });
        if told == ControlFlow::Break(()) {
            break;
        }
    }
    forget_unheard(shape, member_tags.predictions, &mut params);
    params
}

/// Sets the embeddings of tags that a member never predicted to that of its tag 0, since they are still
/// random.
fn forget_unheard(shape: &Shape, predictions: &[u16], params: &mut Params) {
    let mut met = vec![false; shape.members * shape.member_tags];
    for predictions in predictions.chunks_exact(shape.members) {
        for (member, &tag) in predictions.iter().enumerate() {
            met[shape.row(member, tag)] = true;
        }
    }
    for member in 0..shape.members {
        let outside = params.row(slot::TABLE, shape.row(member, 0)).to_vec();
        for tag in 1..shape.member_tags {
            let row = shape.row(member, tag as u16);
            if !met[row] {
                params.row_mut(slot::TABLE, row).copy_from_slice(&outside);
            }
        }
    }
}
