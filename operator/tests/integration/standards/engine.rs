//! The engine with the default bundle under docs/policies/safe-harbor.toml, as `lethe run` builds it.

use std::sync::{Arc, LazyLock};

use lethe_connectors::format::FormatConfig;
use lethe_core::{Carried, Coordinates, Engine, Merging, NoteBatch, Redactor};
use lethe_dictionaries::{Dictionary, exemption};
use lethe_ensemble::Bundle;
use lethe_policy::{Policy, PolicyFile, carried_by_default};

/// The engine as it runs.
pub(crate) static ENGINE: LazyLock<Engine> =
    LazyLock::new(|| build().exempting(Some(exemption(&Dictionary::builtin()))));
/// The engine without structure information for narrative.
pub(crate) static BLIND: LazyLock<Engine> = LazyLock::new(build);

fn build() -> Engine {
    let dictionary = Dictionary::builtin();
    let folder = lethe_bundles::folder(lethe_bundles::DEFAULT).unwrap();
    let bundle = Bundle::open(&folder, &dictionary).unwrap();
    let labels = bundle.labels;
    let toml = include_str!("../../../../docs/policies/safe-harbor.toml");
    let file = PolicyFile::parse(toml, "safe-harbor.toml").unwrap();
    let carried = carried_by_default(&file);
    let policy = Policy::build(&file, "safe-harbor.toml", &labels, &dictionary, &carried).unwrap();
    let merging = Merging {
        whole: Merging::names(&labels),
        ..Merging::none(&labels)
    };
    let redactor = Redactor::by(policy.replacer, Carried::new(carried));
    Engine::new(
        Arc::clone(&labels),
        bundle.members,
        bundle.combiner,
        merging,
        redactor,
    )
    .propagating(policy.propagation)
    .with_titles(policy.titles)
}

/// Returns a batch of payloads of one format, which keeps its messages.
pub(crate) fn batch<'p>(format: &str, payloads: impl IntoIterator<Item = &'p str>) -> NoteBatch {
    let config: FormatConfig = toml::from_str(&format!("kind = \"{format}\"\nkeep_message = true")).unwrap();
    let format = config.build().unwrap();
    let records = payloads.into_iter().enumerate().map(|(offset, payload)| {
        let at = Coordinates {
            topic: Arc::from("feed"),
            partition: 0,
            offset: offset as i64,
        };
        format.decode(at, payload.as_bytes())
    });
    NoteBatch::from_records(records).unwrap()
}
