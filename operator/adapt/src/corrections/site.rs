//! A site's corrections, from their arrival to the version that runs: the one object that a process beside the stream holds.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_ensemble::{Bundle, Versions};

use super::CorrectionsError;
use super::candidate::{FirstMember, Recipe, clear};
use super::correction::{Correction, Fault};
use super::history::History;
use super::journal::{At, Entry, FORMAT, Log, Positions, Rejected, StateError, io, make_folder};
use super::judge::score;
use super::learnt::Learnt;
use super::outcome::{Arrived, Outcome, Turn, Verdict};
use crate::Ground;

const JOURNAL: &str = "journal.jsonl";
const REJECTED: &str = "rejected.jsonl";
const LOCK: &str = "lock";
const CANDIDATE: &str = "candidate";

/// Naive Bayes draws nothing by chance; its page says a seed all the same.
const SEED: u64 = 1;

/// What a site learns corrections with.
pub struct Setup {
    /// The folder for the journal. It will hold the text of notes.
    pub state: PathBuf,
    /// The folder of versions that the stream redacts by.
    pub versions: PathBuf,
    /// The stream's dictionary.
    pub dictionary: Arc<Dictionary>,
    /// The member that naive Bayes is mixed with; the only one that can be if not given.
    pub first: Option<String>,
    /// The share of corrected notes that nothing is learnt from, 0 to 1.
    pub keep_share: f64,
    /// Other notes with gold spans that nothing is learnt from.
    pub kept_back: Vec<Document>,
}

/// A state folder, opened.
pub struct Site {
    setup: Setup,
    versions: Versions,
    base: Bundle,
    first: Option<String>,
    history: History,
    journal: Log<Entry>,
    rejected: Log<Rejected>,
    learnt: Learnt,
    /// The version that was judged or published last, opened.
    current: Option<(String, Bundle)>,
    /// Held as long as the folder is.
    _lock: File,
}

impl Site {
    /// Opens a state folder, or begins it beside the version that is current now.
    ///
    /// # Errors
    /// [`CorrectionsError`].
    pub fn open(setup: Setup) -> Result<Self, CorrectionsError> {
        let versions = Versions::of(&setup.versions).ok_or_else(|| CorrectionsError::NoVersions {
            folder: setup.versions.clone(),
        })?;
        make_folder(&setup.state)?;
        let lock = lock(&setup.state.join(LOCK))?;
        let path = setup.state.join(JOURNAL);
        let (mut journal, mut entries) = Log::open(path.clone())?;
        if entries.is_empty() {
            let begun = Entry::Begun {
                format: FORMAT,
                base: versions.current()?,
                first: setup.first.clone(),
                keep_share: setup.keep_share,
            };
            journal.append([&begun])?;
            entries.push(begun);
        }
        let mut history = begun(&path, &entries, &setup)?;
        let folder = versions.path(&history.base);
        let base = Bundle::open(&folder, &setup.dictionary)?;
        for (index, entry) in entries.iter().enumerate() {
            history
                .apply(entry, &base.labels)
                .map_err(|fault| StateError::Line {
                    path: path.clone(),
                    line: index + 1,
                    problem: fault.to_string(),
                })?;
        }
        let first = FirstMember::of(
            &folder,
            &base.page,
            history.first.as_deref(),
            &base.labels,
            &setup.dictionary,
        )?;
        let ground = Ground {
            features: first
                .as_ref()
                .map(|first| first.features.clone())
                .unwrap_or_default(),
            dictionary: Arc::clone(&setup.dictionary),
            labels: Arc::clone(&base.labels),
            seed: SEED,
        };
        known_labels(&setup.kept_back, &base)?;
        let (mut rejected, list) = Log::open(setup.state.join(REJECTED))?;
        if list != history.rejected {
            rejected.clear()?;
            rejected.append(&history.rejected)?;
        }
        Ok(Self {
            versions,
            learnt: Learnt::new(first.as_ref().map(|first| Arc::clone(&first.member)), ground),
            first: first.map(|first| first.name),
            base,
            history,
            journal,
            rejected,
            current: None,
            setup,
            _lock: lock,
        })
    }

    /// How far each partition or file was read.
    pub const fn positions(&self) -> &Positions {
        &self.history.positions
    }

    /// The version that everything is learnt beside.
    pub fn base(&self) -> &str {
        &self.history.base
    }

    /// The member that naive Bayes is mixed with; none if the bundle has none that can be.
    pub fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// How many corrections were ever taken.
    pub fn corrections(&self) -> usize {
        self.history.len()
    }

    /// How many corrections are in no batch yet.
    pub fn waiting(&self) -> usize {
        self.history.waiting()
    }

    /// Whether a batch was begun and nothing is known to have come of it: the process ended before.
    pub const fn is_open(&self) -> bool {
        self.history.is_open()
    }

    /// Takes in what arrived; it is durable when this returns. What was read before is passed over.
    ///
    /// # Errors
    /// [`CorrectionsError::State`], after which the folder must be opened anew.
    pub fn take<'p>(
        &mut self,
        arrived: impl IntoIterator<Item = (At, Option<&'p [u8]>)>,
    ) -> Result<Arrived, CorrectionsError> {
        let (mut entries, mut told) = (Vec::new(), Arrived::default());
        let mut positions = self.history.positions.clone();
        for (at, payload) in arrived {
            if positions.has(&at) {
                continue;
            }
            positions.read(&at);
            let read = payload.ok_or(Fault::Empty);
            match read.and_then(|payload| Correction::read(payload, &self.base.labels)) {
                Ok((correction, _)) => {
                    told.taken += 1;
                    entries.push(Entry::Correction { at, correction });
                }
                Err(fault) => {
                    let problem = fault.to_string();
                    told.rejected.push((at.clone(), fault));
                    entries.push(Entry::Rejected(Rejected { at, fault: problem }));
                }
            }
        }
        self.write(&entries)?;
        let list = entries.iter().filter_map(|entry| match entry {
            Entry::Rejected(rejected) => Some(rejected),
            _ => None,
        });
        self.rejected.append(list)?;
        Ok(told)
    }

    /// Looks which version is current, and takes note if somebody changed it; none where it is what it was, or is none of
    /// these corrections'.
    ///
    /// # Errors
    /// [`CorrectionsError`].
    pub fn look(&mut self) -> Result<Option<Turn>, CorrectionsError> {
        let version = self.versions.current()?;
        if version == self.history.current || !self.history.knows(&version) {
            return Ok(None);
        }
        self.write(&[Entry::Current {
            version: version.clone(),
        }])?;
        Ok(Some(Turn {
            version,
            aside: self.history.aside().len(),
        }))
    }

    /// Learns the corrections that wait, as one batch, or what a batch that was begun is of; none if there is nothing to do.
    ///
    /// # Errors
    /// [`CorrectionsError`].
    pub fn step(&mut self) -> Result<Option<Outcome>, CorrectionsError> {
        if self.waiting() == 0 && !self.is_open() {
            return Ok(None);
        }
        let current = self.versions.current()?;
        if !self.history.is_open() {
            if !self.history.knows(&current) {
                return Ok(Some(Outcome::Paused { current }));
            }
            self.look()?;
            self.write(&[Entry::Batch])?;
        }
        loop {
            let version = self.versions.current()?;
            let (verdict, folder) = self.candidate(&version)?;
            // Killed after it was published and before that was written down.
            let published = verdict.version == version;
            if !published && !self.history.knows(&version) {
                return Ok(Some(Outcome::Paused { current: version }));
            }
            if !published && self.look()?.is_some() {
                continue;
            }
            let outcome = if published {
                Outcome::Same(verdict)
            } else if verdict.new.is_worse_than(&verdict.old) {
                Outcome::Refused(verdict)
            } else {
                if self.versions.current()? != version {
                    continue;
                }
                Versions::publish(&self.setup.versions, &folder, &self.setup.dictionary)?;
                Outcome::Published(verdict)
            };
            self.conclude(&outcome)?;
            clear(&self.setup.state.join(CANDIDATE))?;
            return Ok(Some(outcome));
        }
    }

    /// Makes the bundle that the corrections in force come to, and holds it against the current version.
    fn candidate(&mut self, current: &str) -> Result<(Verdict, PathBuf), CorrectionsError> {
        let lessons = self.learnt.learn(&self.history, &self.base)?;
        let mixed = match (self.first.as_deref(), lessons.weight, self.learnt.bayes()) {
            (Some(first), Some(weight), Some(bayes)) => Some((first, weight, bayes)),
            _ => None,
        };
        let base = self.versions.path(&self.history.base);
        let folder = self.setup.state.join(CANDIDATE);
        let (folder, version) = if mixed.is_none() && lessons.phrases.is_none() {
            // Nothing is added to the base.
            (base, self.history.base.clone())
        } else {
            let recipe = Recipe {
                base: &base,
                mixed,
                phrases: lessons.phrases.as_ref().map(|(bytes, _)| bytes.as_slice()),
                dictionary: &self.setup.dictionary,
                seed: SEED,
            };
            let page = recipe.write(&folder)?;
            (folder, Versions::name(&page))
        };
        let kept = [self.setup.kept_back.as_slice(), &lessons.kept].concat();
        let old = self.opened(current, &self.versions.path(current))?;
        let old = score(old, &kept)?;
        let new = if version == current {
            old
        } else {
            score(self.opened(&version, &folder)?, &kept)?
        };
        let verdict = Verdict {
            version,
            notes: lessons.notes,
            phrases: lessons.phrases.map_or(0, |(_, count)| count),
            weight: lessons.weight,
            new,
            old,
        };
        Ok((verdict, folder))
    }

    /// A version, opened, which the next call may close.
    fn opened(&mut self, version: &str, folder: &Path) -> Result<&Bundle, CorrectionsError> {
        if version == self.history.base {
            return Ok(&self.base);
        }
        let kept = self.current.take().filter(|(name, _)| name == version);
        let opened = match kept {
            Some(opened) => opened,
            None => (version.to_owned(), Bundle::open(folder, &self.setup.dictionary)?),
        };
        Ok(&self.current.insert(opened).1)
    }

    fn conclude(&mut self, outcome: &Outcome) -> Result<(), CorrectionsError> {
        let entry = match outcome {
            Outcome::Published(verdict) | Outcome::Same(verdict) => Entry::Published {
                version: verdict.version.clone(),
            },
            Outcome::Refused(verdict) => Entry::Refused {
                version: verdict.version.clone(),
            },
            Outcome::Paused { .. } => return Ok(()),
        };
        self.write(&[entry])
    }

    /// Makes entries durable and takes them in.
    fn write(&mut self, entries: &[Entry]) -> Result<(), CorrectionsError> {
        self.journal.append(entries)?;
        for entry in entries {
            // Each was checked when it was read.
            self.history
                .apply(entry, &self.base.labels)
                .map_err(CorrectionsError::Taken)?;
        }
        Ok(())
    }
}

/// The history that a journal's first line begins, if it was begun as it is opened now.
fn begun(path: &Path, entries: &[Entry], setup: &Setup) -> Result<History, StateError> {
    let damaged = |problem: &str| StateError::Line {
        path: path.to_owned(),
        line: 1,
        problem: problem.to_owned(),
    };
    let Some(Entry::Begun {
        format,
        base,
        first,
        keep_share,
    }) = entries.first()
    else {
        return Err(damaged("the journal does not begin as one does"));
    };
    if *format != FORMAT {
        return Err(damaged(&format!(
            "a journal of format {format}, and this program has {FORMAT}; begin another state folder"
        )));
    }
    let told = |name: &Option<String>| {
        name.as_ref()
            .map_or("none named".to_owned(), |name| format!("`{name}`"))
    };
    let same = [
        ("first", told(first), told(&setup.first)),
        ("keep_share", keep_share.to_string(), setup.keep_share.to_string()),
    ];
    if let Some((key, was, is)) = same.into_iter().find(|(_, was, is)| was != is) {
        return Err(StateError::Begun {
            path: path.to_owned(),
            key,
            was,
            is,
        });
    }
    Ok(History::begun(base.clone(), first.clone(), *keep_share))
}

/// Two processes with one journal would each lose what the other does.
fn lock(path: &Path) -> Result<File, StateError> {
    let mut options = File::options();
    let file = options
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map_err(io(path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(StateError::Busy {
            path: path.to_owned(),
        }),
        Err(std::fs::TryLockError::Error(error)) => Err(io(path)(error)),
    }
}

/// Gold under other labels would make any version as good as any.
fn known_labels(documents: &[Document], base: &Bundle) -> Result<(), CorrectionsError> {
    for (index, document) in documents.iter().enumerate() {
        let unknown = document
            .marks
            .iter()
            .find(|mark| base.labels.by_name(&mark.label).is_none());
        if let Some(mark) = unknown {
            return Err(CorrectionsError::Gold {
                document: index + 1,
                label: mark.label.clone(),
                set: base.labels.id().to_owned(),
            });
        }
    }
    Ok(())
}
