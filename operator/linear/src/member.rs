//! A linear member as the ensemble runs it.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_core::{Annotations, Collector, LabelId, LabelSet, NoteBatch, NoteView, TagError, Tagger};
use lethe_dictionaries::{Dictionary, LazyDictionary};
use lethe_learn::{LabelMap, LabelMapError, Manifest, ManifestError, Marginals, Spanned, TagSet};

use crate::decode::Decoder;
use crate::model::{Model, ModelError};
use crate::pos::{PosError, PosTagger};
use crate::registry::Learner;
use crate::states::StatesError;
use crate::train::Trained;
use crate::{Columns, Extractor, FeatureConfig, FeatureError, States};

/// The file of the weights in a model's folder.
pub(crate) const WEIGHTS: &str = "weights.bin";

/// Why a model folder cannot be opened as a linear member.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemberError {
    /// The folder does not hold a valid model.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The model is of another kind.
    #[error("{}: a `{kind}` is not a linear member", folder.display())]
    Kind {
        /// The folder.
        folder: PathBuf,
        /// Its kind.
        kind: String,
    },
    /// Its settings do not describe its features.
    #[error("{}: settings of features: {message}", folder.display())]
    Settings {
        /// The folder.
        folder: PathBuf,
        /// The parser's message.
        message: String,
    },
    /// Its weights are damaged or of another version.
    #[error("{}: {source}", folder.join(WEIGHTS).display())]
    Weights {
        /// The folder.
        folder: PathBuf,
        /// The problem.
        source: ModelError,
    },
    /// Its part-of-speech tagger is damaged or of another version.
    #[error("{}: {source}", path.display())]
    Tagger {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: PosError,
    },
    /// This program cannot compute its features.
    #[error("{}: {source}", folder.display())]
    Features {
        /// The folder.
        folder: PathBuf,
        /// The problem.
        source: FeatureError,
    },
    /// It has too many tags.
    #[error("{}: {source}", folder.display())]
    States {
        /// The folder.
        folder: PathBuf,
        /// The problem.
        source: StatesError,
    },
    /// The label set lacks one of its labels.
    #[error(transparent)]
    Label(#[from] LabelMapError),
}

/// Returns the features of a model's manifest, with the part-of-speech tagger in its folder if it names one.
pub(crate) fn features(
    folder: &Path,
    manifest: &Manifest,
    read: impl FnOnce(&str) -> Result<Vec<u8>, MemberError>,
) -> Result<FeatureConfig, MemberError> {
    let settings = manifest.settings.get("features").cloned();
    let config: FeatureConfig = settings
        .ok_or_else(|| "`features` is missing".to_owned())
        .and_then(|table| {
            table
                .try_into()
                .map_err(|error: toml::de::Error| error.to_string())
        })
        .map_err(|message| MemberError::Settings {
            folder: folder.to_owned(),
            message,
        })?;
    let Some(file) = &config.pos else {
        return Ok(config);
    };
    let tagger = PosTagger::from_bytes(&read(file)?).map_err(|source| MemberError::Tagger {
        path: folder.join(file),
        source,
    })?;
    Ok(config.with_tagger(Arc::new(tagger)))
}

/// The contents of a model's folder.
pub(crate) struct Opened {
    pub(crate) manifest: Manifest,
    pub(crate) features: FeatureConfig,
    pub(crate) model: Model,
}

/// Reads a model's folder.
///
/// # Errors
/// [`MemberError`], naming the folder or file.
pub(crate) fn opened(folder: &Path) -> Result<Opened, MemberError> {
    let manifest = Manifest::read(folder)?;
    let folder = folder.to_owned();
    if !Learner::KINDS.contains(&manifest.kind.as_str()) {
        return Err(MemberError::Kind {
            folder,
            kind: manifest.kind,
        });
    }
    let bytes = manifest.file(&folder, WEIGHTS)?;
    let states = match States::new(manifest.tags.clone()) {
        Ok(states) => states,
        Err(source) => return Err(MemberError::States { folder, source }),
    };
    let model = match Model::from_bytes(states, bytes) {
        Ok(model) => model,
        Err(source) => return Err(MemberError::Weights { folder, source }),
    };
    let features = features(&folder, &manifest, |file| {
        Ok(manifest.file(&folder, file)?.into_owned())
    })?;
    Ok(Opened {
        manifest,
        features,
        model,
    })
}

/// Notes with more tokens are read in windows: the features of a token take some hundred bytes, those of this
/// many tokens some 15 MiB.
const LONG: usize = 1 << 15;

/// Tokens of a window.
const WINDOW: usize = 1 << 13;

/// A trained linear member. Members with equal feature settings share a batch's columns.
///
/// The memory for tagging depends on the ordinary notes of a batch. A long note is read in windows, with the
/// same result: it takes 10 to 50 MiB, its spans, and the rules' spans in it, whatever its length.
pub struct LinearMember {
    name: String,
    decoder: Decoder,
    extractor: Extractor,
    labels: LabelMap,
    /// Notes with more tokens than this are read in windows of this many tokens.
    long: usize,
    window: usize,
}

impl LinearMember {
    /// Opens a model's folder. `dictionary` must be the one that it was trained with.
    ///
    /// # Errors
    /// [`MemberError`], naming the folder or file.
    pub fn open(folder: &Path, labels: &LabelSet, dictionary: &Arc<Dictionary>) -> Result<Self, MemberError> {
        Self::open_lazily(folder, labels, &dictionary.into())
    }

    /// Opens a model's folder as [`LinearMember::open`] does. It reads the weights before it waits for the
    /// dictionary.
    ///
    /// # Errors
    /// [`MemberError`], naming the folder or file.
    pub fn open_lazily(
        folder: &Path,
        labels: &LabelSet,
        dictionary: &LazyDictionary,
    ) -> Result<Self, MemberError> {
        let Opened {
            manifest,
            features,
            model,
        } = opened(folder)?;
        let dictionary = dictionary.get();
        manifest.check_dictionary(folder, dictionary.digest())?;
        Self::build(folder, manifest, &features, model, labels, &dictionary)
    }

    /// Creates a member directly from training.
    ///
    /// # Errors
    /// [`MemberError::Features`] or [`MemberError::Label`].
    pub fn new(
        trained: Trained,
        labels: &LabelSet,
        dictionary: &Arc<Dictionary>,
    ) -> Result<Self, MemberError> {
        let folder = Path::new("(trained just now)");
        let config = features(folder, &trained.manifest, |name| {
            let file = trained.files.iter().find(|(file, _)| *file == name);
            Ok(file.map(|(_, bytes)| bytes.clone()).unwrap_or_default())
        })?;
        Self::build(
            folder,
            trained.manifest,
            &config,
            trained.model,
            labels,
            dictionary,
        )
    }

    fn build(
        folder: &Path,
        manifest: Manifest,
        config: &FeatureConfig,
        model: Model,
        labels: &LabelSet,
        dictionary: &Arc<Dictionary>,
    ) -> Result<Self, MemberError> {
        let extractor = config.build(dictionary).map_err(|source| MemberError::Features {
            folder: folder.to_owned(),
            source,
        })?;
        Ok(Self {
            name: manifest.kind,
            labels: LabelMap::new(manifest.tags.labels(), labels)?,
            decoder: Decoder::new(model),
            extractor,
            long: LONG,
            window: WINDOW,
        })
    }

    /// Returns the same member, which reads notes of more than this many tokens in windows of this size. The
    /// default suits notes of any length; tests use shorter windows.
    #[must_use]
    pub fn with_window(self, tokens: usize) -> Self {
        Self {
            long: tokens,
            window: tokens.max(1),
            ..self
        }
    }

    /// Returns the same member under another name: an ensemble may have two of one kind.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// Returns its weights.
    pub const fn model(&self) -> &Model {
        self.decoder.model()
    }

    /// Returns the columns of a batch for this member, shared with other members with the same features.
    pub fn columns(&self, batch: &NoteBatch) -> Arc<Columns> {
        self.extractor.shared(batch)
    }
}

impl Tagger for LinearMember {
    fn name(&self) -> &str {
        &self.name
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let is_long = |row: &usize| batch.note(*row).tokens.len() > self.long;
        if !(0..batch.len()).any(|row| is_long(&row)) {
            return self.tag_short(batch, &self.columns(batch), 0..batch.len());
        }
        let mut tagged = Vec::with_capacity(batch.len());
        while tagged.len() < batch.len() {
            let first = tagged.len();
            let short = (first..batch.len()).take_while(|row| !is_long(row)).count();
            if short == 0 {
                tagged.push(self.tag_long(batch, first));
            } else {
                let rows = first..first + short;
                let columns = self.extractor.shared_rows(batch, rows.clone());
                tagged.extend(self.tag_short(batch, &columns, rows));
            }
        }
        tagged
    }

    fn is_trained_on(&self, label: LabelId) -> bool {
        self.labels.contains(label)
    }

    fn cache_bytes(&self) -> usize {
        self.extractor.cache_bytes() + self.decoder.cache_bytes()
    }
}

impl LinearMember {
    /// Tags the rows of these columns.
    fn tag_short(
        &self,
        batch: &NoteBatch,
        columns: &Columns,
        rows: Range<usize>,
    ) -> Vec<Result<Annotations, TagError>> {
        let spans = self.decoder.spans(columns);
        let done = batch.advance();
        let answer = |(row, spans)| {
            done.clone()?;
            self.collect(batch.note(row), spans)
        };
        rows.zip(spans).map(answer).collect()
    }

    /// Tags a long note.
    fn tag_long(&self, batch: &NoteBatch, row: usize) -> Result<Annotations, TagError> {
        let numbered = self.decoder.is_numbered();
        let windows = self.extractor.windows(batch, row, self.window, numbered)?;
        let spans = self.decoder.spans_in_windows(windows, || batch.advance())?;
        self.collect(batch.note(row), spans)
    }

    fn collect(&self, note: NoteView<'_>, spans: Vec<(Spanned, f32)>) -> Result<Annotations, TagError> {
        let mut collector = Collector::new(note);
        for (span, score) in spans {
            collector.tokens(span.first, span.last, self.labels.get(span.label), score, "");
        }
        Ok(collector.finish()?)
    }
}

impl Marginals for LinearMember {
    fn tags(&self) -> &TagSet {
        self.model().states().tags()
    }

    fn marginals(&self, batch: &NoteBatch) -> Vec<Vec<f32>> {
        let columns = self.columns(batch);
        let states = self.model().states();
        let mut all = vec![Vec::new(); batch.len()];
        self.decoder.marginals(&columns, |row, marginals| {
            let tokens = marginals.chunks_exact(states.width());
            all[row] = tokens
                .flat_map(|token| (0..states.tags().len() as u16).map(|tag| token[states.of(tag) as usize]))
                .collect();
        });
        all
    }
}
