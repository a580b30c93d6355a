//! A file of messages: any bytes, or an archive that is sound or damaged in a few places, in every framing.
//! Reading it ends; records are numbered without a gap; no payload and no file exceeds its limit; the files
//! of a sound archive are unchanged.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use lethe_connectors::files::{MessageFilesConfig, is_compressed_or_archive};
use lethe_connectors::format::FormatConfig;
use lethe_fuzz::{archive, store};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};

/// The framing of a file, and the format that determines it if necessary.
const READINGS: [(&str, &str); 6] = [
    ("whole", "text"),
    ("lines", "text"),
    ("hl7v2", "text"),
    ("auto", "hl7v2"),
    ("auto", "json"),
    ("auto", "fhir"),
];
/// Limits of the tested reader, in bytes and files.
const MAX_RECORD: usize = 4096;
const MAX_EXPANDED: usize = 1 << 16;
const MAX_ENTRIES: usize = 32;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().build().expect("a runtime"));

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("lethe-fuzz-message-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
});

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    reading: u8,
    content: Content<'a>,
    gzip: bool,
    /// Changed bytes, by their positions from the end.
    damage: Vec<(u16, u8)>,
    /// Number of bytes cut off at the end.
    cut: u8,
}

#[derive(Arbitrary, Debug)]
enum Content<'a> {
    Bytes(&'a [u8]),
    Tar(Vec<&'a [u8]>),
    Zip(Vec<&'a [u8]>),
}

impl Input<'_> {
    fn file(&self) -> Vec<u8> {
        let mut file = match &self.content {
            Content::Bytes(bytes) => bytes.to_vec(),
            Content::Tar(files) => archive::tar(files),
            Content::Zip(files) => archive::zip(files),
        };
        if self.gzip {
            file = archive::gzip(&file);
        }
        store::damage(&mut file, &self.damage);
        file.truncate(file.len().saturating_sub(usize::from(self.cut)));
        file
    }

    /// The files of an archive that is sound and within the limits, none of which is an archive.
    fn sound(&self) -> Option<&[&[u8]]> {
        let files = match &self.content {
            Content::Tar(files) => files,
            // A ZIP archive in a gzip file is refused.
            Content::Zip(files) if !self.gzip => files,
            Content::Bytes(_) | Content::Zip(_) => return None,
        };
        let bytes: usize = files.iter().map(|file| file.len() + 1024).sum();
        let fits = files.len() <= MAX_ENTRIES && bytes + 1024 <= MAX_EXPANDED;
        let whole = self.damage.is_empty() && self.cut == 0 && fits;
        let plain = |file: &&[u8]| file.len() <= MAX_RECORD && !is_compressed_or_archive(file);
        (whole && !files.is_empty() && files.iter().all(plain)).then_some(files)
    }
}

fuzz_target!(|input: Input<'_>| {
    let (framing, format) = READINGS[usize::from(input.reading) % READINGS.len()];
    let settings = format!(
        "input = {:?}\nframing = {framing:?}\nmax_record_bytes = {MAX_RECORD}\n\
         archives = {{ max_entries = {MAX_ENTRIES}, max_expanded_bytes = {MAX_EXPANDED} }}\n",
        *FOLDER
    );
    let config: MessageFilesConfig = toml::from_str(&settings).expect("these settings are valid");
    let format: FormatConfig =
        toml::from_str(&format!("kind = {format:?}")).expect("a format without settings");
    let file = input.file();
    let path = FOLDER.join("messages");
    std::fs::write(&path, &file).expect("the file is written");
    let found = config.find(&format, RUNTIME.handle()).expect("there is one file");
    let mut payloads = Vec::new();
    for found in found.named() {
        for (number, record) in found.records().enumerate() {
            let record = record.expect("the system gives the file");
            assert_eq!(
                record.at.offset, number as i64,
                "records are numbered without a gap"
            );
            payloads.push(record.payload.map(|payload| payload.0).ok());
        }
    }
    let sizes: Vec<usize> = payloads.iter().flatten().map(Vec::len).collect();
    assert!(
        sizes.iter().all(|&size| size <= MAX_RECORD),
        "a payload is over its bound"
    );
    assert!(
        sizes.iter().sum::<usize>() <= file.len() + MAX_EXPANDED,
        "a file expands beyond its bound"
    );
    if let (Some(files), "whole") = (input.sound(), framing) {
        let files: Vec<_> = files.iter().map(|file| Some(file.to_vec())).collect();
        assert!(payloads == files, "a file of an archive comes out as another");
    }
});
