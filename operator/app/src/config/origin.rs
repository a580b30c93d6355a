//! Where a configuration was read from, and the files that its secrets are in: they may change while the program runs.

use std::fmt;
use std::path::{Path, PathBuf};

use lethe_connectors::format::FormatConfig;
use lethe_policy::Keys;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

#[cfg(feature = "kafka")]
use super::SourceConfig;
use super::load::parse_in;
use super::paths::Base;
use super::{Config, EmitConfig};

/// A file that a configuration is filled in from (`${file:PATH}`), or that it names and that is read once.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretFile {
    /// The key whose value needs it, with its tables: `source.security.password`.
    pub(crate) key: String,
    path: PathBuf,
    /// The digest of its content when it was read. `None` if it could not be read.
    digest: Option<[u8; 32]>,
}

impl SecretFile {
    /// A file that was read just now.
    pub(super) fn read(key: &str, path: &Path, content: &[u8]) -> Self {
        Self {
            key: key.to_owned(),
            path: path.to_owned(),
            digest: Some(Sha256::digest(content).into()),
        }
    }

    /// A file that will be read.
    fn named(key: &str, path: &Path) -> Self {
        Self {
            key: key.to_owned(),
            path: path.to_owned(),
            digest: digest(path),
        }
    }

    /// The file as it is now, if it is another. One that is empty or not there is on its way.
    pub(crate) fn changed(&self) -> Option<Self> {
        let now = digest(&self.path).filter(|now| self.digest.as_ref() != Some(now))?;
        Some(Self {
            digest: Some(now),
            ..self.clone()
        })
    }

    /// Whether the other is the same place in the configuration.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        (&self.key, &self.path) == (&other.key, &other.path)
    }
}

impl fmt::Display for SecretFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path.display(), self.key)
    }
}

fn digest(path: &Path) -> Option<[u8; 32]> {
    let content = Zeroizing::new(std::fs::read(path).ok()?);
    (!content.is_empty()).then(|| Sha256::digest(&*content).into())
}

/// What a configuration was read from. Prints nothing: its text may hold a secret.
#[derive(Clone, Default)]
pub(crate) struct Origin {
    text: Zeroizing<String>,
    name: String,
    base: Base,
    files: Vec<SecretFile>,
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Origin")
    }
}

impl Origin {
    pub(super) fn new(text: &str, name: &str, base: Base, files: Vec<SecretFile>) -> Self {
        Self {
            text: text.to_owned().into(),
            name: name.to_owned(),
            base,
            files,
        }
    }
}

impl Config {
    /// The files that its secrets are in, as they were when it was read. Those that are read at each use are not among them.
    pub(crate) fn secret_files(&self) -> &[SecretFile] {
        &self.origin.files
    }

    /// The same configuration with its files read again. What else its own file says by now does not count.
    ///
    /// # Errors
    /// As of reading it first: a file may be gone.
    pub(crate) fn again(&self) -> anyhow::Result<Self> {
        parse_in(&self.origin.text, &self.origin.name, &self.origin.base)
    }

    /// The files that it names.
    pub(super) fn named_files(&self) -> Vec<SecretFile> {
        let mut files = Vec::new();
        #[cfg(feature = "kafka")]
        if let Some(SourceConfig::Kafka(kafka)) = &self.source {
            let of = |(key, path)| SecretFile::named(&format!("source.security.{key}"), path);
            files.extend(kafka.security.files().into_iter().map(of));
        }
        let ca = self.sink.as_ref().and_then(|sink| sink.store.ca());
        files.extend(ca.map(|path| SecretFile::named("sink.store.ca", path)));
        match &self.emit {
            #[cfg(feature = "kafka")]
            Some(EmitConfig::Kafka(kafka)) => {
                let of = |(key, path)| SecretFile::named(&format!("emit.security.{key}"), path);
                files.extend(kafka.security.files().into_iter().map(of));
            }
            Some(EmitConfig::Files { store, .. }) => {
                files.extend(store.ca().map(|path| SecretFile::named("emit.store.ca", path)));
            }
            _ => {}
        }
        let registry = match &self.format {
            FormatConfig::Avro(avro) => avro.registry.as_ref(),
            FormatConfig::Protobuf(protobuf) => protobuf.registry.as_ref(),
            _ => None,
        };
        let ca = registry.and_then(|registry| registry.ca.as_deref());
        files.extend(ca.map(|path| SecretFile::named("format.registry.ca", path)));
        let policy = self.engine.policy.as_ref();
        if let Some(Keys::File(path)) = policy.and_then(|policy| policy.file.keys.as_ref()) {
            files.push(SecretFile::named("policy.keys.file", path));
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use crate::config::parse;

    #[test]
    fn a_file_that_changes_is_told_with_its_key_and_one_that_is_emptied_or_gone_is_not() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("password");
        std::fs::write(&path, "one").unwrap();
        let text = format!(
            "[source]\nkind = \"kafka\"\nbrokers = [\"b:1\"]\ntopics = [\"t\"]\ngroup = \"g\"\n\
             security = {{ protocol = \"sasl\", mechanism = \"PLAIN\", user = \"u\", password = \"${{file:{}}}\" }}\n",
            path.display()
        );
        let config = parse(&text, "lethe.toml").unwrap();
        let [file] = config.secret_files() else {
            panic!("one file");
        };
        assert_eq!(file.key, "source.security.password");
        assert!(file.changed().is_none());
        std::fs::write(&path, "").unwrap();
        assert!(file.changed().is_none());
        std::fs::remove_file(&path).unwrap();
        assert!(file.changed().is_none());
        std::fs::write(&path, "two").unwrap();
        let now = file.changed().unwrap();
        assert!(now.is_at(file) && now.changed().is_none());
        assert_ne!(format!("{:?}", config.again().unwrap()), "");
        let printed = format!("{now} {:?}", config.again().unwrap());
        assert!(!printed.contains("two"), "{printed}");
    }

    #[test]
    fn files_that_are_named_are_looked_at_too() {
        let text = "[source]\nkind = \"kafka\"\nbrokers = [\"b:1\"]\ntopics = [\"t\"]\ngroup = \"g\"\n\
                    security = { protocol = \"tls\", ca = \"/ca\", certificate = \"/c\", key = \"/k\" }\n\
                    [sink]\nstore = { kind = \"s3\", bucket = \"b\", ca = \"/s\" }\n\
                    [policy]\nmode = \"custom\"\nkeys = { file = \"/keys\" }\n";
        let config = parse(text, "lethe.toml").unwrap();
        let keys: Vec<&str> = config
            .secret_files()
            .iter()
            .map(|file| file.key.as_str())
            .collect();
        let expected = [
            "source.security.ca",
            "source.security.certificate",
            "source.security.key",
            "sink.store.ca",
            "policy.keys.file",
        ];
        assert_eq!(keys, expected);
    }
}
