//! Measures the speed of a `transformer` member on one core: `encoder FOLDER [KIND]`.
//!
//! FOLDER is a checkpoint. If it does not exist, the example creates one of the usual base size (12 layers of
//! 768, 12 heads, 30,522 sub-words) with random weights there, of KIND `bert` or `roberta`. The notes fill
//! whole windows of 512 sub-words; the result is sub-words per second, by wall-clock time and by the CPU time
//! of this thread and of the whole process.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measuring program")]

use std::path::Path;
use std::time::Instant;

use lethe_core::{LabelSet, NoteBatch, Tagger as _};
use lethe_neural::transformer::TransformerConfig;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::json;

const WORDS: usize = 30_522;
const POSITIONS: usize = 514;
/// Sub-words of a note in a window, besides the two special ones.
const INNER: usize = 510;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(&args[0]);
    if !folder.join("model.safetensors").exists() {
        make(folder, args.get(1).map_or("bert", String::as_str));
    }
    let config: TransformerConfig =
        serde_json::from_value(json!({"path": folder, "labels": {"PER": "PATIENT"}, "window": 512})).unwrap();
    let start = Instant::now();
    let member = config.build(&LabelSet::i2b2_2014()).unwrap();
    println!("loaded in {:.2} s", start.elapsed().as_secs_f64());
    let note = |seed: usize| {
        let word = |i: usize| format!("w{} ", (i * 7919 + seed * 104_729) % 997);
        (0..INNER).map(word).collect::<String>()
    };
    for notes in [1, 4] {
        let texts: Vec<String> = (0..notes).map(note).collect();
        let batch = NoteBatch::from_texts(texts.iter().map(String::as_str)).unwrap();
        let mut best = [f64::MAX; 3];
        for _ in 0..4 {
            let before = clocks();
            assert!(member.tag(&batch).iter().all(Result::is_ok));
            for ((best, after), before) in best.iter_mut().zip(clocks()).zip(before) {
                *best = best.min(after - before);
            }
        }
        let [clock, thread, process] = best.map(|seconds| (notes * (INNER + 2)) as f64 / seconds);
        println!(
            "{notes} notes per batch: {clock:.0} sub-words/s by the clock, {thread:.0} of the thread, {process:.0} of the process"
        );
    }
}

/// Returns the seconds by the clock, of this thread, and of the process.
fn clocks() -> [f64; 3] {
    let epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let run = |path: String| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace()
            .next()
            .map_or(0.0, |ns| ns.parse::<f64>().unwrap() / 1e9)
    };
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let process = threads.map(|thread| run(format!("{}/schedstat", thread.unwrap().path().display())));
    [
        epoch.unwrap().as_secs_f64(),
        run("/proc/thread-self/schedstat".to_owned()),
        process.sum(),
    ]
}

/// Creates a checkpoint whose words are `w0` to `w996`.
fn make(folder: &Path, kind: &str) {
    let (hidden, inner) = (768, 3072);
    let mut shapes = vec![
        (
            format!("{kind}.embeddings.word_embeddings.weight"),
            vec![WORDS, hidden],
        ),
        (
            format!("{kind}.embeddings.position_embeddings.weight"),
            vec![POSITIONS, hidden],
        ),
        (
            format!("{kind}.embeddings.token_type_embeddings.weight"),
            vec![2, hidden],
        ),
    ];
    let mut dense = |name: String, to: usize, from: &[usize]| {
        shapes.push((format!("{name}.weight"), [&[to], from].concat()));
        shapes.push((format!("{name}.bias"), vec![to]));
    };
    dense(format!("{kind}.embeddings.LayerNorm"), hidden, &[]);
    for i in 0..12 {
        let layer = format!("{kind}.encoder.layer.{i}");
        for part in ["query", "key", "value"] {
            dense(format!("{layer}.attention.self.{part}"), hidden, &[hidden]);
        }
        dense(format!("{layer}.attention.output.dense"), hidden, &[hidden]);
        dense(format!("{layer}.attention.output.LayerNorm"), hidden, &[]);
        dense(format!("{layer}.intermediate.dense"), inner, &[hidden]);
        dense(format!("{layer}.output.dense"), hidden, &[inner]);
        dense(format!("{layer}.output.LayerNorm"), hidden, &[]);
    }
    dense("classifier".to_owned(), 5, &[hidden]);
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1 << 24) as f32 - 0.5) * 0.07
    };
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = (shapes.into_iter())
        .map(|(name, shape)| {
            let base = f32::from(u8::from(name.ends_with("LayerNorm.weight")));
            let len = shape.iter().product();
            let bytes = (0..len)
                .flat_map(|_: usize| (base + random()).to_le_bytes())
                .collect();
            (name, shape, bytes)
        })
        .collect();
    let views = (tensors.iter())
        .map(|(name, shape, bytes)| (name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
    std::fs::create_dir_all(folder).unwrap();
    safetensors::serialize_to_file(views, None, &folder.join("model.safetensors")).unwrap();
    let specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];
    let ids: serde_json::Map<String, serde_json::Value> = (specials.iter().map(|word| (*word).to_owned()))
        .chain((0..997).map(|i| format!("w{i}")))
        .enumerate()
        .map(|(id, word)| (word, json!(id)))
        .collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": specials.iter().enumerate().map(|(id, word)| json!({"id": id, "content": word, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})).collect::<Vec<_>>(),
        "normalizer": null, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": ids},
    });
    let config = json!({
        "model_type": kind, "architectures": [format!("{}ForTokenClassification", if kind == "bert" { "Bert" } else { "Roberta" })],
        "vocab_size": WORDS, "hidden_size": hidden, "num_hidden_layers": 12,
        "num_attention_heads": 12, "intermediate_size": inner, "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": i32::from(kind == "roberta"),
        "id2label": {"0": "O", "1": "B-DATE", "2": "I-DATE", "3": "B-PER", "4": "I-PER"},
        "label2id": {"O": 0, "B-DATE": 1, "I-DATE": 2, "B-PER": 3, "I-PER": 4},
    });
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
}
