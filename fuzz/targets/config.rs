//! The tables of a configuration file, as the libraries read them: any text gives settings or an error, and a
//! secret prints as `[secret]`.
#![no_main]

use lethe_connectors::files::{MessageFilesConfig, ParquetConfig, TextFolderConfig};
use lethe_connectors::format::FormatConfig;
use lethe_connectors::kafka::KafkaConfig;
use lethe_connectors::secret::Secret;
use lethe_connectors::store::StoreConfig;
use lethe_connectors::tables::TablesConfig;
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

/// The tables by the program's names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tables {
    source: Option<toml::Value>,
    sink: Option<toml::Value>,
    format: Option<toml::Value>,
    backfill: Option<toml::Value>,
    secret: Option<Secret>,
}

fuzz_target!(|text: &str| {
    let Ok(tables) = toml::from_str::<Tables>(text) else {
        return;
    };
    if let Some(source) = &tables.source {
        drop(source.clone().try_into::<KafkaConfig>());
        drop(source.clone().try_into::<MessageFilesConfig>());
        drop(source.clone().try_into::<ParquetConfig>());
        drop(source.clone().try_into::<TextFolderConfig>());
    }
    if let Some(secret) = &tables.secret {
        assert_eq!(format!("{secret:?}"), "[secret]");
    }
    if let Some(store) = tables.sink.as_ref().and_then(|sink| sink.get("store")) {
        drop(store.clone().try_into::<StoreConfig>());
    }
    if let Some(format) = &tables.format
        && let Ok(config) = format.clone().try_into::<FormatConfig>()
    {
        drop(format!("{config:?}"));
    }
    if let Some(backfill) = &tables.backfill
        && let Ok(config) = backfill.clone().try_into::<TablesConfig>()
    {
        drop(config.columns.check());
        drop((
            config.columns.leaving(),
            config.columns.metadata(),
            config.naming(),
        ));
    }
});
