//! Writes tables like a warehouse export: synthetic notes of about 3 KB, repeated under new ids, as Parquet.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use clap::Parser;
use lethe_benches::notes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

/// Number of rows per row group.
const GROUP: usize = 5_000;
/// Number of different notes.
const TEXTS: usize = 2_000;

#[derive(Parser)]
#[command(about = "Writes tables of synthetic notes as Parquet")]
struct Args {
    /// The folder to write to
    #[arg(long)]
    out: PathBuf,
    /// Number of notes
    #[arg(long)]
    notes: usize,
    /// Number of files
    #[arg(long, default_value_t = 10)]
    files: usize,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    std::fs::create_dir_all(&args.out)?;
    let texts = notes::notes(TEXTS, 1);
    let files = args.files.clamp(1, args.notes.max(1));
    for file in 0..files {
        let numbers = (args.notes * file / files)..(args.notes * (file + 1) / files);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP))
            .build();
        let mut writer = None;
        for from in numbers.clone().step_by(GROUP) {
            let part = from..(from + GROUP).min(numbers.end);
            let column = |of: &dyn Fn(usize) -> String| -> ArrayRef {
                Arc::new(StringArray::from_iter_values(part.clone().map(of)))
            };
            let record = RecordBatch::try_from_iter([
                ("note_id", column(&|number| format!("note-{number:09}"))),
                ("patient_id", column(&|number| format!("{:07}", number / 4))),
                ("ward", column(&|number| format!("ward {}", number % 12))),
                ("text", column(&|number| texts[number % texts.len()].clone())),
            ])?;
            if writer.is_none() {
                let path = args.out.join(format!("notes-{file:03}.parquet"));
                writer = Some(ArrowWriter::try_new(
                    File::create(path)?,
                    record.schema(),
                    Some(properties.clone()),
                )?);
            }
            if let Some(writer) = &mut writer {
                writer.write(&record)?;
            }
        }
        if let Some(writer) = writer {
            writer.close()?;
        }
    }
    Ok(())
}
