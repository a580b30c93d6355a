//! Columns under construction: each record adds a row.

use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, Int32Builder, Int64Builder, StringBuilder, UInt8Builder};
use arrow_array::{ArrayRef, RecordBatch, StructArray, TimestampMillisecondArray};

use super::texts::{Texts, list};
use super::{BatchError, NoteBatch, RowKind, known_fields};
use crate::{Enclosed, EventKind, NoteEvent, PatientLink, Record, StructuralText};

/// Columns under construction.
#[derive(Default)]
pub(super) struct Rows {
    topic: StringBuilder,
    partition: Int32Builder,
    offset: Int64Builder,
    row_kind: UInt8Builder,
    error: StringBuilder,
    strings: [StringBuilder; 5],
    version: Int64Builder,
    authored_at: Vec<Option<i64>>,
    event_kind: UInt8Builder,
    texts: Texts,
    known_kind: UInt8Builder,
    known_value: StringBuilder,
    known_offsets: Vec<i32>,
    patient_authority: StringBuilder,
    enclosed: Vec<Option<Enclosed>>,
    links: Vec<Vec<PatientLink>>,
    structural_text: Vec<Vec<StructuralText>>,
}

impl Rows {
    /// Adds one row.
    pub(super) fn push(&mut self, record: &Record) -> Result<(), BatchError> {
        let none;
        let (at, kind, error, event) = match record {
            Record::Note(event) => {
                let kind = match event.kind {
                    EventKind::Delete => RowKind::Tombstone,
                    _ if event.structured => RowKind::Structured,
                    _ => RowKind::Note,
                };
                (&event.at, kind, None, event)
            }
            Record::Tombstone(at) => {
                none = NoteEvent {
                    kind: EventKind::Delete,
                    ..NoteEvent::default()
                };
                (at, RowKind::Tombstone, None, &none)
            }
            Record::Quarantined(at, why) => {
                none = NoteEvent::default();
                (at, RowKind::Quarantined, Some(why.to_string()), &none)
            }
        };
        let text = event.text.expose();
        self.texts.reserve(text.len())?;
        self.topic.append_value(&at.topic);
        self.partition.append_value(at.partition);
        self.offset.append_value(at.offset);
        self.row_kind.append_value(kind as u8);
        self.error.append_option(error);
        let carried = [
            (!event.note_id.is_empty()).then(|| event.note_id.expose()),
            event.patient_id.as_ref().map(|id| id.expose()),
            event.encounter_id.as_ref().map(|id| id.expose()),
            event.note_type.as_deref(),
            event.author_id.as_ref().map(|id| id.expose()),
        ];
        for (builder, value) in self.strings.iter_mut().zip(carried) {
            builder.append_option(value);
        }
        self.patient_authority
            .append_option(event.patient_authority.as_deref());
        self.enclosed.push(event.enclosed.clone());
        self.links.push(event.links.clone());
        self.structural_text.push(event.structural_text.clone());
        self.version.append_option(event.version);
        self.authored_at.push(event.authored_at);
        self.event_kind.append_value(event.kind as u8);
        self.texts.push((kind == RowKind::Note).then_some(text));
        self.known_offsets.push(self.known_kind.len() as i32);
        for known in &event.known {
            self.known_kind.append_value(known.kind as u8);
            self.known_value.append_value(known.value.expose());
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<NoteBatch, BatchError> {
        let [text, tokens, sentence_ends] = self.texts.finish()?;
        let known = StructArray::try_new(
            known_fields(),
            vec![
                Arc::new(self.known_kind.finish()) as ArrayRef,
                Arc::new(self.known_value.finish()),
            ],
            None,
        )?;
        let [mut note_id, mut patient, mut encounter, mut note_type, mut author] = self.strings;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.topic.finish()),
            Arc::new(self.partition.finish()),
            Arc::new(self.offset.finish()),
            Arc::new(self.row_kind.finish()),
            Arc::new(self.error.finish()),
            Arc::new(note_id.finish()),
            Arc::new(self.version.finish()),
            Arc::new(patient.finish()),
            Arc::new(encounter.finish()),
            Arc::new(note_type.finish()),
            Arc::new(author.finish()),
            Arc::new(TimestampMillisecondArray::from(self.authored_at).with_timezone("UTC")),
            Arc::new(self.event_kind.finish()),
            text,
            tokens,
            sentence_ends,
            list(self.known_offsets, Arc::new(known))?,
            Arc::new(self.patient_authority.finish()),
        ];
        let mut batch = NoteBatch::of(RecordBatch::try_new(NoteBatch::schema(), columns)?);
        if self.enclosed.iter().any(Option::is_some) {
            batch.enclosed = self.enclosed.into();
        }
        if self.links.iter().any(|links| !links.is_empty()) {
            batch.links = self.links.into();
        }
        if self.structural_text.iter().any(|stretches| !stretches.is_empty()) {
            batch.structural_text = self.structural_text.into();
        }
        Ok(batch)
    }
}
