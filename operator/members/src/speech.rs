//! The part-of-speech tagger as a model folder: trained separately, then named by linear and recurrent members
//! as `features.pos`. The folder of such a member contains a copy of the tagger.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_learn::{Manifest, ManifestError, POS_FILE, Scheme, Speech, TagSet, Training};
use lethe_linear::pos::{Accuracy, PosError, PosTagger, Sentence, TAGS, train};
use serde::Deserialize;

use crate::training::{TrainError, read};

/// The kind in the manifest.
pub const POS: &str = "pos";
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
    manifest.write(folder, &[(POS_FILE, &tagger.to_bytes())])?;
    Ok((!held_out.is_empty()).then(|| Accuracy::of(&tagger, held_out).share()))
}

/// Why the part-of-speech tagger in a model's folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpeechError {
    /// Its file is missing or was altered.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// It is damaged or of another version.
    #[error("{}: {source}", path.display())]
    Tagger {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: PosError,
    },
}

/// The features of a recurrent member that do not belong to its architecture.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SpeechFeatures {
    /// The folder of its part-of-speech tagger.
    pos: Option<PathBuf>,
}

/// Opens a tagger's folder.
///
/// # Errors
/// [`TrainError::Manifest`], or [`TrainError::Settings`] if the folder holds something else.
pub(crate) fn open_pos(folder: &Path) -> Result<Arc<PosTagger>, TrainError> {
    Ok(read_pos(folder)?.0)
}

/// Opens a tagger's folder as [`open_pos`] does, and returns the bytes of its file too.
fn read_pos(folder: &Path) -> Result<(Arc<PosTagger>, Cow<'static, [u8]>), TrainError> {
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
    let bytes = manifest.file(folder, POS_FILE)?;
    let tagger = PosTagger::from_bytes(&bytes).map_err(|error| refuse(error.to_string()))?;
    Ok((Arc::new(tagger), bytes))
}

/// Takes the table `features` out of a recurrent member's settings.
///
/// # Errors
/// [`TrainError::Settings`], naming the key.
pub(crate) fn speech_features(kind: &str, settings: &mut toml::Table) -> Result<SpeechFeatures, TrainError> {
    match settings.remove("features") {
        Some(table) => read(kind, table),
        None => Ok(SpeechFeatures::default()),
    }
}

/// Opens the tagger that the settings of a recurrent member name; `size` is that of its embedding.
///
/// # Errors
/// As [`open_pos`]; [`TrainError::Settings`] too if only one of `features.pos` and `architecture.speech` is set.
pub(crate) fn named_speech(
    kind: &str,
    size: usize,
    features: &SpeechFeatures,
) -> Result<Option<Speech>, TrainError> {
    let refuse = |message: String| TrainError::Settings {
        kind: kind.to_owned(),
        message,
    };
    match &features.pos {
        Some(folder) if size > 0 => {
            let (tagger, bytes) = read_pos(folder)?;
            Ok(Some(Speech::new(tagger, &bytes)))
        }
        Some(folder) => Err(refuse(format!(
            "`features.pos` names the part-of-speech tagger {}, but `architecture.speech` is 0; set it to the size of the embedding, for instance 25",
            folder.display()
        ))),
        None if size > 0 => Err(refuse(format!(
            "`architecture.speech` is {size}, but `features.pos` names no part-of-speech tagger; set it to the folder that `lethe train pos` wrote"
        ))),
        None => Ok(None),
    }
}

/// Opens the tagger in a recurrent model's folder, if its manifest names one.
///
/// # Errors
/// [`SpeechError`], naming the file.
pub(crate) fn speech_in(folder: &Path, manifest: &Manifest) -> Result<Option<Speech>, SpeechError> {
    let Some(file) = manifest.settings.get("pos").and_then(toml::Value::as_str) else {
        return Ok(None);
    };
    let bytes = manifest.file(folder, file)?;
    let tagger = PosTagger::from_bytes(&bytes).map_err(|source| SpeechError::Tagger {
        path: folder.join(file),
        source,
    })?;
    Ok(Some(Speech::new(Arc::new(tagger), &bytes)))
}

#[cfg(test)]
mod tests {
    use lethe_dictionaries::LazyDictionary;
    use lethe_learn::NoObserver;

    use super::*;
    use crate::training::Job;
    use crate::training::tests::{documents, job};

    /// Trains a small tagger into a folder.
    fn pos(folder: &Path) {
        let sentence = |words: [&str; 3]| Sentence {
            words: words.map(str::to_owned).to_vec(),
            tags: vec![11, 15, 2],
        };
        let sentences = [
            sentence(["Ana", "vino", "hoy"]),
            sentence(["Luis", "vino", "ayer"]),
        ];
        let share = train_pos(&sentences, &sentences, 1, folder, false).unwrap();
        assert_eq!(share, Some(1.0));
    }

    /// Sets a member's `features.pos`.
    fn set_pos(job: &mut Job<'_>, folder: &Path) {
        let folder = folder.display().to_string();
        let features = toml::Table::from_iter([("pos".to_owned(), folder.into())]);
        job.settings.insert("features".to_owned(), features.into());
    }

    /// Sets the size of a recurrent member's embedding.
    fn set_size(job: &mut Job<'_>, size: i64) {
        let architecture = job.settings["architecture"].as_table_mut().unwrap();
        architecture.insert("speech".to_owned(), size.into());
    }

    fn refused(model: &Path) -> String {
        let opened = crate::open(model, None, &LazyDictionary::Builtin);
        opened.map(drop).unwrap_err().to_string()
    }

    #[test]
    fn a_member_with_parts_of_speech_carries_its_tagger() {
        for kind in ["crf", "lstm-crf-l"] {
            let folder = tempfile::tempdir().unwrap();
            let (tagger, model) = (folder.path().join("pos"), folder.path().join("model"));
            pos(&tagger);
            let documents = documents();
            let mut job = job(kind, &documents, &model);
            set_pos(&mut job, &tagger);
            if kind != "crf" {
                set_size(&mut job, 4);
            }
            crate::train(&job, &mut NoObserver).unwrap();
            std::fs::remove_dir_all(&tagger).unwrap();
            let opened = crate::open(&model, None, &LazyDictionary::Builtin).unwrap();
            lethe_taggers::conformance::check(opened.member.as_ref(), &opened.labels);
            let found = crate::predict(opened.member.as_ref(), &opened.labels, &documents).unwrap();
            assert!(found.iter().all(|document| document.marks.len() == 2), "{kind}");
            std::fs::write(model.join("pos.bin"), "x").unwrap();
            let message = refused(&model);
            assert!(message.contains("pos.bin: its digest"), "{kind}: {message}");
            std::fs::remove_file(model.join("pos.bin")).unwrap();
            let message = refused(&model);
            assert!(message.contains("model/pos.bin"), "{kind}: {message}");
        }
    }

    #[test]
    fn a_network_without_a_tagger_that_it_can_read_is_refused_by_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (tagger, model) = (folder.path().join("pos"), folder.path().join("model"));
        pos(&tagger);
        let documents = documents();
        let mut job = job("lstm-l", &documents, &model);
        set_pos(&mut job, &tagger);
        set_size(&mut job, 4);
        job.settings["schedule"]
            .as_table_mut()
            .unwrap()
            .insert("epochs".to_owned(), 1.into());
        let manifest = crate::train(&job, &mut NoObserver).unwrap();
        // The manifest lists no tagger.
        let page = model.join("member.toml");
        let good = std::fs::read_to_string(&page).unwrap();
        std::fs::write(&page, good.replace("\"pos.bin\" = ", "\"pot.bin\" = ")).unwrap();
        let message = refused(&model);
        assert!(
            message.contains("no digest of `pos.bin`, which a `lstm-l` needs"),
            "{message}"
        );
        // The file is that of another version.
        std::fs::write(&page, &good).unwrap();
        let path = model.join("pos.bin");
        let mut bytes = std::fs::read(&path).unwrap();
        let parsed = PosTagger::from_bytes(&bytes).unwrap();
        bytes[8] = 99;
        std::fs::write(&path, &bytes).unwrap();
        let digest = Speech::new(Arc::new(parsed), &bytes).digest();
        std::fs::write(&page, good.replace(&manifest.files["pos.bin"], &digest)).unwrap();
        let message = refused(&model);
        assert!(
            message.contains("pos.bin") && message.contains("has version 99"),
            "{message}"
        );
    }

    #[test]
    fn a_tagger_and_the_size_of_its_embedding_need_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let (tagger, model) = (folder.path().join("pos"), folder.path().join("model"));
        pos(&tagger);
        let documents = documents();
        for (named, size, missing) in [
            (true, 0, "`architecture.speech` is 0"),
            (false, 4, "`features.pos` names no"),
        ] {
            let mut job = job("lstm-crf-n", &documents, &model);
            set_size(&mut job, size);
            if named {
                set_pos(&mut job, &tagger);
            }
            let error = crate::train(&job, &mut NoObserver).unwrap_err();
            let message = error.to_string();
            assert!(error.is_usage() && message.contains(missing), "{message}");
            assert!(!model.exists());
        }
    }

    #[test]
    fn a_network_is_tuned_and_trains_itself_with_its_tagger() {
        let folder = tempfile::tempdir().unwrap();
        let [tagger, model, tuned, taught] =
            ["pos", "model", "tuned", "taught"].map(|name| folder.path().join(name));
        pos(&tagger);
        let documents = documents();
        let mut job = job("lstm-crf-l", &documents, &model);
        set_pos(&mut job, &tagger);
        set_size(&mut job, 4);
        let before = crate::train(&job, &mut NoObserver).unwrap();
        let tuning = crate::TuneJob {
            model: &model,
            train: &documents,
            held_out: &[],
            settings: "schedule = { epochs = 1 }".parse().unwrap(),
            dictionary: job.dictionary,
            seed: 1,
            folder: &tuned,
            restart: false,
        };
        let own = crate::SelfTrainJob {
            model: &model,
            labelled: &documents[..24],
            unlabelled: &documents[24..],
            held_out: &documents[24..],
            teacher: None,
            settings: "schedule = { epochs = 1 }".parse().unwrap(),
            bound: 1.0,
            dictionary: job.dictionary,
            seed: 1,
            folder: &taught,
            restart: false,
        };
        let tuned = crate::fine_tune(&tuning, &mut NoObserver).unwrap();
        let taught = crate::self_train(&own, &mut NoObserver).unwrap().manifest;
        for after in [tuned, taught] {
            assert_eq!(after.files["pos.bin"], before.files["pos.bin"]);
            assert_ne!(after.digest(), before.digest());
        }
    }

    #[test]
    fn a_folder_of_another_kind_is_no_tagger() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let documents = documents();
        crate::train(&job("ogd", &documents, &first), &mut NoObserver).unwrap();
        for kind in ["crf", "lstm-l"] {
            let mut job = job(kind, &documents, &second);
            set_pos(&mut job, &first);
            if kind != "crf" {
                set_size(&mut job, 4);
            }
            let error = crate::train(&job, &mut NoObserver).unwrap_err();
            assert!(
                error.is_usage() && error.to_string().contains("holds a `ogd`"),
                "{error}"
            );
        }
    }
}
