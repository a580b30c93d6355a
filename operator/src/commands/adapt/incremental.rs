//! `lethe adapt incremental`: a study of learning by increments.

use std::path::PathBuf;

use lethe_corpus::{Document, Rename};

use crate::cli::{IncrementalArgs, Unit};
use crate::commands::evaluate;
use crate::exit::usage;

/// Runs the study and writes what came of it.
pub(crate) fn run(args: &IncrementalArgs) -> anyhow::Result<()> {
    let renames = args.rename.iter().map(|path| Rename::read(path).map_err(usage));
    let renames = renames.collect::<Result<Vec<_>, _>>()?;
    let stream = read(&args.stream, &renames)?;
    let test = read(&args.test, &renames)?;
    let mut units = stream.len();
    if args.unit == Unit::Sentences {
        units = 0;
        for document in &stream {
            units += lethe_adapt::sentences(document, true)?.len();
        }
    }
    Err(usage(format!(
        "{units} units to learn from and {} documents to test on are read; learning by increments waits for its learners",
        test.len()
    )))
}

fn read(paths: &[PathBuf], renames: &[Rename]) -> anyhow::Result<Vec<Document>> {
    let mut documents = Vec::new();
    for path in paths {
        documents.extend(evaluate::read(path, &Rename::default())?);
    }
    renames.iter().for_each(|rename| rename.apply(&mut documents));
    if documents.is_empty() {
        return Err(usage("there is no document"));
    }
    Ok(documents)
}
