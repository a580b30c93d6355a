//! A file that is written aside and then named without replacing an existing one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A locked temporary file, removed when it is dropped. Links to it stay.
pub(super) struct Temporary {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

impl Temporary {
    pub(super) fn new(aside: &Path) -> io::Result<Self> {
        let path = aside.join(format!("{}.partial", uuid::Uuid::new_v4()));
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let temporary = Self { path, file };
        match temporary.file.try_lock() {
            Ok(()) => Ok(temporary),
            // Taken for abandoned, and about to be removed. Without locks nothing is removed.
            Err(TryLockError::WouldBlock) => Err(ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(_)) => Ok(temporary),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // If it was renamed or taken for abandoned, it no longer exists, as desired.
        drop(fs::remove_file(&self.path));
    }
}

/// Names the file at `from` `to`, unless that name is taken.
pub(super) fn link_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        // The errors of file systems without links: EPERM (Linux), EOPNOTSUPP, ENOSYS, EMLINK.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::Unsupported | ErrorKind::TooManyLinks
            ) =>
        {
            rename_without_replacing(from, to)
        }
        linked => linked,
    }
}

#[cfg(target_os = "linux")]
fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(|errno| match errno {
        rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS => ErrorKind::Unsupported.into(),
        errno => errno.into(),
    })
}

#[cfg(not(target_os = "linux"))]
fn rename_without_replacing(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rename_that_does_not_replace_serves_where_links_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two, name] = ["one", "two", "name"].map(|file| folder.path().join(file));
        fs::write(&one, "one").unwrap();
        fs::write(&two, "two").unwrap();
        rename_without_replacing(&one, &name).unwrap();
        let again = rename_without_replacing(&two, &name).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&name).unwrap(), "one");
    }
}
