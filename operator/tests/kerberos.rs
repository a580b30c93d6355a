//! Logins with Kerberos: a real key distribution centre, and a real Kafka that takes its tickets. A program of
//! its own, since it needs the feature `kerberos`, which links the system's Cyrus SASL.
//!
//! `scripts/setup --kerberos && scripts/with-servers cargo test --workspace --features lethe/kerberos --test kerberos`

#![cfg(feature = "kerberos")]
#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

#[allow(dead_code, reason = "most of it is for the other tests of the program")]
#[path = "integration/common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::checks::until_rows;
use common::dataset::Dataset;
use common::kafka::Topic;
use common::notes::{event, events};
use common::process::{Lethe, TIMEOUT};
use common::servers::Server;
use common::{Place, folder_sink};

/// A ticket server, a broker that takes its tickets, and a topic with notes.
struct Realm {
    tickets: Server,
    broker: Server,
    topic: Topic,
    place: Place,
}

impl Realm {
    fn start(more: &[&str]) -> Self {
        let tickets = Server::start("LETHE_TEST_KERBEROS_SCRIPT", "kerberos", more);
        let broker = Server::kafka(&["--secure", "--kerberos", tickets.get("DIR")]);
        let topic = Topic::at(broker.get("BOOTSTRAP"), "kerberos", 2);
        topic.fill(events(100));
        Self {
            tickets,
            broker,
            topic,
            place: Place::new(),
        }
    }

    fn out(&self) -> PathBuf {
        self.place.at("out")
    }

    fn cache(&self) -> PathBuf {
        self.place.at("tickets")
    }

    /// Writes a configuration that reads the topic through the listener for tickets.
    fn configure(&self, security: &str) -> PathBuf {
        let source = self
            .topic
            .source()
            .replace(&self.topic.brokers, self.broker.get("KERBEROS_BOOTSTRAP"));
        let ca = self.broker.get("CA");
        let security = format!("[source.security]\nprotocol = \"kerberos\"\nca = {ca:?}\n{security}\n");
        let sink = folder_sink(&self.out());
        let roll = "roll = { max_age_seconds = 0.5, max_idle_seconds = 0.5 }\n";
        self.place.write("lethe.toml", source + &security + &sink + roll)
    }

    fn with_keytab(&self, more: &str) -> PathBuf {
        let (principal, keytab) = (self.tickets.get("PRINCIPAL"), self.tickets.get("KEYTAB"));
        self.configure(&format!("principal = {principal:?}\nkeytab = {keytab:?}\n{more}"))
    }

    /// Gives the program the settings of the realm, and a ticket cache of its own.
    fn known_to(&self, lethe: Lethe) -> Lethe {
        lethe
            .env("KRB5_CONFIG", self.tickets.get("KRB5_CONFIG"))
            .env("KRB5CCNAME", self.cache().to_str().unwrap())
    }

    /// Puts a ticket into the cache.
    fn kinit(&self) {
        let done = Command::new("kinit")
            .args([
                "-k",
                "-t",
                self.tickets.get("KEYTAB"),
                self.tickets.get("PRINCIPAL"),
            ])
            .env("KRB5_CONFIG", self.tickets.get("KRB5_CONFIG"))
            .env("KRB5CCNAME", self.cache())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn assert_all_read(&self) {
        Dataset::read(&self.out()).assert_exactly(&self.out(), &self.topic.offsets());
    }
}

#[test]
fn notes_are_read_with_a_keytab() {
    let realm = Realm::start(&[]);
    let config = realm.with_keytab("");
    realm.known_to(Lethe::through(&config)).end().expect(0);
    realm.assert_all_read();
}

#[test]
fn without_a_keytab_the_ticket_of_the_cache_is_used() {
    let realm = Realm::start(&[]);
    let config = realm.configure("");
    realm
        .known_to(Lethe::through(&config))
        .end()
        .expect(1)
        .says("Kerberos credentials")
        .says("check `principal`, `keytab`");
    realm.kinit();
    realm.known_to(Lethe::through(&config)).end().expect(0);
    realm.assert_all_read();
}

#[test]
fn a_key_of_another_principal_ends_the_run_and_kinit_says_why() {
    let realm = Realm::start(&[]);
    let keytab = Path::new(realm.tickets.get("KEYTAB"));
    let config = realm.configure(&format!(
        "principal = \"other@LETHE.TEST\"\nkeytab = {keytab:?}\n"
    ));
    realm
        .known_to(Lethe::through(&config))
        .end()
        .expect(1)
        .says("kinit: ")
        .says("check `principal`, `keytab`");
}

#[test]
fn a_ticket_is_renewed_before_it_ends_so_that_a_later_login_succeeds() {
    let realm = Realm::start(&["--lifetime", "20"]);
    let config = realm.with_keytab("renew_seconds = 2");
    let mut running = realm.known_to(Lethe::run(&config)).start();
    until_rows(&realm.out(), 100, &mut running);
    // Longer than the first ticket lasts.
    std::thread::sleep(std::time::Duration::from_secs(25));
    realm.broker.tell(&["restart"]);
    realm.topic.fill((100..200).map(event));
    until_rows(&realm.out(), 200, &mut running);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
    realm.assert_all_read();
}
