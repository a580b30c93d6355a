//! The member on small checkpoints.

use std::path::Path;

use lethe_taggers::conformance;
use safetensors::Dtype;
use serde_json::json;

use super::testing::Tiny;
use super::*;

fn labels() -> LabelSet {
    LabelSet::i2b2_2014()
}

/// Spans by text and label.
fn found(member: &Transformer, text: &str) -> Vec<(String, String)> {
    let batch = NoteBatch::from_texts([text]).unwrap();
    let labels = labels();
    let answers = member.tag(&batch);
    let name = |a: &lethe_core::Annotation| (a.span.of(text).to_owned(), labels.label(a.label).name.clone());
    answers[0].as_ref().unwrap().iter().map(name).collect()
}

fn said(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|&(text, label)| (text.to_owned(), label.to_owned()))
        .collect()
}

fn refused(tiny: &Tiny, change: impl FnOnce(&Path, &mut TransformerConfig)) -> String {
    let (folder, mut config) = tiny.made();
    change(folder.path(), &mut config);
    config
        .build(&labels())
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

#[test]
fn sub_words_become_tokens_and_tokens_spans_with_the_engines_labels() {
    let (_folder, config) = Tiny::lookup().made();
    let member = config.build(&labels()).unwrap();
    assert_eq!(member.name(), "transformer");
    // "Hargrove" is "har" and "##grove": its first sub-word answers, and carries Tessa's span on.
    assert_eq!(
        found(&member, "\u{feff}Señora TESSA Hargrove, tel. 1961"),
        said(&[("TESSA Hargrove", "PATIENT"), ("1961", "DATE")])
    );
    assert!(found(&member, "seen today").is_empty());
}

#[test]
fn a_long_note_in_windows_has_the_spans_of_a_short_one() {
    let (_folder, mut config) = Tiny::lookup().made();
    let line = "Tessa Hargrove 19 x ";
    let text = line.repeat(60);
    let expected = said(&[("Tessa Hargrove", "PATIENT"), ("19", "DATE")].repeat(60));
    for (window, overlap) in [(None, None), (Some(11), Some(5)), (Some(3), Some(0))] {
        (config.window, config.overlap) = (window, overlap);
        assert_eq!(found(&config.build(&labels()).unwrap(), &text), expected);
    }
}

#[test]
fn labels_may_be_mapped_ignored_and_in_io_or_bilou() {
    let mut tiny = Tiny::lookup();
    tiny.config["id2label"] = json!({"0": "O", "1": "U-DATE", "2": "I-DATE", "3": "PER", "4": "PER"});
    let (_folder, mut config) = tiny.made();
    config.labels.insert("PER".to_owned(), "DOCTOR".to_owned());
    let text = "Tessa Hargrove 19 1";
    let all = said(&[("Tessa Hargrove", "DOCTOR"), ("19", "DATE"), ("1", "DATE")]);
    assert_eq!(found(&config.build(&labels()).unwrap(), text), all);
    config.ignore.insert("DATE".to_owned());
    assert_eq!(found(&config.build(&labels()).unwrap(), text), all[..1]);
}

#[test]
fn members_of_either_kind_conform() {
    for (tiny, align) in [
        (Tiny::lookup(), Align::First),
        (Tiny::lookup(), Align::Max),
        (Tiny::random(), Align::Max),
    ] {
        let (_folder, mut config) = tiny.made();
        config.align = align;
        conformance::check(&config.build(&labels()).unwrap(), &labels());
    }
}

#[test]
fn half_precision_and_older_names_of_tensors_are_read() {
    let tiny = Tiny::lookup();
    let text = "Tessa Hargrove 19";
    let expected = {
        let (_folder, config) = tiny.made();
        found(&config.build(&labels()).unwrap(), text)
    };
    let mut older = tiny.clone();
    older.weights = (tiny.weights.into_iter())
        .map(|(name, tensor)| {
            let name = name.replace("LayerNorm.weight", "LayerNorm.gamma");
            (name.replace("LayerNorm.bias", "LayerNorm.beta"), tensor)
        })
        .collect();
    type Convert = fn(f32) -> [u8; 2];
    let convert: [(Dtype, Convert); 2] = [
        (Dtype::F16, |v| half::f16::from_f32(v).to_le_bytes()),
        (Dtype::BF16, |v| half::bf16::from_f32(v).to_le_bytes()),
    ];
    for (dtype, convert) in convert {
        let (folder, config) = older.made();
        let bytes = (older.weights.iter())
            .map(|(name, (_, values))| (name, values.iter().flat_map(|&v| convert(v)).collect()))
            .collect();
        older.write_as(folder.path(), dtype, &bytes);
        assert_eq!(found(&config.build(&labels()).unwrap(), text), expected);
    }
}

#[test]
fn a_file_that_is_missing_or_cut_short_is_refused_by_name() {
    let tiny = Tiny::lookup();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        let missing = refused(&tiny, |folder, _| {
            std::fs::remove_file(folder.join(file)).unwrap()
        });
        assert!(missing.contains(file), "{missing}");
        let cut = refused(&tiny, |folder, _| {
            let bytes = std::fs::read(folder.join(file)).unwrap();
            std::fs::write(folder.join(file), &bytes[..bytes.len() - 9]).unwrap();
        });
        assert!(cut.contains(file), "{cut}");
    }
}

#[test]
fn weights_of_another_digest_are_refused() {
    let (_folder, mut config) = Tiny::lookup().made();
    // SHA-256 of nothing.
    config.digest = Some("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".to_owned());
    let message = config
        .build(&labels())
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(
        message.contains("model.safetensors: its SHA-256 is not the configured `digest`"),
        "{message}"
    );
    let bytes = std::fs::read(config.path.join("model.safetensors")).unwrap();
    let digest = <sha2::Sha256 as sha2::Digest>::digest(&bytes);
    config.digest = Some(digest.iter().map(|byte| format!("{byte:02X}")).collect());
    assert!(config.build(&labels()).is_ok());
    let before = config.fingerprint().unwrap();
    std::fs::write(config.path.join("model.safetensors"), &bytes[1..]).unwrap();
    assert_ne!(config.fingerprint().unwrap(), before);
}

#[test]
fn a_key_that_is_missing_or_cannot_be_run_is_refused_by_name() {
    let keys = [
        ("model_type", json!("t5"), "is `t5`"),
        ("hidden_act", json!("mish"), "is `mish`"),
        ("hidden_size", json!(null), "is missing"),
        ("hidden_size", json!("24"), "no whole number"),
        ("num_hidden_layers", json!(0), "is 0"),
        (
            "num_attention_heads",
            json!(5),
            "does not divide `hidden_size`, 24",
        ),
        ("position_embedding_type", json!("relative_key"), "not `absolute`"),
        ("layer_norm_eps", json!(-1), "no number between 0 and 1"),
        ("id2label", json!(null), "is no object"),
        (
            "id2label",
            json!({"0": "O", "2": "PER"}),
            "has 2 labels, but none of number 1",
        ),
        ("id2label", json!({"0": "PER"}), "has no label `O`"),
    ];
    for (key, value, problem) in keys {
        let mut tiny = Tiny::lookup();
        tiny.config[key] = value;
        let message = refused(&tiny, |_, _| {});
        assert!(
            message.contains("config.json: key `") && message.contains(key) && message.contains(problem),
            "{message}"
        );
    }
}

#[test]
fn a_tensor_that_is_missing_odd_or_not_finite_is_refused_by_name() {
    let name = "bert.encoder.layer.1.output.dense.weight";
    let mut tiny = Tiny::lookup();
    let tensor = tiny.weights.remove(name).unwrap();
    let message = refused(&tiny, |_, _| {});
    assert!(
        message.contains("model.safetensors: tensor `bert.encoder.layer.1.output.dense.weight` is missing"),
        "{message}"
    );
    tiny.weights
        .insert(name.to_owned(), (vec![48, 24], tensor.1.clone()));
    let message = refused(&tiny, |_, _| {});
    assert!(
        message.contains(name)
            && message.contains("has the shape [48, 24], but config.json makes it [24, 48]"),
        "{message}"
    );
    tiny.weights.insert(name.to_owned(), tensor);
    tiny.weight(name)[5] = f32::NAN;
    let message = refused(&tiny, |_, _| {});
    assert!(
        message.contains(name) && message.contains("not finite"),
        "{message}"
    );
}

#[test]
fn a_vocabulary_that_is_larger_than_the_table_is_refused() {
    let mut tiny = Tiny::lookup();
    tiny.tokenizer["model"]["vocab"]["zebra"] = json!(500);
    let message = refused(&tiny, |_, _| {});
    assert!(
        message.contains("tokenizer.json: has a sub-word of id 500, but `vocab_size` in config.json is 27"),
        "{message}"
    );
}

#[test]
fn settings_that_do_not_fit_are_refused_by_key() {
    type Change = fn(&mut TransformerConfig);
    let settings: [(&str, &str, Change); 7] = [
        ("window", "has 40 positions", |config| config.window = Some(41)),
        ("window", "no room beside the 2 special ones", |config| {
            config.window = Some(2)
        }),
        ("overlap", "less than 8", |config| {
            (config.window, config.overlap) = (Some(10), Some(8))
        }),
        ("labels", "no label `LOC`", |config| {
            config.labels.insert("LOC".to_owned(), "CITY".to_owned());
        }),
        ("labels", "has no label `HUMAN`", |config| {
            config.labels.insert("PER".to_owned(), "HUMAN".to_owned());
        }),
        ("labels", "`PER`", |config| config.labels.clear()),
        ("ignore", "no label `MISC`", |config| {
            config.ignore.insert("MISC".to_owned());
        }),
    ];
    for (key, problem, change) in settings {
        let message = refused(&Tiny::lookup(), |_, config| change(config));
        assert!(
            message.starts_with(&format!("member `transformer`: key `{key}`: ")) && message.contains(problem),
            "{message}"
        );
    }
}
