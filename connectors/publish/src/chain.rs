//! The files of a chain that a table does not have yet.

use std::fmt;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use lethe_connectors::sink::{ChainError, ChainId, FileHead, read_head, read_notes_head};
use lethe_connectors::store::Store;
use parquet::arrow::parquet_to_arrow_schema;

use crate::PublishError;
use crate::added::Added;

/// What of a dataset a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// The rows of notes files.
    Notes,
    /// The rows of audit files.
    Audit,
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Notes => "notes",
            Self::Audit => "audit",
        })
    }
}

/// A file of a chain, and what it adds to a table.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    first: i64,
    next: i64,
    /// `None` if it has no rows.
    added: Option<(Added, SchemaRef)>,
}

/// A chain, and the files of it that were read so far and may not be published.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) chain: ChainId,
    /// The chain's name in tables: it holds the id of the chain's first file, so that a chain that was written again
    /// is another one, and one that was moved is not.
    pub(crate) app_id: String,
    steps: Vec<Step>,
    /// Where the steps end.
    end: i64,
}

impl Pending {
    /// Opens a chain.
    ///
    /// # Errors
    /// [`PublishError::Chain`] if its first file is missing or damaged.
    pub(crate) async fn open(store: &dyn Store, chain: ChainId) -> Result<Self, PublishError> {
        let Some((_, footer)) = read_notes_head(store, &chain, 0).await? else {
            return Err(broken("its beginning".to_owned(), 0, chain.notes_folder()));
        };
        Ok(Self {
            app_id: format!("lethe:{}:{chain}", footer.commit),
            chain,
            steps: Vec::new(),
            end: 0,
        })
    }

    /// Reads the files from the published end of the chain on, at most `limit`, and forgets earlier ones. Does not
    /// read files again that it has read.
    ///
    /// # Errors
    /// [`PublishError::Chain`] if a file is damaged or missing.
    pub(crate) async fn read(
        &mut self,
        store: &dyn Store,
        content: Content,
        published: i64,
        limit: usize,
    ) -> Result<(), PublishError> {
        self.steps.retain(|step| step.first >= published);
        if self.steps.first().map_or(self.end, |step| step.first) != published {
            self.steps.clear();
            self.end = published;
        }
        while self.steps.len() < limit {
            let Some((head, footer)) = read_notes_head(store, &self.chain, self.end).await? else {
                return self.check_end(store).await;
            };
            let range = footer.first..footer.next;
            let head = match (content, &footer.audit) {
                (Content::Notes, _) => Some(head),
                (Content::Audit, Some(audit)) => Some(read_head(store, audit).await?),
                (Content::Audit, None) => None,
            };
            let head = head.filter(|head| head.metadata.file_metadata().num_rows() > 0);
            let added = head.map(|head| {
                let schema = schema(&head)?;
                let before = self.steps.iter().rev().find_map(|step| step.added.as_ref());
                // Files of one version of the program have the same columns.
                let schema = match before {
                    Some((_, before)) if **before == schema => Arc::clone(before),
                    _ => Arc::new(schema),
                };
                Ok::<_, PublishError>((Added::of(&head, &self.chain, range), schema))
            });
            self.steps.push(Step {
                first: footer.first,
                next: footer.next,
                added: added.transpose()?,
            });
            self.end = footer.next;
        }
        Ok(())
    }

    /// Checks that no file comes after the end of the chain: if a dataset was restored from a copy and continued,
    /// no file need begin where the published ones end.
    async fn check_end(&self, store: &dyn Store) -> Result<(), PublishError> {
        let end = self.chain.notes_name(self.end);
        let after = store.list_page(&self.chain.notes_folder(), Some(&end), 1).await?;
        match after.into_iter().next() {
            // The file that begins at the end may have come since it was looked for, and others after it.
            Some(found) if store.look(&end).await.is_err() => Err(broken(
                format!("the published part of {}", self.chain),
                self.end,
                found.name,
            )),
            _ => Ok(()),
        }
    }

    /// Returns the files that were read.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl Step {
    /// Returns what the file adds to a table; `None` if it has no rows.
    pub(crate) fn added(&self) -> Option<&(Added, SchemaRef)> {
        self.added.as_ref()
    }

    /// Returns the offset after its last.
    pub(crate) const fn next(&self) -> i64 {
        self.next
    }
}

fn broken(file: String, next: i64, found: String) -> PublishError {
    PublishError::Chain(ChainError::Broken { file, next, found })
}

/// Returns the columns of a file, without the writer's hints, so that types are those that other readers see.
///
/// # Errors
/// [`PublishError::Column`] if a column has a type that only Parquet has.
pub(crate) fn schema(file: &FileHead) -> Result<Schema, PublishError> {
    let schema = file.metadata.file_metadata().schema_descr();
    parquet_to_arrow_schema(schema, None).map_err(|_| PublishError::Column {
        file: file.name.clone(),
        column: String::new(),
        why: "the schema of the file cannot be read".to_owned(),
    })
}
