//! Explains a redaction: everything that the audit holds about a note's spans, and the fingerprints of its
//! file.

use std::collections::BTreeMap;
use std::fmt;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float32Type, Int64Type, UInt32Type};
use arrow_array::{Array as _, RecordBatch, StructArray};
use lethe_core::{AuditBatch, RedactedBatch, RowKind};
use serde::Serialize;

use super::Place;
use super::columns::{Batches, Wanted};
use super::deciding_rule;
use super::members::names;
use crate::erase::Erasures;
use crate::replay::{ReplayFooter, ReplayName, each, read_replay};
use crate::sink::{ChainError, ChainId, digest_file, read_link};
use crate::store::Store;

/// The fate of one record, and the reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// The chain.
    pub chain: ChainId,
    /// The record's offset.
    pub offset: i64,
    /// The notes file.
    pub file: String,
    /// Its audit file.
    pub audit: Option<String>,
    /// Whether the audit file has the digest in the notes file; `None` for files from before chains had
    /// digests, and without an audit file.
    pub audit_intact: Option<bool>,
    /// `note`, `structured`, `tombstone`, `quarantined` or `erased`; `gap` if the offset was never read,
    /// `none` if there is no record.
    pub row_kind: String,
    /// Why it was quarantined or never read.
    pub reason: Option<String>,
    /// If the record was replayed: why the row of the chain is quarantined. All other fields then describe
    /// the replay.
    pub replayed: Option<String>,
    /// Number of redacted spans.
    pub redactions: u32,
    /// Why the note is flagged for review.
    pub review: Vec<String>,
    /// The fingerprints of the file: policy, bundle, configuration, program and so on.
    pub fingerprints: BTreeMap<String, String>,
    /// The requested spans.
    pub spans: Vec<WhySpan>,
    /// The requested fields of the message that changed.
    pub fields: Vec<WhyField>,
}

/// A field of a message that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhyField {
    /// Its position in the message.
    pub path: String,
    /// Its label; empty if it was removed without being recognised as an identifier.
    pub label: String,
    /// The letter of 45 CFR 164.514(b)(2)(i), `A` to `R`; empty in the same case.
    pub hipaa: String,
    /// The action.
    pub action: String,
    /// The id of the key that the replacement depends on.
    pub key: Option<String>,
    /// The scope within which equal values get equal replacements; empty if replacements have no scope.
    pub scope: String,
    /// The deciding rule of the format.
    pub rule: String,
}

/// One redacted span. Positions are bytes of UTF-8.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhySpan {
    /// First byte in the original.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// First byte in the redacted text.
    pub out_start: u32,
    /// The byte after the last.
    pub out_end: u32,
    /// The label.
    pub label: String,
    /// Its category.
    pub category: String,
    /// The letter of 45 CFR 164.514(b)(2)(i), `A` to `R`.
    pub hipaa: String,
    /// The action.
    pub action: String,
    /// The id of the key that the replacement depends on.
    pub key: Option<String>,
    /// The scope within which equal values get equal replacements; empty if replacements have no scope.
    pub scope: String,
    /// Number of votes that it needed; 0 if votes do not decide.
    pub needed: u32,
    /// What made it be redacted, by its name in the audit; `None` for files from before audits had this.
    pub deciding_rule: Option<String>,
    /// The score from which one vote sufficed, if that decided.
    pub solo_min_score: Option<f32>,
    /// The members that voted for it.
    pub voters: Vec<Voter>,
    /// The rule of the best member that has one.
    pub rule: String,
    /// Score of the ensemble, 0 to 1.
    pub score: f32,
    /// The overlapping spans that it overruled.
    pub beat: Vec<Lost>,
}

/// A member's vote.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Voter {
    /// The member.
    pub member: String,
    /// Its score, 0 to 1, if the combiner keeps it.
    pub score: Option<f32>,
}

/// An overruled span.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lost {
    /// First byte in the original.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// The label.
    pub label: String,
    /// The members that voted for it.
    pub members: Vec<String>,
    /// Score of the ensemble, 0 to 1.
    pub score: f32,
}

/// Explains the fate of a record; `None` if the dataset does not reach its offset.
///
/// # Errors
/// [`ChainError::Footer`] if one of its files cannot be read, or the store's error.
pub async fn why(store: &dyn Store, place: &Place) -> Result<Option<Why>, ChainError> {
    let files = store.list(&place.chain.notes_folder()).await?;
    let name = place.chain.notes_name(place.offset);
    let at = files.partition_point(|file| file.name <= name);
    let Some(file) = at.checked_sub(1).and_then(|at| files.get(at)) else {
        return Ok(None);
    };
    let tail = read_link(store, &place.chain, &file.name).await?;
    if tail.next <= place.offset {
        return Ok(None);
    }
    let fingerprints = tail.footer.fingerprints.entries();
    let mut why = Why {
        chain: place.chain.clone(),
        offset: place.offset,
        file: tail.file,
        audit: tail.footer.audit.clone(),
        audit_intact: None,
        row_kind: if tail.footer.gap.is_some() { "gap" } else { "none" }.to_owned(),
        reason: tail.footer.gap.clone(),
        replayed: None,
        redactions: 0,
        review: Vec::new(),
        fingerprints: fingerprints
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        spans: Vec::new(),
        fields: Vec::new(),
    };
    let file = why.file.clone();
    why.read_row(store, &file).await?;
    let mut audit_digest = tail.footer.audit_digest;
    if why.row_kind == RowKind::Quarantined.name()
        && let Some(replay) = last_replay(store, &place.chain, tail.first, place.offset).await?
    {
        audit_digest = why.follow(store, replay).await?;
    }
    if let Some(audit) = why.audit.clone() {
        if let Some(kept) = &audit_digest {
            let size = store.read_tail(&audit, 1).await?.size;
            let found = digest_file(store, &audit, size).await?;
            let erasures = Erasures::read(store).await?;
            let kept = Some((why.file.as_str(), kept.as_str()));
            why.audit_intact = Some(erasures.contradicts(&audit, kept, &found).is_none());
        }
        if why.audit_intact != Some(false) {
            why.read_audit(store, &audit, place).await?;
        }
    }
    Ok(Some(why))
}

/// Returns the last replayed part that has this offset of the notes file that begins at `first`.
async fn last_replay(
    store: &dyn Store,
    chain: &ChainId,
    first: i64,
    offset: i64,
) -> Result<Option<ReplayFooter>, ChainError> {
    let listed = store.list(&ReplayName::folder(chain)).await?;
    let parts = listed
        .iter()
        .rev()
        .filter_map(|object| ReplayName::parse(&object.name));
    for part in parts.filter(|part| part.first == first) {
        let path = part.path();
        let mut found = false;
        each(store, &path, |at, _| found |= at == offset).await?;
        if found {
            return Ok(Some(read_replay(store, &path).await?));
        }
    }
    Ok(None)
}

impl Why {
    /// Replaces the record's row in the chain by its replay. Returns the digest of the audit file.
    async fn follow(
        &mut self,
        store: &dyn Store,
        replay: ReplayFooter,
    ) -> Result<Option<String>, ChainError> {
        let fingerprints = replay.fingerprints.entries().into_iter();
        self.fingerprints = fingerprints
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let (audit, digest) = replay.audit.unzip();
        self.audit = audit;
        self.replayed = self.reason.take();
        self.file = replay.name.path();
        let file = self.file.clone();
        self.read_row(store, &file).await?;
        Ok(digest)
    }

    async fn read_row(&mut self, store: &dyn Store, file: &str) -> Result<(), ChainError> {
        let wanted = Wanted {
            schema: &RedactedBatch::schema(),
            must: &["offset", "row_kind", "error", "redactions"],
            may: &["review"],
        };
        let mut batches = Batches::open(store, file, &wanted).await?.of_offset(self.offset);
        while let Some(batch) = batches.next().await? {
            let offsets = batch["offset"].as_primitive::<Int64Type>().values();
            let Some(row) = offsets.iter().position(|&offset| offset == self.offset) else {
                continue;
            };
            batch["row_kind"]
                .as_string::<i32>()
                .value(row)
                .clone_into(&mut self.row_kind);
            self.reason = cell(&batch, "error", row);
            self.redactions = batch["redactions"].as_primitive::<UInt32Type>().value(row);
            let review = cell(&batch, "review", row).unwrap_or_default();
            self.review = names(&review).map(str::to_owned).collect();
            break;
        }
        Ok(())
    }

    async fn read_audit(&mut self, store: &dyn Store, audit: &str, place: &Place) -> Result<(), ChainError> {
        let schema = AuditBatch::schema();
        let all: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        // Columns that earlier versions did not write.
        let (may, must): (Vec<&str>, Vec<&str>) = all
            .into_iter()
            .partition(|name| ["key", "scope", "path", "deciding_rule", "solo_min_score"].contains(name));
        let wanted = Wanted {
            schema: &schema,
            must: &must,
            may: &may,
        };
        let mut batches = Batches::open(store, audit, &wanted).await?.of_offset(self.offset);
        while let Some(batch) = batches.next().await? {
            let offsets = batch["offset"].as_primitive::<Int64Type>().values();
            // Rows are in the order of offsets.
            let first = offsets.partition_point(|&offset| offset < self.offset);
            let end = offsets.partition_point(|&offset| offset <= self.offset);
            for row in first..end {
                if let Some(path) = cell(&batch, "path", row) {
                    if place.byte.is_none() && place.has_field(&path) {
                        self.fields.push(WhyField::read(&batch, row, path));
                    }
                    continue;
                }
                let span = WhySpan::read(&batch, row);
                if place.field.is_none() && place.byte.is_none_or(|byte| span.holds(byte)) {
                    self.spans.push(span);
                }
            }
        }
        Ok(())
    }
}

/// Returns a text of a batch; `None` if it is null, or the batch has no such column.
fn cell(batch: &RecordBatch, column: &str, row: usize) -> Option<String> {
    let column = batch.column_by_name(column)?.as_string::<i32>();
    column.is_valid(row).then(|| column.value(row).to_owned())
}

impl WhyField {
    fn read(batch: &RecordBatch, row: usize, path: String) -> Self {
        let text = |name: &str| cell(batch, name, row).unwrap_or_default();
        Self {
            path,
            label: text("label"),
            hipaa: text("hipaa"),
            action: text("action"),
            key: cell(batch, "key", row),
            scope: text("scope"),
            rule: text("rule"),
        }
    }
}

impl WhySpan {
    fn read(batch: &RecordBatch, row: usize) -> Self {
        let text = |name: &str| cell(batch, name, row).unwrap_or_default();
        let number = |name: &str| batch[name].as_primitive::<UInt32Type>().value(row);
        let members = text("members");
        let scores = batch["scores"].as_list::<i32>().value(row);
        let scores = scores.as_primitive::<Float32Type>().values();
        // A combined decision may have the scores of only some members, without telling which.
        let known = scores.len() == names(&members).count();
        let voter = |(place, member): (usize, &str)| Voter {
            member: member.to_owned(),
            score: scores.get(place).copied().filter(|_| known),
        };
        let beat = batch["beat"].as_list::<i32>().value(row);
        let solo = batch.column_by_name("solo_min_score");
        let solo = solo.map(|column| column.as_primitive::<Float32Type>());
        Self {
            start: number("start"),
            end: number("end"),
            out_start: number("out_start"),
            out_end: number("out_end"),
            label: text("label"),
            category: text("category"),
            hipaa: text("hipaa"),
            action: text("action"),
            key: cell(batch, "key", row),
            scope: text("scope"),
            needed: number("needed"),
            deciding_rule: cell(batch, "deciding_rule", row),
            solo_min_score: solo
                .filter(|column| column.is_valid(row))
                .map(|column| column.value(row)),
            voters: names(&members).enumerate().map(voter).collect(),
            rule: text("rule"),
            score: batch["score"].as_primitive::<Float32Type>().value(row),
            beat: lost(beat.as_struct()),
        }
    }

    /// Returns whether it covers a byte of the redacted text, or has an empty replacement there.
    const fn holds(&self, byte: u32) -> bool {
        let empty = self.out_start == self.out_end;
        self.out_start <= byte && (byte < self.out_end || (empty && byte == self.out_start))
    }
}

/// Returns the rows of a list of overruled spans.
fn lost(beat: &StructArray) -> Vec<Lost> {
    // The type was checked against the schema when the file was opened.
    let batch = RecordBatch::from(beat);
    let numbers = |name: &str| batch[name].as_primitive::<UInt32Type>().values().clone();
    let (start, end) = (numbers("start"), numbers("end"));
    let scores = batch["score"].as_primitive::<Float32Type>();
    (0..batch.num_rows())
        .map(|row| Lost {
            start: start[row],
            end: end[row],
            label: cell(&batch, "label", row).unwrap_or_default(),
            members: names(&cell(&batch, "members", row).unwrap_or_default())
                .map(str::to_owned)
                .collect(),
            score: scores.value(row),
        })
        .collect()
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            chain,
            offset,
            row_kind,
            ..
        } = self;
        write!(f, "{chain}@{offset}: ")?;
        match row_kind.as_str() {
            "none" => f.write_str("no record: a transaction marker, or an aborted or compacted record")?,
            "gap" => f.write_str("never read")?,
            kind => write!(f, "{kind}, {} spans redacted", self.redactions)?,
        }
        match &self.reason {
            Some(reason) => writeln!(f, ": {reason}")?,
            None => writeln!(f)?,
        }
        if let Some(code) = &self.replayed {
            writeln!(f, "  replayed: the row of the chain is quarantined as {code}")?;
        }
        writeln!(f, "  file {}", self.file)?;
        if let Some(audit) = &self.audit {
            let intact = match self.audit_intact {
                Some(true) => "unchanged",
                Some(false) => "CHANGED since it was written, so it is not read",
                None => "from before chains had digests",
            };
            writeln!(f, "  audit {audit}: {intact}")?;
        }
        for (name, value) in &self.fingerprints {
            writeln!(f, "  {name} {value}")?;
        }
        if !self.review.is_empty() {
            writeln!(f, "  to review: {}", self.review.join(", "))?;
        }
        self.spans.iter().try_for_each(|span| write!(f, "{span}"))?;
        self.fields.iter().try_for_each(|field| write!(f, "{field}"))
    }
}

impl fmt::Display for WhyField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  field {}: ", self.path)?;
        match self.label.as_str() {
            "" => f.write_str("not recognised as an identifier")?,
            // None of the eighteen identifiers.
            label if self.hipaa == "-" => f.write_str(label)?,
            label => write!(f, "{label} (45 CFR 164.514(b)(2)(i)({}))", self.hipaa)?,
        }
        write!(f, "\n    action {}", self.action)?;
        if let Some(key) = &self.key {
            write!(f, ", key {key}")?;
        }
        if !self.scope.is_empty() {
            write!(f, ", consistent within: {}", self.scope)?;
        }
        writeln!(f, ", rule {}", self.rule)
    }
}

impl fmt::Display for WhySpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "  bytes {}..{} of the original, {}..{} of the redacted text: {} ({}",
            self.start, self.end, self.out_start, self.out_end, self.label, self.category
        )?;
        match self.hipaa.as_str() {
            "-" => writeln!(f, ")")?,
            letter => writeln!(f, "; 45 CFR 164.514(b)(2)(i)({letter}))")?,
        }
        write!(f, "    action {}", self.action)?;
        if let Some(key) = &self.key {
            write!(f, ", key {key}")?;
        }
        if !self.scope.is_empty() {
            write!(f, ", consistent within: {}", self.scope)?;
        }
        let votes = self.voters.len();
        write!(f, "\n    {votes} {}", if votes == 1 { "vote" } else { "votes" })?;
        if self.needed > 0 {
            write!(f, ", {} needed", self.needed)?;
        }
        for (at, Voter { member, score }) in self.voters.iter().enumerate() {
            write!(f, "{}{member}", if at == 0 { ": " } else { ", " })?;
            if let Some(score) = score {
                write!(f, " ({score:.3})")?;
            }
        }
        if let Some(rule) = &self.deciding_rule {
            let reason = deciding_rule::in_words(rule, self.needed, self.solo_min_score);
            write!(f, "\n    redacted because {reason}")?;
        }
        write!(f, "\n    score {:.3}", self.score)?;
        if !self.rule.is_empty() {
            write!(f, ", rule {}", self.rule)?;
        }
        writeln!(f)?;
        for lost in &self.beat {
            writeln!(
                f,
                "    overruled {} at {}..{}, predicted by {} ({:.3})",
                lost.label,
                lost.start,
                lost.end,
                lost.members.join(", "),
                lost.score
            )?;
        }
        Ok(())
    }
}
