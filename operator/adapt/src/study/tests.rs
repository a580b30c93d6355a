use std::sync::Arc;

use lethe_core::{LabelSet, Span};
use lethe_dictionaries::Dictionary;
use lethe_linear::{FeatureConfig, Learner};

use super::*;
use crate::Refitted;

/// Returns form-like sentences, every third without annotations.
fn units(count: usize) -> Vec<Document> {
    let names = [
        "Ana", "Luis", "Marta", "Pedro", "Elena", "Jorge", "Irene", "Mario",
    ];
    let each = |i: usize| {
        let name = names[i * 3 % 8];
        let text = match i % 3 {
            0 => format!("Paciente {name} atendido en consulta."),
            1 => format!("Firmado por {name} en {}.", 1990 + i),
            _ => "Sin hallazgos de interés en consulta.".to_owned(),
        };
        let year = format!("{}", 1990 + i);
        let mark = |part: &str, label: &str| {
            let start = text.find(part)?;
            Some(Mark::gold(Span::new(start, start + part.len()).ok()?, label))
        };
        Document {
            id: format!("n{i}"),
            patient: None,
            marks: [mark(name, "NAME"), mark(&year, "DATE")]
                .into_iter()
                .flatten()
                .collect(),
            text: text.clone(),
        }
    };
    (0..count).map(each).collect()
}

fn report(jobs: usize, seed: u64) -> Report {
    let names = ["NAME", "DATE"].map(str::to_owned);
    let ground = Ground {
        features: FeatureConfig::default(),
        dictionary: Dictionary::builtin(),
        labels: Arc::new(LabelSet::of_names("t", &names).unwrap()),
        seed: 1,
    };
    let units = units(36);
    let mut held = Document {
        id: "t".to_owned(),
        patient: None,
        text: "Paciente Ana atendido. Firmado por Luis en 2001.".to_owned(),
        marks: Vec::new(),
    };
    for (part, label) in [("Ana", "NAME"), ("Luis", "NAME"), ("2001", "DATE")] {
        let start = held.text.find(part).unwrap();
        held.marks
            .push(Mark::gold(Span::new(start, start + part.len()).unwrap(), label));
    }
    let test = Test::sentences(vec![held]).unwrap();
    assert_eq!(test.pieces.len(), 2);
    let study = Study {
        units: &units,
        test: &test,
        first: First::Refitted(Refitted::new(Learner::of_kind("crf").unwrap())),
        ground,
        plan: Plan {
            batch: 8,
            increments: Some(4),
            repeats: 3,
            seed,
            jobs,
        },
    };
    let setup = Setup {
        title: "T".to_owned(),
        first: "a random field".to_owned(),
        unit: "sentence".to_owned(),
        stream_documents: 36,
        stream_spans: 36,
        test_documents: 1,
        test_spans: 3,
        labels: names.to_vec(),
    };
    let steps = AtomicUsize::new(0);
    let count = || {
        steps.fetch_add(1, Ordering::Relaxed);
    };
    let report = study.run(setup, &count).unwrap();
    assert_eq!(steps.into_inner(), 3 * 5);
    report
}

#[test]
fn a_seed_gives_the_same_report_however_many_repeats_run_at_a_time() {
    let json = |report: &Report| serde_json::to_string(report).unwrap();
    let one = report(1, 1);
    assert_eq!(json(&one), json(&report(3, 1)));
    assert_ne!(json(&one), json(&report(1, 2)));
}

#[test]
fn curves_begin_where_something_is_known_rise_and_end_with_the_stream() {
    let report = report(2, 1);
    let after: Vec<usize> = report.increments.iter().map(|one| one.after).collect();
    assert_eq!(after, [1, 2, 3, 4]);
    let last = &report.increments[3];
    assert_eq!(last.units, 32);
    assert!(last.unseen.is_none() && report.increments[0].unseen.is_some());
    assert!(last.first.mean > 0.6 && last.mixture[0].mean > 0.6, "{last:?}");
    assert_eq!((report.stationary.learnt, report.stationary.held), (3, 1));
    assert_eq!(report.landscape.points.len(), 21);
    for told in &report.told {
        assert_eq!(told.at_least + told.below.len(), told.of);
    }
    // The loss at the estimated weight is not above that at any other.
    let landscape = &report.landscape;
    let nearest = landscape
        .points
        .iter()
        .min_by(|a, b| {
            let far = |point: &LandscapePoint| (point.weight - landscape.brier).abs();
            far(a).total_cmp(&far(b))
        })
        .unwrap();
    let least = landscape
        .points
        .iter()
        .map(|point| point.loss)
        .fold(f64::MAX, f64::min);
    assert_eq!(nearest.loss, least);
}

#[test]
fn the_report_has_every_increment_and_its_figures_are_in_the_same_folder() {
    let report = report(2, 1);
    let page = report.page();
    for one in &report.increments {
        assert!(
            page.contains(&format!("\n| {} | {} |", one.after, one.units)),
            "{page}"
        );
    }
    for (name, drawing) in report.figures() {
        assert!(page.contains(&format!("({name})")), "{name}");
        assert!(
            drawing.starts_with("<svg") && drawing.contains("class=\"dot-"),
            "{name}"
        );
    }
}

#[test]
fn a_stream_of_one_batch_is_refused() {
    let ground = Ground {
        features: FeatureConfig::default(),
        dictionary: Dictionary::builtin(),
        labels: Arc::new(LabelSet::of_names("t", &["NAME".to_owned()]).unwrap()),
        seed: 1,
    };
    let units = units(6);
    let study = Study {
        units: &units,
        test: &Test::documents(units.clone()).unwrap(),
        first: First::Refitted(Refitted::new(Learner::of_kind("crf").unwrap())),
        ground,
        plan: Plan {
            batch: 8,
            increments: None,
            repeats: 1,
            seed: 1,
            jobs: 1,
        },
    };
    let setup = Setup {
        title: String::new(),
        first: String::new(),
        unit: String::new(),
        stream_documents: 0,
        stream_spans: 0,
        test_documents: 0,
        test_spans: 0,
        labels: Vec::new(),
    };
    let refused = study.run(setup, &|| {}).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("6 units are too few for batches of 8"),
        "{refused}"
    );
}
