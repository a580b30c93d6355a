//! The codes of a run's files, and the check that the existing dataset matches them.

use std::path::Path;

use lethe_connectors::files::{
    Codes, FileError, FileSourceConfig, MessageFile, MessageFiles, Names, is_code,
};
use lethe_connectors::sink::ChainId;

use super::Pipeline;
use super::retry::until_answered;
use crate::config::{Config, Naming, is_strict};
use crate::exit::usage;

/// Returns the files of messages with their codes.
///
/// # Errors
/// If the list of codes cannot be used, or does not belong to the dataset.
pub(super) fn of_messages(
    config: &Config,
    found: MessageFiles,
    lanes: &Pipeline,
) -> anyhow::Result<Vec<MessageFile>> {
    let Some(mut codes) = open(config, lanes)? else {
        return Ok(found.named());
    };
    if codes.is_new() && first_code(lanes)?.is_some() {
        return Err(usage(
            "key `source.codes`: the list is empty, but the dataset has chains with codes, so all files would be read again; restore the list, or write to a new dataset",
        ));
    }
    Ok(found.coded(&mut codes)?)
}

/// Returns the codes of files of notes; `None` if chains have the files' names.
///
/// # Errors
/// If the dataset is new and the policy's mode does not allow names; if codes are configured and the dataset
/// has chains with names.
pub(super) fn of_notes(
    config: &Config,
    files: &FileSourceConfig,
    lanes: &Pipeline,
) -> anyhow::Result<Option<Codes>> {
    let naming = config.naming();
    if naming.is_none_or(|naming| naming.names == Names::Paths) {
        let fingerprints = &lanes.context().engine_version.get().fingerprints;
        if !is_strict(fingerprints.mode.as_deref()) {
            return Ok(None);
        }
        if first(lanes, "notes", None)?.is_none() {
            return Err(usage(
                "key `source.names`: chains would have the names of files, which may identify a patient; set `names = \"codes\"`, and `codes = { kind = \"folder\", path = ... }` for a private list of files and codes",
            ));
        }
        tracing::warn!(
            "chains have the names of their files, since the existing dataset has them; for a new dataset, set `names = \"codes\"`"
        );
        return Ok(None);
    }
    let Some(mut codes) = open(config, lanes)? else {
        return Ok(None);
    };
    let topics = files.topics()?;
    if codes.is_new() {
        for topic in &topics {
            if first(lanes, &ChainId::new(topic.as_str(), 0).notes_folder(), None)?.is_some() {
                return Err(usage(
                    "key `source.names`: the dataset has chains with the names of files, whose notes would be written twice under codes; write to a new dataset, or set `names = \"paths\"`",
                ));
            }
        }
        if first_code(lanes)?.is_some() {
            return Err(usage(
                "key `source.codes`: the list is empty, but the dataset has chains with codes, so all files would be read again; restore the list, or write to a new dataset",
            ));
        }
    }
    codes
        .assign(topics.iter().map(String::as_str), false)
        .map_err(FileError::Codes)?;
    Ok(Some(codes))
}

/// Replaces the file's name in an error by its code.
pub(crate) fn about_code(error: FileError, input: &Path, codes: Option<&Codes>) -> FileError {
    let (Some(codes), Some(path)) = (codes, error.path()) else {
        return error;
    };
    let name = match path.strip_prefix(input) {
        Ok(rest) if rest.as_os_str().is_empty() => path.file_name().map(Path::new),
        Ok(rest) => Some(rest),
        Err(_) => Some(path),
    };
    let slot = name.and_then(|name| codes.slot(name.to_str()?));
    let place = slot.map_or_else(|| input.to_owned(), |slot| slot.topic.as_ref().into());
    error.about(&place)
}

fn open(config: &Config, lanes: &Pipeline) -> anyhow::Result<Option<Codes>> {
    let Some(Naming {
        codes: Some(codes),
        input_id,
        ..
    }) = config.naming()
    else {
        return Ok(None);
    };
    let opened = Codes::open(codes, &input_id, lanes.runtime().clone());
    Ok(Some(opened.map_err(FileError::Codes)?))
}

/// Returns the first chain of the dataset that has a code.
fn first_code(lanes: &Pipeline) -> anyhow::Result<Option<String>> {
    // Codes sort after this prefix, which is not a code itself.
    let found = first(lanes, "notes", Some("notes/topic=file-"))?;
    let topic = found
        .and_then(|name| ChainId::parse_notes(&name))
        .map(|(chain, _)| chain.topic.to_string());
    Ok(topic.filter(|topic| is_code(topic)))
}

/// Returns the first object after a name in a folder of the dataset.
fn first(lanes: &Pipeline, folder: &str, after: Option<&str>) -> anyhow::Result<Option<String>> {
    let store = lanes.context().store.as_ref();
    let ask = || async move { Ok(store.list_page(folder, after, 1).await?) };
    let asked = until_answered(Some(&lanes.context().telemetry), lanes.stop(), ask);
    let found = lanes.runtime().block_on(asked)?;
    Ok(found.into_iter().next().map(|object| object.name))
}
