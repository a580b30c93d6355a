//! A concurrent reader that opens every file as soon as it is visible, to detect files that are visible
//! before they are complete.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::dataset::{files, read_parquet};

/// Watches an output folder until it is ended.
pub(crate) struct FolderMonitor {
    over: Arc<AtomicBool>,
    reader: Option<JoinHandle<Seen>>,
}

/// The observations of a watch.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Files opened and read to their end.
    pub(crate) files: usize,
    /// Files that could not be read when they were first seen, or changed later.
    pub(crate) half_written: Vec<String>,
}

impl FolderMonitor {
    /// Starts to watch a folder, which need not exist yet.
    pub(crate) fn over(folder: &Path) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (flag, folder) = (Arc::clone(&over), folder.to_owned());
        let reader = std::thread::spawn(move || {
            let mut known: HashMap<PathBuf, u64> = HashMap::new();
            let mut seen = Seen::default();
            loop {
                // Read before the folder, so that the last look comes after the last write.
                let last = flag.load(Ordering::SeqCst);
                let began = Instant::now();
                look(&folder, &mut known, &mut seen);
                if last {
                    return seen;
                }
                // A look at many files takes long: the program under test needs most of the processor.
                std::thread::sleep(Duration::from_millis(2).max(4 * began.elapsed()));
            }
        });
        Self {
            over,
            reader: Some(reader),
        }
    }

    /// Ends the watch and returns its observations.
    pub(crate) fn end(mut self) -> Seen {
        self.over.store(true, Ordering::SeqCst);
        self.reader.take().unwrap().join().unwrap()
    }
}

impl Drop for FolderMonitor {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

fn look(folder: &Path, known: &mut HashMap<PathBuf, u64>, seen: &mut Seen) {
    for path in files(folder) {
        let Ok(about) = std::fs::metadata(&path) else {
            seen.half_written.push(format!("{} went away", path.display()));
            continue;
        };
        match known.get(&path) {
            Some(&len) if len == about.len() => {}
            Some(len) => {
                let grown = format!("{}: {len} bytes, then {}", path.display(), about.len());
                seen.half_written.push(grown);
                known.insert(path, about.len());
            }
            None => {
                if let Err(error) = read_parquet(&path) {
                    seen.half_written.push(format!("{}: {error}", path.display()));
                }
                seen.files += 1;
                known.insert(path, about.len());
            }
        }
    }
}
