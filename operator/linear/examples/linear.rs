//! Trains linear members and measures them: strict F1, time, size and speed.
//!
//! `linear KIND TRAIN.jsonl [--dev DEV.jsonl] [--folds K [--run N]] [--set KEY=VALUE]... [--held SHARE]
//! [--out DIR] [--state DIR] [--seed N] [--speed]`, or `linear KIND TRAIN.jsonl --dev DEV.jsonl --open DIR`
//! for the speed of an existing model.
//!
//! With `--folds` it cross-validates on TRAIN and reads nothing else.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lethe_core::{LabelSet, NoteBatch, Tagger as _};
use lethe_corpus::{Counts, Document, Group, Mark, Split, folds, hold_out, read_jsonl};
use lethe_dictionaries::Dictionary;
use lethe_learn::{Epoch, Observer};
use lethe_linear::{FeatureConfig, Learner, LinearMember, Task, Trained, train};

struct Log {
    start: Instant,
    quiet: bool,
}

impl Observer for Log {
    fn epoch(&mut self, epoch: Epoch) -> ControlFlow<()> {
        if !self.quiet && (epoch.done.is_multiple_of(10) || epoch.of <= 30) {
            println!(
                "  {:>4}/{}  {:>12.2}  {:>6.1} s",
                epoch.done,
                epoch.of,
                epoch.loss,
                self.start.elapsed().as_secs_f64()
            );
        }
        ControlFlow::Continue(())
    }
}

struct Options {
    learner: Learner,
    features: FeatureConfig,
    dictionary: Arc<Dictionary>,
    seed: u64,
    state: Option<PathBuf>,
    quiet: bool,
}

impl Options {
    fn train(&self, documents: &[Document], held_out: Option<&[Document]>) -> (Trained, Duration) {
        let start = Instant::now();
        let task = Task {
            learner: &self.learner,
            documents,
            held_out,
            features: &self.features,
            dictionary: &self.dictionary,
            seed: self.seed,
            state: self.state.as_deref(),
        };
        let mut log = Log {
            start,
            quiet: self.quiet,
        };
        let trained = train(&task, &mut log).unwrap();
        (trained, start.elapsed())
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1).cloned()
    };
    let mut settings = toml::Table::new();
    settings.insert("kind".to_owned(), args[0].clone().into());
    for pair in args.windows(2).filter(|pair| pair[0] == "--set") {
        settings.extend(pair[1].parse::<toml::Table>().unwrap());
    }
    let mut features = FeatureConfig::default();
    let off = value("--off").unwrap_or_default();
    features.lists &= !off.contains("lists");
    features.rules &= !off.contains("rules");
    features.document &= !off.contains("document");
    let options = Options {
        learner: settings.try_into().unwrap(),
        features,
        dictionary: Dictionary::builtin(),
        seed: value("--seed").map_or(1, |text| text.parse().unwrap()),
        state: value("--state").map(PathBuf::from),
        quiet: args.iter().any(|arg| arg == "--quiet"),
    };
    let documents = read_jsonl(Path::new(&args[1])).unwrap();
    if let Some(count) = value("--folds").map(|text| text.parse::<usize>().unwrap()) {
        let run = value("--run").map_or(count, |text| text.parse().unwrap());
        cross_validate(&options, &documents, count, run);
        return;
    }
    let dev = value("--dev").map(|path| read_jsonl(Path::new(&path)).unwrap());
    let labels = LabelSet::meddocan();
    if let Some(folder) = value("--open") {
        let member = LinearMember::open(Path::new(&folder), &labels, &options.dictionary).unwrap();
        speed(&member, &documents, &dev.unwrap_or_default());
        return;
    }
    let (mut trained, took) = match value("--held").map(|text| text.parse().unwrap()) {
        Some(share) => {
            let Split { train, held } = hold_out(&documents, share, options.seed);
            let held = Split::pick(&held, &documents);
            options.train(&Split::pick(&train, &documents), Some(&held))
        }
        None => options.train(&documents, None),
    };
    if let Some(f1) = trained.manifest.training.held_out_f1 {
        println!(
            "held out: F1 {:.2}, warmth {:.2}",
            100.0 * f1,
            trained.model.warmth()
        );
    }
    let (features, weights) = trained.model.size();
    println!(
        "{}: {:.1} s, {features} features, {weights} weights, {:.2} MB",
        args[0],
        took.as_secs_f64(),
        trained.model.to_bytes().len() as f64 / 1e6
    );
    if let Some(folder) = value("--out") {
        trained.write(Path::new(&folder)).unwrap();
    }
    let member = LinearMember::new(trained, &labels, &options.dictionary).unwrap();
    if let Some(dev) = dev {
        print(&format!("{} dev", args[0]), counts(&member, &labels, &dev));
        if args.iter().any(|arg| arg == "--speed") {
            speed(&member, &documents, &dev);
        }
    }
}

fn counts(member: &LinearMember, labels: &LabelSet, documents: &[Document]) -> Counts {
    let batch = NoteBatch::from_texts(documents.iter().map(|d| d.text.as_str())).unwrap();
    let mut counts = Counts::default();
    for (document, found) in documents.iter().zip(member.tag(&batch)) {
        let marks: Vec<Mark> = found
            .unwrap()
            .iter()
            .map(|a| Mark::gold(a.span, labels.label(a.label).name.clone()))
            .collect();
        counts += Counts::strict(&document.marks, &marks);
    }
    counts
}

fn print(what: &str, counts: Counts) {
    println!(
        "{what}: P {:.2} R {:.2} F1 {:.2}",
        100.0 * counts.precision(),
        100.0 * counts.recall(),
        100.0 * counts.f1()
    );
}

fn cross_validate(options: &Options, documents: &[Document], count: usize, run: usize) {
    let folds = folds(documents, count, Group::Document, 7).unwrap();
    let labels = LabelSet::meddocan();
    let mut all = Counts::default();
    let start = Instant::now();
    for fold in 0..run {
        let Split { train, held } = folds.split(fold);
        let (trained, _) = options.train(&Split::pick(&train, documents), None);
        let member = LinearMember::new(trained, &labels, &options.dictionary).unwrap();
        let counts = counts(&member, &labels, &Split::pick(&held, documents));
        if !options.quiet {
            print(&format!("  fold {fold}"), counts);
        }
        all += counts;
    }
    let took = start.elapsed().as_secs_f64() / run as f64;
    print(&format!("{:?} {took:.0} s per fold", options.learner), all);
}

/// Prints the tokens per second on this thread, in batches of 64 notes, of a member that has already tagged
/// similar notes: for features with one member, and for a further member that shares them.
fn speed(member: &LinearMember, before: &[Document], documents: &[Document]) {
    let in_batches = |documents: &[Document]| -> Vec<NoteBatch> {
        documents
            .chunks(64)
            .map(|chunk| NoteBatch::from_texts(chunk.iter().map(|d| d.text.as_str())).unwrap())
            .collect()
    };
    let batches = || in_batches(documents);
    let others = in_batches(before);
    let tokens: usize = batches()
        .iter()
        .flat_map(|batch| batch.notes().map(|note| note.tokens.len()).collect::<Vec<_>>())
        .sum();
    let mut best = [f64::MAX; 3];
    for _ in 0..5 {
        for batch in &others {
            assert_eq!(member.tag(batch).len(), batch.len());
        }
        let fresh = batches();
        let mut time = |place: usize, work: &dyn Fn(&NoteBatch)| {
            let start = on_core();
            fresh.iter().for_each(work);
            best[place] = best[place].min(on_core() - start);
        };
        time(0, &|batch| {
            member.columns(batch);
        });
        let tag = |batch: &NoteBatch| assert_eq!(member.tag(batch).len(), batch.len());
        time(1, &tag);
        let again = batches();
        let start = on_core();
        again.iter().for_each(tag);
        best[2] = best[2].min(on_core() - start);
    }
    let rate = |seconds: f64| tokens as f64 / seconds / 1000.0;
    println!(
        "  {tokens} tokens: features {:.0}k/s, a further member {:.0}k/s, both {:.0}k/s",
        rate(best[0]),
        rate(best[1]),
        rate(best[2])
    );
}

/// Returns the CPU time of this thread in seconds, so that other work on the machine does not count.
fn on_core() -> f64 {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds: f64 = spent.split(' ').next().unwrap().parse().unwrap();
    nanoseconds / 1e9
}
