//! A folder as a store: create-only under a race, and the messages when the file system refuses.
//!
//! The full and the read-only file system are real ones, mounted by a copy of this test in a separate mount
//! namespace.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail and print"
)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use lethe_connectors::store::{Folder, FolderConfig, Store, StoreError, verify};

fn open(path: &Path) -> Result<Folder, StoreError> {
    Folder::open(&FolderConfig {
        path: path.to_owned(),
    })
}

#[tokio::test]
async fn a_folder_keeps_the_promises_of_a_store() {
    let folder = tempfile::tempdir().unwrap();
    // The folder and its parents are created at the first write, not before.
    let root = folder.path().join("not/yet");
    let store = open(&root).unwrap();
    assert!(store.list("").await.unwrap().is_empty());
    assert!(!root.exists());
    verify(&store).await.unwrap();
    for name in ["b/2", "a/1", "b/c/3"] {
        store.create(name, Bytes::from(name.to_owned())).await.unwrap();
    }
    let names = |objects: Vec<lethe_connectors::store::Object>| -> Vec<String> {
        objects.into_iter().map(|object| object.name).collect()
    };
    assert_eq!(names(store.list("").await.unwrap()), ["a/1", "b/2", "b/c/3"]);
    assert_eq!(names(store.list("b").await.unwrap()), ["b/2", "b/c/3"]);
    assert_eq!(
        names(store.list_after("b", Some("b/2")).await.unwrap()),
        ["b/c/3"]
    );
    assert_eq!(store.read("b/c/3").await.unwrap(), "b/c/3");
    assert_eq!(store.read_range("b/c/3", 2..3).await.unwrap(), "c");
    assert_eq!(store.read_range("b/c/3", 4..99).await.unwrap(), "3");
    let end = store.read_tail("b/c/3", 3).await.unwrap();
    assert_eq!((end.bytes, end.size), (Bytes::from_static(b"c/3"), 5));
    assert!(matches!(store.read("x").await, Err(StoreError::NotFound(_))));
    store.delete("b/2").await.unwrap();
    store.delete("b/2").await.unwrap();
    assert_eq!(names(store.list("b").await.unwrap()), ["b/c/3"]);
}

#[tokio::test]
async fn an_object_is_replaced_only_while_it_is_of_the_version_that_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    store.create("a/1", Bytes::from_static(b"one")).await.unwrap();
    let first = store.look("a/1").await.unwrap().version;
    store
        .replace("a/1", Bytes::from_static(b"second"), &first)
        .await
        .unwrap();
    assert_eq!(store.read("a/1").await.unwrap(), "second");
    for (name, version) in [("a/1", first.as_str()), ("a/2", first.as_str()), ("a/1", "")] {
        let error = store
            .replace(name, Bytes::from_static(b"3"), version)
            .await
            .unwrap_err();
        assert!(matches!(error, StoreError::Changed(_)), "{error}");
    }
    assert_eq!(store.read("a/1").await.unwrap(), "second");
    let names: Vec<String> = store
        .list("")
        .await
        .unwrap()
        .into_iter()
        .map(|object| object.name)
        .collect();
    assert_eq!(names, ["a/1"]);
    assert_eq!(
        std::fs::read_dir(folder.path().join(".lethe")).unwrap().count(),
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_writers_of_one_name_exactly_one_succeeds_and_its_bytes_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(folder.path()).unwrap());
    for round in 0..20 {
        let name = format!("notes/{round}");
        let writers: Vec<_> = (0..8u8)
            .map(|writer| {
                // Separate stores, as in separate processes.
                let store = open(folder.path()).unwrap();
                let name = name.clone();
                tokio::spawn(async move {
                    store
                        .create(&name, vec![writer; 100_000].into())
                        .await
                        .map(|()| writer)
                })
            })
            .collect();
        let mut winners = Vec::new();
        for writer in writers {
            match writer.await.unwrap() {
                Ok(writer) => winners.push(writer),
                Err(StoreError::Exists(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(winners.len(), 1);
        assert_eq!(store.read(&name).await.unwrap(), vec![winners[0]; 100_000]);
    }
    let aside = std::fs::read_dir(folder.path().join(".lethe")).unwrap();
    assert_eq!(aside.count(), 0, "temporary files stayed");
}

#[tokio::test]
async fn a_file_where_a_folder_should_be_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out");
    std::fs::write(&file, "").unwrap();
    let error = open(&file).unwrap_err().to_string();
    assert!(
        error.contains("out: open") && error.contains("set a folder"),
        "{error}"
    );

    let store = open(folder.path()).unwrap();
    let error = store.create("out/notes/1", Bytes::new()).await.unwrap_err();
    assert!(!error.is_transient());
    assert!(
        error.to_string().contains("a file is in place of a folder"),
        "{error}"
    );
}

#[tokio::test]
async fn a_name_that_is_too_long_for_the_file_system_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let name = format!("notes/topic={}/1", "t".repeat(300));
    let error = store.create(&name, Bytes::new()).await.unwrap_err();
    assert!(
        !error.is_transient() && error.to_string().contains("shorter"),
        "{error}"
    );
}

const CHILD: &str = "LETHE_TEST_STORE_CHILD";

/// Runs the named test again with a folder `fs` that the shell commands `mount` prepare in a namespace in
/// which they may mount: as root, or as the namespace's own root. If neither is allowed, as in most
/// containers, the commands `instead` prepare it with limits and permissions.
fn with_folder(test: &str, mount: &str, instead: &str) {
    let run = format!("exec \"$0\" --exact store_local::{test} --nocapture");
    let attempts = [
        (&["unshare", "-m"][..], mount),
        (&["unshare", "-rm"], mount),
        (&["env"], instead),
    ];
    let mut message = String::new();
    for (before, prepare) in attempts {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(before[0]);
        command
            .args(&before[1..])
            .args([
                "sh",
                "-ec",
                &format!("cd \"${CHILD}\"; mkdir fs; {prepare}; {run}"),
            ])
            .arg(std::env::current_exe().unwrap())
            .env(CHILD, folder.path());
        let out = command.output().unwrap();
        // Without the second check, a misspelt test name would pass.
        if out.status.success() && String::from_utf8_lossy(&out.stdout).contains("1 passed") {
            return;
        }
        message.push_str(&String::from_utf8_lossy(&out.stdout));
        message.push_str(&String::from_utf8_lossy(&out.stderr));
    }
    panic!("{test}:\n{message}");
}

#[tokio::test]
async fn a_full_disk_is_named_and_nothing_half_written_can_be_seen() {
    let Some(folder) = std::env::var_os(CHILD) else {
        with_folder(
            "a_full_disk_is_named_and_nothing_half_written_can_be_seen",
            "mount -t tmpfs -o size=1m tmpfs fs",
            "trap '' XFSZ; ulimit -f 1500",
        );
        return;
    };
    let root = Path::new(&folder).join("fs");
    let store = open(&root).unwrap();
    store.create("notes/1", vec![1; 300_000].into()).await.unwrap();
    let error = store
        .create("notes/2", vec![2; 2_000_000].into())
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    let message = error.to_string();
    assert!(
        message.contains(&root.display().to_string()) && message.contains("free some"),
        "{message}"
    );
    let listed = store.list("").await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        std::fs::read_dir(root.join(".lethe")).unwrap().count(),
        0,
        "the room was not given back"
    );
    // Once there is room again, the same write succeeds.
    store.delete("notes/1").await.unwrap();
    store.create("notes/2", vec![2; 300_000].into()).await.unwrap();
}

#[tokio::test]
async fn a_read_only_file_system_is_named_and_can_still_be_read() {
    let Some(folder) = std::env::var_os(CHILD) else {
        // Root may write whatever the permissions say, so it becomes nobody.
        with_folder(
            "a_read_only_file_system_is_named_and_can_still_be_read",
            "mount -t tmpfs tmpfs fs; mkdir fs/notes; echo hello > fs/notes/1; mount -o remount,ro fs",
            "mkdir fs/notes; echo hello > fs/notes/1; chmod -R a+rX,a-w fs; chmod a+rx .; \
             if [ $(id -u) = 0 ]; then set -- setpriv --reuid=65534 --regid=65534 --clear-groups; fi; \
             \"$@\" \"$0\" --exact a_read_only_file_system_is_named_and_can_still_be_read; exit",
        );
        return;
    };
    let root = Path::new(&folder).join("fs");
    let store = open(&root).unwrap();
    assert_eq!(store.list("").await.unwrap().len(), 1);
    assert_eq!(store.read("notes/1").await.unwrap(), "hello\n");
    for name in ["notes/2", "audit/1"] {
        let error = store.create(name, Bytes::from_static(b"x")).await.unwrap_err();
        assert!(matches!(error, StoreError::Denied { .. }), "{error}");
        let message = error.to_string();
        assert!(
            message.contains(&root.display().to_string()) && message.contains("the right to write"),
            "{message}"
        );
    }
    assert!(verify(&store).await.is_err());
}
