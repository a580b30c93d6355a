//! The part-of-speech tagger as a model folder: trained separately, then named by linear members as
//! `features.pos`.

use std::path::Path;
use std::sync::Arc;

use lethe_learn::{Manifest, Scheme, TagSet, Training};
use lethe_linear::pos::{Accuracy, PosTagger, Sentence, TAGS, train};

use crate::training::TrainError;

/// The kind in the manifest.
pub const POS: &str = "pos";
const FILE: &str = "pos.bin";
/// The passes over the sentences: more of them fit the training sentences better, but not held-out ones.
const EPOCHS: usize = 8;

/// Trains a tagger into a folder and returns its accuracy on `held_out`, if there is any.
///
/// # Errors
/// [`TrainError::Done`] if the folder holds a model, [`TrainError::Manifest`] if it cannot be written.
pub fn train_pos(
    sentences: &[Sentence],
    held_out: &[Sentence],
    seed: u64,
    folder: &Path,
    restart: bool,
) -> Result<Option<f64>, TrainError> {
    if folder.join("member.toml").exists() && !restart {
        return Err(TrainError::Done {
            folder: folder.to_owned(),
        });
    }
    let tagger = train(sentences, EPOCHS, seed);
    let tags = TagSet::new(Scheme::Bio, TAGS.map(str::to_owned).to_vec());
    let training = Training {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        documents: sentences.len(),
        ..Training::default()
    };
    let mut manifest = Manifest::new(POS, tags, training, toml::Table::new());
    manifest.write(folder, &[(FILE, &tagger.to_bytes())])?;
    Ok((!held_out.is_empty()).then(|| Accuracy::of(&tagger, held_out).share()))
}

/// Opens a tagger's folder.
///
/// # Errors
/// [`TrainError::Manifest`], or [`TrainError::Settings`] if the folder holds something else.
pub(crate) fn open_pos(folder: &Path) -> Result<Arc<PosTagger>, TrainError> {
    let manifest = Manifest::read(folder)?;
    let refuse = |message: String| TrainError::Settings {
        kind: "features.pos".to_owned(),
        message,
    };
    if manifest.kind != POS {
        return Err(refuse(format!(
            "{} holds a `{}` and not a part-of-speech tagger",
            folder.display(),
            manifest.kind
        )));
    }
    let bytes = manifest.file(folder, FILE)?;
    let tagger = PosTagger::from_bytes(&bytes).map_err(|error| refuse(error.to_string()))?;
    Ok(Arc::new(tagger))
}

#[cfg(test)]
mod tests {
    use lethe_dictionaries::LazyDictionary;
    use lethe_learn::NoObserver;

    use super::*;
    use crate::training::tests::{documents, job};

    #[test]
    fn a_member_with_parts_of_speech_carries_its_tagger() {
        let folder = tempfile::tempdir().unwrap();
        let (pos, model) = (folder.path().join("pos"), folder.path().join("model"));
        let sentence = Sentence {
            words: ["Ana", "vino", "hoy"].map(str::to_owned).to_vec(),
            tags: vec![11, 15, 2],
        };
        let sentences = [sentence];
        let share = train_pos(&sentences, &sentences, 1, &pos, false).unwrap();
        assert_eq!(share, Some(1.0));
        let documents = documents();
        let mut job = job("crf", &documents, &model);
        let features = format!("pos = {:?}", pos.display().to_string());
        job.settings.insert(
            "features".to_owned(),
            features.parse::<toml::Table>().unwrap().into(),
        );
        crate::train(&job, &mut NoObserver).unwrap();
        std::fs::remove_dir_all(&pos).unwrap();
        crate::open(&model, None, &LazyDictionary::Builtin).unwrap();
        std::fs::write(model.join("pos.bin"), "x").unwrap();
        let message = crate::open(&model, None, &LazyDictionary::Builtin)
            .err()
            .unwrap()
            .to_string();
        assert!(message.contains("pos.bin: its digest"), "{message}");
    }

    #[test]
    fn a_folder_of_another_kind_is_no_tagger() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let documents = documents();
        crate::train(&job("ogd", &documents, &first), &mut NoObserver).unwrap();
        let mut job = job("crf", &documents, &second);
        let features = format!("pos = {:?}", first.display().to_string());
        job.settings.insert(
            "features".to_owned(),
            features.parse::<toml::Table>().unwrap().into(),
        );
        let error = crate::train(&job, &mut NoObserver).unwrap_err();
        assert!(
            error.is_usage() && error.to_string().contains("holds a `ogd`"),
            "{error}"
        );
    }
}
