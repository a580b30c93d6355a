//! Small checkpoints that tests make: BERT over WordPiece, RoBERTa over bytes.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

use super::TransformerConfig;
use crate::kernel::tests::numbers;

/// Tensors by name: shape and numbers.
pub(super) type Weights = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// What goes into a checkpoint's folder.
#[derive(Clone)]
pub(super) struct Tiny {
    pub(super) config: Value,
    pub(super) weights: Weights,
    pub(super) tokenizer: Value,
}

/// Labels of the checkpoints.
pub(super) const LABELS: [&str; 5] = ["O", "B-DATE", "I-DATE", "B-PER", "I-PER"];

const HIDDEN: usize = 24;

fn special(id: usize, content: &str) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
}

impl Tiny {
    fn new(
        config: Value,
        prefix: &str,
        words: usize,
        positions: usize,
        tokenizer: Value,
        random: bool,
    ) -> Self {
        let mut weights = Weights::new();
        let mut add = |name: String, shape: &[usize]| {
            let len = shape.iter().product();
            let seed = name
                .bytes()
                .fold(7_u64, |seed, byte| seed.wrapping_mul(31) + u64::from(byte));
            let norm = name.ends_with("LayerNorm.weight");
            let scale = if random { 0.6 } else { 0.0 };
            let value = |x: f32| scale * x + f32::from(u8::from(norm));
            let values = numbers(len, seed).into_iter().map(value).collect();
            weights.insert(name, (shape.to_vec(), values));
        };
        let inner = 2 * HIDDEN;
        let embeddings = format!("{prefix}.embeddings");
        add(format!("{embeddings}.word_embeddings.weight"), &[words, HIDDEN]);
        add(
            format!("{embeddings}.position_embeddings.weight"),
            &[positions, HIDDEN],
        );
        add(format!("{embeddings}.token_type_embeddings.weight"), &[2, HIDDEN]);
        let mut norms = vec![embeddings];
        for i in 0..2 {
            let layer = format!("{prefix}.encoder.layer.{i}");
            norms.extend([format!("{layer}.attention.output"), format!("{layer}.output")]);
            for (name, to, from) in [
                ("attention.self.query", HIDDEN, HIDDEN),
                ("attention.self.key", HIDDEN, HIDDEN),
                ("attention.self.value", HIDDEN, HIDDEN),
                ("attention.output.dense", HIDDEN, HIDDEN),
                ("intermediate.dense", inner, HIDDEN),
                ("output.dense", HIDDEN, inner),
            ] {
                add(format!("{layer}.{name}.weight"), &[to, from]);
                add(format!("{layer}.{name}.bias"), &[to]);
            }
        }
        for norm in norms {
            add(format!("{norm}.LayerNorm.weight"), &[HIDDEN]);
            add(format!("{norm}.LayerNorm.bias"), &[HIDDEN]);
        }
        add("classifier.weight".to_owned(), &[LABELS.len(), HIDDEN]);
        add("classifier.bias".to_owned(), &[LABELS.len()]);
        let mut config = config;
        let labels: serde_json::Map<String, Value> = (LABELS.iter().enumerate())
            .map(|(i, label)| (i.to_string(), json!(label)))
            .collect();
        for (key, value) in [
            ("vocab_size", json!(words)),
            ("hidden_size", json!(HIDDEN)),
            ("num_hidden_layers", json!(2)),
            ("num_attention_heads", json!(3)),
            ("intermediate_size", json!(inner)),
            ("max_position_embeddings", json!(positions)),
            ("type_vocab_size", json!(2)),
            ("id2label", Value::Object(labels)),
        ] {
            config[key] = value;
        }
        Self {
            config,
            weights,
            tokenizer,
        }
    }

    /// A BERT that calls a sub-word by its own class whatever is around it: the first piece of a number `B-DATE`, the
    /// others `I-DATE`, "tessa" `B-PER`, "har" `I-PER`, and all else, "##grove" too, `O`.
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
            // As many checkpoints are saved: cut to a length, which windows make needless.
            "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
            "padding": null,
            "added_tokens": [special(0, "[PAD]"), special(1, "[UNK]"), special(2, "[CLS]"), special(3, "[SEP]")],
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "decoder": null,
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": ids},
        });
        let config = json!({"model_type": "bert", "hidden_act": "gelu", "layer_norm_eps": 1e-12});
        let mut tiny = Self::new(config, "bert", vocabulary.len(), 40, tokenizer, false);
        let words = tiny.weight("bert.embeddings.word_embeddings.weight");
        for (id, (_, class)) in vocabulary.iter().enumerate() {
            words[id * HIDDEN + class] = 1.0;
        }
        let classifier = tiny.weight("classifier.weight");
        (0..LABELS.len()).for_each(|label| classifier[label * HIDDEN + label] = 1.0);
        tiny
    }

    /// A RoBERTa of random weights whose sub-words are bytes.
    pub(super) fn random() -> Self {
        let mut alphabet: Vec<char> = ByteLevel::alphabet().into_iter().collect();
        alphabet.sort_unstable();
        let mut ids = serde_json::Map::new();
        for (i, word) in ["<s>", "<pad>", "</s>", "<unk>"].iter().enumerate() {
            ids.insert((*word).to_owned(), json!(i));
        }
        for (i, c) in alphabet.iter().enumerate() {
            ids.insert(c.to_string(), json!(i + 4));
        }
        let words = ids.len();
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
        let config =
            json!({"model_type": "roberta", "hidden_act": "gelu", "layer_norm_eps": 1e-5, "pad_token_id": 1});
        Self::new(config, "roberta", words, 66, tokenizer, true)
    }

    /// A tensor's numbers.
    pub(super) fn weight(&mut self, name: &str) -> &mut Vec<f32> {
        &mut self.weights.get_mut(name).unwrap().1
    }

    /// Writes the folder, tensors in 32 bits.
    pub(super) fn write(&self, folder: &Path) {
        let bytes: BTreeMap<&String, Vec<u8>> = (self.weights.iter())
            .map(|(name, (_, values))| {
                (
                    name,
                    values.iter().flat_map(|value| value.to_le_bytes()).collect(),
                )
            })
            .collect();
        self.write_as(folder, Dtype::F32, &bytes);
    }

    /// Writes the folder with tensors of this type and these bytes.
    pub(super) fn write_as(&self, folder: &Path, dtype: Dtype, bytes: &BTreeMap<&String, Vec<u8>>) {
        let views = self.weights.iter().map(|(name, (shape, _))| {
            (
                name.clone(),
                TensorView::new(dtype, shape.clone(), &bytes[name]).unwrap(),
            )
        });
        std::fs::write(
            folder.join("model.safetensors"),
            safetensors::serialize(views, None).unwrap(),
        )
        .unwrap();
        std::fs::write(folder.join("config.json"), self.config.to_string()).unwrap();
        std::fs::write(folder.join("tokenizer.json"), self.tokenizer.to_string()).unwrap();
    }

    /// A folder with the checkpoint, and settings for a member over it.
    pub(super) fn made(&self) -> (TempDir, TransformerConfig) {
        let folder = tempfile::tempdir().unwrap();
        self.write(folder.path());
        let config = json!({"path": folder.path(), "labels": {"PER": "PATIENT"}});
        (folder, serde_json::from_value(config).unwrap())
    }
}
