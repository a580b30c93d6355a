//! A store in memory, with files as Lethe writes them and with invalid ones.

use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array};
use bytes::Bytes;
use lethe_connectors::store::{Memory, Store};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
});

/// Waits for a request to a store.
pub fn wait<T>(work: impl Future<Output = T>) -> T {
    RUNTIME.block_on(work)
}

/// Returns a store with these objects. Of two with the same name, the first is kept.
pub fn with(objects: impl IntoIterator<Item = (String, Vec<u8>)>) -> Memory {
    let store = Memory::default();
    wait(async {
        for (name, bytes) in objects {
            drop(store.create(&name, Bytes::from(bytes)).await);
        }
    });
    store
}

/// The replacement of a valid value in a footer.
#[derive(Arbitrary, Debug)]
pub enum Value<'a> {
    Number(i64),
    Count(u64),
    Small(u8),
    Text(&'a str),
    /// 64 hexadecimal digits.
    Digest(u8),
    /// The key is missing.
    Gone,
}

impl Value<'_> {
    /// Returns the written value; `None` if its key is missing.
    pub fn written(&self) -> Option<String> {
        Some(match self {
            Self::Number(number) => number.to_string(),
            Self::Count(count) => count.to_string(),
            Self::Small(count) => count.to_string(),
            Self::Text(text) => (*text).to_owned(),
            Self::Digest(byte) => format!("{byte:02x}").repeat(32),
            Self::Gone => return None,
        })
    }
}

/// Replaces values of a footer: those of the keys with these numbers, modulo the number of keys.
pub fn changed(sound: &[(&str, String)], changes: &[(u8, Value<'_>)]) -> Vec<(String, String)> {
    let mut pairs: Vec<(&str, Option<String>)> = sound
        .iter()
        .map(|(key, value)| (*key, Some(value.clone())))
        .collect();
    for (at, value) in changes {
        let at = usize::from(*at) % pairs.len();
        pairs[at].1 = value.written();
    }
    let there = pairs.into_iter();
    there
        .filter_map(|(key, value)| Some((format!("lethe.{key}"), value?)))
        .collect()
}

/// Returns a Parquet file of notes with this many rows, offsets from 0 on, and these pairs in its footer.
pub fn parquet(pairs: Vec<(String, String)>, rows: u8) -> Vec<u8> {
    let column =
        |text: Option<&str>| -> ArrayRef { Arc::new(StringArray::from_iter((0..rows).map(|_| text))) };
    let offsets: ArrayRef = Arc::new(Int64Array::from_iter_values(0..i64::from(rows)));
    let redactions: ArrayRef = Arc::new(UInt32Array::from_iter_values((0..rows).map(|_| 0)));
    let record = RecordBatch::try_from_iter([
        ("offset", offsets),
        ("row_kind", column(Some("note"))),
        ("error", column(None)),
        ("text", column(Some("Seen."))),
        ("redactions", redactions),
        ("review", column(None)),
    ])
    .expect("the columns are equally long");
    let pairs = pairs.into_iter().map(|(key, value)| KeyValue::new(key, value));
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(pairs.collect()))
        .build();
    let mut out = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut out, record.schema(), Some(properties)).expect("strings can be written");
    writer.write(&record).expect("memory takes every byte");
    writer.close().expect("memory takes every byte");
    out
}

/// Changes bytes of a file, by their positions from its end, where its metadata is.
pub fn damage(file: &mut [u8], changes: &[(u16, u8)]) {
    for (at, byte) in changes {
        if let Some(place) = file.iter_mut().rev().nth(usize::from(*at)) {
            *place = *byte;
        }
    }
}
