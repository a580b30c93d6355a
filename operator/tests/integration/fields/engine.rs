//! The engine with its rule members under docs/policies/safe-harbor.toml, and everything that it returns for
//! one event.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float32Type, Int32Type, Int64Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use lethe_connectors::format::FormatConfig;
use lethe_core::{Carried, Coordinates, Engine, LabelSet, Merging, NoteBatch, Record, Redactor, Voting};
use lethe_dictionaries::Dictionary;
use lethe_policy::{Policy, PolicyFile, carried_by_default};

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let labels = Arc::new(LabelSet::i2b2_2014());
    let dictionary = Dictionary::builtin();
    let toml = include_str!("../../../../docs/policies/safe-harbor.toml");
    let file = PolicyFile::parse(toml, "safe-harbor.toml").unwrap();
    let carried = carried_by_default(&file);
    let policy = Policy::build(&file, "safe-harbor.toml", &labels, &dictionary, &carried).unwrap();
    let members = lethe_members::registry::default_rules();
    let members = members
        .iter()
        .map(|config| config.build(&labels, &dictionary).unwrap());
    let merging = Merging::none(&labels);
    let redactor = Redactor::by(policy.replacer, Carried::new(carried));
    let voting = Arc::new(Voting::default());
    let engine = Engine::new(Arc::clone(&labels), members.collect(), voting, merging, redactor);
    engine.propagating(policy.propagation).with_titles(policy.titles)
});

/// The output for one payload.
pub(crate) struct Out {
    /// The redacted message; `None` if the payload was quarantined.
    pub(crate) message: Option<String>,
    /// Every other value of its row and of its audit rows, by column.
    pub(crate) columns: Vec<(String, String)>,
}

/// Passes a payload through a format that keeps messages, and through the engine.
pub(crate) fn through(format: &str, payload: &[u8]) -> Out {
    let config: FormatConfig = toml::from_str(&format!("kind = \"{format}\"\nkeep_message = true")).unwrap();
    let at = Coordinates {
        topic: Arc::from("feed"),
        ..Coordinates::default()
    };
    let record: Record = config.build().unwrap().decode(at, payload);
    let batch = NoteBatch::from_records([record]).unwrap();
    let done = ENGINE.process(&batch).unwrap();
    let mut columns = strings(done.redacted.record());
    columns.extend(strings(done.audit.record()));
    let is_message = |(name, _): &(String, String)| name == "message";
    let message = columns.iter().find(|column| is_message(column));
    let message = message
        .map(|(_, value)| value.clone())
        .filter(|value| !value.is_empty());
    columns.retain(|column| !is_message(column));
    Out { message, columns }
}

/// Returns every value as text, with the name of its column.
fn strings(record: &RecordBatch) -> Vec<(String, String)> {
    let schema = record.schema();
    let columns = schema.fields().iter().zip(record.columns());
    let values = columns.flat_map(|(field, column)| {
        let rows = (0..record.num_rows()).filter(|&row| column.is_valid(row));
        rows.map(|row| (field.name().clone(), value(column.as_ref(), row)))
    });
    values.collect()
}

fn value(column: &dyn Array, row: usize) -> String {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        DataType::Binary => String::from_utf8_lossy(column.as_binary::<i32>().value(row)).into_owned(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::Float32 => column.as_primitive::<Float32Type>().value(row).to_string(),
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(row);
            all(items.len(), |item| value(items.as_ref(), item))
        }
        DataType::Struct(_) => {
            let fields = column.as_struct().columns();
            all(fields.len(), |field| value(fields[field].as_ref(), row))
        }
        // Times and dictionaries in their debug format.
        _ => format!("{:?}", column.slice(row, 1)),
    }
}

/// Returns `len` values, one a line.
fn all(len: usize, one: impl Fn(usize) -> String) -> String {
    (0..len).map(one).collect::<Vec<_>>().join("\n")
}
