use lethe_format::{PdfError, pdf_to_text};
use proptest::prelude::*;

use super::pdf::deflated;
use super::{file, line, page, stream};

const LIMIT: usize = 1 << 20;

fn refused(pdf: &[u8]) -> PdfError {
    pdf_to_text(pdf, LIMIT).unwrap_err()
}

fn with_content(content: Vec<u8>, more: &[Vec<u8>]) -> Vec<u8> {
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /XObject << /X 6 0 R >> /Font << /F 5 0 R >> >> >>".to_vec(),
        content,
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ];
    file(&[&objects[..], more].concat())
}

#[test]
fn a_bomb_of_one_layer_or_of_two_is_refused() {
    let zeros = deflated(&vec![b' '; 140 << 20]);
    let one = stream("/Filter /FlateDecode", &zeros);
    assert_eq!(refused(&with_content(one, &[])), PdfError::TooLarge);
    let two = stream("/Filter [/FlateDecode /FlateDecode]", &deflated(&zeros));
    assert_eq!(refused(&with_content(two, &[])), PdfError::TooLarge);
    let filter = [b"null".to_vec(), b"/FlateDecode".to_vec()];
    let indirect = stream("/Filter 7 0 R", &zeros);
    assert_eq!(refused(&with_content(indirect, &filter)), PdfError::TooLarge);
}

#[test]
fn a_small_document_does_not_ask_for_the_work_of_a_large_one() {
    let letters = |count: usize| {
        let content = format!("BT /F 1 Tf 72 700 Td ({}) Tj ET", "a".repeat(count));
        with_content(stream("/Filter /FlateDecode", &deflated(content.as_bytes())), &[])
    };
    assert_eq!(
        pdf_to_text(&letters(100_000), LIMIT).map(|text| text.len()),
        Ok(100_000)
    );
    // A few kilobytes, which reach no limit of a page.
    let pdf = letters(900_000);
    assert!(pdf.len() < 10_000);
    assert_eq!(refused(&pdf), PdfError::TooComplex);
    // Nothing is drawn, but everything is decoded.
    let blanks = stream("/Filter /FlateDecode", &deflated(&vec![b' '; 20 << 20]));
    assert_eq!(refused(&with_content(blanks, &[])), PdfError::TooLarge);
}

#[test]
fn a_stream_of_more_objects_than_any_note_has_is_refused() {
    let mut objects = b"7 0 [".to_vec();
    objects.extend(b"1 ".repeat(3_000_000));
    objects.push(b']');
    let bomb = stream(
        "/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode",
        &deflated(&objects),
    );
    let pdf = with_content(stream("", b""), &[bomb]);
    assert_eq!(refused(&pdf), PdfError::TooComplex);
}

#[test]
fn forms_within_forms_do_not_multiply() {
    let level = |next: usize| {
        let entries = format!(
            "/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /X {next} 0 R >> >>"
        );
        stream(&entries, "/X Do ".repeat(1000).as_bytes())
    };
    let mut forms: Vec<Vec<u8>> = (7..40).map(level).collect();
    forms.push(stream("/Type /XObject /Subtype /Form /BBox [0 0 1 1]", b""));
    let pdf = with_content(stream("", b"/X Do"), &forms);
    assert_eq!(refused(&pdf), PdfError::TooComplex);
    // A form that draws itself is followed only to a limited depth.
    let itself = [stream(
        "/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /X 6 0 R >> /Font << /F 5 0 R >> >>",
        b"BT /F 12 Tf 72 700 Td (Voss) Tj ET /X Do",
    )];
    let pdf = with_content(stream("", b"/X Do"), &itself);
    assert_eq!(pdf_to_text(&pdf, LIMIT).as_deref(), Ok("Voss"));
}

/// Returns one page with these entries and this content; `more` objects have numbers from 5 on.
fn with_entries(entries: &str, content: &str, more: &[Vec<u8>]) -> Result<String, PdfError> {
    let content = format!("{content} BT /F 9 Tf 50 700 Td (a) Tj ET");
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R {entries} >>").into(),
        stream("/Filter /FlateDecode", &deflated(content.as_bytes())),
    ];
    pdf_to_text(&file(&[&objects[..], more].concat()), LIMIT)
}

#[test]
fn resources_that_content_names_are_counted_each_time() {
    let entries: String = (0..2000).map(|i| format!("/A{i} 1 ")).collect();
    let mesh = "/ShadingType 4 /ColorSpace /DeviceGray /BitsPerCoordinate 8 /BitsPerComponent 8 /BitsPerFlag 8 /Decode [0 9 0 9 0 1]";
    let kinds = [
        ("ExtGState", "/R gs ", format!("<< {entries} >>").into_bytes()),
        (
            "Pattern",
            "/Pattern cs /R scn ",
            format!("<< /PatternType 2 /Shading << /ShadingType 2 {entries} >> >>").into(),
        ),
        ("Shading", "/R sh ", stream(mesh, &[0; 20_000])),
        (
            "ColorSpace",
            "/R cs ",
            format!("[/Separation /A /DeviceGray << {entries} >>]").into(),
        ),
        (
            "Properties",
            "/OC /R BDC EMC ",
            format!("<< /Type /OCMD {entries} >>").into(),
        ),
        (
            "XObject",
            "/R Do ",
            stream(&format!("/Subtype /Image {entries}"), b""),
        ),
    ];
    for (kind, named, resource) in kinds {
        let resources = format!("/Resources << /{kind} << /R 5 0 R >> >>");
        let read =
            |times: usize| with_entries(&resources, &named.repeat(times), std::slice::from_ref(&resource));
        assert_eq!(read(50), Ok("a".to_owned()), "{kind}");
        assert_eq!(read(100_000), Err(PdfError::TooComplex), "{kind}");
    }
}

#[test]
fn a_map_is_counted_for_each_of_its_fonts() {
    let map = "<61> <0061>\n".repeat(20_000);
    let map = format!("1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar {map} endbfchar");
    let map = stream("/Filter /FlateDecode", &deflated(map.as_bytes()));
    let read = |fonts: usize| {
        let font = |_| b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 5 0 R >>".to_vec();
        let all: Vec<Vec<u8>> = std::iter::once(map.clone()).chain((0..fonts).map(font)).collect();
        with_entries("/Resources << /Font << /F 6 0 R >> >>", "", &all)
    };
    assert_eq!(read(3), Ok("a".to_owned()));
    assert_eq!(read(300), Err(PdfError::TooComplex));
}

#[test]
fn contents_and_comments_are_counted_each_time_that_they_are_listed() {
    let blanks = stream("/Filter /FlateDecode", &deflated(&vec![b' '; 1 << 20]));
    let contents = |times: usize| {
        let entries = format!("/Contents [4 0 R {}]", "5 0 R ".repeat(times));
        with_entries(&entries, "", std::slice::from_ref(&blanks))
    };
    assert_eq!(contents(3), Ok("a".to_owned()));
    assert_eq!(contents(1000), Err(PdfError::TooComplex));
    let text = "b".repeat(10_000);
    let comment =
        format!("<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents ({text}) >>").into_bytes();
    let comments = |times: usize| {
        let entries = format!("/Annots [{}]", "5 0 R ".repeat(times));
        with_entries(&entries, "", std::slice::from_ref(&comment)).map(|text| text.len())
    };
    assert_eq!(comments(1), Ok(10_003));
    assert!(matches!(
        comments(15_000),
        Err(PdfError::TooComplex | PdfError::TooLarge)
    ));
}

#[test]
fn a_letter_stands_for_no_more_than_a_font_may_say() {
    let read = |characters: usize| {
        let map = format!(
            "1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar <61> <{}> endbfchar",
            "0062".repeat(characters)
        );
        let font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 5 0 R >>".to_vec();
        with_entries(
            "/Resources << /Font << /F 6 0 R >> >>",
            "",
            &[stream("", map.as_bytes()), font],
        )
    };
    assert_eq!(read(256), Ok("b".repeat(256)));
    assert_eq!(read(1000), Err(PdfError::TooComplex));
}

#[test]
fn cycles_in_the_tree_of_pages_and_of_fields_end() {
    let cycle = file(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1 /Parent 2 0 R >>".to_vec(),
    ]);
    assert!(pdf_to_text(&cycle, LIMIT).is_err());
    let field = b"<< /Type /Annot /Subtype /Widget /Rect [0 0 9 9] /Parent 6 0 R >>".to_vec();
    let pdf = page("BT /F 12 Tf 72 700 Td (Voss) Tj ET", "/Annots [6 0 R]", &[field]);
    assert_eq!(pdf_to_text(&pdf, LIMIT).as_deref(), Ok("Voss"));
}

#[test]
fn object_streams_within_each_other_end() {
    let inner = stream("/Type /ObjStm /N 1 /First 4 /Extends 6 0 R", b"6 0 6 0 R");
    assert!(pdf_to_text(&with_content(stream("", b""), &[inner]), LIMIT).is_err());
}

#[test]
fn deep_nesting_does_not_end_the_process() {
    for (open, close) in [("[", "]"), ("<< /A ", ">>"), ("(", ")")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let pdf = with_content(stream("", deep.as_bytes()), &[deep.clone().into_bytes()]);
        assert!(pdf_to_text(&pdf, LIMIT).is_err());
    }
    let saves = format!("{} BT /F 12 Tf 72 700 Td (Voss) Tj ET", "q ".repeat(200_000));
    assert_eq!(
        pdf_to_text(&with_content(stream("", saves.as_bytes()), &[]), LIMIT).as_deref(),
        Ok("Voss")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_at_any_place_gives_text_or_an_error(
        at in any::<prop::sample::Index>(),
        with in prop::collection::vec(any::<u8>(), 1..6),
    ) {
        let mut pdf = line("Ottoline Quillfeather");
        let at = at.index(pdf.len());
        let end = (at + with.len()).min(pdf.len());
        pdf.splice(at..end, with);
        let text = pdf_to_text(&pdf, LIMIT);
        prop_assert!(text.map_or(true, |text| text.len() < 1000));
    }

    #[test]
    fn any_content_gives_text_or_an_error(content in "[0-9 .()<>/\\[\\]a-zA-Z*'\"\\-]{0,80}") {
        let content = format!("BT /F 12 Tf 72 700 Td (Voss) Tj {content}");
        let text = pdf_to_text(&page(&content, "", &[]), LIMIT);
        prop_assert!(text.map_or(true, |text| text.len() < 1000));
    }
}
