//! What an object's bytes are once they are not compressed.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;

use super::blocks::Remote;
use super::{Compression, TableError};

/// Bytes that are read ahead.
const AHEAD: usize = 256 << 10;
/// The most memory that a Zstandard frame may ask for, as a power of two: 128 MiB, what the `zstd` tool allows.
const WINDOW: u32 = 27;

/// The object's content.
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

/// What a failed read means, after `rows` rows: the store's error, or bytes that are not what their name says.
pub(super) fn failed(remote: &Remote, rows: i64, error: &io::Error) -> TableError {
    let problem = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends in the middle",
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => "its compressed data are damaged",
        _ => "it cannot be decompressed",
    };
    remote.why(|| {
        TableError::broken(
            remote.label(),
            format!("after row {rows}: {problem}; export it again"),
        )
    })
}
