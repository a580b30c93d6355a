//! Walks along one chain, file by file.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, UInt32Type};
use lethe_core::RedactedBatch;

use super::columns::{Batches, Wanted};
use super::tally::{count_audit, hold, readable};
use super::{ChainReport, Change, DatasetError, Gap, Head, Scope, add, ledger};
use crate::erase::{ERASED, Erasures};
use crate::sink::{ChainError, ChainId, Footer, Tail, digest_file, read_link};
use crate::store::{Object, Store, StoreError};

/// The state of a walk along one chain.
pub(super) struct Walk<'a> {
    store: &'a dyn Store,
    scope: &'a Scope,
    erasures: &'a Erasures,
    pub(super) report: ChainReport,
    last: Option<Tail>,
    /// The next file, read ahead for the digest that it holds of the current one.
    ahead: Option<Result<Tail, ChainError>>,
    /// Whether an earlier file held a digest.
    linked: bool,
    /// Audit files that notes files refer to.
    pub(super) named: Vec<String>,
    /// Heads that files still have.
    pub(super) found_heads: Vec<Head>,
}

impl<'a> Walk<'a> {
    pub(super) const fn new(
        store: &'a dyn Store,
        chain: ChainId,
        scope: &'a Scope,
        erasures: &'a Erasures,
    ) -> Self {
        Self {
            store,
            scope,
            erasures,
            report: ChainReport::new(chain),
            last: None,
            ahead: None,
            linked: false,
            named: Vec::new(),
            found_heads: Vec::new(),
        }
    }

    /// Checks a file, together with the one after it.
    pub(super) async fn file(&mut self, file: &Object, after: Option<&Object>) -> Result<(), StoreError> {
        self.report.files += 1;
        self.report.bytes += file.size;
        let link = match self.ahead.take() {
            Some(link) => link,
            None => read_link(self.store, &self.report.chain, &file.name).await,
        };
        if let Some(after) = after {
            self.ahead = Some(read_link(self.store, &self.report.chain, &after.name).await);
        }
        let sound = self.digest(file, link.as_ref().ok()).await?;
        let Some(tail) = readable(&mut self.report.faults, &file.name, link)? else {
            return Ok(());
        };
        self.place(&tail);
        self.account(&tail.footer);
        self.links(&tail);
        if sound {
            let counted = self.count_rows(&tail).await;
            readable(&mut self.report.faults, &file.name, counted)?;
        }
        if let Some(audit) = tail.footer.audit.clone() {
            self.named.push(audit.clone());
            let counted = self.look_at_audit(&tail, &audit, sound).await;
            readable(&mut self.report.faults, &audit, counted)?;
        }
        self.last = Some(tail);
        Ok(())
    }

    /// Checks a file without its neighbours, and its audit file if it was found.
    pub(super) async fn alone(&mut self, tail: &Tail, audit: Option<&str>) -> Result<(), StoreError> {
        let counted = self.count_rows(tail).await;
        readable(&mut self.report.faults, &tail.file, counted)?;
        if let Some(audit) = audit {
            let counted = self.look_at_audit(tail, audit, true).await;
            readable(&mut self.report.faults, audit, counted)?;
        }
        Ok(())
    }

    /// Checks the digest of a notes file against the one that the next file holds; false if they differ.
    async fn digest(&mut self, file: &Object, tail: Option<&Tail>) -> Result<bool, StoreError> {
        if !self.scope.digests {
            return Ok(true);
        }
        let found = digest_file(self.store, &file.name, file.size).await?;
        let own = self.erasures.contradicts(&file.name, None, &found);
        // The head may have been stored before an erasure.
        let past = self.erasures.past(&file.name).iter().filter(|_| own.is_none());
        let digests: Vec<&String> = past.chain([&found]).collect();
        let is_of = |head: &&Head| digests.iter().any(|digest| head.is_of(&file.name, digest));
        self.found_heads
            .extend(self.scope.heads.iter().filter(is_of).cloned());
        // If the files are not neighbours, the digest belongs to a missing file between them.
        let next = match (&self.ahead, tail) {
            (Some(Ok(next)), Some(tail)) if next.first == tail.next => Some(next),
            // This file cannot be read, but its name tells its position.
            (Some(Ok(next)), None) => Some(next),
            _ => None,
        };
        let kept = next.and_then(|next| Some((next.file.clone(), next.footer.previous.clone()?)));
        let kept = kept.as_ref().map(|(by, kept)| (by.as_str(), kept.as_str()));
        let contradiction = self.erasures.contradicts(&file.name, kept, &found);
        let sound = contradiction.is_none();
        self.report
            .faults
            .extend(contradiction.map(|(by, kept)| DatasetError::Digest {
                file: file.name.clone(),
                by: by.to_owned(),
                kept: kept.to_owned(),
                found: found.clone(),
            }));
        self.report.head = Some(Head {
            digest: found,
            file: Some(file.name.clone()),
        });
        Ok(sound)
    }

    /// Checks the file's first offset and its fingerprints against the previous file.
    fn place(&mut self, tail: &Tail) {
        let next = self.report.next;
        if tail.first > next {
            let after = self.last.as_ref().map(|last| last.file.clone());
            self.report.faults.push(DatasetError::Missing {
                after: after.unwrap_or_default(),
                file: tail.footer.chain.notes_name(next),
                from: next,
                to: tail.first,
            });
        } else if tail.first < next {
            self.report.faults.push(DatasetError::Overlap {
                file: tail.file.clone(),
                next,
            });
        }
        self.report.next = next.max(tail.next);
        let Some(last) = &self.last else {
            return;
        };
        let of = |footer: &Footer| -> BTreeMap<&'static str, String> {
            let entries = footer.fingerprints.entries().into_iter();
            entries.map(|(field, value)| (field, value.to_owned())).collect()
        };
        let (then, now) = (of(&last.footer), of(&tail.footer));
        let fields: BTreeSet<_> = then.keys().chain(now.keys()).copied().collect();
        for field in fields
            .into_iter()
            .filter(|field| then.get(field) != now.get(field))
        {
            let value = |of: &BTreeMap<&str, String>| of.get(field).cloned().unwrap_or_else(|| "none".into());
            self.report.changes.push(Change {
                offset: tail.first,
                field: field.to_owned(),
                from: value(&then),
                to: value(&now),
            });
        }
    }

    fn account(&mut self, footer: &Footer) {
        self.report.notes += footer.notes;
        self.report.tombstones += footer.tombstones;
        self.report.structured += footer.structured;
        self.report.quarantined += footer.quarantined;
        self.report.erased += footer.erased;
        self.report.review += footer.review;
        match &footer.gap {
            Some(reason) => self.report.gaps.push(Gap {
                from: footer.first,
                to: footer.next,
                reason: reason.clone(),
            }),
            None => self.report.skipped += footer.skipped(),
        }
    }

    /// Files from before chains had digests are allowed only at the beginning of a chain.
    fn links(&mut self, tail: &Tail) {
        let Footer {
            audit,
            audit_digest,
            previous,
            first,
            ..
        } = &tail.footer;
        let lacks_previous = *first > 0 && previous.is_none();
        let lacks_audit = audit.is_some() && audit_digest.is_none();
        let file = || tail.file.clone();
        if *first == 0 && previous.is_some() {
            self.report.faults.push(DatasetError::Unreadable {
                file: file(),
                why: "it refers to a previous file, but offset 0 has none".into(),
            });
        } else if self.linked && lacks_previous {
            self.report.faults.push(DatasetError::Unlinked {
                file: file(),
                of: "the previous file",
            });
        }
        if lacks_audit && (self.linked || previous.is_some()) {
            self.report.faults.push(DatasetError::Unlinked {
                file: file(),
                of: "its audit file",
            });
        }
        self.linked |= previous.is_some() || audit_digest.is_some();
        if !self.linked && (lacks_previous || lacks_audit) {
            self.report.unlinked += 1;
        }
    }

    /// Checks the rows of a notes file against its footer.
    async fn count_rows(&mut self, tail: &Tail) -> Result<(), ChainError> {
        let wanted = Wanted {
            schema: &RedactedBatch::schema(),
            must: &["offset", "row_kind", "error", "redactions"],
            may: &["review"],
        };
        let mut batches = Batches::open(self.store, &tail.file, &wanted).await?;
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        let (mut redactions, mut review) = (0, 0);
        let (mut expected, mut misplaced) = (tail.first, None);
        while let Some(batch) = batches.next().await? {
            for &offset in batch["offset"].as_primitive::<Int64Type>().values() {
                if (offset < expected || offset >= tail.next) && misplaced.is_none() {
                    misplaced = Some(offset);
                }
                expected = offset.saturating_add(1);
            }
            batch["row_kind"]
                .as_string::<i32>()
                .iter()
                .flatten()
                .for_each(|kind| add(&mut counted, kind));
            for code in batch["error"].as_string::<i32>().iter().flatten() {
                add(&mut self.report.codes, code);
            }
            let replaced = batch["redactions"].as_primitive::<UInt32Type>().values();
            redactions += replaced.iter().map(|&count| u64::from(count)).sum::<u64>();
            if let Some(column) = batch.column_by_name("review") {
                for reasons in column.as_string::<i32>().iter().flatten() {
                    review += 1;
                    for reason in reasons.split(',') {
                        add(&mut self.report.reasons, reason);
                    }
                }
            }
        }
        if let Some(offset) = misplaced {
            self.report.faults.push(DatasetError::Offset {
                file: tail.file.clone(),
                offset,
            });
        }
        let footer = &tail.footer;
        let found = |kind: &str| counted.get(kind).copied().unwrap_or_default();
        for (of, footer, found) in [
            ("notes", footer.notes, found("note")),
            ("tombstones", footer.tombstones, found("tombstone")),
            ("quarantined rows", footer.quarantined, found("quarantined")),
            ("structured rows", footer.structured, found("structured")),
            ("erased rows", footer.erased, found(ERASED)),
            (
                "redacted spans",
                footer.audit_rows - footer.audit_fields,
                redactions,
            ),
            ("notes to review", footer.review, review),
        ] {
            hold(&mut self.report.faults, &tail.file, of, footer, found);
        }
        Ok(())
    }

    /// Checks an audit file against the notes file that refers to it.
    async fn look_at_audit(&mut self, tail: &Tail, audit: &str, sound: bool) -> Result<(), ChainError> {
        let size = match self.store.read_tail(audit, 1).await {
            Ok(end) => end.size,
            Err(StoreError::NotFound(_)) => {
                self.report.faults.push(DatasetError::NoAudit {
                    file: tail.file.clone(),
                    audit: audit.to_owned(),
                });
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        self.report.audit_bytes += size;
        if let (true, Some(kept)) = (self.scope.digests, &tail.footer.audit_digest) {
            let found = digest_file(self.store, audit, size).await?;
            let kept = Some((tail.file.as_str(), kept.as_str()));
            if let Some((by, kept)) = self.erasures.contradicts(audit, kept, &found) {
                self.report.faults.push(DatasetError::Digest {
                    file: audit.to_owned(),
                    by: by.to_owned(),
                    kept: kept.to_owned(),
                    found,
                });
                return Ok(());
            }
        }
        let report = &mut self.report;
        count_audit(
            self.store,
            audit,
            tail.first..tail.next,
            tail.footer.audit_rows,
            &mut report.labels,
            &mut report.faults,
        )
        .await?;
        if self.scope.audit && sound {
            let faults = ledger::hold(self.store, &self.report.chain, &tail.file, audit).await?;
            self.report.faults.extend(faults);
        }
        Ok(())
    }
}
