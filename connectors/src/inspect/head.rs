//! Heads: digests of chains' last files, stored elsewhere. A chain vouches for all of its files except the
//! last, whose digest is the head.

use crate::sink::is_digest;

/// The digest of a notes file when it was the chain's last. The chain may have grown since.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Head {
    /// SHA-256 of the file, hex.
    pub digest: String,
    /// The file, if known.
    pub file: Option<String>,
}

impl Head {
    /// Parses a head as an inspection or `sha256sum` prints it, `DIGEST FILE`, or a digest alone.
    pub fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        let line = line.strip_prefix("head ").unwrap_or(line).trim_start();
        let (digest, file) = match line.split_once(char::is_whitespace) {
            Some((digest, file)) => (digest, Some(file.trim_start_matches([' ', '*']).to_owned())),
            None => (line, None),
        };
        let digest = digest.to_ascii_lowercase();
        is_digest(&digest).then_some(Self { digest, file })
    }

    /// Parses a file of heads: one per line, ignoring empty lines and lines that begin with `#`.
    ///
    /// # Errors
    /// The number of the first invalid line, from 1.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, usize> {
        let lines = text.lines().zip(1..);
        let entries =
            lines.filter(|(line, _)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
        entries
            .map(|(line, number)| Self::parse(line).ok_or(number))
            .collect()
    }

    /// Returns whether it is the head of this file, which must have the head's file name if that is known.
    pub(crate) fn is_of(&self, file: &str, digest: &str) -> bool {
        self.digest == digest && self.file.as_deref().is_none_or(|kept| kept == file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_are_printed_and_as_other_tools_print_them() {
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let file = "notes/topic=a/partition=0/00000000000000000000.parquet";
        let with = Some(Head {
            digest: digest.into(),
            file: Some(file.into()),
        });
        for line in [
            format!("  head {digest}  {file}"),
            format!("{digest}  {file}\n"),
            format!("{digest} *{file}"),
        ] {
            assert_eq!(Head::parse(&line), with, "{line}");
        }
        let alone = Head::parse(&digest.to_uppercase()).unwrap();
        assert_eq!((alone.digest.as_str(), alone.file), (digest, None));
        assert_eq!(
            Head::parse_all(&format!("# kept\n\n{digest}\n")).unwrap().len(),
            1
        );
        assert_eq!(Head::parse_all(&format!("{digest}\nno digest\n")), Err(2));
    }
}
