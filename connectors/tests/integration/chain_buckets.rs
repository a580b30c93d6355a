//! Writers of one chain that compete on separate threads, on each kind of bucket with injected faults.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail and print"
)]

use crate::buckets::{Site, on_every_bucket};
use crate::chain_common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use lethe_connectors::inspect::inspect;
use lethe_connectors::sink::{ChainError, CommitError, Encoding, LaneWriter};
use lethe_connectors::store::Store;
use lethe_connectors::store::faulty::{Faulty, InjectedFault, Plan};

use serde_json::json;

use chain_common::{chain, fingerprints, rows};

const LOG: i64 = 60;

/// Writes to the log's end and reopens the chain after every lost race. Returns the number of lost races.
async fn write(store: Arc<dyn Store>, step: i64) -> u64 {
    let mut lost = 0;
    loop {
        let opened = LaneWriter::open(&*store, chain(), 0, fingerprints(), Encoding::default()).await;
        let mut writer = match opened {
            Ok(writer) => writer,
            Err(ChainError::Store(error)) if error.is_transient() => continue,
            Err(error) => panic!("{error}"),
        };
        loop {
            if writer.next() >= LOG {
                return lost;
            }
            let (notes, audit) = rows(writer.next()..(writer.next() + step).min(LOG));
            writer.push(&notes, &audit).unwrap();
            let committed = loop {
                match writer.commit(&*store).await {
                    Err(CommitError::Transient(_)) => {}
                    done => break done,
                }
            };
            match committed {
                Ok(_) => {}
                Err(CommitError::Lost { .. }) => {
                    lost += 1;
                    break;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

async fn competing_writers_of_a_bucket_lose_and_double_nothing(site: Site) {
    let began = Instant::now();
    let mut site = site;
    let prefix = site.config["prefix"].as_str().unwrap().to_owned();
    let (mut races, mut faults, mut lost, mut doubled) = (0, 0, 0, 0);
    for seed in 0..8 {
        site = site.with(json!({"prefix": format!("{prefix}/{seed}"), "timeout_seconds": 60, "retries": 8}));
        let sound = site.store();
        let stores: Vec<_> = (1..=3)
            .map(|writer| {
                let plan = Plan::Dice {
                    seed: seed * 10 + writer,
                    rate: 0.15,
                    faults: vec![
                        InjectedFault::FailBefore,
                        InjectedFault::FailAfter,
                        InjectedFault::Slow,
                        InjectedFault::Conflict,
                    ],
                };
                Arc::new(Faulty::new(Arc::clone(&sound), plan).with_delay(Duration::from_millis(30)))
            })
            .collect();
        let tasks: Vec<_> = stores
            .iter()
            .zip([3, 4, 7])
            .map(|(store, step)| tokio::spawn(write(store.clone(), step)))
            .collect();
        for task in tasks {
            races += task.await.unwrap();
        }
        faults += stores.iter().map(|store| store.given()).sum::<u64>();
        let report = inspect(&*sound, |_| {}).await.unwrap();
        assert!(report.is_intact(), "seed {seed}: {report}");
        let rows = report.chains[0].rows() as i64;
        assert_eq!(report.chains[0].next, LOG, "seed {seed}");
        lost += (LOG - rows).max(0);
        doubled += (rows - LOG).max(0);
    }
    println!(
        "schedules run 8, notes lost {lost}, notes duplicated {doubled} ({races} races lost, {faults} faults), {:.1} s",
        began.elapsed().as_secs_f64()
    );
    assert_eq!((lost, doubled), (0, 0));
    assert!(races > 8 && faults > 8);
}

on_every_bucket!(competing_writers_of_a_bucket_lose_and_double_nothing);
