//! The built-in bundles, through the command line.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::path::{Path, PathBuf};

use common::Place;
use common::bundle::{annotated, events_through_stream, through_stream};
use common::process::Lethe;
use serde_json::Value;

/// An invented letter, and its identifiers: label and text.
const LETTER: &str = "Datos del paciente.\nNombre: Rosalía.\nApellidos: Cebrián Ontiveros.\nNHC: 4471920.\n\
    Domicilio: Calle de los Almendros, 14, 2º B.\nLocalidad/ Provincia: Teruel.\nCP: 44002.\n\
    Datos asistenciales.\nFecha de nacimiento: 03/11/1961.\nPaís: España.\nEdad: 58 años Sexo: M.\n\
    Fecha de Ingreso: 21/02/2020.\nMédico: Íñigo Barragán Luque NºCol: 44 44 31876.\n\
    Informe clínico de la paciente: Paciente de 58 años que acude a Urgencias por dolor abdominal de tres días \
    de evolución. Tensión arterial 130/80 mmHg, temperatura 37,2 ºC. Se solicita ecografía.\n\
    Remitido por: Dr. Íñigo Barragán Luque. Servicio de Cirugía General. Hospital Obispo Polanco. \
    Avda. Ruiz Jarabo, s/n. 44002 Teruel. Correo electrónico: ibarragan@correo-inventado.es\n";
const FOUND: [(&str, &str); 14] = [
    ("NOMBRE_SUJETO_ASISTENCIA", "Rosalía"),
    ("NOMBRE_SUJETO_ASISTENCIA", "Cebrián Ontiveros"),
    ("ID_SUJETO_ASISTENCIA", "4471920"),
    ("CALLE", "Calle de los Almendros, 14, 2º B"),
    ("TERRITORIO", "Teruel"),
    ("TERRITORIO", "44002"),
    ("FECHAS", "03/11/1961"),
    ("PAIS", "España"),
    ("EDAD_SUJETO_ASISTENCIA", "58 años"),
    ("FECHAS", "21/02/2020"),
    ("NOMBRE_PERSONAL_SANITARIO", "Íñigo Barragán Luque"),
    ("ID_TITULACION_PERSONAL_SANITARIO", "44 44 31876"),
    ("HOSPITAL", "Hospital Obispo Polanco"),
    ("CORREO_ELECTRONICO", "ibarragan@correo-inventado.es"),
];

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models")
}

fn spanish() -> String {
    models().join("es-meddocan").to_str().unwrap().to_owned()
}

#[test]
fn the_spanish_bundle_finds_who_and_where_in_a_letter_and_leaves_findings_alone() {
    let place = Place::new();
    let letter = serde_json::json!({"doc_id": "1", "text": LETTER}).to_string() + "\n";
    let input = place.write("letter.jsonl", letter);
    let out = place.at("found.jsonl");
    Lethe::new([
        "annotate",
        "--bundle",
        &spanish(),
        "--input",
        input.to_str().unwrap(),
        "--output",
        out.to_str().unwrap(),
    ])
    .end()
    .expect(0);
    let document: Value = serde_json::from_str(&std::fs::read_to_string(out).unwrap()).unwrap();
    let characters: Vec<char> = LETTER.chars().collect();
    let found: Vec<(String, String)> = document["spans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| {
            let at = |key: &str| span[key].as_u64().unwrap() as usize;
            let text = characters[at("start")..at("end")].iter().collect();
            (span["label"].as_str().unwrap().to_owned(), text)
        })
        .collect();
    for (label, text) in FOUND {
        let it = (label.to_owned(), text.to_owned());
        assert!(found.contains(&it), "{it:?} is not in {found:#?}");
    }
    for kept in ["130/80", "37,2", "tres días", "ecografía"] {
        assert!(found.iter().all(|(_, text)| !text.contains(kept)), "{found:#?}");
    }
}

#[test]
fn the_spanish_bundle_says_in_the_stream_what_it_says_of_documents() {
    let place = Place::new();
    let texts: Vec<String> = (0..12)
        .map(|i| {
            LETTER
                .replace("4471920", &format!("44719{i:02}"))
                .replace("Teruel", ["Teruel", "Jaca", "Calatayud"][i % 3])
                .repeat(1 + i % 4)
        })
        .collect();
    let (_, streamed) = through_stream(&place, Path::new(&spanish()), &texts);
    assert!(streamed.len() > 300, "{}", streamed.len());
    assert_eq!(streamed, annotated(&place, &["--bundle", &spanish()]));
}

#[test]
fn the_spanish_bundle_redacts_what_the_feed_knows_of_the_patient() {
    let place = Place::new();
    let text = "Analítica de control solicitada por quirmozo; se repite en un mes.";
    let at = text.find("quirmozo").unwrap() as u32;
    let of = |known: Value| serde_json::json!({"note_id": "1", "text": text, "known": known});
    let unknown = of(serde_json::json!([]));
    let known = of(serde_json::json!([{"kind": "patient", "value": "Quirmozo"}]));
    let (_, spans) = events_through_stream(&place, Path::new(&spanish()), &[unknown, known]);
    let label = "NOMBRE_SUJETO_ASISTENCIA".to_owned();
    assert!(spans.contains(&(1, at, at + 8, label)), "{spans:?}");
    assert!(spans.iter().all(|span| span.0 == 1), "{spans:?}");
}

#[test]
fn the_demo_runs_through_the_spanish_bundle() {
    let place = Place::new();
    let out = place.at("demo");
    Lethe::new(["demo", "--bundle", &spanish(), "--out", out.to_str().unwrap()])
        .end()
        .expect(0);
    Lethe::new(["inspect", out.join("data").to_str().unwrap()])
        .end()
        .expect(0);
}

/// An invented German letter, and the texts that must be redacted, whatever their label.
const BRIEF: &str = "Klinikum Weidenthal, Klinik für Innere Medizin\n\n\
    Sehr geehrte Frau Kollegin Dr. Ahrenshoop,\n\n\
    wir berichten über Ihren Patienten Herrn Torben Quastenberg, geb. am 14.03.1951, wohnhaft Lindenkamp 7, 24211 Preetz, der sich vom \
    02.05.2024 bis zum 09.05.2024 in unserer stationären Behandlung befand.\n\n\
    Diagnosen: Vorhofflimmern, CHA2DS2-VASc 3; arterielle Hypertonie; Z.n. Appendektomie 1998.\n\
    Anamnese: Herr Quastenberg klagte über Dyspnoe NYHA III. Kein Anhalt für Morbus Crohn.\n\
    Labor: CRP 5,2 mg/l, Kalium 4,1 mmol/l. RR 130/80 mmHg.\n\
    Medikation: Bisoprolol 5 mg 1-0-0, Ramipril 2,5 mg 1-0-1.\n\n\
    Mit freundlichen Grüßen\n\
    Prof. Dr. med. H. Wippermann   Dr. Svantje Oldenhoven   Tel. 04342 / 91-2210\n";

#[test]
fn the_german_bundle_redacts_who_where_and_when_in_a_letter_and_leaves_findings_alone() {
    let german = models().join("de-clinical");
    let redacted = Lethe::new(["redact", "--bundle", german.to_str().unwrap()])
        .end_with(BRIEF)
        .expect(0)
        .out;
    for hidden in [
        "Ahrenshoop",
        "Torben",
        "Quastenberg",
        "14.03.1951",
        "Lindenkamp 7",
        "24211",
        "Preetz",
        "02.05.2024",
        "09.05.2024",
        "1998",
        "Wippermann",
        "Oldenhoven",
        "91-2210",
    ] {
        assert!(!redacted.contains(hidden), "{hidden}: {redacted}");
    }
    for stays in [
        "Klinik für Innere Medizin",
        "Vorhofflimmern",
        "CHA2DS2-VASc 3",
        "NYHA III",
        "Morbus Crohn",
        "5,2 mg/l",
        "130/80",
        "Bisoprolol 5 mg 1-0-0",
    ] {
        assert!(redacted.contains(stays), "{stays}: {redacted}");
    }
}

/// An invented note, and the texts that must be redacted, whatever their label.
const NOTE: &str = "Marguerite Oyelowo-Tran is a 67-year-old woman, MRN 4471920, seen 03/11/2021 at Larkspur Valley Clinic.\n\
    Spoke w her son Dashiell, cell 612-555-0142. Foley removed; strength 5/5, Babinski negative, Hgb 11.2.\n\
    Electronically signed by Ignatius Fairweather, MD\n";
const HIDDEN: [&str; 7] = [
    "Marguerite",
    "Oyelowo",
    "4471920",
    "03/11/2021",
    "Dashiell",
    "555-0142",
    "Fairweather",
];

#[test]
fn where_nothing_says_another_the_english_bundle_is_run() {
    let plain = Lethe::new(["redact"]).end_with(NOTE).expect(0).out;
    let named = Lethe::new(["redact", "--bundle", "en-clinical"])
        .end_with(NOTE)
        .expect(0)
        .out;
    let folder = models().join("en-clinical");
    let read = Lethe::new(["redact", "--bundle", folder.to_str().unwrap()])
        .end_with(NOTE)
        .expect(0)
        .out;
    assert_eq!((&plain, &plain), (&named, &read));
    for hidden in HIDDEN {
        assert!(!plain.contains(hidden), "{hidden}: {plain}");
    }
    for stays in [
        "Foley removed",
        "5/5",
        "Babinski negative",
        "Hgb 11.2",
        "-year-old woman",
    ] {
        assert!(plain.contains(stays), "{stays}: {plain}");
    }
}

#[test]
fn the_fast_bundle_hides_who_it_is_of_and_leaves_findings_alone() {
    let plain = Lethe::new(["redact", "--bundle", "en-fast"])
        .end_with(NOTE)
        .expect(0)
        .out;
    for hidden in HIDDEN {
        assert!(!plain.contains(hidden), "{hidden}: {plain}");
    }
    for stays in ["Foley removed", "5/5", "Babinski negative", "Hgb 11.2"] {
        assert!(plain.contains(stays), "{stays}: {plain}");
    }
}

#[test]
fn a_bundle_that_the_program_does_not_carry_is_told() {
    let ended = Lethe::new(["redact", "--bundle", "en-nowhere"]).end_with(NOTE);
    ended.expect(2).says("en-nowhere");
}

#[test]
fn what_ships_has_a_card_and_is_small() {
    let mut bundles = 0;
    for entry in std::fs::read_dir(models()).unwrap().map(Result::unwrap) {
        if !entry.path().is_dir() {
            continue;
        }
        let card = std::fs::read_to_string(entry.path().join("README.md")).unwrap();
        for told in ["Trained on", "Licence", "Measured", "Not for"] {
            assert!(card.contains(told), "{}: {told}", entry.path().display());
        }
        assert!(size(&entry.path()) < 20 << 20);
        // A tagger of parts of speech is no bundle.
        if !entry.path().join("bundle.toml").exists() {
            continue;
        }
        bundles += 1;
        let shown = Lethe::new(["ensemble", "show", entry.path().to_str().unwrap()]);
        assert!(shown.end().expect(0).out.contains("us/token"));
    }
    assert!(bundles > 0);
}

#[test]
fn the_page_of_measurements_is_of_the_bundle_that_ships() {
    let pages = models().join("../docs/results/bundles");
    for name in ["en-clinical", "en-fast", "es-meddocan", "de-clinical"] {
        let bundle = models().join(name);
        let shown = Lethe::new(["bundle", "show", bundle.to_str().unwrap(), "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown.end().expect(0).out).unwrap();
        let page = std::fs::read_to_string(pages.join(name).with_extension("md")).unwrap();
        let line = format!("Bundle digest: `{}`", shown["digest"].as_str().unwrap());
        assert!(
            page.contains(&line),
            "{name}: measure it again; its page lacks {line:?}"
        );
    }
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| match entry.metadata().unwrap() {
            data if data.is_dir() => size(&entry.path()),
            data => data.len(),
        })
        .sum()
}
