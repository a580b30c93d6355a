//! The files themselves: what a writer refuses, what they must and must not contain, who can read them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail and print"
)]

use crate::chain_common;

use std::process::Command;
use std::sync::Arc;

use lethe_connectors::inspect::inspect;
use lethe_connectors::sink::{
    ChainError, ChainId, CommitError, Encoding, Fingerprints, LaneWriter, PushError, bridge, check_dataset,
    read_footer, read_tail,
};
use lethe_connectors::store::faulty::{Faulty, Plan};
use lethe_connectors::store::{Folder, FolderConfig, Memory, Store};
use lethe_core::{NoteEvent, Record};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};

use chain_common::{TOPIC, chain, fingerprints, open, record, redact, rows, write};

#[tokio::test]
async fn the_footer_says_what_the_file_holds() {
    let store = Memory::default();
    let mut writer = open(&store).await;
    let (notes, audit) = rows((0..20).filter(|offset| offset % 7 != 0));
    writer.push(&notes, &audit).unwrap();
    writer.advance(22).unwrap();
    assert_eq!((writer.rows(), writer.skipped()), (17, 5));
    let receipt = writer.commit(&store).await.unwrap().unwrap();
    let footer = read_footer(&store, receipt.file()).await.unwrap();
    assert_eq!(receipt.footer(), &footer);
    assert_eq!(
        receipt.file(),
        "notes/topic=notes-in/partition=3/00000000000000000000.parquet"
    );
    assert_eq!((footer.first, footer.next), (0, 22));
    // Of 0 to 19 without 0, 7 and 14: 5 and 16 are tombstones, 8 and 19 are quarantined.
    assert_eq!(
        (
            footer.notes,
            footer.tombstones,
            footer.quarantined,
            footer.skipped()
        ),
        (13, 2, 2, 5)
    );
    assert_eq!(footer.audit_rows, 13);
    assert_eq!(footer.fingerprints, fingerprints());
    let tail = read_tail(&store, &chain()).await.unwrap().unwrap();
    assert_eq!(tail.next, 22);
    assert!(
        writer.commit(&store).await.unwrap().is_none(),
        "nothing more to write"
    );
}

#[tokio::test]
async fn rows_of_another_chain_or_out_of_order_are_refused_and_nothing_is_taken() {
    let store = Memory::default();
    let mut writer = open(&store).await;
    let (notes, audit) = rows([4, 6]);
    writer.push(&notes, &audit).unwrap();
    let again = writer.push(&notes, &audit).unwrap_err();
    assert!(
        matches!(
            again,
            PushError::OutOfOrder {
                expected: 7,
                found: 4,
                ..
            }
        ),
        "{again}"
    );
    let (backwards, audit) = rows([9, 8]);
    assert!(matches!(
        writer.push(&backwards, &audit),
        Err(PushError::OutOfOrder { .. })
    ));
    let (_, strange) = rows([12]);
    let (notes, _) = rows([10]);
    let error = writer.push(&notes, &strange).unwrap_err();
    assert!(
        matches!(error, PushError::StrayAudit { offset: 12, .. }),
        "{error}"
    );
    let mut elsewhere = record(11);
    if let Record::Note(event) = &mut elsewhere {
        event.at.partition = 4;
    }
    let (notes, audit) = redact([elsewhere]);
    assert!(matches!(
        writer.push(&notes, &audit),
        Err(PushError::WrongChain { row: 0, .. })
    ));
    assert!(writer.advance(5).is_err());
    assert_eq!((writer.rows(), writer.next()), (2, 7));
}

#[tokio::test]
async fn a_second_file_is_not_sealed_before_the_first_has_its_receipt() {
    let store = Memory::default();
    let mut writer = open(&store).await;
    let (notes, audit) = rows(0..3);
    writer.push(&notes, &audit).unwrap();
    let sealed = writer.seal().unwrap().unwrap();
    // The writer accepts rows in the meantime.
    let (notes, audit) = rows(3..6);
    writer.push(&notes, &audit).unwrap();
    assert!(matches!(writer.seal(), Err(ChainError::NoReceipt { .. })));
    let receipt = sealed.upload(&store).await.unwrap();
    writer.committed(&receipt).unwrap();
    assert!(writer.committed(&receipt).is_err(), "a receipt counts once");
    assert_eq!(writer.commit(&store).await.unwrap().unwrap().next(), 6);
}

#[tokio::test]
async fn the_writer_that_comes_second_is_told_where_the_chain_ends() {
    let store = Memory::default();
    let (mut one, mut other) = (open(&store).await, open(&store).await);
    let (notes, audit) = rows(0..5);
    one.push(&notes, &audit).unwrap();
    let (notes, audit) = rows(0..3);
    other.push(&notes, &audit).unwrap();
    one.commit(&store).await.unwrap();
    let lost = other.commit(&store).await.unwrap_err();
    assert!(
        matches!(&lost, CommitError::Lost { tail } if tail.next == 5),
        "{lost}"
    );
    let report = inspect(&store, |_| {}).await.unwrap();
    assert!(report.is_intact());
    assert_eq!(report.orphans.len(), 1);
    assert!(report.orphans[0].superseded);
}

#[tokio::test]
async fn an_answer_that_was_lost_is_not_taken_for_another_writers_file() {
    for faults in [
        "create:1=fail-after",
        "create:2=fail-after",
        "create:1=conflict",
        "create:2=conflict",
    ] {
        let store = Faulty::new(Arc::new(Memory::default()), Plan::parse(faults).unwrap());
        let mut writer = open(&store).await;
        let (notes, audit) = rows(0..5);
        writer.push(&notes, &audit).unwrap();
        let first = writer.commit(&store).await.unwrap_err();
        assert!(matches!(first, CommitError::Transient(_)), "{faults}: {first}");
        assert!(writer.buffered_bytes() > 0);
        assert_eq!(
            writer.commit(&store).await.unwrap().unwrap().next(),
            5,
            "{faults}"
        );
        assert_eq!(writer.buffered_bytes(), 0);
    }
}

#[tokio::test]
async fn a_chain_that_begins_late_says_so_and_a_second_beginning_is_not_made() {
    let store = Memory::default();
    let first = LaneWriter::open(&store, chain(), 17, fingerprints(), Encoding::default())
        .await
        .unwrap();
    let second = LaneWriter::open(&store, chain(), 25, fingerprints(), Encoding::default())
        .await
        .unwrap();
    assert_eq!((first.next(), second.next()), (17, 17));
    let report = inspect(&store, |_| {}).await.unwrap();
    assert!(report.is_intact());
    assert_eq!((report.chains[0].gaps.len(), report.chains[0].bridged()), (1, 17));
}

#[tokio::test]
async fn an_operators_gap_fits_the_chain_or_is_refused() {
    let store = Memory::default();
    write(&store, 0..4).await;
    for (from, to) in [(3, 9), (5, 9), (4, 4)] {
        let error = bridge(&store, &chain(), from, to, "expired", &fingerprints())
            .await
            .unwrap_err();
        assert!(
            matches!(error, CommitError::Fatal(ChainError::Gap { next: 4, .. })),
            "{error}"
        );
    }
    let receipt = bridge(&store, &chain(), 4, 9, "expired by retention", &fingerprints())
        .await
        .unwrap();
    assert_eq!(receipt.footer().gap.as_deref(), Some("expired by retention"));
    write(&store, 9..12).await;
    let report = inspect(&store, |_| {}).await.unwrap();
    assert!(report.is_intact(), "{report}");
    assert!(report.to_string().contains("gap 4 to 9: expired by retention"));
}

#[tokio::test]
async fn a_recreated_topic_is_refused() {
    let store = Memory::default();
    write(&store, 0..4).await;
    let replaced = Fingerprints {
        topic_id: Some("topic-2".into()),
        ..fingerprints()
    };
    let error = LaneWriter::open(&store, chain(), 0, replaced, Encoding::default())
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            ChainError::AnotherLog {
                field: "topic id",
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_chain_goes_on_under_a_weaker_mode_only_if_that_is_acknowledged() {
    let store = Memory::default();
    write(&store, 0..4).await;
    let open = async |mode: Option<&str>, acknowledged: Option<&str>| {
        let weaker = Fingerprints {
            mode: mode.map(str::to_owned),
            acknowledged: acknowledged.map(str::to_owned),
            ..fingerprints()
        };
        LaneWriter::open(&store, chain(), 0, weaker, Encoding::default()).await
    };
    for mode in [
        Some("limited-data-set"),
        Some("expert-determination"),
        Some("custom"),
        None,
    ] {
        let error = open(mode, None).await.unwrap_err();
        assert!(matches!(error, ChainError::WeakerMode { .. }), "{error}");
        assert!(error.to_string().contains("safe-harbor") && error.to_string().contains("acknowledge"));
        assert!(
            open(mode, Some("rules-only,weaker-mode")).await.is_ok(),
            "{mode:?}"
        );
    }
    assert!(open(Some("safe-harbor"), None).await.is_ok());
    // A gap in between does not hide the settings of the files before it.
    let weaker = Fingerprints {
        mode: None,
        ..fingerprints()
    };
    let error = bridge(&store, &chain(), 4, 9, "expired by retention", &weaker)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("safe-harbor"), "{error}");
}

#[tokio::test]
async fn no_value_of_a_row_stands_in_the_metadata() {
    let store = Memory::default();
    let planted = "Zebedee-Quux-778812";
    let events = (0..40).map(|offset| {
        let Record::Note(event) = record(0) else {
            unreachable!()
        };
        let mut event = NoteEvent {
            note_id: format!("{planted}-{offset}").into(),
            patient_id: Some(planted.into()),
            note_type: Some(planted.into()),
            text: format!("{:15}{planted} {offset}", "").into(),
            ..event
        };
        event.at.offset = offset;
        Record::Note(event)
    });
    let (notes, audit) = redact(events);
    let mut writer = open(&store).await;
    writer.push(&notes, &audit).unwrap();
    let receipt = writer.commit(&store).await.unwrap().unwrap();
    let audit = receipt.footer().audit.clone().unwrap();
    for name in [receipt.file(), &audit] {
        let bytes = store.read(name).await.unwrap();
        let metadata = ParquetMetaDataReader::new()
            .with_page_index_policy(PageIndexPolicy::Optional)
            .parse_and_finish(&bytes)
            .unwrap();
        let mut pages_end = 0;
        for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
            let (start, length) = column.byte_range();
            pages_end = pages_end.max(start + length);
            let path = column.column_path().string();
            let numbers = ["offset", "partition"].contains(&path.as_str());
            assert_eq!(column.statistics().is_some(), numbers, "{name}: {path}");
            assert_eq!(column.column_index_offset().is_some(), numbers, "{name}: {path}");
            assert!(column.bloom_filter_offset().is_none());
        }
        // Everything except data pages: indexes and footer.
        let rest = &bytes[pages_end as usize..];
        assert!(!contains(rest, "Zebedee") && !contains(rest, "778812"), "{name}");
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn memory_is_told_and_bounded_by_a_raw_row_group_and_the_encoded_ones() {
    let store = Memory::default();
    let encoding = Encoding {
        row_group_bytes: 1 << 20,
        ..Encoding::default()
    };
    let mut writer = LaneWriter::open(&store, chain(), 0, fingerprints(), encoding)
        .await
        .unwrap();
    assert_eq!((writer.buffered_bytes(), writer.encoded_bytes()), (0, 0));
    let (mut pushed, mut most) = (0, 0);
    for i in 0..60 {
        let (notes, audit) = rows(i * 200..(i + 1) * 200);
        pushed += notes.memory_size();
        writer.push(&notes, &audit).unwrap();
        assert!(writer.buffered_bytes() > 0);
        most = most.max(writer.buffered_bytes());
    }
    assert!(
        pushed > 3 << 20 && most < 3 << 20,
        "{most} bytes held of {pushed} pushed"
    );
    let told = writer.encoded_bytes();
    let written = writer.commit(&store).await.unwrap().unwrap().bytes();
    assert!(
        written < 2 * told && told < 4 * written,
        "{told} told, {written} written"
    );
    assert_eq!(writer.buffered_bytes(), 0);
}

#[tokio::test]
async fn duckdb_and_pyarrow_read_the_dataset_with_and_without_its_folders_as_columns() {
    let python = std::env::var("LETHE_TEST_PYTHON").expect(
        "LETHE_TEST_PYTHON is not set: run this test with scripts/test, or under scripts/with-servers",
    );
    let folder = tempfile::tempdir().unwrap();
    let store = Folder::open(&FolderConfig {
        path: folder.path().to_owned(),
    })
    .unwrap();
    for from in [0, 30] {
        write(&store, from..from + 30).await;
    }
    const SCRIPT: &str = r#"
import sys, duckdb, pyarrow.dataset as ds
root = sys.argv[1]
for dataset, rows in (("notes", 60), ("audit", int(sys.argv[2]))):
    for hive in ("false", "true"):
        source = f"read_parquet('{root}/{dataset}/**/*.parquet', hive_partitioning={hive})"
        got = duckdb.sql(f"select count(*), min(topic), max(partition)::int from {source}").fetchall()
        assert got == [(rows, sys.argv[3], 3)], (dataset, hive, got)
        assert duckdb.sql(f"select * from {source}").to_arrow_table().num_rows == rows
    for partitioning in (None, "hive"):
        table = ds.dataset(f"{root}/{dataset}", partitioning=partitioning).to_table()
        assert table.num_rows == rows, (dataset, partitioning, table.num_rows)
        assert set(table.column("partition").to_pylist()) == {3}
        assert set(table.column("topic").to_pylist()) == {sys.argv[3]}
texts = duckdb.sql(f"select text from read_parquet('{root}/notes/**/*.parquet') where row_kind = 'note' order by \"offset\"").fetchall()
assert texts[1][0] == "[PATIENT] was seen again, visit 1. She sleeps well.", texts[1]
kv = duckdb.sql(f"select decode(value) from parquet_kv_metadata('{root}/notes/**/*.parquet') where decode(key) = 'lethe.next_offset' order by 1").fetchall()
assert kv == [("30",), ("60",)], kv
late = duckdb.sql(f"select count(*) from read_parquet('{root}/notes/**/*.parquet') where \"offset\" >= 30").fetchall()
assert late == [(30,)], late
print("read")
"#;
    let audit_rows = inspect(&store, |_| {}).await.unwrap().chains[0].notes;
    let out = Command::new(&python)
        .args(["-c", SCRIPT])
        .arg(folder.path())
        .args([&audit_rows.to_string(), TOPIC])
        .output()
        .unwrap();
    assert!(
        out.status.success() && out.stdout.starts_with(b"read"),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

#[tokio::test]
async fn a_new_chain_of_a_dataset_is_compared_with_the_others() {
    let store = Memory::default();
    write(&store, 0..4).await;
    let weaker = |acknowledged: Option<&str>| Fingerprints {
        mode: Some("limited-data-set".to_owned()),
        acknowledged: acknowledged.map(str::to_owned),
        ..fingerprints()
    };
    // The lane of another partition has no file to compare with; the dataset has.
    let other = ChainId::new("another", 7);
    let opened = LaneWriter::open(&store, other, 0, weaker(None), Encoding::default()).await;
    assert!(opened.is_ok());
    let error = check_dataset(&store, &weaker(None)).await.unwrap_err();
    assert!(matches!(error, ChainError::WeakerMode { .. }), "{error}");
    assert!(check_dataset(&store, &weaker(Some("weaker-mode"))).await.is_ok());
    assert!(check_dataset(&store, &fingerprints()).await.is_ok());
}

#[tokio::test]
async fn a_policy_that_makes_other_codes_than_before_is_acknowledged() {
    let store = Memory::default();
    write(&store, 0..4).await;
    let newer = Fingerprints {
        derivation: Some("2".to_owned()),
        ..fingerprints()
    };
    let error = check_dataset(&store, &newer).await.unwrap_err();
    assert!(matches!(error, ChainError::NewSurrogates { .. }), "{error}");
    assert!(error.to_string().contains("new-surrogates"), "{error}");
    let acknowledged = Fingerprints {
        acknowledged: Some("new-surrogates".to_owned()),
        ..newer.clone()
    };
    assert!(check_dataset(&store, &acknowledged).await.is_ok());
    // Another policy is a separate decision.
    let another = Fingerprints {
        policy: "another".to_owned(),
        ..newer
    };
    assert!(check_dataset(&store, &another).await.is_ok());
}
