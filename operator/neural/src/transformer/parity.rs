//! Compares every architecture with the library that checkpoints are fitted with.

use serde_json::{Value, json};

use super::checkpoint::Checkpoint;
use super::encoder::Encoder;
use super::testing::{LABELS, Tiny};

mod scores;

use scores::WINDOW;

/// Returns the scores of a checkpoint with these keys.
fn scores(keys: Value) -> Vec<Vec<f32>> {
    let (folder, _config) = Tiny::random(keys).made();
    let checkpoint = Checkpoint::read(folder.path(), None).unwrap();
    Encoder::new(checkpoint).unwrap().scores(&WINDOW).unwrap()
}

fn check(keys: Value, expected: &[[f32; LABELS.len()]; WINDOW.len()]) {
    let found = scores(keys);
    assert_eq!(found.len(), expected.len());
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 5e-5,
                "sub-word {row}: {found} {expected}"
            );
        }
    }
}

#[test]
fn bert_electra_and_distilbert_score_as_the_reference() {
    let usual = |kind: &str, act: &str| json!({"model_type": kind, "embedding_size": 24, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": act});
    check(usual("bert", "gelu"), &scores::BERT);
    check(usual("bert", "gelu_new"), &scores::BERT_TANH);
    check(usual("electra", "gelu"), &scores::ELECTRA);
    let keys = json!({"model_type": "distilbert", "dim": 24, "n_layers": 2, "n_heads": 3, "hidden_dim": 48, "activation": "gelu"});
    check(keys, &scores::DISTILBERT);
}

#[test]
fn roberta_xlm_r_and_camembert_score_as_the_reference() {
    let keys = |kind: &str, types: usize| json!({"model_type": kind, "type_vocab_size": types, "layer_norm_eps": 1e-5, "pad_token_id": 1});
    check(keys("roberta", 2), &scores::ROBERTA);
    check(keys("xlm-roberta", 1), &scores::XLM_ROBERTA);
    check(keys("camembert", 1), &scores::CAMEMBERT);
}

#[test]
fn deberta_of_either_version_scores_as_the_reference() {
    let mut keys = json!({"model_type": "deberta-v2", "relative_attention": true, "max_relative_positions": -1, "layer_norm_eps": 1e-7, "type_vocab_size": 2, "pos_att_type": ["c2p", "p2c"]});
    check(keys.clone(), &scores::DEBERTA_V2);
    for (key, value) in [
        ("type_vocab_size", json!(0)),
        ("position_biased_input", json!(false)),
        ("pos_att_type", json!("p2c|c2p")),
        ("position_buckets", json!(4)),
        ("share_att_key", json!(true)),
        ("norm_rel_ebd", json!("layer_norm")),
    ] {
        keys[key] = value;
    }
    check(keys, &scores::DEBERTA_V3);
}

fn modern() -> Value {
    json!({"model_type": "modernbert", "num_hidden_layers": 3, "norm_eps": 1e-5, "global_attn_every_n_layers": 2, "local_attention": 4, "global_rope_theta": 160_000.0, "local_rope_theta": 10_000.0})
}

#[test]
fn modernbert_scores_as_the_reference() {
    check(modern(), &scores::MODERNBERT);
}

#[test]
fn a_normalisation_that_the_network_could_do_without_is_missed_by_name() {
    let mut tiny = Tiny::random(modern());
    tiny.weights.remove("model.layers.2.attn_norm.weight").unwrap();
    let (folder, _config) = tiny.made();
    let built = Encoder::new(Checkpoint::read(folder.path(), None).unwrap());
    let message = built.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(
        message.ends_with("tensor `model.layers.2.attn_norm.weight` is missing"),
        "{message}"
    );
}

#[test]
fn what_a_network_leaves_out_is_refused_by_key() {
    let deberta = json!({"model_type": "deberta-v2"});
    let electra = json!({"model_type": "electra", "embedding_size": 12});
    for (mut keys, key, value, problem) in [
        (deberta.clone(), "conv_kernel_size", json!(3), "is not 0"),
        (deberta.clone(), "pos_att_type", json!("p2p"), "has `p2p`"),
        (deberta.clone(), "norm_rel_ebd", json!("batch"), "is `batch`"),
        (deberta, "attention_head_size", json!(9), "is 9"),
        (
            electra,
            "embedding_size",
            json!(12),
            "is 12, but `hidden_size` is 24",
        ),
        (modern(), "mlp_bias", json!(true), "is true"),
        (modern(), "hidden_activation", json!("relu"), "is not `gelu`"),
        (modern(), "global_attn_every_n_layers", json!(0), "is 0"),
        (
            modern(),
            "local_rope_theta",
            json!(-1),
            "is not a number of at least 1",
        ),
    ] {
        let whole = Tiny::roberta();
        keys[key] = value;
        let (folder, _config) = whole.made();
        let mut config = whole.config.clone();
        config
            .as_object_mut()
            .unwrap()
            .extend(keys.as_object().unwrap().clone());
        std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let message = Checkpoint::read(folder.path(), None)
            .err()
            .map(|error| error.to_string());
        let message = message.unwrap_or_default();
        assert!(
            message.contains(&format!("config.json: key `{key}` {problem}")),
            "{message}"
        );
    }
}
