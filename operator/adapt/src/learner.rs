//! The two learners of a pair: a model, from elsewhere or trained on what has arrived, and naive Bayes that
//! learns incrementally (Singh 2020: a random field and incremental naive Bayes).

use std::path::PathBuf;
use std::sync::Arc;

use lethe_core::{BatchError, LabelSet, NoteBatch, TagError, Tagger};
use lethe_corpus::{Document, Mark};
use lethe_dictionaries::Dictionary;
use lethe_learn::{Marginals as _, NoObserver, TagSet};
use lethe_linear::{
    Bayes, FeatureConfig, Learner, LinearMember, MemberError, Task, TrainError, WarmStartError,
    WarmStartTask, warm_start,
};
use lethe_members::{Learned, WeightedError, Widened};

use crate::confidence::{CONFIDENCES, Confidence};

/// Why incremental learning failed. It holds no text of a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdaptError {
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Fine-tuning a model failed.
    #[error(transparent)]
    WarmStart(#[from] WarmStartError),
    /// A model cannot be opened, or a newly trained one cannot run.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// Texts do not form a batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Two learners cannot be mixed.
    #[error(transparent)]
    Weighted(#[from] WeightedError),
    /// A learner failed on a document.
    #[error("document {index} of a batch (counted from 1): {source}")]
    Tag {
        /// Its index.
        index: usize,
        /// The cause.
        source: TagError,
    },
    /// A learner's tags are not in the pair's tag set.
    #[error("`{learner}` has tags that are not in the pair's tag set")]
    Tags {
        /// The learner.
        learner: String,
    },
    /// There is too little data.
    #[error("{units} units are too few for batches of {batch}: one to learn and one to estimate the weight")]
    Short {
        /// The number of sentences or documents.
        units: usize,
        /// The batch size.
        batch: usize,
    },
}

/// The inputs that learners share: features, the dictionary, and the labels that members run under.
#[derive(Clone)]
pub struct Ground {
    /// The features.
    pub features: FeatureConfig,
    /// The dictionary.
    pub dictionary: Arc<Dictionary>,
    /// The labels that members run under, and that naive Bayes can learn.
    pub labels: Arc<LabelSet>,
    /// The random seed.
    pub seed: u64,
}

/// A model, and how it learns.
#[derive(Clone)]
pub enum First {
    /// Does not learn.
    Still(Arc<dyn Learned>),
    /// Is trained from the start on all data so far, at every increment.
    Refitted(Refitted),
    /// Is fine-tuned from its original weights on all data so far, at every increment.
    WarmStart(WarmStart),
}

impl First {
    /// Returns the model; `None` before any annotated data.
    pub fn member(&self) -> Option<&Arc<dyn Learned>> {
        match self {
            Self::Still(member) => Some(member),
            Self::Refitted(refitted) => refitted.member.as_ref(),
            Self::WarmStart(warm_start) => Some(&warm_start.member),
        }
    }

    /// Learns documents, unless the model is fixed.
    ///
    /// # Errors
    /// [`AdaptError`].
    pub fn learn(&mut self, documents: &[Document], ground: &Ground) -> Result<(), AdaptError> {
        match self {
            Self::Still(_) => Ok(()),
            Self::Refitted(refitted) => refitted.learn(documents, ground),
            Self::WarmStart(warm_start) => warm_start.learn(documents, ground),
        }
    }
}

/// A learner that is retrained on all data so far, for models that cannot learn incrementally (Singh 2020,
/// section III B).
#[derive(Clone)]
pub struct Refitted {
    learner: Learner,
    seen: Vec<Document>,
    member: Option<Arc<dyn Learned>>,
}

impl Refitted {
    /// Creates a learner without data.
    pub const fn new(learner: Learner) -> Self {
        Self {
            learner,
            seen: Vec::new(),
            member: None,
        }
    }

    /// Creates a learner trained on a first institute's documents.
    ///
    /// # Errors
    /// [`AdaptError`].
    pub fn begun(learner: Learner, documents: &[Document], ground: &Ground) -> Result<Self, AdaptError> {
        let mut refitted = Self::new(learner);
        refitted.learn(documents, ground)?;
        Ok(refitted)
    }

    /// Trains on all data so far and on these documents.
    fn learn(&mut self, documents: &[Document], ground: &Ground) -> Result<(), AdaptError> {
        self.seen.extend_from_slice(documents);
        // Without annotations nothing can be fitted; the next batch may have some.
        if self.seen.iter().all(|document| document.marks.is_empty()) {
            return Ok(());
        }
        let task = Task {
            learner: &self.learner,
            documents: &self.seen,
            held_out: None,
            features: &ground.features,
            dictionary: &ground.dictionary,
            seed: ground.seed,
            state: None,
        };
        let trained = lethe_linear::train(&task, &mut NoObserver)?;
        let member = LinearMember::new(trained, &ground.labels, &ground.dictionary)?;
        self.member = Some(Arc::new(member));
        Ok(())
    }
}

/// A model from elsewhere that is fine-tuned on everything that has arrived here. It starts from its original
/// weights each time, not from the last result: so each batch counts once, and not again with every later
/// batch.
#[derive(Clone)]
pub struct WarmStart {
    folder: PathBuf,
    seen: Vec<Document>,
    member: Arc<dyn Learned>,
}

impl WarmStart {
    /// Opens a model's folder, which must not move.
    ///
    /// # Errors
    /// [`AdaptError::Member`].
    pub fn open(folder: PathBuf, ground: &Ground) -> Result<Self, AdaptError> {
        let member = LinearMember::open(&folder, &ground.labels, &ground.dictionary)?;
        Ok(Self {
            folder,
            seen: Vec::new(),
            member: Arc::new(member),
        })
    }

    fn learn(&mut self, documents: &[Document], ground: &Ground) -> Result<(), AdaptError> {
        self.seen.extend_from_slice(documents);
        if self.seen.iter().all(|document| document.marks.is_empty()) {
            return Ok(());
        }
        let task = WarmStartTask {
            model: &self.folder,
            settings: &toml::Table::new(),
            documents: &self.seen,
            held_out: None,
            dictionary: &ground.dictionary,
            seed: ground.seed,
            state: None,
        };
        let trained = warm_start(&task, &mut NoObserver)?;
        self.member = Arc::new(LinearMember::new(trained, &ground.labels, &ground.dictionary)?);
        Ok(())
    }
}

/// Naive Bayes in its current state.
#[derive(Clone)]
pub struct Soft {
    bayes: Bayes,
    confidence: Confidence,
    member: Option<Arc<dyn Learned>>,
}

impl Soft {
    /// Creates naive Bayes without data; it can learn the ground's labels.
    ///
    /// # Errors
    /// [`AdaptError::Train`] for settings of another learner, or for too many labels.
    pub fn new(ground: &Ground) -> Result<Self, AdaptError> {
        let labels = ground.labels.labels().iter().map(|label| label.name.clone());
        Ok(Self {
            bayes: Bayes::empty(&ground.features, labels.collect(), ground.seed)?,
            confidence: Confidence::default(),
            member: None,
        })
    }

    /// Continues with a trained model.
    ///
    /// # Errors
    /// [`AdaptError`].
    pub fn of(bayes: Bayes, ground: &Ground) -> Result<Self, AdaptError> {
        let mut soft = Self {
            bayes,
            confidence: Confidence::default(),
            member: None,
        };
        soft.refit(ground)?;
        Ok(soft)
    }

    /// Returns the member; `None` before anything was learnt.
    pub fn member(&self) -> Option<&Arc<dyn Learned>> {
        self.member.as_ref()
    }

    /// Returns the model, which can be saved and learns further after it is opened again.
    pub const fn bayes(&self) -> &Bayes {
        &self.bayes
    }

    /// Learns documents.
    ///
    /// # Errors
    /// [`AdaptError`].
    pub fn learn(&mut self, documents: &[Document], ground: &Ground) -> Result<(), AdaptError> {
        if !documents.is_empty() {
            self.bayes.update(documents, &ground.dictionary)?;
            self.refit(ground)?;
        }
        Ok(())
    }

    /// Estimates the confidence from documents that are not learnt yet.
    ///
    /// # Errors
    /// [`AdaptError`].
    pub fn tell(&mut self, documents: &[Document], ground: &Ground) -> Result<(), AdaptError> {
        if self.member.is_none() || documents.is_empty() {
            return Ok(());
        }
        let losses = self.bayes.losses(documents, &CONFIDENCES, &ground.dictionary)?;
        self.confidence.add(&losses);
        let best = self.confidence.best();
        if (best - self.bayes.confidence()).abs() > f32::EPSILON {
            self.bayes.set_confidence(best);
            self.refit(ground)?;
        }
        Ok(())
    }

    fn refit(&mut self, ground: &Ground) -> Result<(), AdaptError> {
        let trained = self.bayes.trained(None, &ground.dictionary)?;
        let member = LinearMember::new(trained, &ground.labels, &ground.dictionary)?;
        self.member = Some(Arc::new(member));
        Ok(())
    }
}

/// A learner's predictions for a batch.
#[derive(Clone)]
pub(crate) struct MemberPredictions {
    /// Probabilities per token under the pair's tags, by row.
    pub(crate) rows: Vec<Vec<f32>>,
    /// Spans by row.
    pub(crate) marks: Vec<Vec<Mark>>,
}

impl MemberPredictions {
    /// Runs a learner on a batch.
    pub(crate) fn of(
        member: &Arc<dyn Learned>,
        batch: &NoteBatch,
        tags: &TagSet,
        labels: &LabelSet,
    ) -> Result<Self, AdaptError> {
        let name = Tagger::name(member.as_ref()).to_owned();
        let wide = Widened::new(Arc::clone(member) as _, tags).ok_or(AdaptError::Tags { learner: name })?;
        Ok(Self {
            rows: wide.marginals(batch),
            marks: marks(member.as_ref(), batch, labels)?,
        })
    }
}

/// Returns a member's spans by row.
pub(crate) fn marks(
    member: &dyn Tagger,
    batch: &NoteBatch,
    labels: &LabelSet,
) -> Result<Vec<Vec<Mark>>, AdaptError> {
    let answers = member.tag(batch).into_iter().enumerate();
    answers
        .map(|(i, answer)| {
            let annotations = answer.map_err(|source| AdaptError::Tag { index: i + 1, source })?;
            let mark = |annotation: &lethe_core::Annotation| Mark {
                span: annotation.span,
                label: labels.label(annotation.label).name.clone(),
                score: Some(annotation.score),
            };
            Ok(annotations.iter().map(mark).collect())
        })
        .collect()
}
