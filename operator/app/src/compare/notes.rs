//! The notes to compare, with Lethe's spans, and the search for the note that another tool's id means.

use std::collections::{HashMap, HashSet};
use std::io::BufReader;
use std::sync::Arc;

use lethe_connectors::files::{Documents, DocumentsConfig};
use lethe_core::{Engine, NoteBatch, NoteEvent, Record};
use lethe_corpus::{Document, Mark};

use crate::commands::documents::cores;
use crate::redact::{FileKind, Found, Inputs, Item, read_item};

/// Notes per batch.
const BATCH: usize = 32;

/// The notes, with Lethe's spans as `marks`.
#[derive(Default)]
pub(crate) struct Notes {
    pub(super) documents: Vec<Document>,
    /// Inputs that could not be read or decided, with the reasons.
    pub(super) failed: Vec<(String, String)>,
    /// Each name that means one note; `None` for one that means several.
    names: HashMap<String, Option<usize>>,
    ids: HashSet<String>,
}

/// A note before Lethe looked at it.
struct Unread {
    id: String,
    names: Vec<String>,
    record: Record,
}

impl Notes {
    /// Reads the notes of the inputs, and finds Lethe's spans. `progress` receives the number of notes that are done.
    ///
    /// # Errors
    /// If a worker panicked. Notes that cannot be read are no errors.
    pub(crate) fn read(
        inputs: &Inputs,
        engine: &Engine,
        progress: &mut dyn FnMut(u64),
    ) -> anyhow::Result<Self> {
        let mut notes = Self::default();
        let mut unread = Vec::new();
        inputs.each(&mut |found| {
            match found {
                // The spans of a brat pair, not a note.
                Found::Item(item) if item.name.ends_with(".ann") => {}
                Found::Item(item) => {
                    if let Err(why) = notes.open(&item, &mut unread) {
                        notes.failed.push((item.name.clone(), format!("{why:#}")));
                    }
                }
                Found::Bad(name, why) => notes.failed.push((name, why)),
            }
            true
        });
        for part in unread.chunks(BATCH * cores()) {
            notes.decide(part, engine)?;
            progress(part.len() as u64);
        }
        Ok(notes)
    }

    fn open(&mut self, item: &Item, unread: &mut Vec<Unread>) -> anyhow::Result<()> {
        match item.kind {
            FileKind::Jsonl => {}
            FileKind::Csv
            | FileKind::Tsv
            | FileKind::Parquet
            | FileKind::Hl7v2
            | FileKind::Fhir
            | FileKind::Ccda => anyhow::bail!(
                "is a table or has messages, whose notes have no text of their own; give text files or JSON lines"
            ),
            _ => {
                let event = NoteEvent {
                    text: read_item(item)?.as_str().into(),
                    ..NoteEvent::default()
                };
                let names = names_of(&item.name);
                unread.push(Unread {
                    id: names.last().cloned().unwrap_or_default(),
                    names,
                    record: Record::Note(event),
                });
                return Ok(());
            }
        }
        let content = item
            .open(&Arc::default())
            .map_err(|error| anyhow::anyhow!("cannot be read: {error}"))?;
        let reader = BufReader::with_capacity(1 << 18, content);
        for document in Documents::jsonl(reader, &item.name, DocumentsConfig::default())? {
            let document = document?;
            let line = (document.record.at().offset + 1).to_string();
            // The JSON of an id is a string or an integer.
            let own = document
                .id
                .as_ref()
                .map(|id| serde_json::from_str::<String>(&id.json).unwrap_or_else(|_| id.json.clone()));
            let id = own.unwrap_or(line);
            unread.push(Unread {
                names: vec![id.clone()],
                id,
                record: document.record,
            });
        }
        Ok(())
    }

    /// Adds notes with Lethe's spans, on all cores.
    fn decide(&mut self, part: &[Unread], engine: &Engine) -> anyhow::Result<()> {
        let decided = std::thread::scope(|scope| {
            let workers: Vec<_> = part
                .chunks(BATCH)
                .map(|unread| scope.spawn(move || decide(unread, engine)))
                .collect();
            let joined = workers.into_iter().map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err(anyhow::anyhow!("a worker panicked")))
            });
            joined.collect::<anyhow::Result<Vec<_>>>()
        })?;
        for (unread, decided) in part.iter().zip(decided.into_iter().flatten()) {
            match decided {
                Ok((text, marks)) => self.add(unread, text, marks),
                Err(why) => self.failed.push((unread.id.clone(), why)),
            }
        }
        Ok(())
    }

    fn add(&mut self, unread: &Unread, text: String, marks: Vec<Mark>) {
        let at = self.documents.len();
        for name in &unread.names {
            self.names
                .entry(name.clone())
                .and_modify(|note| *note = None)
                .or_insert(Some(at));
        }
        // A longer name, for files with the same name in several folders.
        let mut names = unread.names.iter().rev();
        let free = names.find(|name| !self.ids.contains(*name)).cloned();
        let id = free.unwrap_or_else(|| format!("{} ({})", unread.id, at + 1));
        self.ids.insert(id.clone());
        self.documents.push(Document {
            id,
            patient: None,
            text,
            marks,
        });
    }

    #[cfg(test)]
    pub(super) fn insert(&mut self, document: Document) {
        self.names.insert(document.id.clone(), Some(self.documents.len()));
        self.documents.push(document);
    }

    /// Returns the note that another tool's id means: its id, the name of its file, or this without its extension or
    /// folder.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        let mut names = names_of(id);
        names.insert(0, id.to_owned());
        names
            .iter()
            .find_map(|name| self.names.get(name).copied().flatten())
    }
}

/// Returns the names by which a file may be meant, the longest first.
fn names_of(name: &str) -> Vec<String> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let stem = |name: &str| {
        let end = name.rfind('/').map_or(0, |at| at + 1);
        let dot = name.rfind('.').filter(|&dot| dot > end);
        dot.and_then(|dot| name.get(..dot)).map(str::to_owned)
    };
    let mut names: Vec<String> = Vec::new();
    for one in [
        Some(name.to_owned()),
        stem(name),
        Some(file.to_owned()),
        stem(file),
    ] {
        names.extend(one.filter(|one| !names.contains(one)));
    }
    names
}

type Read = Result<(String, Vec<Mark>), String>;

fn decide(unread: &[Unread], engine: &Engine) -> anyhow::Result<Vec<Read>> {
    let batch = NoteBatch::from_records(unread.iter().map(|note| &note.record))?;
    let outcomes = engine.decide(&batch);
    let each = |(row, outcome): (usize, &lethe_core::Outcome)| match outcome {
        Err(code) => Err(format!("a stream would quarantine this note ({})", code.name())),
        Ok(decisions) => {
            let mark = |decision: &lethe_core::Decision| Mark {
                span: decision.span,
                label: engine.labels().label(decision.label).name.clone(),
                score: Some(decision.score),
            };
            let marks = decisions
                .iter()
                .filter(|one| !one.span.is_empty())
                .map(mark)
                .collect();
            Ok((batch.note(row).text.to_owned(), marks))
        }
    };
    Ok(outcomes.iter().enumerate().map(each).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_meant_by_its_path_its_name_and_without_extension() {
        assert_eq!(
            names_of("a.b/n.1.txt"),
            ["a.b/n.1.txt", "a.b/n.1", "n.1.txt", "n.1"]
        );
        assert_eq!(names_of("n.txt"), ["n.txt", "n"]);
        assert_eq!(names_of("n"), ["n"]);
    }

    #[test]
    fn a_name_that_means_two_notes_means_none() {
        let mut notes = Notes::default();
        for name in ["a/n.txt", "b/n.txt"] {
            let names = names_of(name);
            let unread = Unread {
                id: "n".to_owned(),
                names,
                record: Record::Note(NoteEvent::default()),
            };
            notes.add(&unread, String::new(), Vec::new());
        }
        assert_eq!(notes.find("a/n.json"), Some(0));
        assert_eq!(notes.find("b/n"), Some(1));
        assert_eq!(notes.find("n.txt"), None);
        assert_ne!(notes.documents[0].id, notes.documents[1].id);
    }
}
