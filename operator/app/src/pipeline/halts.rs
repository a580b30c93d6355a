//! Halted lanes, which an operator must decide about: their logs, metrics and status.

use std::sync::atomic::Ordering::Relaxed;

use lethe_connectors::sink::ChainError;
use lethe_connectors::source::{Halt, LogRange, Partition};

use super::Pipeline;
use crate::telemetry::HaltCode;

impl Pipeline {
    /// Reports that the chain of a partition cannot be continued.
    pub(super) fn log_broken(&self, partition: &Partition, error: &ChainError) {
        let (topic, number) = partition;
        tracing::error!("lane {topic}/{number} halted: {error}");
        let code = match error {
            ChainError::AnotherLog { .. } => HaltCode::AnotherLog,
            ChainError::WeakerMode { .. } | ChainError::NewSurrogates { .. } => HaltCode::Policy,
            _ => HaltCode::BrokenChain,
        };
        self.halted(partition, code, error.to_string());
    }

    /// Reports that the log of a partition does not have the offset at which its chain continues.
    pub(super) fn log_out_of_range(&self, range: &LogRange, next: i64) {
        let (topic, partition) = &range.partition;
        let (low, high) = (range.low, range.high);
        tracing::error!(
            "lane {topic}/{partition} halted: its chain continues at offset {next}, but the log holds {low} to {high}. If the records in between are \
             lost for good, run `lethe skip --topic {topic} --partition {partition} --to {low} --reason WHY` and restart; if the topic was \
             recreated, write to a new dataset"
        );
        let why = format!("its chain continues at offset {next}, but the log holds {low} to {high}");
        self.halted(&range.partition, HaltCode::OutOfRange, why);
    }

    /// Reports that the consumer stopped reading a partition. `next` is the next offset of its lane.
    pub(super) fn log_halt(&self, partition: &Partition, next: Option<i64>, halt: &Halt) {
        let (topic, number) = partition;
        match halt {
            // Without a lane it has already halted.
            Halt::BeyondTheEnd(range) => {
                if let Some(next) = next {
                    self.log_out_of_range(range, next);
                }
            }
            Halt::Unreadable { offset, why } => {
                tracing::error!(
                    "lane {topic}/{number} halted: the batch at offset {offset} cannot be read ({why}). If it takes more memory decompressed than \
                     `receive.message.max.bytes` allows, raise `resources.memory_bytes`, or that key in `[source.properties]`, and restart; if it is \
                     damaged, run `lethe skip --topic {topic} --partition {number} --to OFFSET --reason WHY` with the first offset after it, and restart"
                );
                let why = format!("the batch at offset {offset} cannot be read: {why}");
                self.halted(partition, HaltCode::Unreadable, why);
            }
            Halt::Recreated { before, now } => {
                tracing::error!(
                    "lane {topic}/{number} halted: the topic was deleted and recreated (topic id {before}, now {now}), so its offsets are of other \
                     records. Write the new topic to a new dataset (another `sink.store` path or prefix)"
                );
                let why = format!("the topic was deleted and recreated: its id was {before} and is {now}");
                self.halted(partition, HaltCode::AnotherLog, why);
            }
        }
    }

    fn halted(&self, partition: &Partition, code: HaltCode, why: String) {
        self.context().counters.halted.fetch_add(1, Relaxed);
        self.measures().halted(code);
        self.board().halt(partition, code, why);
    }
}
