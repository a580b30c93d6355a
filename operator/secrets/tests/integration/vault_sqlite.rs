//! The vault in a file: one code per value whichever process asks first, in threads and in processes, through
//! kills and on disk.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::workers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Barrier;
use std::time::Duration;

use lethe_secrets::{Code, Keyring, SqliteVault, Vault, VaultError};
use rusqlite::Connection;
use workers::{LINK, ask, keeps_the_first_text, keyring, keyring_of, patients, removes};

/// Returns the contents of the file: codes with a look-up row, codes with an entry, and SQLite's integrity
/// check.
fn inside(path: &Path) -> (BTreeSet<i64>, BTreeSet<i64>, String) {
    let file = Connection::open(path).unwrap();
    let codes = |sql| {
        let mut query = file.prepare(sql).unwrap();
        let rows = query.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let check = file
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    (
        codes("SELECT code FROM lookup"),
        codes("SELECT code FROM entry"),
        check,
    )
}

#[test]
fn removed_codes_are_gone_with_their_values_and_all_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    let vault = SqliteVault::open_or_create(&path, &keyring()).unwrap();
    removes(&vault);
    let (looked_up, entries, check) = inside(&path);
    assert_eq!((looked_up.len(), check.as_str()), (entries.len(), "ok"));
    assert_eq!(looked_up, entries);
}

#[test]
fn a_value_keeps_its_code_and_the_code_leads_back_to_the_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    let vault = SqliteVault::open_or_create(&path, &keyring()).unwrap();
    let first = ask(&vault, &["Quill", "Ost", "Quill"]).unwrap();
    assert_eq!(first[0], first[2]);
    assert_ne!(first[0], first[1]);
    assert_eq!(ask(&vault, &["Ost", "Quill"]).unwrap(), [first[1], first[0]]);
    let entry = vault.value(first[0]).unwrap().unwrap();
    assert_eq!(
        (&*entry.label, &**entry.scope, &**entry.value),
        ("PATIENT", "p1", "Quill")
    );
    let other: Code = if first.contains(&"AAAAAAAAAAAA".parse().unwrap()) {
        "AAAAAAAAAAAB"
    } else {
        "AAAAAAAAAAAA"
    }
    .parse()
    .unwrap();
    assert!(vault.value(other).unwrap().is_none());
    assert_eq!(ask(&vault, &[]).unwrap(), []);
    assert_eq!(vault.key_id(), "a");
}

#[test]
fn labels_and_patients_have_codes_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let vault = SqliteVault::open_or_create(&folder.path().join("vault"), &keyring()).unwrap();
    let codes = vault.codes(&workers::variants("Quill")).unwrap();
    assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
}

#[test]
fn the_file_holds_no_plain_text_and_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    let vault = SqliteVault::open_or_create(&path, &keyring()).unwrap();
    ask(&vault, &["Zxyquillantine"]).unwrap();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        for plain in [&b"Zxyquillantine"[..], b"PATIENT"] {
            assert!(
                !bytes.windows(plain.len()).any(|window| window == plain),
                "{:?}",
                file.path()
            );
        }
        assert_eq!(
            file.metadata().unwrap().permissions().mode() & 0o077,
            0,
            "{:?}",
            file.path()
        );
    }
}

#[test]
fn threads_that_race_get_the_same_codes() {
    let folder = tempfile::tempdir().unwrap();
    let vault = SqliteVault::open_or_create(&folder.path().join("vault"), &keyring()).unwrap();
    let start = Barrier::new(16);
    let all: Vec<Vec<Code>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    (0..40)
                        .map(|i| ask(&vault, &[&i.to_string()]).unwrap()[0])
                        .collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(all[0].iter().collect::<BTreeSet<_>>().len(), 40);
}

#[test]
fn processes_that_race_get_the_same_codes_even_when_none_has_made_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    let answer = workers::race("sqlite", path.to_str().unwrap(), 8, 60);
    let all: BTreeSet<_> = answer.iter().collect();
    assert_eq!(answer.len(), 8);
    assert_eq!(all.len(), 1, "all processes got the same code");
    assert_eq!(answer[0].len(), 60);
    let (found, entries, check) = inside(&path);
    assert_eq!(check, "ok");
    assert_eq!(found.len(), 60);
    assert_eq!(found, entries);
}

#[test]
fn a_process_killed_at_any_moment_leaves_whole_codes_and_loses_none_that_it_gave_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    drop(SqliteVault::open_or_create(&path, &keyring()).unwrap());
    let mut given = BTreeMap::new();
    for round in 0..12 {
        // There are two writers at a time; kills fall before, in and after their transactions.
        let told = workers::killed(
            "sqlite",
            path.to_str().unwrap(),
            &format!("r{round}"),
            2,
            30 + round * 23,
        );
        for (value, code) in told {
            assert_eq!(given.entry(value).or_insert(code), &code, "one code per value");
        }
        let (found, entries, check) = inside(&path);
        assert_eq!(check, "ok");
        assert_eq!(found, entries, "a code is complete or absent");
    }
    assert!(
        given.len() > 100,
        "only {} codes were assigned before the kills",
        given.len()
    );
    let vault = SqliteVault::open(&path, &keyring()).unwrap();
    for (value, code) in &given {
        assert_eq!(ask(&vault, &[value]).unwrap(), [*code]);
        assert_eq!(**vault.value(*code).unwrap().unwrap().value, **value);
    }
}

#[test]
fn a_vault_is_opened_with_its_own_key_alone_and_survives_a_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    let code = ask(
        &SqliteVault::open_or_create(&path, &keyring()).unwrap(),
        &["Quill"],
    )
    .unwrap();

    let other = Keyring::parse(&Keyring::new_key("a").unwrap()).unwrap();
    let answer = SqliteVault::open(&path, &other).unwrap_err();
    assert!(
        matches!(answer, VaultError::WrongKey { ref id } if id == "a"),
        "{answer}"
    );
    assert!(!answer.is_temporary());
    let unknown = Keyring::parse(&Keyring::new_key("b").unwrap()).unwrap();
    assert!(matches!(
        SqliteVault::open(&path, &unknown),
        Err(VaultError::Key(_))
    ));
    assert!(matches!(
        SqliteVault::open_or_create(&path, &unknown),
        Err(VaultError::Key(_))
    ));

    let rotated = keyring_of("accepted");
    assert_eq!(rotated.current().id(), "b");
    let vault = SqliteVault::open(&path, &rotated).unwrap();
    assert_eq!(vault.key_id(), "a");
    assert_eq!(ask(&vault, &["Quill"]).unwrap(), code);
    assert!(matches!(
        SqliteVault::open(&path, &keyring_of("retired")),
        Err(VaultError::Key(_))
    ));
}

#[test]
fn a_vault_that_is_not_there_is_not_made_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    assert!(matches!(
        SqliteVault::open(&path, &keyring()),
        Err(VaultError::Missing { .. })
    ));
    assert!(!path.exists());
    std::fs::write(&path, "").unwrap();
    assert!(matches!(
        SqliteVault::open(&path, &keyring()),
        Err(VaultError::Missing { .. })
    ));
}

#[test]
fn other_files_and_other_forms_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "not a database, and long enough to tell ".repeat(40)).unwrap();
    assert!(matches!(
        SqliteVault::open(&text, &keyring()),
        Err(VaultError::Foreign { .. })
    ));
    let before = std::fs::read(&text).unwrap();
    assert!(SqliteVault::open_or_create(&text, &keyring()).is_err());
    assert_eq!(std::fs::read(&text).unwrap(), before);

    let database = folder.path().join("database");
    Connection::open(&database)
        .unwrap()
        .execute_batch("CREATE TABLE other (x)")
        .unwrap();
    assert!(matches!(
        SqliteVault::open(&database, &keyring()),
        Err(VaultError::Foreign { .. })
    ));
    assert!(matches!(
        SqliteVault::open_or_create(&database, &keyring()),
        Err(VaultError::Foreign { .. })
    ));
    let mode = Connection::open(&database)
        .unwrap()
        .query_row("PRAGMA journal_mode", [], |row| row.get(0));
    assert_eq!(
        mode,
        Ok("delete".to_owned()),
        "what is another program's is left as it is"
    );

    let newer = folder.path().join("newer");
    drop(SqliteVault::open_or_create(&newer, &keyring()).unwrap());
    Connection::open(&newer)
        .unwrap()
        .pragma_update(None, "user_version", 2)
        .unwrap();
    let answer = SqliteVault::open(&newer, &keyring()).unwrap_err();
    assert!(
        matches!(answer, VaultError::Form { found: 2, known: 1 }),
        "{answer}"
    );
}

#[test]
fn a_writer_that_does_not_let_go_makes_new_codes_wait_and_known_ones_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    drop(SqliteVault::open_or_create(&path, &keyring()).unwrap());
    let vault = SqliteVault::with_wait(&path, &keyring(), Duration::from_millis(100)).unwrap();
    let known = ask(&vault, &["Quill"]).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(ask(&vault, &["Quill"]).unwrap(), known);
    let answer = ask(&vault, &["Ost"]).unwrap_err();
    assert!(answer.is_temporary(), "{answer}");
    other.execute_batch("ROLLBACK").unwrap();
    ask(&vault, &["Ost"]).unwrap();
}

#[test]
fn an_entry_that_was_altered_is_told_as_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    let vault = SqliteVault::open_or_create(&path, &keyring()).unwrap();
    let codes = ask(&vault, &["Quill", "Ost"]).unwrap();
    let file = Connection::open(&path).unwrap();
    // Two entries are swapped: each is intact, but under the wrong code.
    file.execute_batch(
        "CREATE TEMP TABLE two AS SELECT code, sealed FROM entry;
         UPDATE entry SET sealed = (SELECT sealed FROM two WHERE two.code <> entry.code)",
    )
    .unwrap();
    let answer = vault.value(codes[0]).unwrap_err();
    assert!(matches!(answer, VaultError::Damaged { .. }), "{answer}");
    assert!(!answer.to_string().contains("Quill"));
}

#[test]
fn a_batch_of_thousands_is_one_call() {
    let folder = tempfile::tempdir().unwrap();
    let vault = SqliteVault::open_or_create(&folder.path().join("vault"), &keyring()).unwrap();
    let values = patients(5000);
    let codes = vault.codes(&workers::keys(&values)).unwrap();
    assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), 5000);
    assert_eq!(vault.codes(&workers::keys(&values)).unwrap(), codes);
}

/// Worker processes of the tests above run this, controlled by a variable.
#[test]
fn a_worker_tells_each_code_that_it_was_given() {
    if workers::work() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    let answer = workers::race("sqlite", path.to_str().unwrap(), 1, 3);
    let vault = SqliteVault::open(&path, &keyring()).unwrap();
    let values = patients(3);
    let codes = vault.codes(&workers::keys(&values)).unwrap();
    let expected: Vec<_> = values
        .iter()
        .zip(codes)
        .map(|(value, code)| format!("{value}={code}"))
        .collect();
    assert_eq!(answer, [expected]);
}

#[test]
fn a_text_is_kept_under_its_key_and_the_first_of_several_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault");
    let vault = SqliteVault::open_or_create(&path, &keyring()).unwrap();
    keeps_the_first_text(&vault);
    drop(vault);
    let again = SqliteVault::open(&path, &keyring()).unwrap();
    assert_eq!(again.kept(LINK).unwrap().unwrap().as_str(), "patient\n1");
}
