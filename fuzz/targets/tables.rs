//! Any bytes as a table of a backfill: CSV, JSON lines or Parquet, compressed or not. Rows are in order and
//! are read as notes or quarantined; nothing panics.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use lethe_connectors::tables::{Tables, TablesConfig};
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};

/// The extensions that determine a table's format.
const ENDINGS: [&str; 6] = ["csv", "jsonl", "parquet", "csv.gz", "jsonl.zst", "tsv"];

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
});

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("lethe-fuzz-tables-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
});

static TABLES: LazyLock<Tables> =
    LazyLock::new(|| Tables::open(&config(), RUNTIME.handle().clone()).expect("the store opens"));

fn config() -> TablesConfig {
    let input = format!("input = {{ kind = \"folder\", path = {:?} }}\n", *FOLDER);
    let columns = "columns = { text = [\"text\"], note_id = \"id\", keep = [\"kind\"] }\n";
    toml::from_str(&(input + columns)).expect("these settings are valid")
}

fuzz_target!(|input: &[u8]| {
    let Some((&first, bytes)) = input.split_first() else {
        return;
    };
    let ending = ENDINGS[usize::from(first) % ENDINGS.len()];
    let path = FOLDER.join(format!("table.{ending}"));
    std::fs::write(&path, bytes).expect("the table is written");
    if let Ok(found) = TABLES.units(None) {
        for unit in &found.units {
            let Ok((shape, slabs)) = TABLES.read(unit, 0) else {
                continue;
            };
            let mut next = None;
            for slab in slabs.take(64) {
                let Ok(slab) = slab else { break };
                assert!(next.is_none_or(|next| slab.first >= next), "rows are in order");
                next = Some(slab.first + slab.record.num_rows() as i64);
                for row in 0..slab.record.num_rows() {
                    drop(shape.event(&slab.record, row));
                }
            }
        }
    }
    std::fs::remove_file(&path).expect("the table is removed");
});
