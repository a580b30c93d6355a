//! Files of messages: each layout and each kind of archive yields one record per message, and archive bombs
//! yield one quarantined record.

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use lethe_connectors::files::{Codes, FileError, FilePayload, MessageFile, MessageFilesConfig};
use lethe_connectors::format::FormatConfig;
use lethe_connectors::store::StoreConfig;
use proptest::prelude::*;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::folder;

fn message(n: usize) -> String {
    format!("MSH|^~\\&|SCRIBE|||||||C-{n}\rNTE|1||Seen in room {n}.\r")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a tar archive of files (POSIX `ustar`).
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in files {
        let mut header = [0; 512];
        let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
        put(0, name.as_bytes());
        put(124, format!("{:011o}", content.len()).as_bytes());
        put(148, b"        ");
        put(156, if name.ends_with('/') { b"5" } else { b"0" });
        put(257, b"ustar\x0000");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.extend(header);
        archive.extend(*content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

/// Returns a ZIP archive of files, deflated except for names that end in `.stored`. `break_sums` writes wrong
/// checksums.
fn zip(files: &[(&str, &[u8])], break_sums: bool) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let stored = name.ends_with(".stored");
        let packed = if stored {
            content.to_vec()
        } else {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        };
        let mut sum = flate2::Crc::new();
        sum.update(content);
        let mut common = vec![20, 0, 0, 0, if stored { 0 } else { 8 }, 0, 0, 0, 0, 0];
        common.extend((sum.sum() ^ u32::from(break_sums)).to_le_bytes());
        common.extend((packed.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        let at = archive.len() as u32;
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(name.as_bytes());
        archive.extend(packed);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (at, length, count) = (archive.len() as u32, directory.len() as u32, files.len() as u16);
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([length.to_le_bytes(), at.to_le_bytes()].concat());
    archive.extend([0, 0]);
    archive
}

fn files(runtime: &Runtime, format: &str, input: &Path, more: &str) -> Result<Vec<MessageFile>, FileError> {
    let config = format!("input = {:?}\nnames = \"paths\"\n{more}", input.to_str().unwrap());
    let config: MessageFilesConfig = toml::from_str(&config).unwrap();
    let format: FormatConfig = toml::from_str(&format!("kind = {format:?}")).unwrap();
    Ok(config.find(&format, runtime.handle())?.named())
}

/// Returns each record as `topic@offset=payload`, with `/` for segment ends, or the reason of its quarantine.
fn told(file: &MessageFile) -> Vec<String> {
    let one = |record: Result<FilePayload, FileError>| {
        let FilePayload { at, payload } = record.unwrap();
        let payload = payload.map_or_else(
            |why| format!("!{why}"),
            |payload| {
                let text = String::from_utf8_lossy(&payload.0).trim_end().replace('\r', "/");
                format!("={}", text.replace("MSH|^~\\&|SCRIBE|||||||", ""))
            },
        );
        format!("{}@{}{payload}", at.topic, at.offset)
    };
    file.records().map(one).collect()
}

fn all(format: &str, input: &Path, more: &str) -> Vec<String> {
    let runtime = Runtime::new().unwrap();
    files(&runtime, format, input, more)
        .unwrap()
        .iter()
        .flat_map(told)
        .collect()
}

fn seen(n: usize) -> String {
    format!("C-{n}/NTE|1||Seen in room {n}.")
}

#[test]
fn each_layout_of_hl7v2_gives_its_messages() {
    let (one, two) = (message(1), message(2));
    let layouts: [(&str, Vec<u8>); 7] = [
        (
            "batch",
            format!("FHS|^~\\&|x\rBHS|^~\\&\r{one}{two}BTS|2\rFTS|1\r").into(),
        ),
        ("dump", format!("\u{b}{one}\u{1c}\r\u{b}{two}\u{1c}\r").into()),
        ("lines", format!("{one}{two}").replace('\r', "\n").into()),
        ("several.hl7", format!("{one}{two}").into()),
        ("several.hl7.gz", gzip(format!("{one}{two}").as_bytes())),
        (
            "several.hl7.zst",
            zstd::encode_all(format!("{one}{two}").as_bytes(), 1).unwrap(),
        ),
        (
            "sub/members.gz",
            [gzip(one.as_bytes()), gzip(two.as_bytes())].concat(),
        ),
    ];
    let dir = folder(
        &layouts
            .each_ref()
            .map(|(name, content)| (*name, content.as_slice())),
    );
    let expected: Vec<String> = layouts
        .iter()
        .flat_map(|(name, _)| [format!("{name}@0={}", seen(1)), format!("{name}@1={}", seen(2))])
        .collect();
    let all: Vec<String> = all("hl7v2", dir.path(), "")
        .iter()
        .map(|told| told.replace('\n', "/"))
        .collect();
    assert_eq!(all, expected);
}

#[test]
fn files_of_an_archive_are_read_in_their_order_and_hidden_ones_left_out() {
    let (one, two, three) = (message(1), message(2), message(3));
    let (one, packed) = (one.as_bytes(), gzip([two, three].concat().as_bytes()));
    let archived: &[(&str, &[u8])] = &[
        ("a/", b""),
        ("a/b.stored", one),
        ("a/._b.hl7", b"fork"),
        ("__MACOSX/b.hl7", b"fork"),
        ("c.hl7.gz", &packed),
        ("empty.hl7", b""),
        ("d.hl7", one),
    ];
    let tar = tar(archived);
    let dir = folder(&[
        ("x.tar", &tar),
        ("x.tgz", &gzip(&tar)),
        ("x.zip", &zip(archived, false)),
    ]);
    let all = all("hl7v2", dir.path(), "");
    let of = |name: &str| -> Vec<String> {
        let messages = [1, 2, 3, 1].into_iter().enumerate();
        messages
            .map(|(offset, n)| format!("{name}@{offset}={}", seen(n)))
            .collect()
    };
    assert_eq!(all, [of("x.tar"), of("x.tgz"), of("x.zip")].concat());
}

#[test]
fn an_archive_that_expands_without_end_is_one_quarantined_record_and_the_rest_goes_on() {
    let zeros = vec![b' '; 3 << 20];
    let bomb = gzip(&zeros);
    assert!(bomb.len() < 10_000);
    let (one, two) = (message(1), message(2));
    let many: Vec<(&str, &[u8])> = vec![("n.hl7", one.as_bytes()); 20];
    let dir = folder(&[
        ("a.gz", &bomb),
        (
            "b.tgz",
            &gzip(&tar(&[("one.hl7", one.as_bytes()), ("zeros", &zeros)])),
        ),
        (
            "c.zip",
            &zip(
                &[
                    ("one.hl7", one.as_bytes()),
                    ("zeros", &zeros),
                    ("two.hl7", two.as_bytes()),
                ],
                false,
            ),
        ),
        ("d.gz", &gzip(&bomb)),
        ("e.tar", &tar(&many)),
        ("f.hl7", two.as_bytes()),
    ]);
    let limits = "archives = { max_entries = 10, max_expanded_bytes = 2097152 }";
    let all = all("hl7v2", dir.path(), limits);
    let expected = [
        "a.gz@0!too_large:archive".to_owned(),
        format!("b.tgz@0={}", seen(1)),
        "b.tgz@1!too_large:archive".to_owned(),
        format!("c.zip@0={}", seen(1)),
        "c.zip@1!too_large:archive".to_owned(),
        "d.gz@0!unsupported_type:archive".to_owned(),
    ];
    assert_eq!(all[..6], expected);
    let of = |name: &str| all.iter().filter(|told| told.starts_with(name)).count();
    assert_eq!((of("e.tar"), of("f.hl7")), (11, 1));
    assert_eq!(all[16], "e.tar@10!too_large:archive");
}

#[test]
fn a_damaged_archive_gives_what_is_whole_and_one_quarantined_record() {
    let (one, two) = (message(1), message(2));
    let archived: &[(&str, &[u8])] = &[("a.hl7", one.as_bytes()), ("b.hl7", two.as_bytes())];
    let cut = |bytes: Vec<u8>, less: usize| bytes[..bytes.len() - less].to_vec();
    let noise: Vec<u8> = (0..400_u32)
        .flat_map(|n| message(n as usize).into_bytes())
        .collect();
    let dir = folder(&[
        ("a.gz", &cut(gzip(&noise), 300)),
        ("b.tar", &cut(tar(archived), 1024 + 512)),
        ("c.zip", &zip(archived, true)),
        ("d.zip", &cut(zip(archived, false), 30)),
        ("e.zip", b"PK\x03\x04 and no more"),
        (
            "f.zip",
            &zip(
                &[("in.zip", &zip(archived, false)), ("b.hl7", two.as_bytes())],
                false,
            ),
        ),
    ]);
    let all = all("hl7v2", dir.path(), "");
    let of = |name: &str| -> Vec<&str> { all.iter().filter_map(|told| told.strip_prefix(name)).collect() };
    let gz = of("a.gz");
    assert!(
        gz.len() > 10 && gz[..gz.len() - 1].iter().all(|told| told.contains("=C-")),
        "{gz:?}"
    );
    assert!(gz[gz.len() - 1].ends_with("!damaged:archive"));
    assert_eq!(
        of("b.tar"),
        [format!("@0={}", seen(1)).as_str(), "@1!damaged:archive"]
    );
    assert_eq!(of("c.zip"), ["@0!damaged:archive", "@1!damaged:archive"]);
    assert_eq!(of("d.zip"), ["@0!damaged:archive"]);
    assert_eq!(of("e.zip"), ["@0!damaged:archive"]);
    assert_eq!(
        of("f.zip"),
        ["@0!unsupported_type:archive", format!("@1={}", seen(2)).as_str()]
    );
}

#[test]
fn a_record_over_the_limit_is_quarantined_and_the_next_one_read() {
    let text = [
        message(1),
        message(2).replace("Seen", &"Seen ".repeat(100)),
        message(3),
    ]
    .concat();
    let dir = folder(&[("a.hl7", text.as_bytes())]);
    assert_eq!(
        all("hl7v2", dir.path(), "max_record_bytes = 100"),
        [
            format!("a.hl7@0={}", seen(1)),
            "a.hl7@1!too_large".into(),
            format!("a.hl7@2={}", seen(3))
        ]
    );
}

#[test]
fn endings_choose_files_whatever_compresses_them() {
    let (text, packed) = (message(1), gzip(message(1).as_bytes()));
    let dir = folder(&[
        ("a.HL7", text.as_bytes()),
        ("b.hl7.gz", &packed),
        ("c.pdf", text.as_bytes()),
        (
            "d.zip",
            &zip(&[("x.hl7", text.as_bytes()), ("y.pdf", b"no")], false),
        ),
        (".e.hl7", text.as_bytes()),
    ]);
    let all = all("hl7v2", dir.path(), "endings = [\".hl7\"]");
    assert_eq!(all.len(), 3);
    let runtime = Runtime::new().unwrap();
    let none = files(&runtime, "hl7v2", dir.path(), "endings = [\".adt\", \".oru\"]\n");
    assert_eq!(none.unwrap().len(), 1, "archives are looked into");
    std::fs::remove_file(dir.path().join("d.zip")).unwrap();
    let none = files(&runtime, "hl7v2", dir.path(), "endings = [\".adt\", \".oru\"]\n")
        .err()
        .unwrap();
    assert!(none.to_string().contains(".adt, .oru"), "{none}");
}

#[test]
fn a_file_that_is_gone_yields_no_record_so_that_it_can_be_read_later() {
    let dir = folder(&[("a.hl7", message(1).as_bytes())]);
    let runtime = Runtime::new().unwrap();
    let files = files(&runtime, "hl7v2", dir.path(), "").unwrap();
    std::fs::remove_file(dir.path().join("a.hl7")).unwrap();
    let records: Vec<_> = files[0].records().collect();
    assert!(matches!(records[..], [Err(FileError::Unreadable { .. })]));
}

#[test]
fn files_of_one_record_share_a_chain_and_archives_among_them_do_not() {
    let archived: &[(&str, &[u8])] = &[("x.xml", b"<a/>"), ("y.xml", b"<b/>")];
    let dir = folder(&[
        ("a.xml", b"<one/>"),
        ("b.zip", &zip(archived, false)),
        ("c.xml", b"<two/>"),
        ("d.xml", &zip(archived, false)),
        ("e.xml.gz", &gzip(b"<three/>")),
    ]);
    let place = TempDir::new().unwrap();
    let codes: StoreConfig =
        serde_json::from_value(serde_json::json!({"kind": "folder", "path": place.path().join("codes")}))
            .unwrap();
    let runtime = Runtime::new().unwrap();
    let config: MessageFilesConfig = toml::from_str(&format!("input = {:?}", dir.path())).unwrap();
    let format: FormatConfig = toml::from_str("kind = \"cda\"").unwrap();
    let read = || -> Vec<(String, i64, String)> {
        let mut codes = Codes::open(&codes, "in", runtime.handle().clone()).unwrap();
        let files = config
            .find(&format, runtime.handle())
            .unwrap()
            .coded(&mut codes)
            .unwrap();
        let records = files.iter().flat_map(MessageFile::records);
        let told = records.map(|record| {
            let FilePayload { at, payload } = record.unwrap();
            let what = payload.map_or_else(
                |why| why.to_string(),
                |payload| String::from_utf8(payload.0).unwrap(),
            );
            (at.topic.to_string(), at.offset, what)
        });
        told.collect()
    };
    let first = read();
    let told: Vec<(i64, &str)> = first
        .iter()
        .map(|(_, offset, what)| (*offset, what.as_str()))
        .collect();
    let expected = [
        (0, "<a/>"),
        (1, "<b/>"),
        (0, "<one/>"),
        (1, "<two/>"),
        (2, "unsupported_type:archive"),
        (3, "<three/>"),
    ];
    assert_eq!(told, expected);
    assert_eq!(first[0].0, first[1].0);
    assert!(first[2..].iter().all(|(topic, ..)| *topic == first[2].0));
    assert_ne!(first[0].0, first[2].0);
    std::fs::write(dir.path().join("bb.xml"), "<four/>").unwrap();
    let second = read();
    assert_eq!(second[..6], first);
    assert_eq!((second[6].1, second[6].2.as_str()), (0, "<four/>"));
}

#[cfg(unix)]
#[test]
fn the_list_of_codes_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = TempDir::new().unwrap();
    let path = place.path().join("private/codes");
    let codes: StoreConfig =
        serde_json::from_value(serde_json::json!({"kind": "folder", "path": path})).unwrap();
    let runtime = Runtime::new().unwrap();
    Codes::open(&codes, "in", runtime.handle().clone()).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_damage_to_an_archive_ends_in_records(kind in 0..5_u8, damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), cut in prop::option::of(any::<prop::sample::Index>())) {
        let (one, two) = (message(1), message(2));
        let archived: &[(&str, &[u8])] = &[("a.hl7", one.as_bytes()), ("b.stored", two.as_bytes())];
        let mut bytes = match kind {
            0 => tar(archived),
            1 => zip(archived, false),
            2 => gzip(one.as_bytes()),
            3 => gzip(&tar(archived)),
            _ => zstd::encode_all(two.as_bytes(), 1).unwrap(),
        };
        for (at, byte) in damage {
            // Header and directory are short, and most damage is there.
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let dir = folder(&[("a", &bytes)]);
        let all = all("hl7v2", dir.path(), "");
        prop_assert!(all.len() <= 20, "{:?}", all);
    }
}
