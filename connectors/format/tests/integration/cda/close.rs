//! Returned documents: what is kept, replaced and removed.

use lethe_core::{Changed, NoteEvent};
use lethe_format::{CdaConfig, Format, PayloadError};

use super::{CONTINUITY, SUMMARY, close, keeping, section};

/// Returns the document with nothing replaced.
fn same(event: &NoteEvent) -> String {
    close(event, str::to_owned, str::to_owned)
}

/// Returns the document with numbered labels in place of identifiers.
fn tagged(event: &NoteEvent) -> String {
    let enclosed = &event.enclosed.as_ref().unwrap().0;
    let text = event.text.expose();
    let parts: Vec<&str> = enclosed.parts().iter().map(|part| part.of(text)).collect();
    let tags: Vec<String> = enclosed
        .identifiers()
        .iter()
        .enumerate()
        .map(|(number, one)| match one.label {
            "DATE" => one.value.expose()[..4].to_owned(),
            label => format!("[{label}-{number}]"),
        })
        .collect();
    let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    String::from_utf8(enclosed.close(&parts, &tags).unwrap()).unwrap()
}

#[test]
fn a_document_with_nothing_replaced_reads_back_as_the_same_note() {
    for document in [SUMMARY, CONTINUITY] {
        let event = keeping(document).unwrap();
        let again = keeping(&same(&event)).unwrap();
        // Elements that the schema does not allow are returned as other elements, on other lines.
        let words = |event: &NoteEvent| -> Vec<String> {
            let words = event.text.expose().split_whitespace();
            words.map(str::to_owned).collect()
        };
        assert_eq!(words(&again), words(&event));
        assert_eq!(again.note_id, event.note_id);
        assert_eq!(again.patient_id, event.patient_id);
        assert_eq!(again.known, event.known);
    }
}

#[test]
fn a_narrative_that_fits_the_schema_reads_back_line_by_line() {
    let event = keeping(SUMMARY).unwrap();
    assert_eq!(keeping(&same(&event)).unwrap().text, event.text);
}

#[test]
fn text_that_stands_only_in_entries_is_part_of_the_note() {
    let event = keeping(CONTINUITY).unwrap();
    let text = event.text.expose();
    for part in [
        "Albuterol inhaler of Mrs Quillfeather",
        "Penicillin of Dr Marchbank",
        "Pneumonia, told to Chidi Quillfeather",
        "Called to Ottilie Rook",
        "Seen by Bram Halloway",
        "135 to 145",
        "Visit with Dr Marchbank",
        "Remind Zora Quillfeather",
        "Medbloom Works",
        "Primary care",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Nested tables, lists in cells, footnotes, captions, inserted text.
    for part in [
        "Panel of Mrs Quillfeather\n\nPart  Result\nNa  139 mmol/L\nK  4.1 mmol/L\n\nrepeated by Ottilie Rook",
        "Known allergies\nSubstance  Reaction\nPenicillin G  Hives\n\nAs told by Zora Quillfeather",
        "Albuterol 90 mcg, prescribed by Dr Marchbank\nsince May\nAspirin\n\nDose  81 mg",
        "Problem 1\nPneumonia resolved & well; see portal or above.",
    ] {
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat(text).contains(&flat(part)), "{part}: {text}");
    }
}

#[test]
fn identifiers_are_replaced_and_nothing_of_the_senders_stays() {
    let event = keeping(CONTINUITY).unwrap();
    let back = close(&event, |_| "Seen.".to_owned(), |_| "[X]".to_owned());
    for gone in [
        "MRN-4471902",
        "219-09-8734",
        "DOC-77120",
        "Lantern",
        "02139",
        "1958",
        "617-555",
        "617)555",
        "1999999992",
        "99999",
        "Marchbank</family>",
        "Tamarisk",
        "displayName",
        "portal.example",
        "xQuillfeather",
        "med1",
        "alg1",
        "sub1",
        "img1",
        "36e3e930",
        "LOT-66120",
        "20240502",
        "stylesheet",
        "invented",
        "TGVuYSBN",
        "iVBOR",
        "Room 4",
        "3719",
        "Mrs</prefix>",
    ] {
        assert!(!back.contains(gone), "{gone}: {back}");
    }
    let back = tagged(&event);
    for kept in [
        "<realmCode code=\"US\"/>",
        "<typeId root=\"2.16.840.1.113883.1.3\" extension=\"POCD_HD000040\"/>",
        "<templateId root=\"2.16.840.1.113883.10.20.22.1.2\" extension=\"2015-08-01\"/>",
        "<confidentialityCode code=\"N\" codeSystem=\"2.16.840.1.113883.5.25\"/>",
        "<code code=\"34133-9\" codeSystem=\"2.16.840.1.113883.6.1\" codeSystemName=\"LOINC\"/>",
        "<languageCode code=\"en-US\"/>",
        "<raceCode code=\"2106-3\" codeSystem=\"2.16.840.1.113883.6.238\"/>",
        "<sdtc:raceCode code=\"2028-9\" codeSystem=\"2.16.840.1.113883.6.238\"/>",
        "<sdtc:deceasedInd value=\"false\"/>",
        "<value xsi:type=\"PQ\" value=\"140\" unit=\"mmol/L\"/>",
        "<doseQuantity value=\"1\" unit=\"{puff}\"/>",
        "<period value=\"6\" unit=\"h\"/>",
        "<high nullFlavor=\"UNK\"/>",
        "<translation code=\"0006-4981-02\" codeSystem=\"2.16.840.1.113883.6.69\"/>",
        "<translation code=\"0DTJ4ZZ\" codeSystem=\"2.16.840.1.113883.6.4\"/>",
        "<softwareName nullFlavor=\"MSK\"/>",
        "<given nullFlavor=\"MSK\"/><family>[PATIENT-",
        "<city>[CITY-",
        "<table border=\"1\" width=\"100%\"><caption>Known allergies</caption>",
        "<content revised=\"insert\" styleCode=\"Italics\">May</content>",
        "<birthTime value=\"1958\"/>",
    ] {
        assert!(back.contains(kept), "{kept}: {back}");
    }
}

#[test]
fn references_within_a_document_stay_what_they_were() {
    let back = same(&keeping(CONTINUITY).unwrap());
    let leaves = super::leaves::leaves(&back);
    let of = |attribute: &str| -> Vec<&str> {
        let all = leaves.iter().filter(|leaf| leaf.place.ends_with(attribute));
        all.map(|leaf| &back[leaf.at.clone()]).collect()
    };
    let ids = of("@ID");
    assert_eq!(ids.len(), CONTINUITY.matches(" ID=").count());
    for target in of("reference@value").into_iter().chain(of("linkHtml@href")) {
        assert!(ids.contains(&target.trim_start_matches('#')), "{target}");
    }
    for target in of("@IDREF").into_iter().chain(of("@referencedObject")) {
        assert!(ids.contains(&target), "{target}");
    }
    assert_eq!(
        of("reference@value").len(),
        CONTINUITY.matches("<reference value=").count()
    );
}

#[test]
fn a_table_in_a_cell_comes_back_as_a_list() {
    let event = keeping(&section(
        "<table><tbody><tr><td>a<table><tr><th>b</th><td>c<p>d</p></td></tr></table></td></tr></tbody></table>",
    ))
    .unwrap();
    assert!(
        same(&event).contains(
            "<td>a<list><item> <content>b</content> <content>c<br/><content>d</content><br/></content></item></list></td>"
        ),
        "{}",
        same(&event)
    );
}

#[test]
fn ids_carry_their_authority_and_their_kind() {
    let event = keeping(CONTINUITY).unwrap();
    let identifiers = event.enclosed.as_ref().unwrap().0.identifiers();
    let of = |value: &str| {
        let found = identifiers
            .iter()
            .find(|one| one.value.expose() == value)
            .unwrap();
        (found.label, found.authority.as_deref())
    };
    assert_eq!(
        of("MRN-4471902"),
        ("MEDICALRECORD", Some("oid:2.16.840.1.113883.19.5.99999.2"))
    );
    assert_eq!(of("219-09-8734"), ("SSN", Some("oid:2.16.840.1.113883.4.1")));
    assert_eq!(of("1234567893"), ("LICENSE", Some("oid:2.16.840.1.113883.4.6")));
    assert_eq!(of("V-2024-0815").0, "ACCOUNT");
    assert_eq!(of("36e3e930-7b14-11db-9fe1-0800200c9a66"), ("IDNUM", None));
    assert_eq!(of("1958-07-14"), ("DATE", None));
    assert_eq!(of("Adaeze N. Quillfeather Jr."), ("PATIENT", None));
    assert_eq!(of("Lena Marchbank"), ("DOCTOR", None));
    assert_eq!(of("Osterby General"), ("HOSPITAL", None));
    assert_eq!(of("02139"), ("ZIP", None));
}

#[test]
fn what_does_not_fit_is_masked_and_noted() {
    let body = "<entry><observation classCode=\"OBS\" moodCode=\"Voss\"><code code=\"99\" codeSystem=\"2.16.840.1.113883.6.1\"/>\
        <statusCode code=\"Voss\"/><effectiveTime value=\"17/05/2031\"/><value xsi:type=\"PQ\" value=\"91\" unit=\"a\"/>\
        <value xsi:type=\"PQ\" value=\"5\" unit=\"Voss\"/><value xsi:type=\"MO\" value=\"5\"/></observation></entry>";
    let event = keeping(&section("x").replace("</text>", &format!("</text>{body}"))).unwrap();
    let back = same(&event);
    for kept in [
        "<observation classCode=\"OBS\">",
        "<code nullFlavor=\"MSK\"/>",
        "<statusCode nullFlavor=\"MSK\"/>",
        "<effectiveTime nullFlavor=\"MSK\"/>",
        "<value xsi:type=\"PQ\" nullFlavor=\"MSK\"/><value xsi:type=\"PQ\" nullFlavor=\"MSK\"/><value xsi:type=\"MO\" nullFlavor=\"MSK\"/>",
    ] {
        assert!(back.contains(kept), "{kept}: {back}");
    }
    let changes = event.enclosed.as_ref().unwrap().0.changes().to_vec();
    let removed = |path: &str, rule: &str| {
        changes
            .iter()
            .any(|one| one.path.ends_with(path) && one.rule == rule && one.what == Changed::Removed)
    };
    assert!(removed("entry.observation.@moodCode", "not in the table"));
    assert!(removed("observation.code.@code", "not a code of the system"));
    assert!(removed("observation.effectiveTime.@value", "date"));
    assert!(removed("observation.value.@value", "quantity"));
}

#[test]
fn a_birth_date_of_over_89_years_is_masked() {
    let old = CONTINUITY.replace(
        "<birthTime value=\"19580714\"/>",
        "<birthTime value=\"19340101\"/>",
    );
    assert!(tagged(&keeping(&old).unwrap()).contains("<birthTime nullFlavor=\"MSK\"/>"));
    let undated = CONTINUITY.replace("<effectiveTime value=\"20240502083000-0500\"/>\n  <conf", "<conf");
    assert!(!tagged(&keeping(&undated).unwrap()).contains("<birthTime value"));
}

#[test]
fn blank_replacements_are_masked() {
    let event = keeping(CONTINUITY).unwrap();
    let back = close(&event, |_| String::new(), |_| String::new());
    for masked in [
        "<id nullFlavor=\"MSK\"/>",
        "<name use=\"L\" nullFlavor=\"MSK\"/>",
        "<city nullFlavor=\"MSK\"/>",
        "<telecom nullFlavor=\"MSK\" use=\"HP\"/>",
        "<birthTime nullFlavor=\"MSK\"/>",
    ] {
        assert!(back.contains(masked), "{masked}: {back}");
    }
    assert!(keeping(&back).is_err(), "there is no id left");
}

#[test]
fn a_body_that_is_no_xml_comes_back_as_plain_text() {
    let document = super::document(
        "<nonXMLBody><text mediaType=\"text/html\" representation=\"B64\">PHA+YTxici8+YiZhbXA7YzwvcD4=</text></nonXMLBody>",
    );
    let back = same(&keeping(&document).unwrap());
    assert!(
        back.contains("<nonXMLBody><text mediaType=\"text/plain\">a\nb&amp;c</text></nonXMLBody>"),
        "{back}"
    );
    assert_eq!(keeping(&back).unwrap().text.expose(), "a\nb&c");
}

#[test]
fn a_site_may_add_code_systems() {
    let document = section("x").replace("<text>", "<code code=\"W1\" codeSystem=\"1.2.3\"/><text>");
    assert!(same(&keeping(&document).unwrap()).contains("<code nullFlavor=\"MSK\"/>"));
    let config = CdaConfig {
        keep_message: true,
        code_systems: vec!["1.2.3".to_owned()],
        ..CdaConfig::default()
    };
    let event = config.build().read(document.as_bytes()).unwrap();
    assert!(same(&event).contains("<code code=\"W1\" codeSystem=\"1.2.3\"/>"));
}

#[test]
fn other_prefixes_mean_the_same() {
    let prefixed = section("Seen.")
        .replace("<", "<h:")
        .replace("<h:/", "</h:")
        .replace("xmlns=", "xmlns:h=");
    assert_eq!(
        same(&keeping(&prefixed).unwrap()),
        same(&keeping(&section("Seen.")).unwrap())
    );
}

#[test]
fn more_or_fewer_replacements_are_refused() {
    let event = keeping(CONTINUITY).unwrap();
    let enclosed = &event.enclosed.as_ref().unwrap().0;
    assert!(enclosed.close(&[], &[]).is_err());
}

#[test]
fn what_is_removed_again_and_again_is_noted_once_after_sixty_thousand_times() {
    let noted = |count: usize| {
        let unknown = "<x/>".repeat(count);
        let section = format!(
            "<structuredBody><component><section><text>Seen.</text>{unknown}<y><z/></y><x/></section></component></structuredBody>"
        );
        let event = keeping(&super::document(&section)).unwrap();
        let changes = event.enclosed.as_ref().unwrap().0.changes();
        let removed = changes.iter().filter(|change| change.what == Changed::Removed);
        removed.count()
    };
    assert_eq!(noted(1000), 1002);
    assert_eq!(noted(100_000), (1 << 16) + 1);
}

#[test]
fn a_document_of_more_identifiers_than_any_note_has_is_refused() {
    let ids: String = (0..270_000)
        .map(|i| format!("<id root=\"1.2\" extension=\"{i}\"/>"))
        .collect();
    let section = format!(
        "<structuredBody><component><section>{ids}<text>Seen.</text></section></component></structuredBody>"
    );
    assert_eq!(
        super::refused(&super::document(&section)),
        (None, PayloadError::TooComplex)
    );
}
