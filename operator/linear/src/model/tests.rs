//! A model keeps its weights and refuses damaged bytes.

use super::*;
use crate::Layout;
use crate::data::tests::invented;

fn model() -> (Model, States, Fitted, Data) {
    let (columns, gold, states) = invented(9, 30, 3);
    let data = Data::new(&columns, &gold, &states, 1);
    let fitted = Fitted {
        form: Form::Chain,
        weights: (0..data.hashes.len() as u32)
            .flat_map(|f| [(f, 0u8, 0.25 + f as f32 / 99.0), (f, 1 + (f % 3) as u8, -0.5)])
            .collect(),
        steps: (0..Layout::of(&states).len()).map(|i| i as f32 / 50.0).collect(),
        history: Vec::new(),
    };
    (Model::new(&states, fitted.clone(), &data), states, fitted, data)
}

#[test]
fn a_features_weights_are_found_to_a_step_and_an_unknown_feature_has_none() {
    let (model, _, fitted, data) = model();
    for (feature, &hash) in data.hashes.iter().enumerate() {
        let found: Vec<(u8, f32)> = model
            .of(hash)
            .iter()
            .map(|&(s, w)| (s, f32::from(w) * model.scale()))
            .collect();
        let given: Vec<_> = fitted
            .weights
            .iter()
            .filter(|w| w.0 as usize == feature)
            .collect();
        assert_eq!(found.len(), given.len());
        for (found, given) in found.iter().zip(given) {
            assert!(found.0 == given.1 && (found.1 - given.2).abs() <= model.scale());
        }
        assert!(model.of(hash ^ 1 << 40).is_empty());
    }
}

#[test]
fn a_model_reads_back_to_the_same_bytes_and_answers() {
    let (model, states, _, data) = model();
    let bytes = model.to_bytes();
    let again = Model::from_bytes(states, bytes.clone()).unwrap();
    assert_eq!(again.to_bytes(), bytes);
    assert!(data.hashes.iter().all(|&hash| model.of(hash) == again.of(hash)));
}

#[test]
fn a_damaged_model_is_refused() {
    let (model, states, ..) = model();
    let bytes = model.to_bytes();
    for cut in (0..bytes.len()).step_by(7) {
        assert!(
            Model::from_bytes(states.clone(), bytes[..cut].to_vec()).is_err(),
            "{cut}"
        );
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(
        Model::from_bytes(states.clone(), longer).unwrap_err(),
        ModelError::Malformed
    );
    let mut other = bytes.clone();
    other[0] = b'X';
    assert_eq!(
        Model::from_bytes(states.clone(), other).unwrap_err(),
        ModelError::Magic
    );
    let mut newer = bytes;
    newer[8] = 9;
    let refused = Model::from_bytes(states, newer).unwrap_err();
    assert!(refused.to_string().contains("version 9"), "{refused}");
}
