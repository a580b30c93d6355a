//! Builds archives with a sound structure and contents that the fuzzer chooses.

use std::io::Write as _;

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};

/// Bytes of a tar block.
const BLOCK: usize = 512;

/// Returns a tar archive (POSIX.1-2001, "ustar Interchange Format") of files with the names `0`, `1`, ...
pub fn tar(files: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, content) in files.iter().enumerate() {
        let mut header = [0; BLOCK];
        write_at(&mut header, 0, &number.to_string());
        write_at(&mut header, 124, &format!("{:011o}", content.len()));
        write_at(&mut header, 148, "        ");
        write_at(&mut header, 156, "0");
        write_at(&mut header, 257, "ustar\x0000");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        write_at(&mut header, 148, &format!("{sum:06o}\0 "));
        out.extend_from_slice(&header);
        out.extend_from_slice(content);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    out.extend_from_slice(&[0; 2 * BLOCK]);
    out
}

fn write_at(header: &mut [u8; BLOCK], at: usize, field: &str) {
    header[at..at + field.len()].copy_from_slice(field.as_bytes());
}

/// Returns a ZIP archive of files with the names `0`, `1`, ...: see [`zip_named`].
pub fn zip(files: &[&[u8]]) -> Vec<u8> {
    let names: Vec<String> = (0..files.len()).map(|number| number.to_string()).collect();
    let named: Vec<(&str, &[u8])> = names
        .iter()
        .map(String::as_str)
        .zip(files.iter().copied())
        .collect();
    zip_named(&named)
}

/// Returns a ZIP archive (PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16) of files with these names, of
/// which every second one is deflated.
pub fn zip_named(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for (number, &(name, content)) in files.iter().enumerate() {
        let at = out.len() as u32;
        let mut sum = Crc::new();
        sum.update(content);
        let (method, packed) = match number % 2 {
            0 => (0_u16, content.to_vec()),
            _ => (8, deflated(content)),
        };
        // Version, flags, method, time and date, checksum, sizes and lengths: the same in both headers.
        let mut fields = Vec::new();
        for short in [20, 0, method, 0, 0] {
            fields.extend_from_slice(&short.to_le_bytes());
        }
        for long in [sum.sum(), packed.len() as u32, content.len() as u32] {
            fields.extend_from_slice(&long.to_le_bytes());
        }
        for short in [name.len() as u16, 0] {
            fields.extend_from_slice(&short.to_le_bytes());
        }
        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&fields);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&packed);
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&fields);
        // No comment, disk 0, no attributes.
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let at = out.len() as u32;
    let count = (files.len() as u16).to_le_bytes();
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    out.extend_from_slice(&count);
    out.extend_from_slice(&count);
    out.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    out.extend_from_slice(&at.to_le_bytes());
    out.extend_from_slice(&[0; 2]);
    out
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("memory takes every byte");
    encoder.finish().expect("memory takes every byte")
}

/// Returns the bytes as one gzip member.
pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("memory takes every byte");
    encoder.finish().expect("memory takes every byte")
}
