//! Evaluates the features by cross-validation with a small averaged perceptron: a quick test of templates.
//!
//! `evaluate GOLD.jsonl [FOLDS [EPOCHS [VIEWS-LEFT-OUT...]]]`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use lethe_core::NoteBatch;
use lethe_corpus::{Counts, Document, Mark, read_jsonl};
use lethe_dictionaries::Dictionary;
use lethe_learn::{Scheme, TagSet};
use lethe_linear::pos::PosTagger;
use lethe_linear::{Columns, FeatureConfig, salted};

struct Data {
    features: Vec<Vec<u32>>,
    tags: Vec<u16>,
}

struct Model {
    weights: Vec<f32>,
    total: Vec<f32>,
    stamp: Vec<u32>,
    width: usize,
}

impl Model {
    fn new(features: usize, width: usize) -> Self {
        Self {
            weights: vec![0.0; features * width],
            total: vec![0.0; features * width],
            stamp: vec![0; features],
            width,
        }
    }

    fn catch_up(&mut self, feature: usize, now: u32) {
        let past = (now - self.stamp[feature]) as f32;
        self.stamp[feature] = now;
        let range = feature * self.width..(feature + 1) * self.width;
        for (total, weight) in self.total[range.clone()].iter_mut().zip(&self.weights[range]) {
            *total += past * weight;
        }
    }

    fn add(&mut self, feature: usize, tag: usize, by: f32, now: u32) {
        self.catch_up(feature, now);
        self.weights[feature * self.width + tag] += by;
    }
}

fn scores(model: &Model, features: &[u32], out: &mut [f32]) {
    out.fill(0.0);
    for &feature in features {
        let at = feature as usize * model.width;
        for (score, weight) in out.iter_mut().zip(&model.weights[at..at + model.width]) {
            *score += weight;
        }
    }
}

fn viterbi(model: &Model, data: &Data, allowed: &[bool], bigrams: usize, cost: f32) -> Vec<u16> {
    let (n, width) = (data.features.len(), model.width);
    let mut best = vec![0f32; width];
    let mut back = vec![0u16; n * width];
    let mut own = vec![0f32; width];
    for i in 0..n {
        scores(model, &data.features[i], &mut own);
        for (tag, score) in own.iter_mut().enumerate() {
            if cost > 0.0 && tag != usize::from(data.tags[i]) {
                *score += cost;
            }
        }
        let mut next = vec![f32::NEG_INFINITY; width];
        for tag in 0..width {
            for before in 0..if i == 0 { 1 } else { width } {
                if !allowed[before * width + tag] {
                    continue;
                }
                let score = best[before] + model.weights[(bigrams + before) * width + tag];
                if score > next[tag] {
                    next[tag] = score;
                    back[i * width + tag] = before as u16;
                }
            }
            next[tag] += own[tag];
        }
        best = next;
    }
    let mut tags = vec![0u16; n];
    if n > 0 {
        let last = (0..width).max_by(|&a, &b| best[a].total_cmp(&best[b])).unwrap();
        tags[n - 1] = last as u16;
        for i in (1..n).rev() {
            tags[i - 1] = back[i * width + usize::from(tags[i])];
        }
    }
    tags
}

fn flat(columns: &Columns, row: usize, left_out: &[usize]) -> Vec<Vec<u64>> {
    let note = &columns.notes[row];
    (0..note.len())
        .map(|i| {
            let mut all = Vec::new();
            for (v, view) in columns.views.iter().enumerate() {
                if !left_out.contains(&v) {
                    let id = columns.id(*view, note, i);
                    all.extend(
                        columns.tables[view.table]
                            .of(id, view.part)
                            .iter()
                            .filter(|&&f| f != 0)
                            .map(|&f| salted(f, v)),
                    );
                }
            }
            all
        })
        .collect()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, or: usize| args.get(i).map_or(or, |a| a.parse().unwrap());
    let (folds, epochs) = (number(1, 5), number(2, 6));
    let run = number(3, folds);
    let left_out: Vec<usize> = args.iter().skip(4).map(|a| a.parse().unwrap()).collect();
    let documents = read_jsonl(Path::new(&args[0])).unwrap();
    let tags = TagSet::of(Scheme::Bio, documents.iter().flat_map(|d| &d.marks));
    let mut config = FeatureConfig::default();
    for (name, flag) in [
        ("lists", &mut config.lists),
        ("rules", &mut config.rules),
        ("document", &mut config.document),
    ] {
        *flag = !std::env::var("OFF").is_ok_and(|off| off.contains(name));
    }
    if let Ok(path) = std::env::var("POS") {
        let tagger = PosTagger::from_bytes(&std::fs::read(path).unwrap()).unwrap();
        config = config.with_tagger(Arc::new(tagger));
    }
    let extractor = config.build(&Dictionary::builtin()).unwrap();
    let batch = NoteBatch::from_texts(documents.iter().map(|d| d.text.as_str())).unwrap();
    let columns = extractor.columns(&batch);
    let width = tags.len();
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let data: Vec<Data> = documents
        .iter()
        .enumerate()
        .map(|(row, document)| Data {
            features: flat(&columns, row, &left_out)
                .into_iter()
                .map(|token| {
                    token
                        .into_iter()
                        .map(|feature| {
                            let next = numbers.len() as u32;
                            *numbers.entry(feature).or_insert(next)
                        })
                        .collect()
                })
                .collect(),
            tags: tags.encode(batch.note(row).tokens, &document.marks),
        })
        .collect();
    // Rare features are memorised.
    let least: u32 = std::env::var("MIN").map_or(1, |text| text.parse().unwrap());
    let mut times = vec![0u32; numbers.len()];
    data.iter()
        .flat_map(|d| d.features.iter().flatten())
        .for_each(|&f| times[f as usize] += 1);
    let mut data = data;
    for token in data.iter_mut().flat_map(|d| &mut d.features) {
        token.retain(|&f| times[f as usize] >= least);
    }
    let tokens: usize = data.iter().map(|d| d.tags.len()).sum();
    let each: usize = data.iter().flat_map(|d| &d.features).map(Vec::len).sum();
    println!(
        "{tokens} tokens, {} features, {:.1} per token, {width} tags",
        numbers.len(),
        each as f64 / tokens as f64
    );
    let allowed: Vec<bool> = (0..width * width)
        .map(|k| tags.may_follow(Some((k / width) as u16), Some((k % width) as u16)))
        .collect();
    let mut all = Counts::default();
    let mut by_label: HashMap<String, Counts> = HashMap::new();
    for fold in 0..run {
        let model = train(
            &data,
            &documents,
            fold,
            folds,
            epochs,
            numbers.len(),
            width,
            &allowed,
        );
        let mut counts = Counts::default();
        for (row, document) in documents
            .iter()
            .enumerate()
            .filter(|(row, _)| row % folds == fold)
        {
            let found = viterbi(&model, &data[row], &allowed, numbers.len(), 0.0);
            let marks = marks_of(&batch, row, &tags, &found);
            counts += Counts::strict(&document.marks, &marks);
            for label in tags.labels() {
                let only = |marks: &[Mark]| -> Vec<Mark> {
                    marks.iter().filter(|m| m.label == *label).cloned().collect()
                };
                *by_label.entry(label.clone()).or_default() +=
                    Counts::strict(&only(&document.marks), &only(&marks));
            }
            if std::env::var("SHOW").is_ok() {
                show(document, &marks);
            }
        }
        println!(
            "fold {fold}: P {:.4} R {:.4} F {:.4}",
            counts.precision(),
            counts.recall(),
            counts.f1()
        );
        all += counts;
    }
    let mut labels: Vec<_> = by_label.into_iter().collect();
    labels.sort_by_key(|(_, c)| std::cmp::Reverse(c.missed + c.spurious));
    for (label, c) in labels {
        println!(
            "  {label:36} hit {:5} missed {:4} spurious {:4} F {:.4}",
            c.hits,
            c.missed,
            c.spurious,
            c.f1()
        );
    }
    println!(
        "all: P {:.4} R {:.4} F {:.4}",
        all.precision(),
        all.recall(),
        all.f1()
    );
}

fn marks_of(batch: &NoteBatch, row: usize, tags: &TagSet, found: &[u16]) -> Vec<Mark> {
    let note = batch.note(row);
    tags.decode(found)
        .into_iter()
        .map(|span| {
            Mark::gold(
                note.tokens_span(span.first, span.last),
                tags.labels()[span.label].clone(),
            )
        })
        .collect()
}

fn show(document: &Document, marks: &[Mark]) {
    let around = |mark: &Mark| {
        let from = document
            .text
            .floor_char_boundary(mark.span.start().saturating_sub(40));
        let to = document
            .text
            .ceil_char_boundary((mark.span.end() + 30).min(document.text.len()));
        let get = |a, b| document.text.get(a..b).unwrap().replace('\n', "⏎");
        format!(
            "{}[[{}]]{}",
            get(from, mark.span.start()),
            get(mark.span.start(), mark.span.end()),
            get(mark.span.end(), to)
        )
    };
    for mark in document.marks.iter().filter(|m| !marks.contains(m)) {
        println!("MISS {} {} {}", document.id, mark.label, around(mark));
    }
    for mark in marks.iter().filter(|m| !document.marks.contains(m)) {
        println!("EXTR {} {} {}", document.id, mark.label, around(mark));
    }
}

#[allow(clippy::too_many_arguments)]
fn train(
    data: &[Data],
    _documents: &[Document],
    fold: usize,
    folds: usize,
    epochs: usize,
    features: usize,
    width: usize,
    allowed: &[bool],
) -> Model {
    let mut model = Model::new(features + width, width);
    let mut order: Vec<usize> = (0..data.len()).filter(|row| row % folds != fold).collect();
    let mut now = 0u32;
    let mut seed = 12345u64;
    for _ in 0..epochs {
        for i in (1..order.len()).rev() {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            order.swap(i, (seed >> 33) as usize % (i + 1));
        }
        for &row in &order {
            let note = &data[row];
            now += 1;
            // Passive-aggressive updates (Crammer 2006, PA-I) would need norms; a margin of one suffices.
            let found = viterbi(&model, note, allowed, features, 1.0);
            let (mut gold_before, mut found_before) = (0, 0);
            for (i, (&gold, &found)) in note.tags.iter().zip(&found).enumerate() {
                if gold != found {
                    for &feature in &note.features[i] {
                        model.add(feature as usize, gold.into(), 1.0, now);
                        model.add(feature as usize, found.into(), -1.0, now);
                    }
                }
                if (gold_before, gold) != (found_before, found) {
                    model.add(features + usize::from(gold_before), gold.into(), 1.0, now);
                    model.add(features + usize::from(found_before), found.into(), -1.0, now);
                }
                (gold_before, found_before) = (gold, found);
            }
        }
    }
    for feature in 0..features + width {
        model.catch_up(feature, now);
    }
    model.weights = std::mem::take(&mut model.total);
    model
}
