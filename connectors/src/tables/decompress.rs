//! Decompresses an object.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;

use super::blocks::Remote;
use super::{Compression, TableError};

/// Bytes to read ahead.
const AHEAD: usize = 256 << 10;
/// Maximum memory of a Zstandard frame, as a power of two: 128 MiB, the limit of the `zstd` tool.
const WINDOW: u32 = 27;

/// Opens the object's content.
pub(super) fn open(
    remote: &Remote,
    compression: Compression,
) -> Result<BufReader<Box<dyn Read + Send>>, TableError> {
    let reader = remote.reader();
    let content: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(reader),
        Compression::Gzip => Box::new(MultiGzDecoder::new(reader)),
        Compression::Zstd => {
            let mut decoder =
                zstd::stream::read::Decoder::new(reader).map_err(|error| failed(remote, 0, &error))?;
            decoder
                .window_log_max(WINDOW)
                .map_err(|error| failed(remote, 0, &error))?;
            Box::new(decoder)
        }
    };
    Ok(BufReader::with_capacity(AHEAD, content))
}

/// Returns the cause of a failed read after `rows` rows: the store's error, or data that does not match the
/// object's name.
pub(super) fn failed(remote: &Remote, rows: i64, error: &io::Error) -> TableError {
    let problem = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends in the middle",
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => "its compressed data is damaged",
        _ => "it cannot be decompressed",
    };
    remote.why(|| {
        TableError::broken(
            remote.label(),
            format!("after row {rows}: {problem}; export it again"),
        )
    })
}
