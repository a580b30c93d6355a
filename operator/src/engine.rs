//! The engine: notes in, redacted notes out.

use std::path::PathBuf;

use lethe_core::{Decision, NoteBatch, QuarantineCode, Record, Unredacted};

use crate::{EngineBuilder, Error, Note, Redacted, Span};

/// The most text that notes of one batch have together, in bytes.
const BATCH_BYTES: usize = 1 << 20;

/// Finds identifiers in notes and replaces them.
pub struct Engine {
    engine: lethe_core::Engine,
    digest: String,
}

impl Engine {
    /// Creates the engine of a built-in bundle: see [`builtin_bundles`](crate::builtin_bundles).
    ///
    /// # Errors
    /// [`Error::Bundle`] if there is no such bundle.
    ///
    /// ```
    /// let unknown = lethe::Engine::builtin("en-clinicl");
    /// assert!(matches!(unknown, Err(lethe::Error::Bundle(_))));
    /// ```
    pub fn builtin(name: &str) -> Result<Self, Error> {
        if lethe_bundles::folder(name).is_none() {
            let known: Vec<&str> = lethe_bundles::names().collect();
            return Err(Error::Bundle(format!(
                "no built-in bundle is named `{name}`; there are {}",
                known.join(", ")
            )));
        }
        Self::builder().bundle(name).build()
    }

    /// Creates the engine of a bundle on disk: a bundle, or a folder of versions.
    ///
    /// # Errors
    /// [`Error::Bundle`].
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        // A path of one word is not the name of a built-in bundle here.
        Self::builder()
            .bundle(PathBuf::from(".").join(folder.into()))
            .build()
    }

    /// Returns a builder for an engine with a policy, a dictionary or a bundle of your own.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    pub(crate) const fn new(engine: lethe_core::Engine, digest: String) -> Self {
        Self { engine, digest }
    }

    /// Redacts a note.
    ///
    /// # Errors
    /// [`Error::Quarantined`] or [`Error::Unavailable`]; nothing of the note is returned.
    ///
    /// ```
    /// let engine = lethe::Engine::builtin("en-fast")?;
    /// let redacted = engine.redact("Dr. Okafor called on 03/05/2021.")?;
    /// let [doctor, date] = redacted.spans() else { panic!() };
    /// assert_eq!((doctor.label.as_str(), doctor.range.clone()), ("DOCTOR", 4..10));
    /// assert_eq!(date.label, "DATE");
    /// # Ok::<(), lethe::Error>(())
    /// ```
    pub fn redact(&self, note: impl Into<Note>) -> Result<Redacted, Error> {
        let batch = batch([note.into()])?;
        let redacted = self.redacted(&batch).pop();
        redacted.unwrap_or_else(|| Err(quarantined(QuarantineCode::InvalidPayload)))
    }

    /// Redacts notes and returns a result for each, in their order. This is faster than note by note, and has the
    /// same results.
    ///
    /// The call uses one thread, and keeps about 1 MiB of text in work at a time. A program with more threads gives
    /// each of them a part of its notes.
    ///
    /// ```
    /// let engine = lethe::Engine::builtin("en-fast")?;
    /// let redacted = engine.redact_all(["Dr. Okafor called.", "No news."]);
    /// let texts: Vec<&str> = redacted.iter().flatten().map(|redacted| redacted.text()).collect();
    /// assert_eq!(texts, ["Dr. [DOCTOR] called.", "No news."]);
    /// # Ok::<(), lethe::Error>(())
    /// ```
    pub fn redact_all<N: Into<Note>>(
        &self,
        notes: impl IntoIterator<Item = N>,
    ) -> Vec<Result<Redacted, Error>> {
        let mut notes = notes.into_iter().map(Into::into).peekable();
        let mut all = Vec::with_capacity(notes.size_hint().0);
        while notes.peek().is_some() {
            let mut bytes = 0;
            // At least one, however long it is.
            let together: Vec<Note> = std::iter::from_fn(|| {
                let fits = |note: &Note| bytes == 0 || bytes + note.len() <= BATCH_BYTES;
                let note = notes.next_if(fits)?;
                bytes += note.len().max(1);
                Some(note)
            })
            .collect();
            let count = together.len();
            match batch(together) {
                Ok(batch) => all.extend(self.redacted(&batch)),
                Err(_) => all.extend((0..count).map(|_| Err(quarantined(QuarantineCode::OverBudget)))),
            }
        }
        all
    }

    /// Redacts the notes of a batch.
    fn redacted(&self, batch: &NoteBatch) -> Vec<Result<Redacted, Error>> {
        let traces = self.engine.trace(batch).into_iter().enumerate();
        traces
            .map(|(row, trace)| {
                let trace = trace.map_err(quarantined)?;
                let spans = trace.decisions.iter().map(|decision| self.span(decision));
                let spans = spans.collect();
                let redacted =
                    self.engine
                        .redact(batch, row, &Ok(trace.decisions))
                        .map_err(|why| match why {
                            Unredacted::Quarantined(code) => quarantined(code),
                            Unredacted::Unavailable(reason) => Error::Unavailable {
                                reason: reason.to_owned(),
                            },
                        })?;
                let placed = redacted.placed.iter();
                Ok(Redacted {
                    text: redacted.text,
                    spans,
                    replacements: placed
                        .map(|placed| placed.out.start()..placed.out.end())
                        .collect(),
                    review: trace.review.reasons().map(|reason| reason.name()).collect(),
                })
            })
            .collect()
    }

    /// Finds the identifiers of a note, in order and without overlaps, and replaces nothing.
    ///
    /// # Errors
    /// [`Error::Quarantined`].
    ///
    /// ```
    /// let engine = lethe::Engine::builtin("en-fast")?;
    /// let note = "Dr. Okafor called.";
    /// let spans = engine.find(note)?;
    /// assert_eq!(&note[spans[0].range.clone()], "Okafor");
    /// # Ok::<(), lethe::Error>(())
    /// ```
    pub fn find(&self, note: impl Into<Note>) -> Result<Vec<Span>, Error> {
        let batch = batch([note.into()])?;
        match self.engine.decide(&batch).into_iter().next() {
            Some(Ok(decisions)) => Ok(decisions.iter().map(|decision| self.span(decision)).collect()),
            Some(Err(code)) => Err(quarantined(code)),
            None => Err(quarantined(QuarantineCode::InvalidPayload)),
        }
    }

    /// Returns the names of the labels that spans can have.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.engine
            .labels()
            .labels()
            .iter()
            .map(|label| label.name.as_str())
    }

    /// Returns the entity that Presidio has for a label of [`Engine::labels`], as `lethe serve` returns it.
    ///
    /// ```
    /// let engine = lethe::Engine::builtin("en-fast")?;
    /// assert_eq!(engine.presidio_entity("DOCTOR"), Some("PERSON"));
    /// assert_eq!(engine.presidio_entity("DOKTOR"), None);
    /// # Ok::<(), lethe::Error>(())
    /// ```
    pub fn presidio_entity(&self, label: &str) -> Option<&'static str> {
        let labels = self.engine.labels();
        let label = labels.by_name(label)?;
        Some(lethe_core::presidio_entity(labels.label(label)))
    }

    /// Returns the names of the members, in the order of their votes.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        self.engine.members().iter().map(String::as_str)
    }

    /// Returns the SHA-256 digest of the bundle in hexadecimal, which changes with everything in it. An operating point other than
    /// [`OperatingPoint::Recall`](crate::OperatingPoint) follows it after a colon.
    pub fn bundle_digest(&self) -> &str {
        &self.digest
    }

    fn span(&self, decision: &Decision) -> Span {
        let names = decision
            .members
            .iter()
            .filter_map(|member| self.engine.members().get(member));
        Span {
            range: decision.span.start()..decision.span.end(),
            label: self.engine.labels().label(decision.label).name.clone(),
            score: decision.score,
            members: names.cloned().collect(),
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engine({}, {})", self.digest, self.engine.members().join(", "))
    }
}

fn batch(notes: impl IntoIterator<Item = Note>) -> Result<NoteBatch, Error> {
    let records = notes.into_iter().map(|note| Record::Note(note.into_event()));
    // One note is a batch unless it is too long.
    NoteBatch::from_records(records).map_err(|_| quarantined(QuarantineCode::OverBudget))
}

fn quarantined(code: QuarantineCode) -> Error {
    Error::Quarantined {
        code: code.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::Known;

    #[test]
    fn a_bundle_in_the_working_folder_is_not_mistaken_for_a_built_in_one() {
        assert!(matches!(Engine::open("en-fast"), Err(Error::Bundle(_))));
        let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/en-fast");
        let (open, built_in) = (Engine::open(models).unwrap(), Engine::builtin("en-fast").unwrap());
        assert_eq!(open.bundle_digest(), built_in.bundle_digest());
    }

    #[test]
    fn what_is_known_of_the_patient_is_redacted() {
        let engine = Engine::builtin("en-clinical").unwrap();
        let text = "The chart of quorx was checked.";
        assert_eq!(engine.redact(text).unwrap().text(), text);
        let note = Note::new(text).known(Known::Patient, "Ada Quorx");
        let redacted = engine.redact(note).unwrap();
        assert_eq!(redacted.text(), "The chart of [PATIENT] was checked.");
        assert_eq!(redacted.replacements().first(), Some(&(13..22)));
    }

    #[test]
    fn a_policy_decides_the_replacement_and_its_mistakes_are_named() {
        let build = |policy: &str| Engine::builder().bundle("en-fast").policy(policy).build();
        let engine = build("mode = \"safe-harbor\"\n").unwrap();
        assert!(
            !engine
                .redact("Seen on 03/05/2021.")
                .unwrap()
                .text()
                .contains("03/05")
        );
        let Err(Error::Policy(why)) = build("mode = \"safe-harbour\"\n") else {
            panic!("it was accepted")
        };
        assert!(why.contains("mode"), "{why}");
    }

    #[test]
    fn a_policy_that_names_the_origin_finds_it_and_another_leaves_it() {
        let note = "A 45-year-old Somali woman, Dr. Okafor's patient.";
        let build = |policy: &str| {
            Engine::builder()
                .bundle("en-fast")
                .policy(policy)
                .build()
                .unwrap()
        };
        let engine = build("mode = \"custom\"\n[labels.ORIGIN]\naction = \"tag\"\n");
        assert!(engine.labels().any(|label| label == "ORIGIN"));
        assert_eq!(engine.presidio_entity("ORIGIN"), Some("NRP"));
        let text = engine.redact(note).unwrap().into_text();
        assert!(
            text.contains("[ORIGIN] woman") && text.contains("[DOCTOR]"),
            "{text}"
        );
        for mode in ["safe-harbor", "limited-data-set"] {
            let engine = build(&format!("mode = \"{mode}\"\n"));
            assert!(!engine.labels().any(|label| label == "ORIGIN"));
            let text = engine.redact(note).unwrap().into_text();
            assert!(
                text.contains("Somali woman") && !text.contains("Okafor"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_key_file_replaces_the_one_that_the_policy_names() {
        let folder = tempfile::tempdir().unwrap();
        let (key, other) = (folder.path().join("key.toml"), folder.path().join("other.toml"));
        for file in [&key, &other] {
            std::fs::write(file, lethe_secrets::Keyring::new_key("2026-a").unwrap()).unwrap();
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let policy = "mode = \"limited-data-set\"\ndefault = { action = \"pseudonym\" }\n";
        let code = |policy: &str, keys: Option<&std::path::Path>| {
            let mut builder = Engine::builder().bundle("en-fast").policy(policy);
            if let Some(keys) = keys {
                builder = builder.keys(keys);
            }
            builder
                .build()?
                .redact("Dr. Okafor called.")
                .map(Redacted::into_text)
        };
        let named = format!("{policy}keys = {{ file = {key:?} }}\n");
        let by_policy = code(&named, None).unwrap();
        assert_eq!(code(policy, Some(&key)).unwrap(), by_policy);
        assert_ne!(code(&named, Some(&other)).unwrap(), by_policy);
        let builder = Engine::builder().bundle("en-fast").keys(key);
        assert!(matches!(builder.build(), Err(Error::Policy(why)) if why.contains("keys")));
    }

    #[test]
    fn notes_together_have_the_results_of_each_alone() {
        let engine = Engine::builtin("en-fast").unwrap();
        let long = "Seen by Dr. Okafor on 03/05/2021. ".repeat(40_000);
        let texts = [
            "Dr. Quill called.",
            "",
            &long,
            "No news.",
            "Henry Quill, MRN 4411223",
        ];
        assert!(long.len() > BATCH_BYTES);
        let together = engine.redact_all(texts);
        assert_eq!(together.len(), texts.len());
        for (text, together) in texts.into_iter().zip(together) {
            let alone = engine.redact(text).map_err(|error| error.to_string());
            assert_eq!(together.map_err(|error| error.to_string()), alone);
        }
    }

    #[test]
    fn neither_errors_nor_debug_output_quote_a_note() {
        let engine = Engine::builtin("en-fast").unwrap();
        let note = Note::new("Henry Quill").id("Quill");
        let redacted = engine.redact(note.clone()).unwrap();
        assert!(!format!("{note:?} {redacted:?} {engine:?}").contains("Quill"));
    }
}
