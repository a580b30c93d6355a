//! Notes in the real PostgreSQL.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::NoTls;

use super::env;
use super::notes::{id, planted, text};

/// A schema of one test in the shared server.
pub(crate) struct Schema {
    name: String,
}

impl Schema {
    /// Creates a schema with a table `notes` of this many notes.
    pub(crate) fn with_notes(count: usize) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let schema = Self {
            name: format!("notes_{}_{number}", std::process::id()),
        };
        schema.sql(&format!("CREATE SCHEMA {}", schema.name));
        schema.sql("CREATE TABLE notes (note_id text PRIMARY KEY, mrn text, name text, email text, ward text, text text)");
        let numbers: Vec<usize> = (0..count).collect();
        for numbers in numbers.chunks(500) {
            let row = |number: &usize| {
                let [_, email, mrn, name] = planted(*number);
                let (id, ward) = (id(*number), format!("ward {}", number % 5));
                let cells = [id, mrn, name, email, ward, text(*number)];
                let cells = cells.map(|cell| format!("'{}'", cell.replace('\'', "''")));
                format!("({})", cells.join(", "))
            };
            let rows: Vec<String> = numbers.iter().map(row).collect();
            schema.sql(&format!("INSERT INTO notes VALUES {}", rows.join(", ")));
        }
        schema
    }

    /// Runs statements in the schema.
    pub(crate) fn sql(&self, text: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let url = env("LETHE_TEST_POSTGRES");
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            let connection = tokio::spawn(connection);
            let path = format!("SET search_path = {}", self.name);
            client.batch_execute(&path).await.unwrap();
            client.batch_execute(text).await.unwrap();
            drop(client);
            connection.await.unwrap().unwrap();
        });
    }

    /// Ends the sessions of the program.
    pub(crate) fn end_sessions(&self) {
        self.sql(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}'",
            self.name
        ));
    }

    /// Returns the server's URL without the password.
    pub(crate) fn url(&self) -> String {
        let url = env("LETHE_TEST_POSTGRES");
        let (_, place) = url.rsplit_once('@').unwrap();
        format!(
            "postgresql://lethe@{place}?sslmode=disable&application_name={name}&options=-csearch_path%3D{name}",
            name = self.name
        )
    }

    /// Returns the server's password.
    pub(crate) fn password() -> String {
        let url = env("LETHE_TEST_POSTGRES");
        let (login, _) = url.rsplit_once('@').unwrap();
        login.rsplit_once(':').unwrap().1.to_owned()
    }
}
