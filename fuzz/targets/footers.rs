//! Dataset files with arbitrary footers, as `inspect` and a start read them: each is read or refused with a
//! reason, and nothing panics.
#![no_main]

use lethe_connectors::inspect::{Scope, inspect_file, inspect_within};
use lethe_connectors::replay::{ReplayName, read_replay};
use lethe_connectors::sink::{ChainId, PartName, read_footer, read_part, read_tail};
use lethe_fuzz::store::{Value, changed, damage, parquet, wait, with};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    notes: File<'a>,
    /// The next file in its chain.
    next: Option<File<'a>>,
    part: Option<File<'a>>,
    replayed: Option<File<'a>>,
}

/// A file with a sound footer, except for the changes.
#[derive(Arbitrary, Debug)]
struct File<'a> {
    rows: u8,
    pairs: Vec<(u8, Value<'a>)>,
    bytes: Vec<(u16, u8)>,
}

impl File<'_> {
    fn written(&self, sound: &[(&str, String)]) -> Vec<u8> {
        let mut file = parquet(changed(sound, &self.pairs), self.rows);
        damage(&mut file, &self.bytes);
        file
    }
}

/// Returns the footer of a notes file that begins at an offset.
fn notes(chain: &ChainId, first: i64, rows: u8) -> Vec<(&'static str, String)> {
    let number = |count: u8| count.to_string();
    vec![
        ("format", "1".to_owned()),
        ("topic", chain.topic.to_string()),
        ("partition", chain.partition.to_string()),
        ("commit", "6c0f1d6e-9a1b-4c3d-8e2f-0a1b2c3d4e5f".to_owned()),
        ("writer", "w".to_owned()),
        ("first_offset", first.to_string()),
        ("next_offset", (first + i64::from(rows)).to_string()),
        ("rows", number(rows)),
        ("notes", number(rows)),
        ("tombstones", number(0)),
        ("quarantined", number(0)),
        ("structured", number(0)),
        ("erased", number(0)),
        ("skipped", number(0)),
        ("audit_rows", number(0)),
        ("audit_fields", number(0)),
        ("review", number(0)),
        ("audit", String::new()),
        ("audit_digest", String::new()),
        ("previous", String::new()),
        ("gap", String::new()),
        ("fingerprint.mode", "safe-harbor".to_owned()),
    ]
}

/// The optional keys of a footer.
fn without(mut pairs: Vec<(&'static str, String)>, keep_empty: bool) -> Vec<(&'static str, String)> {
    pairs.retain(|(_, value)| keep_empty || !value.is_empty());
    pairs
}

fuzz_target!(|case: Case<'_>| {
    let chain = ChainId::new("t", 0);
    let mut objects = Vec::new();
    let rows = case.notes.rows;
    let first = chain.notes_name(0);
    let pairs = without(notes(&chain, 0, rows), case.notes.pairs.len() > 3);
    objects.push((first.clone(), case.notes.written(&pairs)));
    if let Some(next) = &case.next {
        let at = i64::from(rows);
        let pairs = without(notes(&chain, at, next.rows), next.pairs.len() > 3);
        objects.push((chain.notes_name(at), next.written(&pairs)));
    }
    let part = PartName {
        object: "0".repeat(16),
        unit: "1".repeat(16),
        part: 0,
        last: true,
    };
    if let Some(file) = &case.part {
        let number = |count: u8| count.to_string();
        let sound = [
            ("format", "1".to_owned()),
            ("object", "a.csv".to_owned()),
            ("version", "1".to_owned()),
            ("groups", String::new()),
            ("first_row", number(0)),
            ("next_row", number(file.rows)),
            ("redacted", number(file.rows)),
            ("quarantined", number(0)),
            ("texts", number(file.rows)),
            ("text_bytes", number(9)),
            ("identifiers", number(0)),
            ("audit_rows", number(0)),
            ("review", number(0)),
        ];
        objects.push((part.path(), file.written(&sound)));
    }
    let replayed = ReplayName {
        chain: chain.clone(),
        first: 0,
        number: 0,
    };
    if let Some(file) = &case.replayed {
        let mut sound = without(notes(&chain, 0, file.rows), false);
        sound.extend([
            ("replay_of", first.clone()),
            ("replay_of_digest", "0a".repeat(32)),
            ("replay_number", "0".to_owned()),
            ("replay_attempt", "a".to_owned()),
        ]);
        objects.push((replayed.path(), file.written(&sound)));
    }
    let store = with(objects);
    wait(async {
        if let Ok(footer) = read_footer(&store, &first).await {
            assert!(footer.next > footer.first, "a file ends behind its beginning");
            assert!(
                footer.rows() <= (footer.next - footer.first) as u64,
                "a row has an offset"
            );
        }
        drop(read_tail(&store, &chain).await);
        drop(read_part(&store, &part.path()).await);
        drop(read_replay(&store, &replayed.path()).await);
        let scope = Scope {
            audit: true,
            ..Scope::default()
        };
        drop(inspect_file(&store, &first, &scope).await);
        drop(inspect_within(&store, scope, |_| {}).await);
    });
});
