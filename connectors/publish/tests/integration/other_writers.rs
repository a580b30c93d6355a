//! Other writers of the table, and of other programs that publish the same dataset at the same time.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use delta_kernel::committer::FileSystemCommitter;
use delta_kernel::transaction::{CommitResult, UpdateTableOperation};

use crate::common::Site;

#[test]
fn several_publishers_and_a_foreign_writer_add_each_row_once() {
    let site = Site::new();
    site.append(0, 0..1);
    site.append(1, 0..1);
    site.publish().unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    site.publish().unwrap();
                }
            });
        }
        // A writer that only counts, as a streaming job without rows does.
        scope.spawn(|| {
            let engine = site.engine();
            for version in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let snapshot = site.snapshot(&site.table());
                let transaction = snapshot
                    .update_table(UpdateTableOperation::Write, "foreign", true)
                    .with_transaction_id("foreign", version)
                    .build(&engine, Box::new(FileSystemCommitter::new()));
                // A conflict is as good: the next round tries another version.
                drop::<CommitResult>(transaction.unwrap().commit(&engine).unwrap());
            }
        });
        for file in 1..40 {
            site.append(0, file..file + 1);
            site.append(1, file * 3 - 2..file * 3 + 1);
        }
        done.store(true, Ordering::Relaxed);
    });
    site.publish().unwrap();
    site.assert_rows(&[(0, 40), (1, 118)]);
}
