//! The two learners of the pair: one that is a model, from elsewhere or of what has arrived, and soft rules that learn on
//! (Singh 2020: a random field and incremental naive Bayes).

use std::path::PathBuf;
use std::sync::Arc;

use lethe_core::{BatchError, LabelSet, NoteBatch, TagError, Tagger};
use lethe_corpus::{Document, Mark};
use lethe_dictionaries::Dictionary;
use lethe_learn::{Marginals as _, Quiet, TagSet};
use lethe_linear::{
    Bayes, FeatureConfig, GoOn, GoOnError, Learner, LinearMember, MemberError, Task, TrainError, go_on,
};
use lethe_members::{Learned, WeightedError, Widened};

use crate::confidence::{CONFIDENCES, Confidence};

/// Why learning by increments failed. Carries no text of a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdaptError {
    /// A training.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A training that goes on from a model's weights.
    #[error(transparent)]
    GoOn(#[from] GoOnError),
    /// A model does not open, or one that was just trained does not run.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// Texts make no batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Two learners cannot be mixed.
    #[error(transparent)]
    Weighted(#[from] WeightedError),
    /// A learner failed on a document.
    #[error("document {index} of a batch (counted from 1): {source}")]
    Tag {
        /// Its place.
        index: usize,
        /// Why.
        source: TagError,
    },
    /// A learner's tags are not among the pair's.
    #[error("`{learner}` has labels, or parts of spans, that the pair does not tell")]
    Tags {
        /// The learner.
        learner: String,
    },
    /// There is too little to learn from.
    #[error("{units} units make no batch of {batch} beside one to tell the weight from")]
    Short {
        /// Sentences or documents that there are.
        units: usize,
        /// How many a batch has.
        batch: usize,
    },
}

/// What learners share: features, the lists behind them, and the labels that members run under.
#[derive(Clone)]
pub struct Ground {
    /// Which features.
    pub features: FeatureConfig,
    /// The lists behind them.
    pub dictionary: Arc<Dictionary>,
    /// The labels that members run under; they are what naive Bayes can learn.
    pub labels: Arc<LabelSet>,
    /// Where chance comes from.
    pub seed: u64,
}

/// A model, and whether it learns on.
#[derive(Clone)]
pub enum First {
    /// Stays as it came.
    Still(Arc<dyn Learned>),
    /// Is fitted again to all that it has seen whenever something arrives.
    Refitted(Refitted),
    /// Goes on from the weights that it came with, with all that has arrived, whenever something does.
    GoingOn(GoingOn),
}

impl First {
    /// The model; none before anything marked was seen.
    pub fn member(&self) -> Option<&Arc<dyn Learned>> {
        match self {
            Self::Still(member) => Some(member),
            Self::Refitted(refitted) => refitted.member.as_ref(),
            Self::GoingOn(going_on) => Some(&going_on.member),
        }
    }

    /// Learns documents, if it does.
    ///
    /// # Errors
    /// [`AdaptError`].
    pub fn learn(&mut self, documents: &[Document], ground: &Ground) -> Result<(), AdaptError> {
        match self {
            Self::Still(_) => Ok(()),
            Self::Refitted(refitted) => refitted.learn(documents, ground),
            Self::GoingOn(going_on) => going_on.learn(documents, ground),
        }
    }
}

/// A learner that is fitted anew to everything so far: how one that cannot learn on is kept up (Singh 2020, section III B).
#[derive(Clone)]
pub struct Refitted {
    learner: Learner,
    seen: Vec<Document>,
    member: Option<Arc<dyn Learned>>,
}

impl Refitted {
    /// Has seen nothing.
    pub const fn new(learner: Learner) -> Self {
        Self {
            learner,
            seen: Vec::new(),
            member: None,
        }
    }

    /// Has seen a first institute's documents.
    ///
    /// # Errors
    /// [`AdaptError`].
    pub fn begun(learner: Learner, documents: &[Document], ground: &Ground) -> Result<Self, AdaptError> {
        let mut refitted = Self::new(learner);
        refitted.learn(documents, ground)?;
        Ok(refitted)
    }

    /// Fits to all that was seen and to these.
    fn learn(&mut self, documents: &[Document], ground: &Ground) -> Result<(), AdaptError> {
        self.seen.extend_from_slice(documents);
        // Nothing marked yet: nothing can be fitted, and the next batch may have something.
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
        let trained = lethe_linear::train(&task, &mut Quiet)?;
        let member = LinearMember::new(trained, &ground.labels, &ground.dictionary)?;
        self.member = Some(Arc::new(member));
        Ok(())
    }
}

/// A model from elsewhere that is fine-tuned to everything that has arrived here. It goes on from the weights that it came
/// with each time, not from the last time's: what is in one batch then counts once, not again with every later batch.
#[derive(Clone)]
pub struct GoingOn {
    folder: PathBuf,
    seen: Vec<Document>,
    member: Arc<dyn Learned>,
}

impl GoingOn {
    /// Opens a model's folder, which must stay where it is.
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
        let task = GoOn {
            model: &self.folder,
            settings: &toml::Table::new(),
            documents: &self.seen,
            held_out: None,
            dictionary: &ground.dictionary,
            seed: ground.seed,
            state: None,
        };
        let trained = go_on(&task, &mut Quiet)?;
        self.member = Arc::new(LinearMember::new(trained, &ground.labels, &ground.dictionary)?);
        Ok(())
    }
}

/// Naive Bayes as it stands.
#[derive(Clone)]
pub struct Soft {
    bayes: Bayes,
    confidence: Confidence,
    member: Option<Arc<dyn Learned>>,
}

impl Soft {
    /// Has seen nothing; can learn the ground's labels.
    ///
    /// # Errors
    /// [`AdaptError::Train`] for settings of another learner, or too many labels.
    pub fn new(ground: &Ground) -> Result<Self, AdaptError> {
        let labels = ground.labels.labels().iter().map(|label| label.name.clone());
        Ok(Self {
            bayes: Bayes::empty(&ground.features, labels.collect(), ground.seed)?,
            confidence: Confidence::default(),
            member: None,
        })
    }

    /// Goes on from a model that has learnt already.
    ///
    /// # Errors
    /// [`AdaptError`].
    pub fn of(bayes: Bayes, ground: &Ground) -> Result<Self, AdaptError> {
        let mut soft = Self {
            bayes,
            confidence: Confidence::default(),
            member: None,
        };
        soft.renew(ground)?;
        Ok(soft)
    }

    /// The member; none before anything was learnt.
    pub fn member(&self) -> Option<&Arc<dyn Learned>> {
        self.member.as_ref()
    }

    /// What is written and goes on learning when it is opened again.
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
            self.renew(ground)?;
        }
        Ok(())
    }

    /// Tells from documents that are not learnt yet how much it is to be believed.
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
            self.renew(ground)?;
        }
        Ok(())
    }

    fn renew(&mut self, ground: &Ground) -> Result<(), AdaptError> {
        let trained = self.bayes.trained(None, &ground.dictionary)?;
        let member = LinearMember::new(trained, &ground.labels, &ground.dictionary)?;
        self.member = Some(Arc::new(member));
        Ok(())
    }
}

/// What a learner says of a batch.
#[derive(Clone)]
pub(crate) struct Said {
    /// For each row its tokens' probabilities, under the pair's tags.
    pub(crate) rows: Vec<Vec<f32>>,
    /// For each row its spans.
    pub(crate) marks: Vec<Vec<Mark>>,
}

impl Said {
    /// Asks a learner.
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

/// What a member marks in each row.
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
