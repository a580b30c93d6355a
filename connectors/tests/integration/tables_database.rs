//! Queries of a real PostgreSQL as tables: every type, exactly the rows of the first pass, lost connections,
//! and refusals that quote no value.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::atomic::{AtomicU32, Ordering};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array as _, ArrayRef};
use lethe_connectors::tables::{Slab, TableError, Tables, TablesConfig, Unit};
use lethe_core::QuarantineCode;
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run this test with scripts/test, or under scripts/with-servers")
    })
}

/// A schema of one test in the shared server.
struct Site {
    runtime: Runtime,
    name: String,
}

impl Site {
    fn new(sql: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let site = Self {
            runtime: Runtime::new().unwrap(),
            name: format!("tables_{}_{number}", std::process::id()),
        };
        site.sql(&format!("CREATE SCHEMA {}", site.name));
        site.sql(sql);
        site
    }

    /// Runs statements in the schema.
    fn sql(&self, text: &str) {
        self.runtime.block_on(async {
            let url = variable("LETHE_TEST_POSTGRES");
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            let connection = tokio::spawn(connection);
            let path = format!("SET search_path = {}, public", self.name);
            client.batch_execute(&path).await.unwrap();
            client.batch_execute(text).await.unwrap();
            drop(client);
            connection.await.unwrap().unwrap();
        });
    }

    /// The connection string of the tests, whose sessions have the schema's name.
    fn connection(&self) -> String {
        format!(
            "{}?sslmode=disable&application_name={name}&options=-csearch_path%3D{name}",
            variable("LETHE_TEST_POSTGRES"),
            name = self.name
        )
    }

    fn open(&self, query: &str, more: &str) -> Result<Tables, TableError> {
        let more = match more {
            "" => "[columns]\ntext = [\"text\"]\nkeep = [\"id\"]",
            more => more,
        };
        self.at(&self.connection(), query, "id", more)
    }

    fn at(&self, connection: &str, query: &str, key: &str, more: &str) -> Result<Tables, TableError> {
        let config = format!(
            "database = {{ connection = {connection:?}, query = {query:?}, key = {key:?} }}\nunit_bytes = 4000\n{more}\n"
        );
        let config: TablesConfig = toml::from_str(&config).unwrap();
        Tables::open(&config, self.runtime.handle().clone())
    }

    /// Returns the refusal of a query.
    fn refusal(&self, query: &str, more: &str) -> String {
        let tables = self.open(query, more).unwrap();
        let error = tables.units(None).unwrap_err();
        assert!(error.is_permanent(), "{error}");
        error.to_string()
    }
}

fn slabs(tables: &Tables, unit: &Unit, from: u64) -> Vec<Slab> {
    let (_, slabs) = tables.read(unit, from).unwrap();
    slabs.map(Result::unwrap).collect()
}

/// Reads all units: each row's number and text.
fn rows(tables: &Tables) -> Vec<(i64, Option<String>)> {
    let units = tables.units(None).unwrap().units;
    let slabs = units.iter().flat_map(|unit| slabs(tables, unit, 0));
    let texts = slabs.flat_map(|slab| {
        let texts = column(&slab, "text").as_string::<i64>().clone();
        let text = move |at: usize| texts.is_valid(at).then(|| texts.value(at).to_owned());
        (0..slab.record.num_rows()).map(move |at| (slab.first + at as i64, text(at)))
    });
    texts.collect()
}

fn column(slab: &Slab, name: &str) -> ArrayRef {
    slab.record.column_by_name(name).unwrap().clone()
}

const NOTES: &str = "CREATE TABLE notes (id bigint PRIMARY KEY, text text, seen int DEFAULT 0);
    INSERT INTO notes SELECT n, 'Note ' || n || repeat(' x', n % 40) FROM generate_series(1, 500) n";

#[test]
fn every_type_comes_back_as_it_is_and_null_is_null() {
    let site = Site::new(
        r#"CREATE TABLE t (id uuid PRIMARY KEY, text text, v varchar(20), c char(3), b bool, s int2, i int4, l int8, f float4,
            d float8, n numeric, day date, at timestamp, atz timestamptz, j json, jb jsonb, raw bytea, "odd ""name" text, span interval);
        INSERT INTO t VALUES
          ('00000000-0000-0000-0000-000000000001', E'line one\nline "two", \\ and\ttab; é', '', 'ab', true, -32768,
           2147483647, -9223372036854775808, 0.1, -2.5e300, 12345678901234567890.000100, '2019-03-05', '2019-03-05 14:30:00.000001',
           '2019-03-05 14:30:00+02', '{"a":  1}', '{"b": [1, null]}', '\x00ff', 'odd', '1 day'),
          ('00000000-0000-0000-0000-000000000002', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           NULL, NULL, NULL, NULL, NULL),
          ('00000000-0000-0000-0000-000000000003', '', 'x', 'abc', false, 1, 1, 1, 'NaN', 'Infinity', 'NaN', 'infinity', '1900-01-01',
           '0044-03-15 BC', '1', '1', '', '', '1 day')"#,
    );
    let kept = "[columns]\ntext = [\"text\"]\nkeep = [\"id\", \"v\", \"c\", \"b\", \"s\", \"i\", \"l\", \"f\", \"d\", \"n\", \"day\", \"at\", \"atz\", \"j\", \"jb\", \"raw\", \"odd \\\"name\"]";
    let tables = site.open("SELECT * FROM t -- a comment", kept).unwrap();
    let units = tables.units(None).unwrap().units;
    let all = slabs(&tables, &units[0], 0);
    let slab = &all[0];
    assert_eq!((units.len(), all.len(), slab.record.num_rows()), (1, 1, 3));
    for name in slab.record.schema().fields().iter().map(|field| field.name()) {
        assert_eq!(column(slab, name).is_null(1), name != "id", "{name}");
    }
    let text = |name: &str, row: usize| column(slab, name).as_string::<i64>().value(row).to_owned();
    assert_eq!(text("id", 0), "00000000-0000-0000-0000-000000000001");
    assert_eq!(text("text", 0), "line one\nline \"two\", \\ and\ttab; é");
    assert_eq!(
        (text("text", 2), text("v", 0), text("c", 0)),
        ("".into(), "".into(), "ab ".into())
    );
    assert_eq!(text("n", 0), "12345678901234567890.000100");
    assert_eq!(
        (text("n", 2), text("odd \"name", 0)),
        ("NaN".into(), "odd".into())
    );
    assert_eq!(
        (text("j", 0), text("jb", 0)),
        ("{\"a\":  1}".into(), "{\"b\": [1, null]}".into())
    );
    assert!(column(slab, "b").as_boolean().value(0) && !column(slab, "b").as_boolean().value(2));
    assert_eq!(column(slab, "s").as_primitive::<Int16Type>().value(0), i16::MIN);
    assert_eq!(column(slab, "i").as_primitive::<Int32Type>().value(0), i32::MAX);
    assert_eq!(column(slab, "l").as_primitive::<Int64Type>().value(0), i64::MIN);
    assert_eq!(column(slab, "f").as_primitive::<Float32Type>().value(0), 0.1);
    assert!(column(slab, "f").as_primitive::<Float32Type>().value(2).is_nan());
    assert_eq!(column(slab, "d").as_primitive::<Float64Type>().value(0), -2.5e300);
    assert_eq!(column(slab, "day").as_primitive::<Date32Type>().value(0), 17_960);
    let at = |name: &str, row| {
        column(slab, name)
            .as_primitive::<TimestampMicrosecondType>()
            .value(row)
    };
    assert_eq!(at("at", 0), 1_551_796_200_000_001);
    assert_eq!(at("atz", 0), 1_551_789_000_000_000);
    assert_eq!(at("at", 2), -2_208_988_800_000_000);
    assert_eq!(column(slab, "raw").as_binary::<i64>().value(0), [0, 255]);
    assert_eq!(
        slab.bad,
        [(2, QuarantineCode::InvalidPayload)],
        "infinity is no date"
    );
    let refused = site.refusal("SELECT * FROM t", &kept.replace("\"day\"", "\"span\""));
    assert!(
        refused.contains("column `span` is of type interval")
            && refused.contains("\"span\"::text AS \"span\""),
        "{refused}"
    );
}

#[test]
fn units_have_every_row_once_and_reading_again_returns_the_rest() {
    let site = Site::new(NOTES);
    let tables = site.open("SELECT * FROM notes;\n", "").unwrap();
    let units = tables.units(None).unwrap().units;
    assert!(units.len() > 3, "{}", units.len());
    let all = rows(&tables);
    assert_eq!(all.len(), 500);
    assert!(all.iter().enumerate().all(|(at, (row, text))| {
        let number = at + 1;
        *row == at as i64 && *text == Some(format!("Note {number}{}", " x".repeat(number % 40)))
    }));
    let whole = slabs(&tables, &units[1], 0);
    let rest = slabs(&tables, &units[1], 7);
    let total = |slabs: &[Slab]| slabs.iter().map(|slab| slab.record.num_rows()).sum::<usize>();
    assert_eq!(total(&rest) + 7, total(&whole));
    assert_eq!(rest[0].first, whole[0].first + 7);
    assert_eq!(rest[0].record.slice(0, 1), whole[0].record.slice(7, 1));
    // A later run finds the same units.
    let again = site.open("SELECT * FROM notes", "").unwrap();
    assert_eq!(again.units(None).unwrap().units, units);
    let none = site.open("SELECT * FROM notes WHERE id < 0", "").unwrap();
    assert_eq!((none.units(None).unwrap().units.len(), rows(&none).len()), (1, 0));
    // Keys of other types split and continue as well.
    for key in [
        "id::text",
        "id::numeric / 3",
        "timestamptz '2020-01-01' + id * interval '1 us'",
        "md5(id::text)::uuid",
        "date '2020-01-01' + id::int",
    ] {
        let query = format!("SELECT {key} AS id, text FROM notes");
        let tables = site.open(&query, "").unwrap();
        assert_eq!(rows(&tables).len(), 500, "{key}");
    }
}

#[test]
fn rows_that_change_after_the_first_pass_are_noticed() {
    let site = Site::new(NOTES);
    let tables = site.open("SELECT * FROM notes", "").unwrap();
    let units = tables.units(None).unwrap().units;
    // A column that is not read may change.
    site.sql("UPDATE notes SET seen = 1");
    assert_eq!(slabs(&tables, &units[0], 0)[0].first, 0);
    site.sql("UPDATE notes SET text = 'Quillfeather' WHERE id = 3; INSERT INTO notes VALUES (1000, 'more')");
    for unit in [&units[0], units.last().unwrap()] {
        let (_, mut slabs) = tables.read(unit, 0).unwrap();
        let error = slabs.next().unwrap().unwrap_err();
        assert!(error.to_string().contains("changed since Lethe began"), "{error}");
        assert!(!error.is_permanent() && !error.to_string().contains("Quillfeather"));
        assert!(slabs.next().is_none());
    }
    assert!(
        slabs(&tables, &units[1], 0)[0].first > 0,
        "other units are as before"
    );
    let now = site
        .open("SELECT * FROM notes", "")
        .unwrap()
        .units(None)
        .unwrap()
        .units;
    assert_ne!(now[1].object.version, units[1].object.version);
}

#[test]
fn a_lost_connection_is_made_again_and_no_row_is_lost_or_repeated() {
    let site = Site::new(
        "CREATE TABLE notes (id int PRIMARY KEY, text text);
         INSERT INTO notes SELECT n, repeat(md5(n::text), 8000) FROM generate_series(1, 120) n",
    );
    let more = "[columns]\ntext = [\"text\"]\nkeep = [\"id\"]";
    let config = format!(
        "database = {{ connection = {:?}, query = \"SELECT * FROM notes\", key = \"id\" }}\n{more}",
        site.connection()
    );
    let config: TablesConfig = toml::from_str(&config).unwrap();
    let tables = Tables::open(&config, site.runtime.handle().clone()).unwrap();
    let units = tables.units(None).unwrap().units;
    assert_eq!(units.len(), 1);
    let (_, slabs) = tables.read(&units[0], 0).unwrap();
    let mut next = 0;
    for (number, slab) in slabs.enumerate() {
        let slab = slab.unwrap();
        assert_eq!(slab.first, next);
        next += slab.record.num_rows() as i64;
        if number == 1 {
            let name = &site.name;
            site.sql(&format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
            ));
        }
    }
    assert_eq!(next, 120);
}

#[test]
fn a_query_that_writes_is_refused_by_the_server() {
    let site = Site::new(&format!(
        "{NOTES}; CREATE SEQUENCE counter; CREATE FUNCTION grow() RETURNS int LANGUAGE sql AS 'DELETE FROM notes RETURNING 1'"
    ));
    for query in [
        "SELECT nextval('counter') AS id, 'a' AS text",
        "SELECT id, text, grow() FROM notes",
        "SELECT * FROM notes FOR UPDATE",
        "SELECT id, text, set_config('transaction_read_only', 'off', true), grow() FROM notes",
    ] {
        let error = site.open(query, "").unwrap().units(None).unwrap_err().to_string();
        let says = ["writes to the database", "not one SELECT", "SQLSTATE 25"];
        assert!(says.iter().any(|what| error.contains(what)), "{query}: {error}");
    }
    for query in [
        "DELETE FROM notes RETURNING id, text",
        "WITH gone AS (DELETE FROM notes RETURNING id, text) SELECT * FROM gone",
        "SELECT id, text FROM notes; DELETE FROM notes",
        "SELECT 1) q; DELETE FROM notes; SELECT * FROM (SELECT 2",
        "DROP TABLE notes",
    ] {
        let error = site.refusal(query, "");
        assert!(error.contains("backfill.database.query"), "{query}: {error}");
    }
    let tables = site.open("SELECT * FROM notes", "").unwrap();
    assert_eq!(rows(&tables).len(), 500, "nothing was deleted");
}

#[test]
fn what_cannot_be_read_is_named_with_its_key_and_without_a_value() {
    let site = Site::new(&format!(
        "{NOTES}; INSERT INTO notes VALUES (900, 'Quillfeather')"
    ));
    for (query, more, expected) in [
        (
            "SELECT id, text FROM note",
            "",
            "relation \"note\" does not exist (SQLSTATE 42P01)",
        ),
        (
            "SELECT id, txet AS txet FROM notes",
            "",
            "column \"txet\" does not exist",
        ),
        (
            "SELECT id, text AS texts FROM notes",
            "",
            "column `text` does not exist; did you mean `texts`?",
        ),
        (
            "SELECT id AS ids, text FROM notes",
            "[columns]\ntext = [\"text\"]",
            "`id` does not exist; did you mean `ids`?",
        ),
        ("SELECT id, text, text FROM notes", "", "2 columns named `text`"),
        (
            "SELECT id / 2 AS id, text FROM notes",
            "",
            "the same value in two rows",
        ),
        (
            "SELECT nullif(id, 900) AS id, text FROM notes",
            "",
            "is null in a row",
        ),
        ("SELECT true AS id, text FROM notes", "", "is of type bool"),
        ("SELECT id, text FROM notes WHERE id = $1", "", "has a parameter"),
        (
            "SELECT id, text, text::int AS n FROM notes WHERE id = 900",
            "[columns]\ntext = [\"text\"]\nkeep = [\"n\"]",
            "SQLSTATE 22P02",
        ),
    ] {
        let error = site.refusal(query, more);
        assert!(error.contains(expected), "{query}: {error}");
        assert!(!error.contains("Quillfeather"), "{error}");
    }
    let connection = variable("LETHE_TEST_POSTGRES");
    let (_, after) = connection.rsplit_once('@').unwrap();
    let wrong = format!("postgresql://lethe:hush-hush@{after}?sslmode=disable");
    let tables = site
        .at(
            &wrong,
            "SELECT 1 AS id, 'a' AS text",
            "id",
            "[columns]\ntext = [\"text\"]",
        )
        .unwrap();
    let error = tables.check_query().unwrap_err().to_string();
    assert!(
        error.contains("refused the login") && !error.contains("hush"),
        "{error}"
    );
}

#[test]
fn certificates_are_verified_as_sslmode_says() {
    let site = Site::new("SELECT 1");
    let (url, ca) = (
        variable("LETHE_TEST_POSTGRES_ONLY_TLS"),
        variable("LETHE_TEST_POSTGRES_CA"),
    );
    let check = |url: &str, parameters: &str| {
        let connection = format!("{url}?{parameters}");
        let columns = "[columns]\ntext = [\"text\"]";
        let tables = site
            .at(&connection, "SELECT 1 AS id, 'a' AS text", "id", columns)
            .unwrap();
        tables.check_query().map_err(|error| error.to_string())
    };
    let ca = ca.replace('/', "%2F");
    // The certificate is valid for localhost and 127.0.0.1 only.
    let other = url.replace("@127.0.0.1", "@db.example");
    let of_other = format!("hostaddr=127.0.0.1&sslrootcert={ca}&sslmode=");
    assert!(check(&url, &format!("sslmode=verify-full&sslrootcert={ca}")).is_ok());
    assert!(check(&url, &format!("sslmode=verify-ca&sslrootcert={ca}")).is_ok());
    assert!(check(&url, "sslmode=require").is_ok());
    assert!(check(&url, "sslmode=prefer").is_ok());
    for parameters in ["", "sslmode=verify-full", "sslmode=verify-ca"] {
        let error = check(&url, parameters).unwrap_err();
        assert!(
            error.contains("certificate verify failed"),
            "{parameters}: {error}"
        );
    }
    assert!(
        check(&url, "sslmode=disable")
            .unwrap_err()
            .contains("refused the login")
    );
    assert!(check(&other, &format!("{of_other}verify-ca")).is_ok());
    let error = check(&other, &format!("{of_other}verify-full")).unwrap_err();
    assert!(error.contains("certificate verify failed"), "{error}");
}
