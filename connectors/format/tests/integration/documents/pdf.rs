use lethe_format::{PdfError, pdf_to_text};

use super::{file, line, page, stream};

const LIMIT: usize = 1 << 20;

macro_rules! sample {
    ($name:literal) => {
        include_bytes!(concat!("samples/", $name, ".pdf"))
    };
}

fn read(pdf: &[u8]) -> String {
    pdf_to_text(pdf, LIMIT).unwrap()
}

fn refused(pdf: &[u8]) -> PdfError {
    pdf_to_text(pdf, LIMIT).unwrap_err()
}

/// Fails unless all texts occur, in this order.
fn holds(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let found = rest.split_once(part);
        rest = found
            .unwrap_or_else(|| panic!("no {part:?} after the texts before it in:\n{text}"))
            .1;
    }
}

#[test]
fn text_of_a_browser_has_its_words_lines_and_columns() {
    holds(
        &read(sample!("chromium")),
        &[
            "Patient: Ottoline Quillfeather, affidavit office. Seen by Dr. Emeric Voss.\n",
            "Left begins. Ottoline",
            "555-0143.",
            "Right part here.",
            "Name Quillfeather\nMRN 00482913",
        ],
    );
}

#[test]
fn columns_of_type_1_and_of_true_type_are_read_one_after_the_other() {
    for sample in [sample!("columns_type1").as_slice(), sample!("columns_truetype")] {
        let text = read(sample);
        holds(
            &text,
            &[
                "Left column begins. Mrs. Ottoline",
                "Right column begins. Mrs. Ottoline",
            ],
        );
        let flat = text.replace('\n', " ");
        assert_eq!(
            flat.matches("Ottoline Quillfeather was seen by Dr. Emeric Voss")
                .count(),
            8
        );
        assert_eq!(flat.matches("Petronella will call on 555-0143.").count(), 8);
    }
}

#[test]
fn ligatures_and_letters_of_other_scripts_are_letters() {
    assert_eq!(
        read(sample!("cairo")),
        "Office of Dr. Voss: flufftown affidavit, Quillfeather\nŁukasz Ożóg"
    );
    holds(&read(sample!("type3")), &["Type three for Quillfeather"]);
}

#[test]
fn pages_are_parted_and_properties_are_left_out() {
    let text = read(sample!("pages"));
    assert_eq!(
        text,
        "Patient: Ottoline Quillfeather\nSeen by Dr. Voss.\n\nSecond page."
    );
}

#[test]
fn turned_text_and_turned_pages_are_read() {
    assert_eq!(
        read(sample!("turned")),
        "Upright line with Voss\n\nSideways Quillfeather text"
    );
}

#[test]
fn values_of_form_fields_stand_where_they_are_shown() {
    holds(
        &read(sample!("form")),
        &[
            "Name:  Ottoline Quillfeather",
            "Ward:  Larkmere",
            "Comment:",
            "First line by Voss",
        ],
    );
}

#[test]
fn values_and_comments_that_no_page_shows_are_read() {
    let annotation = |entries: &str| format!("/Annots [<< /Type /Annot /Rect [0 0 9 9] {entries} >>]");
    let text = |entries: &str| {
        read(&page(
            "BT /F 12 Tf 72 700 Td (Shown) Tj ET",
            &annotation(entries),
            &[],
        ))
    };
    assert_eq!(text("/Subtype /Widget /FT /Tx /T (n) /V (Voss)"), "Shown\n\nVoss");
    assert_eq!(
        text("/Subtype /Widget /FT /Ch /V [(Larkmere) (Hillside)]"),
        "Shown\n\nLarkmere\n\nHillside"
    );
    assert_eq!(
        text("/Subtype /Text /Contents <FEFF0141015B> /T (Author)"),
        "Shown\n\nŁś"
    );
    assert_eq!(text("/Subtype /FreeText /Contents (Shown)"), "Shown");
    assert_eq!(text("/Subtype /Text /F 2 /Contents (Voss)"), "Shown");
    assert_eq!(text("/Subtype /Widget /FT /Btn /V /Off"), "Shown");
}

#[test]
fn words_are_whole_however_they_are_set() {
    holds(
        &read(sample!("spacing")),
        &[
            "QUILLFEATHER OTTOLINE\nplain",
            "Bold Voss",
            "Words placed one by one Quillfeather",
            "Narrow scaled Quillfeather text here\nWide scaled Quillfeather text here",
            "Single letters Voss",
            "H2O and 1st visit",
            "The patient Ottoline Smith-Jones came by.",
        ],
    );
    // Kerning is not a space, but a wider gap is.
    let kerned = page("BT /F 12 Tf 72 700 Td [(V) 80 (oss) -300 (Anna)] TJ ET", "", &[]);
    assert_eq!(read(&kerned), "Voss Anna");
    assert_eq!(read(&line("Caf\\351 \\223x\\224")), "Café “x”");
}

#[test]
fn what_is_hidden_is_left_out() {
    let more = [
        stream("/Type /XObject /Subtype /Form /BBox [0 0 1 1]", b""),
        b"<< /Type /OCG /Name (layer) >>".to_vec(),
    ];
    let catalog =
        b"<< /Type /Catalog /Pages 2 0 R /OCProperties << /OCGs [7 0 R] /D << /OFF [7 0 R] >> >> >>";
    let content = "/OC /L BDC BT /F 12 Tf 72 700 Td (Hidden) Tj ET EMC BT /F 12 Tf 72 600 Td (Shown) Tj ET";
    let objects = [
        catalog.to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> /Properties << /L 7 0 R >> >> >>".to_vec(),
        stream("", content.as_bytes()),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ];
    assert_eq!(read(&file(&[&objects[..], &more].concat())), "Shown");
}

#[test]
fn a_page_that_is_a_picture_refuses_the_document() {
    for sample in [
        sample!("scanned").as_slice(),
        sample!("scanned_partly"),
        sample!("scanned_fax"),
    ] {
        assert_eq!(refused(sample), PdfError::Scanned);
    }
    // An empty page has no text either.
    assert_eq!(refused(&page("", "", &[])), PdfError::Scanned);
    holds(&read(sample!("scanned_ocr")), &["Mrs. Ottoline Quillfeather"]);
    assert_eq!(read(sample!("logo")), "Letter with a logo to Mr. Voss.");
}

#[test]
fn fonts_without_unicode_refuse_the_document() {
    let composite =
        b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [7 0 R] >>";
    let objects = |content: &str| {
        file(&[
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R /G 6 0 R >> >> >>".to_vec(),
            stream("", content.as_bytes()),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
            composite.to_vec(),
            b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 600 >>".to_vec(),
        ])
    };
    let text = objects("BT /F 12 Tf 72 700 Td (Seen by ) Tj /G 12 Tf <002400250026> Tj ET");
    assert_eq!(refused(&text), PdfError::Unmapped);
    // A single glyph is a bullet or a box.
    let bullet = objects("BT /G 12 Tf 72 700 Td <0024> Tj /F 12 Tf ( Aspirin) Tj ET");
    assert_eq!(read(&bullet), "\u{fffd} Aspirin");
}

#[test]
fn encrypted_documents_are_refused_with_and_without_a_password() {
    for sample in [sample!("encrypted_user").as_slice(), sample!("encrypted_owner")] {
        assert_eq!(refused(sample), PdfError::Encrypted);
    }
}

#[test]
fn containers_of_other_documents_are_refused() {
    let mut portfolio = line("Open this with a newer viewer.");
    let at = portfolio
        .windows(8)
        .position(|bytes| bytes == b"/Catalog")
        .unwrap();
    portfolio.splice(at + 8..at + 8, *b" /Collection << >>");
    // The cross-reference table moves by the same distance.
    let text = String::from_utf8(portfolio).unwrap();
    let text = file(
        &text
            .split("endobj\n")
            .filter_map(|object| object.split_once(" obj\n"))
            .map(|(_, object)| object.trim_end().as_bytes().to_vec())
            .collect::<Vec<_>>(),
    );
    assert_eq!(refused(&text), PdfError::Container);
}

#[test]
fn a_document_that_is_cut_short_or_has_a_hole_is_refused() {
    let whole = sample!("pages");
    assert_eq!(refused(&whole[..whole.len() / 2]), PdfError::Damaged);
    assert_eq!(refused(b"%PDF-1.7"), PdfError::Damaged);
    assert_eq!(refused(b"Dear colleague"), PdfError::NotPdf);
    assert_eq!(refused(b""), PdfError::NotPdf);
    // A content stream that does not inflate completely.
    let content = deflated(&"BT /F 12 Tf 72 700 Td (Voss) Tj ET ".repeat(50).into_bytes());
    let cut = stream("/Filter /FlateDecode", &content[..content.len() - 12]);
    let objects = |content: Vec<u8>| {
        file(&[
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>".to_vec(),
            content,
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
        ])
    };
    assert_eq!(refused(&objects(cut)), PdfError::Damaged);
    assert_eq!(read(&objects(stream("/Filter /FlateDecode", &content))), "Voss");
}

#[test]
fn a_page_of_more_bytes_in_strings_than_a_page_has_glyphs_is_refused_before_it_is_run() {
    let page = |contents: &[&str]| {
        let refs: String = (0..contents.len()).map(|i| format!("{} 0 R ", i + 5)).collect();
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents [{refs}] /Resources << /Font << /F 4 0 R >> >> >>"
        );
        let mut objects = vec![
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            page.into_bytes(),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
        ];
        let contents = contents.iter().map(|content| deflated(content.as_bytes()));
        objects.extend(contents.map(|content| stream("/Filter /FlateDecode", &content)));
        file(&objects)
    };
    // A string that is not drawn: only a count of its bytes can refuse it.
    let kept = |length: usize| format!("/P << /A ({}) >> BDC EMC", "a".repeat(length));
    let text = "BT /F 12 Tf 72 700 Td (Voss) Tj ET";
    assert_eq!(read(&page(&[&kept(400_000), text])), "Voss");
    assert_eq!(refused(&page(&[&kept(600_000), text])), PdfError::TooComplex);
    assert_eq!(
        refused(&page(&[&kept(300_000), &kept(300_000), text])),
        PdfError::TooComplex
    );
    let open = "/P << /A (a";
    assert_eq!(
        refused(&page(&[open, &"a".repeat(600_000), ") >> BDC EMC", text])),
        PdfError::TooComplex
    );
}

#[test]
fn text_over_the_limit_is_refused() {
    assert_eq!(pdf_to_text(&line("Voss"), 3), Err(PdfError::TooLarge));
}

pub(super) fn deflated(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
