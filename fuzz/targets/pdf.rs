//! Any bytes as PDF, and any content of a page: text or an error, never a panic outside of the reader, and
//! bounded output.
#![no_main]

use lethe_format::pdf_to_text;
use libfuzzer_sys::fuzz_target;

const MAX_BYTES: usize = 1 << 20;

fuzz_target!(|payload: &[u8]| {
    for pdf in [payload.to_vec(), page(payload)] {
        if let Ok(text) = pdf_to_text(&pdf, MAX_BYTES) {
            assert!(text.len() <= MAX_BYTES, "text over the limit");
            assert!(!text.trim().is_empty(), "a note without text");
        }
    }
});

/// Returns a document of one page in Helvetica with this content.
fn page(content: &[u8]) -> Vec<u8> {
    let stream = [
        format!("<< /Length {} >>\nstream\n", content.len()).as_bytes(),
        content,
        b"\nendstream",
    ]
    .concat();
    let objects: [&[u8]; 5] = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        &stream,
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ];
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut table = String::from("xref\n0 6\n0000000000 65535 f \n");
    for (i, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", out.len()));
        out.extend(format!("{} 0 obj\n", i + 1).bytes());
        out.extend_from_slice(object);
        out.extend(b"\nendobj\n");
    }
    let start = out.len();
    out.extend(format!("{table}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").bytes());
    out
}
