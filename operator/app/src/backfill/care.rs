//! Finds the row that kills a backfill's process, as a lane of a stream does ([`Marker`]).
//!
//! A run records its start and its end in the store. If the previous run has no end, the next one announces
//! the rows of each slab before it works on them. After a death with a slab in hand, it first tries each of
//! its rows alone in the whole process; a row that was alone in hand at three deaths in a row is quarantined.
//! In any case the slab is written as a whole, so that the output does not depend on the number of deaths.

use std::sync::{Arc, PoisonError, RwLock};

use arrow_array::UInt32Array;
use arrow_select::take::take_record_batch;
use lethe_connectors::store::Store;
use lethe_connectors::tables::Slab;
use lethe_core::QuarantineCode;
use tokio::runtime::Handle;

use crate::cli::Shard;
use crate::pipeline::{DEATHS, Marker, Marks, Plan};

/// The precautions of a run.
pub(super) struct Care {
    marks: Marks,
    runtime: Handle,
    run: Arc<Marker>,
    /// Whether the previous run died.
    careful: bool,
    /// A worker holds it shared while it works on rows, and exclusively while it tries a single row.
    floor: RwLock<()>,
}

impl Care {
    /// Finds out whether the previous run died, and announces this one.
    pub(super) fn begin(store: &Arc<dyn Store>, runtime: &Handle, shard: Shard) -> Self {
        let marks = Marks::new(Arc::clone(store));
        let run = marks.of(&format!("backfill/shard-{}-of-{}", shard.this, shard.of));
        let careful = runtime.block_on(async {
            let plan = run.begin(0).await;
            run.announce(0..=0, None).await;
            plan.singly.is_some()
        });
        if careful {
            tracing::warn!(
                "the previous run died; rows are announced before they are processed, to find one that kills the process"
            );
        }
        Self {
            marks,
            runtime: runtime.clone(),
            run,
            careful,
            floor: RwLock::default(),
        }
    }

    /// Records the end of the run, whatever its outcome.
    pub(super) fn end(&self) {
        self.runtime.block_on(self.run.done());
    }

    /// Returns the precautions for a unit whose first row that is not durable is `next`.
    pub(super) fn unit(&self, id: &str, next: i64) -> UnitCare<'_> {
        let marked = self.careful.then(|| {
            let marker = self.marks.of(&format!("backfill/{id}"));
            let plan = self.runtime.block_on(marker.begin(next));
            (marker, plan)
        });
        UnitCare { care: self, marked }
    }
}

/// The precautions of a unit.
pub(super) struct UnitCare<'a> {
    care: &'a Care,
    /// Its marker and the plan that follows from the previous process; present if rows are announced.
    marked: Option<(Arc<Marker>, Plan)>,
}

impl UnitCare<'_> {
    /// Tries each suspect of a slab alone, and quarantines a row that has killed the process too often.
    ///
    /// # Errors
    /// The errors of `redact`.
    pub(super) fn vet(
        &self,
        object: &str,
        slab: &mut Slab,
        mut redact: impl FnMut(&Slab) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Some((marker, plan)) = &self.marked else {
            return Ok(());
        };
        let is_suspect = |row| {
            plan.singly
                .as_ref()
                .is_some_and(|suspects| suspects.contains(&row))
        };
        for at in 0..slab.record.num_rows() {
            let row = slab.first + at as i64;
            if plan.poison().contains(&row) {
                slab.bad.push((at, QuarantineCode::PoisonPill));
                continue;
            }
            if !is_suspect(row) || slab.bad.iter().any(|&(bad, _)| bad == at) {
                continue;
            }
            let is_first = plan
                .singly
                .as_ref()
                .is_some_and(|suspects| *suspects.start() == row);
            let deaths = if is_first { plan.deaths } else { 0 };
            if deaths >= DEATHS {
                tracing::error!(
                    object,
                    row,
                    "quarantined: the process died {deaths} times while it worked on this row alone"
                );
                self.care.runtime.block_on(marker.condemn(row));
                slab.bad.push((at, QuarantineCode::PoisonPill));
                continue;
            }
            let alone = only(slab, at)?;
            let _floor = self.care.floor.write().unwrap_or_else(PoisonError::into_inner);
            self.care
                .runtime
                .block_on(marker.announce(row..=row, Some(deaths)));
            redact(&alone)?;
            self.care.runtime.block_on(marker.done());
        }
        Ok(())
    }

    /// Works on a slab, which is announced if necessary, and never while a row is tried alone.
    ///
    /// # Errors
    /// The errors of `redact`.
    pub(super) fn work<T>(
        &self,
        slab: &Slab,
        redact: impl FnOnce(&Slab) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let _floor = self.care.floor.read().unwrap_or_else(PoisonError::into_inner);
        let Some((marker, _)) = &self.marked else {
            return redact(slab);
        };
        let last = slab.first + slab.record.num_rows() as i64 - 1;
        self.care
            .runtime
            .block_on(marker.announce(slab.first..=last, None));
        let done = redact(slab)?;
        self.care.runtime.block_on(marker.done());
        Ok(done)
    }
}

/// Returns one row of a slab as a slab.
fn only(slab: &Slab, at: usize) -> anyhow::Result<Slab> {
    let index = UInt32Array::from(vec![u32::try_from(at)?]);
    Ok(Slab {
        first: slab.first + at as i64,
        record: take_record_batch(&slab.record, &index)?,
        bad: Vec::new(),
        share: slab.share,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use lethe_connectors::store::Memory;

    use super::*;

    fn slab(first: i64, rows: i64) -> Slab {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + rows));
        Slab {
            first,
            record: RecordBatch::try_from_iter([("n", numbers)]).expect("one column"),
            bad: Vec::new(),
            share: 0.0,
        }
    }

    /// Fails if the rows include one that kills every process.
    fn try_rows(slab: &Slab, poison: &[i64]) -> anyhow::Result<()> {
        let is_bad = |row: i64| slab.bad.iter().any(|&(at, _)| slab.first + at as i64 == row);
        let rows = slab.first..slab.first + slab.record.num_rows() as i64;
        let dies = poison.iter().any(|&row| rows.contains(&row) && !is_bad(row));
        anyhow::ensure!(!dies, "the process dies");
        Ok(())
    }

    /// Runs one process over two slabs of a unit; its first failure stands for its death.
    fn process(
        store: &Arc<dyn Store>,
        runtime: &Handle,
        poison: &[i64],
    ) -> anyhow::Result<BTreeMap<i64, QuarantineCode>> {
        let care = Care::begin(store, runtime, Shard { this: 0, of: 1 });
        let unit = care.unit("u", 0);
        let mut bad = BTreeMap::new();
        for mut slab in [slab(0, 10), slab(10, 10)] {
            unit.vet("o", &mut slab, |row| try_rows(row, poison))?;
            unit.work(&slab, |slab| try_rows(slab, poison))?;
            bad.extend(slab.bad.iter().map(|&(at, code)| (slab.first + at as i64, code)));
        }
        care.end();
        Ok(bad)
    }

    #[test]
    fn a_row_that_kills_every_process_is_found_and_no_other_is_blamed() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        let ends: Vec<_> = (0..6).map(|_| process(&store, runtime.handle(), &[13])).collect();
        let deaths = ends.iter().take_while(|end| end.is_err()).count();
        // One death without any knowledge, one with the slab in hand, three with the row alone.
        assert_eq!(deaths, 5, "{ends:?}");
        let bad = ends.into_iter().next_back().and_then(Result::ok);
        assert_eq!(bad, Some(BTreeMap::from([(13, QuarantineCode::PoisonPill)])));
    }

    #[test]
    fn rows_of_one_slab_that_kill_every_process_are_found_one_after_the_other() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        let mut ends = (0..20).map(|_| process(&store, runtime.handle(), &[2, 13, 17]));
        let bad = ends.find_map(Result::ok).unwrap_or_default();
        assert_eq!(bad.keys().copied().collect::<Vec<_>>(), [2, 13, 17]);
    }

    #[test]
    fn a_run_that_ended_leaves_no_suspicion() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        for _ in 0..4 {
            let care = Care::begin(&store, runtime.handle(), Shard { this: 0, of: 1 });
            assert!(!care.careful);
            care.end();
        }
        drop(Care::begin(&store, runtime.handle(), Shard { this: 0, of: 1 }));
        assert!(!Care::begin(&store, runtime.handle(), Shard { this: 0, of: 2 }).careful);
        assert!(Care::begin(&store, runtime.handle(), Shard { this: 0, of: 1 }).careful);
    }

    #[test]
    fn kills_at_different_rows_quarantine_nothing() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        for struck in [3, 4, 5, 4, 3, 5, 3, 4, 5] {
            assert!(process(&store, runtime.handle(), &[struck]).is_err());
        }
        let calm = process(&store, runtime.handle(), &[]);
        assert!(calm.is_ok_and(|bad| bad.is_empty()));
    }
}
