//! Reads the first rows of a query with all its columns, for a proposal of their treatment.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Fields, Schema};
use tokio::runtime::Handle;

use super::error::{Failure, refused};
use super::prepare::{quoted, wrong};
use super::rows::batch;
use super::server::{Server, within};
use super::types::Kind;
use super::{DatabaseConfig, Sample};
use crate::tables::{SLAB_ROWS, TableColumns, TableError};

const DOING: &str = "reading the first rows";

/// Returns at most `rows` rows. Values of types that Lethe does not read come as the server writes them.
pub(super) fn sample(config: &DatabaseConfig, rows: usize, runtime: &Handle) -> Result<Sample, TableError> {
    let server = Server::new(config, TableColumns::default(), u64::MAX)?;
    let read = runtime.block_on(read(&server, rows));
    read.map_err(|failure| failure.at(&server.place))
}

async fn read(server: &Server, rows: usize) -> Result<Sample, Failure> {
    let mut client = server.client().await?;
    let transaction = server.begin(&mut client).await?;
    let query = server.config.statement();
    let refuse = |failure: Failure, is_own: bool| match failure {
        Failure::Server { error, .. } => refused(&error, is_own).into(),
        other => other,
    };
    let limit = server.limit();
    let statement = within(DOING, limit, transaction.prepare(query)).await;
    let statement = statement.map_err(|failure| refuse(failure, true))?;
    let columns = statement.columns();
    let (mut fields, mut kinds, mut read) = (Vec::new(), Vec::new(), Vec::new());
    for (at, column) in columns.iter().enumerate() {
        let name = column.name();
        if columns.iter().take(at).any(|other| other.name() == name) {
            return Err(wrong(
                "query",
                format!("has two columns named `{name}`; give them aliases"),
            )
            .into());
        }
        let kind = Kind::of(column.type_()).unwrap_or(Kind::Cast);
        fields.push(Field::new(name, kind.arrow(), true));
        read.push(kind.sql(&quoted(name)));
        kinds.push(kind);
    }
    if fields.is_empty() {
        return Err(wrong("query", "returns no columns; write one SELECT").into());
    }
    let schema = Arc::new(Schema::new(fields.into_iter().collect::<Fields>()));
    let sql = format!("SELECT {} FROM (\n{query}\n) q LIMIT {rows}", read.join(", "));
    let statement = within(DOING, limit, transaction.prepare(&sql)).await;
    let statement = statement.map_err(|failure| refuse(failure, false))?;
    let portal = within(DOING, limit, transaction.bind(&statement, &[])).await?;
    let mut batches: Vec<RecordBatch> = Vec::new();
    loop {
        let rows = within(DOING, limit, transaction.query_portal(&portal, SLAB_ROWS as i32)).await?;
        let (rows, _) = batch(&rows, &kinds, &schema, &server.place)?;
        if rows.num_rows() == 0 {
            return Ok((schema, batches));
        }
        batches.push(rows);
    }
}
