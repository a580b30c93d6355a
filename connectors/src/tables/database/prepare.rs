//! The query as the server describes it, checked against the configuration, and the statements that read it.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema};
use lethe_postgres::is_temporary;
use lethe_postgres::tokio_postgres::Statement;

use super::error::{Failure, refused};
use super::server::{Server, within};
use super::types::Kind;
use super::{Keys, NAME};
use crate::tables::examine::did_you_mean;
use crate::tables::path_error::PathError;
use crate::tables::shape::root;
use crate::tables::{Shape, TableError};

/// What a first look at the server does.
const DOING: &str = "preparing the query";

/// A checked query.
pub(super) struct Prepared {
    /// The names of all columns.
    pub(super) names: BTreeSet<String>,
    /// The treatment of the columns that are read, in the order of `schema`.
    pub(super) kinds: Vec<Kind>,
    pub(super) schema: Arc<Schema>,
    pub(super) shape: Shape,
    query: String,
    /// The key, as SQL, and its type.
    key: String,
    key_type: String,
}

/// Returns a column of the query as SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("q.\"{}\"", name.replace('"', "\"\""))
}

/// Asks the server for the columns of the query, and checks them.
pub(super) async fn prepare(server: &Server) -> Result<Prepared, Failure> {
    let mut client = server.client().await?;
    let transaction = server.begin(&mut client).await?;
    let query = server.config.statement();
    let refuse = |failure: Failure, is_own: bool| match failure {
        Failure::Server { error, .. } if !is_temporary(&error) => refused(&error, is_own).into(),
        other => other,
    };
    let statement = within(DOING, server.limit(), transaction.prepare(query));
    let statement = statement.await.map_err(|failure| refuse(failure, true))?;
    let prepared = Prepared::new(server, &statement)?;
    // Other statements than one SELECT cannot be a part of another one.
    for sql in [
        prepared.pass(),
        prepared.digests(&Keys::all()).0,
        prepared.rows(&Keys::all(), 0).0,
    ] {
        let statement = within(DOING, server.limit(), transaction.prepare(&sql));
        statement.await.map_err(|failure| refuse(failure, false))?;
    }
    Ok(prepared)
}

pub(super) fn wrong(key: &str, problem: impl Into<String>) -> TableError {
    TableError::Setting {
        key: format!("database.{key}"),
        problem: problem.into(),
    }
}

impl Prepared {
    fn new(server: &Server, statement: &Statement) -> Result<Self, TableError> {
        let columns = statement.columns();
        if columns.is_empty() {
            return Err(wrong("query", "returns no columns; write one SELECT"));
        }
        if !statement.params().is_empty() {
            return Err(wrong(
                "query",
                "has a parameter such as $1; write its value instead",
            ));
        }
        let once = |name: &str, key: &str| {
            let count = columns.iter().filter(|column| column.name() == name).count();
            if count < 2 {
                return Ok(());
            }
            let problem =
                format!("has {count} columns named `{name}`, which `{key}` names; give them aliases");
            Err(wrong("query", problem))
        };
        // Columns of other types may be there, as long as nothing reads them.
        let kind = |at: usize| Kind::of(columns[at].type_());
        let fields = (0..columns.len()).map(|at| {
            let arrow = kind(at).map_or(DataType::Null, Kind::arrow);
            Field::new(columns[at].name(), arrow, true)
        });
        let all = Schema::new(fields.collect::<Fields>());
        let mut tops: Vec<usize> = Vec::new();
        for wanted in server.columns.all() {
            let refuse = |problem: String| TableError::Column {
                object: NAME.to_owned(),
                key: wanted.key.clone(),
                column: wanted.path.clone(),
                problem,
            };
            let (top, _) = root(&all, &wanted.path)
                .ok_or_else(|| refuse(PathError::missing(&wanted.path, all.fields()).to_string()))?;
            once(all.field(top).name(), &format!("backfill.columns.{}", wanted.key))?;
            if kind(top).is_none() {
                let name = all.field(top).name();
                return Err(refuse(format!(
                    "is of type {}, which Lethe does not read; convert it in the query, for instance `\"{name}\"::text AS \"{name}\"`",
                    columns[top].type_()
                )));
            }
            if !tops.contains(&top) {
                tops.push(top);
            }
        }
        let key = &server.config.key;
        let place = columns.iter().position(|column| column.name() == key);
        let place = place.ok_or_else(|| {
            let names = columns.iter().map(|column| column.name());
            wrong(
                "key",
                format!("column `{key}` does not exist{}", did_you_mean(key, names)),
            )
        })?;
        once(key, "backfill.database.key")?;
        let of_key = columns[place].type_();
        let key_type = Kind::of_key(of_key).ok_or_else(|| {
            wrong(
                "key",
                format!(
                    "column `{key}` is of type {of_key}; a key is text, an integer, numeric, a UUID, a date or a timestamp: convert it in the query"
                ),
            )
        })?;
        let read = tops.iter().map(|top| all.field(*top).clone());
        let schema = Arc::new(Schema::new(read.collect::<Fields>()));
        Ok(Self {
            names: columns.iter().map(|column| column.name().to_owned()).collect(),
            kinds: tops.iter().filter_map(|top| kind(*top)).collect(),
            shape: Shape::new(NAME, &schema, &server.columns)?,
            schema,
            query: server.config.statement().to_owned(),
            key: quoted(key),
            key_type: key_type.to_owned(),
        })
    }

    /// Returns what determines the meaning of the digests of rows.
    pub(super) fn describe(&self) -> String {
        let columns = self.schema.fields().iter();
        let columns = columns.map(|field| format!("{:?} {}", field.name(), field.data_type()));
        columns.collect::<Vec<_>>().join(", ")
    }

    /// Returns a row with its key as one text. A newline ends a comment at the end of the query.
    fn row(&self) -> String {
        let columns = self.schema.fields().iter().map(|field| quoted(field.name()));
        let columns: Vec<String> = std::iter::once(self.key.clone()).chain(columns).collect();
        format!("ROW({})::text", columns.join(", "))
    }

    /// Returns the statement of the first pass: the key, whether it repeats the one before, the bytes of the
    /// row, and the row's digest.
    pub(super) fn pass(&self) -> String {
        format!(
            "SELECT p.k::text, coalesce(p.k = lag(p.k) OVER (ORDER BY p.k), false), octet_length(p.r), \
             sha256(convert_to(p.r, 'UTF8')) \
             FROM (SELECT {} AS k, {} AS r FROM (\n{}\n) q) p ORDER BY p.k",
            self.key,
            self.row(),
            self.query
        )
    }

    /// Returns the statement of the digests of these rows, and its parameters.
    pub(super) fn digests<'k>(&self, keys: &'k Keys) -> (String, Vec<&'k str>) {
        self.select(&format!("sha256(convert_to({}, 'UTF8'))", self.row()), keys, 0)
    }

    /// Returns the statement of these rows, except the first `skip` ones, and its parameters.
    pub(super) fn rows<'k>(&self, keys: &'k Keys, skip: u64) -> (String, Vec<&'k str>) {
        let fields = self.schema.fields().iter().zip(&self.kinds);
        let columns: Vec<String> = fields
            .map(|(field, kind)| kind.sql(&quoted(field.name())))
            .collect();
        self.select(&columns.join(", "), keys, skip)
    }

    fn select<'k>(&self, what: &str, keys: &'k Keys, skip: u64) -> (String, Vec<&'k str>) {
        let (mut conditions, mut parameters) = (Vec::new(), Vec::new());
        for (bound, sign) in [(&keys.after, ">"), (&keys.up_to, "<=")] {
            if let Some(bound) = bound {
                parameters.push(bound.as_str());
                conditions.push(format!(
                    "{} {sign} ${}::text::{}",
                    self.key,
                    parameters.len(),
                    self.key_type
                ));
            }
        }
        let condition = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        let sql = format!(
            "SELECT {what} FROM (\n{}\n) q{condition} ORDER BY {} OFFSET {skip}",
            self.query, self.key
        );
        (sql, parameters)
    }
}
