//! Small checkpoints for tests: BERT over WordPiece, and every architecture over bytes.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use lethe_kernel::testing::numbers;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

use super::TransformerConfig;

/// Tensors by name: shape and numbers.
pub(super) type Weights = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// The contents of a checkpoint's folder.
#[derive(Clone)]
pub(super) struct Tiny {
    pub(super) config: Value,
    pub(super) weights: Weights,
    pub(super) tokenizer: Value,
}

/// Labels of the checkpoints.
pub(super) const LABELS: [&str; 5] = ["O", "B-DATE", "I-DATE", "B-PER", "I-PER"];

const HIDDEN: usize = 24;
const INNER: usize = 48;
/// The sub-words of the random ones: 256 bytes and four special ones.
const WORDS: usize = 260;
const POSITIONS: usize = 66;
const PARTS: [&str; 3] = ["query", "key", "value"];

fn special(id: usize, content: &str) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
}

/// Names and shapes of tensors.
type Shapes = Vec<(String, Vec<usize>)>;

/// Adds the shapes of a layer's weight and bias.
fn dense(shapes: &mut Shapes, name: &str, to: usize, from: usize) {
    shapes.push((format!("{name}.weight"), vec![to, from]));
    shapes.push((format!("{name}.bias"), vec![to]));
}

fn norm(shapes: &mut Shapes, name: &str) {
    shapes.push((format!("{name}.weight"), vec![HIDDEN]));
    shapes.push((format!("{name}.bias"), vec![HIDDEN]));
}

fn table(shapes: &mut Shapes, name: &str, rows: usize) {
    shapes.push((format!("{name}.weight"), vec![rows, HIDDEN]));
}

/// Returns the tensors of BERT and of architectures with the same names; `parts` of attention are query, key
/// and value, and further ones for DeBERTa.
fn usual(config: &Value, prefix: &str, parts: &[&str]) -> Shapes {
    let number = |key: &str| config[key].as_u64().map_or(0, |n| n as usize);
    let (mut shapes, embeddings) = (Shapes::new(), format!("{prefix}.embeddings"));
    table(
        &mut shapes,
        &format!("{embeddings}.word_embeddings"),
        number("vocab_size"),
    );
    if config["position_biased_input"] != json!(false) {
        table(
            &mut shapes,
            &format!("{embeddings}.position_embeddings"),
            number("max_position_embeddings"),
        );
    }
    if number("type_vocab_size") > 0 {
        table(
            &mut shapes,
            &format!("{embeddings}.token_type_embeddings"),
            number("type_vocab_size"),
        );
    }
    norm(&mut shapes, &format!("{embeddings}.LayerNorm"));
    for i in 0..number("num_hidden_layers") {
        let layer = format!("{prefix}.encoder.layer.{i}");
        for part in parts {
            dense(
                &mut shapes,
                &format!("{layer}.attention.self.{part}"),
                HIDDEN,
                HIDDEN,
            );
        }
        dense(
            &mut shapes,
            &format!("{layer}.attention.output.dense"),
            HIDDEN,
            HIDDEN,
        );
        norm(&mut shapes, &format!("{layer}.attention.output.LayerNorm"));
        dense(&mut shapes, &format!("{layer}.intermediate.dense"), INNER, HIDDEN);
        dense(&mut shapes, &format!("{layer}.output.dense"), HIDDEN, INNER);
        norm(&mut shapes, &format!("{layer}.output.LayerNorm"));
    }
    shapes
}

fn deberta(config: &Value) -> Shapes {
    let shared = config["share_att_key"] == json!(true);
    let parts = [
        "query_proj",
        "key_proj",
        "value_proj",
        "pos_key_proj",
        "pos_query_proj",
    ];
    let mut shapes = usual(config, "deberta", &parts[..if shared { 3 } else { 5 }]);
    let span = config["position_buckets"]
        .as_u64()
        .or(config["max_position_embeddings"].as_u64());
    table(
        &mut shapes,
        "deberta.encoder.rel_embeddings",
        2 * span.unwrap() as usize,
    );
    if config["norm_rel_ebd"] == json!("layer_norm") {
        norm(&mut shapes, "deberta.encoder.LayerNorm");
    }
    shapes
}

fn distilbert() -> Shapes {
    let mut shapes = Shapes::new();
    table(&mut shapes, "distilbert.embeddings.word_embeddings", WORDS);
    table(
        &mut shapes,
        "distilbert.embeddings.position_embeddings",
        POSITIONS,
    );
    norm(&mut shapes, "distilbert.embeddings.LayerNorm");
    for i in 0..2 {
        let layer = format!("distilbert.transformer.layer.{i}");
        for part in ["q_lin", "k_lin", "v_lin", "out_lin"] {
            dense(&mut shapes, &format!("{layer}.attention.{part}"), HIDDEN, HIDDEN);
        }
        norm(&mut shapes, &format!("{layer}.sa_layer_norm"));
        dense(&mut shapes, &format!("{layer}.ffn.lin1"), INNER, HIDDEN);
        dense(&mut shapes, &format!("{layer}.ffn.lin2"), HIDDEN, INNER);
        norm(&mut shapes, &format!("{layer}.output_layer_norm"));
    }
    shapes
}

fn modernbert() -> Shapes {
    let mut shapes = Shapes::new();
    let mut add = |name: &str, shape: &[usize]| shapes.push((format!("{name}.weight"), shape.to_vec()));
    add("model.embeddings.tok_embeddings", &[WORDS, HIDDEN]);
    add("model.embeddings.norm", &[HIDDEN]);
    for i in 0..3 {
        let layer = format!("model.layers.{i}");
        if i > 0 {
            add(&format!("{layer}.attn_norm"), &[HIDDEN]);
        }
        add(&format!("{layer}.attn.Wqkv"), &[3 * HIDDEN, HIDDEN]);
        add(&format!("{layer}.attn.Wo"), &[HIDDEN, HIDDEN]);
        add(&format!("{layer}.mlp_norm"), &[HIDDEN]);
        add(&format!("{layer}.mlp.Wi"), &[2 * INNER, HIDDEN]);
        add(&format!("{layer}.mlp.Wo"), &[HIDDEN, INNER]);
    }
    add("model.final_norm", &[HIDDEN]);
    add("head.dense", &[HIDDEN, HIDDEN]);
    add("head.norm", &[HIDDEN]);
    shapes
}

/// Returns a configuration with these keys besides those that all have.
fn config(keys: Value, words: usize, positions: usize) -> Value {
    let labels: serde_json::Map<String, Value> = (LABELS.iter().enumerate())
        .map(|(i, label)| (i.to_string(), json!(label)))
        .collect();
    let mut config = keys;
    for (key, value) in [
        ("vocab_size", json!(words)),
        ("hidden_size", json!(HIDDEN)),
        ("num_hidden_layers", json!(2)),
        ("num_attention_heads", json!(3)),
        ("intermediate_size", json!(INNER)),
        ("max_position_embeddings", json!(positions)),
        ("id2label", Value::Object(labels)),
    ] {
        if config.get(key).is_none() {
            config[key] = value;
        }
    }
    config
}

impl Tiny {
    /// A tensor's numbers follow from its name: `examples/reference.py` computes the same.
    fn new(config: Value, mut shapes: Shapes, tokenizer: Value, scale: f32) -> Self {
        dense(&mut shapes, "classifier", LABELS.len(), HIDDEN);
        let tensor = |(name, shape): (String, Vec<usize>)| {
            let seed = name.bytes().fold(7_u64, |seed, byte| {
                seed.wrapping_mul(31).wrapping_add(u64::from(byte))
            });
            let base = f32::from(u8::from(name.to_lowercase().ends_with("norm.weight")));
            let values = numbers(shape.iter().product(), seed);
            (
                name,
                (shape, values.into_iter().map(|x| scale * x + base).collect()),
            )
        };
        Self {
            config,
            weights: shapes.into_iter().map(tensor).collect(),
            tokenizer,
        }
    }

    /// Creates a BERT that labels each sub-word by its own class, without context: the first piece of a
    /// number `B-DATE`, the others `I-DATE`, "tessa" `B-PER`, "har" `I-PER`, and all others, also "##grove",
    /// `O`.
    pub(super) fn lookup() -> Self {
        let mut vocabulary: Vec<(String, usize)> = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "##grove"]
            .iter()
            .map(|word| ((*word).to_owned(), 0))
            .collect();
        vocabulary.extend([("tessa".to_owned(), 3), ("har".to_owned(), 4)]);
        vocabulary.extend((0..10).flat_map(|digit| [(digit.to_string(), 1), (format!("##{digit}"), 2)]));
        let ids: serde_json::Map<String, Value> = (vocabulary.iter().enumerate())
            .map(|(i, (word, _))| (word.clone(), json!(i)))
            .collect();
        let tokenizer = json!({
            "version": "1.0",
            // Many checkpoints are saved with truncation, which windows make unnecessary.
            "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
            "padding": null,
            "added_tokens": [special(0, "[PAD]"), special(1, "[UNK]"), special(2, "[CLS]"), special(3, "[SEP]")],
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "decoder": null,
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": ids},
        });
        let keys = json!({"model_type": "bert", "hidden_act": "gelu", "type_vocab_size": 2, "layer_norm_eps": 1e-12});
        let config = config(keys, vocabulary.len(), 40);
        let shapes = usual(&config, "bert", &PARTS);
        let mut tiny = Self::new(config, shapes, tokenizer, 0.0);
        let words = tiny.weight("bert.embeddings.word_embeddings.weight");
        for (id, (_, class)) in vocabulary.iter().enumerate() {
            words[id * HIDDEN + class] = 1.0;
        }
        let classifier = tiny.weight("classifier.weight");
        (0..LABELS.len()).for_each(|label| classifier[label * HIDDEN + label] = 1.0);
        tiny
    }

    /// Creates a checkpoint of random weights whose sub-words are bytes, with these keys in its
    /// configuration.
    pub(super) fn random(keys: Value) -> Self {
        let mut alphabet: Vec<char> = ByteLevel::alphabet().into_iter().collect();
        alphabet.sort_unstable();
        let mut ids = serde_json::Map::new();
        for (i, word) in ["<s>", "<pad>", "</s>", "<unk>"].iter().enumerate() {
            ids.insert((*word).to_owned(), json!(i));
        }
        for (i, c) in alphabet.iter().enumerate() {
            ids.insert(c.to_string(), json!(i + 4));
        }
        assert_eq!(ids.len(), WORDS);
        let tokenizer = json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": [special(0, "<s>"), special(1, "<pad>"), special(2, "</s>"), special(3, "<unk>")],
            "normalizer": null,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": true, "add_prefix_space": false},
            "decoder": null,
            "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false, "vocab": ids, "merges": []},
        });
        let config = config(keys, WORDS, POSITIONS);
        let shapes = match config["model_type"].as_str().unwrap() {
            "distilbert" => distilbert(),
            "modernbert" => modernbert(),
            "deberta-v2" => deberta(&config),
            "xlm-roberta" | "camembert" => usual(&config, "roberta", &PARTS),
            kind => usual(&config, kind, &PARTS),
        };
        Self::new(config, shapes, tokenizer, 0.6)
    }

    /// Creates a RoBERTa of random weights.
    pub(super) fn roberta() -> Self {
        Self::random(
            json!({"model_type": "roberta", "type_vocab_size": 2, "layer_norm_eps": 1e-5, "pad_token_id": 1}),
        )
    }

    /// Returns a tensor's numbers.
    pub(super) fn weight(&mut self, name: &str) -> &mut Vec<f32> {
        &mut self.weights.get_mut(name).unwrap().1
    }

    /// Writes the folder with tensors of this type.
    pub(super) fn write(&self, folder: &Path, dtype: DType) {
        let tensors: HashMap<&str, Tensor> = (self.weights.iter())
            .map(|(name, (shape, values))| {
                let tensor = Tensor::from_slice(values, shape.as_slice(), &Device::Cpu).unwrap();
                (name.as_str(), tensor.to_dtype(dtype).unwrap())
            })
            .collect();
        candle_core::safetensors::save(&tensors, folder.join("model.safetensors")).unwrap();
        std::fs::write(folder.join("config.json"), self.config.to_string()).unwrap();
        std::fs::write(folder.join("tokenizer.json"), self.tokenizer.to_string()).unwrap();
    }

    /// Returns a folder with the checkpoint, and settings for a member over it.
    pub(super) fn made(&self) -> (TempDir, TransformerConfig) {
        let folder = tempfile::tempdir().unwrap();
        self.write(folder.path(), DType::F32);
        let config = json!({"path": folder.path(), "labels": {"PER": "PATIENT"}});
        (folder, serde_json::from_value(config).unwrap())
    }
}
