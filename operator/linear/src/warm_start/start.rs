//! Old weights in the order of a new training set.

use crate::chain::Layout;
use crate::model::Model;
use crate::{Data, States};

/// The weights of a model by the features of a training set and by states with the model's labels first.
pub(crate) struct Start {
    /// The end of each feature's weights.
    ends: Vec<u32>,
    weights: Vec<(u8, f32)>,
    steps: Vec<f32>,
    history: Vec<f32>,
}

/// Returns for each state of `old` its counterpart in `new`, whose tags begin with the same ones; `None` for
/// padding.
pub(crate) fn places(old: &States, new: &States) -> Vec<Option<u8>> {
    let place = |state: usize| old.tag(state).map(|tag| new.of(tag));
    (0..old.width()).map(place).collect()
}

impl Start {
    /// `states` are those of the model's tags, with new ones after them.
    pub(crate) fn new(model: &Model, states: &States, data: &Data) -> Self {
        let places = places(model.states(), states);
        let mut start = Self {
            ends: Vec::with_capacity(data.hashes.len()),
            weights: Vec::new(),
            steps: steps(model, states, &places),
            history: history(model, states, &places),
        };
        let mut old = model.features().peekable();
        for &hash in &data.hashes {
            let hash = hash >> 24;
            while old.peek().is_some_and(|(known, _)| *known < hash) {
                old.next();
            }
            if let Some((_, own)) = old.peek().filter(|(known, _)| *known == hash) {
                let moved = own.iter().filter_map(|(state, weight)| {
                    let place = places.get(usize::from(state)).copied().flatten()?;
                    Some((place, f32::from(weight) * model.scale()))
                });
                start.weights.extend(moved);
            }
            start.ends.push(start.weights.len() as u32);
        }
        start
    }

    /// Returns each feature's old weights, by state.
    pub(crate) fn features(&self) -> impl Iterator<Item = (u32, &[(u8, f32)])> {
        let start = |feature: usize| if feature == 0 { 0 } else { self.ends[feature - 1] };
        let one = move |(feature, &end): (usize, &u32)| {
            (
                feature as u32,
                &self.weights[start(feature) as usize..end as usize],
            )
        };
        self.ends.iter().enumerate().map(one)
    }

    /// Returns the old weights of steps, in [`Layout`]'s order; 0 for new ones.
    pub(crate) fn steps(&self) -> &[f32] {
        &self.steps
    }

    /// Returns the old weights of the previous choices, two rows per state; 0 for new ones.
    pub(crate) fn history(&self) -> &[f32] {
        &self.history
    }
}

fn steps(model: &Model, states: &States, places: &[Option<u8>]) -> Vec<f32> {
    let (old, new) = (Layout::of(model.states()), Layout::of(states));
    let mut steps = vec![0.0; new.len()];
    for before in std::iter::once(None).chain(model.states().iter().map(Some)) {
        for next in model.states().iter() {
            let moved = |state: usize| places[state].map(usize::from);
            let Some(to) = moved(next) else { continue };
            let after = before.and_then(moved);
            let from = old.at(model.states(), before, next);
            if let (Some(from), Some(to)) = (from, new.at(states, after, to)) {
                steps[to] = model.steps()[from];
            }
        }
    }
    steps
}

fn history(model: &Model, states: &States, places: &[Option<u8>]) -> Vec<f32> {
    let (old, new) = (model.states().width(), states.width());
    let mut history = vec![0.0; 2 * new * new];
    for (at, &weight) in model.history().iter().enumerate() {
        let (block, row, column) = (at / (old * old), at / old % old, at % old);
        if let (Some(row), Some(column)) = (places[row], places[column]) {
            history[(block * new + usize::from(row)) * new + usize::from(column)] = weight;
        }
    }
    history
}

#[cfg(test)]
mod tests {
    use lethe_learn::TagSet;

    use super::*;
    use crate::Columns;
    use crate::data::tests::invented;
    use crate::model::{Fitted, Form};

    /// Returns the result of a learner that changes nothing.
    fn unchanged(start: &Start, form: Form) -> Fitted {
        let weights = start.features();
        let each = weights
            .flat_map(|(feature, own)| own.iter().map(move |&(state, weight)| (feature, state, weight)));
        Fitted {
            form,
            weights: each.collect(),
            steps: start.steps().to_vec(),
            history: start.history().to_vec(),
        }
    }

    #[test]
    fn before_the_first_step_every_old_weight_is_unchanged_despite_a_new_label() {
        let (columns, gold, states) = invented(9, 30, 3);
        let data = Data::new(&columns, &gold, &states, 1);
        let width = states.width();
        let weights = (0..data.hashes.len() as u32).flat_map(|f| {
            [
                (f, 0, 0.25 + f as f32 / 99.0),
                (f, states.of(3 + (f % 4) as u16), -0.5),
            ]
        });
        let history = (0..2 * width * width).map(|i| i as f32 / 7.0).collect();
        let fitted = Fitted {
            form: Form::Greedy,
            weights: weights.collect(),
            steps: (0..Layout::of(&states).len()).map(|i| i as f32 / 50.0).collect(),
            history,
        };
        let old = Model::new(&states, fitted, &data);
        // One more label, and only some of the notes: most features do not occur again.
        let mut labels = states.tags().labels().to_vec();
        labels.push("NEW".to_owned());
        let wider = States::new(TagSet::new(states.tags().scheme(), labels)).unwrap();
        let few = Columns {
            notes: columns.notes[..2].to_vec(),
            ..columns.clone()
        };
        let some = Data::new(&few, &gold[..2], &wider, 1);
        assert!(some.hashes.len() < data.hashes.len());
        let start = Start::new(&old, &wider, &some);
        let new = Model::joined(&old, &wider, unchanged(&start, old.form()), &some);
        assert_eq!(new.scale().to_bits(), old.scale().to_bits());
        assert_eq!(new.size(), old.size());
        let places = places(&states, &wider);
        for &hash in &data.hashes {
            let moved: Vec<_> = old
                .of(hash)
                .into_iter()
                .map(|(state, weight)| (places[usize::from(state)].unwrap(), weight))
                .collect();
            let mut moved = moved;
            moved.sort_unstable();
            assert_eq!(new.of(hash), moved);
        }
        let (before, after) = (Layout::of(&states), Layout::of(&wider));
        for from in states.iter() {
            for to in states.iter() {
                let moved = |state: usize| usize::from(places[state].unwrap());
                let Some(at) = before.at(&states, Some(from), to) else {
                    continue;
                };
                let now = after.at(&wider, Some(moved(from)), moved(to)).unwrap();
                assert_eq!(old.steps()[at], new.steps()[now]);
                let row = |wide: usize, from: usize, to: usize| from * wide + to;
                assert_eq!(
                    old.history()[row(width, from, to)],
                    new.history()[row(wider.width(), moved(from), moved(to))]
                );
            }
        }
    }
}
