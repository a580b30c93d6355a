//! Two or three writers that all believe that they own one partition, failing stores, and writers that die
//! anywhere: at every moment a reader finds an intact chain, and at the end each record exactly once.
//!
//! Each writer is a future that a driver polls in a seeded random order; the store yields before and after
//! each request, so a writer can be interrupted, overtaken or killed at every step that another one could
//! notice.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail and print"
)]

use crate::chain_common;

use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use async_trait::async_trait;
use bytes::Bytes;
use lethe_connectors::inspect::{inspect, remove_orphans};
use lethe_connectors::sink::{
    ChainError, CommitError, Encoding, LaneWriter, Receipt, read_footer, read_tail,
};
use lethe_connectors::store::faulty::{Faulty, InjectedFault, Plan};
use lethe_connectors::store::{End, Folder, FolderConfig, Memory, Object, Store, StoreError};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use chain_common::{chain, fingerprints, rows};

/// The log has the offsets from 0 to this.
const LOG: i64 = 48;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}

/// Yields to the driver before and after each request.
#[derive(Debug)]
struct Yielding(Arc<dyn Store>);

async fn pause() {
    let mut waited = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            Poll::Ready(())
        } else {
            // For the one writer without a driver.
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

#[async_trait]
impl Store for Yielding {
    async fn create(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        pause().await;
        let done = self.0.create(name, bytes).await;
        pause().await;
        done
    }
    async fn list_after(&self, folder: &str, after: Option<&str>) -> Result<Vec<Object>, StoreError> {
        let done = self.0.list_after(folder, after).await;
        pause().await;
        done
    }
    async fn read_range(&self, name: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        pause().await;
        self.0.read_range(name, range).await
    }
    async fn read_tail(&self, name: &str, len: u64) -> Result<End, StoreError> {
        pause().await;
        self.0.read_tail(name, len).await
    }
    async fn look(&self, name: &str) -> Result<Object, StoreError> {
        self.0.look(name).await
    }
    async fn replace(&self, name: &str, bytes: Bytes, version: &str) -> Result<(), StoreError> {
        self.0.replace(name, bytes, version).await
    }
    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.0.delete(name).await
    }
    fn describe(&self) -> String {
        self.0.describe()
    }
}

/// Returns the offsets of the log without a record, like those of transaction markers.
fn is_marker(seed: u64, offset: i64) -> bool {
    Dice(seed ^ (offset as u64) << 20).below(7) == 0
}

/// The shared state of all writers of a schedule.
struct World {
    seed: u64,
    /// The smallest offset in the log; it only grows.
    earliest: AtomicI64,
    receipts: Mutex<Vec<Receipt>>,
    lost_races: AtomicI64,
}

/// One life of a writer: opens the chain and writes to the log's end, or to an error that no retry fixes.
async fn live(world: Arc<World>, store: Arc<dyn Store>, mut dice: Dice) {
    let start = world.earliest.load(Ordering::SeqCst);
    let encoding = Encoding {
        zstd_level: 0,
        ..Encoding::default()
    };
    let opened = LaneWriter::open(&*store, chain(), start, fingerprints(), encoding).await;
    let mut writer = match opened {
        Ok(writer) => writer,
        Err(ChainError::Store(_)) => return,
        Err(error) => panic!("seed {}: {error}", world.seed),
    };
    while writer.next() < LOG {
        for _ in 0..=dice.below(2) {
            let to = (writer.next() + 1 + dice.below(5) as i64).min(LOG);
            let offsets = (writer.next()..to).filter(|&offset| !is_marker(world.seed, offset));
            let (notes, audit) = rows(offsets);
            writer.push(&notes, &audit).unwrap();
            writer.advance(to).unwrap();
            pause().await;
        }
        let first = writer.first();
        loop {
            match writer.commit(&*store).await {
                Ok(receipt) => {
                    world.receipts.lock().unwrap().extend(receipt);
                    break;
                }
                Err(CommitError::Lost { tail }) => {
                    assert!(tail.next > first, "seed {}: {tail:?}", world.seed);
                    world.lost_races.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                Err(CommitError::Transient(_)) => pause().await,
                Err(CommitError::Fatal(ChainError::Store(_))) => return,
                Err(CommitError::Fatal(error)) => panic!("seed {}: {error}", world.seed),
                Err(error) => panic!("seed {}: {error}", world.seed),
            }
        }
    }
}

/// What a reader has seen of the chain so far: files never change.
#[derive(Default)]
struct Reader {
    files: Vec<String>,
    next: i64,
}

impl Reader {
    /// Checks that every file is complete, begins at the end of the previous one, that none has disappeared
    /// or appeared in between, and that each named audit file exists.
    async fn look(&mut self, store: &dyn Store, seed: u64) {
        let files: Vec<String> = store
            .list("notes")
            .await
            .unwrap()
            .into_iter()
            .map(|file| file.name)
            .collect();
        assert!(files.starts_with(&self.files), "seed {seed}");
        for file in &files[self.files.len()..] {
            let footer = read_footer(store, file).await.unwrap();
            assert_eq!(footer.first, self.next, "seed {seed}: {file} breaks the chain");
            self.next = footer.next;
            if let Some(audit) = &footer.audit {
                let there = store.read_tail(audit, 8).await.unwrap();
                assert!(there.size > 8, "seed {seed}: {audit}");
            }
        }
        self.files = files;
    }
}

/// Returns the offsets in the chain's files, read with Arrow.
async fn offsets_in(store: &dyn Store) -> Vec<i64> {
    let mut offsets = Vec::new();
    for file in store.list("notes").await.unwrap() {
        let bytes = store.read(&file.name).await.unwrap();
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
        let offset = ProjectionMask::columns(builder.parquet_schema(), ["offset"]);
        for batch in builder.with_projection(offset).build().unwrap() {
            let batch = batch.unwrap();
            let column = batch.column_by_name("offset").unwrap();
            offsets.extend(column.as_primitive::<Int64Type>().values());
        }
    }
    offsets
}

#[derive(Default)]
struct Totals {
    schedules: u64,
    lost: u64,
    duplicated: u64,
    kills: u64,
    faults: u64,
    races: i64,
    files: usize,
    orphans: usize,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "schedules run {}, notes lost {}, notes duplicated {} ({} files, {} writers killed, {} faults, {} races lost, \
             {} orphans)",
            self.schedules,
            self.lost,
            self.duplicated,
            self.files,
            self.kills,
            self.faults,
            self.races,
            self.orphans
        )
    }
}

/// Runs one schedule against a store and records its result.
async fn schedule(store: Arc<dyn Store>, seed: u64, totals: &mut Totals) {
    let mut dice = Dice(seed);
    let world = Arc::new(World {
        seed,
        earliest: AtomicI64::new([0, 0, 3][dice.below(3) as usize]),
        receipts: Mutex::default(),
        lost_races: AtomicI64::new(0),
    });
    let curable = [
        InjectedFault::FailBefore,
        InjectedFault::FailAfter,
        InjectedFault::Conflict,
    ];
    let faults = if dice.below(2) == 0 {
        curable.to_vec()
    } else {
        [&curable[..], &[InjectedFault::Full, InjectedFault::Denied]].concat()
    };
    let rate = [0.0, 0.05, 0.2, 0.4][dice.below(4) as usize];
    let stores: Vec<Arc<Faulty>> = (0..2 + dice.below(2))
        .map(|writer| {
            let plan = Plan::Dice {
                seed: seed ^ (writer + 1) << 32,
                rate,
                faults: faults.clone(),
            };
            Arc::new(Faulty::new(Arc::new(Yielding(Arc::clone(&store))), plan))
        })
        .collect();
    let mut lives: Vec<Option<Pin<Box<dyn Future<Output = ()> + Send>>>> =
        stores.iter().map(|_| None).collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut reader = Reader::default();
    for step in 0..4000 {
        let one = dice.below(lives.len() as u64) as usize;
        let life = lives[one].get_or_insert_with(|| {
            Box::pin(live(
                Arc::clone(&world),
                stores[one].clone(),
                Dice(seed ^ (step << 8)),
            ))
        });
        let ended = life.as_mut().poll(&mut context).is_ready();
        if ended {
            lives[one] = None;
        } else if dice.below(40) == 0 {
            lives[one] = None;
            totals.kills += 1;
        }
        if dice.below(50) == 0 && world.earliest.load(Ordering::SeqCst) > 0 {
            world.earliest.fetch_add(1, Ordering::SeqCst);
        }
        reader.look(&*store, seed).await;
        if reader.next == LOG {
            break;
        }
    }
    drop(lives);
    // A writer on a sound store completes whatever the failures left; it retries if a request of a killed one
    // to the file system is carried out only now.
    for again in 0..8 {
        live(Arc::clone(&world), Arc::clone(&store), Dice(seed ^ again)).await;
        reader.look(&*store, seed).await;
    }
    assert_eq!(reader.next, LOG, "seed {seed}");

    let begun = read_footer(&*store, &reader.files[0]).await.unwrap();
    let start = if begun.gap.is_some() { begun.next } else { 0 };
    let found = offsets_in(&*store).await;
    let due: Vec<i64> = (start..LOG).filter(|&offset| !is_marker(seed, offset)).collect();
    totals.lost += due.iter().filter(|offset| !found.contains(offset)).count() as u64;
    let mut distinct = found.clone();
    distinct.sort_unstable();
    distinct.dedup();
    totals.duplicated += (found.len() - distinct.len()) as u64;
    assert_eq!(found, due, "seed {seed}");

    // Whatever has a receipt still exists, from that very attempt.
    let receipts = world.receipts.lock().unwrap().clone();
    for receipt in &receipts {
        let footer = read_footer(&*store, receipt.file()).await.unwrap();
        assert_eq!(&footer, receipt.footer(), "seed {seed}");
    }
    let report = inspect(&*store, |_| {}).await.unwrap();
    assert!(report.is_intact(), "seed {seed}: {report}");
    assert_eq!(report.chains[0].rows() as usize, due.len());
    totals.orphans += report.orphans.len();
    let removed = remove_orphans(&*store, &report, Duration::ZERO).await.unwrap();
    assert_eq!(removed.len(), report.orphans.len());
    // No named audit file was removed with the orphans.
    Reader::default().look(&*store, seed).await;

    totals.files += report.chains[0].files as usize;
    totals.faults += stores.iter().map(|store| store.given()).sum::<u64>();
    totals.races += world.lost_races.load(Ordering::SeqCst);
    totals.schedules += 1;
}

#[tokio::test]
async fn competing_writers_on_failing_stores_lose_and_double_nothing() {
    let began = Instant::now();
    let mut totals = Totals::default();
    for seed in 0..600 {
        schedule(Arc::new(Memory::default()), seed, &mut totals).await;
    }
    println!("memory: {totals}, {:.1} s", began.elapsed().as_secs_f64());
    assert_eq!((totals.lost, totals.duplicated), (0, 0));
    // The schedules must have met the situations that they are for.
    assert!(totals.kills > 500 && totals.faults > 500 && totals.races > 100 && totals.orphans > 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn competing_writers_in_a_folder_lose_and_double_nothing() {
    let began = Instant::now();
    let mut totals = Totals::default();
    for seed in 10_000..10_040 {
        let folder = tempfile::tempdir().unwrap();
        let store = Folder::open(&FolderConfig {
            path: folder.path().join("out"),
        });
        schedule(Arc::new(store.unwrap()), seed, &mut totals).await;
    }
    println!("folder: {totals}, {:.1} s", began.elapsed().as_secs_f64());
    assert_eq!((totals.lost, totals.duplicated), (0, 0));
    assert!(totals.races > 5);
}

#[tokio::test]
async fn a_file_that_does_not_fit_is_named_with_the_one_before_it() {
    let store = Memory::default();
    for (from, to) in [(0, 4), (4, 8), (8, 12)] {
        let mut writer = LaneWriter::open(&store, chain(), 0, fingerprints(), Encoding::default())
            .await
            .unwrap();
        let (notes, audit) = rows(from..to);
        writer.push(&notes, &audit).unwrap();
        writer.commit(&store).await.unwrap();
    }
    store.delete(&chain().notes_name(4)).await.unwrap();
    let error = read_tail(&store, &chain()).await.unwrap_err().to_string();
    for name in [
        chain().notes_name(0),
        chain().notes_name(8),
        "offset 4".to_owned(),
    ] {
        assert!(error.contains(&name), "{error}");
    }
    store.delete(&chain().notes_name(0)).await.unwrap();
    let error = read_tail(&store, &chain()).await.unwrap_err();
    assert!(matches!(error, ChainError::Broken { next: 0, .. }), "{error}");
}
