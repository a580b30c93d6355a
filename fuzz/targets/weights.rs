//! Any bytes as a linear model's weights: an error, or a model whose encoding equals the input.
#![no_main]

use lethe_learn::{Scheme, TagSet};
use lethe_linear::{Model, States};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let tags = TagSet::new(Scheme::Bio, vec!["DATE".to_owned(), "NAME".to_owned()]);
    let states = States::new(tags).expect("two labels are few enough");
    if let Ok(model) = Model::from_bytes(states, data.to_vec()) {
        assert!(model.to_bytes() == data, "a model reads back as another");
    }
});
