//! Reads a keyring from a file that only its owner can read, or from an environment variable.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::{KeyError, Keyring, SECRET_BYTES};

/// The longest keyring; a longer file was named by mistake.
const LONGEST: u64 = 1 << 20;

impl Keyring {
    /// Reads a file in the format of [`Keyring::parse`].
    ///
    /// On Unix the file must not be readable or writable by its group or by others: mode 0600 or 0400. (A
    /// cluster that can only mount secrets readable by a group passes the keys by the environment instead:
    /// [`Keyring::from_env`].)
    ///
    /// # Errors
    ///
    /// [`KeyError::Unreadable`], [`KeyError::Exposed`], and those of [`Keyring::parse`].
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let unreadable = |source| KeyError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(unreadable)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The open file is checked and not the path, so that nobody can replace it in between.
            let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o7777;
            if mode & 0o077 != 0 {
                return Err(KeyError::Exposed {
                    path: path.to_owned(),
                    mode,
                });
            }
        }
        // The buffer has room for all of it: one that grows would leave copies of keys in freed memory.
        let mut text = Zeroizing::new(String::with_capacity(LONGEST as usize + 1));
        file.take(LONGEST + 1)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        if text.len() as u64 > LONGEST {
            return Err(KeyError::Form {
                line: 1,
                what: "the file is longer than 1 MiB, the limit of a keyring",
            });
        }
        Self::parse(&text)
    }

    /// Reads the environment variable of this name, in a format of [`Keyring::parse_short`].
    ///
    /// # Errors
    ///
    /// [`KeyError::NotSet`] and those of [`Keyring::parse_short`].
    pub fn from_env(name: &str) -> Result<Self, KeyError> {
        match std::env::var(name) {
            Ok(text) if !text.trim().is_empty() => Self::parse_short(&Zeroizing::new(text)),
            _ => Err(KeyError::NotSet {
                name: name.to_owned(),
            }),
        }
    }

    /// Returns a new key of this id as a `[[keys]]` table, ready to be written to a file of mode 0600. Its
    /// state is `current`.
    ///
    /// # Errors
    ///
    /// [`KeyError::Form`] if the id is invalid, [`KeyError::Random`].
    pub fn new_key(id: &str) -> Result<Zeroizing<String>, KeyError> {
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        getrandom::fill(secret.as_mut()).map_err(|_| KeyError::Random)?;
        let secret = Zeroizing::new(STANDARD.encode(*secret));
        let table = Zeroizing::new(format!(
            "[[keys]]\nid = \"{}\"\nsecret = \"{}\"\nstate = \"current\"\n",
            id.replace(['"', '\\', '\n'], " "),
            *secret
        ));
        // An invalid key is refused now rather than when it is used.
        Self::parse(&table)?;
        Ok(table)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The numbers 0 to 31, each times 7 plus 3, then 255 twice.
    pub(crate) const SECRET_A: &str = "AwoRGB8mLTQ7QklQV15lbHN6gYiPlp2kq7K5wMfO1dz//w==";
    pub(crate) const SECRET_A_HEX: &str =
        "030a11181f262d343b424950575e656c737a81888f969da4abb2b9c0c7ced5dcffff";
    pub(crate) const SECRET_B: &str = "f29a1c40d7e85b3361fe07ca9284bd15a0c35e76892b1d4f60e7f8a9cb3d2e51";

    fn file(mode: u32) -> (tempfile::TempDir, std::path::PathBuf) {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        std::fs::write(&path, format!("[[keys]]\nid = \"a\"\nsecret = \"{SECRET_A}\"\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn a_file_of_its_owner_alone_is_read() {
        for mode in [0o600, 0o400] {
            let (_folder, path) = file(mode);
            assert_eq!(Keyring::read(&path).unwrap().current().id(), "a");
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_the_cure() {
        for mode in [0o644, 0o640, 0o604, 0o620, 0o610] {
            let (_folder, path) = file(mode);
            let error = Keyring::read(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("mode {mode:04o}")), "{error}");
            assert!(
                error.ends_with(&format!("run `chmod 600 {}`", path.display())),
                "{error}"
            );
        }
    }

    #[test]
    fn a_missing_file_and_a_folder_are_told_as_unreadable() {
        let (folder, path) = file(0o600);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Keyring::read(&path), Err(KeyError::Unreadable { .. })));
        assert!(Keyring::read(folder.path()).is_err());
    }

    #[test]
    fn an_endless_file_is_refused_in_bounded_memory() {
        let (_folder, path) = file(0o600);
        std::fs::write(&path, "#".repeat(LONGEST as usize + 1)).unwrap();
        let error = Keyring::read(&path).unwrap_err().to_string();
        assert_eq!(
            error,
            "line 1: the file is longer than 1 MiB, the limit of a keyring"
        );
    }

    #[test]
    fn a_variable_that_is_not_set_is_told_by_its_name() {
        let error = Keyring::from_env("LETHE_NO_SUCH_KEYS").unwrap_err().to_string();
        assert!(error.contains("LETHE_NO_SUCH_KEYS"), "{error}");
    }

    #[test]
    fn a_new_key_is_one_that_is_read_and_never_the_same() {
        let (one, two) = (Keyring::new_key("k-1").unwrap(), Keyring::new_key("k-1").unwrap());
        assert_eq!(Keyring::parse(&one).unwrap().current().id(), "k-1");
        assert_ne!(*one, *two);
        assert!(Keyring::new_key("no id").is_err());
        assert!(Keyring::new_key("a\"\nstate = \"retired").is_err());
    }
}
