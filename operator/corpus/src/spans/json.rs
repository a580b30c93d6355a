//! What the JSON formats share: where the notes, their ids and their spans are.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::{NoteSpans, SpanFormat};
use crate::error::{CorpusError, LineError, named};
use crate::format::{extension, file_name};
use crate::places::Claim;

type Object = Map<String, Value>;

/// The keys under which an object may name its note.
const IDS: [&str; 6] = ["doc_id", "note_id", "document_id", "File", "id", "key"];

/// The keys of a JSON format.
pub(super) struct Form {
    /// The list of a note's spans.
    pub(super) list: &'static [&'static str],
    pub(super) start: &'static str,
    pub(super) end: &'static str,
    pub(super) label: &'static [&'static str],
    /// The words of a span.
    pub(super) text: Option<&'static str>,
    /// The text of a note.
    pub(super) text_of_note: Option<&'static str>,
    /// Whether the number of its line names a note without an id.
    pub(super) by_line: bool,
}

/// Returns the format of a file that begins like JSON.
pub(super) fn detect(source: &str) -> SpanFormat {
    match serde_json::from_str::<Value>(source) {
        Ok(value) => of_value(&value),
        Err(_) => source
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .find_map(|value| of_value(&value)),
    }
    .unwrap_or(SpanFormat::Jsonl)
}

/// Returns the format that the keys of a value show; `None` if they show none.
fn of_value(value: &Value) -> Option<SpanFormat> {
    match value {
        Value::Array(values) => values.iter().find_map(of_value),
        Value::Object(object) => {
            let has = |key: &str| object.contains_key(key);
            if has("entity_type") {
                return Some(SpanFormat::Presidio);
            }
            if has("Entities") || has("BeginOffset") {
                return Some(SpanFormat::Comprehend);
            }
            if has("spans") || has("start") && has("end") {
                return Some(SpanFormat::Jsonl);
            }
            object.values().find_map(of_value)
        }
        _ => None,
    }
}

/// Reads one JSON value, or one on each line.
pub(super) fn read(path: &Path, source: &str, form: &Form) -> Result<Vec<NoteSpans>, CorpusError> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if source.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = Reader {
        path,
        form,
        lines: HashMap::new(),
        notes: Vec::new(),
    };
    let lines_by_name = form.by_line && matches!(extension(path), Some("jsonl" | "ndjson"));
    let whole_error = match serde_json::from_str::<Value>(source) {
        Ok(value) => {
            let id = match lines_by_name {
                true => "1".to_owned(),
                false => file_name(path)?,
            };
            reader.value(&value, source, 1, &id)?;
            return Ok(reader.notes);
        }
        Err(error) => error,
    };
    for (line, number) in source.lines().zip(1..) {
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Value>(line) {
            Ok(value) => reader.value(&value, line, number, &number.to_string())?,
            // Not even the first line is JSON: the value goes over several lines.
            Err(_) if reader.notes.is_empty() => return Err(broken(path, whole_error.line(), &whole_error)),
            Err(error) => return Err(broken(path, number, &error)),
        }
    }
    Ok(reader.notes)
}

/// Returns an error that does not quote the file, as the parser's own could.
fn broken(path: &Path, line: usize, error: &serde_json::Error) -> CorpusError {
    let (column, category) = (error.column(), error.classify());
    CorpusError::at(path, line, LineError::NotJson { column, category })
}

struct Reader<'a> {
    path: &'a Path,
    form: &'a Form,
    /// The line at which each object of the current value begins.
    lines: HashMap<*const Object, usize>,
    notes: Vec<NoteSpans>,
}

impl Reader<'_> {
    /// Adds the notes of a value. `id` names a note that has no id.
    fn value(&mut self, value: &Value, source: &str, first: usize, id: &str) -> Result<(), CorpusError> {
        self.lines = lines_of(value, source, first);
        match value {
            Value::Array(values) if values.iter().all(|value| self.is_note(value)) && !values.is_empty() => {
                for object in values.iter().filter_map(Value::as_object) {
                    self.object(object, first, id)?;
                }
                Ok(())
            }
            Value::Array(values) => self.note(id, false, first, values, None),
            Value::Object(object) if self.is_note(value) => self.object(object, first, id),
            // One entry for each note.
            Value::Object(object) => {
                for (id, value) in object {
                    match value {
                        Value::Array(values) => self.note(id, true, first, values, None)?,
                        Value::Object(inner) => {
                            let line = self.line(inner, first);
                            let spans = self.list(inner).ok_or_else(|| self.wrong(line))?;
                            self.note(id, true, line, spans, self.text(inner))?;
                        }
                        _ => return Err(self.wrong(first)),
                    }
                }
                Ok(())
            }
            _ => Err(self.wrong(first)),
        }
    }

    /// Adds the note or the span of an object.
    fn object(&mut self, object: &Object, first: usize, id: &str) -> Result<(), CorpusError> {
        let line = self.line(object, first);
        let own = IDS.iter().find_map(|key| match object.get(*key)? {
            Value::String(id) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        });
        let (id, named) = own.map_or((id.to_owned(), false), |id| (id, true));
        match self.list(object) {
            Some(spans) => self.note(&id, named, line, spans, self.text(object)),
            None if named => {
                let claim = self.claim(object, first, 0)?;
                self.push(id, named, line, vec![claim], None, true);
                Ok(())
            }
            None => Err(CorpusError::layout(
                self.path,
                line,
                "a span without the id of its note; expected `note_id` or `doc_id`",
            )),
        }
    }

    fn note(
        &mut self,
        id: &str,
        named: bool,
        line: usize,
        spans: &[Value],
        text: Option<String>,
    ) -> Result<(), CorpusError> {
        let claims = spans.iter().enumerate().map(|(index, span)| match span {
            Value::Object(span) => self.claim(span, line, index),
            _ => Err(self.wrong(line)),
        });
        let claims = claims.collect::<Result<_, _>>()?;
        self.push(id.to_owned(), named, line, claims, text, false);
        Ok(())
    }

    fn push(
        &mut self,
        id: String,
        named: bool,
        line: usize,
        claims: Vec<Claim>,
        text: Option<String>,
        single: bool,
    ) {
        self.notes.push(NoteSpans {
            id,
            named,
            file: self.path.to_owned(),
            line,
            text,
            claims,
            single,
        });
    }

    fn claim(&self, span: &Object, line: usize, index: usize) -> Result<Claim, CorpusError> {
        let line = self.line(span, line);
        let form = self.form;
        let number = |key: &str| {
            let number = span.get(key).and_then(Value::as_u64);
            number.and_then(|number| usize::try_from(number).ok())
        };
        let label = form.label.iter().find_map(|key| span.get(*key)?.as_str());
        let (Some(start), Some(end), Some(label)) = (number(form.start), number(form.end), label) else {
            return Err(CorpusError::layout(
                self.path,
                line,
                "a span without its start, its end or its label; name the format with --format if it is another",
            ));
        };
        let score = ["score", "Score"].iter().find_map(|key| span.get(*key)?.as_f64());
        Ok(Claim {
            which: named("span", None, index),
            line,
            parts: vec![(start, end)],
            label: label.to_owned(),
            text: form
                .text
                .and_then(|key| Some(span.get(key)?.as_str()?.to_owned())),
            score: score.map(|score| score as f32),
        })
    }

    /// Returns whether a value is an object with spans of a note, or one span with its note.
    fn is_note(&self, value: &Value) -> bool {
        value.as_object().is_some_and(|object| {
            let id = IDS.iter().any(|key| {
                object
                    .get(*key)
                    .is_some_and(|id| id.is_string() || id.is_number())
            });
            self.list(object).is_some() || id && object.contains_key(self.form.start)
        })
    }

    fn list<'v>(&self, object: &'v Object) -> Option<&'v [Value]> {
        let list = self
            .form
            .list
            .iter()
            .find_map(|key| object.get(*key)?.as_array())?;
        Some(list)
    }

    fn text(&self, object: &Object) -> Option<String> {
        Some(object.get(self.form.text_of_note?)?.as_str()?.to_owned())
    }

    fn line(&self, object: &Object, other: usize) -> usize {
        self.lines
            .get(&std::ptr::from_ref(object))
            .copied()
            .unwrap_or(other)
    }

    fn wrong(&self, line: usize) -> CorpusError {
        CorpusError::layout(
            self.path,
            line,
            "neither spans of a note nor an object of notes with their spans; see docs/compare.md for the forms of each format",
        )
    }
}

/// Returns the line at which each object of a value begins. Objects are met in the order of their braces, since the
/// parser keeps it.
fn lines_of(value: &Value, source: &str, first: usize) -> HashMap<*const Object, usize> {
    let (mut starts, mut line) = (Vec::new(), first);
    let (mut in_string, mut escaped) = (false, false);
    for byte in source.bytes() {
        match byte {
            b'\n' => line += 1,
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' if !in_string => starts.push(line),
            _ => {}
        }
    }
    let mut objects = Vec::with_capacity(starts.len());
    collect(value, &mut objects);
    // A repeated key drops an object, and with it the order.
    match objects.len() == starts.len() {
        true => objects.into_iter().zip(starts).collect(),
        false => HashMap::new(),
    }
}

fn collect(value: &Value, objects: &mut Vec<*const Object>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, objects)),
        Value::Object(object) => {
            objects.push(std::ptr::from_ref(object));
            object.values().for_each(|value| collect(value, objects));
        }
        _ => {}
    }
}
