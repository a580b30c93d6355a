//! `lethe ensemble export-offsets`: writes the predictions of members as offsets, without text.

use lethe_corpus::{Predicted, Rename, write_offsets};
use lethe_ensemble::PredictionSet;

use crate::cli::ExportOffsetsArgs;
use crate::commands::evaluate::{predicted, read};
use crate::exit::usage;

/// Writes the file.
pub(crate) fn run(args: &ExportOffsetsArgs) -> anyhow::Result<()> {
    let gold = read(&args.gold, &Rename::default())?;
    let mut systems: Vec<Predicted> = Vec::new();
    for prediction in &args.predictions {
        systems.extend(predicted(prediction, &gold, &Rename::default())?);
    }
    // Predictions that do not match gold are refused, since they could not be read back.
    let (documents, members) = (gold.len(), systems.len());
    PredictionSet::new(gold, systems.clone(), None).map_err(usage)?;
    write_offsets(&args.out, &systems).map_err(usage)?;
    tracing::info!(
        "{}: {members} members' spans of {documents} documents",
        args.out.display()
    );
    Ok(())
}
