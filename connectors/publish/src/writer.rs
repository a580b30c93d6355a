//! The loop that brings a table up to date with a dataset.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arrow_schema::SchemaRef;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use lethe_connectors::erase::Replaced;
use lethe_connectors::sink::{ChainId, find_chains, read_head};
use lethe_connectors::store::{Store, crash};
use lethe_core::Backoff;
use tokio::runtime::Handle;

use crate::added::Added;
use crate::chain::{Content, Pending, Step, schema};
use crate::delta::DeltaTable;
use crate::iceberg::IcebergTable;
use crate::report::{Report, TableReport};
use crate::table::{Commit, Ended, Table};
use crate::{Place, PublishError, Target};

/// The maximum number of files of a commit: one is read into memory as a whole, by this program and by readers.
const FILES_PER_COMMIT: usize = 10_000;
/// The number of chains whose files are read at the same time.
const AT_ONCE: usize = 8;
/// The number of attempts to commit.
const ATTEMPTS: u32 = 20;

/// Adds the files of a dataset that a table does not have to it: the audit first, so that each row of the notes'
/// table has its audit in the other one. Creates missing tables. Blocks; call it outside of the runtime.
///
/// # Errors
/// [`PublishError`]. Everything that was committed before stays, and the next call continues after it.
pub fn publish(
    runtime: &Handle,
    dataset: &Place,
    notes: &Target,
    audit: Option<&Target>,
) -> Result<Report, PublishError> {
    for target in audit.into_iter().chain([notes]) {
        target.check(dataset)?;
    }
    let source = Source {
        runtime,
        store: dataset.open()?,
    };
    let chains = runtime.block_on(find_chains(source.store.as_ref()))?;
    if chains.is_empty() {
        return Err(PublishError::NoChains {
            dataset: dataset.to_string(),
        });
    }
    let tables = audit.map(|audit| (Content::Audit, audit));
    let tables = tables.into_iter().chain([(Content::Notes, notes)]);
    let mut report = Report {
        dataset: dataset.to_string(),
        tables: Vec::new(),
    };
    for (content, target) in tables {
        report.tables.push(match target {
            Target::Delta(place) => {
                let table = DeltaTable::open(place, dataset, runtime)?;
                Writer::open(&source, table, content, &chains)?.run()?
            }
            Target::Iceberg(target) => {
                let table = IcebergTable::open(target, dataset, content, runtime)?;
                Writer::open(&source, table, content, &chains)?.run()?
            }
        });
    }
    Ok(report)
}

/// A dataset.
struct Source<'a> {
    runtime: &'a Handle,
    store: Arc<dyn Store>,
}

/// Brings one table up to date.
struct Writer<'a, T> {
    source: &'a Source<'a>,
    table: T,
    content: Content,
    chains: Vec<Pending>,
    report: TableReport,
}

/// A commit to make, and whether it completes the work.
struct Work<C> {
    commit: Commit<C>,
    is_last: bool,
}

impl<'a, T: Table> Writer<'a, T> {
    fn open(
        source: &'a Source<'a>,
        table: T,
        content: Content,
        chains: &BTreeSet<ChainId>,
    ) -> Result<Self, PublishError> {
        let open = stream::iter(chains.iter().cloned())
            .map(|chain| Pending::open(source.store.as_ref(), chain))
            .buffered(AT_ONCE)
            .try_collect();
        Ok(Self {
            chains: source.runtime.block_on(open)?,
            report: TableReport::new(table.name(), content, chains.len() as u64),
            source,
            table,
            content,
        })
    }

    fn run(mut self) -> Result<TableReport, PublishError> {
        let mut backoff = Backoff::new(self.table.name())
            .between(Duration::from_millis(50), Duration::from_secs(5))
            .attempts(ATTEMPTS);
        loop {
            let done = match self.round() {
                Ok(done) => done,
                Err(error) if error.is_temporary() => {
                    tracing::warn!("{error}; Lethe reads the table again and retries");
                    match backoff.pause() {
                        Some(pause) => std::thread::sleep(pause),
                        None => return Err(error),
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            match done {
                Round::Done => return Ok(self.report),
                Round::More => backoff.reset(),
                Round::Conflict => {
                    self.report.conflicts += 1;
                    let Some(pause) = backoff.pause() else {
                        return Err(PublishError::Contended {
                            table: self.table.name().to_owned(),
                            attempts: ATTEMPTS,
                        });
                    };
                    std::thread::sleep(pause);
                }
            }
        }
    }

    /// Reads the table and the dataset, and makes at most one commit.
    fn round(&mut self) -> Result<Round, PublishError> {
        let Some(state) = self.table.load()? else {
            return self.create();
        };
        self.report.version = Some(T::version(&state));
        let work = match self.renewals(&state)? {
            Some(work) => work,
            None => match self.additions(&state)? {
                Some(work) => work,
                None => return Ok(Round::Done),
            },
        };
        crash::point("files_found");
        let Work { commit, is_last } = work;
        let (mut files, mut rows, mut bytes) = (0, 0, 0);
        for file in &commit.files {
            files += 1;
            rows += file.rows;
            bytes += file.size;
        }
        let names = T::names(&commit.columns);
        let (new, ends) = (commit.data_change, commit.ends.clone());
        match self.table.commit(&state, commit)? {
            Ended::Committed(version) => self.report.version = Some(version),
            Ended::Conflict => return Ok(Round::Conflict),
            // The answer is in the table.
            Ended::Unknown(error) => match self.has(&ends)? {
                true => {}
                false => return Err(error),
            },
        }
        self.report.commits += 1;
        self.report.columns.extend(names);
        match new {
            true => {
                self.report.files += files;
                self.report.rows += rows;
                self.report.bytes += bytes;
            }
            false => self.report.renewed += files,
        }
        Ok(if is_last { Round::Done } else { Round::More })
    }

    /// Returns whether the table has these ends now.
    fn has(&self, ends: &[(String, i64)]) -> Result<bool, PublishError> {
        let Some(state) = self.table.load()? else {
            return Ok(false);
        };
        for (chain, end) in ends {
            if self.table.published(&state, chain)? != Some(*end) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Creates the table, unless there is no row for it.
    fn create(&mut self) -> Result<Round, PublishError> {
        self.read(&vec![0; self.chains.len()])?;
        let mut columns = T::Columns::default();
        self.fit(None, &mut columns)?;
        if T::names(&columns).is_empty() {
            return Ok(Round::Done);
        }
        self.table.create(columns)?;
        Ok(Round::More)
    }

    /// Returns the commit of the files that the table does not have.
    fn additions(&mut self, state: &T::State) -> Result<Option<Work<T::Columns>>, PublishError> {
        let published = self.published(state)?;
        self.read(&published)?;
        let mut commit = Commit {
            data_change: true,
            ..Commit::default()
        };
        self.fit(Some(state), &mut commit.columns)?;
        for chain in &self.chains {
            let files = chain.steps().iter().filter_map(Step::added);
            commit.files.extend(files.map(|(added, _)| added.clone()));
            let last = chain.steps().last();
            commit
                .ends
                .extend(last.map(|last| (chain.app_id.clone(), last.next())));
        }
        let limit = self.limit();
        let is_last = self.chains.iter().all(|chain| chain.steps().len() < limit);
        Ok((!commit.ends.is_empty()).then_some(Work { commit, is_last }))
    }

    /// Returns the commit of the table's files that erasures replaced since the last one, or nothing.
    fn renewals(&mut self, state: &T::State) -> Result<Option<Work<T::Columns>>, PublishError> {
        let (store, runtime) = (self.source.store.as_ref(), self.source.runtime);
        let Some(id) = runtime.block_on(Replaced::id(store))? else {
            return Ok(None);
        };
        let app_id = format!("lethe:{id}:erased");
        let done = self.table.published(state, &app_id)?.unwrap_or(0);
        let done = u32::try_from(done).unwrap_or(u32::MAX);
        let replaced = runtime.block_on(Replaced::since(store, done))?;
        if let Some(record) = replaced.unfinished {
            return Err(PublishError::Unfinished { record });
        }
        if replaced.next == done {
            return Ok(None);
        }
        let published = self.published(state)?;
        let mut commit = Commit {
            ends: vec![(app_id, i64::from(replaced.next))],
            ..Commit::default()
        };
        for name in replaced.files {
            let Some((chain, first)) = self.content.parse(&name) else {
                continue;
            };
            let known = self
                .chains
                .iter()
                .zip(&published)
                .find(|(known, _)| known.chain == chain);
            if known.is_none_or(|(_, published)| first >= *published) {
                continue;
            }
            let head = runtime.block_on(read_head(store, &name))?;
            self.table
                .fit(Some(state), &mut commit.columns, &name, &schema(&head)?)?;
            commit.files.push(Added::of(&head, &chain, first..first + 1));
        }
        Ok(Some(Work {
            commit,
            is_last: false,
        }))
    }

    /// Returns the published end of each chain.
    fn published(&self, state: &T::State) -> Result<Vec<i64>, PublishError> {
        let end = |chain: &Pending| Ok(self.table.published(state, &chain.app_id)?.unwrap_or(0));
        self.chains.iter().map(end).collect()
    }

    /// Reads the files of each chain from its published end on.
    fn read(&mut self, published: &[i64]) -> Result<(), PublishError> {
        let (store, content, limit) = (self.source.store.as_ref(), self.content, self.limit());
        let read = stream::iter(self.chains.iter_mut().zip(published))
            .map(|(chain, from)| chain.read(store, content, *from, limit))
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>();
        self.source.runtime.block_on(read)
    }

    /// Returns the maximum number of files of a chain in one commit.
    fn limit(&self) -> usize {
        FILES_PER_COMMIT.div_ceil(self.chains.len().max(1))
    }

    /// Compares the columns of the files that were read with those of the table.
    fn fit(&self, state: Option<&T::State>, new: &mut T::Columns) -> Result<(), PublishError> {
        for chain in &self.chains {
            let mut last: Option<&SchemaRef> = None;
            for (added, schema) in chain.steps().iter().filter_map(Step::added) {
                if last.is_none_or(|last| !Arc::ptr_eq(last, schema)) {
                    self.table.fit(state, new, &added.name, schema)?;
                }
                last = Some(schema);
            }
        }
        Ok(())
    }
}

/// How a round ended.
enum Round {
    /// The table has everything.
    Done,
    /// Another round is due.
    More,
    /// Another writer was first.
    Conflict,
}

impl Content {
    /// Parses the chain and the first offset from the name of a file with this content.
    fn parse(self, name: &str) -> Option<(ChainId, i64)> {
        match self {
            Self::Notes => ChainId::parse_notes(name),
            Self::Audit => ChainId::parse_audit(name).map(|(chain, first, _)| (chain, first)),
        }
    }
}
