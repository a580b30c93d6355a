//! The member on small checkpoints.

use std::path::Path;

use candle_core::DType;
use lethe_kernel::testing::numbers;
use lethe_taggers::conformance;
use serde_json::json;

use super::testing::Tiny;
use super::*;

fn labels() -> LabelSet {
    LabelSet::i2b2_2014()
}

/// Returns the spans by text and label.
fn found(member: &Transformer, text: &str) -> Vec<(String, String)> {
    let batch = NoteBatch::from_texts([text]).unwrap();
    let labels = labels();
    let answers = member.tag(&batch);
    let name = |a: &lethe_core::Annotation| (a.span.of(text).to_owned(), labels.label(a.label).name.clone());
    answers[0].as_ref().unwrap().iter().map(name).collect()
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
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
    // "Hargrove" is "har" and "##grove": its first sub-word answers, and continues Tessa's span.
    assert_eq!(
        found(&member, "\u{feff}Señora TESSA Hargrove, tel. 1961"),
        owned(&[("TESSA Hargrove", "PATIENT"), ("1961", "DATE")])
    );
    assert!(found(&member, "seen today").is_empty());
}

#[test]
fn a_long_note_in_windows_has_the_spans_of_a_short_one() {
    let (_folder, mut config) = Tiny::lookup().made();
    let line = "Tessa Hargrove 19 x ";
    let text = line.repeat(60);
    let expected = owned(&[("Tessa Hargrove", "PATIENT"), ("19", "DATE")].repeat(60));
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
    let all = owned(&[("Tessa Hargrove", "DOCTOR"), ("19", "DATE"), ("1", "DATE")]);
    assert_eq!(found(&config.build(&labels()).unwrap(), text), all);
    config.ignore.insert("DATE".to_owned());
    assert_eq!(found(&config.build(&labels()).unwrap(), text), all[..1]);
}

#[test]
fn members_of_either_kind_conform() {
    for (tiny, align) in [
        (Tiny::lookup(), Align::First),
        (Tiny::lookup(), Align::Max),
        (Tiny::roberta(), Align::Max),
    ] {
        let (_folder, mut config) = tiny.made();
        config.align = align;
        conformance::check(&config.build(&labels()).unwrap(), &labels());
    }
}

/// Returns every architecture with random weights.
fn each() -> [Tiny; 5] {
    let relative = json!({"model_type": "deberta-v2", "relative_attention": true, "pos_att_type": "p2c|c2p", "position_buckets": 8, "share_att_key": true, "position_biased_input": false, "type_vocab_size": 0});
    [
        Tiny::roberta(),
        Tiny::random(json!({"model_type": "bert", "type_vocab_size": 2})),
        Tiny::random(
            json!({"model_type": "distilbert", "dim": 24, "n_layers": 2, "n_heads": 3, "hidden_dim": 48}),
        ),
        Tiny::random(relative),
        Tiny::random(json!({"model_type": "modernbert", "num_hidden_layers": 3, "local_attention": 8})),
    ]
}

#[test]
fn a_note_has_the_same_scores_to_the_last_bit_in_every_batch() {
    let lines = [
        "Seen by Tessa Hargrove on 19.1.1961. ",
        "Ruiz",
        "é 7 ",
        "No fever; plan unchanged, tel. 0115 496. ",
    ];
    let texts: Vec<String> = (0..9).map(|i| lines[i % 4].repeat(1 + i * i % 7)).collect();
    for tiny in each() {
        let (_folder, config) = tiny.made();
        let member = config.build(&labels()).unwrap();
        let spans = |texts: &[String]| -> Vec<Vec<(lethe_core::Span, u16, u32)>> {
            let batch = NoteBatch::from_texts(texts.iter().map(String::as_str)).unwrap();
            let of = |a: &lethe_core::Annotation| (a.span, a.label.0, a.score.to_bits());
            (member.tag(&batch).iter())
                .map(|answer| answer.as_ref().unwrap().iter().map(of).collect())
                .collect()
        };
        let alone: Vec<_> = texts
            .iter()
            .flat_map(|text| spans(std::slice::from_ref(text)))
            .collect();
        assert!(alone.iter().any(|spans| !spans.is_empty()));
        for size in [2, 4, 9] {
            let together: Vec<_> = texts.chunks(size).flat_map(spans).collect();
            assert_eq!(together, alone);
        }
    }
}

/// Set in a separate process, to the file for the scores.
const SCORES: &str = "LETHE_TEST_SCORES";

#[test]
fn scores_are_the_same_to_the_last_bit_for_any_number_of_threads() {
    // Large enough that candle would distribute its products.
    let mut tiny = Tiny::roberta();
    let wide = |rows: usize| numbers(rows * 24, 3);
    tiny.config["intermediate_size"] = json!(4096);
    for layer in 0..2 {
        let name = format!("roberta.encoder.layer.{layer}");
        (tiny.weights).insert(
            format!("{name}.intermediate.dense.weight"),
            (vec![4096, 24], wide(4096)),
        );
        (tiny.weights).insert(
            format!("{name}.intermediate.dense.bias"),
            (vec![4096], numbers(4096, 5)),
        );
        (tiny.weights).insert(
            format!("{name}.output.dense.weight"),
            (vec![24, 4096], wide(4096)),
        );
    }
    let (folder, _config) = tiny.made();
    let checkpoint = checkpoint::Checkpoint::read(folder.path(), None).unwrap();
    let encoder = Encoder::new(checkpoint).unwrap();
    let window: Vec<u32> = (0..64).map(|i| i * 37 % 260).collect();
    let scores = encoder.scores(&window).unwrap();
    let bits: Vec<String> = scores
        .iter()
        .flatten()
        .map(|score| score.to_bits().to_string())
        .collect();
    let bits = bits.join(" ");
    if let Some(file) = std::env::var_os(SCORES) {
        return std::fs::write(file, bits).unwrap();
    }
    // candle reads the number from the environment, and a process cannot safely change its own.
    for threads in ["1", "2", "7"] {
        let file = folder.path().join(threads);
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "transformer::tests::scores_are_the_same_to_the_last_bit_for_any_number_of_threads",
            ])
            .env("RAYON_NUM_THREADS", threads)
            .env(SCORES, &file)
            .stdout(std::process::Stdio::null())
            .status();
        assert!(status.unwrap().success());
        assert_eq!(std::fs::read_to_string(file).unwrap(), bits, "{threads} threads");
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
    for dtype in [DType::F16, DType::BF16] {
        let (folder, config) = older.made();
        older.write(folder.path(), dtype);
        assert_eq!(found(&config.build(&labels()).unwrap(), text), expected);
    }
    let (folder, config) = older.made();
    older.write(folder.path(), DType::F64);
    let message = config.build(&labels()).err().map(|error| error.to_string());
    assert!(
        message
            .unwrap()
            .contains("is stored as F64; supported are F32, F16 and BF16")
    );
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
    // The SHA-256 of an empty input.
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
        (
            "model_type",
            json!("t5"),
            "is `t5`; supported are bert, distilbert, electra, roberta, xlm-roberta, camembert, deberta-v2",
        ),
        ("hidden_act", json!("mish"), "is `mish`"),
        ("hidden_size", json!(null), "is missing"),
        ("hidden_size", json!("24"), "not an integer"),
        ("num_hidden_layers", json!(0), "is 0"),
        ("num_hidden_layers", json!(1 << 20), "is more than 1024"),
        ("hidden_size", json!(1_u64 << 40), "is more than 16777216"),
        (
            "num_attention_heads",
            json!(5),
            "does not divide `hidden_size`, 24",
        ),
        ("position_embedding_type", json!("relative_key"), "not `absolute`"),
        ("layer_norm_eps", json!(-1), "not a number between 0 and 1"),
        ("id2label", json!(null), "is not an object"),
        (
            "id2label",
            json!({"0": "O", "2": "PER"}),
            "has 2 labels, but none with number 1",
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
            && message.contains("has the shape [48, 24], but config.json requires [24, 48]"),
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
        message.contains("tokenizer.json: has a sub-word with id 500, but `vocab_size` in config.json is 27"),
        "{message}"
    );
}

#[test]
fn settings_that_do_not_fit_are_refused_by_key() {
    type Change = fn(&mut TransformerConfig);
    let settings: [(&str, &str, Change); 7] = [
        ("window", "has 40 positions", |config| config.window = Some(41)),
        ("window", "no room besides the 2 special ones", |config| {
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
