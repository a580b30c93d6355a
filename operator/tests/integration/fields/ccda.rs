//! C-CDA: values in every element and attribute of a document with every participant and every kind of entry.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use super::check;
use super::engine::through;

#[path = "../../../../connectors/format/tests/integration/cda/leaves.rs"]
mod leaves;

use leaves::{Leaf, holding, leaves, written};

const DOCUMENT: &str = include_str!("../../../../connectors/format/tests/integration/cda/continuity.xml");

/// Attributes that determine the kind of their element: with another value, the rest of it would not be read.
const DISCRIMINATORS: [&str; 10] = [
    "@xsi:type",
    "@codeSystem",
    "@unit",
    "@root",
    "@mediaType",
    "@representation",
    "@classCode",
    "@typeCode",
    "@moodCode",
    "@nullFlavor",
];

/// The leaves of the document that a value is written into.
#[derive(Clone, Copy, Debug)]
enum Into {
    Everything,
    /// All except discriminators.
    Contents,
    /// Attributes, and texts of identifiers; no narrative.
    Fields,
}

impl Into {
    fn takes(self, leaf: &Leaf) -> bool {
        let discriminates = DISCRIMINATORS.iter().any(|name| leaf.place.ends_with(name));
        match self {
            Self::Everything => true,
            Self::Contents => !discriminates,
            Self::Fields => leaf.attribute && !discriminates,
        }
    }
}

fn with(value: &str, into: Into) -> String {
    let all = leaves(DOCUMENT);
    written(DOCUMENT, all.iter().filter(|leaf| into.takes(leaf)), value)
}

/// Returns the document with a value in every leaf except discriminators.
pub(super) fn full_of(value: &str) -> String {
    with(value, Into::Contents)
}

#[test]
fn no_value_in_any_element_or_attribute_comes_out_unless_a_reason_is_listed() {
    let mut found = BTreeSet::new();
    let usual = through("cda", DOCUMENT.as_bytes()).message.unwrap();
    let mut closed = 0;
    for (what, value) in [
        ("word", "Quillfeather"),
        ("number", "5550142"),
        ("date", "20310517"),
        ("code", "CHECKUP"),
        ("telephone", "617.555.0142"),
        ("ZIP code", "02139-1234"),
        ("id", "AB7741902"),
    ] {
        for into in [Into::Everything, Into::Contents, Into::Fields] {
            // In narrative, the word of a code is not an identifier.
            if what == "code" && !matches!(into, Into::Fields) {
                continue;
            }
            let out = through("cda", with(value, into).as_bytes());
            for (column, text) in &out.columns {
                assert!(!text.contains(value), "{what}, {into:?}: column {column}: {text}");
            }
            let Some(message) = out.message else { continue };
            closed += 1;
            let before = holding(&usual, value);
            for (place, count) in holding(&message, value) {
                if count > before.get(&place).copied().unwrap_or(0) {
                    found.insert((what.to_owned(), place));
                }
            }
        }
    }
    assert!(closed >= 15, "{closed}");
    check(&found, include_str!("ccda.tsv"));
}

/// Returns the violations that the independent validator finds in documents.
fn violations(documents: &[&str]) -> Vec<String> {
    let python = std::env::var("LETHE_TEST_PYTHON").expect(
        "LETHE_TEST_PYTHON is not set: run this test with scripts/test, or under scripts/with-servers",
    );
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../connectors/format/tests/independent/ccda_check.py"
    );
    let folder = tempfile::tempdir().unwrap();
    let run = |(number, document): (usize, &&str)| {
        let path: PathBuf = folder.path().join(format!("{number}.xml"));
        std::fs::write(&path, document).unwrap();
        let done = Command::new(&python).arg(script).arg(&path).output().unwrap();
        let printed = String::from_utf8(done.stdout).unwrap();
        let error = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.success(), printed.is_empty(), "{printed}{error}");
        assert!(error.is_empty(), "{error}");
        printed
    };
    documents.iter().enumerate().map(run).collect()
}

#[test]
fn a_redacted_document_is_valid_c_cda() {
    let out = through("cda", DOCUMENT.as_bytes()).message.unwrap();
    assert_eq!(violations(&[&out]), [""]);
    // The validator must find violations.
    let broken = [
        (
            "<representedCustodianOrganization>",
            "<representedCustodianOrganization><title/>",
        ),
        ("<realmCode code=\"US\"/>", ""),
        ("<birthTime", "<deathTime"),
        (
            "<statusCode code=\"completed\"/>",
            "<statusCode code=\"completed\"/><code/>",
        ),
        ("<text><reference value=\"#i", "<text><reference value=\"#j"),
        ("<tbody>", "<tbody><td/>"),
        ("root=\"2.16", "root=\"Okafor.16"),
        ("<effectiveTime value=\"", "<effectiveTime value=\"May "),
        (
            "<effectiveTime value=\"",
            "<effectiveTime nullFlavor=\"UNK\" value=\"",
        ),
        ("<section>", "<section style=\"x\">"),
    ];
    let broken: Vec<String> = broken
        .iter()
        .map(|(from, to)| {
            assert!(out.contains(from), "{from}");
            out.replacen(from, to, 1)
        })
        .collect();
    let broken: Vec<&str> = broken.iter().map(String::as_str).collect();
    for (found, document) in violations(&broken).iter().zip(&broken) {
        assert!(!found.is_empty(), "{document}");
    }
}

#[test]
fn the_narrative_of_a_document_is_redacted_in_its_place() {
    let out = through("cda", DOCUMENT.as_bytes()).message.unwrap();
    for name in [
        "Quillfeather",
        "Marchbank",
        "Halloway",
        "Ottilie",
        "Zora",
        "Emeka",
        "Tamarisk",
        "Lantern",
        "4471902",
    ] {
        assert!(!out.contains(name), "{name}: {out}");
    }
    assert!(out.contains("<td>139 mmol/L</td>") || out.contains("<content>139 mmol/L</content>"));
    assert!(out.contains("<caption>Known allergies</caption>"));
}
