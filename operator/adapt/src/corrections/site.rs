//! A site's corrections, from their arrival to the running version. The process that learns from a stream's
//! corrections holds one [`Site`].

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_ensemble::{Bundle, Versions};

use super::CorrectionsError;
use super::candidate::{CandidateSpec, FirstMember, clear};
use super::correction::{Correction, CorrectionError};
use super::evaluate::score;
use super::history::History;
use super::journal::{At, Entry, FORMAT, Log, Positions, Rejected, StateError, io, make_folder};
use super::learnt::Learnt;
use super::outcome::{Arrived, Outcome, Turn, Verdict};
use crate::Ground;

const JOURNAL: &str = "journal.jsonl";
const REJECTED: &str = "rejected.jsonl";
const LOCK: &str = "lock";
const CANDIDATE: &str = "candidate";

/// Naive Bayes uses no randomness, but its manifest requires a seed.
const SEED: u64 = 1;

/// The settings of a site.
pub struct Setup {
    /// The folder for the journal. It will hold the text of notes.
    pub state: PathBuf,
    /// The folder of versions from which the stream loads its bundle.
    pub versions: PathBuf,
    /// The stream's dictionary, for bundles that carry none.
    pub dictionary: Arc<Dictionary>,
    /// The member that naive Bayes is mixed with; by default the only possible one.
    pub first: Option<String>,
    /// The share of corrected notes in the held-out set, 0 to 1.
    pub keep_share: f64,
    /// More held-out notes with gold spans.
    pub held_out: Vec<Document>,
}

/// An open state folder.
pub struct Site {
    setup: Setup,
    versions: Versions,
    base: Bundle,
    first: Option<String>,
    history: History,
    journal: Log<Entry>,
    rejected: Log<Rejected>,
    learnt: Learnt,
    /// The version that was scored or published last, opened.
    current: Option<(String, Bundle)>,
    /// Locks the folder while the site exists.
    _lock: File,
}

impl Site {
    /// Opens a state folder, or creates it with the current version as the base.
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
            &base.manifest,
            history.first.as_deref(),
            &base.labels,
            &base.dictionary.get(),
        )?;
        let ground = Ground {
            features: first
                .as_ref()
                .map(|first| first.features.clone())
                .unwrap_or_default(),
            dictionary: base.dictionary.get(),
            labels: Arc::clone(&base.labels),
            seed: SEED,
        };
        known_labels(&setup.held_out, &base)?;
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

    /// Returns the position up to which each partition or file was read.
    pub const fn positions(&self) -> &Positions {
        &self.history.positions
    }

    /// Returns the base version.
    pub fn base(&self) -> &str {
        &self.history.base
    }

    /// Returns the member that naive Bayes is mixed with; `None` if no member can be mixed.
    pub fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// Returns the number of all valid corrections.
    pub fn corrections(&self) -> usize {
        self.history.len()
    }

    /// Returns the number of corrections that are in no batch yet.
    pub fn waiting(&self) -> usize {
        self.history.waiting()
    }

    /// Returns whether a batch has no outcome, because the process ended before.
    pub const fn is_open(&self) -> bool {
        self.history.is_open()
    }

    /// Adds payloads, which are durable when this returns. Those that were read before are skipped.
    ///
    /// # Errors
    /// [`CorrectionsError::State`], after which the folder must be opened again.
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
            let read = payload.ok_or(CorrectionError::Empty);
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

    /// Records that another version of these corrections was made current; returns `None` if the current
    /// version is unchanged, or did not result from these corrections.
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

    /// Learns the waiting corrections as one batch, or finishes a batch that has no outcome; `None` if there
    /// is nothing to do.
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
            // The process was killed after publication and before the journal recorded it.
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

    /// Builds the bundle of the corrections in force, and compares it with the current version.
    fn candidate(&mut self, current: &str) -> Result<(Verdict, PathBuf), CorrectionsError> {
        let lessons = self.learnt.learn(&self.history, &self.base)?;
        let mixed = match (self.first.as_deref(), lessons.weight, self.learnt.bayes()) {
            (Some(first), Some(weight), Some(bayes)) => Some((first, weight, bayes)),
            _ => None,
        };
        let base = self.versions.path(&self.history.base);
        let folder = self.setup.state.join(CANDIDATE);
        let (folder, version) = if mixed.is_none() && lessons.phrases.is_none() {
            // There is nothing to add to the base.
            (base, self.history.base.clone())
        } else {
            let spec = CandidateSpec {
                base: &base,
                mixed,
                phrases: lessons.phrases.as_ref().map(|(bytes, _)| bytes.as_slice()),
                dictionary: &self.base.dictionary.get(),
                seed: SEED,
            };
            let bundle_manifest = spec.write(&folder)?;
            (folder, Versions::name(&bundle_manifest))
        };
        let kept = [self.setup.held_out.as_slice(), &lessons.kept].concat();
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

    /// Opens a version; the next call may close it.
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

    /// Makes entries durable and applies them.
    fn write(&mut self, entries: &[Entry]) -> Result<(), CorrectionsError> {
        self.journal.append(entries)?;
        for entry in entries {
            // Each entry was checked when it was read.
            self.history
                .apply(entry, &self.base.labels)
                .map_err(CorrectionsError::Taken)?;
        }
        Ok(())
    }
}

/// Creates the history from a journal's first line, if the settings are the same.
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
        return Err(damaged("the journal has no valid first line"));
    };
    if *format != FORMAT {
        return Err(damaged(&format!(
            "the journal has format {format}, and this program supports {FORMAT}; use a new state folder"
        )));
    }
    let told = |name: &Option<String>| {
        name.as_ref()
            .map_or("none".to_owned(), |name| format!("`{name}`"))
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

/// Locks the journal: two processes would overwrite each other's work.
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

/// Checks the held-out labels: with unknown ones, all versions would score the same.
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
