use super::*;

const TEXT: &str = "Señor Ruiz came on 3 May.";

/// Reads a file of this name and content.
fn read(name: &str, content: &str) -> Result<(SpanFormat, Vec<NoteSpans>), CorpusError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    read_spans(&path, None)
}

/// Returns the ids, and the label and words of each span, if all notes have the text `TEXT`.
fn found(notes: &[NoteSpans]) -> Vec<(&str, Vec<(String, &'static str)>)> {
    let each = |note: &NoteSpans| -> Vec<(String, &'static str)> {
        let marks = note.place(TEXT, OffsetUnit::CodePoint).unwrap();
        marks
            .into_iter()
            .map(|mark| (mark.label, mark.span.of(TEXT)))
            .collect()
    };
    notes.iter().map(|note| (note.id.as_str(), each(note))).collect()
}

fn name(label: &str) -> Vec<(String, &'static str)> {
    vec![(label.to_owned(), "Ruiz")]
}

#[test]
fn json_lines_have_a_note_or_a_span_on_each_line() {
    let content = "{\"doc_id\":\"a\",\"text\":\"Señor Ruiz came on 3 May.\",\"spans\":[{\"start\":6,\"end\":10,\"label\":\"NAME\",\"members\":[\"known\"]}]}\n\
        {\"note_id\":\"b\",\"spans\":[]}\n\n{\"note_id\":7,\"start\":6,\"end\":10,\"label\":\"NAME\",\"text\":\"Ruiz\"}\n\
        {\"note_id\":7,\"start\":19,\"end\":24,\"label\":\"DATE\"}\n{\"spans\":[]}\n";
    let (format, notes) = read("x.jsonl", content).unwrap();
    assert_eq!(format, SpanFormat::Jsonl);
    let both = vec![("NAME".to_owned(), "Ruiz"), ("DATE".to_owned(), "3 May")];
    assert_eq!(
        found(&notes),
        [("a", name("NAME")), ("b", vec![]), ("7", both), ("6", vec![])]
    );
    assert_eq!((notes[2].line, notes[3].named), (4, false));
}

#[test]
fn presidios_results_are_a_list_or_one_for_each_note() {
    let list = "[{\"analysis_explanation\": null, \"entity_type\": \"PERSON\", \"start\": 6, \"end\": 10, \"score\": 0.85}]";
    for (content, id) in [
        (list.to_owned(), "visit"),
        (format!("{{\"a\": {list}}}"), "a"),
        (format!("{{\"note_id\": \"a\", \"results\": {list}}}"), "a"),
        (format!("[{{\"note_id\": \"a\", \"results\": {list}}}]"), "a"),
    ] {
        let (format, notes) = read("visit.json", &content).unwrap();
        assert_eq!(format, SpanFormat::Presidio);
        assert_eq!(found(&notes), [(id, name("PERSON"))], "{content}");
    }
    let marks = read("v.json", list).unwrap().1[0]
        .place(TEXT, OffsetUnit::CodePoint)
        .unwrap();
    assert_eq!(marks[0].score, Some(0.85));
}

#[test]
fn comprehends_response_is_for_the_note_of_its_file_or_for_each_note() {
    let response = "{\"Entities\": [{\"Id\": 0, \"BeginOffset\": 6, \"EndOffset\": 10, \"Score\": 0.99, \"Text\": \"Ruiz\", \"Category\": \"PROTECTED_HEALTH_INFORMATION\", \"Type\": \"NAME\", \"Traits\": []}], \"ModelVersion\": \"2.0.0\"}";
    for (content, id) in [
        (response.to_owned(), "visit.txt"),
        (format!("{{\"a\": {response}, \"b\": {{\"Entities\": []}}}}"), "a"),
        (response.replacen('{', "{\"note_id\": \"a\", ", 1), "a"),
    ] {
        let (format, notes) = read("visit.txt.out", &content).unwrap();
        assert_eq!(format, SpanFormat::Comprehend);
        assert_eq!(found(&notes)[0], (id, name("NAME")), "{content}");
    }
}

#[test]
fn philters_xml_may_have_bare_ampersands() {
    let page = |words: &str| {
        format!(
            "<?xml version=\"1.0\" ?>\n<Philter>\n<TEXT><![CDATA[{TEXT}]]></TEXT>\n<TAGS>\n\
             <NAME id=\"P0\" start=\"6\" end=\"10\" text=\"{words}\" TYPE=\"NAME\" comment=\"\" />\n</TAGS>\n</Philter>\n"
        )
    };
    let (format, notes) = read("visit.xml", &page("Ruiz")).unwrap();
    assert_eq!(format, SpanFormat::Philter);
    assert_eq!(found(&notes), [("visit", name("NAME"))]);
    let (_, notes) = read("visit.xml", &page("R&z")).unwrap();
    let error = notes[0]
        .place(TEXT, OffsetUnit::CodePoint)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("visit.xml, line 5: tag `P0` (6..10 in code points): its text does not match"),
        "{error}"
    );
}

#[test]
fn brats_file_needs_no_text_file() {
    let (format, notes) = read("visit.ann", "T1\tName 6 10\tRuiz\n#1\tAnnotatorNotes T1\tsure\n").unwrap();
    assert_eq!(format, SpanFormat::Brat);
    assert_eq!(found(&notes), [("visit", name("Name"))]);
    let (_, notes) = read("visit.ann", "T1\tName 0 5;11 15\tSeñor came\n").unwrap();
    let words: Vec<&str> = found(&notes)[0].1.iter().map(|(_, words)| *words).collect();
    assert_eq!(words, ["Señor", "came"]);
}

#[test]
fn a_folder_has_a_file_for_each_note() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        (
            "b.json",
            "[{\"entity_type\": \"PERSON\", \"start\": 6, \"end\": 10, \"score\": 1}]",
        ),
        ("a.json", "[]"),
        ("notes.txt", "Tom"),
    ] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let (_, notes) = read_spans(folder.path(), Some(SpanFormat::Presidio)).unwrap();
    assert_eq!(found(&notes), [("a", vec![]), ("b", name("PERSON"))]);
}

#[test]
fn offsets_that_do_not_fit_the_note_are_refused_by_file_and_line() {
    let pretty = "{\n \"a\": [\n  {\"entity_type\": \"X\", \"start\": 0, \"end\": 5, \"score\": 1},\n  {\"entity_type\": \"X\", \"start\": 6, \"end\": 99, \"score\": 1}\n ]\n}";
    let (_, notes) = read("x.json", pretty).unwrap();
    let error = notes[0]
        .place(TEXT, OffsetUnit::CodePoint)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("x.json, line 4: span 2 (6..99 in code points) is not a span of the text, which has 25 code points"),
        "{error}"
    );
    let (_, notes) = read(
        "x.jsonl",
        "{\"note_id\":\"a\",\"start\":3,\"end\":5,\"label\":\"X\"}",
    )
    .unwrap();
    let error = notes[0].place(TEXT, OffsetUnit::Byte).unwrap_err().to_string();
    assert!(
        error.ends_with("x.jsonl, line 1: span 1 (3..5 in bytes) cuts a character"),
        "{error}"
    );
    let (_, notes) = read("x.jsonl", "{\"note_id\":\"a\",\"text\":\"Other\",\"spans\":[]}").unwrap();
    let error = notes[0]
        .place(TEXT, OffsetUnit::CodePoint)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("x.jsonl, line 1: its text differs from the note's"),
        "{error}"
    );
}

#[test]
fn a_text_without_crs_shows_how_the_tool_counted() {
    let line =
        "{\"note_id\":\"a\",\"text\":\"one\\nRuiz\",\"spans\":[{\"start\":4,\"end\":8,\"label\":\"X\"}]}";
    let (_, notes) = read("x.jsonl", line).unwrap();
    let text = "one\r\nRuiz";
    let marks = notes[0].place(text, OffsetUnit::CodePoint).unwrap();
    assert_eq!(marks[0].span.of(text), "Ruiz");
}

#[test]
fn what_is_not_of_the_format_is_refused_without_a_word_of_it() {
    for (name, content, what) in [
        ("x.txt", "Secret", "unknown format"),
        ("x.json", "{\"a\": \"Secret\"}", "line 1: neither spans"),
        (
            "x.json",
            "{\n\"a\": [\n{\"start\": 1, \"end\": \"Secret\"}]}",
            "line 3: a span without",
        ),
        ("x.json", "{\"Secret\": ", "line 1: column"),
        ("x.jsonl", "{\"spans\":[]}\n{Secret\n", "line 2: column"),
        (
            "x.jsonl",
            "{\"spans\":[]}\n{\"start\":1,\"end\":2,\"label\":\"Secret\"}\n",
            "line 2: neither",
        ),
        (
            "x.jsonl",
            "{\"id\":\"a\",\"spans\":[]}\n{\"id\":\"a\",\"spans\":[]}\n",
            "line 2: spans of a note that has",
        ),
        (
            "x.xml",
            "<Philter><TEXT>Secret</TEXT></Philter>",
            "no element `TAGS`",
        ),
        (
            "x.ann",
            "T1\tX 0 1\tSecret\nSecret",
            "line 2: not a line of the brat format",
        ),
    ] {
        let message = read(name, content).unwrap_err().to_string();
        assert!(message.contains(what), "{message}");
        assert!(!message.contains("Secret"), "{message}");
    }
}
