//! Lists the files of an input: the input itself, or the files of a folder, sorted by name so that every run
//! reads the same order.

use std::path::{Path, PathBuf};

use super::FileError;

/// Folders nested deeper than this are taken for a loop of links.
const DEPTH: usize = 64;

/// One file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Name relative to the input, with `/`; the file's own name if the input is a file.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
}

/// Returns the files of an input. A file counts whatever its extension; of a folder, all files count at any
/// depth that end in one of `endings`, except hidden ones.
pub(super) fn inputs(input: &Path, endings: &[&str]) -> Result<Vec<Input>, FileError> {
    let about = std::fs::metadata(input).map_err(FileError::io(input, "find the input"))?;
    if !about.is_dir() {
        if is_compressed(input) {
            return Err(FileError::Compressed { path: input.into() });
        }
        let name = input.file_name().unwrap_or(input.as_os_str());
        return Ok(vec![Input {
            name: name.to_string_lossy().into_owned(),
            path: input.into(),
        }]);
    }
    let mut found = Vec::new();
    walk(input, "", &|path, _| ends_in(path, endings), 0, &mut found)?;
    if found.is_empty() {
        return Err(FileError::NoFiles {
            path: input.into(),
            endings: endings
                .iter()
                .map(|e| format!(".{e}"))
                .collect::<Vec<_>>()
                .join(", "),
        });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Returns the files of an input whose relative names are `wanted`, sorted by name. An input that is a file
/// always counts; hidden files of a folder never do.
///
/// # Errors
/// [`FileError`] if the input does not exist or cannot be listed.
pub fn find(input: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Input>, FileError> {
    let about = std::fs::metadata(input).map_err(FileError::io(input, "find the input"))?;
    if !about.is_dir() {
        let name = input.file_name().unwrap_or(input.as_os_str());
        return Ok(vec![Input {
            name: name.to_string_lossy().into_owned(),
            path: input.into(),
        }]);
    }
    let mut found = Vec::new();
    walk(input, "", &|_, name| wanted(name), 0, &mut found)?;
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn walk(
    folder: &Path,
    prefix: &str,
    wanted: &dyn Fn(&Path, &str) -> bool,
    depth: usize,
    found: &mut Vec<Input>,
) -> Result<(), FileError> {
    let entries = std::fs::read_dir(folder).map_err(FileError::io(folder, "list the folder"))?;
    for entry in entries {
        let path = entry.map_err(FileError::io(folder, "list the folder"))?.path();
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            continue;
        };
        if name.starts_with('.') {
            continue;
        }
        let about = std::fs::metadata(&path).map_err(FileError::io(&path, "look at the file"))?;
        let relative = format!("{prefix}{name}");
        if about.is_dir() {
            if depth >= DEPTH {
                return Err(FileError::Kind {
                    path,
                    problem: "is nested more than 64 folders deep; check for a link that leads back",
                });
            }
            walk(&path, &format!("{relative}/"), wanted, depth + 1, found)?;
        } else if wanted(&path, &relative) {
            found.push(Input { name: relative, path });
        }
    }
    Ok(())
}

/// Returns whether the file name has one of these endings, in any case.
pub(super) fn ends_in(path: &Path, endings: &[&str]) -> bool {
    path.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| endings.iter().any(|e| ending.eq_ignore_ascii_case(e)))
}

fn is_compressed(path: &Path) -> bool {
    ends_in(path, &["gz", "zst", "bz2", "xz", "zip"])
}
