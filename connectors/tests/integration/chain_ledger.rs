//! Checks of audit rows against their notes.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::chain_common;

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use lethe_connectors::inspect::{DatasetError, Place, Report, Scope, inspect_within, why};
use lethe_connectors::store::{Memory, Store};
use proptest::prelude::*;

use chain_common::voted::{NotePredictions, store, voted};
use chain_common::{digest, files, open, rewritten, set, store_of};

fn place(at: &str) -> Place {
    at.parse().unwrap()
}

/// Returns the dataset with other audit rows and consistent digests.
async fn with_audit(store: &dyn Store, edit: impl FnOnce(RecordBatch) -> RecordBatch) -> Report {
    let mut files = files(store).await;
    let audit = files
        .iter_mut()
        .find(|(name, _)| name.starts_with("audit/"))
        .unwrap();
    audit.1 = rewritten(&audit.1, edit, |_| {});
    let digest = digest(&audit.1);
    let notes = files
        .iter_mut()
        .find(|(name, _)| name.starts_with("notes/"))
        .unwrap();
    notes.1 = rewritten(
        &notes.1,
        |rows| rows,
        |pairs| set(pairs, "lethe.audit_digest", digest),
    );
    let scope = Scope {
        audit: true,
        ..Scope::default()
    };
    inspect_within(&store_of(&files).await, scope, |_| {})
        .await
        .unwrap()
}

/// Returns the rows with another column of numbers.
fn numbers(rows: &RecordBatch, column: &str, edit: impl Fn(&mut [i64])) -> RecordBatch {
    let mut values = rows[column].as_primitive::<Int64Type>().values().to_vec();
    edit(&mut values);
    replaced(rows, column, Arc::new(Int64Array::from(values)))
}

fn replaced(rows: &RecordBatch, column: &str, with: ArrayRef) -> RecordBatch {
    let mut columns = rows.columns().to_vec();
    columns[rows.schema().index_of(column).unwrap()] = with;
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

#[tokio::test]
async fn audit_rows_that_do_not_fit_their_notes_are_named_by_what_is_wrong() {
    let store = store().await;
    let sound = with_audit(&store, |rows| rows).await;
    assert!(
        sound.is_intact() && sound.to_string().contains("all audit rows match their notes"),
        "{sound}"
    );
    type Edit = fn(RecordBatch) -> RecordBatch;
    let edits: [(&str, i64, Edit); 8] = [
        ("is empty or ends before it begins", 0, |rows| {
            numbers(&rows, "end", |end| end[0] = 6)
        }),
        ("begins before the end of the previous one", 0, |rows| {
            numbers(&rows, "start", |start| start[1] = 10)
        }),
        ("lies outside that text", 2, |rows| {
            numbers(&rows, "out_end", |end| end[2] = 99)
        }),
        ("not as long as the original", 0, |rows| {
            numbers(&rows, "start", |start| start[1] += 1)
        }),
        ("its span of the redacted text begins before", 0, |rows| {
            numbers(&rows, "out_start", |start| start[1] = 14)
        }),
        ("another number of votes than members", 0, |rows| {
            numbers(&rows, "votes", |votes| votes[0] = 3)
        }),
        ("more scores than members", 0, |rows| {
            let rows = numbers(&rows, "votes", |votes| votes[0] = 1);
            replaced(
                &rows,
                "members",
                Arc::new(StringArray::from(vec!["known", "gazetteer", "pattern"])),
            )
        }),
        ("belongs to another topic or partition", 0, |rows| {
            let topics = vec!["elsewhere"; rows.num_rows()];
            replaced(&rows, "topic", Arc::new(StringArray::from(topics)))
        }),
    ];
    for (wrong, at, edit) in edits {
        let report = with_audit(&store, edit).await;
        let faults = &report.chains[0].faults;
        let named = faults.iter().any(|fault| {
            matches!(fault, DatasetError::Row { file, offset, why }
                if file.starts_with("audit/") && *offset == at && why.contains(wrong))
        });
        assert!(named, "{wrong}: {report}");
    }
}

#[tokio::test]
async fn a_redaction_without_its_row_and_a_row_of_no_note_are_named() {
    let store = store().await;
    // The third row claims to belong to the second note.
    let moved = with_audit(&store, |rows| {
        let offsets = arrow_array::Int64Array::from(vec![0, 0, 1]);
        replaced(&rows, "offset", Arc::new(offsets))
    })
    .await;
    let of = |report: &Report, wanted: &str| -> Vec<i64> {
        let faults = report.chains[0].faults.iter();
        faults
            .filter_map(|fault| match fault {
                DatasetError::Row { offset, why, .. } if why.contains(wanted) => Some(*offset),
                _ => None,
            })
            .collect()
    };
    assert_eq!(
        of(&moved, "another number of audit rows than its note counts"),
        [1],
        "{moved}"
    );
    let stray = with_audit(&store, |rows| {
        let offsets = arrow_array::Int64Array::from(vec![0, 0, 7]);
        replaced(&rows, "offset", Arc::new(offsets))
    })
    .await;
    assert_eq!(of(&stray, "no note has this offset"), [7], "{stray}");
    assert_eq!(
        of(&stray, "another number of audit rows than its note counts"),
        [2],
        "{stray}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_the_vote_decides_its_audit_fits_its_notes(
        notes in prop::collection::vec(prop::collection::vec((0u32..24, 1u32..9, 0..3usize, 0..3usize, any::<bool>()), 0..7), 1..12)
    ) {
        const TEXT: &str = "Añá Ruiz, 59, of Reus — 9/9";
        const LABELS: [&str; 3] = ["PATIENT", "CITY", "DATE"];
        let notes: Vec<NotePredictions> = notes.into_iter().map(|spans| {
            let mut predictions = [vec![], vec![], vec![]];
            for (start, length, label, member, confident) in spans {
                let end = (start + length).min(TEXT.len() as u32);
                if TEXT.is_char_boundary(start as usize) && TEXT.is_char_boundary(end as usize) {
                    predictions[member].push((start, end, LABELS[label], if confident { 1.0 } else { 0.5 }));
                }
            }
            (TEXT, predictions)
        }).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = Memory::default();
            let mut writer = open(&store).await;
            let (redacted, audit) = voted(&notes);
            writer.push(&redacted, &audit).unwrap();
            writer.commit(&store).await.unwrap();
            let scope = Scope { audit: true, ..Scope::default() };
            let report = inspect_within(&store, scope, |_| {}).await.unwrap();
            prop_assert!(report.is_intact(), "{report}");
            // The first byte of a row's replacement finds the row.
            let mut spans = 0;
            for offset in 0..notes.len() {
                let told = why(&store, &place(&format!("notes-in/3@{offset}"))).await.unwrap().unwrap();
                prop_assert_eq!(told.spans.len(), told.redactions as usize);
                for span in &told.spans {
                    let at = format!("notes-in/3@{offset}:{}", span.out_start);
                    let one = why(&store, &place(&at)).await.unwrap().unwrap();
                    prop_assert_eq!(&one.spans[..], std::slice::from_ref(span));
                }
                spans += told.spans.len();
            }
            prop_assert_eq!(spans, audit.len());
            Ok(())
        })?;
    }
}
