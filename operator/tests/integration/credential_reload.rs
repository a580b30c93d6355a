//! Credential reload: passwords, certificates and keys change in their files while the program runs.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::path::Path;
use std::time::Duration;

use common::checks::until_rows;
use common::dataset::Dataset;
use common::kafka::Topic;
use common::notes::{event, events};
use common::process::{Lethe, Running, TIMEOUT, system};
use common::servers::Server;
use common::{Place, folder_sink, quoted};

const ROLL: &str = "roll = { max_age_seconds = 0.5, max_idle_seconds = 0.5 }\n";

/// Replaces a folder of secrets as a kubelet does: files are links into a folder that is itself a link, which
/// is swapped.
fn mount(folder: &Path, files: &[(&str, &str)]) {
    static MOUNTS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = MOUNTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let data = folder.join(format!("..{number}"));
    std::fs::create_dir_all(&data).unwrap();
    for (name, content) in files {
        std::fs::write(data.join(name), content).unwrap();
        let link = folder.join(name);
        if !link.is_symlink() {
            std::os::unix::fs::symlink(format!("..data/{name}"), link).unwrap();
        }
    }
    std::os::unix::fs::symlink(&data, folder.join("..data_tmp")).unwrap();
    std::fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
}

/// Ends the program, and asserts that its log has none of these secrets. They are words: a number could be part
/// of a time.
#[track_caller]
fn finish(running: Running, secrets: &[&str]) {
    running.signal("TERM");
    let ended = running.wait(TIMEOUT).expect(0);
    for secret in secrets {
        assert!(!ended.err.contains(secret), "{secret} stands in:\n{}", ended.err);
    }
}

#[test]
fn a_password_that_is_changed_at_the_broker_and_in_its_file_loses_nothing() {
    let broker = Server::kafka(&["--secure"]);
    let topic = Topic::at(broker.get("BOOTSTRAP"), "password", 3);
    topic.fill(events(100));
    let place = Place::new();
    let (out, secrets) = (place.at("out"), place.at("secrets"));
    let first = broker.get("SASL_PASSWORD");
    mount(&secrets, &[("password", first)]);
    let source = topic
        .source()
        .replace(&topic.brokers, broker.get("SECURE_BOOTSTRAP"));
    let security = format!(
        "[source.security]\nprotocol = \"sasl\"\nmechanism = \"SCRAM-SHA-512\"\nuser = \"lethe\"\nca = {:?}\npassword = \"${{file:{}}}\"\n",
        broker.get("CA"),
        secrets.join("password").display(),
    );
    let quick = "[source.properties]\n\"reconnect.backoff.max.ms\" = 1000\n";
    let config = place.write(
        "lethe.toml",
        source + &security + quick + &folder_sink(&out) + ROLL,
    );
    let mut running = Lethe::run(&config).start();
    until_rows(&out, 100, &mut running);

    // A password that the brokers refuse is not loaded; the current login stays.
    mount(&secrets, &[("password", "not-yet-krovanel")]);
    running.until_it_says("cannot reload", TIMEOUT);
    topic.fill((100..200).map(event));
    until_rows(&out, 200, &mut running);

    // The broker changes first, and every connection is reopened: the old password is refused for a while.
    broker.tell(&["password", "lethe", "other-tulmerick"]);
    broker.tell(&["restart"]);
    running.until_it_says("the login is refused", TIMEOUT);
    topic.fill((200..300).map(event));
    mount(&secrets, &[("password", "other-tulmerick\n")]);
    running.until_it_says("rejoining the group", TIMEOUT);
    until_rows(&out, 300, &mut running);
    assert!(
        running.err().contains("source.security.password"),
        "{}",
        running.err()
    );
    finish(running, &[first, "krovanel", "tulmerick"]);
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
}

/// Makes the broker's authority sign a certificate for a client.
fn certificate(broker: &Server, serial: &str) -> (String, String) {
    let tls = Path::new(broker.get("DIR")).join("tls");
    let script = format!(
        "cd {} && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj /CN=lethe -keyout c.key -out c.csr && \
         openssl x509 -req -in c.csr -CA ca.pem -CAkey ca.key -set_serial {serial} -days 1 -out c.pem",
        quoted(&tls)
    );
    system("sh", ["-c", &script]);
    let read = |name| std::fs::read_to_string(tls.join(name)).unwrap();
    (read("c.pem"), read("c.key"))
}

#[test]
fn a_client_certificate_that_is_replaced_is_shown_from_then_on() {
    let broker = Server::kafka(&["--secure", "--mutual"]);
    let topic = Topic::at(broker.get("BOOTSTRAP"), "certificate", 2);
    topic.fill(events(100));
    let place = Place::new();
    let (out, secrets) = (place.at("out"), place.at("secrets"));
    let (first, key) = certificate(&broker, "77001");
    mount(&secrets, &[("tls.crt", &first), ("tls.key", &key)]);
    let source = topic
        .source()
        .replace(&topic.brokers, broker.get("MUTUAL_BOOTSTRAP"));
    let security = format!(
        "[source.security]\nprotocol = \"tls\"\nca = {:?}\ncertificate = {}\nkey = {}\n",
        broker.get("CA"),
        quoted(secrets.join("tls.crt")),
        quoted(secrets.join("tls.key")),
    );
    let config = place.write("lethe.toml", source + &security + &folder_sink(&out) + ROLL);
    let mut running = Lethe::run(&config).start();
    until_rows(&out, 100, &mut running);
    let (second, key) = certificate(&broker, "77002");
    mount(&secrets, &[("tls.crt", &second), ("tls.key", &key)]);
    running.until_it_says("rejoining the group", TIMEOUT);
    topic.fill((100..200).map(event));
    until_rows(&out, 200, &mut running);
    assert!(
        running.err().contains("source.security.certificate"),
        "{}",
        running.err()
    );
    finish(running, &["PRIVATE KEY"]);
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
}

#[test]
fn keys_of_a_bucket_that_are_replaced_are_waited_for_and_taken_up() {
    let store = Server::s3(&[]);
    let topic = Topic::new("rekey", 2);
    topic.fill(events(100));
    let place = Place::new();
    let secrets = place.at("secrets");
    let (first, first_secret) = (
        store.get("ACCESS_KEY").to_owned(),
        store.get("SECRET_KEY").to_owned(),
    );
    mount(&secrets, &[("id", &first), ("key", &first_secret)]);
    let more = format!(
        "allow_http = true\naccess_key = \"${{file:{0}/id}}\"\nsecret_key = \"${{file:{0}/key}}\"\n",
        secrets.display()
    );
    let sink = store
        .as_store("rekey", &more)
        .replace("[sink.store]", &format!("[sink]\n{ROLL}[sink.store]"));
    let config = place.write("lethe.toml", topic.source() + &sink);
    let mut running = Lethe::run(&config).start();
    let rows = |rows: usize, running: &mut Running| {
        for _ in 0..3000 {
            let report = Lethe::new([
                "inspect".as_ref(),
                "--json".as_ref(),
                "-c".as_ref(),
                config.as_os_str(),
            ])
            .end();
            let report: serde_json::Value = serde_json::from_str(&report.out).unwrap_or_default();
            let chains = report["chains"].as_array().cloned().unwrap_or_default();
            let notes: u64 = chains.iter().map(|chain| chain["notes"].as_u64().unwrap()).sum();
            if notes >= rows as u64 {
                assert_eq!(notes, rows as u64);
                return;
            }
            assert!(running.lives(), "it ended: {}", running.err());
            std::thread::sleep(Duration::from_millis(300));
        }
        panic!("{rows} rows never came; it said:\n{}", running.err());
    };
    rows(100, &mut running);

    let other = store.tell(&["rekey"]);
    let other = |key: &str| {
        other
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .unwrap()
            .to_owned()
    };
    topic.fill((100..200).map(event));
    running.until_it_says("new credentials may be on their way", TIMEOUT);
    mount(
        &secrets,
        &[("id", &other("ACCESS_KEY=")), ("key", &other("SECRET_KEY="))],
    );
    running.until_it_says("reloaded: ", TIMEOUT);
    rows(200, &mut running);
    assert!(
        running.err().contains("sink.store.secret_key"),
        "{}",
        running.err()
    );
    finish(
        running,
        &[
            &first,
            &first_secret,
            &other("ACCESS_KEY="),
            &other("SECRET_KEY="),
        ],
    );
}

#[test]
fn messages_are_emitted_after_the_password_of_the_target_changes() {
    let broker = Server::kafka(&["--secure"]);
    let (input, output) = (
        Topic::at(broker.get("BOOTSTRAP"), "in", 1),
        Topic::at(broker.get("BOOTSTRAP"), "out", 1),
    );
    let place = Place::new();
    let secrets = place.at("secrets");
    let first = broker.get("SASL_PASSWORD");
    mount(&secrets, &[("password", first)]);
    let message = |number: usize| {
        format!(
            "MSH|^~\\&|A|B|C|D|20240315083000||ORU^R01|C-{number}|P|2.5.1\rPID|1||77{number:04}^^^NG^MR||Okafor^Tobias\r\
             OBX|1|TX|11506-3^Progress note^LN|1|Mr Okafor was seen.||||||F\r"
        )
    };
    let emit = format!(
        "[format]\nkind = \"hl7v2\"\nkeep_message = true\n[emit]\nkind = \"kafka\"\nbrokers = [{:?}]\ntopic = {:?}\ngroup = \"e-{}\"\n\
         security = {{ protocol = \"sasl\", mechanism = \"SCRAM-SHA-512\", user = \"lethe\", ca = {:?}, password = \"${{file:{}}}\" }}\n",
        broker.get("SECURE_BOOTSTRAP"),
        output.name,
        output.name,
        broker.get("CA"),
        secrets.join("password").display(),
    );
    let config = input.source() + &folder_sink(&place.at("out")) + ROLL + &emit;
    let config = place.write("lethe.toml", config);
    let running = Lethe::run(&config).start();
    let mut emitting = Lethe::new(["emit", "-c", config.to_str().unwrap()]).start();
    let emitted = |least: i64, emitting: &mut Running| {
        for _ in 0..3000 {
            if output.watermarks()[&0].1 >= least {
                return;
            }
            assert!(emitting.lives(), "it ended: {}", emitting.err());
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{least} were never emitted; it said:\n{}", emitting.err());
    };
    input.fill((0..20).map(message));
    // The end of a transaction takes an offset too.
    emitted(21, &mut emitting);
    broker.tell(&["password", "lethe", "other-sabdorin"]);
    mount(&secrets, &[("password", "other-sabdorin")]);
    emitting.until_it_says("reloaded: ", TIMEOUT);
    input.fill((20..40).map(message));
    emitted(42, &mut emitting);
    finish(emitting, &[first, "sabdorin"]);
    finish(running, &[]);
}

#[test]
fn keys_of_a_policy_are_not_taken_up_by_a_running_program() {
    let topic = Topic::new("keys", 1);
    topic.fill(events(20));
    let place = Place::new();
    let out = place.at("out");
    let key = |id: &str, first: u8| {
        let secret: String = (0..32).map(|byte| format!("{:02x}", first + byte * 5)).collect();
        format!("[[keys]]\nid = {id:?}\nstate = \"current\"\nsecret = {secret:?}\n")
    };
    let keys = place.write("keys.toml", key("k1", 3));
    std::fs::set_permissions(&keys, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let policy = format!(
        "[policy]\nmode = \"custom\"\ndefault = {{ action = \"pseudonym\" }}\nkeys = {{ file = {} }}\n",
        quoted(&keys)
    );
    let config = place.write("lethe.toml", topic.source() + &policy + &folder_sink(&out) + ROLL);
    let mut running = Lethe::run(&config).start();
    until_rows(&out, 20, &mut running);
    std::fs::write(&keys, key("k2", 90)).unwrap();
    running.until_it_says("takes effect at the next start", TIMEOUT);
    assert!(running.err().contains("policy.keys.file"), "{}", running.err());
    topic.fill((0..20).map(event));
    until_rows(&out, 40, &mut running);
    let data = Dataset::read(&out);
    let texts: Vec<String> = data.rows().iter().map(|row| row.text.clone().unwrap()).collect();
    let (before, after) = texts.split_at(20);
    assert_eq!(before, after, "the same notes under the same key");
    finish(running, &["03080d12", "5a5f6469"]);
}
