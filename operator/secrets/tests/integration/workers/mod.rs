//! Processes that request codes from a vault: the test binary starts itself again, controlled by variables.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lethe_secrets::{Code, Keyring, PostgresTls, PostgresVault, SqliteVault, Vault, VaultError, VaultKey};

const SECRET: &str = "f29a1c40d7e85b3361fe07ca9284bd15a0c35e76892b1d4f60e7f8a9cb3d2e51";
const NEWER: &str = "d87be9ee2ac1f17052dd8e1e4aa9a3a6c3c1fbf3e90d6a1b5f7c2d48b09e3765";
/// The test that works when its variable is set.
const WORKER: &str = "vault_postgres::a_worker_tells_each_code_that_it_was_given";
/// The prefix of a worker's lines among those of the test harness.
const MARK: &str = "worker: ";

pub(crate) fn keyring() -> Keyring {
    Keyring::parse_short(&format!("a:{SECRET}")).unwrap()
}

/// Returns a keyring in which a newer key is current, and the vault's is in this state.
pub(crate) fn keyring_of(state: &str) -> Keyring {
    Keyring::parse(&format!(
        "[[keys]]\nid = \"b\"\nsecret = \"{NEWER}\"\n[[keys]]\nid = \"a\"\nsecret = \"{SECRET}\"\nstate = \"{state}\"\n"
    ))
    .unwrap()
}

pub(crate) fn patients(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("Quill {i}")).collect()
}

pub(crate) fn keys(values: &[String]) -> Vec<VaultKey<'_>> {
    values.iter().map(|value| key(value)).collect()
}

fn key(value: &str) -> VaultKey<'_> {
    VaultKey {
        label: "PATIENT",
        scope: "p1",
        value,
    }
}

/// A key under which a text is stored.
pub(crate) const LINK: VaultKey<'static> = VaultKey {
    label: "link",
    scope: "",
    value: "patient\n2",
};

/// Stores two texts under one key.
pub(crate) fn keeps_the_first_text(vault: &dyn Vault) {
    assert!(vault.kept(LINK).unwrap().is_none());
    for text in ["patient\n1", "patient\n3"] {
        assert_eq!(vault.keep(LINK, text).unwrap().as_str(), "patient\n1");
    }
    assert_eq!(vault.kept(LINK).unwrap().unwrap().as_str(), "patient\n1");
    let another = VaultKey { scope: "p1", ..LINK };
    assert!(vault.kept(another).unwrap().is_none());
}

/// Removes some codes of two patients.
pub(crate) fn removes(vault: &dyn Vault) {
    let values = patients(250);
    let codes = vault.codes(&keys(&values)).unwrap();
    vault.keep(LINK, "patient\n1").unwrap();
    let (mut seen, mut after) = (BTreeMap::new(), None);
    loop {
        let page = vault.page(after, 100).unwrap();
        let is_last = page.len() < 100;
        after = page.last().map(|(code, _)| *code);
        for (code, entry) in page {
            assert!(
                seen.insert(code, (entry.label.clone(), entry.value.to_string()))
                    .is_none()
            );
        }
        if is_last {
            break;
        }
    }
    assert_eq!(seen.len(), 251);
    for (code, value) in codes.iter().zip(&values) {
        assert_eq!(seen[code], ("PATIENT".to_owned(), value.clone()));
    }
    let link = seen.iter().find(|(_, (label, _))| label == "link").unwrap();
    let gone = [codes[3], *link.0, codes[200]];
    assert_eq!(vault.remove(&gone).unwrap(), 3);
    assert_eq!(vault.remove(&gone).unwrap(), 0);
    assert_eq!(vault.remove(&[]).unwrap(), 0);
    assert!(vault.value(codes[3]).unwrap().is_none());
    assert!(vault.kept(LINK).unwrap().is_none());
    let again = vault.codes(&keys(&values)).unwrap();
    for (at, (before, after)) in codes.iter().zip(&again).enumerate() {
        assert_eq!(before != after, at == 3 || at == 200, "{at}");
    }
}

/// Returns one value under several labels and patients, in ways that could be confused.
pub(crate) fn variants(value: &str) -> Vec<VaultKey<'_>> {
    let pairs = [
        ("PATIENT", "p1"),
        ("PATIENT", "p2"),
        ("PATIENT", ""),
        ("PATIENTp1", ""),
        ("DOCTOR", "p1"),
    ];
    pairs
        .map(|(label, scope)| VaultKey { label, scope, value })
        .to_vec()
}

pub(crate) fn ask(vault: &dyn Vault, values: &[&str]) -> Result<Vec<Code>, VaultError> {
    vault.codes(&values.iter().map(|value| key(value)).collect::<Vec<_>>())
}

fn start(kind: &str, place: &str, task: &str, more: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", WORKER, "--nocapture", "--test-threads=1"])
        .env("LETHE_WORKER", format!("{kind}\n{place}\n{task}\n{more}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let out = BufReader::new(child.stdout.take().unwrap());
    // A line that the kill truncated has no end, and was not reported.
    out.split(b'\n').filter_map(|line| {
        let line = String::from_utf8(line.unwrap()).unwrap();
        line.split_once(MARK).map(|(_, line)| line.to_owned())
    })
}

/// Lets several processes request the same values at the same time; returns the codes that each got.
pub(crate) fn race(kind: &str, place: &str, processes: usize, values: usize) -> Vec<Vec<String>> {
    let mut all: Vec<_> = (0..processes)
        .map(|_| start(kind, place, "race", &values.to_string()))
        .collect();
    let mut answer: Vec<_> = all.iter_mut().map(lines).collect();
    for lines in &mut answer {
        assert_eq!(lines.next().unwrap(), "ready");
    }
    for child in &mut all {
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    let told = answer.into_iter().map(Iterator::collect).collect();
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
    told
}

/// Lets several processes request codes until they are killed, this many milliseconds after the first code;
/// returns the codes that they got.
pub(crate) fn killed(
    kind: &str,
    place: &str,
    prefix: &str,
    processes: usize,
    after: u64,
) -> BTreeMap<String, Code> {
    let mut all: Vec<_> = (0..processes)
        .map(|_| start(kind, place, "until-killed", prefix))
        .collect();
    let answer: Vec<_> = all.iter_mut().map(lines).collect();
    let told = std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let readers: Vec<_> = answer
            .into_iter()
            .map(|lines| {
                let sender = sender.clone();
                // Nobody reads further lines after the first.
                scope.spawn(move || {
                    lines
                        .inspect(|_| sender.send(()).unwrap_or(()))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        receiver
            .recv_timeout(Duration::from_secs(60))
            .expect("a worker gets a code");
        std::thread::sleep(Duration::from_millis(after));
        for child in &mut all {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        readers
            .into_iter()
            .flat_map(|reader| reader.join().unwrap())
            .collect::<Vec<_>>()
    });
    let mut codes = BTreeMap::new();
    for line in told {
        // The last line of a killed process may be truncated.
        if let Some((value, code)) = line.split_once('=')
            && let Ok(code) = code.parse()
        {
            assert_eq!(
                codes.entry(value.to_owned()).or_insert(code),
                &code,
                "one code per value"
            );
        }
    }
    codes
}

/// Runs a worker; returns `false` in a process that was not started as one.
pub(crate) fn work() -> bool {
    let Ok(task) = std::env::var("LETHE_WORKER") else {
        return false;
    };
    let [kind, place, task, more] = task.split('\n').collect::<Vec<_>>()[..] else {
        panic!("{task}")
    };
    let open = || -> Box<dyn Vault> {
        match kind {
            "sqlite" => Box::new(SqliteVault::open_or_create(Path::new(place), &keyring()).unwrap()),
            _ => Box::new(
                PostgresVault::open_or_create(place, &PostgresTls::Off, Duration::from_secs(60), &keyring())
                    .unwrap(),
            ),
        }
    };
    let say = |line: &str| {
        let mut out = std::io::stdout().lock();
        out.write_all(format!("{MARK}{line}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    };
    if task == "race" {
        say("ready");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        let vault = open();
        // The batches overlap with the others' at different places.
        let values = patients(more.parse().unwrap());
        let mut codes = BTreeMap::new();
        for batch in values.chunks(7).chain(values.rchunks(11)) {
            for (value, code) in batch.iter().zip(vault.codes(&keys(batch)).unwrap()) {
                assert_eq!(codes.entry(value).or_insert(code), &code);
            }
        }
        for (value, code) in codes {
            say(&format!("{value}={code}"));
        }
        return true;
    }
    let vault = open();
    for i in 0.. {
        let values: Vec<String> = (0..1 + i % 20).map(|j| format!("{more} {i} {j}")).collect();
        for (value, code) in values.iter().zip(vault.codes(&keys(&values)).unwrap()) {
            say(&format!("{value}={code}"));
        }
    }
    true
}
