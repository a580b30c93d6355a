//! Queries of the audit: why something was redacted, which member alone caught it, and whether its rows match
//! their notes.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::chain_common;

use arrow_array::RecordBatch;
use lethe_connectors::inspect::{
    Lost, Place, Scope, Voter, WhySpan, by_member, inspect, inspect_within, why,
};
use lethe_connectors::sink::bridge;
use lethe_connectors::store::Memory;
use lethe_core::{Reason, Review};
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use chain_common::voted::{NotePredictions, store, voted};
use chain_common::{chain, fields, files, fingerprints, open, rewritten, rows, store_of, write};

fn place(at: &str) -> Place {
    at.parse().unwrap()
}

#[tokio::test]
async fn a_span_reports_votes_scores_votes_needed_and_overruled_spans() {
    let store = store().await;
    let told = why(&store, &place("notes-in/3@0")).await.unwrap().unwrap();
    let voter = |member: &str, score| Voter {
        member: member.to_owned(),
        score: Some(score),
    };
    let patient = WhySpan {
        start: 6,
        end: 14,
        out_start: 6,
        out_end: 15,
        label: "PATIENT".into(),
        category: "NAME".into(),
        hipaa: "A".into(),
        action: "tag".into(),
        key: None,
        scope: String::new(),
        needed: 1,
        deciding_rule: Some("votes".into()),
        solo_min_score: None,
        voters: vec![voter("known", 1.0), voter("pattern", 0.75)],
        rule: "exact".into(),
        score: 1.0,
        beat: vec![Lost {
            start: 6,
            end: 9,
            label: "CITY".into(),
            members: vec!["gazetteer".into()],
            score: 0.5,
        }],
    };
    assert_eq!(told.spans[0], patient);
    assert_eq!(
        (told.spans.len(), told.redactions, told.row_kind.as_str()),
        (2, 2, "note")
    );
    assert_eq!(told.audit_intact, Some(true));
    assert_eq!(told.fingerprints["policy"], "tag");
    assert_eq!(told.fingerprints["config"], "c0ffee");
    let message = told.to_string();
    for part in [
        "notes-in/3@0: note, 2 spans redacted",
        "bytes 6..14 of the original, 6..15 of the redacted text: PATIENT (NAME; 45 CFR 164.514(b)(2)(i)(A))",
        "2 votes, 1 needed: known (1.000), pattern (0.750)",
        "redacted because one vote suffices for its label",
        "score 1.000, rule exact",
        "overruled CITY at 6..9, predicted by gazetteer (0.500)",
        "policy tag",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[tokio::test]
async fn a_field_of_a_message_is_answered_for_as_a_span_is() {
    let store = fields::store().await;
    let paths = async |at: &str| {
        let told = why(&store, &place(at)).await.unwrap().unwrap();
        let paths: Vec<_> = told.fields.iter().map(|field| field.path.clone()).collect();
        (told.spans.len(), paths)
    };
    let all = ["PID-5.1", "PID-5.2", "PID-50"].map(str::to_owned).to_vec();
    assert_eq!(paths("notes-in/3@0").await, (1, all.clone()));
    assert_eq!(paths("notes-in/3@0:PID-5").await, (0, all[..2].to_vec()));
    assert_eq!(paths("notes-in/3@0:0").await, (1, Vec::new()));
    assert_eq!(paths("notes-in/3@1").await, (0, all));
    let told = why(&store, &place("notes-in/3@1"))
        .await
        .unwrap()
        .unwrap()
        .to_string();
    for part in [
        "notes-in/3@1: structured, 0 spans redacted",
        "field PID-5.1: PATIENT (45 CFR 164.514(b)(2)(i)(A))\n    action tag, rule name",
        "field PID-50: not recognised as an identifier\n    action remove, rule not on the list",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[tokio::test]
async fn audit_rows_of_fields_are_no_redactions_and_the_dataset_is_intact() {
    let store = fields::store().await;
    let scope = Scope {
        audit: true,
        ..Scope::default()
    };
    let report = inspect_within(&store, scope, |_| {}).await.unwrap();
    assert!(report.is_intact(), "{report}");
    let chain = &report.chains[0];
    assert_eq!((chain.notes, chain.structured), (1, 1));
    assert!(report.to_string().contains("1 structured messages"), "{report}");
    let members = by_member(&store, |_| {}, |_| {}).await.unwrap();
    assert_eq!(members.spans, 1);
}

#[tokio::test]
async fn a_byte_of_the_redacted_text_gives_the_span_that_covers_it() {
    let store = store().await;
    // "Seen: [PATIENT] of [CITY]."
    for (byte, label) in [
        (5, None),
        (6, Some("PATIENT")),
        (14, Some("PATIENT")),
        (15, None),
        (19, Some("CITY")),
    ] {
        let told = why(&store, &place(&format!("notes-in/3@0:{byte}")))
            .await
            .unwrap()
            .unwrap();
        let labels: Vec<_> = told.spans.iter().map(|span| span.label.as_str()).collect();
        assert_eq!(labels, Vec::from_iter(label), "{byte}");
    }
}

#[tokio::test]
async fn offsets_without_a_note_tell_what_became_of_them_and_those_beyond_the_end_nothing() {
    let store = Memory::default();
    write(&store, 0..9).await;
    bridge(&store, &chain(), 9, 12, "expired", &fingerprints())
        .await
        .unwrap();
    let mut writer = open(&store).await;
    let (notes, audit) = rows([12]);
    writer.push(&notes, &audit).unwrap();
    writer.advance(14).unwrap();
    writer.commit(&store).await.unwrap();
    for (offset, kind, reason) in [
        (5, "tombstone", None),
        (8, "quarantined", Some("invalid_payload")),
        (10, "gap", Some("expired")),
        (13, "none", None),
    ] {
        let told = why(&store, &place(&format!("notes-in/3@{offset}")))
            .await
            .unwrap()
            .unwrap();
        assert_eq!((told.row_kind.as_str(), told.reason.as_deref()), (kind, reason));
        assert!(told.spans.is_empty());
    }
    assert_eq!(why(&store, &place("notes-in/3@14")).await.unwrap(), None);
    assert_eq!(why(&store, &place("notes-in/4@0")).await.unwrap(), None);
}

#[tokio::test]
async fn an_audit_file_that_is_not_what_it_was_gives_no_reasons() {
    let mut files = files(&store().await).await;
    let audit = files
        .iter_mut()
        .find(|(name, _)| name.starts_with("audit/"))
        .unwrap();
    audit.1 = rewritten(&audit.1, |rows| rows, |_| {});
    let told = why(&store_of(&files).await, &place("notes-in/3@0"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((told.audit_intact, told.spans.len()), (Some(false), 0));
}

#[tokio::test]
async fn a_file_from_before_audits_had_a_deciding_rule_is_explained_without_one() {
    let mut files = files(&store().await).await;
    for (name, file) in &mut files {
        *file = if name.starts_with("audit/") {
            let older = |rows: RecordBatch| {
                let is_old = |at: &usize| {
                    !["deciding_rule", "solo_min_score"].contains(&rows.schema().field(*at).name().as_str())
                };
                let columns: Vec<usize> = (0..rows.num_columns()).filter(is_old).collect();
                rows.project(&columns).unwrap()
            };
            rewritten(file, older, |_| {})
        } else {
            // Otherwise the audit file would be a changed one.
            rewritten(
                file,
                |rows| rows,
                |pairs| pairs.retain(|pair| pair.key != "lethe.audit_digest"),
            )
        };
    }
    let store = store_of(&files).await;
    let told = why(&store, &place("notes-in/3@0")).await.unwrap().unwrap();
    assert_eq!((told.spans.len(), &told.spans[0].deciding_rule), (2, &None));
    let message = told.to_string();
    assert!(
        message.contains("1 vote, 1 needed: gazetteer (0.500)"),
        "{message}"
    );
    assert!(!message.contains("redacted because"), "{message}");
    let all = Scope {
        audit: true,
        ..Scope::default()
    };
    let report = inspect_within(&store, all, |_| {}).await.unwrap();
    assert!(report.is_intact(), "{report}");
}

#[tokio::test]
async fn a_member_alone_caught_what_no_other_voted_for_or_lost_to() {
    let store = store().await;
    let mut caught = Vec::new();
    let report = by_member(
        &store,
        |one| caught.push((one.offset, one.start, one.label.to_owned(), one.member.to_owned())),
        |_| {},
    )
    .await
    .unwrap();
    assert_eq!(report.spans, 3);
    let counts = |member: &str| {
        let by = &report.members[member];
        let sum = |counts: &std::collections::BTreeMap<String, u64>| counts.values().sum::<u64>();
        (sum(&by.voted), sum(&by.alone))
    };
    assert_eq!(
        (counts("known"), counts("pattern"), counts("gazetteer")),
        ((1, 0), (2, 1), (1, 1))
    );
    let of = |offset, start, label: &str, member: &str| (offset, start, label.to_owned(), member.to_owned());
    assert_eq!(
        caught,
        [of(0, 18, "CITY", "gazetteer"), of(2, 5, "PHONE", "pattern")]
    );
    let message = report.to_string();
    assert!(message.contains("PATIENT 1 (0), PHONE 1 (1)"), "{message}");
}

#[tokio::test]
async fn a_span_that_beat_anothers_is_nobodys_alone() {
    let notes: Vec<NotePredictions> = vec![(
        "Seen: Ana Ruiz.",
        [vec![(6, 14, "PATIENT", 1.0)], vec![], vec![(6, 9, "CITY", 0.5)]],
    )];
    let store = Memory::default();
    let mut writer = open(&store).await;
    let (notes, audit) = voted(&notes);
    writer.push(&notes, &audit).unwrap();
    writer.commit(&store).await.unwrap();
    let report = by_member(
        &store,
        |_| panic!("without one the other had caught some of it"),
        |_| {},
    )
    .await
    .unwrap();
    assert_eq!(report.members["known"].voted["PATIENT"], 1);
    assert!(report.members["known"].alone.is_empty());
}

#[tokio::test]
async fn the_audit_file_says_what_it_follows_from_and_what_its_spans_are_counted_in() {
    let files = files(&store().await).await;
    let (_, audit) = files.iter().find(|(name, _)| name.starts_with("audit/")).unwrap();
    let reader = SerializedFileReader::new(audit.clone()).unwrap();
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let of = |key: &str| {
        let pair = pairs.iter().find(|pair| pair.key == format!("lethe.{key}"));
        pair.and_then(|pair| pair.value.clone()).unwrap()
    };
    for (key, value) in [
        ("topic", "notes-in"),
        ("partition", "3"),
        ("first_offset", "0"),
        ("next_offset", "3"),
        ("span_unit", "utf-8 byte"),
        ("fingerprint.policy", "tag"),
        ("fingerprint.config", "c0ffee"),
        ("fingerprint.program", "0.1.0"),
    ] {
        assert_eq!(of(key), value, "{key}");
    }
}

#[tokio::test]
async fn notes_to_review_are_counted_by_reason_in_footer_and_report() {
    let store = Memory::default();
    let mut writer = open(&store).await;
    let (notes, audit) = rows(0..8);
    let dropped = Review::default().with(Reason::Dropped);
    let both = dropped.with(Reason::LowMargin);
    let mut reviews = vec![Review::default(); 8];
    (reviews[1], reviews[2]) = (dropped, both);
    // A tombstone needs no review.
    reviews[5] = both;
    writer.push(&notes.reviewed(&reviews).unwrap(), &audit).unwrap();
    let receipt = writer.commit(&store).await.unwrap().unwrap();
    assert_eq!(receipt.footer().review, 2);
    let report = inspect(&store, |_| {}).await.unwrap();
    assert!(report.is_intact(), "{report}");
    assert!(
        report
            .to_string()
            .contains("to review: 2 notes (dropped 2, low_margin 1)"),
        "{report}"
    );
    let told = why(&store, &place("notes-in/3@2")).await.unwrap().unwrap();
    assert_eq!(told.review, ["low_margin", "dropped"]);
}
