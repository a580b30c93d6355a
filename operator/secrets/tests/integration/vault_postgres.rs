//! The vault in a real PostgreSQL: one code per value whichever process asks first, and the error for each
//! way to lose the server.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::workers;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lethe_secrets::{Code, Keyring, PostgresTls, PostgresVault, Vault, VaultError};
use tokio_postgres::NoTls;
use workers::{ask, keeps_the_first_text, keyring, keyring_of, patients, removes};

const LIMIT: Duration = Duration::from_secs(60);

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run this test with scripts/test, or under scripts/with-servers")
    })
}

/// Runs statements on a server.
fn sql(url: &str, text: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(text).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    });
}

/// Creates a schema for one test in the shared server.
fn schema() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let (url, name) = (
        variable("LETHE_TEST_POSTGRES"),
        format!("t{}_{number}", std::process::id()),
    );
    sql(&url, &format!("CREATE SCHEMA {name}"));
    format!("{url}?options=-csearch_path%3D{name}")
}

fn open(url: &str) -> Result<PostgresVault, VaultError> {
    PostgresVault::open(url, &PostgresTls::Off, LIMIT, &keyring())
}

fn create(url: &str) -> PostgresVault {
    PostgresVault::open_or_create(url, &PostgresTls::Off, LIMIT, &keyring()).unwrap()
}

/// A server for one test.
struct Server(PathBuf);

impl Server {
    fn start() -> (Self, String) {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("postgres-{}-{number}", std::process::id());
        let server = Self(PathBuf::from(variable("LETHE_TEST_SERVERS_DIR")).join(name));
        let printed = server.tell(&["start", "--owner", &std::process::id().to_string()]);
        let url = printed
            .lines()
            .find_map(|line| line.strip_prefix("URL="))
            .unwrap()
            .to_owned();
        (server, url)
    }

    fn tell(&self, arguments: &[&str]) -> String {
        let done = Command::new(variable("LETHE_TEST_POSTGRES_SCRIPT"))
            .args(arguments)
            .arg("--dir")
            .arg(&self.0)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends with this process in any case (`--owner`), so a failure here does not fail the test.
        drop(
            Command::new(variable("LETHE_TEST_POSTGRES_SCRIPT"))
                .args(["stop", "--dir"])
                .arg(&self.0)
                .output(),
        );
    }
}

#[test]
fn a_value_keeps_its_code_and_the_code_leads_back_to_the_value() {
    let url = schema();
    let vault = create(&url);
    let first = ask(&vault, &["Quill", "Ost", "Quill"]).unwrap();
    assert_eq!(first[0], first[2]);
    assert_ne!(first[0], first[1]);
    assert_eq!(
        ask(&open(&url).unwrap(), &["Ost", "Quill"]).unwrap(),
        [first[1], first[0]]
    );
    let entry = vault.value(first[0]).unwrap().unwrap();
    assert_eq!(
        (&*entry.label, &**entry.scope, &**entry.value),
        ("PATIENT", "p1", "Quill")
    );
    assert_eq!(ask(&vault, &[]).unwrap(), []);
    let codes = vault.codes(&workers::variants("Quill")).unwrap();
    assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
    let never = (0..32).map(|i| format!("AAAAAAAAAA{:02}", i).parse().unwrap());
    let never: Code = never
        .into_iter()
        .find(|code| !first.contains(code) && !codes.contains(code))
        .unwrap();
    assert!(vault.value(never).unwrap().is_none());
}

#[test]
fn two_connections_that_race_get_the_same_codes() {
    let url = schema();
    let (one, two) = (create(&url), open(&url).unwrap());
    let start = Barrier::new(8);
    let all: Vec<Vec<Code>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|i| {
                let vault = if i % 2 == 0 { &one } else { &two };
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    // The same values in batches split at other places, and in reverse order.
                    let mut values = patients(120);
                    if i % 3 == 0 {
                        values.reverse();
                    }
                    let keys = workers::keys(&values);
                    let mut codes: Vec<_> = keys
                        .chunks(5 + i)
                        .flat_map(|batch| vault.codes(batch).unwrap())
                        .collect();
                    if i % 3 == 0 {
                        codes.reverse();
                    }
                    codes
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(all[0].iter().collect::<BTreeSet<_>>().len(), 120);
}

#[test]
fn processes_that_race_get_the_same_codes_even_when_none_has_made_the_tables() {
    let answer = workers::race("postgres", &schema(), 6, 60);
    assert_eq!(
        answer.iter().collect::<BTreeSet<_>>().len(),
        1,
        "all processes got the same code"
    );
    assert_eq!(answer[0].len(), 60);
}

#[test]
fn a_process_killed_at_any_moment_loses_no_code_that_it_gave_out() {
    let url = schema();
    let vault = create(&url);
    let mut given = 0;
    for round in 0..4 {
        let told = workers::killed("postgres", &url, &format!("r{round}"), 2, 60 + round * 31);
        given += told.len();
        for (value, code) in told {
            assert_eq!(ask(&vault, &[&value]).unwrap(), [code]);
            assert_eq!(*vault.value(code).unwrap().unwrap().value, value);
        }
    }
    assert!(given > 40, "only {given} codes were assigned before the kills");
}

#[test]
fn a_vault_is_opened_with_its_own_key_alone_and_survives_a_rotation() {
    let url = schema();
    let answer = open(&url).unwrap_err();
    assert!(matches!(answer, VaultError::Missing { .. }), "{answer}");
    let code = ask(&create(&url), &["Quill"]).unwrap();
    let with = |ring: &Keyring| PostgresVault::open_or_create(&url, &PostgresTls::Off, LIMIT, ring);

    let other = Keyring::parse(&Keyring::new_key("a").unwrap()).unwrap();
    let answer = with(&other).unwrap_err();
    assert!(
        matches!(answer, VaultError::WrongKey { ref id } if id == "a"),
        "{answer}"
    );
    let vault = with(&keyring_of("accepted")).unwrap();
    assert_eq!(vault.key_id(), "a");
    assert_eq!(ask(&vault, &["Quill"]).unwrap(), code);
    assert!(matches!(with(&keyring_of("retired")), Err(VaultError::Key(_))));

    let name = url.rsplit("%3D").next().unwrap();
    sql(
        &variable("LETHE_TEST_POSTGRES"),
        &format!("UPDATE {name}.lethe_vault_key SET form = 2"),
    );
    let answer = open(&url).unwrap_err();
    assert!(
        matches!(answer, VaultError::Form { found: 2, known: 1 }),
        "{answer}"
    );
}

#[test]
fn tls_is_verified_and_not_given_up() {
    let url = variable("LETHE_TEST_POSTGRES_ONLY_TLS");
    let with = |tls: &PostgresTls, url: &str| PostgresVault::open_or_create(url, tls, LIMIT, &keyring());
    let authority = PostgresTls::Authority(variable("LETHE_TEST_POSTGRES_CA").into());
    let vault = with(&authority, &url).unwrap();
    ask(&vault, &["Quill"]).unwrap();

    let refused = |tls, url: &str| {
        let answer = with(tls, url).unwrap_err();
        assert!(matches!(answer, VaultError::Refused { .. }), "{answer}");
        let password = url.split(['@', ':']).nth(2).unwrap();
        assert!(!answer.to_string().contains(password), "{answer}");
        answer.to_string()
    };
    // The system does not trust the certificate; then the server's own rule refuses; then the name does not
    // match.
    assert!(refused(&PostgresTls::System, &url).contains("certificate"));
    assert!(refused(&PostgresTls::Off, &url).contains("pg_hba.conf"));
    let elsewhere = url.replace("@127.0.0.1", "@elsewhere") + "?hostaddr=127.0.0.1";
    assert!(refused(&authority, &elsewhere).contains("certificate"));
    // The string's TLS settings have no effect.
    assert!(refused(&PostgresTls::System, &format!("{url}?sslmode=disable")).contains("certificate"));
}

#[test]
fn a_wrong_password_and_a_wrong_database_are_not_worth_another_try() {
    let url = variable("LETHE_TEST_POSTGRES");
    let password = url.split(['@', ':']).nth(2).unwrap().to_owned();
    for wrong in [
        url.replace(&password, "wrong-password"),
        url.replace("/lethe", "/nowhere"),
        "no such string".into(),
    ] {
        let answer = open(&wrong).unwrap_err();
        assert!(matches!(answer, VaultError::Refused { .. }), "{answer}");
        assert!(!answer.to_string().contains("wrong-password"), "{answer}");
    }
}

#[test]
fn a_server_that_is_not_there_is_worth_another_try() {
    let answer = open("postgresql://lethe:x@127.0.0.1:1/lethe").unwrap_err();
    assert!(answer.is_temporary(), "{answer}");
}

#[test]
fn a_killed_server_is_told_as_unavailable_and_has_every_code_when_it_is_back() {
    let (server, url) = Server::start();
    let vault = create(&url);
    let codes = ask(&vault, &["Quill", "Ost"]).unwrap();
    server.tell(&["kill"]);
    let answer = ask(&vault, &["Quill"]).unwrap_err();
    assert!(answer.is_temporary(), "{answer}");
    assert!(vault.value(codes[0]).unwrap_err().is_temporary());
    server.tell(&["restart"]);
    assert_eq!(ask(&vault, &["Quill", "Ost"]).unwrap(), codes);

    // A restart between two calls goes unnoticed.
    server.tell(&["restart"]);
    assert_eq!(*vault.value(codes[0]).unwrap().unwrap().value, "Quill");
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let (server, url) = Server::start();
    drop(create(&url));
    let vault = PostgresVault::open(&url, &PostgresTls::Off, Duration::from_secs(5), &keyring()).unwrap();
    let codes = ask(&vault, &["Quill"]).unwrap();
    server.tell(&["pause"]);
    let answer = ask(&vault, &["Ost"]).unwrap_err();
    assert!(answer.is_temporary(), "{answer}");
    server.tell(&["resume"]);
    assert_eq!(ask(&vault, &["Quill"]).unwrap(), codes);
}

#[test]
fn codes_are_on_the_disk_even_where_the_server_is_set_to_answer_early() {
    let url = schema();
    let name = url.rsplit("%3D").next().unwrap();
    // An administrator can set this for a user; `options` sets it for these connections alone.
    let vault = create(&format!("{url}%20-csynchronous_commit%3Doff"));
    let admin = variable("LETHE_TEST_POSTGRES");
    sql(
        &admin,
        &format!(
            "CREATE TABLE {name}.seen (setting text);
             CREATE FUNCTION {name}.see() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO {name}.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
             CREATE TRIGGER see AFTER INSERT ON {name}.lethe_vault FOR EACH STATEMENT EXECUTE FUNCTION {name}.see();"
        ),
    );
    ask(&vault, &["Quill"]).unwrap();
    // Fails unless the one row says `on`.
    sql(
        &admin,
        &format!("SELECT 1 / (min(setting) = 'on' AND count(*) = 1)::int FROM {name}.seen"),
    );
}

/// Worker processes of the tests above run this, controlled by a variable.
#[test]
fn a_worker_tells_each_code_that_it_was_given() {
    if workers::work() {
        return;
    }
    let url = schema();
    let answer = workers::race("postgres", &url, 1, 3);
    let values = patients(3);
    let codes = open(&url).unwrap().codes(&workers::keys(&values)).unwrap();
    let expected: Vec<_> = values
        .iter()
        .zip(codes)
        .map(|(value, code)| format!("{value}={code}"))
        .collect();
    assert_eq!(answer, [expected]);
}

#[test]
fn a_text_is_kept_under_its_key_and_the_first_of_several_stays() {
    keeps_the_first_text(&create(&schema()));
}

#[test]
fn removed_codes_are_gone_with_their_values_and_all_others_stay() {
    removes(&create(&schema()));
}
